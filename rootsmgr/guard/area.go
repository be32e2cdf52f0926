package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcphub/rootsmgr/platform"
)

// Area is a directory that paths are compared with, and that opens nothing by
// itself. Unlike a root it need not be there.
type Area struct {
	Given  string // absolute, cleaned, before symlinks were resolved
	Path   string // its target; Given if that could not be looked up
	Exists bool
	Closed string // why it opens nothing: see Provenance; "" if it does
	Number int    // in the sets of Compare; the number of an earlier one for the same directory
}

// Areas are directories that paths are compared with as a [Guard] compares them
// with roots: by component, as text and through symlinks, asking the filesystem
// about case. The cost does not depend on their number. Immutable.
type Areas struct {
	disk  Disk
	index *Index
	count int
}

// NewAreas looks at directories as the filesystem is now. There is one Area and
// one error for each: an error says in plain words why it can be none, and an
// Area whose directory may not be looked at is compared as text alone.
func NewAreas(fsys FS, dirs []string) (*Areas, []Area, []error) {
	a := &Areas{disk: NewDisk(fsys), index: NewIndex()}
	list, errs := make([]Area, len(dirs)), make([]error, len(dirs))
	home := a.disk.HomeFolder()
	for i, dir := range dirs {
		if list[i], errs[i] = a.disk.areaOf(dir); errs[i] != nil {
			continue
		}
		area, p := &list[i], a.disk.Platform
		area.Number = a.index.FindExact(&a.disk, area.Path)
		if area.Number < 0 {
			area.Number = a.count
			a.count++
			a.index.Add(p, area.Path, int32(area.Number), true)
			for _, alias := range a.disk.Aliases(area.Path, home) {
				a.index.Add(p, alias, int32(area.Number), false)
			}
		}
		a.index.Add(p, area.Given, int32(area.Number), false)
	}
	return a, list, errs
}

// foreignArea returns the area of a directory on another machine, which is kept as text. It opens nothing.
func (d *Disk) foreignArea(raw string) (Area, error) {
	p := d.Platform
	clean := p.Clean(p.Plain(raw))
	n := p.RootLen(clean)
	if n == 0 || platform.IsDevice(clean) || platform.HasControl(clean) {
		return Area{}, errors.New("it names no share of another machine")
	}
	for name := range strings.SplitSeq(clean[n:], string(p.Sep())) {
		if name != "" && p.CheckName(name) != platform.CauseNone {
			return Area{}, fmt.Errorf("%s: %s", platform.Quote(name), p.CheckName(name))
		}
	}
	return Area{Given: clean, Path: clean, Closed: "it is on another machine: only a root opens a directory there"}, nil
}

// areaOf works like Canonical for a directory that need not exist or be readable.
func (d *Disk) areaOf(raw string) (Area, error) {
	p := d.Platform
	if slashed := p.FromSlash(raw); d.isForeign(slashed) {
		return d.foreignArea(slashed)
	}
	f, err := d.canonicalLocal(raw)
	closed := ""
	look, asks := d.FS.(Provenance)
	if asks && f.Path != "" {
		closed = look.WhyClosed(f, true)
	}
	switch {
	case err == nil && f.File:
		return Area{}, ErrNoDir
	case err == nil:
		return Area{Given: f.Given, Path: f.Path, Exists: true, Closed: closed}, nil
	}
	slashed := d.plainPath(p.FromMSYS(raw))
	place, why := d.resolvePath(slashed)
	var stuck *UnresolvableError
	switch {
	case errors.As(why, &stuck) && (stuck.Cause == platform.CausePermission || stuck.Cause == platform.CauseHost) && !platform.HasControl(slashed):
		clean := p.Clean(slashed)
		return Area{Given: clean, Path: clean}, nil
	case why != nil, platform.HasControl(slashed), platform.HasControl(place.Path), place.Readings.Cleaned != place.Readings.Physical:
		return Area{}, err
	case place.Exists && !place.Dir:
		return Area{}, ErrNoDir
	case asks && closed == "" && place.Path != f.Path:
		closed = "it changed while it was looked at"
	}
	return Area{Given: place.Readings.Lexical, Path: place.Path, Exists: place.Exists, Closed: closed}, nil
}

// An AreaSet is the numbers of some areas, each once. It is as long as there are areas at and above a path.
type AreaSet []int

// Has reports whether an area is in the set.
func (s AreaSet) Has(number int) bool { return slices.Contains(s, number) }

// AreaSets are the areas of three readings. Compare fills them.
type AreaSets struct {
	// For each reading: areas that it lies in by any spelling, and by any letter case
	// if the system ignores case. Use them for what must not be missed.
	Lexical, Physical, Cleaned AreaSet
	// Areas that all readings lie in, exactly as a Guard decides. Use it for what may
	// be opened.
	Every AreaSet
	exact AreaSet
}

// Compare reports in which areas the readings lie.
func (a *Areas) Compare(r *Readings, out *AreaSets) {
	out.Lexical = a.appendAreas(out.Lexical[:0], r.Lexical, false, true)
	if r.Physical == r.Lexical {
		out.Physical = append(out.Physical[:0], out.Lexical...)
	} else {
		out.Physical = a.appendAreas(out.Physical[:0], r.Physical, false, true)
	}
	if r.Cleaned == r.Physical {
		out.Cleaned = append(out.Cleaned[:0], out.Physical...)
	} else {
		out.Cleaned = a.appendAreas(out.Cleaned[:0], r.Cleaned, false, true)
	}
	out.Every = a.appendAreas(out.Every[:0], r.Physical, true, false)
	if len(out.Every) == 0 {
		return
	}
	out.keepEvery(a, r.Lexical, false)
	if r.Cleaned != r.Physical {
		out.keepEvery(a, r.Cleaned, true)
	}
}

// keepEvery leaves in Every the areas that a path lies in, too.
func (sets *AreaSets) keepEvery(a *Areas, path string, physical bool) {
	sets.exact = a.appendAreas(sets.exact[:0], path, physical, false)
	sets.Every = slices.DeleteFunc(sets.Every, func(number int) bool { return !sets.exact.Has(number) })
}

// appendAreas adds the areas at or above a clean path.
func (a *Areas) appendAreas(set AreaSet, path string, physical, generous bool) AreaSet {
	p := a.disk.Platform
	generous = generous && p != platform.Linux
	hit := func(i int32) {
		if i != noRoot && !set.Has(int(i)) {
			set = append(set, int(i))
		}
	}
	a.index.visitPrefixes(p, path, func(end int) {
		if at, ok := a.index.byText[path[:end]]; ok {
			hit(at.physical)
			if !physical {
				hit(at.text)
			}
		}
		if a.disk.same == nil && !generous {
			return
		}
		for _, f := range a.index.byFold[foldKey(path[:end])] {
			if f.spelling == path[:end] || physical && !f.physical {
				continue
			}
			if generous || a.disk.SameDir(path[:end], f.spelling) {
				hit(f.root)
			}
		}
	})
	return set
}

// Inside returns which of the readings lie inside a root. The zero and the
// nil Guard contain nothing.
func (g *Guard) Inside(r *Readings) (lexical, physical, cleaned bool) {
	if g.IsEmpty() {
		return false, false, false
	}
	_, _, lexical = g.findRoot(r.Lexical, false)
	_, _, physical = g.findRoot(r.Physical, true)
	cleaned = physical
	if r.Cleaned != r.Physical {
		_, _, cleaned = g.findRoot(r.Cleaned, true)
	}
	return lexical, physical, cleaned
}
