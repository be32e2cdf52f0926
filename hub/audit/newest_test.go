package audit_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// fill writes logs of several files each: decisions of one call and of four, with their outcomes.
func fill(t testing.TB, dir string, logs, decisions, size int) {
	t.Helper()
	for range logs {
		l, err := audit.Open(audit.Options{Dir: dir, MaxSize: size, Program: "test"})
		if err != nil {
			t.Fatal(err)
		}
		form := audit.EncodeDecision(&audit.DecisionFields{Child: "files", Tool: "read_file", Decision: "allow", Rule: "no path"})
		for i := range decisions {
			id := []byte(strconv.Itoa(i))
			var at uint64
			if i%3 == 0 {
				at, err = l.PutCalls(slices.Repeat([]audit.CallRecord{{Session: "session", Request: id, Encoded: form}}, 4), time.Now())
			} else {
				at, err = l.Put(audit.KindDecision, &audit.Record{Session: "session", Request: id, DecisionFields: audit.DecisionFields{Child: "git", Tool: "log", Decision: "deny", Findings: []audit.Finding{{At: "/p", Role: "read", Path: "/x/" + string(id)}}}}, nil, time.Now())
			}
			if err == nil {
				err = l.Commit(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			if i%3 == 0 {
				for call := range 4 {
					l.Outcome(audit.Outcome{DecisionLine: at, Call: call + 1, Result: audit.ResultOK, Micros: int64(i)})
				}
			}
		}
		if err := l.CloseNow(); err != nil {
			t.Fatal(err)
		}
	}
}

func newest(t *testing.T, ctx context.Context, dir string, f trail.Filter, most int) (all []trail.Decision, reached time.Time) {
	t.Helper()
	reached, err := trail.Newest(ctx, dir, f, func(d trail.Decision) bool {
		all = append(all, d)
		return len(all) < most
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, reached
}

// Newest hands out what Decisions does, in the other order, from any moment on, across files and
// past lines that are damaged or cut off.
func TestNewestIsDecisionsBackwards(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, dir, 3, 3000, 1)
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	files = slices.DeleteFunc(files, func(path string) bool { return filepath.Base(path) == "chain.jsonl" })
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	damage := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(files[3])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	damage(files[3], text)
	text, err = os.ReadFile(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	damage(files[len(files)-1], append(text, `{"v":1,"n":`...))

	want, err := trail.Decisions(dir, trail.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	key := func(d trail.Decision) []any {
		return []any{d.LogID, d.Number, d.Event.Call, d.Kind, d.Tool, d.Outcome}
	}
	order := func(a, b trail.Decision) int { // of the same moment there is none
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.LogID, b.LogID), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Event.Call, b.Event.Call))
	}
	same := func(name string, got, want []trail.Decision) {
		t.Helper()
		slices.SortStableFunc(got, order)
		slices.SortStableFunc(want, order)
		if len(got) != len(want) {
			t.Fatalf("%s: %d decisions, want %d", name, len(got), len(want))
		}
		for i := range got {
			if !reflect.DeepEqual(key(got[i]), key(want[i])) {
				t.Fatalf("%s, %d: %v, want %v", name, i, key(got[i]), key(want[i]))
			}
		}
	}
	if len(want) < 1000 {
		t.Fatalf("%d decisions", len(want))
	}
	got, reached := newest(t, t.Context(), dir, trail.Filter{}, 1<<30)
	if !slices.IsSortedFunc(got, func(a, b trail.Decision) int { return b.Time.Compare(a.Time) }) {
		t.Error("they are not in order")
	}
	if !reached.IsZero() {
		t.Errorf("all was read, and it says that it got to %v", reached)
	}
	same("all", got, slices.Clone(want))
	for _, i := range []int{0, 1, len(want) / 3, len(want) / 2, len(want) - 1} {
		until := want[i].Time
		got, _ := newest(t, t.Context(), dir, trail.Filter{Until: until}, 1<<30)
		same("until "+until.String(), got, slices.DeleteFunc(slices.Clone(want), func(d trail.Decision) bool { return !d.Time.Before(until) }))
	}
	got, _ = newest(t, t.Context(), dir, trail.Filter{Child: "git", Denied: true}, 1<<30)
	same("filtered", got, slices.DeleteFunc(slices.Clone(want), func(d trail.Decision) bool { return d.Child != "git" }))

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got, _ := newest(t, gone, dir, trail.Filter{}, 1<<30); len(got) == len(want) {
		t.Error("it reads on after its context has ended")
	}
}

// A moment deep in the record is found without reading what is newer.
func TestNewestSeeks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Lines an hour apart, so that outcomes of ten minutes do not count.
	l, err := audit.Open(audit.Options{Dir: dir, MaxSize: 1, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	first := time.Now().UTC().Truncate(time.Hour).Add(time.Hour) // after the line that opens the log
	for i := range 5000 {
		if _, err = l.Put(audit.KindDecision, &audit.Record{Session: "s", Request: []byte(strconv.Itoa(i)), DecisionFields: audit.DecisionFields{Child: "git", Tool: strconv.Itoa(i), Decision: "deny"}}, nil, first.Add(time.Duration(i)*time.Hour)); err == nil {
			err = l.Commit(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.CloseNow(); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 5000; i += 37 {
		got, _ := newest(t, t.Context(), dir, trail.Filter{Until: first.Add(time.Duration(i) * time.Hour)}, 1)
		if len(got) != 1 || got[0].Tool != strconv.Itoa(i-1) {
			t.Fatalf("before line %d: %+v", i, got)
		}
	}
}
