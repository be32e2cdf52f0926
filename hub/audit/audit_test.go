package audit_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcphub/e2e/seeds"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/redact"
)

const envWriter = "MCPHUB_AUDIT_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envWriter); dir != "" {
		writeForEver(dir)
	}
	goleak.VerifyTestMain(m)
}

// writeForEver appends from several goroutines and says on stdout what Append
// has returned for, until it is killed.
func writeForEver(dir string) {
	l, err := audit.Open(audit.Options{Dir: dir, Checkpoint: 100 * time.Millisecond})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	go func() { _ = l.Run(context.Background()) }()
	var mu sync.Mutex
	for g := range 8 {
		go func() {
			for i := 0; ; i++ {
				n, err := l.Append(context.Background(), &audit.Record{Session: "s", DecisionFields: audit.DecisionFields{Child: "c", Tool: fmt.Sprintf("t%d.%d", g, i), Decision: "allow"}})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(2)
				}
				mu.Lock()
				fmt.Println(n)
				mu.Unlock()
				l.Outcome(audit.Outcome{DecisionLine: n, Result: "ok", Micros: 1000})
			}
		}()
	}
	select {}
}

// running opens a log and runs it until stop.
func running(t testing.TB, o audit.Options) (l *audit.Log, stop func()) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
		if err := os.Chmod(o.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l, err := audit.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return l, stop
}

func whole(t testing.TB, dir string, heads ...string) *trail.Report {
	t.Helper()
	r, err := trail.Verify(dir, heads...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("%s", p)
	}
	return r
}

func sample(i int) *audit.Record {
	return &audit.Record{
		Session:   "s",
		Request:   strconv.AppendInt(nil, int64(i), 10),
		Arguments: []byte("{\"a\":\r\n1}"),
		DecisionFields: audit.DecisionFields{
			Child:      "files",
			Tool:       "read\u2028\"file",
			Decision:   "deny",
			Code:       "outside",
			RootsBasis: audit.RootsBasis{"client", 3, true},
			Findings:   []audit.Finding{{"/path", "read", "/etc/pass\nwd\xff", false, 2}, {"", "", "", true, 0}, {}},
		},
	}
}

func TestLinesAreChainedAndReadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, stop := running(t, audit.Options{Dir: dir, Program: "test"})
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			n, err := l.Append(context.Background(), sample(i))
			if err != nil {
				t.Error(err)
			}
			l.Outcome(audit.Outcome{DecisionLine: n, Result: "ok", Micros: 1500})
		})
	}
	wg.Wait()
	if r := whole(t, dir); r.Open != 1 {
		t.Errorf("%+v", r)
	}
	stop()
	r := whole(t, dir)
	if r.Logs != 1 || r.Open != 0 || r.Torn != 0 {
		t.Errorf("%+v", r)
	}
	decided, became := 0, map[uint64]bool{}
	err := trail.Read(dir, func(e trail.Event) bool {
		if e.Kind == audit.KindDecision {
			decided++
		}
		for _, res := range e.AllOutcomes() {
			became[res.DecisionLine] = true
			if res.Result != audit.ResultOK || res.Micros != 1500 || res.DecisionLine >= e.Number {
				t.Errorf("%+v", res)
			}
		}
		return true
	})
	if err != nil || decided != 300 || len(became) != 300 {
		t.Errorf("%d decisions, %d outcomes: %v", decided, len(became), err)
	}
	whole(t, dir, r.Head)
	if r, _ := trail.Verify(dir, audit.NoHash); r.IsWhole() {
		t.Error("a head that is not there was found")
	}
	if _, err := l.Append(context.Background(), sample(0)); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestRotationKeepsTheChain(t *testing.T) {
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
	if err != nil || len(files[l.ID()]) < 3 {
		t.Fatalf("%v %v", files, err)
	}
	whole(t, dir)
	if err := os.Remove(files[l.ID()][1]); err != nil {
		t.Fatal(err)
	}
	if r, _ := trail.Verify(dir); r.IsWhole() {
		t.Error("a file of the middle is missing, and nobody noticed")
	}
}

func TestALogPutThereIsFound(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	_, stop := running(t, audit.Options{Dir: dir})
	stop()
	l, stop := running(t, audit.Options{Dir: other})
	stop()
	b, err := os.ReadFile(filepath.Join(other, l.ID()+audit.LogEnding))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, l.ID()+audit.LogEnding), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, _ := trail.Verify(dir); r.IsWhole() {
		t.Error("nobody noticed")
	}
}

