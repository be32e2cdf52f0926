package consent

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func open(t *testing.T) *Store {
	t.Helper()
	return New(t.TempDir())
}

func do(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnAnswerIsBoundToWhatWasShown: what changed meanwhile is another question.
func TestAnAnswerIsBoundToWhatWasShown(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := Item{ID: "file:/x", Title: "x", Lines: []string{"one"}, Value: []byte("1")}
	second := first
	second.Value = []byte("2")
	for _, i := range []Item{first, second} {
		if err := s.Ask(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Accept(first.ID, first.Digest()); !errors.Is(err, ErrChanged) {
		t.Fatalf("an answer to what was shown before: %v", err)
	}
	if _, known, _ := s.Accepted(first.ID); known {
		t.Fatal("it was accepted all the same")
	}
	if err := s.Accept(second.ID, second.Digest()); err != nil {
		t.Fatal(err)
	}
	value, known, err := s.Accepted(first.ID)
	if string(value) != "2" || !known || err != nil {
		t.Fatalf("%q %t %v", value, known, err)
	}
	if q, err := s.Questions(); len(q) != 0 || err != nil {
		t.Fatalf("still waits: %v %v", q, err)
	}
	if fi, err := os.Stat(filepath.Join(s.place().dir, file(accepted, first.ID))); err != nil || fi.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Fatalf("%v %v", fi, err)
	}
}

// TestWriter: what a hub's servers may write counts while it runs, after it has ended,
// until the Item is accepted, and beyond that while it runs.
func TestWriter(t *testing.T) {
	t.Parallel()
	s := open(t)
	home := t.TempDir()
	i := Item{ID: "file", Value: []byte("1"), Paths: []string{filepath.Join(home, ".config", "hub.json")}}
	other := Item{ID: "other", Value: []byte("1"), Paths: []string{filepath.Join(t.TempDir(), "hub.json")}}
	could := func(what string, i Item, want bool) {
		t.Helper()
		if dir, got := s.CouldBeWritten(i); got != want {
			t.Errorf("%s: %t by %q", what, got, dir)
		}
	}
	could("no hub has run", i, false)
	r := s.Reach()
	if err := r.Serves(ClientProcess{PID: 42, Start: 7}); err != nil {
		t.Fatal(err)
	}
	could("a hub without roots", i, false)
	if err := r.Add(home); err != nil {
		t.Fatal(err)
	}
	could("a hub with that root", i, true)
	could("a file elsewhere", other, false)
	if err := s.Take(i); err != nil {
		t.Fatal(err)
	}
	could("accepted while it runs", i, true)
	if c, err := s.Clients(); len(c) != 1 || c[0].PID != 42 || c[0].Start != 7 || err != nil {
		t.Errorf("clients: %v %v", c, err)
	}
	r.Close()
	could("it has ended", i, true)
	if err := s.Take(other); err != nil {
		t.Fatal(err)
	}
	could("another file was accepted", i, true)
	if err := s.Take(i); err != nil {
		t.Fatal(err)
	}
	could("accepted after it has ended", i, false)
	could("what was never accepted", Item{ID: "third", Paths: i.Paths}, true)
}

// TestWhatCannotBeReadCounts as everything, and as nothing accepted.
func TestWhatCannotBeReadCounts(t *testing.T) {
	t.Parallel()
	s := open(t)
	i := Item{ID: "file", Value: []byte("1"), Paths: []string{filepath.Join(t.TempDir(), "hub.json")}}
	if err := s.Take(i); err != nil {
		t.Fatal(err)
	}
	if _, could := s.CouldBeWritten(i); could {
		t.Fatal("without any record")
	}
	r := s.Reach()
	defer r.Close()
	if err := r.Add("/elsewhere"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.file.Name(), []byte(`{"dir":"/els`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, could := s.CouldBeWritten(i); !could {
		t.Error("a damaged record counts as nothing")
	}
	if err := os.WriteFile(filepath.Join(s.place().dir, file(accepted, i.ID)), []byte(`{`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, known, err := s.Accepted(i.ID); known || err == nil {
		t.Error("what was accepted is damaged, and is told")
	}
}

// TestManyRecordsBecomeOne: hubs that end do not leave ever more.
func TestManyRecordsBecomeOne(t *testing.T) {
	t.Parallel()
	s := open(t)
	home := t.TempDir()
	i := Item{ID: "file", Value: []byte("1"), Paths: []string{filepath.Join(home, "hub.json")}}
	for range 3 * maxLeft {
		r := s.Reach()
		if err := r.Add(home, "/elsewhere"); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	if all, err := s.reachRecords(); len(all) > maxLeft+1 || err != nil {
		t.Errorf("%d records, %v", len(all), err)
	}
	if _, could := s.CouldBeWritten(i); !could {
		t.Error("what they left is forgotten")
	}
	if err := s.Take(i); err != nil {
		t.Fatal(err)
	}
	could := func(what string, i Item, want bool) {
		t.Helper()
		if _, got := s.CouldBeWritten(i); got != want {
			t.Errorf("%s: %t", what, got)
		}
	}
	other := Item{ID: "other", Value: []byte("1"), Paths: i.Paths}
	could("accepted", i, false)
	could("another one", other, true)
	for range 3 * maxLeft { // what was settled before and what was not become one each
		r := s.Reach()
		if err := r.Add(filepath.Join(home, "later")); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	if all, err := s.reachRecords(); len(all) > maxLeft+2 || err != nil {
		t.Errorf("%d records, %v", len(all), err)
	}
	could("accepted before others that did not reach it", i, false)
	could("another one, still", other, true)
	could("in what they reached", Item{ID: "file", Paths: []string{filepath.Join(home, "later", "x")}}, true)
}
