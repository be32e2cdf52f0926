package rootsmgr_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// An answer none of whose entries is one is malformed, and keeps what was
// known; one with a good entry, and an empty one, replace it.
func TestMalformedAnswer(t *testing.T) {
	t.Parallel()
	bad := []Skipped{{Raw: "7", Reason: "it is no object"}, {Raw: "{}", Reason: "it is no object"}}
	bubble(t, setup{}, func(t *testing.T, d *session) {
		d.NoteHandshake(true, true)
		d.question().Page(Page{Skipped: bad})
		v := d.call().judged(t, "failed").rootsView
		if !errors.Is(v.Err, ErrMalformed) || !strings.Contains(v.Why(), "none of its 2 entries") {
			t.Errorf("%v: %s", v.Err, v.Why())
		}
	})
	for name, tc := range map[string]struct {
		pages []Page
		want  string
	}{
		"no entry":             {[]Page{{Skipped: bad}}, "known /a stale by asked"},
		"no entry on any page": {[]Page{{Skipped: bad, NextCursor: "1"}, {Skipped: bad}}, "known /a stale by asked"},
		"bad among good":       {[]Page{{Skipped: bad, Entries: uris("/b")}}, "known /b by asked"},
		"good on a later page": {[]Page{{Skipped: bad, NextCursor: "1"}, {Entries: uris("/b")}}, "known /b by asked"},
		"empty":                {[]Page{{}}, "empty"},
		"empty in two pages":   {[]Page{{NextCursor: "1"}, {}}, "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(t *testing.T, d *session) {
				d.known("file:///a")
				d.NoteChange()
				c := d.call()
				for _, p := range tc.pages {
					d.question().Page(p)
				}
				v := c.judged(t, tc.want).rootsView
				if reported := v.Snapshot.Skipped(); len(v.Snapshot.Paths()) > 0 && !v.Stale && len(reported) != len(bad) {
					t.Errorf("the bad ones are not reported: %v", reported)
				}
			})
		})
	}
}

