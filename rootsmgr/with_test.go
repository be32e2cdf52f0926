package rootsmgr_test

import (
	"slices"
	"testing"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// TestSnapshotWith: client roots first, then each further directory once, and nothing beyond a ceiling.
func TestSnapshotWith(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Linux, []string{"/p/sub/f", "/docs/pub/f", "/alias => /docs", "/box/f", "/file"})
	s := NewSnapshot(f, 1, OriginAsked, []RootEntry{{URI: "file:///p", Name: "Project"}, {URI: "file:///box"}})
	roots := func(dirs ...string) *guard.Guard {
		var list []RootEntry
		for _, d := range dirs {
			list = append(list, RootEntry{URI: d})
		}
		return NewSnapshot(f, 1, OriginCeiling, list).Guard()
	}
	more := []RootEntry{{URI: "/box", Name: "sandbox"}, {URI: "/docs", Name: "docs"}, {URI: "/alias", Name: "again"}, {URI: "/none", Name: "none"}, {URI: "/file", Name: "file"}, {URI: "/p/sub", Name: "sub"}}
	for _, e := range []struct {
		name    string
		of      *Snapshot
		ceiling *guard.Guard
		entries []RootEntry
		want    []string
	}{
		{"nothing more", s, nil, nil, []string{"/p Project", "/box "}},
		{"more", s, nil, more, []string{"/p Project", "/box ", "/docs docs", "/p/sub sub"}},
		{"no roots", nil, nil, more, []string{"/box sandbox", "/docs docs", "/p/sub sub"}},
		{"narrowed", s, roots("/p", "/box", "/docs/pub"), more, []string{"/p Project", "/box ", "/docs/pub docs", "/p/sub sub"}},
		{"beyond", s, roots("/p", "/box"), more, []string{"/p Project", "/box ", "/p/sub sub"}},
		{"an empty ceiling", nil, roots(), more, nil},
	} {
		var got []string
		for _, r := range e.of.With(f, e.ceiling, e.entries) {
			got = append(got, r.Path+" "+r.Name)
			if r.URI != "file://"+r.Path || r.Redundant != (r.Path == "/p/sub" && e.of != nil) {
				t.Errorf("%s: %+v", e.name, r)
			}
		}
		if !slices.Equal(got, e.want) {
			t.Errorf("%s: %q, want %q", e.name, got, e.want)
		}
	}
}
