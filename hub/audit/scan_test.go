package audit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// Scan hands out the decisions that Read does, of all files of all logs, and none that
// a damaged line holds.
func TestScanIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var half time.Time
	for part := range 3 {
		l, err := audit.Open(audit.Options{Dir: dir, MaxSize: 1, Program: "test"})
		if err != nil {
			t.Fatal(err)
		}
		form := audit.EncodeDecision(&audit.DecisionFields{Child: "files", Tool: "read_file", Decision: "allow", Rule: "no path"})
		for i := range 500 {
			if part == 1 && i == 250 {
				half = time.Now()
			}
			id := []byte(strconv.Itoa(i))
			if i%3 == 0 {
				_, err = l.PutCalls(slices.Repeat([]audit.CallRecord{{Session: "session", Request: id, Encoded: form}}, 4), time.Now())
			} else {
				_, err = l.Put(audit.KindDecision, &audit.Record{Session: "session", Request: id, DecisionFields: audit.DecisionFields{Child: "git", Tool: "log", Decision: "deny", Findings: []audit.Finding{{At: "/p", Role: "read", Path: "/x/" + strconv.Itoa(i)}}}}, nil, time.Now())
			}
			if err == nil {
				err = l.Commit(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			l.Outcome(audit.Outcome{DecisionLine: uint64(i + 1), Result: audit.ResultOK})
		}
		if err := l.CloseNow(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range files { // every seventh line is not as it was written
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(text, []byte("\n"))
		for k := range lines {
			if (k+i)%7 == 6 {
				lines[k] = bytes.Replace(lines[k], []byte(`"kind"`), []byte(`"king"`), 1)
				lines[k] = bytes.Replace(lines[k], []byte(`"read_file"`), []byte(`"read_filf"`), 1)
			}
		}
		if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, since := range []time.Time{{}, half, time.Now().Add(time.Hour)} {
		want := map[string]int{}
		all, err := trail.Decisions(dir, trail.Filter{Since: since})
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			want[shape(&all[i].Event)]++
		}
		got, n := map[string]int{}, 0
		var mu sync.Mutex
		if err := trail.Scan(dir, since, func() func(*trail.Event) {
			return func(e *trail.Event) {
				mu.Lock()
				defer mu.Unlock()
				got[shape(e)]++
				n++
			}
		}); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) || n != len(all) {
			t.Errorf("since %s: %d, want %d", since, n, len(all))
		}
		for k, c := range want {
			if got[k] != c {
				t.Errorf("%s: %d, want %d", k, got[k], c)
			}
		}
	}
}

// shape returns what Scan tells about an event.
func shape(e *trail.Event) string {
	text := e.LogID + " " + strconv.Itoa(int(e.Number)) + "/" + strconv.Itoa(e.Call) + " " + e.Time.String() + " " + e.Session + " " + e.Child + " " + e.Tool + " " + e.Decision + " " + e.Rule
	for _, f := range e.Findings {
		text += " " + f.Path
	}
	return text
}
