package children

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

func someOffer(tools ...string) *Offer {
	o := &Offer{ServerName: "kid", ServerVersion: "1", Protocol: "2025-11-25", Instructions: "Be kind.", Capabilities: []byte(`{"tools":{}}`), ServerInfo: []byte(`{"name":"kid"}`)}
	for _, t := range tools {
		o.Tools = append(o.Tools, []byte(t))
	}
	return o
}

// testCache returns a cache and what it logs.
func testCache(t *testing.T) (catalogCache, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	return catalogCache{dir: filepath.Join(t.TempDir(), "catalogue"), log: zerolog.New(&log)}, &log
}

const someDigest = "00ff"

func TestCacheKeepsTheBytes(t *testing.T) {
	c, log := testCache(t)
	for _, o := range []*Offer{
		someOffer(`{"name":"a","x":1.0}`, "{\"name\":\"\xff\\ud800\"}", "", "null"),
		someOffer(),
		{Tools: [][]byte{[]byte("7")}},
	} {
		c.store(someDigest, o)
		if got := c.load(someDigest); !got.equal(o) {
			t.Errorf("kept %+v, got %+v", o, got)
		}
	}
	if c.load("another") != nil || log.Len() > 0 {
		t.Errorf("what was never kept: an offer, or a complaint: %s", log)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for path, want := range map[string]os.FileMode{c.dir: 0o700, c.file(someDigest): 0o600} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, fi.Mode(), err)
		}
	}
}

func TestCacheWithoutAFolderKeepsNothing(t *testing.T) {
	c := catalogCache{log: zerolog.Nop()}
	c.store(someDigest, someOffer("{}"))
	if c.load(someDigest) != nil {
		t.Error("an offer from nowhere")
	}
}

