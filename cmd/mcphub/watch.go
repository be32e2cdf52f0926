package main

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

const (
	watchEvery   = 2 * time.Second        // status asks the hubs
	redrawEvery  = 200 * time.Millisecond // decisions are shown again, if there are others
	maxWatched   = 500                    // decisions that are kept for a screen
	watchedFirst = 100                    // of the ones that are there already
)

// watchPage shows a page, and again at each tick, until ctx ends.
func watchPage(ctx context.Context, s *layout.Screen, tick <-chan time.Time, page func(io.Writer)) error {
	defer s.Close() // no one to tell
	for {
		if err := s.Show(page); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

// watchedRows are the newest decisions as a screen shows them. The one who follows the
// record adds to them, and who draws the screen reads them.
type watchedRows struct {
	mu   sync.Mutex
	rows []watchedRow
}

type watchedRow struct {
	log   string
	place audit.CallPosition
	text  string
}

// addRow puts a decision at the end; one with its outcome takes the place of the one without.
func (l *watchedRows) addRow(d *trail.Decision, text string) {
	row := watchedRow{d.LogID, d.Position(), text}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.rows) - 1; i >= 0 && d.Outcome != nil; i-- {
		if l.rows[i].log == row.log && l.rows[i].place == row.place {
			l.rows[i] = row
			return
		}
	}
	l.rows = append(l.rows[max(0, len(l.rows)-maxWatched+1):], row)
}

func (l *watchedRows) writeRows(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.rows {
		layout.Printf(w, "%s\n", layout.Lines{Text: strings.TrimSuffix(l.rows[i].text, "\n")})
	}
}

// watchDecisions shows the newest decisions in place while they come, until ctx ends.
func (a *auditSource) watchDecisions(ctx context.Context, f *auditFilter, s *layout.Screen, last int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.Newest = true
	rows := &watchedRows{}
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	followed := make(chan error, 1)
	go func() {
		defer stop()
		followed <- a.tailDecisions(ctx, f, &auditPage{rows: rows}, last, true)
	}()
	err := watchPage(ctx, s, tick.C, rows.writeRows)
	stop()
	if failed := <-followed; failed != nil {
		return failed
	}
	return err
}
