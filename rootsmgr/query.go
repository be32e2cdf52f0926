package rootsmgr

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcphub/rootsmgr/platform"
)

// maxPages bounds how far nextCursor is followed.
const maxPages = 10_000

// ErrNoAnswer is a question that the client did not answer in time.
var ErrNoAnswer = errors.New("the client did not answer in time")

// query is one question to the client, from its start to the end of its goroutine.
type query struct {
	generation uint64
	cancel     context.CancelFunc
	events     chan event // holds all that the goroutine will ever send
	sent       time.Time  // zero until the question could be sent
	asOf       uint64     // notifications that the answer takes account of
	late       bool       // given up on; what still comes is dropped
}

// event is what a query reports: once that it was sent, once that it ended.
type event struct {
	ended    bool
	at       time.Time
	asOf     uint64
	snapshot *Snapshot
	top      *Snapshot // the ceiling that it is under, nil for none
	err      error
}

// runQuery asks once, in a goroutine of its own. The answer is made canonical here
// too, so that a slow disk delays this answer and nothing else.
func (m *Manager) runQuery(ctx context.Context, f *query) {
	if r, ok := m.src.(readier); ok {
		if err := r.AwaitReady(ctx); err != nil {
			f.events <- event{ended: true, at: time.Now(), asOf: m.announced.Load(), err: err}
			return
		}
	}
	// Read before the question leaves: what is announced later may be missing
	// from the answer.
	asOf := m.announced.Load()
	f.events <- event{at: time.Now(), asOf: asOf}
	timeout := m.terms.Load().settings.Timeout
	limit := fmt.Errorf("%w (%v)", ErrNoAnswer, timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, limit)
	defer cancel()
	entries, skipped, err := listAll(ctx, m.src)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		f.events <- event{ended: true, at: time.Now(), asOf: asOf, err: err}
		return
	}
	settings := m.terms.Load().settings
	top := settings.ceilingSnapshot(m.fsys, f.generation)
	bp := blueprint{entries: entries, skipped: skipped, top: top, places: settings.settingPlaces(), mapping: settings.Mapping}
	f.events <- event{ended: true, at: time.Now(), asOf: asOf, snapshot: bp.snapshot(m.fsys, f.generation, OriginAsked), top: top}
}

// listAll follows the pages of one answer. A rejected cursor starts over once;
// a cursor that comes again ends it as malformed.
func listAll(ctx context.Context, src RootsSource) ([]RootEntry, []Skipped, error) {
	for attempt := 0; ; attempt++ {
		entries, skipped, cursor, err := listPages(ctx, src)
		// On the first page there was no cursor to reject.
		if err == nil || cursor == "" || attempt > 0 || !errors.Is(err, ErrBadCursor) {
			return entries, skipped, err
		}
	}
}

// listPages returns the cursor on which it failed, too.
func listPages(ctx context.Context, src RootsSource) (entries []RootEntry, skipped []Skipped, cursor string, err error) {
	seen := map[string]bool{}
	for page := 0; ; page++ {
		if page == maxPages {
			return nil, nil, cursor, fmt.Errorf("%w: it does not end after %d pages", ErrMalformed, maxPages)
		}
		p, err := src.ListRoots(ctx, cursor)
		if err != nil {
			return nil, nil, cursor, err
		}
		entries = append(entries, p.Entries...)
		skipped = append(skipped, p.Skipped...)
		if p.NextCursor == "" {
			return entries, skipped, "", Page{Entries: entries, Skipped: skipped}.Err()
		}
		if len(entries) > maxEntries || len(skipped) > maxEntries {
			// NewSnapshot looks at no more than it has now.
			skipped = append(skipped, Skipped{Reason: "further pages were not asked for"})
			return entries, skipped, "", nil
		}
		if seen[p.NextCursor] {
			return nil, nil, cursor, fmt.Errorf("%w: its cursor %s comes again", ErrMalformed, platform.Quote(p.NextCursor))
		}
		seen[p.NextCursor] = true
		cursor = p.NextCursor
	}
}
