package rootsmgr_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// A root that lies inside another one is not followed out of it by a link,
// whatever the order of the list and whichever way leads there. "want" are the
// roots; "alone" is what the last entry is without the others: the control that
// the link leads where it is said to.
func TestRootIsNotFollowedOutOfAnother(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tree  []string
		roots string
		want  string
		alone string
	}{
		"honest":                     {[]string{"p/gen/"}, "p p/gen", "p p/gen", "p/gen"},
		"a link out":                 {[]string{"p/", "out/", "p/gen => ../out"}, "p p/gen", "p", "out"},
		"an absolute link out":       {[]string{"p/", "out/", "p/gen => $/out"}, "p p/gen", "p", "out"},
		"the whole disk":             {[]string{"p/", "p/gen => /"}, "p p/gen", "p", "/"},
		"above the root":             {[]string{"p/", "p/gen => .."}, "p p/gen", "p", ""},
		"a link that stays":          {[]string{"p/in/", "p/gen => in"}, "p p/gen", "p p/in", "p/in"},
		"below a link out":           {[]string{"p/", "out/d/", "p/gen => ../out"}, "p p/gen/d", "p", "out/d"},
		"a link out and back":        {[]string{"p/in/", "out/", "out/back => ../p/in", "p/gen => ../out/back"}, "p p/gen", "p p/in", "p/in"},
		"through a link to the root": {[]string{"p/", "out/", "alias => p", "p/gen => ../out"}, "p alias/gen", "p", "out"},
		"a chain":                    {[]string{"p/a/", "out/", "far => p/a/b", "p/a/b => ../../out"}, "p far", "p", "out"},
		"into another root":          {[]string{"p/", "q/", "p/gen => ../q"}, "p q p/gen", "p q", "q"},
		"beside, no root around":     {[]string{"p/", "out/", "gen => out"}, "p gen", "p out", "out"},
		"a sibling that looks alike": {[]string{"p/", "pp/", "out/", "pp/gen => ../out"}, "p pp/gen", "p out", "out"},
		"a file":                     {[]string{"p/", "secret", "p/f => ../secret"}, "p p/f", "p", "secret"},
		"out of a nested root":       {[]string{"p/q/", "p/in/", "p/q/gen => ../in"}, "p p/q p/q/gen", "p p/q", "p/in"},
		// The place itself comes through a link, and one more round finds it.
		"a root made by a link": {[]string{"real/", "out/", "p => real", "real/gen => ../out"}, "p real/gen", "real", "out"},
		"a place that is no root itself": {
			[]string{"a/", "b/", "c/", "out/", "la => a", "a/lb => ../b", "b/lc => ../c"},
			"la a/lb b/lc", "a", "c",
		},
		// Either may be the one that was planted.
		"two inside each other": {[]string{"x/", "y/", "x/a => ../y", "y/b => ../x"}, "x/a y/b", "", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := rootstest.Tree(t, tc.tree...)
			list := func(names string) (out []RootEntry) {
				for _, n := range strings.Fields(names) {
					out = append(out, RootEntry{URI: platform.Host().FormatURI(filepath.Join(dir, n))})
				}
				return out
			}
			shorten := func(paths []string) string {
				for i, p := range paths {
					if rel, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(rel) && rel != "." {
						paths[i] = rel
					} else if p == dir {
						paths[i] = ""
					}
				}
				slices.Sort(paths)
				return strings.Join(paths, " ")
			}
			entries := list(tc.roots)
			if got := shorten(NewSnapshot(guard.OS{}, 1, OriginAsked, entries[len(entries)-1:]).Paths()); got != tc.alone {
				t.Errorf("control: by itself the last root is %q, want %q", got, tc.alone)
			}
			want := strings.Fields(tc.want)
			slices.Sort(want)
			for range 2 {
				s := NewSnapshot(guard.OS{}, 1, OriginAsked, entries)
				if got := shorten(s.Paths()); got != strings.Join(want, " ") {
					t.Errorf("roots %q, want %q; skipped %+v", got, want, s.Skipped())
				}
				if s.Len()+len(s.Skipped()) < len(entries)-1 {
					t.Errorf("a root was skipped without a word: %+v", s.Skipped())
				}
				for _, k := range s.Skipped() {
					if !strings.Contains(k.Reason, "link") || k.Path == "" {
						t.Errorf("skipped: %+v", k)
					}
				}
				slices.Reverse(entries)
			}
		})
	}
}

// Places are roots in this: a sandbox, a grant, a directory of the policy.
func TestRootIsNotFollowedOutOfAPlace(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "box/", "out/", "box/in/", "box/gen => ../out", "box/near => in")
	settings := DefaultSettings()
	view := func(places ...string) []string {
		settings.WritableDirs = func() []string { return places }
		f := Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: dir + "/box/gen"}, {URI: dir + "/box/near"}}}
		return settings.FallbackView(guard.OS{}, f).Snapshot.Paths()
	}
	if got := view(); !slices.Equal(got, []string{dir + "/out", dir + "/box/in"}) {
		t.Errorf("control: %q", got)
	}
	if got := view(dir + "/box"); !slices.Equal(got, []string{dir + "/box/in"}) {
		t.Errorf("%q", got)
	}
}

