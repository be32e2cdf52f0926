package rootsmgr_test

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/rootsmgr/rootstest"
)

// A root that is a single file opens that file alone.
func TestFileRoot(t *testing.T) {
	dir := rootstest.Tree(t, "d/f", "d/g", "d/ff", "link => d/f", "d/near => f", "d/out => g")
	s := NewSnapshot(guard.OS{}, 1, OriginAsked, uris(dir+"/d/f"))
	if r := s.Roots(); len(r) != 1 || !r[0].File || r[0].URI != platform.Host().FormatURI(dir+"/d/f") {
		t.Fatalf("%+v, %+v", r, s.Skipped())
	}
	for path, want := range map[string]bool{
		"/d/f": true, "/d/near": false, "/d": false, "/d/g": false, "/d/ff": false, "/d/f/x": false, "/d/f/../g": false,
		"/d/f/.": true, "/d/./f": true, "/d/out": false, "/link": false, "": false,
	} {
		if _, err := s.Guard().Check(dir + path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	// The name that the user knows counts as well.
	if _, err := NewSnapshot(guard.OS{}, 1, OriginAsked, uris(dir+"/link")).Guard().Check(dir + "/link"); err != nil {
		t.Error(err)
	}
	if place, err := s.Guard().Check(dir + "/d/f"); err != nil || place.Path != place.Root.Path || !place.Root.File || !place.File {
		t.Errorf("%+v, %v", place, err)
	}
	// Whatever takes the place of the file is not what was meant.
	for _, lines := range [][]string{{"d/f/x"}, {"d/f => ../elsewhere/", "elsewhere/x"}, {"d/f => g"}} {
		if err := os.RemoveAll(dir + "/d/f"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Guard().Check(dir + "/d/f"); err != nil {
			t.Errorf("a file that is to be made again: %v", err)
		}
		rootstest.Add(t, dir, lines...)
		for _, path := range []string{"/d/f", "/d/f/x"} {
			if place, err := s.Guard().Check(dir + path); err == nil {
				t.Errorf("%v: %s is open: %+v", lines, path, place)
			}
		}
	}
}

// A file beside and below directories, and under a ceiling.
func TestFileRootAmongOthers(t *testing.T) {
	f := rootstest.NewFS(t, platform.Linux, []string{"/d/f", "/d/sub/g", "/e/h"})
	s := NewSnapshot(f, 1, OriginAsked, uris("/d/f", "/d", "/e/h"))
	if r := s.Roots(); len(r) != 3 || !r[0].File || !r[0].Redundant || r[1].File || r[2].Redundant {
		t.Errorf("%+v", r)
	}
	for path, want := range map[string]bool{"/d/f": true, "/d/g": true, "/e/h": true, "/e/i": false, "/e": false} {
		if _, err := s.Guard().Check(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	under := func(top string, entries ...string) string {
		ceiling := NewSnapshot(f, 1, OriginCeiling, []Entry{{URI: top}})
		var list []Entry
		for _, e := range entries {
			list = append(list, Entry{URI: e})
		}
		var out []string
		for _, r := range NewSnapshotUnder(f, ceiling, list...).Roots() {
			out = append(out, r.Path)
			if r.File != strings.HasSuffix(r.Path, "f") {
				t.Errorf("%+v", r)
			}
		}
		return strings.Join(out, " ")
	}
	for _, tc := range [][3]string{{"/d", "/d/f", "/d/f"}, {"/d/f", "/d", "/d/f"}, {"/d/f", "/d/f", "/d/f"}, {"/d/f", "/e", ""}, {"/e", "/d/f", ""}} {
		if got := under(tc[0], tc[1]); got != tc[2] {
			t.Errorf("%s under %s: %q, want %q", tc[1], tc[0], got, tc[2])
		}
	}
	if _, _, errs := guard.NewAreas(f, []string{"/d/f"}); errs[0] == nil {
		t.Error("a file is the directory of a rule")
	}
}

// Neither directory nor regular file: reading a pipe hangs, and a socket or a
// device is no place for work.
func TestOddRoots(t *testing.T) {
	dir := rootstest.Tree(t, "secret")
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	if s := NewSnapshot(guard.OS{}, 1, OriginAsked, uris(dir+"/fifo", "/dev/null")); s.Len() != 0 || len(s.Skipped()) != 2 {
		t.Errorf("%v %v", s.Paths(), s.Skipped())
	}
	if os.Getuid() != 0 {
		if err := os.Chmod(dir+"/secret", 0); err != nil {
			t.Fatal(err)
		}
		if s := NewSnapshot(guard.OS{}, 1, OriginAsked, uris(dir+"/secret")); s.Len() != 0 {
			t.Error("a file that cannot be read is a root")
		}
	}
	if got := (&Snapshot{}).Paths(); !slices.Equal(got, []string{}) {
		t.Error(got)
	}
}
