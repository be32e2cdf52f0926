package rootsmgr

import (
	"cmp"
	"slices"
	"time"

	"mcphub/internal/worker"
	"mcphub/rootsmgr/guard"
)

// terms is what an operator says about roots. Immutable.
type terms struct {
	fallback Fallback
	settings Settings
}

func (t *terms) equalTo(o *terms) bool {
	a, b := t.settings, o.settings
	// Ceiling, WritableDirs and AtWorkDir are not compared: they stay the session's.
	return a.Timeout == b.Timeout && a.Debounce == b.Debounce && a.Stale == b.Stale && a.When == b.When && a.Mapping.equalTo(b.Mapping) && t.fallback.Origin == o.fallback.Origin && slices.Equal(t.fallback.Entries, o.fallback.Entries) && t.fallback.Guess == o.fallback.Guess
}

// Reconfigure replaces the operator's settings while the session lives. It
// returns at once, and calls that start afterwards are judged by the new ones. A
// fallback, a Mapping and roots.when take effect at once, timeouts with the next question and
// the next call. The client is not asked again. The ceiling, WritableDirs, AtWorkDir and the Guess that the
// session started with stay, whatever s says.
func (m *Manager) Reconfigure(fallback Fallback, s Settings) {
	next := m.amendedTerms(fallback, s)
	if m.terms.Load().equalTo(next) {
		return
	}
	m.terms.Store(next)
	worker.Signal(m.amended)
}

// amendedTerms returns new terms with what stays for the life of the session. A project that was guessed stays, because a server could take
// away what the project was known by.
func (m *Manager) amendedTerms(fallback Fallback, s Settings) *terms {
	own := m.terms.Load()
	s.Ceiling, s.WritableDirs, s.AtWorkDir = own.settings.Ceiling, own.settings.WritableDirs, own.settings.AtWorkDir
	fallback.Guess = cmp.Or(own.fallback.Guess, fallback.Guess)
	return &terms{fallback, s.withDefaults()}
}

// ViewUnder returns the view that there would be after Reconfigure with these. It
// changes nothing.
func (m *Manager) ViewUnder(fallback Fallback, s Settings) RootsView {
	t, now := m.amendedTerms(fallback, s), m.pub.Load()
	rootsView := now.viewAt(time.Now())
	if now.terms.equalTo(t) || !now.settled {
		return rootsView
	}
	generation := rootsView.Snapshot.Generation()
	switch {
	case now.greeting.withCall && now.asked == nil:
		return t.fallbackView(m.fsys, generation, CaseFailed, errWithCalls)
	case !now.greeting.withCall && !now.greeting.supported:
		return t.fallbackView(m.fsys, generation, CaseUnsupported, nil)
	case now.asked == nil:
		return t.fallbackView(m.fsys, generation, CaseFailed, rootsView.Err)
	}
	next, _ := t.reckonView(m.fsys, t.remapAnswer(m.fsys, now.asked, func() uint64 { return generation }), now.askedUnder, func() uint64 { return generation })
	if rootsView.Stale && !now.greeting.withCall {
		next.Stale, next.Err = true, rootsView.Err
	}
	return next
}

// remapAnswer returns an answer of the client as these terms map it.
func (t *terms) remapAnswer(fsys guard.FS, asked *Snapshot, next func() uint64) *Snapshot {
	if asked == nil || asked.made.mapping.equalTo(t.settings.Mapping) {
		return asked
	}
	bp := asked.made
	bp.mapping = t.settings.Mapping
	return bp.snapshot(fsys, next(), asked.origin)
}

// amendView makes the view again by the terms that hold now.
func (l *loop) amendView() {
	l.terms = l.m.terms.Load()
	fresh := newDebounce(l.terms.settings.Debounce)
	l.debounce.quiet, l.debounce.most = fresh.quiet, fresh.most
	l.asked = l.terms.remapAnswer(l.m.fsys, l.asked, func() uint64 { return l.m.generation.Add(1) })
	l.remakeView()
	l.publishState()
}

// remakeView makes the view again of what is known.
func (l *loop) remakeView() {
	old := l.rootsView
	switch {
	case !l.settled: // no one was judged yet
	case l.greeting.withCall && l.asked == nil:
		l.rootsView = l.m.standIn().waiting
	case l.greeting.withCall:
		l.reckonView()
	case !l.greeting.supported:
		l.publishUnsupported()
	case l.asked != nil:
		l.reckonView()
		if old.Stale {
			l.rootsView.Stale, l.rootsView.Err = true, old.Err
		}
	default:
		l.fallBack(old.Err)
	}
}
