package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A time is written to the microsecond and in UTC, whatever was written before it.
func TestTimesAreWritten(t *testing.T) {
	t.Parallel()
	var s stamp
	at := time.Date(2026, 11, 21, 23, 59, 59, 123_456_789, time.FixedZone("", 3600))
	for _, at := range []time.Time{time.Unix(0, 0), at, at.Add(876_543 * time.Microsecond), at.Add(100 * time.Millisecond), at.Add(-time.Hour)} {
		if got, want := string(s.formatTime(at)), at.UTC().Format(TimeFormat); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A file is rotated before a write that it has no room for, but for the first.
func TestAFileIsRotatedIfItIsFull(t *testing.T) {
	t.Parallel()
	const full = 1 << 20
	for _, tc := range []struct {
		grow   int
		writes []int
		files  int
	}{
		{0, []int{0, 2 * full}, 1},
		{0, []int{full}, 1},
		{0, []int{1, full - 1}, 1},
		{0, []int{1, full}, 2},
		{0, []int{full, 1, 1}, 2},
		{1, []int{full, full}, 1},
		{1, []int{full, full, 1}, 2},
	} {
		dir := t.TempDir()
		f := newLogFile(filepath.Join(dir, "log"), 1)
		f.growLimit(tc.grow)
		for _, n := range tc.writes {
			if wrote, err := f.Write(make([]byte, n)); err != nil || wrote != n {
				t.Fatalf("%d bytes of %d: %v", wrote, n, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != tc.files {
			t.Errorf("%v more MiB, %v: %d files, want %d: %v", tc.grow, tc.writes, len(files), tc.files, err)
		}
	}
}

// A write has failed for want of a rotation if the file has no room for it.
func TestWhatCannotRotate(t *testing.T) {
	t.Parallel()
	l := &Log{path: filepath.Join(t.TempDir(), "log"), o: Options{MaxSize: 1}}
	l.file = newLogFile(l.path, 1)
	const most = 1 << 20
	if l.cannotRotate(2 * most) {
		t.Error("there is no file")
	}
	if err := os.WriteFile(l.path, make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		more int
		want bool
	}{{most - 10, false}, {most - 9, true}, {most - 9, false}, {2*most - 9, true}} { // each time it may grow
		if got := l.cannotRotate(tc.more); got != tc.want {
			t.Errorf("%d more bytes: %t", tc.more, got)
		}
	}
}

// Lines and outcomes are taken as long as no more bytes wait than the bound.
func TestTheRoomIsBounded(t *testing.T) {
	t.Parallel()
	for waiting, want := range map[int]uint64{maxPending: 0, maxPending + 1: 1} {
		l := &Log{pending: make([]byte, waiting), news: make(chan struct{}, 1)}
		if l.Outcome(Outcome{}); l.dropped != want {
			t.Errorf("%d bytes wait: %d outcomes are dropped, want %d", waiting, l.dropped, want)
		}
		l.dropped = 0
		if err := l.makeRoom(); (err != nil) != (want > 0) || l.dropped != want {
			t.Errorf("%d bytes wait: %d lines are dropped, want %d: %v", waiting, l.dropped, want, err)
		}
	}
}

// Outcomes become a line when there are as many as a line has.
func TestOutcomesFillALine(t *testing.T) {
	t.Parallel()
	l := &Log{news: make(chan struct{}, 1)}
	for i := range maxOutcomes {
		if l.made.number != 0 {
			t.Fatalf("%d outcomes are a line", i)
		}
		l.Outcome(Outcome{})
	}
	if l.made.number != 1 {
		t.Errorf("%d outcomes are %d lines", maxOutcomes, l.made.number)
	}
}

// The one who comes while another one writes waits for it, but not if the log has ended.
func TestCommitWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct{ ended, want error }{{nil, context.Canceled}, {ErrClosed, ErrClosed}} {
		l := &Log{ended: tc.ended, made: link{number: 1}}
		l.writeMu.Lock()
		if err := l.Commit(ctx); !errors.Is(err, tc.want) {
			t.Errorf("ended: %v: %v, want %v", tc.ended, err, tc.want)
		}
		l.writeMu.Unlock()
	}
}
