package guard_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
)

// A root that is a single file opens that file alone.
func TestFileRoot(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "d/f", "d/g", "d/ff", "link => d/f", "d/near => f", "d/out => g")
	g := guardOf(t, guard.OS{}, dir+"/d/f")
	for path, want := range map[string]bool{
		"/d/f": true, "/d/near": false, "/d": false, "/d/g": false, "/d/ff": false, "/d/f/x": false, "/d/f/../g": false,
		"/d/f/.": true, "/d/./f": true, "/d/out": false, "/link": false, "": false,
	} {
		if _, err := g.Check(dir + path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	// The name that the user knows counts as well.
	if _, err := guardOf(t, guard.OS{}, dir+"/link").Check(dir + "/link"); err != nil {
		t.Error(err)
	}
	if place, err := g.Check(dir + "/d/f"); err != nil || place.Path != place.Root.Path || !place.Root.File || !place.File {
		t.Errorf("%+v, %v", place, err)
	}
	// Whatever takes the place of the file is not what was meant.
	for _, lines := range [][]string{{"d/f/x"}, {"d/f => ../elsewhere/", "elsewhere/x"}, {"d/f => g"}} {
		if err := os.RemoveAll(dir + "/d/f"); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Check(dir + "/d/f"); err != nil {
			t.Errorf("a file that is to be made again: %v", err)
		}
		rootstest.Add(t, dir, lines...)
		for _, path := range []string{"/d/f", "/d/f/x"} {
			if place, err := g.Check(dir + path); err == nil {
				t.Errorf("%v: %s is open: %+v", lines, path, place)
			}
		}
	}
}

// Neither directory nor regular file: reading a pipe hangs, and a socket or a
// device is no place for work.
func TestOddRoots(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "secret", "folder/")
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	d := guard.NewDisk(guard.OS{})
	for _, path := range []string{dir + "/fifo", "/dev/null"} {
		if f, err := d.Canonical(path); err == nil || !strings.Contains(err.Error(), "neither a directory nor a regular file") {
			t.Errorf("%s: %+v, %v", path, f, err)
		}
	}
	for _, path := range []string{"/secret", "/folder"} {
		if _, err := d.Canonical(dir + path); err != nil {
			t.Errorf("control: %v", err)
		}
		if err := os.Chmod(dir+path, 0o111); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Canonical(dir + path); err == nil && os.Getuid() != 0 {
			t.Errorf("%s cannot be read, and is a root", path)
		}
	}
}
