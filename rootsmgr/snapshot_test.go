package rootsmgr_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

func uris(paths ...string) []RootEntry {
	var out []RootEntry
	for _, p := range paths {
		out = append(out, RootEntry{URI: "file://" + p})
	}
	return out
}

func TestSnapshotRoots(t *testing.T) {
	t.Parallel()
	began := time.Now()
	dir := rootstest.Tree(t, "a/b/", "c#x y/100% you/", "link => a", "file", "ab/", "dangling => nope", "loop => loop")
	s := NewSnapshot(guard.OS{}, 7, OriginAsked, []RootEntry{
		{URI: "file://" + dir + "/link", Name: "Link"},
		{URI: "FILE://localhost" + dir + "/a/b/"},
		{URI: "file://" + dir + "/a", Name: "again"},
		{URI: "file://" + dir + "/c#x y/100% you", Name: "raw"},
		{URI: "file://" + dir + "/ab"},
		{URI: "file://" + dir + "/nope", Name: "gone"},
		{URI: "file://" + dir + "/file"},
		{URI: "file://" + dir + "/dangling"},
		{URI: "file://" + dir + "/loop"},
		{URI: "file://" + dir + "/file/x"},
		{URI: dir + "/a"},
		{URI: "https://example.com/"},
		{URI: "file://other/x"},
		{URI: "file:///a%2Fb"},
		{URI: ""},
	}, Skipped{Raw: "null", Reason: "not an object"})
	var got []string
	for _, r := range s.Roots() {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s|%v|%v|%s", r.URI, r.Name, r.Path, r.Given, r.File, r.Redundant, r.Flag))
	}
	d := "file://" + dir
	want := []string{
		fmt.Sprintf("%s/a|Link|%s/a|%s/link|false|false|", d, dir, dir),
		fmt.Sprintf("%s/a/b||%s/a/b|%s/a/b|false|true|", d, dir, dir),
		fmt.Sprintf("%s/c%%23x%%20y/100%%25%%20you|raw|%s/c#x y/100%% you|%s/c#x y/100%% you|false|false|", d, dir, dir),
		fmt.Sprintf("%s/ab||%s/ab|%s/ab|false|false|", d, dir, dir),
		fmt.Sprintf("%s/file||%s/file|%s/file|true|false|", d, dir, dir),
	}
	if !slices.Equal(got, want) {
		t.Errorf("roots:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := len(s.Skipped()); n != 10 {
		t.Errorf("%d skipped: %+v", n, s.Skipped())
	}
	for _, k := range s.Skipped() {
		if k.Reason == "" {
			t.Errorf("no reason: %+v", k)
		}
	}
	if s.Generation() != 7 || s.Origin() != OriginAsked || s.At().Before(began) || s.Len() != 5 || len(s.URIs()) != 5 {
		t.Errorf("snapshot: %+v", s)
	}
	if _, err := os.Stat(dir + "/nope"); err == nil {
		t.Error("a missing root was created")
	}
	// Both spellings of a root that was given twice are open.
	for _, p := range []string{"/link/x", "/a/x"} {
		if _, err := s.Guard().Check(dir + p); err != nil {
			t.Error(err)
		}
	}
	// No one who holds the result can change it.
	s.Roots()[0].Path, s.Paths()[0], s.Skipped()[0].Raw = "/", "/", "x"
	if s.Roots()[0].Path != dir+"/a" {
		t.Error("a snapshot was changed from outside")
	}
	if _, err := s.Guard().Check("/etc/passwd"); err == nil {
		t.Error("a guard was changed from outside")
	}
}

func TestSnapshotAmbiguousAndUnreadable(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "a/b/", "x/y/", "x/b/", "a/l => ../x/y", "n\nl/", "nl => n\nl")
	s := NewSnapshot(guard.OS{}, 1, OriginConfig, []RootEntry{{URI: dir + "/a/l/../b"}, {URI: dir + "/a/b/../b"}, {URI: dir + "/n\nl"}, {URI: dir + "/nl"}, {URI: "a"}})
	if got := s.Paths(); !slices.Equal(got, []string{dir + "/a/b"}) || len(s.Skipped()) != 4 {
		t.Errorf("%q, %+v", got, s.Skipped())
	}
	f := rootstest.NewFS(t, platform.Linux, []string{"/r/p/", "/r/q/"})
	f.Fail("/r/p", syscall.EACCES)
	s = NewSnapshot(f, 1, OriginAsked, uris("/r/p", "/r/q"))
	if got := s.Paths(); !slices.Equal(got, []string{"/r/q"}) || !strings.Contains(s.Skipped()[0].Reason, "permission") {
		t.Errorf("%q, %+v", got, s.Skipped())
	}
	if os.Getuid() != 0 {
		if err := os.Chmod(dir+"/a", 0o111); err != nil {
			t.Fatal(err)
		}
		if s := NewSnapshot(guard.OS{}, 1, OriginAsked, uris(dir+"/a")); s.Len() != 0 {
			t.Error("a directory that cannot be listed is a root")
		}
	}
}

func TestSnapshotFlags(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Linux, []string{"/home => var/home", "/var/home/u/p/"}, rootstest.Home("/home/u"))
	s := NewSnapshot(f, 1, OriginAsked, uris("/", "/var/home/u", "/home/u/p"))
	var got []string
	for _, r := range s.Roots() {
		got = append(got, fmt.Sprintf("%s %v %s", r.Path, r.Redundant, r.Flag))
	}
	if want := []string{"/ false filesystem root", "/var/home/u true home folder", "/var/home/u/p true "}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	w := rootstest.NewFS(t, platform.Windows, []string{"C:/x/"})
	s = NewSnapshot(w, 1, OriginAsked, []RootEntry{{URI: "file:///c%3A/"}, {URI: "file:///C:/x"}, {URI: "file:///c/x"}})
	if r := s.Roots(); len(r) != 2 || r[0].Flag != FlagFilesystem || r[1].URI != "file:///C:/x" || !r[1].Redundant {
		t.Errorf("%+v", s.Roots())
	}
}

