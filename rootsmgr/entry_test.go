package rootsmgr_test

import (
	"testing"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
)

// The directories of a server's entry count instead of the roots, and open nothing that the ceiling of the session does not open.
func TestDirectoriesOfAnEntry(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Linux, []string{"/a/sub/", "/b/", "/c/"})
	open := NoRootsPolicy{Unsupported: true, Empty: true, Failed: true}
	for name, tc := range map[string]struct {
		when    NoRootsPolicy
		top     []RootEntry
		roots   []RootEntry
		own     []RootEntry
		want    string
		without string // the session itself: the control
	}{
		"instead of the roots":   {roots: ceiling("/a"), own: ceiling("/b"), want: "known /b by entry", without: "known /a by config"},
		"where all paths pass":   {when: open, own: ceiling("/b"), want: "known /b by entry", without: "unsupported open"},
		"none that there is":     {when: open, own: ceiling("/gone"), want: "failed", without: "unsupported open"},
		"within the ceiling":     {top: ceiling("/a"), own: ceiling("/a/sub", "/b"), want: "known /a/sub by entry", without: "known /a by ceiling"},
		"above the ceiling":      {top: ceiling("/a/sub", "/c"), own: ceiling("/a"), want: "known /a/sub by entry", without: "known /a/sub /c by ceiling"},
		"outside of the ceiling": {top: ceiling("/a"), own: ceiling("/b"), want: "failed", without: "known /a by ceiling"},
		"no path at all":         {when: NoRootsPolicy{Denied: true}, own: ceiling("/b"), want: "unsupported", without: "unsupported"},
	} {
		session := Settings{When: tc.when, Ceiling: tc.top}.FallbackView(f, Fallback{Origin: OriginConfig, Entries: tc.roots})
		if got := show(session); got != tc.without {
			t.Errorf("%s: the session has %q, want %q", name, got, tc.without)
		}
		v := session.ForEntry(f, Fallback{Origin: OriginEntry, Entries: tc.own}.Snapshot(f, 0, nil))
		if got := show(v); got != tc.want || v.Ceiling != session.Ceiling || v.Denied != session.Denied {
			t.Errorf("%s: %q, ceiling %v, denied %v, want %q", name, got, v.Ceiling, v.Denied, tc.want)
		}
	}
}
