package guard_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// guardOf returns the Guard of these directories and files, all of which must be usable.
func guardOf(t testing.TB, fsys guard.FS, paths ...string) *guard.Guard {
	t.Helper()
	d, x := guard.NewDisk(fsys), guard.NewIndex()
	home := d.HomeFolder()
	for _, path := range paths {
		f, err := d.Canonical(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		i := int32(len(x.Roots))
		x.Roots = append(x.Roots, guard.Root{Path: f.Path, Given: f.Given, File: f.File})
		if f.File {
			x.AddFile(i)
		}
		x.Add(d.Platform, f.Path, i, true)
		for _, alias := range d.Aliases(f.Path, home) {
			x.Add(d.Platform, alias, i, false)
		}
		x.Add(d.Platform, f.Given, i, false)
	}
	return guard.New(d, x)
}

// secret is what every file outside holds.
const secret = "=" + rootstest.Secret

// reach reports whether the kernel leads path to a file outside.
func reach(path string) bool {
	b, err := os.ReadFile(path)
	return err == nil && string(b) == rootstest.Secret
}

func TestGuardAttacks(t *testing.T) {
	t.Parallel()
	dir := rootstest.AttackTree(t)
	root := dir + "/r"
	g := guardOf(t, guard.OS{}, root)

	// naive checks that pass what the guard must not: by prefix, by prefix of the
	// cleaned text, by prefix with a separator, by symlinks of what exists.
	naive := map[string]func(string) bool{
		"prefix":  func(p string) bool { return strings.HasPrefix(p, root) },
		"cleaned": func(p string) bool { return strings.HasPrefix(filepath.Clean(p), root) },
		"lexical": func(p string) bool { return strings.HasPrefix(filepath.Clean(p)+"/", root+"/") },
		"evalsymlinks, ENOENT swallowed": func(p string) bool {
			if real, err := filepath.EvalSymlinks(p); err == nil {
				p = real
			}
			return strings.HasPrefix(filepath.Clean(p)+"/", root+"/")
		},
		"cleaned, then evalsymlinks": func(p string) bool {
			real, err := filepath.EvalSymlinks(filepath.Clean(p))
			return err == nil && strings.HasPrefix(real+"/", root+"/")
		},
	}
	tests := []struct{ path, control string }{
		{"/r/../s", "prefix"},
		{"/r/../out/s", "prefix"},
		{"/r/a/../../out/s", "prefix"},
		{"/r/a/b/../../../s", "prefix"},
		{"/r2/s", "cleaned"},
		{"/r /s", "cleaned"},
		{"/r./s", "cleaned"},
		{"//r2//./s", "cleaned"},
		{"/r/out/s", "lexical"},
		{"/r/outabs/s", "lexical"},
		{"/r/file", "lexical"},
		{"/r/chain1/s", "lexical"},
		{"/r/deep/../s", "lexical"}, // the kernel is in out, the text in r
		{"/r/deep/s", "lexical"},
		{"/r/up/s", "lexical"},
		{"/r/top/.." + dir + "/s", "prefix"},
		{"/r/in/../../../s", "prefix"},
		{"/r/a/.././out/s", "lexical"},
		{"/r/out/./s", "lexical"},
		{"/r/out//s", "lexical"},
		{"/r/in/../out/s", "evalsymlinks, ENOENT swallowed"}, // only who cleans first gets out
		{"/r/in/../file", "evalsymlinks, ENOENT swallowed"},
	}
	for _, tt := range tests {
		path := dir + tt.path
		if !naive[tt.control](path) || !reach(path) && !reach(filepath.Clean(path)) {
			t.Errorf("control: %q is no attack on a check by %s", tt.path, tt.control)
		}
		deny(t, g, path)
	}
	// New files: creating them shows where they end up.
	for _, tt := range []struct{ path, made string }{
		{"/r/dangling", "/out/new"},
		{"/r/out/new", "/out/new"},
		{"/r/deep/../new", "/out/new"},
		{"/r/danglingmid", "/nowhere"},
	} {
		path := dir + tt.path
		if !naive["evalsymlinks, ENOENT swallowed"](path) {
			t.Errorf("control: %q is no attack", tt.path)
		}
		deny(t, g, path)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Errorf("control: %v", err)
		}
		if err := os.Remove(dir + tt.made); err != nil {
			t.Errorf("control: %q did not make %q: %v", tt.path, tt.made, err)
		}
	}
	// Both orders of cleaning and resolving are taken by someone.
	rootstest.Add(t, dir, "r/x/y/", "r/lx => a/b", "r/lx2 => ../out/deep")
	for _, path := range []string{
		"/r/nodir/../out/s", "/r/nodir/x/../../out/s", "/r/f/../out/s", "/r/f/x/../../out/s",
		"/r/nodir/../../s", "/r/danglingmid/s", "/r/danglingdeep", "/r/danglingdeep/x", "/r/lx2/../../s",
		"/r/nodir/../chain1/s", "/r/self/x", "/r/self", "/r/loop1", "/r/self/../f", "/r/loop2/../../r/f",
	} {
		deny(t, g, dir+path)
	}
	for _, path := range []string{
		"", "r/f", "./f", "~/f", "/", dir, dir + "/", "/etc/passwd", root + "\x00", root + "/f\x00/../../s",
		root + "/\xff", root + "/" + strings.Repeat("x", 256), root + strings.Repeat("/x", 2100),
		root + "/" + strings.Repeat("../", 2000) + "etc/passwd", "/" + strings.Repeat("../", 1000) + "etc/passwd",
		root + "/nodir/" + strings.Repeat("y", 300), dir + "/alias/f", "file://" + root + "/f", " " + root, "/ " + root,
	} {
		deny(t, g, path)
	}
}

