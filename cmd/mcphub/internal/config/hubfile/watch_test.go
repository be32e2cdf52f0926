package hubfile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/internal/atomicfile"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, target, name string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return name
}

func done(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

const v1, v2, v3 = `{"mcpServers": {}}`, `{"mcpServers": {"a": {"command": "a"}}}`, `{"mcpServers": {"b": {"command": "b"}}}`

// watched is a Watcher at work on a file with the content v1.
type watched struct {
	t *testing.T
	*Watcher
	path string
}

// found returns the file at path as it is now.
func found(t *testing.T, path string) Change {
	t.Helper()
	trail, err := Follow(path)
	done(t, err)
	data, err := Read(path)
	done(t, err)
	return Change{Sum: Sum(data), Trail: trail}
}

func watch(t *testing.T, path string, change func(w *Watcher)) *watched {
	t.Helper()
	w := NewWatcher(path, found(t, path), func(err error) { t.Log("trouble:", err) })
	w.quiet, w.poll = 20*time.Millisecond, time.Hour // by events alone
	if change != nil {
		change(w)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &watched{t, w, path}
}

// until waits for the change to this text; "" is a file that cannot be read.
func (w *watched) until(text string) Change {
	w.t.Helper()
	want := ""
	if text != "" {
		want = Sum([]byte(text))
	}
	late := time.After(bounds.Patience)
	for {
		select {
		case c := <-w.Changes():
			if c.Sum == want && (c.Err != nil) == (text == "") {
				return c
			}
			w.t.Logf("on the way: %q %v", c.Sum, c.Err)
		case <-late:
			w.t.Fatalf("nobody noticed that the file became %q", text)
		}
	}
}

// rename gives a file another name. On Windows that waits until the watcher has read what is there.
func rename(t *testing.T, from, to string) {
	t.Helper()
	var err error
	if !bounds.Within(bounds.Patience, func() bool { err = os.Rename(from, to); return err == nil }) {
		t.Fatal(err)
	}
}

// TestWatcher replaces a file in every way that editors, people and Kubernetes know, each twice: a watch that is lost by
// the first would not see the second.
func TestWatcher(t *testing.T) {
	kinds := map[string]func(t *testing.T, path, text string){
		"write in place": func(t *testing.T, path, text string) { put(t, path, text) },
		"truncate, then write": func(t *testing.T, path, text string) {
			done(t, os.Truncate(path, 0))
			put(t, path, text)
		},
		"rename over it": func(t *testing.T, path, text string) {
			rename(t, put(t, path+".tmp", text), path)
		},
		"rename from another folder": func(t *testing.T, path, text string) {
			rename(t, put(t, filepath.Join(filepath.Dir(path), "other", "x"), text), path)
		},
		"delete and create": func(t *testing.T, path, text string) {
			done(t, os.Remove(path))
			put(t, path, text)
		},
		"move away and create (a backup)": func(t *testing.T, path, text string) {
			rename(t, path, path+"~")
			put(t, path, text)
		},
		"swap for a symlink": func(t *testing.T, path, text string) {
			target := put(t, filepath.Join(filepath.Dir(path), "real", fmt.Sprint(len(text), text[16:17])), text)
			tmp := path + ".link"
			link(t, target, tmp)
			done(t, os.Rename(tmp, path))
		},
		"delete and link": func(t *testing.T, path, text string) {
			target := put(t, filepath.Join(filepath.Dir(path), "real", "hub.json"), text)
			done(t, os.Remove(path))
			link(t, target, path)
		},
		"the folder deleted and made again": func(t *testing.T, path, text string) {
			err := os.RemoveAll(filepath.Dir(path))
			for tries := 0; err != nil && tries < 10_000; tries++ { // on Windows a file stays for as long as the watcher reads it
				runtime.Gosched()
				err = os.RemoveAll(filepath.Dir(path))
			}
			done(t, err)
			put(t, path, text)
		},
		"the folder swapped": func(t *testing.T, path, text string) {
			dir := filepath.Dir(path)
			put(t, filepath.Join(dir+".new", filepath.Base(path)), text)
			done(t, os.RemoveAll(dir+".old"), os.Rename(dir, dir+".old"), os.Rename(dir+".new", dir))
		},
	}
	for name, replace := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, put(t, filepath.Join(t.TempDir(), "conf", "hub.json"), v1), nil)
			for _, text := range []string{v2, v3, v1} {
				replace(t, w.path, text)
				w.until(text)
			}
		})
	}
}

