package removal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/children/removal"
	"mcphub/e2e/childtest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hostile returns a folder in which someone did what he could to stay.
func hostile(t *testing.T, build func(dir string)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mcp-*")
	must(t, err)
	t.Cleanup(func() { _ = removal.All(dir) })
	build(dir)
	return dir
}

func there(dir string) bool {
	_, err := os.Lstat(dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// nested makes folders within folders, deeper than any path is long.
func nested(t *testing.T, dir string, deep int, mode uint32) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	must(t, err)
	var last int
	for i := range deep {
		must(t, unix.Mkdirat(at, "d", 0o700))
		next, err := unix.Openat(at, "d", unix.O_PATH|unix.O_DIRECTORY, 0)
		must(t, err)
		if last = at; i > 0 && mode != 0o700 {
			must(t, unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", at), mode))
		}
		must(t, unix.Close(last))
		at = next
	}
	must(t, unix.Close(at))
}

// TestAll removes what os.RemoveAll leaves, as a user without rights.
func TestAll(t *testing.T) {
	outside := t.TempDir()
	kept := filepath.Join(outside, "kept")
	must(t, os.WriteFile(kept, nil, 0o400))
	must(t, os.Chmod(outside, 0o500))
	defer func() { _ = os.Chmod(outside, 0o700) }()
	for _, tc := range []struct {
		name  string
		stays bool // after os.RemoveAll, of a user without rights
		build func(dir string)
	}{
		{"files and folders", false, func(dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, "a/b/file"), nil, 0o000))
			must(t, unix.Mkfifo(filepath.Join(dir, "a/fifo"), 0o600))
		}},
		{"a folder of mode 0", true, func(dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o700))
			must(t, os.Chmod(filepath.Join(dir, "a"), 0))
		}},
		{"folders that may be read and not written", true, func(dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, "a/b/c/d"), 0o700))
			for _, sub := range []string{"a/b/c", "a/b", "a"} {
				must(t, os.Chmod(filepath.Join(dir, sub), 0o500))
			}
		}},
		{"itself of mode 0", true, func(dir string) {
			must(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
			must(t, os.Chmod(dir, 0))
		}},
		{"deeper than descriptors last", true, func(dir string) { nested(t, dir, 400, 0o700) }},
		{"deep, and closed", true, func(dir string) { nested(t, dir, 400, 0) }},
		{"many closed folders side by side", true, func(dir string) {
			for i := range 200 {
				sub := filepath.Join(dir, fmt.Sprint(i))
				must(t, os.MkdirAll(filepath.Join(sub, "x/y"), 0o700))
				must(t, os.Chmod(filepath.Join(sub, "x"), 0))
			}
		}},
		{"links to what lies outside", true, func(dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o700))
			must(t, os.Symlink(outside, filepath.Join(dir, "a/link")))
			must(t, os.Symlink(kept, filepath.Join(dir, "a/b/link")))
			must(t, os.Chmod(filepath.Join(dir, "a"), 0o500))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// The control has fewer descriptors than the deep folder has levels.
			var limit unix.Rlimit
			must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
			must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 256, Max: limit.Max}))
			defer func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) }()
			dir := hostile(t, tc.build)
			if err := os.RemoveAll(dir); os.Geteuid() != 0 && (err != nil) != tc.stays {
				t.Errorf("os.RemoveAll: %v; it should fail: %t, else this shows nothing", err, tc.stays)
			}
			dir = hostile(t, tc.build)
			must(t, removal.All(dir))
			if there(dir) {
				t.Error("it is there")
			}
			if fi, err := os.Stat(outside); err != nil || fi.Mode().Perm() != 0o500 || !there(kept) {
				t.Errorf("what lies outside has changed: %v, %v", fi, err)
			}
		})
	}
}

// TestNothing: what is not there is removed, and what is no folder too.
func TestNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{filepath.Join(dir, "x"), filepath.Join(dir, "x/y"), file} {
		must(t, removal.All(path))
	}
	if there(file) {
		t.Error("the file is there")
	}
}

// TestAsAnotherUser: root removes it anyway.
func TestAsAnotherUser(t *testing.T) {
	t.Parallel()
	childtest.AsAnotherUser(t, "TestAll", "TestNothing")
}

// BenchmarkAll removes a hundred thousand files.
func BenchmarkAll(b *testing.B) {
	for _, how := range []struct {
		name   string
		remove func(string) error
	}{{"here", removal.All}, {"os", os.RemoveAll}} {
		b.Run(how.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				dir := b.TempDir()
				for i := range 100_000 {
					if i%1000 == 0 {
						must(b, os.Mkdir(filepath.Join(dir, fmt.Sprint("d", i/1000)), 0o700))
					}
					must(b, os.WriteFile(filepath.Join(dir, fmt.Sprint("d", i/1000), fmt.Sprint(i)), nil, 0o600))
				}
				b.StartTimer()
				must(b, how.remove(dir))
			}
		})
	}
}