func deny(t testing.TB, g *guard.Guard, path string) {
	t.Helper()
	place, err := g.Check(path)
	if err == nil {
		t.Errorf("Check(%q) allows: %+v", path, place)
		return
	}
	var esc *guard.EscapeError
	var unr *guard.UnresolvableError
	if !errors.As(err, &esc) && !errors.As(err, &unr) {
		t.Errorf("Check(%q): %T %v", path, err, err)
	}
	if place.Root != (guard.Root{}) {
		t.Errorf("Check(%q) names a root beside %v", path, err)
	}
}

func TestGuardAllows(t *testing.T) {
	t.Parallel()
	dir := rootstest.AttackTree(t)
	g := guardOf(t, guard.OS{}, dir+"/r", dir+"/r/a/b")
	for _, tt := range []struct {
		path, leads, root string
		exists, isDir     bool
	}{
		{"/r", "/r", "/r", true, true},
		{"/r/", "/r", "/r", true, true},
		{"/r/.", "/r", "/r", true, true},
		{"/r/f", "/r/f", "/r", true, false},
		{"/r/f/", "/r/f", "/r", true, false},
		{"/r/sp ace", "/r/sp ace", "/r", true, false},
		{"/r/a/b/c", "/r/a/b/c", "/r/a/b", true, false},
		{"//r//a", "/r/a", "/r", true, true},
		{"/out/../r/f", "/r/f", "/r", true, false},
		{"/r/a/../f", "/r/f", "/r", true, false},
		{"/r/new", "/r/new", "/r", false, false},
		{"/r/x/y/z", "/r/x/y/z", "/r", false, false},
		{"/r/x/../y", "/r/y", "/r", false, false},
		{"/r/in/c", "/r/a/b/c", "/r/a/b", true, false},
		{"/r/inabs/b", "/r/a/b", "/r/a/b", true, true},
		{"/r/newin", "/r/a/new", "/r", false, false},
		{"/r/back/b/c", "/r/a/b/c", "/r/a/b", true, false}, // through the outside, and in again
		{"/r/f/x", "/r/f/x", "/r", false, false},           // below a file: cannot exist
		{"/r/..x", "/r/..x", "/r", false, false},
		{"/r/...", "/r/...", "/r", false, false},
		{"/r/a\nb", "/r/a\nb", "/r", false, false},
		{"/r/%2e%2e", "/r/%2e%2e", "/r", false, false},
		{"/r/nope/../../r/f", "/r/f", "/r", true, false},
	} {
		place, err := g.Check(dir + tt.path)
		if err != nil {
			t.Errorf("Check(%q): %v", tt.path, err)
			continue
		}
		if place.Path != dir+tt.leads || place.Root.Path != dir+tt.root ||
			place.Exists != tt.exists || place.Dir != tt.isDir {
			t.Errorf("Check(%q) = %+v", tt.path, place)
		}
	}
}

