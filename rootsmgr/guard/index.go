package guard

import (
	"math/bits"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"mcphub/rootsmgr/platform"
)

// Index finds the innermost root above a path by its components: one map lookup
// for each depth at which there is a root at all, whatever the number of roots.
// Built once, then only read.
type Index struct {
	Roots  []Root
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

// NewIndex returns an Index without roots.
func NewIndex() *Index {
	return &Index{byText: map[string]spelled{}, byFold: map[string][]folded{}}
}

// Add registers a spelling of root i. The first root that has it keeps it.
func (x *Index) Add(p platform.Platform, spelling string, i int32, physical bool) {
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
	// A client may list one directory in thousands of spellings. A spelling that
	// is not kept only causes denials.
	if key := foldKey(spelling); len(x.byFold[key]) < maxFolded {
		x.byFold[key] = append(x.byFold[key], folded{spelling, i, physical})
	}
}

const maxFolded = 16

// AddFile reports that root i is a single file.
func (x *Index) AddFile(i int32) {
	if x.files == nil {
		x.files = map[int32]struct{}{}
	}
	x.files[i] = struct{}{}
}

// holdsAt reports whether root i, found at path[:end], is path or above it.
func (x *Index) holdsAt(i int32, path string, end int) bool {
	if end == len(path) || len(x.files) == 0 {
		return true
	}
	_, file := x.files[i]
	return !file
}

func depthBit(depth int) uint64 { return 1 << min(depth, 63) }

func depthOf(p platform.Platform, path string) int {
	n := p.RootLen(path)
	if len(path) <= n {
		return 0
	}
	return 1 + strings.Count(path[n:], string(p.Sep()))
}

// Hit is the root found and the length of the part of the path that names it.
type Hit struct{ Root, End int }

// Find returns the innermost root at or above a clean absolute path. physical:
// only canonical paths of roots count, otherwise every spelling.
func (x *Index) Find(p platform.Platform, path string, physical bool) (Hit, bool) {
	best, ok := Hit{}, false
	x.visitPrefixes(p, path, func(end int) {
		at, found := x.byText[path[:end]]
		if !found {
			return
		}
		root := at.text
		if physical {
			root = at.physical
		}
		if root != noRoot && x.holdsAt(root, path, end) {
			best, ok = Hit{int(root), end}, true
		}
	})
	return best, ok
}

// FindFolded works like Find for filesystems on which several spellings name
// one directory. A prefix counts only if the filesystem reports that it is
// the very directory of the root.
func (x *Index) FindFolded(e *Disk, path string, physical bool) (Hit, bool) {
	if e.same == nil || len(x.byFold) == 0 {
		return Hit{}, false
	}
	best, ok := Hit{}, false
	x.visitPrefixes(e.Platform, path, func(end int) {
		for _, f := range x.byFold[foldKey(path[:end])] {
			if (f.physical || !physical) && x.holdsAt(f.root, path, end) && e.SameDir(path[:end], f.spelling) {
				best, ok = Hit{int(f.root), end}, true
				return
			}
		}
	})
	return best, ok
}

// Above works like Find, and FindFolded if that finds nothing.
func (x *Index) Above(d *Disk, path string) (Hit, bool) {
	if at, ok := x.Find(d.Platform, path, true); ok {
		return at, true
	}
	return x.FindFolded(d, path, true)
}

// FindExact returns the root whose canonical path this is, however it is spelled here, or -1.
func (x *Index) FindExact(d *Disk, path string) int {
	at, ok := x.Find(d.Platform, path, true)
	if !ok || at.End != len(path) {
		at, ok = x.FindFolded(d, path, true)
	}
	if !ok || at.End != len(path) {
		return -1
	}
	return at.Root
}

// visitPrefixes calls visit with the end of every prefix of path that has as many
// components as some root, outermost first.
func (x *Index) visitPrefixes(p platform.Platform, path string, visit func(end int)) {
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

// SameDir reports whether the filesystem takes two spellings for one entry.
func (d *Disk) SameDir(a, b string) bool {
	if a == b {
		return true
	}
	if !d.MayLook(a) || !d.MayLook(b) {
		return false
	}
	ia, err := d.Lstat(a)
	if err != nil {
		return false
	}
	ib, err := d.Lstat(b)
	return err == nil && d.same.SameFile(ia, ib)
}

// HoldsElsewhere reports whether path lies at or below dir, although the two name different volumes
// of Windows: a drive may have another letter, and a letter may stand for a directory of another
// drive. Both are clean. What exists is compared by identity, and what is missing below it by name.
func (d *Disk) HoldsElsewhere(dir, path string) bool {
	p := d.Platform
	if p != platform.Windows || d.same == nil {
		return false
	}
	there, here := dir[:p.RootLen(dir)], path[:p.RootLen(path)]
	if there == "" || here == "" || strings.EqualFold(there, here) || d.isForeign(there) || d.isForeign(here) {
		return false
	}
	missing := ""
	for {
		if !d.MayLook(dir) {
			return false
		}
		if _, err := d.Lstat(dir); err == nil {
			break
		}
		up := p.Parent(dir)
		if up == dir {
			return false
		}
		missing = foldKey(dir[len(up):]) + missing
		dir = up
	}
	for at := path; ; at = p.Parent(at) {
		if d.MayLook(at) && d.SameDir(at, dir) {
			rest := foldKey(path[len(at):])
			if below, ok := strings.CutPrefix(strings.Trim(rest, `\`)+`\`, strings.Trim(missing, `\`)); missing == "" || ok && below[0] == '\\' {
				return true
			}
		}
		if at == p.Parent(at) {
			return false
		}
	}
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
