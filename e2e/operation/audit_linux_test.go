package e2e

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"mcphub/internal/audit"
)

var marker = regexp.MustCompile(`call-\d+-\d+-`)

// TestKilledWhileItRecords kills hubs with -9 under load, the guardian or the
// hub itself: every call that reached the child has its line, and the record is
// whole before and after the next hub has come.
func TestKilledWhileItRecords(t *testing.T) {
	w := newWorld(t)
	config := w.config(obj{"rec": w.recorder("rec")}, obj{"audit": obj{"arguments": true}})
	rounds, reached, lines, torn := longCases(t, 4, 1000), 0, 0, 0
	check := func() {
		t.Helper()
		r, err := audit.Verify(w.auditDir())
		must(t, err)
		for _, p := range r.Problems {
			t.Errorf("%s", p)
		}
		lines, torn = r.Lines, torn+r.Torn
	}
	for round := range rounds {
		killUnderLoad(t, w, config, round)
		check()
		have := map[string]bool{}
		all, err := audit.Decisions(w.auditDir(), audit.Filter{})
		must(t, err)
		for i := range all {
			have[marker.FindString(string(all[i].Arguments))] = true
		}
		for line := range strings.Lines(w.recorded("rec")) {
			if id := marker.FindString(line); id != "" {
				reached++
				if !have[id] {
					t.Errorf("round %d: %s reached the child and is not recorded", round, id)
				}
			}
		}
		if t.Failed() {
			return
		}
		must(t, os.Remove(w.record("rec")))
		if round%20 == 19 { // each round reads all of it
			must(t, os.RemoveAll(w.auditDir()))
		}
	}
	if reached < rounds {
		t.Errorf("only %d calls in %d rounds: nothing was shown", reached, rounds)
	}
	s := w.serve(config, nil)
	s.initialize()
	s.end(stopBound)
	check()
	r, err := audit.Verify(w.auditDir())
	must(t, err)
	if r.Open != 0 {
		t.Errorf("%d logs are open after the last hub has ended", r.Open)
	}
	if npm.program != "" {
		if said, ok := w.independent(npm, w.auditDir()); !ok {
			t.Errorf("the other program: %s", said)
		}
	}
	t.Logf("%d kills, %d calls reached the child, %d lines at the end, %d cut off", rounds, reached, lines, torn)
}

// killUnderLoad starts a hub, sends it calls of both kinds without waiting, and
// kills it, or its guardian, after so many answers.
func killUnderLoad(t *testing.T, w *world, config string, round int) {
	t.Helper()
	mark := fmt.Sprintf("XDG_MCPHUB_E2E=%s#%d;", w.dir, w.sessions.Add(1))
	cmd := exec.Command(mcphub(t), "serve", "--config", config)
	cmd.Dir, cmd.Env = w.home, w.env(mark)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = io.WriteString(in, strings.Replace(firstLines, `"capabilities":{}`, `"capabilities":{"roots":{}}`, 1))
	must(t, err)
	answers := 1 + rand.IntN(300)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		lines := bufio.NewScanner(out)
		killed := false
		for n := 0; lines.Scan(); {
			if strings.Contains(lines.Text(), `"roots/list"`) {
				id := regexp.MustCompile(`"id":("[^"]*"|[0-9]+)`).FindStringSubmatch(lines.Text())[1]
				_, _ = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file://%s"}]}}`+"\n", id, w.project)
			}
			if strings.Contains(lines.Text(), "call-") {
				n++
			}
			if n >= answers && !killed {
				killed = true
				victim := cmd.Process.Pid
				if hub := hubProper(t, victim); round%2 == 1 && hub != 0 {
					victim = hub
				}
				_ = syscall.Kill(victim, syscall.SIGKILL)
			}
		}
	}()
	for i := 0; ; i++ {
		args := fmt.Sprintf(`{"text":"call-%d-%d-"}`, round, i)
		if i%3 == 2 {
			args = fmt.Sprintf(`{"text":"call-%d-%d-","path":%q}`, round, i, filepath.Join(w.project, "hello.txt"))
		}
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"rec__echo","arguments":%s}}`+"\n", i, args); err != nil {
			break // it is dead
		}
	}
	<-answered
	_ = in.Close()
	_ = cmd.Wait()
	if !within(waitLimit, func() bool { return len(marked(t, mark)) == 0 }) {
		t.Fatalf("left over: %v", marked(t, mark))
	}
}
