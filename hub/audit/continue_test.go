package audit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// shortRun returns a process that records so many decisions and ends.
func shortRun(t testing.TB, dir string, lines int) string {
	t.Helper()
	l, stop := running(t, audit.Options{Dir: dir, Continue: true})
	for i := range lines {
		if _, err := l.Append(context.Background(), sample(i)); err != nil {
			t.Error(err)
		}
	}
	stop()
	return l.ID()
}

func TestShortRunsGoOnWithOneLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 20 {
		shortRun(t, dir, 2)
	}
	if r := whole(t, dir); r.Logs != 1 || r.Lines != 80 || r.Open != 0 {
		t.Errorf("%+v", r)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { shortRun(t, dir, 2) })
	}
	wg.Wait()
	r := whole(t, dir)
	if r.Logs > 8 || r.Lines != 112 || r.Open != 0 {
		t.Errorf("%+v", r)
	}
	shortRun(t, dir, 1)
	if after := whole(t, dir); after.Logs != r.Logs {
		t.Errorf("%d logs, after one run more %d", r.Logs, after.Logs)
	}
	if locks, _ := filepath.Glob(filepath.Join(dir, "*-*"+audit.LockEnding)); len(locks) > 0 {
		t.Errorf("locks are left: %v", locks)
	}
	last := map[string]uint64{}
	err := trail.Read(dir, func(e trail.Event) bool {
		if e.Number != last[e.LogID]+1 {
			t.Errorf("%s: %d comes after %d", e.LogID, e.Number, last[e.LogID])
		}
		last[e.LogID] = e.Number
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trail.Decisions(dir, trail.Filter{}); err != nil {
		t.Error(err)
	}
}

// A short run passes over a log that another one has, to the same log as the run before it.
func TestShortRunBesideAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, _ := running(t, audit.Options{Dir: dir, Continue: true})
	if first, second := shortRun(t, dir, 1), shortRun(t, dir, 1); first == l.ID() || first != second {
		t.Errorf("beside %s one run has %s, and the next one %s", l.ID(), first, second)
	}
}

// The first line of a process that goes on with a log may be seen half written. If no
// process holds the log, something was put behind its end.
func TestFirstLineHalfWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := shortRun(t, dir, 1)
	name := filepath.Join(dir, id+".jsonl")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(text, `{"v":1,"n":5,"pre`...), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := trail.Verify(dir); err != nil || r.IsWhole() {
		t.Errorf("nobody holds it: %v, %+v", err, r)
	}
	if err := os.WriteFile(filepath.Join(dir, id+audit.LockEnding), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := trail.Verify(dir); err != nil || !r.IsWhole() || r.Open != 1 {
		t.Errorf("a process holds it: %v, %+v", err, r)
	}
}

// A short run that was killed is closed by the next, which goes on with its log.
func TestShortRunThatWasKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := shortRun(t, dir, 1)
	l, err := audit.Open(audit.Options{Dir: dir, Continue: true})
	if err != nil || l.ID() != id {
		t.Fatalf("%v, %v", l, err)
	}
	if err := l.Release(); err != nil { // as if it were killed
		t.Fatal(err)
	}
	if r := whole(t, dir); r.Open != 1 {
		t.Errorf("%+v", r)
	}
	if got := shortRun(t, dir, 1); got != id {
		t.Errorf("%s goes on with another log than %s", got, id)
	}
	if r := whole(t, dir); r.Open != 0 || r.Logs != 1 || r.Lines != 7 {
		t.Errorf("%+v", r)
	}
}

// A log that was tampered with, or taken away, is not gone on with: what comes
// later must not stand behind something that no one can prove.
func TestNobodyGoesOnWithASpoiltLog(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(path string) error{
		"changed": func(path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, bytes.Replace(b, []byte(`"deny"`), []byte(`"dent"`), 1), 0o600))
		},
		"shorter": func(path string) error {
			b, err := os.ReadFile(path)
			b = b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1]
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		},
		"half a line": func(path string) error {
			fi, err := os.Stat(path)
			return errors.Join(err, os.Truncate(path, fi.Size()-10))
		},
		"removed": os.Remove,
		"another with as many lines": func(path string) error {
			other := t.TempDir()
			b, err := os.ReadFile(filepath.Join(other, shortRun(t, other, 2)+audit.LogEnding))
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		},
		"unknown": func(path string) error {
			return os.Remove(filepath.Join(filepath.Dir(path), audit.ChainName))
		},
		"longer": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("x")
			}
			return errors.Join(err, f.Close())
		},
	} {
		dir := t.TempDir()
		id := shortRun(t, dir, 2)
		if err := spoil(filepath.Join(dir, id+audit.LogEnding)); err != nil {
			t.Fatal(err)
		}
		next := shortRun(t, dir, 2)
		if what == "changed" {
			if next != id {
				continue
			}
			// The change lies further up; it is found all the same.
		} else if next == id {
			t.Errorf("%s: it was gone on with", what)
		}
		r, err := trail.Verify(dir)
		if err != nil || r.IsWhole() {
			t.Errorf("%s: nobody noticed (%v)", what, err)
			continue
		}
		for _, p := range r.Problems {
			if filepath.Base(p.File) == next+audit.LogEnding && next != id {
				t.Errorf("%s: the log after it is not whole either: %s", what, p)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, id+audit.LockEnding)); err == nil {
			t.Errorf("%s: a lock is left", what)
		}
	}
}

// One log that cannot be closed, because it was spoilt, keeps no one from recording.
func TestASpoiltLogStopsNobody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := audit.Open(audit.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil { // as if it were killed
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Path(), []byte("spoilt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []audit.Options{{Dir: dir}, {Dir: dir, Continue: true}} {
		_, stop := running(t, o)
		stop()
	}
	r, err := trail.Verify(dir)
	if err != nil || len(r.Problems) != 1 || r.Problems[0].File != l.ID()+audit.LogEnding {
		t.Errorf("%+v, %v", r, err)
	}
}

// What could not be started leaves nothing behind, however often it is tried.
func TestALogThatCannotBeBegun(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 40} {
		dir := t.TempDir()
		for range 3 {
			_, err := audit.Open(audit.Options{Dir: dir, Write: func(f io.Writer, b []byte) (int, error) {
				n, _ := f.Write(b[:room])
				return n, syscall.ENOSPC
			}})
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "*-*"+audit.LogEnding)); len(files) > 1 {
				t.Errorf("room for %d bytes: %v", room, files)
			}
			whole(t, dir)
		}
		_, stop := running(t, audit.Options{Dir: dir})
		stop()
		if r := whole(t, dir); r.Logs != 1 || r.Lines != 2 || r.Torn != 0 {
			t.Errorf("room for %d bytes: %+v", room, r)
		}
	}
}

// The one who checks a folder while runs come and go finds nothing wrong in it.
func TestVerifyWhileShortRunsComeAndGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shortRun(t, dir, 1)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			for range 40 {
				shortRun(t, dir, 1)
			}
		})
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	for n := 0; ; n++ {
		whole(t, dir)
		select {
		case <-done:
			if n < 5 {
				t.Errorf("checked only %d times", n)
			}
			return
		default:
		}
	}
}