func TestAFullDiskIsToldAndLeavesNoGap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var mu sync.Mutex
	full := false
	l, stop := running(t, audit.RetryAtOnce(audit.Options{Dir: dir, Write: func(f io.Writer, b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		if full { // it takes half a line
			n, _ := f.Write(b[:len(b)/2])
			return n, syscall.ENOSPC
		}
		return f.Write(b)
	}}))
	set := func(v bool) {
		mu.Lock()
		defer mu.Unlock()
		full = v
	}
	set(true)
	for i := range 5 {
		if _, err := l.Append(context.Background(), sample(i)); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%v", err)
		}
	}
	set(false)
	if _, err := l.Append(context.Background(), sample(9)); err != nil {
		t.Fatal(err)
	}
	stop()
	if r := whole(t, dir); r.Lines != 8 {
		t.Errorf("%+v", r)
	}
}

func TestAFolderOthersWriteToIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Open(audit.Options{Dir: dir}); err == nil {
		t.Error("it was taken")
	}
}

// TestKilledAtAnyMoment kills writers with -9: what Append returned for is in
// the log, and the folder is whole before and after the next process came.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	rounds := seeds.Cases(t, 10)
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	torn, lines := 0, 0
	for round := range rounds {
		if round%50 == 49 { // a folder of its own again: each round reads all of it
			_, stop := running(t, audit.Options{Dir: dir})
			stop()
			r := whole(t, dir)
			if lines += r.Lines; r.Open != 0 {
				t.Errorf("%+v", r)
			}
			torn += r.Torn
			dir = t.TempDir()
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), envWriter+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Killed after a number of lines that grows, and between two of them by chance.
		sc := bufio.NewScanner(out)
		var said []uint64
		for sc.Scan() {
			n, _ := strconv.ParseUint(sc.Text(), 10, 64)
			said = append(said, n)
			if len(said) == 1+round%97 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()
		whole(t, dir)
		have := map[uint64]bool{}
		newest := ""
		files, _ := audit.LogFiles(dir)
		for id := range files {
			if audit.HasLock(dir, id) {
				newest = id
			}
		}
		err = trail.Read(dir, func(e trail.Event) bool {
			if e.LogID == newest {
				have[e.Number] = true
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range said {
			if !have[n] {
				t.Fatalf("round %d: line %d of %s was promised and is not there", round, n, newest)
			}
		}
	}
	_, stop := running(t, audit.Options{Dir: dir})
	stop()
	r := whole(t, dir)
	if r.Open != 0 {
		t.Errorf("%+v", r)
	}
	t.Logf("%d kills, %d lines, %d of them cut off", rounds, lines+r.Lines, torn+r.Torn)
}

func TestATornLineIsClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exe, _ := os.Executable()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envWriter+"="+dir)
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	names, _ := filepath.Glob(filepath.Join(dir, "????????-*"+audit.LogEnding))
	for _, name := range append(names, filepath.Join(dir, audit.ChainName)) {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.WriteString(`{"v":1,"log":"cut of`)
		_ = f.Close()
	}
	if r := whole(t, dir); r.Torn != 2 {
		t.Errorf("before: %+v", r)
	}
	_, stop := running(t, audit.Options{Dir: dir})
	stop()
	if r := whole(t, dir); r.Torn != 2 || r.Open != 0 {
		t.Errorf("after: %+v", r)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			l, stop := running(b, audit.Options{Dir: b.TempDir()})
			defer stop()
			r := &audit.Record{
				Session: "0123456789",
				Request: []byte("123456"),
				DecisionFields: audit.DecisionFields{
					Child:      "files",
					Tool:       "read_file",
					Decision:   "allow",
					RootsBasis: audit.RootsBasis{"client", 1, false},
					Findings:   []audit.Finding{{"/path", "read", "/home/user/project/file.txt", true, 0}},
				},
			}
			b.SetParallelism(callers / 2)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n, err := l.Append(context.Background(), r)
					if err != nil {
						b.Error(err)
					}
					l.Outcome(audit.Outcome{DecisionLine: n, Result: "ok", Micros: 1000})
				}
			})
		})
	}
}

