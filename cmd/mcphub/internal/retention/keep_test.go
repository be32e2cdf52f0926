package retention

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/recordtest"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// record writes a record of 8 files with 250 lines each, a line a minute.
func record(t *testing.T) (dir string, files []string) {
	t.Helper()
	dir = t.TempDir()
	return dir, recordtest.Write(t, dir, recordtest.Shape{Lines: 2000, PerFile: 250, Began: began, Every: time.Minute, Principals: 2, Sessions: 2})
}

func verify(t *testing.T, dir string) *trail.Report {
	t.Helper()
	r, err := trail.Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func left(files []string) (n int) {
	for _, path := range files {
		if _, err := os.Stat(path); err == nil {
			n++
		}
	}
	return n
}

// TestSweep: what is too old or too much goes, the oldest first, and the rest is proved.
func TestSweep(t *testing.T) {
	t.Parallel()
	end := began.Add(2000 * time.Minute)
	for name, c := range map[string]struct {
		bounds Bounds
		now    time.Time
		left   int
	}{
		"all is kept":             {Bounds{}, end, 8},
		"none is too old":         {Bounds{Age: 2000 * time.Minute}, end, 8},
		"three are too old":       {Bounds{Age: 1249 * time.Minute}, end, 5},
		"all are too old":         {Bounds{Age: time.Hour}, end.AddDate(1, 0, 0), 0},
		"too much":                {Bounds{Size: 250_000}, end, -1},
		"too old, and too much":   {Bounds{Age: 1249 * time.Minute, Size: 1}, end, 0},
		"the clock was set back":  {Bounds{Age: time.Hour}, began.AddDate(-1, 0, 0), 8},
		"less than all of it was": {Bounds{Size: 1 << 40}, end, 8},
	} {
		dir, files := record(t)
		had, err := trail.Decisions(dir, trail.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second finds nothing to do
			if _, err := Sweep(t.Context(), dir, c.bounds, c.now); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		n := left(files)
		if c.left < 0 {
			size := int64(0)
			for _, path := range files[8-n:] {
				fi, err := os.Stat(path)
				if err != nil {
					t.Fatal(name, err) // others went than the oldest
				}
				size += fi.Size()
			}
			if size > c.bounds.Size || n == 0 {
				t.Errorf("%s: %d files with %d bytes are left", name, n, size)
			}
		} else if n != c.left {
			t.Errorf("%s: %d files are left, want %d", name, n, c.left)
		}
		r := verify(t, dir)
		if !r.IsWhole() || r.Removed != uint64(8-n)*250 || r.Lines != n*250 {
			t.Errorf("%s: %+v", name, r)
		}
		got, err := trail.Decisions(dir, trail.Filter{})
		if err != nil || len(got) > len(had) || n > 0 && got[len(got)-1].Number != had[len(had)-1].Number || n == 0 && len(got) > 0 {
			t.Errorf("%s: %d decisions of %d: %v", name, len(got), len(had), err)
		}
	}
}

// TestSweepKeepsWhatWasChanged: a file that was changed stays, and so do those behind it, for a person to look at; without
// chain.jsonl nothing goes.
func TestSweepKeepsWhatWasChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(dir string, files []string) error
		left   int
	}{
		"a line of the third file": {func(_ string, files []string) error { return change(files[2], "read_text_file", "read_text_fili") }, 6},
		"a line of the first":      {func(_ string, files []string) error { return change(files[0], "read_text_file", "read_text_fili") }, 8},
		"the second is gone":       {func(_ string, files []string) error { return os.Remove(files[1]) }, 6},
		"the chain": {func(dir string, _ []string) error {
			return change(filepath.Join(dir, audit.ChainName), "close", "clos3")
		}, 8},
		"no chain": {func(dir string, _ []string) error { return os.Remove(filepath.Join(dir, audit.ChainName)) }, 8},
	} {
		dir, files := record(t)
		if err := c.change(dir, files); err != nil {
			t.Fatal(err)
		}
		if verify(t, dir).IsWhole() {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := Sweep(t.Context(), dir, Bounds{Age: time.Hour}, began.AddDate(1, 0, 0)); err == nil {
			t.Errorf("%s: no one is told", name)
		}
		if n := left(files); n != c.left {
			t.Errorf("%s: %d files are left, want %d", name, n, c.left)
		}
		if verify(t, dir).IsWhole() {
			t.Errorf("%s: it is not found any more", name)
		}
	}
}

func change(path, from, to string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes.Replace(b, []byte(from), []byte(to), 1), 0o600)
}

// TestSweepBesideAHub: a hub that writes goes on, and its last two files stay.
func TestSweepBesideAHub(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := audit.Open(audit.Options{Dir: dir, MaxSize: 1, Checkpoint: time.Millisecond, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	put := func(lines int) {
		t.Helper()
		for range lines {
			rec := audit.Record{Session: "s", DecisionFields: audit.DecisionFields{Child: "git", Tool: strings.Repeat("x", 4000), Decision: "deny"}}
			if _, err := l.Put(audit.KindDecision, &rec, nil, time.Now()); err != nil {
				t.Fatal(err)
			}
			if err := l.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(1200)
	files := func() int {
		all, err := audit.LogFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(all[l.ID()])
	}
	if files() < 4 {
		t.Fatalf("%d files", files())
	}
	if !bounds.Within(bounds.Patience, func() bool {
		_, err := Sweep(t.Context(), dir, Bounds{Size: 1}, time.Now())
		return err == nil && files() == 2
	}) {
		t.Fatalf("%d files are left", files())
	}
	if r := verify(t, dir); !r.IsWhole() || r.Removed == 0 {
		t.Errorf("%+v", r)
	}
	put(600)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if _, err := Sweep(t.Context(), dir, Bounds{Size: 1}, time.Now()); err != nil || files() != 0 {
		t.Errorf("%d files are left of a log that has ended: %v", files(), err)
	}
	if r := verify(t, dir); !r.IsWhole() || r.Lines != 0 {
		t.Errorf("%+v", r)
	}
	// The next hub begins as ever.
	next, err := audit.Open(audit.Options{Dir: dir, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir); !r.IsWhole() || r.Logs != 1 {
		t.Errorf("%+v", r)
	}
}
