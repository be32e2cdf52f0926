package guard_test

import (
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"mcphub/e2e/rootstest"
	"mcphub/e2e/seeds"
	"mcphub/rootsmgr/guard"
)

// The kernel is the judge: it opens what a child would open, and says where
// that is.
const casesPerTree = 250

func TestGuardAgainstKernel(t *testing.T) {
	t.Parallel()
	base := rootstest.Memory(t)
	var cases, opened, outside, allowed, made, files atomic.Int64
	tree := 0
	seeds.CheckCases(t, (seeds.Cases(t, 80*casesPerTree)+casesPerTree-1)/casesPerTree, func(rt *rapid.T) {
		tree++
		dir := path.Join(base, strconv.Itoa(tree))
		defer os.RemoveAll(dir)
		k := newKernelTree(t, rt, dir)
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
	})
	t.Logf("%d cases in %d trees: %d opened by the kernel, %d lead outside, %d new files made, %d allowed; %d files",
		cases.Load(), tree, opened.Load(), outside.Load(), made.Load(), allowed.Load(), files.Load())
	if files.Load() == 0 {
		t.Error("the roots are all of one kind")
	}
	if n := cases.Load() / 20; opened.Load() < n || outside.Load() < n || allowed.Load() < n || made.Load() < n/10 {
		t.Error("the cases are lopsided: too few of one kind to say anything")
	}
}

// kernelTree is a random tree and the Guard of its roots.
type kernelTree struct {
	dir   string
	roots []guard.Root
	guard *guard.Guard
}

// words are what spellings are made of.
var words = []string{"a", "b", "c", "d", "a/..", "b/..", "c/..", "d/..", "..", "..", ".", "", "new", "neu"}

func newKernelTree(t *testing.T, rt *rapid.T, dir string) *kernelTree {
	var usable []string
	d := guard.NewDisk(guard.OS{})
	for _, path := range rootstest.RandomTree(rt, dir) {
		if _, err := d.Canonical(path); err == nil {
			usable = append(usable, path)
		}
	}
	g := guardOf(t, guard.OS{}, usable...)
	return &kernelTree{dir: dir, roots: g.Roots(), guard: g}
}

func mustMake(rt *rapid.T, err error) {
	if err != nil {
		rt.Fatal(err)
	}
}

// spelling returns a path that begins in the tree: at its top, at a root, or
// through a detour.
func (k *kernelTree) spelling(rt *rapid.T) string {
	start := k.dir
	if len(k.roots) > 0 && rapid.Bool().Draw(rt, "at a root") {
		r := rapid.SampledFrom(k.roots).Draw(rt, "which")
		start = r.Path
		if rapid.Bool().Draw(rt, "as given") {
			start = r.Given
		}
	}
	words := rapid.SliceOfN(rapid.SampledFrom(words), 0, 7).Draw(rt, "words")
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
	physical, ok1 := rootstest.KernelOpen(rt, spelled)
	cleaned, ok2 := rootstest.KernelOpen(rt, path.Clean(spelled))
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
	at := rootstest.KernelPath(rt, fd)
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
