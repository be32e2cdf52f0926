package policy

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/rootsmgr/guard"
)

// This file is about rules whose directory was not there when they were read. It may be a link by now, and then what the link leads to is in
// the directory too. So each call has to know how the disk is. A look for each such rule would make a call cost their number: 9 us for each.
//
// A rule is settled if nothing can have changed about its directory: the deepest directory above it that is there has the stamp that it had
// when the next name on the way was missing, or no link. One look finds that out for all rules below one directory. A rule that is not
// settled is loose, and each call looks for its directory.

// lateRules are the rules of a set whose directory was not there.
type lateRules struct {
	rules []int
	byDir map[string][]int          // by their directories
	state atomic.Pointer[lateState] // nil: nothing is settled yet

	mu    sync.Mutex // guards what follows: held by the one who settles
	next  time.Time  // nothing is settled before that
	pause time.Duration
}

func (l *lateRules) add(rule int, dir string) {
	if l.byDir == nil {
		l.byDir = map[string][]int{}
	}
	l.rules, l.byDir[dir] = append(l.rules, rule), append(l.byDir[dir], rule)
}

// hasBackslash reports whether a path has a character that separates names as text, and not for the index.
func hasBackslash(r *guard.Readings) bool {
	return strings.IndexByte(r.Lexical, '\\') >= 0 || strings.IndexByte(r.Physical, '\\') >= 0 || strings.IndexByte(r.Cleaned, '\\') >= 0
}

// appendAbove adds the rules in whose directories a path lies as text: a backslash separates names then.
func (l *lateRules) appendAbove(list []int, r *guard.Readings) []int {
	for _, p := range []string{r.Lexical, r.Physical, r.Cleaned} {
		for i := range len(p) {
			if p[i] == '\\' {
				list = append(list, l.byDir[p[:i]]...)
			}
		}
	}
	return list
}

// lateState is what is known about the late rules. It is immutable.
type lateState struct {
	settled []settledRules
	loose   []int
}

// settledRules are rules that are settled as long as a directory has this stamp.
type settledRules struct {
	dir   string
	stamp guard.DirStamp
	rules []int
}

// Times between two attempts to settle what is loose. A directory that was changed a moment ago can be settled soon, what lies behind a link
// or on a network never.
const (
	firstPause = 200 * time.Millisecond
	mostPause  = time.Minute
)

// looseRules returns the rules whose directories have to be looked for, in order. It finds that out once for each call.
func (e *Evaluation) looseRules() []int {
	l := &e.Ruling.set.late
	if e.loose != nil || len(l.rules) == 0 {
		return e.loose
	}
	disk := e.Ruling.policy.m.FS
	stamps, ok := disk.(guard.Stamper)
	if !ok {
		e.loose = l.rules
		return e.loose
	}
	e.loose = l.state.Load().looseNow(l.rules, stamps)
	if len(e.loose) > 0 && e.MayWait() && l.settle(e.Ruling.set.rules, disk, stamps, len(e.loose)) {
		e.loose = l.state.Load().looseNow(l.rules, stamps)
	}
	return e.loose
}

func (e *Evaluation) isLoose(rule int) bool {
	_, ok := slices.BinarySearch(e.looseRules(), rule)
	return ok
}

// looseNow returns the loose ones of all late rules, and never nil.
func (late *lateState) looseNow(all []int, stamps guard.Stamper) []int {
	if late == nil {
		return all
	}
	list := append([]int{}, late.loose...)
	for i := range late.settled {
		g := &late.settled[i]
		if now, ok := stamps.Stamp(g.dir); !ok || now != g.stamp {
			list = append(list, g.rules...)
		}
	}
	slices.Sort(list)
	return list
}

// settle settles the rules that can be, and reports whether it has tried. It tries at once if more are loose than it has left so.
func (l *lateRules) settle(rules []*compiledRule, disk guard.FS, stamps guard.Stamper, loose int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if had := l.state.Load(); had != nil && loose <= len(had.loose) && now.Before(l.next) {
		return false
	}
	s := settler{disk: disk, stamps: stamps, stamped: map[string]*settledRules{}, checked: map[string]bool{}}
	out := &lateState{}
	for _, i := range l.rules {
		if to := s.settledBy(rules[i]); to != nil {
			to.rules = append(to.rules, i)
		} else {
			out.loose = append(out.loose, i)
		}
	}
	for _, g := range s.stamped {
		if g != nil && len(g.rules) > 0 {
			out.settled = append(out.settled, *g)
		}
	}
	l.pause = min(max(2*l.pause, firstPause), mostPause)
	if had := l.state.Load(); had == nil || len(out.loose) < len(had.loose) {
		l.pause = firstPause
	}
	l.next = now.Add(l.pause)
	l.state.Store(out)
	return true
}

// settler settles rules. It remembers what it has seen: a stamp is taken before any name in its directory is looked at.
type settler struct {
	disk    guard.FS
	stamps  guard.Stamper
	stamped map[string]*settledRules // by directory; nil: it has no stamp that is settled
	checked map[string]bool          // whether a name is missing, or the directory of a rule and no link
}

// settledBy returns what settles a rule; nil if it is loose.
func (s *settler) settledBy(r *compiledRule) *settledRules {
	dir := r.dir.Path
	if r.dir.Given != dir {
		return nil // a link leads to it, and may lead elsewhere by now
	}
	p := guard.PlatformOf(s.disk)
	name, above := dir, p.Parent(dir)
	for {
		if name == above {
			return nil
		}
		info, err := s.disk.Lstat(above)
		if err == nil && info.IsDir() {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		name, above = above, p.Parent(above)
	}
	g, known := s.stamped[above]
	if !known {
		if stamp, ok := s.stamps.Stamp(above); ok && s.stamps.Settled(above, stamp) {
			g = &settledRules{dir: above, stamp: stamp}
		}
		s.stamped[above] = g
	}
	if g == nil || !s.isSettledName(name, name == dir) {
		return nil
	}
	return g
}

// isSettledName reports whether a name is missing, or is the whole directory of a rule and no link.
func (s *settler) isSettledName(name string, whole bool) bool {
	if ok, known := s.checked[name]; known && !whole {
		return ok
	}
	info, err := s.disk.Lstat(name)
	missing := errors.Is(err, fs.ErrNotExist)
	s.checked[name] = missing
	return missing || whole && err == nil && info.Mode()&fs.ModeSymlink == 0
}
