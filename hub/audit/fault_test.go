package audit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// TestEveryLineCounts changes, removes, swaps, doubles and inserts every line
// of every file of a folder, one at a time: all of it is found, and named.
func TestEveryLineCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		l, stop := running(t, audit.Options{Dir: dir})
		for i := range 4 {
			n, err := l.Append(context.Background(), sample(i))
			if err != nil {
				t.Fatal(err)
			}
			l.Outcome(audit.Outcome{DecisionLine: n, Result: audit.ResultOK})
		}
		stop()
	}
	whole(t, dir)
	elsewhere := t.TempDir()
	l, stop := running(t, audit.Options{Dir: elsewhere})
	stop()
	foreign, err := os.ReadFile(filepath.Join(elsewhere, l.ID()+audit.LogEnding))
	if err != nil {
		t.Fatal(err)
	}
	foreign = foreign[:bytes.IndexByte(foreign, '\n')+1]
	names, _ := filepath.Glob(filepath.Join(dir, "*"+audit.LogEnding))
	tries := 0
	for _, name := range names {
		before, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(bytes.TrimSuffix(before, []byte("\n")), []byte("\n"))
		lines[len(lines)-1] = append(slices.Clone(lines[len(lines)-1]), '\n')
		broken := func(what string, lines [][]byte) {
			t.Helper()
			tries++
			if err := os.WriteFile(name, bytes.Join(lines, nil), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := trail.Verify(dir)
			if err != nil {
				t.Fatal(err)
			}
			if r.IsWhole() || r.Problems[0].File == "" {
				t.Errorf("%s: %s: nobody noticed", filepath.Base(name), what)
			}
		}
		for i := range lines {
			for _, at := range []int{0, len(lines[i]) / 3, len(lines[i]) / 2, len(lines[i]) - 4} {
				other := slices.Clone(lines)
				other[i] = slices.Clone(lines[i])
				other[i][at] ^= 1
				broken("changed", other)
			}
			broken("cut off", lines[:i])
			broken("removed", slices.Delete(slices.Clone(lines), i, i+1))
			broken("inserted", slices.Insert(slices.Clone(lines), i, foreign))
			for j := range lines {
				broken("doubled", slices.Insert(slices.Clone(lines), j, lines[i]))
				if i < j {
					other := slices.Clone(lines)
					other[i], other[j] = other[j], other[i]
					broken("swapped", other)
				}
			}
		}
		if err := os.WriteFile(name, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole(t, dir)
	if tries < 200 {
		t.Errorf("%d tries are too few to mean anything", tries)
	}
}

// TestAProblemIsNamed: the file and the line of the first thing wrong.
func TestAProblemIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, stop := running(t, audit.Options{Dir: dir})
	for i := range 5 {
		if _, err := l.Append(context.Background(), sample(i)); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	name := l.ID() + audit.LogEnding
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte(`"request":2`), []byte(`"request":3`), 1)
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := trail.Verify(dir)
	if err != nil || r.IsWhole() || !strings.HasPrefix(r.Problems[0].String(), name+":4: ") {
		t.Errorf("%v, %v", r.Problems, err)
	}
}

// TestTheClockMayGoBack: the names of rotated files hold times, and do not tell
// their order.
func TestTheClockMayGoBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, stop := running(t, audit.Options{Dir: dir, MaxSize: 1})
	big := sample(1)
	big.Arguments = []byte(`"` + strings.Repeat("x", 60_000) + `"`)
	for range 60 {
		if _, err := l.Append(context.Background(), big); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	files, err := audit.LogFiles(dir)
	if err != nil || len(files[l.ID()]) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	rotated := files[l.ID()][:len(files[l.ID()])-1]
	for i, path := range rotated {
		later := l.ID() + "-2001-01-0" + string(rune('9'-i)) + "T00-00-00.000-size" + audit.LogEnding
		if err := os.Rename(path, filepath.Join(dir, later)); err != nil {
			t.Fatal(err)
		}
	}
	whole(t, dir)
	var last uint64
	if err := trail.Read(dir, func(e trail.Event) bool {
		if e.Number != last+1 {
			t.Fatalf("%d comes after %d", e.Number, last)
		}
		last = e.Number
		return true
	}); err != nil || last != 62 {
		t.Errorf("%d, %v", last, err)
	}
}

func TestTwoHubsInOneFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 2 {
		l, stop := running(t, audit.Options{Dir: dir, Checkpoint: time.Millisecond})
		wg.Go(func() {
			defer stop()
			for i := range 200 {
				if _, err := l.Append(context.Background(), sample(i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if r := whole(t, dir); r.Logs != 2 || r.Open != 0 || r.Lines != 404 {
		t.Errorf("%+v", r)
	}
}

// TestALineThatLacksItsEnd: cut off just before the line end by a full disk.
func TestALineThatLacksItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := false
	l, err := audit.Open(audit.Options{Dir: dir, Write: func(f io.Writer, b []byte) (int, error) {
		if full {
			n, _ := f.Write(b[:len(b)-1])
			return n, syscall.ENOSPC
		}
		return f.Write(b)
	}})
	if err != nil {
		t.Fatal(err)
	}
	full = true
	if _, err := l.Append(context.Background(), sample(1)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil { // as if it were killed
		t.Fatal(err)
	}
	whole(t, dir)
	_, stop := running(t, audit.Options{Dir: dir})
	stop()
	if r := whole(t, dir); r.Torn != 0 || r.Open != 0 || r.Lines != 4 {
		t.Errorf("%+v", r)
	}
}

func TestWhatThereIsNoRoomForIsCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := false
	l, stop := running(t, audit.RetryAtOnce(audit.Options{Dir: dir, Write: func(f io.Writer, b []byte) (int, error) {
		if full {
			return 0, syscall.ENOSPC
		}
		return f.Write(b)
	}}))
	full = true
	big := sample(1)
	big.Arguments = []byte(`"` + strings.Repeat("x", 60_000) + `"`)
	for {
		if _, err := l.Put(audit.KindDecision, big, nil, time.Now()); err != nil {
			break
		}
	}
	for range 3 {
		if _, err := l.Append(context.Background(), big); err == nil {
			t.Fatal("there was room")
		}
	}
	l.Outcome(audit.Outcome{DecisionLine: 2, Result: audit.ResultOK})
	full = false
	if _, err := l.Append(context.Background(), big); err == nil { // and what waits is written
		t.Fatal("there was room")
	}
	if _, err := l.Append(context.Background(), sample(2)); err != nil {
		t.Fatal(err)
	}
	stop()
	whole(t, dir)
	lost := uint64(0)
	_ = trail.Read(dir, func(e trail.Event) bool { lost += e.Lines; return true })
	if lost != 6 {
		t.Errorf("%d lines are said to be lost, want 6", lost)
	}
}

// The first line makes the file, however long after the start of Open it is written.
func TestASlowOpenMissesNoFile(t *testing.T) {
	t.Parallel()
	for _, more := range []bool{false, true} {
		l, stop := running(t, audit.LookAtOnce(audit.Options{Continue: more}))
		if _, err := l.Append(context.Background(), sample(1)); err != nil {
			t.Error(err)
		}
		stop()
	}
}

// A Recorder goes on with another log where the folder is taken away, and says so.
func TestTheFolderIsTakenAway(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "audit")
	states := make(chan audit.State, 100)
	r := audit.NewRecorder(audit.Options{Dir: dir}, func(s audit.State) { states <- s })
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	stop := runRecorder(t, r)
	append1 := func() error { _, err := r.Append(context.Background(), sample(1)); return err }
	if err := append1(); err != nil {
		t.Fatal(err)
	}
	first := r.State().Log
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for append1() == nil {
	}
	if s := <-states; s.Error == "" {
		t.Errorf("%+v", s)
	}
	for s := range states {
		if s.Error == "" && s.Log != first && s.Log != "" {
			break
		}
	}
	if err := append1(); err != nil {
		t.Fatal(err)
	}
	stop()
	if r := whole(t, dir); r.Logs != 1 || r.Open != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAFolderThatCannotBeMade(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	states := make(chan audit.State, 100)
	r := audit.NewRecorder(audit.Options{Dir: filepath.Join(file, "audit")}, func(s audit.State) { states <- s })
	if err := r.Open(); err == nil {
		t.Fatal("it was made below a file")
	}
	stop := runRecorder(t, r)
	if _, err := r.Append(context.Background(), sample(1)); err == nil {
		t.Error("recorded nowhere")
	}
	if s := r.State(); s.Error == "" || s.Unrecorded != 1 {
		t.Errorf("%+v", s)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for s := range states {
		if s.Error == "" {
			break
		}
	}
	if _, err := r.Append(context.Background(), sample(1)); err != nil {
		t.Error(err)
	}
	stop()
}

// Without a log nothing is recorded, and each decision and each note is counted. So it is if the log has ended. An outcome of nothing is none.
func TestWhatIsNotedNowhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := audit.NewRecorder(audit.Options{Dir: t.TempDir()}, nil)
	r.Flush(ctx)
	if err := r.Ready(ctx); err == nil || r.State().Unrecorded != 0 {
		t.Errorf("before it is open: %v, %+v", err, r.State())
	}
	r.Note(audit.KindQuestion, sample(1))
	audit.Ticket{}.RecordOutcome("answered")
	if s := r.State(); s.Unrecorded != 1 || s.Error == "" || s.Log != "" {
		t.Errorf("a note before it is open: %+v", s)
	}
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	r.Note(audit.KindQuestion, sample(1))
	r.Flush(ctx)
	if s := r.State(); s.Unrecorded != 1 || s.Error != "" || s.Log == "" || r.Ready(ctx) != nil {
		t.Errorf("a note: %+v", s)
	}
	if err := r.Log().CloseNow(); err != nil {
		t.Fatal(err)
	}
	r.Note(audit.KindQuestion, sample(1))
	if s := r.State(); s.Unrecorded != 2 || s.Error == "" {
		t.Errorf("a note to a log that has ended: %+v", s)
	}
	if got, want := (&audit.Outcome{Micros: 1500}).Duration(), 1500*time.Microsecond; got != want {
		t.Errorf("it took %s, want %s", got, want)
	}
}

// An outcome names the call that it is of, and not the call before.
func TestAnOutcomeNamesItsOwnCall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := audit.NewRecorder(audit.Options{Dir: dir}, nil)
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, tool := range []string{"a", "a", "b", "a"} {
		ticket, err := r.Append(context.Background(), &audit.Record{DecisionFields: audit.DecisionFields{Tool: tool}})
		if err != nil {
			t.Fatal(err)
		}
		ticket.RecordOutcome(audit.ResultOK)
		want += tool
	}
	if err := r.Log().CloseNow(); err != nil {
		t.Fatal(err)
	}
	got := ""
	if err := trail.Read(dir, func(e trail.Event) bool {
		for _, of := range regexp.MustCompile(`"tool":"(.)"`).FindAllSubmatch(e.Raw, -1) {
			if e.Kind == audit.KindOutcome {
				got += string(of[1])
			}
		}
		return true
	}); err != nil || got != want {
		t.Errorf("outcomes of %s, want %s: %v", got, want, err)
	}
}

func runRecorder(t *testing.T, r *audit.Recorder) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func TestAFollowerMissesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, stop := running(t, audit.Options{Dir: dir, MaxSize: 1})
	if _, err := l.Append(context.Background(), sample(0)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	events, started, done := make(chan trail.Event, 1000), make(chan struct{}), make(chan error, 1)
	paused := make(chan struct{})
	go func() {
		done <- trail.Follow(ctx, dir, func() { close(started) }, func(e trail.Event) {
			events <- e
			<-paused
		})
	}()
	<-started
	big := sample(1)
	big.Arguments = []byte(`"` + strings.Repeat("x", 60_000) + `"`)
	for range 100 { // it is rotated again and again while the one who follows is held up
		if _, err := l.Append(context.Background(), big); err != nil {
			t.Fatal(err)
		}
	}
	if files, _ := audit.LogFiles(dir); len(files[l.ID()]) < 5 {
		t.Fatalf("%v", files)
	}
	close(paused)
	for want := uint64(3); want < 103; want++ {
		if e := <-events; e.Number != want {
			t.Fatalf("%d, want %d", e.Number, want)
		}
	}
	other, stopOther := running(t, audit.Options{Dir: dir})
	if e := <-events; e.LogID != other.ID() || e.Kind != audit.KindOpen {
		t.Errorf("%+v", e)
	}
	stopOther()
	stop()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A file that could not be written is left alone for a while, and each caller learns why. The last line is tried all the same.
func TestAFileIsLeftAloneAfterAFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writes, full := 0, false
	l, err := audit.Open(audit.RetryNever(audit.Options{Dir: dir, Write: func(f io.Writer, b []byte) (int, error) {
		if writes++; full {
			return 0, syscall.ENOSPC
		}
		return f.Write(b)
	}}))
	if err != nil {
		t.Fatal(err)
	}
	if l.Sweep(); writes != 1 {
		t.Errorf("%d writes, and only the first line was there to be written", writes)
	}
	full = true
	for i := range 3 {
		if _, err := l.Append(context.Background(), sample(i)); !errors.Is(err, syscall.ENOSPC) || writes != 2 {
			t.Errorf("%v, %d writes", err, writes)
		}
	}
	full = false
	if err := l.CloseNow(); err != nil {
		t.Error(err)
	}
	if r := whole(t, dir); r.Lines != 5 {
		t.Errorf("%+v", r)
	}
}

// A log that has ended says so, also if its last line could not be written.
func TestALogEndsOnAFullDisk(t *testing.T) {
	t.Parallel()
	full := false
	l, err := audit.Open(audit.RetryNever(audit.Options{Dir: t.TempDir(), Write: func(f io.Writer, b []byte) (int, error) {
		if full {
			return 0, syscall.ENOSPC
		}
		return f.Write(b)
	}}))
	if err != nil {
		t.Fatal(err)
	}
	full = true
	if err := l.CloseNow(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	if err := l.Commit(context.Background()); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// A decision whose line could not be written is counted, and the State has the reason until one can be.
func TestAFailureIsInTheState(t *testing.T) {
	t.Parallel()
	full := false
	r := audit.NewRecorder(audit.RetryAtOnce(audit.Options{Dir: t.TempDir(), Write: func(f io.Writer, b []byte) (int, error) {
		if full {
			return 0, syscall.ENOSPC
		}
		return f.Write(b)
	}}), nil)
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	for i, now := range []bool{false, true, true, false} {
		full = now
		_, err := r.Append(context.Background(), sample(i))
		if s := r.State(); (err != nil) != full || (s.Error != "") != full || s.Unrecorded != uint64(min(i, 2)) {
			t.Errorf("full: %t: %v, %+v", full, err, s)
		}
	}
	if err := r.Log().CloseNow(); err != nil {
		t.Error(err)
	}
}

// An outcome has the time from the decision to the answer.
func TestAnOutcomeHasItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := audit.NewRecorder(audit.Options{Dir: dir}, nil)
		if err := r.Open(); err != nil {
			t.Fatal(err)
		}
		ticket, err := r.Append(context.Background(), &audit.Record{DecisionFields: audit.DecisionFields{Decision: "allow"}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Microsecond)
		ticket.RecordOutcome(audit.ResultOK)
		if err := r.Log().CloseNow(); err != nil {
			t.Fatal(err)
		}
		decided, err := trail.Decisions(dir, trail.Filter{})
		if err != nil || len(decided) != 1 || decided[0].Outcome == nil || decided[0].Outcome.Duration() != 1500*time.Microsecond {
			t.Errorf("%+v, %v", decided, err)
		}
	})
}

// A line of which half was written is not written again from its begin, however full the file is.
func TestHalfALineIsContinued(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	half := false
	l, stop := running(t, audit.RetryAtOnce(audit.Options{Dir: dir, MaxSize: 1, Write: func(f io.Writer, b []byte) (int, error) {
		if half = !half && len(b) > 50_000; half {
			n, _ := f.Write(b[:len(b)/2])
			return n, syscall.ENOSPC
		}
		return f.Write(b)
	}}))
	big := sample(1)
	big.Arguments = []byte(`"` + strings.Repeat("x", 60_000) + `"`)
	for range 18 { // more than one file takes
		if _, err := l.Append(context.Background(), big); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%v", err)
		}
		l.Sweep()
	}
	stop()
	if r := whole(t, dir); r.Lines != 20 || r.Torn != 0 {
		t.Errorf("%+v", r)
	}
}

// A checkpoint is made if there is news since the last one.
func TestACheckpointNeedsNews(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, stop := running(t, audit.Options{Dir: dir})
	for i, want := range []int{0, 1, 2} {
		if i > 0 {
			if _, err := l.Append(context.Background(), sample(i)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := l.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
		chain, err := os.ReadFile(filepath.Join(dir, audit.ChainName))
		if n := bytes.Count(chain, []byte(`"kind":"checkpoint"`)); err != nil || n != want {
			t.Errorf("%d checkpoints after %d lines, want %d: %v", n, i, want, err)
		}
	}
	stop()
	whole(t, dir)
}

// A log that cannot be opened is tried again, less and less often.
func TestALogIsOpenedAgainLaterAndLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		last := time.Now()
		var pauses []time.Duration
		r := audit.NewRecorder(audit.Options{Dir: t.TempDir(), Write: func(io.Writer, []byte) (int, error) {
			pauses, last = append(pauses, time.Since(last)), time.Now()
			if len(pauses) == 8 {
				cancel()
			}
			return 0, syscall.ENOSPC
		}}, nil)
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
		ms := time.Millisecond
		if want := []time.Duration{0, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 2000 * ms, 2000 * ms}; !slices.Equal(pauses, want) {
			t.Errorf("%v, want %v", pauses, want)
		}
	})
}

// An outcome waits for others, and no longer than it may.
func TestOutcomesWaitForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		l, stop := running(t, audit.Options{Dir: t.TempDir(), Write: func(f io.Writer, b []byte) (int, error) {
			writes++
			return f.Write(b)
		}})
		for i, pause := range []time.Duration{0, 199 * time.Millisecond, time.Millisecond} {
			time.Sleep(pause)
			synctest.Wait()
			if want := 1 + i/2; writes != want {
				t.Errorf("%d writes, want %d", writes, want)
			}
			l.Outcome(audit.Outcome{DecisionLine: 2, Result: audit.ResultOK})
			synctest.Wait()
		}
		stop()
	})
}

// A file that could not be written is tried again after a tenth of a second.
func TestAFailedWriteIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		l, err := audit.Open(audit.Options{Dir: t.TempDir(), Write: func(f io.Writer, b []byte) (int, error) {
			if writes++; writes == 2 {
				return 0, syscall.ENOSPC
			}
			return f.Write(b)
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i, pause := range []time.Duration{0, 99 * time.Millisecond, time.Millisecond} {
			time.Sleep(pause)
			if _, err := l.Append(context.Background(), sample(i)); (err == nil) != (i == 2) || writes != 2+i/2 {
				t.Errorf("after %s more: %d writes, %v", pause, writes, err)
			}
		}
		if err := l.CloseNow(); err != nil {
			t.Error(err)
		}
	})
}
