package rootsmgr_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"mcphub/e2e/rootstest"
	"mcphub/e2e/seeds"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
)

func ceiling(paths ...string) []RootEntry {
	out := []RootEntry{}
	for _, p := range paths {
		out = append(out, RootEntry{URI: p})
	}
	return out
}

func TestCeilingHoldsWhateverTheOrigin(t *testing.T) {
	t.Parallel()
	asked := func(uris ...string) func(t *testing.T, d *session) {
		return func(_ *testing.T, d *session) { d.known(uris...) }
	}
	mute := func(t *testing.T, d *session) { // declared, never answered
		d.NoteHandshake(true, true)
		d.question().Fail(ErrMalformed)
		<-d.First()
	}
	none := func(_ *testing.T, d *session) { d.NoteHandshake(false, false) }
	fb := Fallback{Origin: OriginFlag, Entries: []RootEntry{{URI: "/a"}, {URI: "/fb"}}}
	far := Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: "/fb"}}}
	all := NoRootsPolicy{Unsupported: true, Empty: true, Failed: true}
	for name, tc := range map[string]struct {
		fallback Fallback
		when     NoRootsPolicy
		top      []RootEntry
		client   func(*testing.T, *session)
		want     string
		skipped  int
		without  string // the same without a ceiling: the control
	}{
		"inside stays":          {top: ceiling("/a"), client: asked("file:///a/sub"), want: "known /a/sub by asked", without: "known /a/sub by asked"},
		"above is narrowed":     {top: ceiling("/a/sub", "/b"), client: asked("file:///a"), want: "known /a/sub by asked", skipped: 1, without: "known /a by asked"},
		"the whole disk":        {top: ceiling("/a", "/b"), client: asked("file:///"), want: "known /a /b by asked", skipped: 1, without: "known / by asked"},
		"outside is skipped":    {top: ceiling("/a"), client: asked("file:///b", "file:///a"), want: "known /a by asked", skipped: 1, without: "known /b /a by asked"},
		"all outside":           {top: ceiling("/a"), client: asked("file:///b"), want: "failed", skipped: 1, without: "known /b by asked"},
		"all outside, allowed":  {top: ceiling("/a"), when: all, client: asked("file:///b"), want: "known /a by ceiling", skipped: 1, without: "known /b by asked"},
		"all outside, fallback": {top: ceiling("/a"), fallback: fb, client: asked("file:///b"), want: "known /a by flag", skipped: 2, without: "known /b by asked"},
		"no roots":              {top: ceiling("/a", "/b"), client: none, want: "known /a /b by ceiling", without: "unsupported"},
		"no roots, allowed":     {top: ceiling("/a"), when: all, client: none, want: "known /a by ceiling", without: "unsupported open"},
		"fallback":              {top: ceiling("/a/sub"), fallback: fb, client: none, want: "known /a/sub by flag", skipped: 2, without: "known /a /fb by flag"},
		"fallback outside":      {top: ceiling("/a"), fallback: far, client: none, want: "failed", skipped: 1, without: "known /fb by config"},
		"empty":                 {top: ceiling("/a"), client: asked(), want: "empty", without: "empty"},
		"empty, allowed":        {top: ceiling("/a"), when: all, client: asked(), want: "known /a by ceiling", without: "empty open"},
		"failed":                {top: ceiling("/a"), client: mute, want: "failed", without: "failed"},
		"failed, allowed":       {top: ceiling("/a"), when: all, client: mute, want: "known /a by ceiling", without: "failed open"},
		"ceiling of nothing":    {top: ceiling("/gone"), when: all, client: asked("file:///a"), want: "failed", skipped: 2, without: "known /a by asked"},
		"no entry at all":       {top: ceiling(), when: all, client: none, want: "failed", without: "unsupported open"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setup{fallback: tc.fallback, settings: Settings{When: tc.when, Timeout: time.Second, Ceiling: tc.top}}
			bubble(t, s, func(t *testing.T, d *session) {
				tc.client(t, d)
				v := d.call().judged(t, tc.want).rootsView
				if n := len(v.Snapshot.Skipped()); n != tc.skipped {
					t.Errorf("%d skipped, want %d: %v", n, tc.skipped, v.Snapshot.Skipped())
				}
				if v.Ceiling == nil || v.Why() == "" {
					t.Error("the view does not say that it is under a ceiling")
				}
				if _, err := v.Snapshot.Guard().Check("/c/f"); err == nil {
					t.Error("/c/f passes")
				}
			})
			s.settings.Ceiling = nil
			bubble(t, s, func(t *testing.T, d *session) {
				tc.client(t, d)
				if v := d.call().judged(t, tc.without).rootsView; v.Ceiling != nil {
					t.Error("a ceiling of nobody's")
				}
			})
		})
	}
}

