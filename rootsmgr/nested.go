package rootsmgr

import (
	"fmt"
	"slices"
	"sync"

	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// This file is about links in directories that servers may write in. If one root
// lies in another, a server may replace it by a link. When the roots are looked up
// again, they would open whatever the link leads to. So a link counts only if its
// target lies in the same writable directory. Such directories are the roots
// themselves, the ceiling, Settings.WritableDirs, and folders that other users may
// write in.

// admissibleCandidates returns the candidates that may be roots, in their order, and skips the
// others. Each candidate counts as a writable directory here, whether it becomes a
// root or not. So adding an entry or a ceiling never makes a root of a candidate
// that would be none without it.
func (b *builder) admissibleCandidates() []candidate {
	grounds := sync.OnceValue(b.groundPlaces) // of all of them, before the first goes
	look, _ := b.disk.FS.(guard.Provenance)
	if slices.ContainsFunc(b.candidates, func(c candidate) bool { return len(c.Links) > 0 }) {
		grounds()
	}
	return slices.DeleteFunc(b.candidates, func(c candidate) bool {
		why := ""
		if len(c.Links) > 0 {
			why = b.leavesShared(&c.RootCandidate)
			if out := grounds().leftDirectory(&b.disk, &c.RootCandidate); why == "" && out != "" {
				why = fmt.Sprintf("it is a link inside %s, where servers may write, and leads out of that to %s", platform.Quote(out), platform.Quote(c.Path))
			}
		}
		if why == "" && look != nil {
			if why = look.WhyClosed(c.RootCandidate, b.isOperators(&c)); why != "" {
				b.late.noteMissing(b.disk.Platform, c.Given, c.RootCandidate) // it counts once a person has accepted it
			}
		}
		if why != "" {
			b.skipEntry(Skipped{Raw: c.entry.URI, Name: c.entry.Name, Reason: why, Path: c.Given})
		}
		return why != ""
	})
}

// isOperators reports whether hub.json has a candidate itself, and no pattern that it matches.
func (b *builder) isOperators(c *candidate) bool {
	return !c.matched && (b.origin == OriginConfig || b.origin == OriginCeiling || b.origin == OriginEntry)
}

// ground are directories that links are not followed out of.
type ground struct {
	index *guard.Index
	dirs  []string
}

// groundPlaces returns the places of this Snapshot.
func (b *builder) groundPlaces() *ground {
	g := &ground{index: guard.NewIndex()}
	for _, dir := range b.places {
		g.addDirectory(&b.disk, dir)
	}
	if b.top != nil {
		for i := range b.top.roots {
			if r := &b.top.roots[i]; !r.File {
				g.addDirectory(&b.disk, r.Path)
			}
		}
	}
	for i := range b.candidates {
		if c := &b.candidates[i]; !c.File {
			g.addDirectory(&b.disk, c.Path)
		}
	}
	return g
}

func (g *ground) addDirectory(e *guard.Disk, dir string) {
	g.index.Add(e.Platform, dir, int32(len(g.dirs)), true)
	g.dirs = append(g.dirs, dir)
}

// leftDirectory returns a directory that a link leads out of: the innermost one that has
// the link in it. "" is none. It is enough to look at the innermost, because what
// stays in it also stays in those around it.
func (g *ground) leftDirectory(e *guard.Disk, f *guard.RootCandidate) string {
	for _, link := range f.Links {
		at := e.Platform.Parent(link.At)
		in, ok := g.index.Find(e.Platform, at, true)
		if folded, foundFolded := g.index.FindFolded(e, at, true); foundFolded && (!ok || folded.End > in.End) {
			in, ok = folded, true
		}
		if ok && !e.Platform.Below(f.Path, g.dirs[in.Root]) {
			return g.dirs[in.Root]
		}
	}
	return ""
}

// sharer reports whether another user than ours and root may write in a
// directory, and whether the directory lets its users alter only what is
// their own (the sticky bit).
type sharer interface {
	Shared(dir string) (shared, sticky bool, err error)
}

// leavesShared returns why a link may not be followed out of a folder that
// another user may write in; "" if it may.
func (b *builder) leavesShared(f *guard.RootCandidate) string {
	look, ok := b.disk.FS.(sharer)
	if !ok {
		return ""
	}
	p := b.disk.Platform
	for _, link := range f.Links {
		dir := p.Parent(link.At)
		for folder := dir; ; folder = p.Parent(folder) {
			shared, sticky, err := look.Shared(folder)
			// In a sticky folder others cannot take away what is not theirs: the
			// folder below this one, which is ours as it was not shared.
			if err != nil || shared && (folder == dir || !sticky) {
				if p.Below(f.Path, folder) {
					break
				}
				return fmt.Sprintf("it is a link inside %s, where other users may write, and leads out of that to %s", platform.Quote(folder), platform.Quote(f.Path))
			}
			if len(folder) == p.RootLen(folder) {
				break
			}
		}
	}
	return ""
}
