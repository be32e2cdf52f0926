package guard_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// Canonical returns the place of a root and the links that lead there, or the reason why a path cannot be a root.
func TestCanonical(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Linux, []string{
		"/a/b/", "/a/f", "/a/l => b", "/short => a/l", "/x/y/", "/x/b/", "/a/out => ../x/y", "/loop => loop", "/gone => nowhere", "/climb => a/l/../f", "/far => ../climb", "/n\nl/", "/nl => n\nl", "/shut/d/", "/bad/d/",
	})
	f.Fail("/shut/d", syscall.EACCES)
	f.Fail("/bad/d", syscall.EIO)
	for path, want := range map[string]struct {
		guard.RootCandidate
		why string // "": it can be one
	}{
		"/a/b":         {guard.RootCandidate{Given: "/a/b", Path: "/a/b"}, ""},
		"/a//b/.":      {guard.RootCandidate{Given: "/a/b", Path: "/a/b"}, ""},
		"/a/f":         {guard.RootCandidate{Given: "/a/f", Path: "/a/f", File: true}, ""},
		"/short":       {guard.RootCandidate{Given: "/short", Path: "/a/b", Links: []guard.SymbolicLink{{At: "/short", To: "/a/b"}, {At: "/a/l", To: "/a/b"}}}, ""},
		"/a/l/..":      {guard.RootCandidate{Given: "/a", Path: "/a", Links: []guard.SymbolicLink{{At: "/a/l", To: "/a/b"}}}, ""}, // the link leads beside it
		"/far":         {guard.RootCandidate{Given: "/far", Path: "/a/f", File: true, Links: []guard.SymbolicLink{{At: "/far", To: "/a/f", Climbs: true}, {At: "/climb", To: "/a/f", Climbs: true}, {At: "/a/l", To: "/a/b"}}}, ""},
		"/short/.":     {guard.RootCandidate{Given: "/short", Path: "/a/b", Links: []guard.SymbolicLink{{At: "/short", To: "/a/b"}, {At: "/a/l", To: "/a/b"}}}, ""},
		"/":            {guard.RootCandidate{Given: "/", Path: "/"}, ""},
		"/a/out/../b":  {guard.RootCandidate{Given: "/a/b", Links: []guard.SymbolicLink{{At: "/a/out", To: "/x/y"}}}, `it has a .. after a symlink: it is "/x/b" or "/a/b"`},
		"/none":        {guard.RootCandidate{Given: "/none", Path: "/none"}, "it does not exist"},
		"/gone":        {guard.RootCandidate{Given: "/gone", Path: "/nowhere", Links: []guard.SymbolicLink{{At: "/gone", To: "/nowhere"}}}, "it does not exist"},
		"/a/f/x":       {guard.RootCandidate{Given: "/a/f/x", Path: "/a/f/x"}, "it does not exist"},
		"/a/nope/..":   {guard.RootCandidate{Given: "/a", Path: "/a"}, "it does not exist"},
		"/shut/d":      {guard.RootCandidate{Given: "/shut/d"}, "it cannot be resolved: permission denied"},
		"/bad/d":       {guard.RootCandidate{Given: "/bad/d"}, syscall.EIO.Error()},
		"/n\nl":        {guard.RootCandidate{}, "its path holds a control character"},
		"/nl":          {guard.RootCandidate{Given: "/nl", Path: "/n\nl", Links: []guard.SymbolicLink{{At: "/nl", To: "/n\nl"}}}, "a control character once links are resolved"},
		"rel":          {guard.RootCandidate{}, "not absolute"},
		"":             {guard.RootCandidate{}, "it cannot be resolved"},
		"/a/\xff":      {guard.RootCandidate{}, "it cannot be resolved"},
		"/proc/self/x": {guard.RootCandidate{Given: "/proc/self/x"}, "it cannot be resolved"},
	} {
		d := guard.NewDisk(f)
		got, err := d.Canonical(path)
		if (err == nil) != (want.why == "") || err != nil && !strings.Contains(err.Error(), want.why) {
			t.Errorf("%q: %v, want %q", path, err, want.why)
		}
		if got.Given != want.Given || got.Path != want.Path || got.File != want.File || !slices.Equal(got.Links, want.Links) {
			t.Errorf("%q is %+v, want %+v", path, got, want.RootCandidate)
		}
		if missing := want.why == "it does not exist"; errors.Is(err, guard.ErrMissing) != missing {
			t.Errorf("%q: %v", path, err)
		}
	}
	d := guard.NewDisk(f)
	if got, err := d.Canonical("/loop"); err == nil || len(got.Links) != 40 || err.Error() != "it cannot be resolved: too many symlinks" {
		t.Errorf("a loop: %d links, %v", len(got.Links), err)
	}
	if _, err := d.Canonical("/bad/d"); !errors.Is(err, syscall.EIO) {
		t.Errorf("the cause is lost: %v", err)
	}
	for path, absent := range map[string]bool{
		"/a/b": false, "/a/f": false, "/none": true, "/gone": true, "/a/f/x": true, "/a/nope/..": true, "/a/f/..": true, "/shut/d": false, "/loop": false,
		"/" + strings.Repeat("x", 300): true,
	} {
		if got := d.IsAbsent(path); got != absent {
			t.Errorf("%.20q is absent: %t", path, got)
		}
	}
}