// A root that was missing counts once it is there, when a path below it would be
// denied, and not before: nothing watches for it, and no one makes it.
func TestLateRoot(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tree    []string
		roots   string // of the client, or of a fallback where fallback is set
		other   bool   // by fallback
		ceiling string
		path    string   // that would be denied
		later   []string // what comes into being
		before  string
		after   string
	}{
		"missing":                 {[]string{"p/"}, "p new", false, "", "new/f", []string{"new/"}, "p", "p new"},
		"the root itself":         {nil, "new", false, "", "new", []string{"new/"}, "", "new"},
		"a file":                  {[]string{"p/"}, "p f", false, "", "f", []string{"f"}, "p", "p f"},
		"another path":            {[]string{"p/"}, "p new", false, "", "newer/f", []string{"new/", "newer/"}, "p", "p"},
		"still missing":           {[]string{"p/"}, "p new", false, "", "new/f", []string{"newer/"}, "p", "p"},
		"a link that leads there": {[]string{"p/", "alias => new"}, "p alias", false, "", "alias/f", []string{"new/"}, "p", "p new"},
		"below what it leads to":  {[]string{"p/", "alias => new"}, "p alias", false, "", "new/f", []string{"new/"}, "p", "p new"},
		"a link out of a root":    {[]string{"p/", "out/"}, "p p/gen", false, "", "p/gen/f", []string{"p/gen => ../out"}, "p", "p"},
		"a fallback":              {[]string{"p/"}, "p new", true, "", "new/f", []string{"new/"}, "p", "p new"},
		"a fallback of one":       {nil, "new", true, "", "new/f", []string{"new/"}, "", "new"},
		"a ceiling":               {[]string{"p/"}, "p new", false, "p new", "new/f", []string{"new/"}, "p", "p new"},
		"a ceiling below a root":  {[]string{"w/"}, "w", false, "w/new", "w/new/f", []string{"w/new/"}, "", "w/new"},
		"a ceiling alone":         {[]string{"p/", "q/"}, "q", true, "new", "new/f", []string{"new/"}, "", ""},
		"a pattern":               {[]string{"w/a/"}, "w/*", true, "", "w/b/f", []string{"w/b/"}, "w/a", "w/a w/b"},
		"a pattern of nothing":    {nil, "w/*", true, "", "w/b/f", []string{"w/b/"}, "", "w/b"},
		"not by a pattern":        {[]string{"w/a/"}, "w/a*", true, "", "w/b/f", []string{"w/b/", "w/ab/"}, "w/a", "w/a"},
		"a file by a pattern":     {[]string{"w/a/"}, "w/*", true, "", "w/b", []string{"w/b"}, "w/a", "w/a"},
		"called like a pattern":   {[]string{"w/a/"}, "w/[id]", true, "", "w/[id]/f", []string{"w/[id]/"}, "", "w/[id]"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := rootstest.Tree(t, tc.tree...)
			settings := DefaultSettings()
			settings.When = NoRootsPolicy{}
			var list []string
			var fallback Fallback
			for _, r := range strings.Fields(tc.roots) {
				list = append(list, platform.Host().FormatURI(filepath.Join(dir, r)))
				fallback.Entries = append(fallback.Entries, SettingEntry(guard.OS{}, r, dir))
			}
			for _, r := range strings.Fields(tc.ceiling) {
				settings.Ceiling = append(settings.Ceiling, SettingEntry(guard.OS{}, r, dir))
			}
			if tc.other {
				fallback.Origin = OriginConfig
			} else {
				fallback.Entries = nil
			}
			bubble(t, setup{fallback: fallback, settings: settings, fsys: guard.OS{}}, func(t *testing.T, d *session) {
				if tc.other {
					d.NoteHandshake(false, false)
				} else {
					d.known(list...)
				}
				paths := func() string {
					var names []string
					for _, r := range d.RootsView().Snapshot.Paths() {
						rel, _ := filepath.Rel(dir, r)
						names = append(names, filepath.ToSlash(rel))
					}
					return strings.Join(names, " ")
				}
				synctest.Wait()
				denied := filepath.Join(dir, tc.path)
				if got := paths(); got != tc.before {
					t.Fatalf("before: %q, want %q", got, tc.before)
				}
				if d.LookAgain(t.Context(), d.RootsView(), denied) {
					t.Error("looked again, though nothing is there")
				}
				if _, err := os.Lstat(denied); err == nil {
					t.Error("what was missing has been made")
				}
				asked := d.client.Asked()
				rootstest.Add(t, dir, tc.later...)
				if got := paths(); got != tc.before {
					t.Errorf("without a denial: %q", got)
				}
				old := d.RootsView()
				again := d.LookAgain(t.Context(), old, denied)
				if got := paths(); got != tc.after {
					t.Errorf("after: %q, want %q; skipped %v", got, tc.after, d.RootsView().Snapshot.Skipped())
				}
				if newer := d.RootsView().Snapshot.Generation() > old.Snapshot.Generation(); again != newer || !again && tc.before != tc.after {
					t.Errorf("told %v, a new generation: %v", again, newer)
				}
				if d.client.Asked() != asked {
					t.Error("the client was asked")
				}
				if d.LookAgain(t.Context(), d.RootsView(), denied) {
					t.Error("looked again, though nothing is missing any more")
				}
				d.NoteChange() // and it stays
				if !tc.other {
					d.question().Roots(list...)
					synctest.Wait()
				}
				if got := paths(); got != tc.after && name != "another path" {
					t.Errorf("after a refresh: %q, want %q", got, tc.after)
				}
			})
		})
	}
}

// What cannot be a root is not looked at again and again.
func TestLateRootInVain(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "p/")
	settings := DefaultSettings()
	fallback := Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: dir + "/p"}, {URI: dir + "/new"}}}
	bubble(t, setup{fallback: fallback, settings: settings, fsys: guard.OS{}}, func(t *testing.T, d *session) {
		d.NoteHandshake(false, false)
		synctest.Wait()
		old := d.RootsView()
		rootstest.Add(t, dir, "new/")
		for range 2 {
			if !d.LookAgain(t.Context(), old, dir+"/new/f") {
				t.Error("a call that was judged by the former View is not told of the new one")
			}
		}
		if n := d.RootsView().Snapshot.Generation() - old.Snapshot.Generation(); n != 1 {
			t.Errorf("%d generations", n)
		}
	})
}

// Roots are looked at again at once if that has shown something new, and else after five seconds.
func TestLateRootAfterAnother(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "w/a/", "file")
	fallback := Fallback{Origin: OriginConfig, Entries: []RootEntry{SettingEntry(guard.OS{}, "w/*", dir)}}
	bubble(t, setup{fallback: fallback, fsys: guard.OS{}}, func(t *testing.T, d *session) {
		d.NoteHandshake(false, false)
		synctest.Wait()
		look := func(name string, want int) {
			t.Helper()
			if d.LookAgain(t.Context(), d.RootsView(), dir+"/w/"+name); d.RootsView().Snapshot.Len() != want {
				t.Errorf("%s: %v, want %d roots", name, d.RootsView().Snapshot.Paths(), want)
			}
		}
		for i, name := range []string{"b", "c"} {
			rootstest.Add(t, dir, "w/"+name+"/")
			look(name, 2+i)
		}
		rootstest.Add(t, dir, "w/l => ../file")
		look("l", 3) // in vain: it leads to no directory
		rootstest.Add(t, dir, "w/d/")
		time.Sleep(5*time.Second - 1)
		look("d", 3)
		time.Sleep(1 * time.Nanosecond)
		look("d", 4)
	})
}

