package audit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// The file that a log was written to last is removed only if the log has ended at the line that was read. What goes is stated first, and the
// rest is proved.
func TestTheLastFileIsRemovedOnceItsLogHasEnded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		killed bool // the process of the log is gone, and has not closed it
		next   bool // the next one has
		lock   bool // a process has the log
		empty  bool // it holds no decision
		missed uint64
		gone   bool
	}{
		"it was closed":           {gone: true},
		"the next one closed it":  {killed: true, next: true, gone: true},
		"a process has taken it":  {lock: true},
		"it is longer than read":  {missed: 1},
		"nobody has closed it":    {killed: true},
		"it was just begun":       {killed: true, empty: true},
		"nobody has closed it up": {killed: true, lock: true},
	} {
		dir := t.TempDir()
		l, err := audit.Open(audit.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if !tc.empty {
			if _, err := l.Append(context.Background(), sample(1)); err != nil {
				t.Fatal(err)
			}
		}
		end := l.CloseNow
		if tc.killed {
			end = l.Release
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		lock := filepath.Join(dir, l.ID()+audit.LockEnding)
		r := oldest(t, l)
		switch {
		case tc.next:
			_, stop := running(t, audit.Options{Dir: dir})
			stop()
		case tc.lock:
			err = os.WriteFile(lock, nil, 0o600)
		case tc.killed:
			err = os.Remove(lock)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.To -= tc.missed
		err = audit.RemoveFile(dir, r)
		if _, e := os.Lstat(l.Path()); os.IsNotExist(e) != tc.gone || (err == nil) != tc.gone {
			t.Errorf("%s: %v, %v", name, err, e)
		}
		if tc.gone {
			whole(t, dir)
			if err := audit.RemoveFile(dir, r); err != nil {
				t.Errorf("%s: what is removed already: %v", name, err)
			}
		}
	}
}

// oldest returns which lines the only file of a log holds.
func oldest(t *testing.T, l *audit.Log) *audit.Removal {
	t.Helper()
	r := &audit.Removal{Log: l.ID(), Path: l.Path()}
	err := trail.Read(filepath.Dir(l.Path()), func(e trail.Event) bool {
		if r.From == 0 {
			r.From, r.First = e.Number, e.Hash
		}
		r.To, r.Last = e.Number, e.Hash
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The files that a process writes to, or that the next short run goes on with, stay.
func TestHowManyFilesMayGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shared := shortRun(t, dir, 1)
	l, stop := running(t, audit.Options{Dir: dir})
	for files, want := range []int{0, 0, 0, 1, 2} {
		if got := audit.Removable(dir, l.ID(), files); got != want {
			t.Errorf("%d files of a process that runs: %d, want %d", files, got, want)
		}
	}
	stop()
	for id, want := range map[string]int{l.ID(): 3, shared: 2, "no id": 2} {
		if got := audit.Removable(dir, id, 3); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}

// A short run goes on with a log of which the oldest file was removed.
func TestALogGoesOnWithoutItsOldestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := shortRun(t, dir, 1)
	oldest := filepath.Join(dir, id+"-2026-01-01T00-00-00.000-size"+audit.LogEnding)
	if err := os.WriteFile(oldest, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := audit.RemoveFile(dir, &audit.Removal{Log: id, Path: oldest, From: 1, To: 1, First: audit.NoHash, Last: audit.NoHash}); err != nil {
		t.Fatal(err)
	}
	if next := shortRun(t, dir, 1); next != id {
		t.Errorf("%s goes on, want %s", next, id)
	}
}

// The files of a log are in the order of their lines, whatever their names are and however many other logs there are.
func TestTheOrderOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, text []byte) string {
		path := filepath.Join(dir, name+audit.LogEnding)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	id := "01234567-89ab-4cde-8f01-23456789abcd"
	line := func(n int) []byte {
		return append(hashed(fmt.Sprintf(`{"v":1,"n":%d,"prev":"%s","time":"2026-11-21T12:00:00.000000Z","kind":"open"`, n, audit.NoHash)), '\n')
	}
	want := []string{put(id+"-c", line(1)), put(id+"-b", line(7)), put(id+"-a", line(20)), put(id, nil)}
	for i := range 20 {
		put(fmt.Sprintf("%d%s", 10+i, id[2:]), nil)
	}
	files, err := audit.LogFiles(dir)
	if err != nil || len(files) != 21 || !slices.Equal(files[id], want) {
		t.Errorf("%d logs, %v: %v", len(files), files[id], err)
	}
}
