package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// A page is shown at once and at each tick, below the one before it if there is no terminal, until it is interrupted.
func TestWatchAppends(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	tick := make(chan time.Time)
	shown := make(chan int)
	var out bytes.Buffer
	over := make(chan error, 1)
	n := 0
	go func() {
		over <- watchPage(ctx, layout.NewScreen(&out), tick, func(w io.Writer) {
			n++
			fmt.Fprintf(w, "page %d\n", n)
			shown <- n
		})
	}()
	for want := 1; want <= 3; want++ {
		if got := <-shown; got != want {
			t.Errorf("page %d, want %d", got, want)
		}
		if want < 3 {
			tick <- time.Now()
		}
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if got := out.String(); got != "page 1\npage 2\npage 3\n" {
		t.Errorf("shown %q", got)
	}
}

// The one who reads has gone: it ends.
func TestWatchEndsWithItsReader(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := watchPage(t.Context(), layout.NewScreen(w), nil, func(w io.Writer) { fmt.Fprintln(w, "page") }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}

// A decision and its outcome are one row, also where others have come between, and rows are bounded.
func TestWatchedRows(t *testing.T) {
	t.Parallel()
	var rows watchedRows
	decision := func(log string, number uint64) *trail.Decision {
		d := &trail.Decision{}
		d.LogID, d.Number = log, number
		return d
	}
	rows.addRow(decision("a", 1), "a1\n")
	rows.addRow(decision("b", 1), "b1\n")
	rows.addRow(decision("a", 2), "a2\n")
	done := decision("a", 1)
	done.Outcome = &audit.Outcome{}
	rows.addRow(done, "a1 ok\n")
	var out bytes.Buffer
	rows.writeRows(&out)
	if got := out.String(); got != "a1 ok\nb1\na2\n" {
		t.Errorf("shown %q", got)
	}
	for i := range uint64(2 * maxWatched) {
		rows.addRow(decision("c", i), "c\n")
	}
	if len(rows.rows) != maxWatched || rows.rows[maxWatched-1].place != decision("c", 2*maxWatched-1).Position() {
		t.Errorf("%d rows", len(rows.rows))
	}
}
