package rootsmgr_test

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"mcphub/internal/seeds"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// The kernel is the judge: it opens what a child would open, and says where
// that is. Set MCPHUB_LONG_CASES for a long run.
const casesPerTree = 250

func TestGuardAgainstKernel(t *testing.T) {
	base, err := os.MkdirTemp(shm(t), "rootsmgr")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	var cases, opened, outside, allowed, made, nested, files, late atomic.Int64
	tree := 0
	seeds.CheckCases(t, (seeds.Cases(t, 100*casesPerTree)+casesPerTree-1)/casesPerTree, func(rt *rapid.T) {
		tree++
		dir := path.Join(base, strconv.Itoa(tree))
		defer os.RemoveAll(dir)
		k := newKernelTree(rt, dir)
		nested.Add(k.nested(rt))
		for _, r := range k.roots {
			if r.File {
				files.Add(1)
			}
		}
		for range casesPerTree {
			o := k.compare(rt)
			cases.Add(1)
			opened.Add(o.opened)
			outside.Add(o.outside)
			allowed.Add(o.allowed)
			made.Add(o.made)
		}
		late.Add(k.late(rt))
	})
	t.Logf("%d cases in %d trees: %d opened by the kernel, %d lead outside, %d new files made, %d allowed; %d roots not followed, %d files, %d late",
		cases.Load(), tree, opened.Load(), outside.Load(), made.Load(), allowed.Load(), nested.Load(), files.Load(), late.Load())
	if nested.Load() == 0 || files.Load() == 0 || late.Load() == 0 {
		t.Error("the roots are all of one kind")
	}
	if n := cases.Load() / 20; opened.Load() < n || outside.Load() < n || allowed.Load() < n || made.Load() < n/10 {
		t.Error("the cases are lopsided: too few of one kind to say anything")
	}
}

// shm is a directory in memory where there is one.
func shm(t *testing.T) string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return t.TempDir()
}

// kernelTree is a random tree: directories, files and links of few names, so
// that links and spellings meet often.
type kernelTree struct {
	dir   string
	given []Entry
	snap  *Snapshot
	roots []guard.Root
	guard *guard.Guard
	words []string
}

var names = []string{"a", "b", "c", "d"}

func newKernelTree(rt *rapid.T, dir string) *kernelTree {
	name := rapid.SampledFrom(names)
	rel := rapid.Custom(func(rt *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 3).Draw(rt, "rel"), "/")
	})
	target := rapid.Custom(func(rt *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "..", "..", ".", "new"}), 1, 5).Draw(rt, "target")
		s := strings.Join(parts, "/")
		if rapid.IntRange(0, 2).Draw(rt, "absolute") == 0 {
			return dir + "/" + s
		}
		return s
	})
	mustMake(rt, os.Mkdir(dir, 0o755))
	// Made through os.Root, since a link made earlier may lead out of the tree.
	// What fails, because it exists or leads out, is left away.
	in, err := os.OpenRoot(dir)
	mustMake(rt, err)
	defer in.Close()
	for range rapid.IntRange(3, 8).Draw(rt, "directories") {
		_ = in.MkdirAll(rel.Draw(rt, "dir"), 0o755)
	}
	var files []string
	for range rapid.IntRange(1, 4).Draw(rt, "files") {
		at := rel.Draw(rt, "file")
		if f, err := in.OpenFile(at, os.O_CREATE|os.O_EXCL, 0o644); err == nil {
			f.Close()
			files = append(files, at)
		}
	}
	var links []string
	for range rapid.IntRange(4, 16).Draw(rt, "links") {
		to, at := target.Draw(rt, "to"), rel.Draw(rt, "link")
		if in.Symlink(to, at) == nil {
			links = append(links, at)
		}
	}
	var entries []Entry
	for range rapid.IntRange(1, 3).Draw(rt, "roots") {
		entries = append(entries, Entry{URI: dir + "/" + rel.Draw(rt, "root")})
	}
	if len(files) > 0 && rapid.IntRange(0, 2).Draw(rt, "a file") == 0 {
		entries = append(entries, Entry{URI: dir + "/" + rapid.SampledFrom(files).Draw(rt, "which")})
	}
	links = slices.DeleteFunc(links, func(link string) bool { // those that lead somewhere, inside a directory
		_, err := os.Stat(dir + "/" + link)
		return err != nil || path.Dir(link) == "."
	})
	if len(links) > 0 && rapid.IntRange(0, 3).Draw(rt, "nested") > 0 {
		link := rapid.SampledFrom(links).Draw(rt, "which")
		entries = append(entries, Entry{URI: dir + "/" + link}, Entry{URI: dir + "/" + path.Dir(link)})
	}
	s := NewSnapshot(guard.OS{}, 1, OriginConfig, entries)
	k := &kernelTree{dir: dir, given: entries, snap: s, roots: s.Roots(), guard: s.Guard()}
	k.words = append(k.words, "a", "b", "c", "d", "a/..", "b/..", "c/..", "d/..", "..", "..", ".", "", "new", "neu")
	return k
}

