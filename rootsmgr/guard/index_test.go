package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// The innermost root above a path is found by its components, at whatever depth.
func TestIndex(t *testing.T) {
	t.Parallel()
	const p = platform.Linux
	deep := strings.Repeat("/d", 62)
	x := guard.NewIndex()
	for i, path := range []string{"/a", "/a/b/c", deep, deep + "/d", deep + "/d/d/d", "/file"} {
		x.Add(p, path, int32(i), true)
	}
	x.AddFile(5)
	x.Add(p, "/link", 0, false)
	x.Add(p, "/a/b/c", 0, false) // the first keeps it
	x.Add(p, "/link", 1, true)   // one root by name, another where it is
	for path, want := range map[string]string{
		"/a": "0 to 2", "/a/x": "0 to 2", "/a/b": "0 to 2", "/a/b/c": "1 to 6", "/a/b/c/d/e": "1 to 6", "/ab": "none", "/": "none", "/x/a": "none",
		deep: fmt.Sprintf("2 to %d", len(deep)), deep + "/x": fmt.Sprintf("2 to %d", len(deep)), deep + "/d": fmt.Sprintf("3 to %d", len(deep)+2),
		deep + "/d/d": fmt.Sprintf("3 to %d", len(deep)+2), deep + "/d/d/d/y": fmt.Sprintf("4 to %d", len(deep)+6),
		"/file": "5 to 5", "/file/x": "none", "/link/y": "0 to 5", "rel": "none", "": "none",
	} {
		got := "none"
		if at, ok := x.Find(p, path, false); ok {
			got = fmt.Sprintf("%d to %d", at.Root, at.End)
		}
		if got != want {
			t.Errorf("%.20s: %s, want %s", path, got, want)
		}
	}
	if at, ok := x.Find(p, "/link/y", true); !ok || at.Root != 1 {
		t.Errorf("physically: %+v", at)
	}
	x = guard.NewIndex()
	x.Add(p, "/link", 0, false)
	if at, ok := x.Find(p, "/link/y", true); ok {
		t.Errorf("a name alone counts for where it leads: %+v", at)
	}
	x = guard.NewIndex()
	x.Add(p, "/", 0, true)
	for _, path := range []string{"/", "/a", "/a/b"} {
		if at, ok := x.Find(p, path, true); !ok || at != (guard.Hit{End: 1}) {
			t.Errorf("%s below /: %+v", path, at)
		}
	}
	w := guard.NewIndex()
	w.Add(platform.Windows, `C:\`, 0, true)
	w.Add(platform.Windows, `\\s\h\a`, 1, true)
	for path, want := range map[string]int{`C:\`: 0, `C:\x`: 0, `\\s\h\a\b`: 1, `\\s\h\`: -1, `\\s\h`: -1, `D:\`: -1} {
		got := -1
		if at, ok := w.Find(platform.Windows, path, true); ok {
			got = at.Root
		}
		if got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

// Where the filesystem takes two spellings for one directory, they are one root. It alone decides.
func TestIndexFolded(t *testing.T) {
	t.Parallel()
	lines := []string{"/A/B/x", "/F"}
	for _, folds := range []bool{true, false} {
		f := rootstest.NewFS(t, platform.Darwin, append(lines, "/a/b/x"))
		if folds {
			f = rootstest.NewFS(t, platform.Darwin, lines, rootstest.Folding())
		}
		d, x := guard.NewDisk(f), guard.NewIndex()
		x.Add(platform.Darwin, "/A/B", 0, true)
		x.Add(platform.Darwin, "/A", 1, false)
		x.Add(platform.Darwin, "/F", 2, true)
		x.AddFile(2)
		for path, want := range map[string]int{"/a/b": 0, "/a/b/x": 0, "/a/x": -1, "/f": 2, "/f/x": -1, "/none": -1} {
			if !folds {
				want = -1
			}
			got := -1
			if at, ok := x.FindFolded(&d, path, true); ok {
				got = at.Root
			}
			if above, ok := x.Above(&d, path); ok != (got >= 0) || ok && above.Root != got {
				t.Errorf("%s: %d, and above it %+v", path, got, above)
			}
			if got != want {
				t.Errorf("folds %t: %s: %d, want %d", folds, path, got, want)
			}
		}
		if at, ok := x.FindFolded(&d, "/a/x", false); ok != folds || ok && at.Root != 1 {
			t.Errorf("folds %t: by name: %+v", folds, at)
		}
		for path, want := range map[string]int{"/A/B": 0, "/a/b": 0, "/A/B/x": -1, "/a/b/x": -1, "/A": -1, "/none": -1} {
			if !folds && path == "/a/b" {
				want = -1
			}
			if got := x.FindExact(&d, path); got != want {
				t.Errorf("folds %t: exactly %s: %d, want %d", folds, path, got, want)
			}
		}
		if d.SameDir("/A", "/a") != folds || !d.SameDir("/none", "/none") || d.SameDir("/none", "/NONE") || d.SameDir("/A", "/A/B") {
			t.Errorf("folds %t: the same directory", folds)
		}
	}
	// A filesystem that cannot compare files has one spelling for each.
	d, x := guard.NewDisk(plainMac{plainFS{rootstest.NewFS(t, platform.Darwin, lines, rootstest.Folding())}}), guard.NewIndex()
	x.Add(platform.Darwin, "/A", 0, true)
	if at, ok := x.FindFolded(&d, "/a", true); ok {
		t.Errorf("%+v", at)
	}
	if got := x.FindExact(&d, "/A"); got != 0 {
		t.Errorf("exactly as it is spelled: %d", got)
	}
	// A root above in its own spelling hides none that is the very directory in another.
	d, x = guard.NewDisk(rootstest.NewFS(t, platform.Darwin, lines, rootstest.Folding())), guard.NewIndex()
	x.Add(platform.Darwin, "/A", 0, true)
	x.Add(platform.Darwin, "/A/B", 1, true)
	if got := x.FindExact(&d, "/A/b"); got != 1 {
		t.Errorf("exactly, below another: %d", got)
	}
	// Of very many spellings that may be one name some are not kept, which only denies.
	all := guard.NewDisk(rootstest.NewFS(t, platform.Darwin, []string{"/aaaaa/"}, rootstest.Folding()))
	x = guard.NewIndex()
	for i := range 32 {
		x.Add(platform.Darwin, spelled(i), int32(i), true)
	}
	if at, ok := x.FindFolded(&all, "/AAAAA", true); !ok || at.Root != 0 {
		t.Errorf("of many: %+v", at)
	}
	if at, ok := x.Find(platform.Darwin, spelled(31), true); !ok || at.Root != 31 {
		t.Errorf("its own spelling: %+v", at)
	}
	kept := 0
	each := guard.NewDisk(rootstest.NewFS(t, platform.Darwin, nil)) // of which each may be another one
	for i := range 32 {
		if at, ok := x.FindFolded(&each, spelled(i), true); ok && at.Root == i {
			kept++
		}
	}
	if kept != 16 {
		t.Errorf("%d spellings are kept", kept)
	}
}

// spelled is "/aaaaa" with some letters large.
func spelled(i int) string {
	out := []byte("/aaaaa")
	for bit := range 5 {
		if i&(1<<bit) != 0 {
			out[bit+1] = 'A'
		}
	}
	return string(out)
}

// plainFS is an FS that offers nothing more.
type plainFS struct{ guard.FS }

// plainMac is one with the rules of a Mac.
type plainMac struct{ plainFS }

func (plainMac) Platform() platform.Platform { return platform.Darwin }