// The spelling of a root that the user knows is open, too.
func TestGuardSymlinkedRoot(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "real/p/f", "link => real", "third => real", "out/s"+secret, "real/other/")
	g := guardOf(t, guard.OS{}, dir+"/link/p")
	for _, path := range []string{"/link/p/f", "/real/p/f", "/link/p", "/real/p/new"} {
		if _, err := g.Check(dir + path); err != nil {
			t.Errorf("Check(%q): %v", path, err)
		}
	}
	// A third spelling is not one of the root's.
	deny(t, g, dir+"/third/p/f")
	deny(t, g, dir+"/link/other")
	// The link is looked at again in each Check.
	if err := os.Remove(dir + "/link"); err != nil {
		t.Fatal(err)
	}
	rootstest.Add(t, dir, "link => out", "out/p/s"+secret)
	if !reach(dir + "/link/p/s") {
		t.Error("control: the swapped link leads nowhere")
	}
	deny(t, g, dir+"/link/p/s")
	// A directory instead of the link is no root, though it is spelled as one.
	if err := os.Remove(dir + "/link"); err != nil {
		t.Fatal(err)
	}
	rootstest.Add(t, dir, "link/p/s"+secret)
	deny(t, g, dir+"/link/p/s")
	if err := os.Rename(dir+"/real/p", dir+"/real/q"); err != nil {
		t.Fatal(err)
	}
	rootstest.Add(t, dir, "real/p => $/out")
	deny(t, g, dir+"/real/p/s")
}

func TestGuardLinks(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "r/end")
	for i := range 41 {
		target := "end"
		if i > 0 {
			target = "l" + string(rune('0'+(i-1)/10)) + string(rune('0'+(i-1)%10))
		}
		rootstest.Add(t, dir, "r/l"+string(rune('0'+i/10))+string(rune('0'+i%10))+" => "+target)
	}
	g := guardOf(t, guard.OS{}, dir+"/r")
	for name, ok := range map[string]bool{"l39": true, "l40": false} {
		_, kernel := os.Stat(dir + "/r/" + name)
		if (kernel == nil) != ok {
			t.Errorf("control: the kernel on %s: %v", name, kernel)
		}
		_, err := g.Check(dir + "/r/" + name)
		if (err == nil) != ok {
			t.Errorf("Check(%s): %v", name, err)
		}
		var u *guard.UnresolvableError
		if !ok && (!errors.As(err, &u) || u.Cause != platform.CauseLoop) {
			t.Errorf("Check(%s): %v, want a loop", name, err)
		}
	}
}