// A machine may spell a path differently from how it was given, and say what it cannot read.
type spelling struct {
	*rootstest.FS
	to     string
	fails  error
	unread error
	asked  string
}

func (s *spelling) TrueCase(string) (string, error) { return s.to, s.fails }
func (s *spelling) Readable(path string) error      { s.asked = path; return s.unread }

func TestCanonicalSpelling(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Darwin, []string{"/Users/Me/Proj/", "/Users/Me/Other/"}, rootstest.Folding())
	no := errors.New("no such name")
	for name, tc := range map[string]struct {
		spelling
		path, why string
	}{
		"as its directories list it": {spelling{to: "/Users/Me/Proj/"}, "/Users/Me/Proj", ""},
		"as it was":                  {spelling{to: "/users/me/proj"}, "/users/me/proj", ""},
		"another one by now":         {spelling{to: "/Users/Me/Other"}, "/users/me/proj", "it changed while it was looked at"},
		"nobody knows":               {spelling{fails: no}, "/users/me/proj", "its real name cannot be found: no such name"},
		"it cannot be read":          {spelling{to: "/Users/Me/Proj", unread: &fs.PathError{Op: "access", Path: "/Users/Me/Proj", Err: syscall.EACCES}}, "/Users/Me/Proj", "it cannot be read: permission denied"},
		"for another reason":         {spelling{to: "/Users/Me/Proj", unread: no}, "/Users/Me/Proj", "it cannot be read: no such name"},
	} {
		tc.FS = f
		d := guard.NewDisk(&tc.spelling)
		got, err := d.Canonical("/users/me/proj")
		if got.Path != tc.path || (err == nil) != (tc.why == "") || err != nil && err.Error() != tc.why {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if err == nil && tc.asked != tc.path {
			t.Errorf("%s: %q was asked for", name, tc.asked)
		}
	}
	// On a filesystem that tells two spellings apart nothing is compared.
	d := guard.NewDisk(struct {
		plainMac
		Spelled
	}{plainMac{plainFS{f}}, Spelled{}})
	if got, err := d.Canonical("/Users/Me/Proj"); err != nil || got.Path != "/elsewhere" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Spelled is a machine that has one name for everything.
type Spelled struct{}

func (Spelled) TrueCase(string) (string, error) { return "/elsewhere", nil }

func TestAliases(t *testing.T) {
	t.Parallel()
	d := guard.NewDisk(rootstest.NewFS(t, platform.Darwin, nil))
	for path, want := range map[string]string{
		"/private/tmp": "/tmp", "/private/tmp/p": "/tmp/p", "/private/var/x": "/var/x", "/private/etc": "/etc",
		"/private/tmpx": "", "/private": "", "/tmp": "", "/private/home/x": "",
	} {
		if got := strings.Join(d.Aliases(path, guard.RootCandidate{}), " "); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	d = guard.NewDisk(rootstest.NewFS(t, platform.Linux, nil))
	home := guard.RootCandidate{Given: "/home/u", Path: "/var/home/u"}
	for path, want := range map[string]string{"/var/home/u": "/home/u", "/var/home/u/p": "/home/u/p", "/var/home/user": "", "/var/home": "", "/private/tmp": ""} {
		if got := strings.Join(d.Aliases(path, home), " "); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := d.Aliases("/u/p", guard.RootCandidate{Given: "/u", Path: "/u"}); got != nil {
		t.Errorf("a home without links: %q", got)
	}
	if got := d.Aliases("/u/p", guard.RootCandidate{Given: "/u"}); got != nil {
		t.Errorf("a home that is nowhere: %q", got)
	}
	for _, home := range []string{"/home/u", "/none", ""} {
		d := guard.NewDisk(rootstest.NewFS(t, platform.Linux, []string{"/home => var/home", "/var/home/u/"}, rootstest.Home(home)))
		want := guard.RootCandidate{}
		if home == "/home/u" {
			want = guard.RootCandidate{Given: home, Path: "/var/home/u"}
		}
		if got := d.HomeFolder(); got.Given != want.Given || got.Path != want.Path {
			t.Errorf("home %q: %+v", home, got)
		}
	}
}
