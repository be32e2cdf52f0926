package guard

import "slices"

// Guard decides the target of a path under one set of roots. It is a check
// before dispatch, not confinement: see the package documentation for what it
// cannot promise. It is immutable and keeps no verdicts, so each Check looks at
// the disk as it is now. The zero Guard and the nil Guard deny everything.
type Guard struct {
	disk Disk
	sets []*Index
}

// New returns the Guard of the roots in x; with nil it only resolves paths.
func New(d Disk, x *Index) *Guard {
	g := &Guard{disk: d}
	if x != nil {
		g.sets = []*Index{x}
		for i := range x.Roots {
			g.disk.lookAtShare(x.Roots[i].Path)
			g.disk.lookAtShare(x.Roots[i].Given)
		}
	}
	return g
}

// NamesShare reports whether one of the roots names a share of another machine.
func (g *Guard) NamesShare(share string) bool {
	return g != nil && slices.Contains(g.disk.shares, share)
}

// Disk returns the file system that g looks at. It has no FS where g is zero.
func (g *Guard) Disk() Disk { return g.disk }

// Roots returns the roots that g guards.
func (g *Guard) Roots() []Root {
	var all []Root
	for _, set := range g.sets {
		all = append(all, set.Roots...)
	}
	return all
}

// Above returns the innermost root at or above a clean path. physical: only
// canonical paths of roots count, otherwise every spelling. It resolves nothing.
func (g *Guard) Above(path string, physical bool) (Root, bool) {
	set, at, ok := g.findRoot(path, physical)
	if !ok {
		return Root{}, false
	}
	return set.Roots[at.Root], true
}

// Check returns where path leads and whether every reading of it lies inside a root. path must be
// absolute, as the child would be handed it.
//
// The error is an *EscapeError for a path outside, and the Place then holds the readings all the
// same, without a Root; or an *UnresolvableError, with an empty Place. Any error denies. The cost
// does not depend on the number of roots. A clean path without links takes one look at the disk
// if the FS is a Wholer. Any other path takes one for each component, and two if it holds "..".
func (g *Guard) Check(path string) (Place, error) {
	if g == nil || g.disk.FS == nil {
		return Place{}, &EscapeError{Path: path}
	}
	place, err := g.disk.resolvePath(path)
	if err != nil {
		return Place{}, err
	}
	r := &place.Readings
	if g.IsEmpty() {
		return place, &EscapeError{Path: path, Resolved: r.Physical}
	}
	if _, _, ok := g.findRoot(r.Lexical, false); !ok {
		return place, &EscapeError{Path: path, Resolved: r.Lexical, Reading: ReadingLexical}
	}
	set, at, ok := g.findRoot(r.Physical, true)
	if !ok {
		return place, &EscapeError{Path: path, Resolved: r.Physical, Reading: ReadingPhysical}
	}
	if r.Cleaned != r.Physical {
		if _, _, ok := g.findRoot(r.Cleaned, true); !ok {
			return place, &EscapeError{Path: path, Resolved: r.Cleaned, Reading: ReadingCleaned}
		}
	}
	if set.Roots[at.Root].File && place.Dir {
		// A directory has taken the place of the file.
		return place, &EscapeError{Path: path, Resolved: r.Physical, Reading: ReadingPhysical}
	}
	place.Root = set.Roots[at.Root]
	return place, nil
}

// IsEmpty reports whether no root is open, so that every Check fails.
func (g *Guard) IsEmpty() bool {
	return g == nil || g.disk.FS == nil || !slices.ContainsFunc(g.sets, func(x *Index) bool { return len(x.Roots) > 0 })
}

// findRoot looks in every set for the innermost root above path; text is tried
// before the filesystem is asked about case and Unicode form.
func (g *Guard) findRoot(path string, physical bool) (*Index, Hit, bool) {
	var in *Index
	var best Hit
	for _, x := range g.sets {
		if at, ok := x.Find(g.disk.Platform, path, physical); ok && (in == nil || at.End > best.End) {
			in, best = x, at
		}
	}
	if in != nil {
		return in, best, true
	}
	for _, x := range g.sets {
		if at, ok := x.FindFolded(&g.disk, path, physical); ok && (in == nil || at.End > best.End) {
			in, best = x, at
		}
	}
	return in, best, in != nil
}

// Union returns the Guard of all roots of several Guards together. A path is
// inside even if one reading lies in a root of the first, and another in a root of
// the second. Nil and zero Guards add nothing. All must look at the same FS; the
// first one's is used.
func Union(guards ...*Guard) *Guard {
	u := &Guard{}
	for _, g := range guards {
		if g == nil || g.disk.FS == nil {
			continue
		}
		if u.disk.FS == nil {
			u.disk = g.disk
		}
		u.sets = append(u.sets, g.sets...)
		u.disk.shares = append(slices.Clip(u.disk.shares), g.disk.shares...)
	}
	return u
}

// Through is g that looks at the disk through another FS of the same machine,
// one that counts or remembers what it is asked. The roots stay as they are.
func (g *Guard) Through(fsys FS) *Guard {
	if g == nil || g.disk.FS == nil || fsys == nil {
		return g
	}
	through := &Guard{disk: NewDisk(fsys), sets: g.sets}
	through.disk.shares = g.disk.shares
	return through
}