// Without Run nothing is looked at again, and no call waits for it.
func TestLateRootWithoutRun(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "p/")
	v := RootsView{Snapshot: NewSnapshot(guard.OS{}, 1, OriginConfig, []RootEntry{{URI: dir + "/new"}})}
	rootstest.Add(t, dir, "new/")
	synctest.Test(t, func(t *testing.T) {
		m := NewManager(rootstest.NewClient(), Fallback{}, DefaultSettings(), guard.OS{}, zerolog.Nop())
		if m.LookAgain(t.Context(), v, dir+"/new") {
			t.Error("before Run")
		}
		d := newSession(t, setup{fsys: guard.OS{}})
		d.stop()
		if d.LookAgain(t.Context(), v, dir+"/new") || !v.Snapshot.Appeared(dir+"/new") {
			t.Error("after Run")
		}
	})
}

// As many missing roots are noted as there may be roots.
func TestLateRootsAreBounded(t *testing.T) {
	t.Parallel()
	f := &appearing{FS: rootstest.NewFS(t, platform.Linux, nil)}
	var entries []RootEntry
	var lines []string
	for i := range 10_001 {
		entries = append(entries, RootEntry{URI: fmt.Sprintf("/r%d", i)})
		lines = append(lines, fmt.Sprintf("/r%d/", i))
	}
	s := NewSnapshot(f, 1, OriginConfig, entries)
	f.FS = rootstest.NewFS(t, platform.Linux, lines)
	if !s.Appeared("/r9999/x") || s.Appeared("/r10000/x") {
		t.Errorf("the last: %t, one more: %t", s.Appeared("/r9999/x"), s.Appeared("/r10000/x"))
	}
}

// appearing is a file system that becomes another.
type appearing struct{ *rootstest.FS }

// The stand-ins for clients that give no roots are views like others.
func TestLateRootOfAStandIn(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "p/")
	fallback := Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: dir + "/p"}, {URI: dir + "/new"}}}
	bubble(t, setup{fallback: fallback, fsys: guard.OS{}}, func(t *testing.T, d *session) {
		d.ExpectCallRoots()
		synctest.Wait()
		for i, view := range []func() RootsView{d.UndeclaredView, d.StandInView} {
			os.RemoveAll(dir + "/new")
			d.Reconfigure(fallback, Settings{Timeout: time.Duration(i+1) * time.Minute}) // so both are made again
			synctest.Wait()
			v := view()
			rootstest.Add(t, dir, "new/")
			if !d.LookAgain(t.Context(), v, dir+"/new/f") || view().Snapshot.Len() != 2 {
				t.Errorf("%v", view().Snapshot.Paths())
			}
		}
	})
}

// A denial can say which root would have contained a path, and why it is none.
func TestSkippedAbove(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "p/", "out/", "p/gen => ../out", "w/")
	s := NewSnapshot(guard.OS{}, 1, OriginConfig, []RootEntry{
		{URI: dir + "/p"}, {URI: dir + "/p/gen"}, {URI: dir + "/gone", Name: "Gone"}, SettingEntry(guard.OS{}, "w/x*", dir), SettingEntry(guard.OS{}, "n/*", dir),
	})
	for path, want := range map[string]string{
		"/gone": "does not exist", "/gone/a/b": "does not exist", "/p/gen/x": "is a link inside", "/w/xy/z": "matches no directory",
		"/n/a": "cannot be used: it does not exist", "/w/y": "", "/gon": "", "/p": "", "/out": "",
	} {
		got, ok := s.SkippedAbove(dir + path)
		if ok != (want != "") || !strings.Contains(got.Reason, want) {
			t.Errorf("%s: %+v", path, got)
		}
	}
	// The first that names a path explains it, even if it is the first of all.
	s = NewSnapshot(guard.OS{}, 1, OriginConfig, []RootEntry{SettingEntry(guard.OS{}, "w/x*", dir), {URI: dir + "/gone", Name: "one"}, {URI: dir + "/gone", Name: "two"}})
	for path, want := range map[string]Skipped{"/w/x": {Raw: dir + "/w/x*"}, "/gone/a": {Raw: dir + "/gone", Name: "one"}} {
		if got, ok := s.SkippedAbove(dir + path); !ok || got.Raw != want.Raw || got.Name != want.Name {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if _, ok := (*Snapshot)(nil).SkippedAbove("/x"); ok || (*Snapshot)(nil).Appeared("/x") || (&Snapshot{}).Appeared("/x") {
		t.Error("nothing was skipped")
	}
}
