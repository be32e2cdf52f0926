package rootsmgr

import (
	"context"
	"errors"
	"slices"
	"time"

	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/pattern"
	"mcphub/rootsmgr/platform"
)

// This file is about roots that are created after their list was read. Nothing
// watches for them. Before a path is denied, the Manager looks whether the root
// that contains it exists by now.

// late holds the roots that did not exist when a Snapshot was made.
type late struct {
	missing *guard.Index // nil: nothing
	raw     []string     // how each missing root was spelled
	globs   []lateGlob
}

// lateGlob is a pattern. More directories may match it later.
type lateGlob struct {
	pattern.Pattern
	base        string // its directory, as it was given
	given, path string // of its directory, as far as they can be told
	skipped     int    // its number among those skipped, -1 if it has matched
}

// noteMissing remembers a root that does not exist: how it was spelled, and where it would be.
func (l *late) noteMissing(p platform.Platform, raw string, f guard.RootCandidate) {
	if len(l.raw) >= maxRoots {
		return
	}
	if l.missing == nil {
		l.missing = guard.NewIndex()
	}
	i := int32(len(l.raw))
	l.raw = append(l.raw, raw)
	for _, spelling := range []string{f.Given, f.Path} {
		if spelling != "" {
			l.missing.Add(p, spelling, i, true)
		}
	}
}

func (l *late) addPattern(raw string, g pattern.Pattern, base guard.RootCandidate, skipped int) {
	l.globs = append(l.globs, lateGlob{g, raw, base.Given, base.Path, skipped})
}

func (glob *lateGlob) patternAbove(p platform.Platform, path string) (string, bool) {
	if at, ok := glob.MatchPrefix(p, glob.given, path); ok {
		return at, true
	}
	return glob.MatchPrefix(p, glob.path, path)
}

// Appeared reports whether one of these absolute paths lies at or below a root
// that was missing when the Snapshot was made, or that a pattern would match, and
// that exists now. It looks at the disk for such roots only.
func (s *Snapshot) Appeared(paths ...string) bool {
	s = s.orNone()
	return slices.ContainsFunc(paths, s.hasAppeared) || slices.ContainsFunc(s.behind, func(b *Snapshot) bool { return b.Appeared(paths...) })
}

func (s *Snapshot) hasAppeared(path string) bool {
	e := s.Guard().Disk()
	if e.FS == nil {
		return false
	}
	p := e.Platform
	path = p.Clean(path)
	if x := s.late.missing; x != nil {
		if skippedPath, ok := x.Above(&e, path); ok {
			if _, err := e.Canonical(s.late.raw[skippedPath.Root]); !errors.Is(err, guard.ErrMissing) {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.late.globs, func(g lateGlob) bool {
		skippedPath, ok := g.patternAbove(p, path)
		if !ok {
			return false
		}
		if _, held := s.guard.Above(skippedPath, false); held {
			return false
		}
		if told, ok := s.skippedAt(skippedPath); ok && told == skippedPath {
			return false // it is there, and no root for another reason
		}
		if !e.MayLook(skippedPath) {
			return false
		}
		if mode, err := e.Mode(skippedPath); err != nil || mode.IsRegular() {
			return false
		}
		_, err := e.Canonical(g.base)
		return err == nil
	})
}

// SkippedAbove returns the entry without a root that names one of these absolute
// paths, or the nearest directory above one. It explains why a path is outside
// that someone meant to be inside.
func (s *Snapshot) SkippedAbove(paths ...string) (Skipped, bool) {
	s = s.orNone()
	for _, path := range paths {
		path = s.Guard().Disk().Platform.Clean(path)
		if at, ok := s.skippedAt(path); ok {
			return s.skipped[s.reasons[at]], true
		}
		for i := range s.late.globs {
			g := &s.late.globs[i]
			if _, ok := g.patternAbove(s.Guard().Disk().Platform, path); ok && g.skipped >= 0 {
				return s.skipped[g.skipped], true
			}
		}
	}
	for _, b := range s.behind {
		if sk, ok := b.SkippedAbove(paths...); ok {
			return sk, true
		}
	}
	return Skipped{}, false
}

// skippedAt returns the nearest path at or above this one that an entry
// without a root names.
func (s *Snapshot) skippedAt(path string) (string, bool) {
	p := s.Guard().Disk().Platform
	for len(s.reasons) > 0 {
		if _, ok := s.reasons[path]; ok {
			return path, true
		}
		up := p.Parent(path)
		if up == path || up == "" {
			break
		}
		path = up
	}
	return "", false
}

// relook asks Run to look again at the roots of a RootsView.
type relook struct {
	of   *Snapshot
	done chan struct{}
}

// LookAgain takes in roots that were created since the RootsView was made, if one of
// these absolute paths lies in one. It reports whether there is a new RootsView. It
// does nothing for paths that no missing root contains.
func (m *Manager) LookAgain(ctx context.Context, v RootsView, paths ...string) bool {
	if !v.Snapshot.Appeared(paths...) {
		return false
	}
	r := &relook{v.Snapshot, make(chan struct{})}
	for {
		s := m.pub.Load()
		if s.closed || !m.started.Load() {
			return false
		}
		select {
		case m.late <- r:
			<-r.done // Run always answers what it has taken
			return true
		case <-s.changed: // Run may have ended
		case <-ctx.Done():
			return false
		}
	}
}

// lookAgain looks at all roots again, because one may lie in another. If nothing
// has changed, it is not done again for a while.
func (l *loop) lookAgain(r *relook, now time.Time) {
	defer close(r.done)
	stands := l.m.calls.stands.Load()
	stoodInCall := stands != nil && (stands.undeclared.Snapshot == r.of || stands.waiting.Snapshot == r.of)
	if r.of != l.rootsView.Snapshot && !stoodInCall || now.Sub(l.inVain) < reconsiderGap {
		return // another RootsView is there already, or was looked for a moment ago
	}
	if stoodInCall {
		l.m.calls.stands.Store(nil)
	}
	before := l.rootsView.Snapshot
	if l.asked != nil {
		generation := l.m.generation.Add(1)
		l.askedUnder = l.terms.settings.ceilingSnapshot(l.m.fsys, generation)
		bp := l.asked.made
		bp.top, bp.places = l.askedUnder, l.terms.settings.writableDirs()
		l.asked = bp.snapshot(l.m.fsys, generation, l.asked.origin)
	}
	l.remakeView()
	if !stoodInCall && before.sameAs(l.rootsView.Snapshot) {
		l.inVain = now
	}
	l.publishState()
}
