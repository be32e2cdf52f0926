package rootsmgr

import (
	"math/bits"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// index finds the innermost root above a path by its components: one map lookup
// for each depth at which there is a root at all, whatever the number of roots.
// Built once, then only read.
type index struct {
	roots  []Root
	byText map[string]spelled // every spelling of every root
	byFold map[string][]folded
	files  map[int32]struct{} // roots that are single files, and hold nothing
	depths uint64             // bit n: a spelling with n components; the last bit: that many or more
}

// spelled is what one spelling stands for: the root it names as text, and the
// root whose canonical path it is. One spelling may be both, for two roots: a
// link to elsewhere under one name, its own target under the other.
type spelled struct{ text, physical int32 }

const noRoot = -1

// folded is one spelling, found by its form without case and Unicode form.
type folded struct {
	spelling string
	root     int32
	physical bool
}

func newIndex() *index {
	return &index{byText: map[string]spelled{}, byFold: map[string][]folded{}}
}

// add registers a spelling of root i. The first root that has it keeps it.
func (x *index) add(p Platform, spelling string, i int32, physical bool) {
	at, ok := x.byText[spelling]
	if !ok {
		at = spelled{text: noRoot, physical: noRoot}
	}
	fresh := false
	if at.text == noRoot {
		at.text, fresh = i, true
	}
	if physical && at.physical == noRoot {
		at.physical, fresh = i, true
	}
	if !fresh {
		return
	}
	x.byText[spelling] = at
	x.depths |= depthBit(depthOf(p, spelling))
	// A client may list one directory in thousands of spellings; what is not
	// kept here only denies.
	if key := foldKey(spelling); len(x.byFold[key]) < maxFolded {
		x.byFold[key] = append(x.byFold[key], folded{spelling, i, physical})
	}
}

const maxFolded = 16

// addFile says that root i is a single file.
func (x *index) addFile(i int32) {
	if x.files == nil {
		x.files = map[int32]struct{}{}
	}
	x.files[i] = struct{}{}
}

// holds reports whether root i, found at path[:end], is path or above it.
func (x *index) holds(i int32, path string, end int) bool {
	if end == len(path) || len(x.files) == 0 {
		return true
	}
	_, file := x.files[i]
	return !file
}

func depthBit(depth int) uint64 { return 1 << min(depth, 63) }

func depthOf(p Platform, path string) int {
	n := p.RootLen(path)
	if len(path) <= n {
		return 0
	}
	return 1 + strings.Count(path[n:], string(p.Sep()))
}

// hit is the root found and the length of the part of the path that names it.
type hit struct{ root, end int }

// find returns the innermost root at or above a clean absolute path: by every
// spelling, or by canonical paths only.
func (x *index) find(p Platform, path string, physical bool) (hit, bool) {
	best, ok := hit{}, false
	x.prefixes(p, path, func(end int) {
		at, found := x.byText[path[:end]]
		if !found {
			return
		}
		root := at.text
		if physical {
			root = at.physical
		}
		if root != noRoot && x.holds(root, path, end) {
			best, ok = hit{int(root), end}, true
		}
	})
	return best, ok
}

// findFolded is find for filesystems on which several spellings name one
// directory. The filesystem has the last word: only a prefix that is the very
// directory of the root counts.
func (x *index) findFolded(e *eyes, path string, physical bool) (hit, bool) {
	if e.same == nil || len(x.byFold) == 0 {
		return hit{}, false
	}
	best, ok := hit{}, false
	x.prefixes(e.platform, path, func(end int) {
		for _, f := range x.byFold[foldKey(path[:end])] {
			if (f.physical || !physical) && x.holds(f.root, path, end) && e.sameDir(path[:end], f.spelling) {
				best, ok = hit{int(f.root), end}, true
				return
			}
		}
	})
	return best, ok
}

// prefixes calls visit with the end of every prefix of path that has as many
// components as some root, outermost first.
func (x *index) prefixes(p Platform, path string, visit func(end int)) {
	n, sep := p.RootLen(path), p.Sep()
	if n == 0 || n > len(path) {
		return
	}
	if x.depths&1 != 0 {
		visit(n)
	}
	if len(path) == n {
		return
	}
	deepest := bits.Len64(x.depths) - 1
	depth := 0
	for i := n; i <= len(path); i++ {
		if i < len(path) && path[i] != sep {
			continue
		}
		depth++
		if depth > deepest && deepest < 63 {
			return
		}
		if x.depths&depthBit(depth) != 0 {
			visit(i)
		}
	}
}

// sameDir reports whether the filesystem takes two spellings for one entry.
func (e *eyes) sameDir(a, b string) bool {
	if a == b {
		return true
	}
	ia, err := e.Lstat(a)
	if err != nil {
		return false
	}
	ib, err := e.Lstat(b)
	return err == nil && e.same.SameFile(ia, ib)
}

// foldKey maps spellings that some filesystem may take for one name to one key.
// It only proposes candidates, so being too generous costs a look at the disk.
func foldKey(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
		}
	}
	return strings.ToLower(s)
}
