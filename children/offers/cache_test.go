package offers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func someOffer(tools ...string) *RawOffer {
	o := &RawOffer{ServerName: "kid", ServerVersion: "1", Protocol: "2025-11-25", Instructions: "Be kind.", Capabilities: []byte(`{"tools":{}}`), ServerInfo: []byte(`{"name":"kid"}`)}
	for _, t := range tools {
		o.Entries[Tools] = append(o.Entries[Tools], []byte(t))
	}
	return o
}

// testCache returns a cache and what it logs.
func testCache(t *testing.T) (cache, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	return cache{dir: filepath.Join(t.TempDir(), "catalogue"), log: zerolog.New(&log)}, &log
}

const someDigest = "00ff"

func TestCacheKeepsTheBytes(t *testing.T) {
	t.Parallel()
	c, log := testCache(t)
	for _, o := range []*RawOffer{
		someOffer(`{"name":"a","x":1.0}`, "{\"name\":\"\xff\\ud800\"}", "", "null"),
		someOffer(),
		{Entries: Entries{Tools: {[]byte("7")}}, unread: 1 << Prompts},
	} {
		c.storeOffer(someDigest, o)
		if got := c.loadOffer(someDigest); !got.Equal(o) {
			t.Errorf("kept %+v, got %+v", o, got)
		}
	}
	if c.loadOffer("another") != nil || log.Len() > 0 {
		t.Errorf("what was never kept: an offer, or a complaint: %s", log)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for path, want := range map[string]os.FileMode{c.dir: 0o700, c.offerFile(someDigest): 0o600} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, fi.Mode(), err)
		}
	}
}

func TestCacheWithoutAFolderKeepsNothing(t *testing.T) {
	t.Parallel()
	c := cache{log: zerolog.Nop()}
	c.storeOffer(someDigest, someOffer("{}"))
	if c.loadOffer(someDigest) != nil {
		t.Error("an offer from nowhere")
	}
}

// TestCacheIgnoresWhatIsWrong writes a good file, spoils it, and wants nil and
// one line in the log; the same file unspoilt is the control.
func TestCacheIgnoresWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := encodeOffer(someOffer(`{"name":"a"}`), someDigest)
	spoil := map[string]func(c cache) error{
		"cut short": func(c cache) error { return os.Truncate(c.offerFile(someDigest), int64(len(good)-1)) },
		"cut to its head": func(c cache) error {
			return os.Truncate(c.offerFile(someDigest), int64(len(Format)+3))
		},
		"empty": func(c cache) error { return os.Truncate(c.offerFile(someDigest), 0) },
		"one byte changed": func(c cache) error {
			raw := bytes.Clone(good)
			raw[len(raw)-2] ^= 1
			return os.WriteFile(c.offerFile(someDigest), raw, 0o600)
		},
		"another format": func(c cache) error {
			return os.WriteFile(c.offerFile(someDigest), bytes.Replace(good, []byte(Format), []byte("mcphub catalogue 0\n"), 1), 0o600)
		},
		"of another server": func(c cache) error {
			return os.WriteFile(c.offerFile(someDigest), encodeOffer(someOffer(), "beef"), 0o600)
		},
		"too large": func(c cache) error { return os.Truncate(c.offerFile(someDigest), maxCacheFile+1) },
		"a directory": func(c cache) error {
			return errOr(os.Remove(c.offerFile(someDigest)), func() error { return os.Mkdir(c.offerFile(someDigest), 0o700) })
		},
	}
	if runtime.GOOS != "windows" {
		spoil["readable by others"] = func(c cache) error { return os.Chmod(c.offerFile(someDigest), 0o644) }
		spoil["writable by the group"] = func(c cache) error { return os.Chmod(c.offerFile(someDigest), 0o620) }
		spoil["in a folder of everybody"] = func(c cache) error { return os.Chmod(c.dir, 0o777) }
		spoil["a link"] = func(c cache) error {
			return errOr(os.Rename(c.offerFile(someDigest), c.dir+"/x"), func() error { return os.Symlink(c.dir+"/x", c.offerFile(someDigest)) })
		}
	}
	for name, f := range spoil {
		t.Run(name, func(t *testing.T) {
			c, log := testCache(t)
			c.storeOffer(someDigest, someOffer(`{"name":"a"}`))
			if c.loadOffer(someDigest) == nil {
				t.Fatal("the file is good and was not read: " + log.String())
			}
			if err := f(c); err != nil {
				t.Fatal(err)
			}
			if o := c.loadOffer(someDigest); o != nil {
				t.Errorf("trusted: %+v", o)
			}
			if n := strings.Count(log.String(), "\n"); n != 1 {
				t.Errorf("%d lines in the log: %s", n, log)
			}
		})
	}
}

