package operation

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
	"mcphub/internal/audit/trail"
)

var marker = regexp.MustCompile(`call-\d+-\d+-`)

// TestKilledWhileItRecords kills hubs with -9 under load, the guardian or the
// hub itself: every call that reached the child has its line, and the record is
// whole before and after the next hub has come.
func TestKilledWhileItRecords(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	config := w.Config(obj{"rec": w.Recorder("rec")}, obj{"audit": obj{"arguments": true}})
	rounds, reached, lines, torn := world.LongCases(t, 4, 1000), 0, 0, 0
	check := func() {
		t.Helper()
		r, err := trail.Verify(w.AuditDir())
		world.Must(t, err)
		for _, p := range r.Problems {
			t.Errorf("%s", p)
		}
		lines, torn = r.Lines, torn+r.Torn
	}
	for round := range rounds {
		killUnderLoad(t, w, config, round)
		check()
		have := map[string]bool{}
		all, err := trail.Decisions(w.AuditDir(), trail.Filter{})
		world.Must(t, err)
		for i := range all {
			have[marker.FindString(string(all[i].Arguments))] = true
		}
		for line := range strings.Lines(w.Recorded("rec")) {
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
		world.Must(t, os.Remove(w.Record("rec")))
		if round%20 == 19 { // each round reads all of it
			world.Must(t, os.RemoveAll(w.AuditDir()))
		}
	}
	if reached < rounds {
		t.Errorf("only %d calls in %d rounds: nothing was shown", reached, rounds)
	}
	s := w.Serve(config, nil)
	s.Handshake()
	s.End(world.StopBound)
	check()
	r, err := trail.Verify(w.AuditDir())
	world.Must(t, err)
	if r.Open != 0 {
		t.Errorf("%d logs are open after the last hub has ended", r.Open)
	}
	if world.NPM.Program != "" {
		if said, ok := independent(w, world.NPM, w.AuditDir()); !ok {
			t.Errorf("the other program: %s", said)
		}
	}
	t.Logf("%d kills, %d calls reached the child, %d lines at the end, %d cut off", rounds, reached, lines, torn)
}

// killUnderLoad starts a hub, sends it calls of both kinds without waiting, and
// kills it, or its guardian, after so many answers.
func killUnderLoad(t *testing.T, w *world.World, config string, round int) {
	t.Helper()
	mark := fmt.Sprintf("XDG_MCPHUB_E2E=%s#%d;", w.Dir, w.Sessions.Add(1))
	cmd := exec.Command(world.Hub(t), "serve", "--config", config)
	cmd.Dir, cmd.Env = w.Home, w.Env(mark)
	in, err := cmd.StdinPipe()
	world.Must(t, err)
	out, err := cmd.StdoutPipe()
	world.Must(t, err)
	world.Must(t, cmd.Start())
	_, err = io.WriteString(in, strings.Replace(world.FirstLines, `"capabilities":{}`, `"capabilities":{"roots":{}}`, 1))
	world.Must(t, err)
	answers := 1 + seeds.Rand(t, round).IntN(300)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		lines := bufio.NewScanner(out)
		killed := false
		for n := 0; lines.Scan(); {
			if strings.Contains(lines.Text(), `"roots/list"`) {
				id := regexp.MustCompile(`"id":("[^"]*"|[0-9]+)`).FindStringSubmatch(lines.Text())[1]
				_, _ = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file://%s"}]}}`+"\n", id, w.Project)
			}
			if strings.Contains(lines.Text(), "call-") {
				n++
			}
			if n >= answers && !killed {
				killed = true
				victim := cmd.Process.Pid
				if hub := world.HubProper(t, victim); round%2 == 1 && hub != 0 {
					victim = hub
				}
				_ = syscall.Kill(victim, syscall.SIGKILL)
			}
		}
	}()
	for i := 0; ; i++ {
		args := fmt.Sprintf(`{"text":"call-%d-%d-"}`, round, i)
		if i%3 == 2 {
			args = fmt.Sprintf(`{"text":"call-%d-%d-","path":%q}`, round, i, filepath.Join(w.Project, "hello.txt"))
		}
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"rec__echo","arguments":%s}}`+"\n", i, args); err != nil {
			break // it is dead
		}
	}
	<-answered
	_ = in.Close()
	_ = cmd.Wait()
	if !world.Within(world.WaitLimit, func() bool { return len(world.Marked(t, mark)) == 0 }) {
		t.Fatalf("left over: %v", world.Marked(t, mark))
	}
}
