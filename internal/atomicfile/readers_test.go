package atomicfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"mcphub/e2e/seeds"
)

// text returns what a file holds after it was replaced i times: its sum, and so many bytes that two reads may take them.
func text(i int) []byte {
	body := bytes.Repeat([]byte(strconv.Itoa(i)+" "), 10_000)
	sum := sha256.Sum256(body)
	return append(sum[:], body...)
}

// whole reports whether a reader has seen all of a file.
func whole(b []byte) bool {
	if len(b) < sha256.Size {
		return false
	}
	sum := sha256.Sum256(b[sha256.Size:])
	return bytes.Equal(sum[:], b[:sha256.Size])
}

// replaced replaces a file so many times beside four readers, and returns how often that failed and how many readers saw a whole file. It
// ends the test if one saw a part.
func replaced(t *testing.T, times int, read func(string) ([]byte, error), write func(string, []byte) error) (failed int, reads int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, text(0), 0o600); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	var ended atomic.Bool
	var seen atomic.Int64
	for range 4 {
		readers.Go(func() {
			for first := true; first || !ended.Load(); first = false {
				b, err := read(path)
				if err != nil || !whole(b) {
					t.Errorf("a reader sees %d bytes: %v", len(b), err)
					return
				}
				seen.Add(1)
			}
		})
	}
	for i := range times {
		if write(path, text(i+1)) != nil {
			failed++
		}
	}
	ended.Store(true)
	readers.Wait()
	if got, err := os.ReadFile(path); failed == 0 && (err != nil || !bytes.Equal(got, text(times))) {
		t.Errorf("the last text is not in the file: %d bytes, %v", len(got), err)
	}
	return failed, seen.Load()
}

// TestReplacedBesideReaders: a file is replaced while others read it, and no reader sees a part.
func TestReplacedBesideReaders(t *testing.T) {
	times := seeds.Cases(t, 300)
	failed, reads := replaced(t, times, Read, func(path string, data []byte) error { return WriteHint(path, data, 0o600) })
	t.Logf("%d times beside %d reads", times, reads)
	if failed != 0 {
		t.Errorf("%d of %d times the file was not replaced", failed, times)
	}
	if runtime.GOOS != "windows" {
		return
	}
	// The control: one attempt, as os.Rename makes it, fails.
	failed, _ = replaced(t, 50, Read, func(path string, data []byte) error {
		return errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path))
	})
	if failed == 0 {
		t.Error("the control: a file is replaced at the first attempt, so nothing is shown")
	}
}

// TestRotatedUnderAReader: a file that a reader has opened gets another name, and the reader reads on.
func TestRotatedUnderAReader(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(string) (*os.File, error){
		"Open":    func(path string) (*os.File, error) { return Open(path, 0) },
		"os.Open": os.Open, // the control
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte("line\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := open(path)
		if err != nil {
			t.Fatal(err)
		}
		moved := os.Rename(path, path+".1") == nil
		if moved != (name == "Open" || runtime.GOOS != "windows") {
			t.Errorf("%s: it got another name: %t", name, moved)
		}
		b := make([]byte, 9)
		if n, err := f.Read(b); err != nil || string(b[:n]) != "line\n" {
			t.Errorf("%s: %q %v", name, b[:n], err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOpen returns the errors of os.Open, opens a folder as it does, and reads a file of any length.
func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if f, err := Open(filepath.Join(dir, "none"), 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, %v", f, err)
	}
	if _, err := Read(dir + "\x00"); err == nil {
		t.Error("a name with a zero byte")
	}
	f, err := Open(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
}