func TestGuardZero(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var nilGuard *guard.Guard
	for name, g := range map[string]*guard.Guard{
		"zero": {}, "nil": nilGuard, "no roots": guardOf(t, guard.OS{}), "no index": guard.New(guard.NewDisk(guard.OS{}), nil), "no fs": guardOf(t, nil),
		"union of nothing": guard.Union(), "union of zero": guard.Union(nil, &guard.Guard{}), "through": nilGuard.Through(guard.OS{}),
	} {
		for _, path := range []string{dir, "/", ""} {
			if place, err := g.Check(path); err == nil {
				t.Errorf("%s guard allows %q: %+v", name, path, place)
			}
		}
		if !g.IsEmpty() {
			t.Errorf("%s guard is not empty", name)
		}
		if lexical, physical, cleaned := g.Inside(&guard.Readings{Lexical: dir, Physical: dir, Cleaned: dir}); lexical || physical || cleaned {
			t.Errorf("%s guard has %s inside", name, dir)
		}
	}
}

func TestUnion(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "a/to => ../b", "b/f", "c/f", "a/toc => ../c")
	a, b := guardOf(t, guard.OS{}, dir+"/a"), guardOf(t, guard.OS{}, dir+"/b")
	u := guard.Union(a, nil, b, &guard.Guard{})
	if _, err := a.Check(dir + "/a/to/f"); err == nil {
		t.Error("control: one root alone holds the link")
	}
	place, err := u.Check(dir + "/a/to/f")
	if err != nil || place.Root.Path != dir+"/b" {
		t.Errorf("union: %+v, %v", place, err)
	}
	deny(t, u, dir+"/a/toc/f")
	deny(t, u, dir+"/c/f")
}

// A root "/" contains everything, and still not what each process sees its own
// way.
func TestGuardMagicLinks(t *testing.T) {
	if platform.Host() != platform.Linux {
		t.Skip("proc is Linux's")
	}
	dir := rootstest.Tree(t, "r/cwd => /proc/self/cwd", "r/root => /proc/self/root", "r/fd => /dev/fd",
		"r/x/y => /proc/thread-self/cwd/f", "r/f")
	t.Chdir(dir + "/r")
	// The control: what this process resolves lies inside, since it runs there.
	real, err := filepath.EvalSymlinks("/proc/self/cwd/f")
	if err != nil || real != dir+"/r/f" {
		t.Fatalf("control: %q, %v", real, err)
	}
	for _, g := range []*guard.Guard{guardOf(t, guard.OS{}, dir+"/r"), guardOf(t, guard.OS{}, "/", dir+"/r")} {
		for _, path := range []string{
			"/proc/self/cwd/f", "/proc/self", "/proc/self/root/etc/passwd", "/proc/thread-self/cwd/f", "/proc/self/../self/cwd/f",
			"/proc/1/cwd", "/proc/1/root/etc/passwd", "/proc/1/exe", "/proc/1/fd/0", "/proc/1/task/1/cwd/f", "/proc/1/ns/mnt",
			"/proc/999999/cwd/f", "/proc/999999/task/999999/root", "/proc/mounts", "/proc/net/dev", "/proc//self/cwd/f",
			"/dev/fd/0", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/../dev/stdin", "/dev/./fd/3",
			dir + "/r/cwd/f", dir + "/r/cwd", dir + "/r/root/etc/passwd", dir + "/r/fd/0", dir + "/r/x/y",
			dir + "/r/../../../../../../../../proc/self/cwd/f", "/nope/../proc/self/cwd/f",
		} {
			_, err := g.Check(path)
			var u *guard.UnresolvableError
			if !errors.As(err, &u) || u.Cause != platform.CauseMagic {
				t.Errorf("Check(%q): %v, want magic", path, err)
			}
		}
	}
	g := guardOf(t, guard.OS{}, "/")
	for _, path := range []string{"/etc/passwd", "/", "/proc/cpuinfo", "/dev/null", dir + "/r/f"} {
		if _, err := g.Check(path); err != nil {
			t.Errorf("below /: Check(%q): %v", path, err)
		}
	}
	d := guard.NewDisk(guard.OS{})
	for _, path := range []string{"/proc/self/cwd", "/proc/self", "/dev/fd"} {
		if f, err := d.Canonical(path); err == nil {
			t.Errorf("%s can be a root: %+v", path, f)
		}
	}
}