func errOr(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// FuzzDecodeOffer wants no panic, and of a file that is taken the same bytes
// back.
func FuzzDecodeOffer(f *testing.F) {
	f.Add(encodeOffer(someOffer(`{"name":"a"}`, "x"), someDigest))
	f.Add([]byte(Format))
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := decodeOffer(raw, someDigest)
		if err == nil && !bytes.Equal(encodeOffer(o, someDigest), raw) {
			// A length may be written in more bytes than it needs; what it says counts.
			again, err := decodeOffer(encodeOffer(o, someDigest), someDigest)
			if err != nil || !again.Equal(o) {
				t.Errorf("%q is not what was read", raw)
			}
		}
	})
}

func TestCacheTooLargeIsNotKept(t *testing.T) {
	t.Parallel()
	c, log := testCache(t)
	c.storeOffer(someDigest, someOffer(strings.Repeat("x", maxCacheFile)))
	if c.loadOffer(someDigest) != nil || !strings.Contains(log.String(), "not cached") {
		t.Errorf("kept, or not said: %s", log)
	}
}

func TestCacheManyWriters(t *testing.T) {
	t.Parallel()
	c, _ := testCache(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			mine := someOffer(strings.Repeat(fmt.Sprintf("%d", i), 50_000))
			for range 20 {
				c.storeOffer(someDigest, mine)
				if o := c.loadOffer(someDigest); o == nil || len(o.Entries[Tools]) != 1 || len(o.Entries[Tools][0]) != 50_000 || strings.Trim(string(o.Entries[Tools][0]), string(o.Entries[Tools][0][:1])) != "" {
					t.Error("a file that nobody wrote so")
				}
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(c.dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// A few large files are too many as well: the oldest go.
func TestCacheIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	c, _ := testCache(t)
	c.storeOffer("0", someOffer())
	old := time.Now().Add(-time.Hour)
	for i := range 4 {
		name := c.offerFile(fmt.Sprintf("f%d", i))
		err := errOr(os.WriteFile(name, nil, 0o600), func() error { return os.Truncate(name, maxCacheFile) }) // takes no space
		if err = errOr(err, func() error { return os.Chtimes(name, old, old.Add(-time.Duration(i)*time.Second)) }); err != nil {
			t.Fatal(err)
		}
	}
	c.storeOffer("new", someOffer())
	left, err := filepath.Glob(c.offerFile("f*"))
	if err != nil || len(left) != maxCacheBytes/maxCacheFile || c.loadOffer("new") == nil || c.loadOffer("0") == nil {
		t.Errorf("left: %q, %v", left, err)
	}
	if _, err := os.Stat(c.offerFile("f3")); err == nil {
		t.Error("the oldest is there")
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c, _ := testCache(t)
	c.storeOffer("0", someOffer())
	old := time.Now().Add(-time.Hour)
	for i := range maxCacheFiles + 3 {
		name := c.offerFile(fmt.Sprintf("f%d", i))
		if err := errOr(os.WriteFile(name, nil, 0o600), func() error { return os.Chtimes(name, old, old.Add(-time.Duration(i)*time.Second)) }); err != nil {
			t.Fatal(err)
		}
	}
	foreign := filepath.Join(c.dir, "notes.txt")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.storeOffer("new", someOffer())
	left, err := filepath.Glob(c.offerFile("*"))
	if err != nil || len(left) != maxCacheFiles {
		t.Errorf("%d files, %v", len(left), err)
	}
	if _, err := os.Stat(foreign); err != nil || c.loadOffer("new") == nil || c.loadOffer("0") == nil {
		t.Error("the wrong ones were removed")
	}
}

// TestTheFolderIsLookedThroughSeldom: after the first file only when a quarter of what was left may be used up.
func TestTheFolderIsLookedThroughSeldom(t *testing.T) {
	t.Parallel()
	r := &room{}
	if r.takeFor(1) {
		t.Error("nothing is known of the folder")
	}
	r.setLeft(maxCacheFiles-9, 0)
	for i := range 3 {
		if r.takeFor(1) != (i < 2) {
			t.Errorf("file %d: of nine files that are left two may be added", i+1)
		}
	}
	r.setLeft(0, maxCacheBytes-400)
	if !r.takeFor(99) || r.takeFor(2) {
		t.Error("of 400 bytes that are left 100 may be added")
	}
	c, _ := testCache(t)
	c.room = &room{}
	c.storeOffer("first", someOffer()) // looks through it
	for i := range maxCacheFiles + 1 {
		if err := os.WriteFile(c.offerFile(fmt.Sprintf("f%d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.room.setLeft(maxCacheFiles-4, 0)
	c.storeOffer("second", someOffer())
	if left, err := filepath.Glob(c.offerFile("*")); err != nil || len(left) != maxCacheFiles+3 {
		t.Errorf("%d files, %v: there was room for one", len(left), err)
	}
	c.storeOffer("third", someOffer())
	if left, err := filepath.Glob(c.offerFile("*")); err != nil || len(left) != maxCacheFiles {
		t.Errorf("%d files, %v: there was no room", len(left), err)
	}
}