// TestWatcherThroughLinks changes what the path leads to: the file behind a link, the links, and folders that are links.
func TestWatcherThroughLinks(t *testing.T) {
	t.Run("the file behind a link", func(t *testing.T) {
		t.Parallel()
		d := t.TempDir()
		target := put(t, filepath.Join(d, "far", "real.json"), v1)
		link(t, "../far/real.json", filepath.Join(d, "mid", "l"))
		w := watch(t, link(t, filepath.Join(d, "mid", "l"), filepath.Join(d, "near", "hub.json")), nil)
		put(t, target, v2)
		w.until(v2)
		other := put(t, filepath.Join(d, "elsewhere", "x.json"), v3)
		done(t, os.Remove(filepath.Join(d, "mid", "l")))
		link(t, other, filepath.Join(d, "mid", "l"))
		w.until(v3)
		put(t, other, v1) // in a folder that was not watched before
		w.until(v1)
	})
	t.Run("a volume of Kubernetes", func(t *testing.T) {
		t.Parallel()
		d := t.TempDir()
		put(t, filepath.Join(d, "..2024_1", "hub.json"), v1)
		link(t, "..2024_1", filepath.Join(d, "..data"))
		w := watch(t, link(t, "..data/hub.json", filepath.Join(d, "hub.json")), nil)
		for i, text := range []string{v2, v3, v1} {
			version := fmt.Sprintf("..2024_%d", i+2)
			put(t, filepath.Join(d, version, "hub.json"), text)
			link(t, version, filepath.Join(d, "..data_tmp"))
			done(t, os.Rename(filepath.Join(d, "..data_tmp"), filepath.Join(d, "..data")))
			w.until(text)
		}
	})
	t.Run("a folder on the way", func(t *testing.T) {
		t.Parallel()
		d := t.TempDir()
		put(t, filepath.Join(d, "one", "sub", "hub.json"), v1)
		put(t, filepath.Join(d, "two", "sub", "hub.json"), v2)
		dir := link(t, filepath.Join(d, "one"), filepath.Join(d, "links", "dir"))
		w := watch(t, filepath.Join(dir, "sub", "hub.json"), nil)
		done(t, os.Remove(dir))
		link(t, filepath.Join(d, "two"), dir)
		w.until(v2)
	})
	t.Run("the same text elsewhere", func(t *testing.T) {
		t.Parallel()
		d := t.TempDir()
		one, two := put(t, filepath.Join(d, "one"), v1), put(t, filepath.Join(d, "two"), v1)
		w := watch(t, link(t, one, filepath.Join(d, "hub.json")), nil)
		done(t, os.Remove(w.path))
		link(t, two, w.path)
		if c := w.until(v1); filepath.Base(c.Trail.RealPath()) != "two" {
			t.Errorf("it lies at %s", c.Trail.RealPath())
		}
	})
}

func TestWatcherTellsOfAFileThatIsGone(t *testing.T) {
	t.Parallel()
	w := watch(t, put(t, filepath.Join(t.TempDir(), "conf", "hub.json"), v1), nil)
	done(t, os.Remove(w.path))
	if c := w.until(""); !os.IsNotExist(c.Err) {
		t.Error(c.Err)
	}
	put(t, w.path, v1) // the very same again
	w.until(v1)
	done(t, os.RemoveAll(filepath.Dir(w.path)))
	w.until("")
	put(t, w.path, v2)
	w.until(v2)
}

// TestWatcherLooksAtTheStart finds what happened between the reading of the file and Run.
func TestWatcherLooksAtTheStart(t *testing.T) {
	t.Parallel()
	path := put(t, filepath.Join(t.TempDir(), "hub.json"), v1)
	w := watch(t, path, func(*Watcher) { put(t, path, v2) })
	w.until(v2)
}

// TestWatcherWithoutEvents has no events at all.
func TestWatcherWithoutEvents(t *testing.T) {
	t.Parallel()
	path := put(t, filepath.Join(t.TempDir(), "hub.json"), v1)
	w := NewWatcher(path, found(t, path), nil)
	blind := &folderWatch{}
	w.compareFile(blind)
	if len(w.changes) != 0 {
		t.Errorf("a change where there was none: %+v", <-w.changes)
	}
	put(t, path, v2)
	w.compareFile(blind)
	put(t, path, v3) // no one took the first: the latest is what counts
	w.compareFile(blind)
	w.compareFile(blind)
	if c := <-w.changes; c.Sum != Sum([]byte(v3)) || len(w.changes) != 0 {
		t.Errorf("%+v", c)
	}
}

// TestWatcherIsNotFooledByASave sees no change in what is none, and one settled state in a storm of writes.
func TestWatcherIsNotFooledByASave(t *testing.T) {
	t.Parallel()
	w := watch(t, put(t, filepath.Join(t.TempDir(), "hub.json"), v1), nil)
	put(t, w.path, v1)
	done(t, atomicfile.WriteHint(w.path, []byte(v1), 0o600)) // the watcher may read the file
	put(t, filepath.Join(filepath.Dir(w.path), "other.json"), v2)
	for i := range 200 {
		put(t, w.path, strings.Repeat(" ", i)+v2)
	}
	put(t, w.path, v2)
	w.until(v2)
}

func TestFollow(t *testing.T) {
	t.Parallel()
	d, err := filepath.EvalSymlinks(t.TempDir())
	done(t, err)
	real := put(t, filepath.Join(d, "real", "deep", "f"), "")
	link(t, "real/deep", filepath.Join(d, "dir"))
	link(t, "dir/../deep/f", filepath.Join(d, "file"))
	link(t, filepath.Join(d, "nowhere"), filepath.Join(d, "dangling"))
	link(t, "loop", filepath.Join(d, "loop"))
	in := func(names ...string) (out []string) {
		for _, n := range names {
			out = append(out, filepath.Join(d, n))
		}
		return out
	}
	for _, c := range []struct {
		path         string
		names, links []string
	}{
		{"real/deep/f", []string{real}, nil},
		{"dir/f", in("dir/f", "real/deep/f"), in("dir")},
		{"file", in("file", "real/deep/f"), in("dir")}, // dir/.. is real, and not d
		{"dangling", in("dangling", "nowhere"), nil},
		{"missing/x/y", in("missing/x/y"), nil},
		{"dir/missing", in("dir/missing", "real/deep/missing"), in("dir")},
	} {
		got, err := Follow(filepath.Join(d, c.path))
		if err != nil || !slices.Equal(got.Names, c.names) || !slices.Equal(got.Links, c.links) {
			t.Errorf("%s: %+v, %v; want %q, %q", c.path, got, err, c.names, c.links)
		}
	}
	if _, err := Follow(filepath.Join(d, "loop")); err == nil {
		t.Error("a loop leads somewhere")
	}
}