func mustMake(rt *rapid.T, err error) {
	if err != nil {
		rt.Fatal(err)
	}
}

// nested holds the choice of roots against R13, as plainly as it can be said: no
// root is one that a link inside another directory of the list leads out of, and
// nothing else is left out for that.
func (k *kernelTree) nested(rt *rapid.T) (skipped int64) {
	real := map[string]string{} // of what exists
	for _, e := range k.given {
		if at, ok := k.open(rt, e.URI); ok {
			real[e.URI] = at
		}
	}
	leaves := func(uri string) bool {
		for _, dir := range foldersOfLinks(path.Clean(uri)) {
			for _, place := range real {
				info, err := os.Stat(place)
				if err == nil && info.IsDir() && below(dir, place) && !below(real[uri], place) {
					return true
				}
			}
		}
		return false
	}
	for _, e := range k.given {
		if _, there := real[e.URI]; !there {
			continue
		}
		sk, left := k.snap.SkippedAbove(e.URI)
		left = left && sk.Path == path.Clean(e.URI) && strings.Contains(sk.Reason, "link inside")
		if left != leaves(e.URI) {
			rt.Fatalf("%q, which is %q, is left out: %v; of %v; links in %v; skipped %+v", e.URI, real[e.URI], left, k.given, foldersOfLinks(path.Clean(e.URI)), k.snap.Skipped())
		}
		if left {
			skipped++
		}
	}
	return skipped
}

// foldersOfLinks are the directories that hold the links on the way to a path.
func foldersOfLinks(name string) (dirs []string) {
	at, rest := "/", strings.Split(name, "/")
	for len(rest) > 0 && len(dirs) < 60 {
		next := path.Join(at, rest[0])
		target, err := os.Readlink(next)
		rest = rest[1:]
		if err != nil {
			at = next
			continue
		}
		dirs = append(dirs, at)
		if path.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return dirs
}

// late makes the roots that are missing, one after the other: a path below each
// asks for it then, and not before.
func (k *kernelTree) late(rt *rapid.T) (n int64) {
	for _, e := range k.given {
		sk, ok := k.snap.SkippedAbove(e.URI)
		if !ok || sk.Reason != "it does not exist" || sk.Path != path.Clean(e.URI) {
			continue
		}
		if _, there := k.open(rt, e.URI); there {
			continue // made with another one
		}
		below := e.URI + "/x"
		if k.snap.Appeared(below) {
			rt.Fatalf("%q has appeared, which is not there; %v", e.URI, k.given)
		}
		place, err := guard.Resolve(guard.OS{}, e.URI)
		if err != nil || place.Exists || !strings.HasPrefix(place.Path, k.dir+"/") || os.MkdirAll(place.Path, 0o755) != nil {
			continue
		}
		if at, ok := k.open(rt, e.URI); !ok || at != place.Path {
			continue // made elsewhere by then
		}
		n++
		if !k.snap.Appeared(below) || !k.snap.Appeared(place.Path) {
			rt.Fatalf("%q is there, and has not appeared; %v", e.URI, k.given)
		}
		if now := NewSnapshot(guard.OS{}, 2, OriginConfig, k.given); now.Appeared(below) {
			rt.Fatalf("%q is asked for again and again; %v", e.URI, now.Skipped())
		}
	}
	return n
}

// spelling is a path that begins in the tree: at its top, at a root, or through
// a detour.
func (k *kernelTree) spelling(rt *rapid.T) string {
	start := k.dir
	if len(k.roots) > 0 && rapid.Bool().Draw(rt, "at a root") {
		r := rapid.SampledFrom(k.roots).Draw(rt, "which")
		start = r.Path
		if rapid.Bool().Draw(rt, "as given") {
			start = r.Given
		}
	}
	words := rapid.SliceOfN(rapid.SampledFrom(k.words), 0, 7).Draw(rt, "words")
	return start + "/" + strings.Join(words, "/")
}

type outcome struct{ opened, outside, allowed, made int64 }

// compare judges one spelling and has the kernel open it as it stands and as
// cleaned text.
func (k *kernelTree) compare(rt *rapid.T) (o outcome) {
	spelled := k.spelling(rt)
	place, err := k.guard.Check(spelled)
	allowed := err == nil
	if allowed {
		o.allowed++
	}
	physical, ok1 := k.open(rt, spelled)
	cleaned, ok2 := k.open(rt, path.Clean(spelled))
	for _, at := range []struct {
		path   string
		opened bool
	}{{physical, ok1}, {cleaned, ok2}} {
		if !at.opened {
			continue
		}
		o.opened++
		if !k.inside(at.path) {
			o.outside++
			if allowed {
				rt.Fatalf("allowed %q, which the kernel takes for %q; roots %+v; place %+v", spelled, at.path, k.roots, place)
			}
		}
	}
	if ok1 && ok2 && k.inside(physical) && k.inside(cleaned) && k.lexical(path.Clean(spelled)) && !allowed {
		rt.Fatalf("denied %q, which is %q and %q: %v; roots %+v", spelled, physical, cleaned, err, k.roots)
	}
	if ok1 && allowed && place.Path != physical {
		rt.Fatalf("%q leads to %q, the kernel says %q", spelled, place.Path, physical)
	}
	if ok1 && allowed && !place.Exists {
		rt.Fatalf("%q does not exist, but the kernel opens %q", spelled, physical)
	}
	if ok2 && allowed && place.Readings.Cleaned != cleaned {
		rt.Fatalf("%q cleaned leads to %q, the kernel says %q", spelled, place.Readings.Cleaned, cleaned)
	}
	if !ok1 {
		if !allowed {
			place = guard.Place{Path: spelled}
		}
		o.made += k.create(rt, spelled, allowed, place)
	}
	if !ok2 && path.Clean(spelled) != spelled {
		o.made += k.create(rt, path.Clean(spelled), allowed, guard.Place{})
	}
	return o
}

// open is where the kernel finds name; false where it does not exist.
func (k *kernelTree) open(rt *rapid.T, name string) (string, bool) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
			rt.Fatalf("open %q: %v", name, err)
		}
		return "", false
	}
	defer unix.Close(fd)
	return where(rt, fd), true
}

