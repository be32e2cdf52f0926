package delivery

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/e2e/bounds"
	"mcphub/e2e/recordtest"
	"mcphub/hub/audit"
)

// answering is a collector that confirms what it has, and the only Link to itself.
type answering struct {
	flush func(batch []uint64) (Receipt, error) // is given the numbers of the lines
	batch []uint64
	got   chan []uint64
}

func (a *answering) Name() string        { return "answering" }
func (a *answering) Destination() string { return "here" }

func (a *answering) Connect(context.Context) (Link, error) {
	a.batch = nil
	return a, nil
}

func (a *answering) Put(_ string, e *audit.Entry, _ []byte) error {
	a.batch = append(a.batch, e.Number)
	return nil
}

func (a *answering) Flush(context.Context) (Receipt, error) {
	batch := a.batch
	a.batch = nil
	r, err := a.flush(batch)
	if err == nil {
		a.got <- batch
	}
	return r, err
}

func (a *answering) Ended() <-chan error { return nil }
func (a *answering) Finish() bool        { return true }
func (a *answering) Close()              {}

// take runs a Sender until a line of a number is confirmed, and returns the numbers that were, and how many lines are lost.
func (a *answering) take(t *testing.T, dir string, until uint64) (numbers []uint64, lost uint64) {
	t.Helper()
	a.got = make(chan []uint64, 64)
	ctx, stop := context.WithTimeout(t.Context(), bounds.Patience)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&Sender{Dir: dir, To: a, Lost: func(lines uint64) { lost += lines }, Log: zerolog.Nop(), wait: time.Millisecond}).Run(ctx)
	}()
	for !slices.Contains(numbers, until) {
		select {
		case batch := <-a.got:
			numbers = append(numbers, batch...)
		case <-ctx.Done():
			t.Fatalf("%d lines were confirmed", len(numbers))
		}
	}
	stop()
	<-done
	return numbers, lost
}

// TestReceipts: what a collector has confirmed is not sent again, what it has not is, in batches that are bounded; and what it has refused, and what was removed before it was
// sent, is counted.
func TestReceipts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recordtest.Write(t, dir, recordtest.Shape{Lines: 2000, PerFile: 500, Began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Every: time.Second, Principals: 1, Sessions: 1})
	largest, flushes := 0, 0
	a := &answering{flush: func(batch []uint64) (Receipt, error) {
		largest = max(largest, len(batch))
		switch flushes++; flushes {
		case 2:
			return Receipt{}, errors.New("busy")
		case 3:
			return Receipt{Confirmed: true, Refused: 3, Why: "no room"}, nil
		}
		return Receipt{Confirmed: true}, nil
	}}
	numbers, lost := a.take(t, dir, 1024)
	begun := len(numbers)
	if want := uint64(begun); !slices.IsSorted(numbers) || numbers[0] != 1 || numbers[begun-1] != want || lost != 3 || largest > batchLines {
		t.Errorf("%d lines from %d to %d, %d lost, at most %d at a time", begun, numbers[0], numbers[begun-1], lost, largest)
	}

	files, err := audit.LogFiles(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, paths := range files {
		if err := os.WriteFile(dir+"/answering.json", []byte(`{"address":"here","logs":{"`+idOf(files)+`":100}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range paths[:2] { // lines 1 to 1000
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	numbers, lost = a.take(t, dir, 2000)
	if numbers[0] != 1001 || len(numbers) != 1000 || lost != 900 {
		t.Errorf("after lines were removed: %d lines from %d, %d lost", len(numbers), numbers[0], lost)
	}
	if err := os.Remove(dir + "/answering.json"); err != nil {
		t.Fatal(err)
	}
	if numbers, lost = a.take(t, dir, 2000); len(numbers) != 1000 || lost != 0 {
		t.Errorf("to a collector that is new: %d lines, %d lost", len(numbers), lost)
	}
}

func idOf(files map[string][]string) string {
	for id := range files {
		return id
	}
	return ""
}