// Any error but "does not exist" denies: below, for a filesystem that fails.
func TestGuardErrors(t *testing.T) {
	t.Parallel()
	lines := []string{"/r/a/b", "/r/l => a", "/out/s"}
	for _, tt := range []struct {
		at    string
		err   error
		path  string
		cause platform.Cause
	}{
		{"/r/a", syscall.EACCES, "/r/a/b", platform.CausePermission},
		{"/r/a", fs.ErrPermission, "/r/a", platform.CausePermission},
		{"/r/a/b", syscall.EIO, "/r/a/b", platform.CauseIO},
		{"/r/a/b", syscall.ESTALE, "/r/a/b/c", platform.CauseIO},
		{"/r/a/b", syscall.ENOTDIR, "/r/a/b", platform.CauseIO},
		{"/r/a/b", syscall.ENAMETOOLONG, "/r/a/b", platform.CauseTooLong},
		{"/r", syscall.EPERM, "/r/a", platform.CausePermission},
		{"/r/l", syscall.ELOOP, "/r/l/b", platform.CauseIO},
		{"/r/a", syscall.EACCES, "/r/a/../f", platform.CausePermission},
		{"/r/a", syscall.EACCES, "/r/l/b", platform.CausePermission},
	} {
		f := rootstest.NewFS(t, platform.Linux, lines)
		g := guardOf(t, f, "/r")
		if _, err := g.Check(tt.path); err != nil {
			t.Errorf("control: Check(%q): %v", tt.path, err)
		}
		f.Fail(tt.at, tt.err)
		_, err := g.Check(tt.path)
		var u *guard.UnresolvableError
		if !errors.As(err, &u) || u.Cause != tt.cause || !errors.Is(err, tt.err) {
			t.Errorf("%s fails with %v: Check(%q): %v", tt.at, tt.err, tt.path, err)
		}
	}
}

// What is documented as not promised, so that no one believes otherwise.
func TestGuardNotPromised(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "r/", "out/s"+secret)
	if err := os.Link(dir+"/out/s", dir+"/r/hard"); err != nil {
		t.Fatal(err)
	}
	g := guardOf(t, guard.OS{}, dir+"/r")
	if _, err := g.Check(dir + "/r/hard"); err != nil {
		t.Errorf("a hard link is seen after all: %v; then say so in the documentation", err)
	}
	// A check says nothing about the moment after it.
	if _, err := g.Check(dir + "/r/later"); err != nil {
		t.Error(err)
	}
	rootstest.Add(t, dir, "r/later => ../out/s")
	if !reach(dir + "/r/later") {
		t.Error("control: the race leads nowhere")
	}
	deny(t, g, dir+"/r/later") // but there is no memory of verdicts
}

func TestGuardUnicode(t *testing.T) {
	t.Parallel()
	// NFC and NFD are two names where the filesystem says so.
	nfc, nfd := "/r/\u00e9", "/r/e\u0301"
	f := rootstest.NewFS(t, platform.Linux, []string{nfc + "/f", nfd + " => /out", "/out/s"})
	g := guardOf(t, f, "/r")
	if _, err := g.Check(nfc + "/f"); err != nil {
		t.Error(err)
	}
	deny(t, g, nfd+"/s")
	// And one name if it folds, with the link found under either.
	f = rootstest.NewFS(t, platform.Darwin, []string{nfd + " => /out", "/out/s", "/r/f"}, rootstest.Folding())
	g = guardOf(t, f, "/r")
	deny(t, g, nfc+"/s")
	deny(t, g, nfd+"/s")
	for _, path := range []string{"/r/\uff0e\uff0e/out/s", "/r/\u2025/out/s"} { // look like ".."
		if place, err := g.Check(path); err != nil || !strings.HasPrefix(place.Path, "/r/") {
			t.Errorf("Check(%q): %+v, %v", path, place, err)
		}
	}
}
