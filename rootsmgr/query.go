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
	page, err := listAll(ctx, m.src)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		f.events <- event{ended: true, at: time.Now(), asOf: asOf, err: err}
		return
	}
	answer := m.readPage(m.terms.Load(), page, f.generation, OriginAsked)
	f.events <- event{ended: true, at: time.Now(), asOf: asOf, snapshot: answer.snapshot, top: answer.top}
}

// listAll follows the pages of one answer. A rejected cursor starts over once;
// a cursor that comes again ends it as malformed.
func listAll(ctx context.Context, src RootsSource) (Page, error) {
	for attempt := 0; ; attempt++ {
		all, cursor, err := listPages(ctx, src)
		// On the first page there was no cursor to reject.
		if err == nil || cursor == "" || attempt > 0 || !errors.Is(err, ErrBadCursor) {
			return all, err
		}
	}
}

// listPages returns all pages as one, and the cursor on which it failed.
func listPages(ctx context.Context, src RootsSource) (all Page, cursor string, err error) {
	seen := map[string]bool{}
	for page := 0; ; page++ {
		if page == maxPages {
			return Page{}, cursor, fmt.Errorf("%w: it does not end after %d pages", ErrMalformed, maxPages)
		}
		p, err := src.ListRoots(ctx, cursor)
		if err != nil {
			return Page{}, cursor, err
		}
		all.Entries = append(all.Entries, p.Entries...)
		all.Skipped = append(all.Skipped, p.Skipped...)
		if p.NextCursor == "" {
			return all, "", all.Err()
		}
		if len(all.Entries) > maxEntries || len(all.Skipped) > maxEntries {
			// NewSnapshot looks at no more than it has now.
			all.Skipped = append(all.Skipped, Skipped{Reason: "further pages were not asked for"})
			return all, "", nil
		}
		if seen[p.NextCursor] {
			return Page{}, cursor, fmt.Errorf("%w: its cursor %s comes again", ErrMalformed, platform.Quote(p.NextCursor))
		}
		seen[p.NextCursor] = true
		cursor = p.NextCursor
	}
}