// Two spellings of one directory are one root; nested ones are found.
func TestSnapshotFolding(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Darwin, []string{"/Users/Me/Proj/src/f"}, rootstest.Folding())
	s := NewSnapshot(f, 1, OriginConfig, []RootEntry{{URI: "/users/me/proj"}, {URI: "/Users/Me/Proj"}, {URI: "/USERS/ME/PROJ/SRC"}})
	if roots := s.Roots(); len(roots) != 2 || roots[0].Redundant || !roots[1].Redundant {
		t.Errorf("roots: %+v", roots)
	}
}

// Roots of other schemes are no directories, and can be had as they came.
func TestSnapshotOthers(t *testing.T) {
	t.Parallel()
	given := []RootEntry{
		{URI: "https://example.com/a b", Name: "Site"}, {URI: "git+ssh://host/team/"}, {URI: "C:/x"},
		{URI: "file:///x"}, {URI: "FILE:///y"}, {URI: "/z"}, {URI: "1a:b"}, {URI: ":b"}, {URI: "urn:x"},
	}
	want := []RootEntry{given[0], given[1], given[8]}
	s := NewSnapshot(guard.OS{}, 1, OriginAsked, given)
	if got := s.OtherSchemes(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if n := len(s.Skipped()); n != len(given) {
		t.Errorf("%d are reported", n)
	}
	if got := NewSnapshot(guard.OS{}, 1, OriginConfig, given).OtherSchemes(); len(got) != 0 {
		t.Errorf("a setting names directories: %q", got)
	}
	if got := NewSnapshot(guard.OS{}, 1, OriginWithCall, make([]RootEntry, 3)).OtherSchemes(); got != nil {
		t.Errorf("%q", got)
	}
}

// What is configured instead of the client's directories leaves its other roots
// what they are, and so does a ceiling.
func TestSnapshotOthersBehindAFallback(t *testing.T) {
	t.Parallel()
	for _, ceiling := range [][]RootEntry{nil, {{URI: "/fb"}}} {
		settings := DefaultSettings()
		settings.Ceiling, settings.When = ceiling, NoRootsPolicy{Failed: true}
		for _, f := range []Fallback{{}, {Origin: OriginConfig, Entries: []RootEntry{{URI: "/fb"}}}} {
			bubble(t, setup{fallback: f, settings: settings}, func(t *testing.T, d *session) {
				d.known("https://example.com/", "file:///gone")
				if got := d.RootsView().Snapshot.OtherSchemes(); !slices.Equal(got, []RootEntry{{URI: "https://example.com/"}}) {
					t.Errorf("%v %v: %q", ceiling, f, got)
				}
			})
		}
	}
}

// 100,000 entries, one of which is good, wherever it stands; and as many good
// ones.
func TestSnapshotHuge(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "good/")
	entries := make([]RootEntry, 100_000)
	for i := range entries {
		entries[i].URI = fmt.Sprintf("file://%s/no/%d", dir, i)
	}
	entries[99_999].URI = "file://" + dir + "/good"
	start := time.Now()
	s := NewSnapshot(guard.OS{}, 1, OriginAsked, entries)
	t.Logf("100,000 entries: %v", time.Since(start))
	if s.Len() != 1 || len(s.Skipped()) != 1001 {
		t.Errorf("%d roots, %d skipped", s.Len(), len(s.Skipped()))
	}
	if _, err := s.Guard().Check(dir + "/good/x"); err != nil {
		t.Error(err)
	}
	var lines []string
	entries = entries[:0]
	for i := range 10_500 {
		lines = append(lines, fmt.Sprintf("/r/%d/", i))
		entries = append(entries, RootEntry{URI: fmt.Sprintf("file:///r/%d", i)})
	}
	f := rootstest.NewFS(t, platform.Linux, lines)
	s = NewSnapshot(f, 1, OriginAsked, entries)
	if s.Len() != 10_000 || len(s.Skipped()) != 1 || !strings.Contains(s.Skipped()[0].Reason, "500 more roots") {
		t.Errorf("%d roots, skipped %+v", s.Len(), s.Skipped())
	}
	// The disk is not walked for each root.
	looks := f.Looks()
	if _, err := s.Guard().Check("/r/9999/x/y"); err != nil || f.Looks()-looks > 3 {
		t.Errorf("%v after %d looks", err, f.Looks()-looks)
	}
	over := make([]RootEntry, 200_010)
	over[len(over)-1].URI = "file:///r/0"
	s = NewSnapshot(f, 1, OriginAsked, over)
	if more := s.Skipped()[1000:]; s.Len() != 0 || len(more) != 2 || !strings.HasPrefix(more[0].Reason, "10 more entries") || !strings.HasPrefix(more[1].Reason, "199000 more entries") {
		t.Errorf("%d roots, %+v", s.Len(), more)
	}
	for i := range over {
		over[i].URI = "urn:x"
	}
	if n := len(NewSnapshot(f, 1, OriginAsked, over[:1001]).OtherSchemes()); n != 1000 {
		t.Errorf("%d of other schemes", n)
	}
}
