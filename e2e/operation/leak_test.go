package operation

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// leakGrowth is what a hub may hold more, in KiB, after any number of calls than after the first of them.
const leakGrowth = 8 << 10

// Calls of every kind, answered, refused, denied and cancelled, leave nothing behind: no descriptor, no thread, no memory.
// MCPHUB_LONG_CASES says how many. What goroutines would leave is looked for beside the hub's code.
func TestCallsLeaveNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a process holds")
	}
	count := seeds.Cases(t, 1000)
	w := world.New(t)
	p := startPlain(t, w, w.Config(obj{"rec": w.Recorder("rec")}))
	p.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"leak","version":"1"}}}`)
	p.answers(1)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.send(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
	p.answers(1)
	warm := max(count/5, 500)
	p.calls(0, warm)
	first := p.holds()
	p.calls(warm, count)
	var last holding
	// What is no longer used may take a moment to go.
	ok := world.Within(world.WaitLimit, func() bool {
		last = p.holds()
		return last.descriptors <= first.descriptors && last.threads <= first.threads+16 && last.kib <= first.kib+leakGrowth
	})
	t.Logf("after %d calls %+v, after %d more %+v", warm, first, count, last)
	if !ok {
		t.Errorf("after %d calls %+v, after %d more %+v", warm, first, count, last)
	}
}

// plain is a hub driven without anything that remembers what was said.
type plain struct {
	t    *testing.T
	in   io.Writer
	out  *bufio.Reader
	pid  int
	line []byte
}

func startPlain(t *testing.T, w *world.World, config string) *plain {
	c := exec.Command(world.Hub(t), "serve", "--config", config, "--log-level", "error")
	c.Env, c.Dir, c.Stderr = w.Env("GOGC=100"), w.Home, os.Stderr
	in, err := c.StdinPipe()
	world.Must(t, err)
	out, err := c.StdoutPipe()
	world.Must(t, err)
	world.Must(t, c.Start())
	t.Cleanup(func() {
		_ = in.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("the hub ended with %v", err)
		}
	})
	return &plain{t: t, in: in, out: bufio.NewReaderSize(out, 64<<10), pid: c.Process.Pid}
}

func (p *plain) send(lines ...string) {
	p.t.Helper()
	_, err := io.WriteString(p.in, strings.Join(lines, "\n")+"\n")
	world.Must(p.t, err)
}

// answers reads n answers, and whatever comes between.
func (p *plain) answers(n int) {
	p.t.Helper()
	for n > 0 {
		p.line = p.line[:0]
		for {
			part, err := p.out.ReadSlice('\n')
			p.line = append(p.line, part...)
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				p.t.Fatalf("the hub's output ended: %v", err)
			}
		}
		if !bytes.Contains(p.line[:min(len(p.line), 60)], []byte(`"method"`)) {
			n--
		}
	}
}

// calls makes calls from to from+n, 20 at a time.
func (p *plain) calls(from, n int) {
	p.t.Helper()
	call := func(id int, name, args, meta string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"rec__%s","arguments":%s%s}}`, id, name, args, meta)
	}
	for i := from; i < from+n; i += 20 {
		var lines []string
		waited := 0
		for id := i; id < i+20; id++ {
			waited++
			switch id % 20 {
			case 3:
				lines = append(lines, call(id, "echo", `{"path":"/etc/passwd"}`, "")) // denied
			case 5:
				lines = append(lines, call(id, "nobody", `{}`, ""))
			case 7:
				lines = append(lines, call(id, "echo", `{"n":"no number"}`, ""))
			case 9:
				lines = append(lines, call(id, "progress", `{}`, fmt.Sprintf(`,"_meta":{"progressToken":%d}`, id)))
			case 11:
				lines = append(lines, call(id, "echo", `{"text":"`+strings.Repeat("x", 40<<10)+`"}`, ""))
			case 13: // never answered
				waited--
				lines = append(lines, call(id, "sleep", `{"ms":60000}`, ""),
					fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"enough"}}`, id))
			case 15:
				lines = append(lines, `{"jsonrpc":"2.0","id":`+strconv.Itoa(id)+`,"method":"x","method":"y"}`) // two readings
			default:
				lines = append(lines, call(id, "echo", `{"text":"hello"}`, ""))
			}
		}
		sent := make(chan error, 1)
		go func() { // the hub may have to be read before it takes all of it
			_, err := io.WriteString(p.in, strings.Join(lines, "\n")+"\n")
			sent <- err
		}()
		p.answers(waited)
		world.Must(p.t, <-sent)
	}
}

// holding is what a process holds.
type holding struct{ descriptors, threads, kib int }

func (p *plain) holds() (h holding) {
	p.t.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.pid))
	world.Must(p.t, err)
	h.descriptors = len(fds)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	world.Must(p.t, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "Threads:"); ok {
			_, _ = fmt.Sscan(rest, &h.threads)
		}
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			_, _ = fmt.Sscan(rest, &h.kib)
		}
	}
	if h.threads == 0 || h.kib == 0 || h.descriptors == 0 {
		p.t.Fatalf("nothing is known of process %d", p.pid)
	}
	return h
}