// The innermost place counts, and of two spellings that of the link itself, if the file system ignores case.
func TestPlaceInAnotherLetterCase(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Darwin, []string{"/p/box/gen => ../out", "/p/box/near => in", "/p/box/in/", "/p/out/"}, rootstest.Folding())
	for _, tc := range []struct {
		places []string
		want   []string
	}{
		{nil, []string{"/p/out", "/p/box/in"}},
		{[]string{"/p/box"}, []string{"/p/box/in"}},
		{[]string{"/p", "/p/Box"}, nil}, // the text of the target is not below that spelling
		{[]string{"/p/Box", "/p/box"}, []string{"/p/box/in"}},
	} {
		settings := Settings{WritableDirs: func() []string { return tc.places }}
		s := settings.FallbackView(f, Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: "/p/box/gen"}, {URI: "/p/box/near"}}}).Snapshot
		if got := s.Paths(); !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, %+v", tc.places, got, s.Skipped())
		}
	}
}

// A link in a folder where other users may write is not followed out of it.
func TestRootInASharedFolder(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "pub/", "pub/in/", "out/", "pub/gen => ../out", "pub/near => in", "pub/mine/gen => ../../out")
	paths := func(names ...string) []string {
		var entries []RootEntry
		for _, n := range names {
			entries = append(entries, RootEntry{URI: dir + "/" + n})
		}
		return NewSnapshot(guard.OS{}, 1, OriginFlag, entries).Paths()
	}
	all := []string{"pub/gen", "pub/near", "pub/mine/gen", "pub/in"}
	if got := paths(all...); !slices.Equal(got, []string{dir + "/out", dir + "/pub/in"}) {
		t.Errorf("control: %q", got)
	}
	for _, tc := range []struct {
		mode os.FileMode
		want []string
	}{
		{0o777, []string{dir + "/pub/in"}},
		// In a sticky folder no one can take the place of one of ours.
		{0o777 | os.ModeSticky, []string{dir + "/pub/in", dir + "/out"}},
	} {
		if err := os.Chmod(dir+"/pub", tc.mode); err != nil {
			t.Fatal(err)
		}
		if got := paths(all...); !slices.Equal(got, tc.want) {
			t.Errorf("%v: %q, want %q", tc.mode, got, tc.want)
		}
	}
}

// suspicious lets a link below a folder count only after a person has accepted it, and folders of keys only if hub.json has them.
type suspicious struct {
	guard.OS
	dir      string
	accepted *bool
}

func (s suspicious) WhyClosed(c guard.RootCandidate, operator bool) string {
	if filepath.Base(c.Path) == "keys" && !operator || len(c.Links) > 0 && filepath.Dir(c.Links[0].At) == s.dir && !*s.accepted {
		return "a server could have made it"
	}
	return ""
}

// A path that the file system reports as closed is no root, wherever its name is from. It is one after a person has accepted it, without
// another answer of the client.
func TestALinkThatAServerCouldHaveMade(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "out/", "ws/real/", "ws/gen => ../out")
	accepted := false
	fsys := suspicious{dir: dir + "/ws", accepted: &accepted}
	entries := []RootEntry{{URI: dir + "/ws/gen", Name: "gen"}, {URI: dir + "/ws/real"}}
	for _, o := range []Origin{OriginFlag, OriginEnvironment, OriginConfig, OriginProject, OriginCeiling} {
		if got := NewSnapshot(guard.OS{}, 1, o, entries).Len(); got != 2 {
			t.Errorf("control: %s: %d roots", o, got)
		}
		s := NewSnapshot(fsys, 1, o, entries)
		if got, skipped := s.Paths(), s.Skipped(); !slices.Equal(got, []string{dir + "/ws/real"}) || len(skipped) != 1 || skipped[0].Reason != "a server could have made it" || skipped[0].Name != "gen" {
			t.Errorf("%s: %q, %+v", o, got, skipped)
		}
	}
	c := rootstest.NewClient()
	c.Always("file://"+dir+"/ws/gen", "file://"+dir+"/ws/real")
	m := NewManager(c, Fallback{}, DefaultSettings(), fsys, zerolog.Nop())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	m.NoteHandshake(true, true)
	v, err := m.Await(t.Context())
	if err != nil || v.Snapshot.Len() != 1 {
		t.Fatalf("%q %v", v.Snapshot.Paths(), err)
	}
	accepted = true
	if !m.LookAgain(t.Context(), v, dir+"/ws/gen/file") || m.RootsView().Snapshot.Len() != 2 || c.Asked() != 1 {
		t.Errorf("after it was accepted: %q, asked %d times", m.RootsView().Snapshot.Paths(), c.Asked())
	}
	cancel()
	<-done
}

// What hub.json names may be a folder of keys. A pattern names none, nor does a directory around it that a rule opens.
func TestOnlyHubJSONNamesKeys(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "keys/", "box/keys/")
	accepted := true
	fsys := suspicious{dir: dir, accepted: &accepted}
	for o, want := range map[Origin]int{OriginAsked: 0, OriginWithCall: 0, OriginFlag: 0, OriginEnvironment: 0, OriginProject: 0, OriginConfig: 1, OriginCeiling: 1} {
		if got := NewSnapshot(fsys, 1, o, []RootEntry{{URI: "file://" + dir + "/keys"}}).Len(); got != want {
			t.Errorf("%s: %d roots", o, got)
		}
	}
	if got := NewSnapshot(fsys, 1, OriginConfig, []RootEntry{SettingEntry(fsys, dir+"/box/*", dir)}).Paths(); len(got) > 0 {
		t.Errorf("by a pattern: %q", got)
	}
	f := Fallback{Origin: OriginFlag, Entries: []RootEntry{{URI: dir + "/box/keys"}}}
	if got := f.Snapshot(fsys, 1, []string{dir + "/box"}).Paths(); len(got) > 0 {
		t.Errorf("in a directory that a rule opens: %q", got)
	}
}