// A line of outcomes names what all of its calls have in common once, and the rest with each of them.
func TestOutcomesNameTheirCalls(t *testing.T) {
	t.Parallel()
	of := func(principal, tool string) audit.Outcome {
		return audit.Outcome{DecisionLine: 1, Result: audit.ResultOK, CallSubject: audit.CallSubject{Principal: principal, Client: "c 1", Child: "files", Tool: tool}}
	}
	for want, all := range map[string][]audit.Outcome{
		`"of":1,"result":"ok","principal":"p","client":"c 1","child":"files","tool":"a"`:                                                       {of("p", "a")},
		`"principal":"p","client":"c 1","child":"files","tool":"a","outcomes":[{"of":1,"result":"ok"},{"of":1,"result":"ok"}]`:                 {of("p", "a"), of("p", "a")},
		`"principal":"p","client":"c 1","child":"files","outcomes":[{"of":1,"result":"ok","tool":"a"},{"of":1,"result":"ok"}]`:                 {of("p", "a"), of("p", "")},
		`"client":"c 1","child":"files","tool":"a","outcomes":[{"of":1,"result":"ok","principal":"p"},{"of":1,"result":"ok","principal":"q"}]`: {of("p", "a"), of("q", "a")},
	} {
		dir := t.TempDir()
		l, stop := running(t, audit.Options{Dir: dir})
		for _, o := range all {
			l.Outcome(o)
		}
		stop()
		got := ""
		if err := trail.Read(dir, func(e trail.Event) bool {
			if e.Kind == audit.KindOutcome {
				got += string(e.Raw)
			}
			return true
		}); err != nil || !strings.Contains(got, `"kind":"outcome",`+want+`,"hash"`) {
			t.Errorf("%s, want %s: %v", got, want, err)
		}
	}
}

// Calls that come together share a line, and each keeps its own outcome.
func TestCallsShareALine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, stop := running(t, audit.Options{Dir: dir})
	form := func(tool string) audit.EncodedDecision {
		return audit.EncodeDecision(&audit.DecisionFields{Child: "files", Tool: tool, Decision: "allow", Rule: "no path"})
	}
	calls := []audit.CallRecord{
		{Session: "s", Request: []byte(`1`), Encoded: form("a")},
		{Session: "s", Request: []byte(`"x"`), Encoded: form("b"), Arguments: []byte(`{"token":"hunter2","n":1}`)},
		{Session: "s", Request: []byte(strings.Repeat("1", 200)), Encoded: form("b")},
	}
	results := []string{audit.ResultOK, audit.ResultToolError, audit.ResultTimeout}
	for _, some := range [][]audit.CallRecord{calls, calls[:1], calls[1:]} {
		n, err := l.PutCalls(some, time.Now())
		if err == nil {
			err = l.Commit(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := len(some) - 1; i >= 0; i-- {
			o := audit.Outcome{DecisionLine: n, Call: i + 1, Result: results[i]}
			if len(some) == 1 {
				o.Call = 0
			}
			l.Outcome(o)
		}
	}
	stop()
	whole(t, dir)
	all, err := trail.Decisions(dir, trail.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i := range all {
		d := &all[i]
		if d.Outcome == nil || d.Session != "s" || d.Child != "files" || d.Decision != "allow" || d.Rule != "no path" || len(d.Calls) > 0 {
			t.Fatalf("%+v", d)
		}
		got += fmt.Sprintf("%d %s %.5s %s %s\n", d.Call, d.Tool, d.Request, d.Outcome.Result, d.Arguments)
	}
	want := "1 a 1 ok \n2 b \"x\" tool-error {\"token\":\"" + redact.Mark + "\",\"n\":1}\n3 b \"1111 timeout \n0 a 1 ok \n1 b \"x\" ok {\"token\":\"" + redact.Mark + "\",\"n\":1}\n2 b \"1111 tool-error \n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if strings.Count(string(all[0].Raw), `"hash"`) != 1 || !bytes.Equal(all[0].Raw, all[2].Raw) || bytes.Contains(all[3].Raw, []byte("calls")) || bytes.Count(all[4].Raw, []byte("tool")) != 1 {
		t.Errorf("%s\n%s\n%s", all[0].Raw, all[3].Raw, all[4].Raw)
	}
	some, err := trail.Decisions(dir, trail.Filter{Tool: "b"})
	if err != nil || len(some) != 4 || some[1].Outcome.Result != audit.ResultTimeout {
		t.Errorf("%+v, %v", some, err)
	}
}