// TestCacheIgnoresWhatIsWrong writes a good file, spoils it, and wants nil and
// one line in the log; the same file unspoilt is the control.
func TestCacheIgnoresWhatIsWrong(t *testing.T) {
	good := encodeOffer(someOffer(`{"name":"a"}`), someDigest)
	spoil := map[string]func(c catalogCache) error{
		"cut short": func(c catalogCache) error { return os.Truncate(c.file(someDigest), int64(len(good)-1)) },
		"cut to its head": func(c catalogCache) error {
			return os.Truncate(c.file(someDigest), int64(len(cacheMagic)+3))
		},
		"empty": func(c catalogCache) error { return os.Truncate(c.file(someDigest), 0) },
		"one byte changed": func(c catalogCache) error {
			raw := bytes.Clone(good)
			raw[len(raw)-2] ^= 1
			return os.WriteFile(c.file(someDigest), raw, 0o600)
		},
		"another format": func(c catalogCache) error {
			return os.WriteFile(c.file(someDigest), bytes.Replace(good, []byte(cacheMagic), []byte("mcphub catalogue 0\n"), 1), 0o600)
		},
		"of another server": func(c catalogCache) error {
			return os.WriteFile(c.file(someDigest), encodeOffer(someOffer(), "beef"), 0o600)
		},
		"too large": func(c catalogCache) error { return os.Truncate(c.file(someDigest), maxCacheFile+1) },
		"a directory": func(c catalogCache) error {
			return errOr(os.Remove(c.file(someDigest)), func() error { return os.Mkdir(c.file(someDigest), 0o700) })
		},
	}
	if runtime.GOOS != "windows" {
		spoil["readable by others"] = func(c catalogCache) error { return os.Chmod(c.file(someDigest), 0o644) }
		spoil["writable by the group"] = func(c catalogCache) error { return os.Chmod(c.file(someDigest), 0o620) }
		spoil["in a folder of everybody"] = func(c catalogCache) error { return os.Chmod(c.dir, 0o777) }
		spoil["a link"] = func(c catalogCache) error {
			return errOr(os.Rename(c.file(someDigest), c.dir+"/x"), func() error { return os.Symlink(c.dir+"/x", c.file(someDigest)) })
		}
	}
	for name, f := range spoil {
		t.Run(name, func(t *testing.T) {
			c, log := testCache(t)
			c.store(someDigest, someOffer(`{"name":"a"}`))
			if c.load(someDigest) == nil {
				t.Fatal("the file is good and was not read: " + log.String())
			}
			if err := f(c); err != nil {
				t.Fatal(err)
			}
			if o := c.load(someDigest); o != nil {
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
	f.Add([]byte(cacheMagic))
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := decodeOffer(raw, someDigest)
		if err == nil && !bytes.Equal(encodeOffer(o, someDigest), raw) {
			// A length may be written in more bytes than it needs; what it says counts.
			again, err := decodeOffer(encodeOffer(o, someDigest), someDigest)
			if err != nil || !again.equal(o) {
				t.Errorf("%q is not what was read", raw)
			}
		}
	})
}

func TestCacheTooLargeIsNotKept(t *testing.T) {
	c, log := testCache(t)
	c.store(someDigest, someOffer(strings.Repeat("x", maxCacheFile)))
	if c.load(someDigest) != nil || !strings.Contains(log.String(), "not cached") {
		t.Errorf("kept, or not said: %s", log)
	}
}

func TestCacheManyWriters(t *testing.T) {
	c, _ := testCache(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			mine := someOffer(strings.Repeat(fmt.Sprintf("%d", i), 50_000))
			for range 20 {
				c.store(someDigest, mine)
				if o := c.load(someDigest); o == nil || len(o.Tools) != 1 || len(o.Tools[0]) != 50_000 || strings.Trim(string(o.Tools[0]), string(o.Tools[0][:1])) != "" {
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

func TestCacheIsBounded(t *testing.T) {
	c, _ := testCache(t)
	c.store("0", someOffer())
	old := time.Now().Add(-time.Hour)
	for i := range maxCacheFiles + 3 {
		name := c.file(fmt.Sprintf("f%d", i))
		if err := errOr(os.WriteFile(name, nil, 0o600), func() error { return os.Chtimes(name, old, old.Add(-time.Duration(i)*time.Second)) }); err != nil {
			t.Fatal(err)
		}
	}
	foreign := filepath.Join(c.dir, "notes.txt")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.store("new", someOffer())
	left, err := filepath.Glob(c.file("*"))
	if err != nil || len(left) != maxCacheFiles {
		t.Errorf("%d files, %v", len(left), err)
	}
	if _, err := os.Stat(foreign); err != nil || c.load("new") == nil || c.load("0") == nil {
		t.Error("the wrong ones were removed")
	}
}

func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "server")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	base := func() Spec {
		return Spec{Name: "a", Command: program, Args: []string{"x", "y"}, Env: map[string]string{"TOKEN": "secret"}, Inherit: []string{"MORE"}}
	}
	h := newHost(Options{Environ: []string{"PATH=" + dir, "MORE=1", "OTHER=1"}, Home: dir, Dir: dir})
	first := identity(base(), h, "v1", EraAuto, nil)
	if first == "" || strings.Contains(first, "secret") {
		t.Fatal(first)
	}
	if identity(base(), h, "v1", EraAuto, nil) != first {
		t.Error("not the same twice")
	}
	same := base()
	same.Start, same.Share, same.CallTimeout = StartEager, ShareAll, time.Hour
	other := newHost(Options{Environ: []string{"PATH=" + dir, "MORE=1", "OTHER=2"}, Home: dir, Dir: dir})
	if identity(same, other, "v1", EraAuto, nil) != first {
		t.Error("what does not touch its offer changed the digest")
	}
	seen := map[string]string{first: "base"}
	note := func(what, d string) {
		t.Helper()
		if d == "" || seen[d] != "" {
			t.Errorf("%s: digest %q, as %q", what, d, seen[d])
		}
		seen[d] = what
	}
	for what, change := range map[string]func(*Spec){
		"name":        func(s *Spec) { s.Name = "b" },
		"args":        func(s *Spec) { s.Args = []string{"xy"} },
		"args joined": func(s *Spec) { s.Args = []string{"x y"} },
		"env":         func(s *Spec) { s.Env = map[string]string{"TOKEN": "other"} },
		"no env":      func(s *Spec) { s.Env = nil },
		"roots":       func(s *Spec) { s.Roots = RootsNone },
		"by name":     func(s *Spec) { s.Command = "server" },
		"inherit":     func(s *Spec) { s.Inherit = []string{"OTHER"} },
		"cwd":         func(s *Spec) { s.Cwd = dir },
	} {
		s := base()
		change(&s)
		note(what, identity(s, h, "v1", EraAuto, nil))
	}
	note("version", identity(base(), h, "v2", EraAuto, nil))
	note("inherited value", identity(base(), newHost(Options{Environ: []string{"PATH=" + dir, "MORE=2"}, Home: dir, Dir: dir}), "v1", EraAuto, nil))
	write("other size")
	note("program", identity(base(), h, "v1", EraAuto, nil))
	gone := base()
	gone.Command = filepath.Join(dir, "nothing")
	if d := identity(gone, h, "v1", EraAuto, nil); d != "" {
		t.Errorf("a program that is not there has digest %s", d)
	}
}