// TestCeilingOfRootsThatExpire: roots kept too long end under a ceiling as well.
func TestCeilingOfRootsThatExpire(t *testing.T) {
	t.Parallel()
	s := setup{settings: Settings{Timeout: time.Second, Stale: time.Minute, When: NoRootsPolicy{Failed: true}, Ceiling: ceiling("/a")}}
	bubble(t, s, func(t *testing.T, d *session) {
		d.known("file:///a/sub")
		d.NoteChange()
		c := d.call()
		d.question().Fail(ErrMalformed)
		c.judged(t, "known /a/sub stale by asked")
		time.Sleep(2 * time.Minute)
		if v := d.RootsView(); v.Open || show(v) != "known /a by ceiling" {
			t.Errorf("%s", show(v))
		}
	})
}

// TestCeilingStaysThroughAReload: new terms of the operator know nothing about
// one session's ceiling, and lift it for no one.
func TestCeilingStaysThroughAReload(t *testing.T) {
	t.Parallel()
	open := Settings{Timeout: time.Second, When: NoRootsPolicy{Unsupported: true, Empty: true, Failed: true}}
	s := setup{settings: open}
	s.settings.Ceiling = ceiling("/a")
	bubble(t, s, func(t *testing.T, d *session) {
		d.known("file:///a/sub", "file:///fb")
		d.Reconfigure(Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: "/fb"}}}, open)
		synctest.Wait()
		if v := d.RootsView(); v.Open || show(v) != "known /a/sub by asked" {
			t.Errorf("%s", show(v))
		}
	})
	bubble(t, setup{settings: open}, func(t *testing.T, d *session) { // the control
		d.known("file:///a/sub", "file:///fb")
		if v := d.RootsView(); show(v) != "known /a/sub /fb by asked" {
			t.Errorf("without a ceiling: %s", show(v))
		}
	})
}

// TestCeilingProperty holds the intersection against what it means: a path is
// open its target into a root and into the ceiling.
func TestCeilingProperty(t *testing.T) {
	t.Parallel()
	var open, shut, narrowed int
	seeds.CheckCases(t, max(seeds.Cases(t, 0)/100, 300), func(rt *rapid.T) {
		links := rapid.Bool().Draw(rt, "links")
		dirs := []string{"/"}
		lines := []string{}
		rel := rapid.Custom(func(rt *rapid.T) string {
			return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 1, 4).Draw(rt, "rel"), "/")
		})
		for _, d := range rapid.SliceOfN(rel, 2, 8).Draw(rt, "dirs") {
			dirs = append(dirs, d)
			lines = append(lines, d+"/")
		}
		if links {
			for i, d := range rapid.SliceOfN(rapid.SampledFrom(dirs), 1, 4).Draw(rt, "targets") {
				at := rapid.SampledFrom(dirs).Draw(rt, "at")
				name := strings.TrimSuffix(at, "/") + fmt.Sprintf("/l%d", i)
				lines = append(lines, name+" => "+d)
				dirs = append(dirs, name)
			}
		}
		f := rootstest.NewFS(t, platform.Linux, lines)
		pick := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) RootEntry { return RootEntry{URI: rapid.SampledFrom(dirs).Draw(rt, "dir")} }), 1, 4)
		roots, tops := pick.Draw(rt, "roots"), pick.Draw(rt, "ceiling")
		top, whole := NewSnapshot(f, 1, OriginCeiling, tops), NewSnapshot(f, 1, OriginConfig, roots)
		both := NewSnapshotUnder(f, top, roots...)
		if len(both.Skipped()) > 0 && both.Len() > 0 {
			narrowed++
		}
		for range 20 {
			path := rapid.SampledFrom(dirs).Draw(rt, "path") + rapid.SampledFrom([]string{"", "/x", "/a", "/b/x", "/../x", "/a/../../b"}).Draw(rt, "tail")
			place, err := both.Guard().Check(path)
			if err == nil {
				open++
				for _, leads := range []string{place.Readings.Physical, place.Readings.Cleaned} {
					if !inOne(whole.Paths(), leads) || !inOne(top.Paths(), leads) {
						rt.Fatalf("%s leads to %s, which is not in both of %v and %v", path, leads, whole.Paths(), top.Paths())
					}
				}
			} else {
				shut++
			}
			_, e1 := whole.Guard().Check(path)
			_, e2 := top.Guard().Check(path)
			if !links && (err == nil) != (e1 == nil && e2 == nil) {
				rt.Fatalf("%s: %v; by the roots %v, by the ceiling %v", path, err, e1, e2)
			}
		}
	})
	if open < 100 || shut < 100 || narrowed < 10 {
		t.Errorf("lopsided: %d open, %d shut, %d narrowed", open, shut, narrowed)
	}
}

func inOne(roots []string, path string) bool {
	return slices.ContainsFunc(roots, func(r string) bool {
		return r == "/" || path == r || strings.HasPrefix(path, r+"/")
	})
}
