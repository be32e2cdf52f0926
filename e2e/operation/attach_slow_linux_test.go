package operation

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// pace returns the median time of some calls of a client.
func (a *attached) pace(c *ide.Client) time.Duration {
	a.T.Helper()
	var took []time.Duration
	for i := range 60 {
		began := time.Now()
		r, err := c.Tool(a.wait(), "all__echo", fmt.Sprintf(`{"text":"call %d"}`, i))
		if err != nil || r.IsError {
			a.T.Fatalf("a call of another client: %v %s", err, r.Text)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// residentOf returns the memory of a process, in MiB.
func residentOf(t testing.TB, pid int) (mib int) {
	t.Helper()
	return memoryOf(t, pid, "VmRSS:") >> 10
}

// memoryOf returns a line of /proc/PID/status (proc_pid_status(5)), in KiB.
func memoryOf(t testing.TB, pid int, line string) (kib int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	world.Must(t, err)
	_, rest, _ := strings.Cut(string(text), line)
	_, err = fmt.Sscan(rest, &kib)
	world.Must(t, err)
	return kib
}

// A client that takes slowly what it is sent, or none of it, harms no one: the calls of others have their pace, memory is
// bounded, and its end is clean, by the end of its stream or of its adapter.
func TestAClientThatReadsSlowly(t *testing.T) {
	t.Parallel()
	const most = 192 // MiB that the hub may grow by: 544 calls that it holds at most, its queues, and four times that of garbage
	calls := 1000
	if world.Long {
		calls = 10_000
	}
	for _, c := range []struct {
		name        string
		out, err    bool // it reads none of that
		slowly      bool // it reads little of stdout
		end         syscall.Signal
		sockets     bool
		wantsStatus bool
		always      bool // in a short run, too
	}{
		{name: "control", wantsStatus: true},
		{name: "stdout", out: true, wantsStatus: true},
		{name: "stderr", always: true, err: true, wantsStatus: true},
		{name: "both", always: true, out: true, err: true, wantsStatus: true},
		{name: "slowly", slowly: true, wantsStatus: true},
		{name: "sockets", out: true, err: true, sockets: true, wantsStatus: true},
		{name: "its adapter is asked to end", out: true, err: true, end: syscall.SIGTERM},
		{name: "its adapter is killed", always: true, out: true, err: true, sockets: true, end: syscall.SIGKILL},
	} {
		if !world.Long && !c.always {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			a := sharing(t, obj{})
			all, own := a.Recorder("all"), a.Recorder("own", "-grandchild")
			all["share"], own["env"].(obj)["CLIENT_MARK"] = "all", "${CLIENT_MARK}"
			a.config = a.Config(obj{"all": all, "own": own}, obj{"attach": obj{"mode": "auto", "idle": "400ms"}, "limits": obj{"calls": 32}})
			other := a.ready(a.Other, "CLIENT_MARK=other;")
			before := a.pace(other)
			hub := a.status().Hubs[0].PID
			memory := residentOf(t, hub)

			cmd := exec.Command(world.Hub(t), "serve", "--config", a.config, "--log-level", "debug")
			cmd.Dir, cmd.Env = a.Project, append(slices.Clone(a.env), "CLIENT_MARK=slow;")
			in, toIn := pipeOf(t)
			fromOut, out := pipeOf(t)
			fromErr, said := pipeOf(t)
			if c.sockets {
				in, toIn = socketsOf(t)
				fromOut, out = socketsOf(t)
				fromErr, said = socketsOf(t)
			}
			cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, said
			world.Must(t, cmd.Start())
			for _, f := range []*os.File{in, out, said} {
				world.Must(t, f.Close())
			}
			ended := make(chan struct{})
			go func() { _ = cmd.Wait(); close(ended) }()
			if !c.err {
				go func() { _, _ = io.Copy(io.Discard, fromErr) }()
			}
			_, err := toIn.WriteString(world.FirstLines + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"own__echo","arguments":{"text":"xx"}}}` + "\n")
			world.Must(t, err)
			answers := bufio.NewScanner(fromOut)
			answers.Buffer(nil, 8<<20)
			await(t, answers, 2) // all of its servers run
			stop := make(chan struct{})
			defer close(stop)
			switch {
			case c.slowly:
				go func() {
					for b := make([]byte, 512); ; {
						select {
						case <-stop:
							return
						case <-time.After(5 * time.Millisecond):
						}
						if _, err := fromOut.Read(b); err != nil {
							return
						}
					}
				}()
			case !c.out:
				go func() { _, _ = io.Copy(io.Discard, fromOut) }()
			}
			var asked atomic.Int64
			given := make(chan struct{})
			go func() { // as far as it is let
				defer close(given)
				text := strings.Repeat("x", 30_000)
				for n := range calls {
					tool := []string{"all__echo", "own__echo", "all__flood"}[n%3]
					if _, err := fmt.Fprintf(toIn, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q,"bytes":20000}}}`+"\n", n+3, tool, text); err != nil {
						return
					}
					asked.Add(1)
				}
			}()
			if !world.Within(world.WaitLimit, func() bool { return asked.Load() >= 200 }) {
				t.Fatalf("only %d calls are taken", asked.Load())
			}
			var during []time.Duration
			grown := 0
			for range 5 {
				during = append(during, a.pace(other))
				grown = max(grown, residentOf(t, hub)-memory)
			}
			slices.Sort(during)
			if now := during[len(during)/2]; now > bounds.Of(8*before+100*time.Millisecond) && !world.RaceDetector {
				t.Errorf("a call of another client takes %s, it took %s", now, before)
			}
			if grown > most && !world.RaceDetector { // which takes memory of its own
				t.Errorf("the hub has grown by %d MiB", grown)
			}

			began := time.Now()
			if c.end != 0 {
				world.Must(t, cmd.Process.Signal(c.end))
			} else {
				world.Must(t, toIn.Close())
			}
			select {
			case <-ended:
			case <-time.After(world.WaitLimit):
				t.Fatal("it does not end")
			}
			took := time.Since(began)
			if took > world.StopBound {
				t.Errorf("its end took %s", took)
			}
			if code := cmd.ProcessState.ExitCode(); c.wantsStatus && code != 0 {
				t.Errorf("it ended with status %d", code)
			}
			if !world.Within(world.WaitLimit, func() bool { return len(world.Marked(t, "CLIENT_MARK=slow;")) == 0 && len(a.sessions()) == 1 }) {
				t.Errorf("left over: %v, sessions %v", world.Marked(t, "CLIENT_MARK=slow;"), a.sessions())
			}
			after := a.pace(other)
			_ = toIn.Close()
			<-given
			t.Logf("others: %s before, %s meanwhile, %s after; %d MiB more, %d calls sent; ended in %s", before, during[len(during)/2], after, grown, asked.Load(), took.Round(time.Millisecond))
			if e := other.Close(world.StopBound); e.Killed || e.Code != 0 {
				t.Errorf("%+v", e)
			}
		})
	}
}
