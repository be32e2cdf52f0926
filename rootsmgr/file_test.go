package rootsmgr_test

import (
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
)

// A file beside and below directories, and under a ceiling.
func TestFileRootAmongOthers(t *testing.T) {
	t.Parallel()
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
		ceiling := NewSnapshot(f, 1, OriginCeiling, []RootEntry{{URI: top}})
		var list []RootEntry
		for _, e := range entries {
			list = append(list, RootEntry{URI: e})
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
}
