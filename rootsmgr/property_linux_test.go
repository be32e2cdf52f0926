package rootsmgr_test

import (
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/rootstest"
	"mcphub/e2e/seeds"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// TestRootsAgainstKernel: the kernel says which roots a link leads out of, and which have come to be there.
func TestRootsAgainstKernel(t *testing.T) {
	t.Parallel()
	base := rootstest.Memory(t)
	var tree int
	var nested, late int64
	seeds.CheckCases(t, seeds.Cases(t, 100), func(rt *rapid.T) {
		tree++
		dir := path.Join(base, strconv.Itoa(tree))
		defer os.RemoveAll(dir)
		k := &rootsTree{dir: dir}
		for _, path := range rootstest.RandomTree(rt, dir) {
			k.given = append(k.given, RootEntry{URI: path})
		}
		k.snap = NewSnapshot(guard.OS{}, 1, OriginConfig, k.given)
		nested += k.nested(rt)
		late += k.late(rt)
	})
	t.Logf("%d trees: %d roots not followed, %d late", tree, nested, late)
	if nested == 0 || late == 0 {
		t.Error("the roots are all of one kind")
	}
}

// rootsTree is a random tree, and what was made of paths in it.
type rootsTree struct {
	dir   string
	given []RootEntry
	snap  *Snapshot
}

// nested holds the choice of roots of nested folders, as plainly as it can be said: no
// root is one that a link inside another directory of the list leads out of, and
// nothing else is left out for that.
func (k *rootsTree) nested(rt *rapid.T) (skipped int64) {
	real := map[string]string{} // of what exists
	for _, e := range k.given {
		if at, ok := rootstest.KernelOpen(rt, e.URI); ok {
			real[e.URI] = at
		}
	}
	leaves := func(uri string) bool {
		for _, dir := range foldersOfLinks(path.Clean(uri)) {
			for _, place := range real {
				info, err := os.Stat(place)
				if err == nil && info.IsDir() && platform.Linux.Below(dir, place) && !platform.Linux.Below(real[uri], place) {
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

// foldersOfLinks returns the directories that hold the links on the way to a path.
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
func (k *rootsTree) late(rt *rapid.T) (n int64) {
	for _, e := range k.given {
		sk, ok := k.snap.SkippedAbove(e.URI)
		if !ok || sk.Reason != "it does not exist" || sk.Path != path.Clean(e.URI) {
			continue
		}
		if _, there := rootstest.KernelOpen(rt, e.URI); there {
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
		if at, ok := rootstest.KernelOpen(rt, e.URI); !ok || at != place.Path {
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
