package guard_test

import (
	"errors"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// The error of a path names the reading that leads out, and the place that it leads to.
func TestWhichReadingLeaves(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Linux, []string{"/r/in/f", "/r/l => ../out", "/r/a => in/b", "/r/in/b/", "/r/x => /out/deep", "/out/deep/", "/out/s", "/b/", "/r/s => ../out"})
	g := guardOf(t, f, "/r")
	for path, want := range map[string]struct {
		reading  guard.Reading
		resolved string
		text     string
	}{
		"/out/s":      {guard.ReadingLexical, "/out/s", `path "/out/s" is outside every root`},
		"/r/l/s":      {guard.ReadingPhysical, "/out/s", `path "/r/l/s" leads to "/out/s" through symlinks, outside every root`},
		"/r/a/../l/s": {guard.ReadingCleaned, "/out/s", `path "/r/a/../l/s" leads to "/out/s" through symlinks after removing "..", outside every root`},
	} {
		place, err := g.Check(path)
		var e *guard.EscapeError
		if !errors.As(err, &e) || *e != (guard.EscapeError{Path: path, Resolved: want.resolved, Reading: want.reading}) || e.Error() != want.text {
			t.Errorf("%s: %+v", path, err)
		}
		if place.Root != (guard.Root{}) || place.Readings.Lexical == "" {
			t.Errorf("%s: %+v", path, place)
		}
		lexical, physical, cleaned := g.Inside(&place.Readings)
		if lexical != (want.reading != guard.ReadingLexical) || physical != (want.reading == guard.ReadingCleaned) || cleaned {
			t.Errorf("%s: inside %t %t %t", path, lexical, physical, cleaned)
		}
	}
	place, err := g.Check("/r/in/f")
	if lexical, physical, cleaned := g.Inside(&place.Readings); err != nil || !lexical || !physical || !cleaned {
		t.Errorf("inside: %v, %t %t %t", err, lexical, physical, cleaned)
	}
	none := guardOf(t, f)
	place, err = none.Check("/r/l/s")
	var e *guard.EscapeError
	if !errors.As(err, &e) || e.Reading != guard.ReadingNone || e.Resolved != "/out/s" || e.Error() != `path "/r/l/s": no root is open` || place.Path != "/out/s" {
		t.Errorf("no root: %+v, %v", place, err)
	}
	seen := map[string]bool{}
	for r := guard.ReadingNone; r <= guard.ReadingCleaned; r++ {
		if seen[r.String()] || r.String() == "" {
			t.Errorf("reading %d: %q again", r, r)
		}
		seen[r.String()] = true
	}
	for _, r := range []guard.Reading{guard.ReadingCleaned + 1, 99} {
		if got := r.String(); got != "none" {
			t.Errorf("reading %d: %q", r, got)
		}
	}
	for _, e := range []*guard.UnresolvableError{
		{Path: "/p", Cause: platform.CauseLoop}, {Path: "/p", At: "/p", Cause: platform.CauseLoop}, {Path: "/p", At: "/p/q", Cause: platform.CauseIO, Err: errors.New("disk")},
	} {
		at, disk := strings.Contains(e.Error(), " at "), strings.HasSuffix(e.Error(), ": disk")
		if !strings.HasPrefix(e.Error(), `path "/p" cannot be resolved: `) || at != (e.At == "/p/q") || disk != (e.Err != nil) || !errors.Is(e, e.Err) && e.Err != nil {
			t.Errorf("%v", e)
		}
	}
}

// The roots of a Guard, the innermost one above a path, and another look at the same disk.
func TestGuardRoots(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Linux, []string{"/r/in/f", "/q => r", "/s/f"})
	a, b := guardOf(t, f, "/r", "/r/in"), guardOf(t, f, "/s")
	u := guard.Union(a, b)
	if all := u.Roots(); len(all) != 3 || all[1].Path != "/r/in" || all[2].Path != "/s" {
		t.Errorf("%+v", all)
	}
	for path, want := range map[string]string{"/r/in/f": "/r/in", "/r/x": "/r", "/s": "/s", "/x": ""} {
		if root, ok := u.Above(path, true); root.Path != want || ok != (want != "") {
			t.Errorf("%s: %+v %t", path, root, ok)
		}
	}
	// The innermost counts, whichever Guard it is of, and whichever comes first.
	for _, u := range []*guard.Guard{guard.Union(guardOf(t, f, "/r"), guardOf(t, f, "/r/in")), guard.Union(guardOf(t, f, "/r/in"), guardOf(t, f, "/r"))} {
		if place, err := u.Check("/r/in/f"); err != nil || place.Root.Path != "/r/in" {
			t.Errorf("%+v, %v", place, err)
		}
	}
	folding := rootstest.NewFS(t, platform.Darwin, []string{"/R/In/f", "/l => R"}, rootstest.Folding())
	for _, u := range []*guard.Guard{guard.Union(guardOf(t, folding, "/R"), guardOf(t, folding, "/R/In")), guard.Union(guardOf(t, folding, "/R/In"), guardOf(t, folding, "/R"))} {
		if place, err := u.Check("/r/in/f"); err != nil || place.Root.Path != "/R/In" {
			t.Errorf("folded: %+v, %v", place, err)
		}
	}
	// Of two Guards with one directory the first says which root it is.
	for fsys, paths := range map[guard.FS][]string{f: {"/r", "/q", "/r/in/f"}, folding: {"/R", "/l", "/r/in/f"}} {
		for range 2 {
			if place, err := guard.Union(guardOf(t, fsys, paths[0]), guardOf(t, fsys, paths[1])).Check(paths[2]); err != nil || place.Root.Given != paths[0] {
				t.Errorf("of %s and %s: %+v, %v", paths[0], paths[1], place, err)
			}
			paths[0], paths[1] = paths[1], paths[0]
		}
	}
	linked := guardOf(t, f, "/q")
	if _, ok := linked.Above("/q/x", false); !ok {
		t.Error("by name")
	}
	if _, ok := linked.Above("/q/x", true); ok {
		t.Error("by name, where it leads")
	}
	other := rootstest.NewFS(t, platform.Linux, []string{"/r/in => ../s", "/s/f"})
	if _, err := a.Through(other).Check("/r/in/f"); err == nil {
		t.Error("it does not look at the other disk")
	}
	if _, err := a.Check("/r/in/f"); err != nil {
		t.Errorf("it looks at the other disk: %v", err)
	}
	if a.Through(nil) != a || len(a.Through(other).Roots()) != 2 {
		t.Error("the roots have changed")
	}
	if d := a.Disk(); d.FS != guard.FS(f) {
		t.Error("the disk is another one")
	}
}

// A root is called what the client calls it, or by its last part.
func TestRootLabel(t *testing.T) {
	t.Parallel()
	for path, base := range map[string]string{"/a/b": "b", "/": "/", `C:\`: `C:`, `C:\a`: "a", `\\s\h\x y`: "x y", "": ""} {
		r := guard.Root{Path: path}
		if r.Base() != base || r.Label() != base {
			t.Errorf("%q: %q, %q", path, r.Base(), r.Label())
		}
		if r.Name = "N"; r.Label() != "N" || r.Base() != base {
			t.Errorf("%q with a name: %q", path, r.Label())
		}
	}
}
