package rootsmgr

import (
	"time"

	"mcphub/rootsmgr/guard"
)

// NewSnapshotUnder returns the canonical intersection by itself.
func NewSnapshotUnder(fsys guard.FS, top *Snapshot, entries ...RootEntry) *Snapshot {
	return blueprint{entries: entries, top: top}.snapshot(fsys, 1, OriginConfig)
}

// FallbackView returns the RootsView of a session that has nothing but a Fallback.
func (settings Settings) FallbackView(fsys guard.FS, f Fallback) RootsView {
	return (&terms{f, settings}).fallbackView(fsys, 1, CaseUnsupported, nil)
}

// FallbackView returns the RootsView if the client gives no roots, without a ceiling.
func FallbackView(fsys guard.FS, generation uint64, f Fallback, c Case, w NoRootsPolicy, err error) RootsView {
	return (&terms{f, Settings{When: w}}).fallbackView(fsys, generation, c, err)
}

// Asked is what a Manager knows of its questions.
type Asked struct {
	Supported, ListChanged bool
	Queries                uint64
	Failures               int
	KeptSince, RetryAt     time.Time
}

func (m *Manager) Asked() Asked {
	s := m.pub.Load()
	return Asked{s.greeting.supported, s.greeting.listChanged, s.queries, s.failures, s.keptSince, s.retryAt}
}

// GuessView returns the RootsView of a client that cannot give roots.
func GuessView(fsys guard.FS, s Settings, f Fallback, c Case) RootsView {
	return (&terms{f, s}).fallbackView(fsys, 1, c, nil)
}