func where(rt *rapid.T, fd int) string {
	var buf [4096]byte
	n, err := unix.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd), buf[:])
	mustMake(rt, err)
	return string(buf[:n])
}

// create makes a file that does not exist, sees where it came to be, and
// removes it.
func (k *kernelTree) create(rt *rapid.T, name string, allowed bool, place guard.Place) int64 {
	// Links climb as far as "/": no files are made there.
	if r, err := guard.Resolve(guard.OS{}, name); err != nil || !below(r.Readings.Physical, k.dir) {
		return 0
	}
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return 0 // a directory on the way is missing, or it ends in a slash
	}
	at := where(rt, fd)
	unix.Close(fd)
	mustMake(rt, os.Remove(at))
	if allowed && !k.inside(at) {
		rt.Fatalf("allowed %q, which the kernel makes as %q; roots %+v", name, at, k.roots)
	}
	if !allowed && name == path.Clean(name) && place.Path == name && k.inside(at) && k.lexical(name) {
		rt.Fatalf("denied %q, which the kernel makes as %q; roots %+v", name, at, k.roots)
	}
	if allowed && place.Path != "" && place.Path != at {
		rt.Fatalf("%q leads to %q, the kernel makes %q", name, place.Path, at)
	}
	return 1
}

func (k *kernelTree) inside(name string) bool {
	for _, r := range k.roots {
		if below(name, r.Path) && (!r.File || name == r.Path) {
			return true
		}
	}
	return false
}

func (k *kernelTree) lexical(name string) bool {
	for _, r := range k.roots {
		for _, at := range []string{r.Path, r.Given} {
			if below(name, at) && (!r.File || name == at) {
				return true
			}
		}
	}
	return false
}

// below is containment by component, written as plainly as can be.
func below(name, dir string) bool {
	if dir == "/" {
		return strings.HasPrefix(name, "/")
	}
	n, d := strings.Split(strings.Trim(name, "/"), "/"), strings.Split(strings.Trim(dir, "/"), "/")
	if len(n) < len(d) {
		return false
	}
	for i := range d {
		if n[i] != d[i] {
			return false
		}
	}
	return true
}
