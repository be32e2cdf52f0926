package audit_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// Neither a log that is written to nor one that was spoilt keeps the logs behind it from being closed.
func TestEveryLogOfTheDeadIsClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var logs []*audit.Log
	for range 3 {
		l, err := audit.Open(audit.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	slices.SortFunc(logs, func(a, b *audit.Log) int { return strings.Compare(a.ID(), b.ID()) })
	for _, l := range logs[1:] { // as if they were killed
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(logs[1].Path(), []byte("spoilt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stop := running(t, audit.Options{Dir: dir})
	stop()
	for i, held := range []bool{true, true, false} {
		if audit.HasLock(dir, logs[i].ID()) != held {
			t.Errorf("log %d: its lock is there: %t, want %t", i, !held, held)
		}
	}
	if err := logs[0].CloseNow(); err != nil {
		t.Error(err)
	}
}

// A process that was killed has left its log with this behind the file that was rotated out.
func TestALogEndsBehindARotation(t *testing.T) {
	t.Parallel()
	big := sample(1)
	big.Arguments = []byte(`"` + strings.Repeat("x", 60_000) + `"`)
	for name, tc := range map[string]struct {
		last   string // what the last file holds
		torn   int
		spoilt bool
	}{
		"an empty file":          {},
		"half a line":            {last: `{"v":1,"n":`, torn: 1},
		"a long half of a line":  {last: `{"v":1,"n":` + strings.Repeat("1", 300_000), torn: 1},
		"a line that is spoilt":  {last: "spoilt\n", spoilt: true},
		"a spoilt line and half": {last: "spoilt\n{", spoilt: true},
		"a line without a byte":  {last: "\n", spoilt: true},
	} {
		dir := t.TempDir()
		l, err := audit.Open(audit.Options{Dir: dir, MaxSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		for files := 0; files < 2; {
			if _, err := l.Append(context.Background(), big); err != nil {
				t.Fatal(err)
			}
			all, err := audit.LogFiles(dir)
			if err != nil {
				t.Fatal(err)
			}
			files = len(all[l.ID()])
		}
		if err := l.Release(); err != nil { // as if it were killed
			t.Fatal(err)
		}
		if err := os.WriteFile(l.Path(), []byte(tc.last), 0o600); err != nil {
			t.Fatal(err)
		}
		_, stop := running(t, audit.Options{Dir: dir})
		stop()
		if held := audit.HasLock(dir, l.ID()); held != tc.spoilt {
			t.Errorf("%s: its lock is there: %t", name, held)
		}
		r, err := trail.Verify(dir)
		if err != nil || r.IsWhole() == tc.spoilt || !tc.spoilt && (r.Torn != tc.torn || r.Open != 0) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// The end of a log is found where its last lines are longer than what is read at once.
func TestLongLinesAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, torn := range []int{0, 10_000, 64<<10 - 1, 300_000} {
		dir := t.TempDir()
		l, err := audit.Open(audit.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		big := sample(1)
		big.Arguments = []byte(`"` + strings.Repeat("x", 60_000) + `"`)
		for range 2 {
			if _, err := l.Append(context.Background(), big); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Release(); err != nil { // as if it were killed
			t.Fatal(err)
		}
		f, err := os.OpenFile(l.Path(), os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(strings.Repeat("x", torn))
		}
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		_, stop := running(t, audit.Options{Dir: dir})
		stop()
		if r := whole(t, dir); r.Torn != min(torn, 1) || r.Open != 0 || r.Logs != 2 {
			t.Errorf("%d bytes: %+v", torn, r)
		}
	}
}

// Who is told that nothing can be recorded is told once, and not of each decision.
func TestAFailureIsToldOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var states []audit.State
	r := audit.NewRecorder(audit.Options{Dir: filepath.Join(file, "audit")}, func(s audit.State) { states = append(states, s) })
	if r.Open() == nil || r.Ready(context.Background()) == nil {
		t.Error("it was made below a file")
	}
	since := r.State().Since
	for range 3 {
		if _, err := r.Append(context.Background(), sample(1)); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("the reason why no log is open is not told: %v", err)
		}
	}
	if len(states) != 1 || states[0].Error == "" || !r.State().Since.Equal(*since) {
		t.Errorf("%+v, since %v, before %v", states, r.State().Since, since)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := r.Open(); err != nil || r.Ready(context.Background()) != nil {
		t.Error(err)
	}
	if len(states) != 2 || states[1].Error != "" || states[1].Unrecorded != 3 {
		t.Errorf("%+v", states)
	}
	if err := r.Log().CloseNow(); err != nil {
		t.Error(err)
	}
	if _, err := r.Append(context.Background(), sample(1)); err == nil || len(states) != 3 || states[2].Error == "" {
		t.Errorf("the next failure: %v, %+v", err, states)
	}
}
