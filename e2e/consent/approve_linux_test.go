package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"mcphub/e2e/ide"
)

// console is a terminal of its own, with a program on it.
type console struct {
	t      testing.TB
	master *os.File
	cmd    *exec.Cmd
	mu     sync.Mutex
	text   bytes.Buffer
	ended  chan struct{}
}

// approver runs mcphub approve on a terminal.
func (w *world) approver(env []string, prepare ...func(*exec.Cmd)) *console {
	w.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(w.t, err)
	must(w.t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(w.t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(w.t, err)
	s := &console{t: w.t, master: master, cmd: exec.Command(mcphub(w.t), "approve"), ended: make(chan struct{})}
	s.cmd.Env, s.cmd.Dir = env, w.home
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	for _, f := range prepare {
		f(s.cmd)
	}
	must(w.t, s.cmd.Start())
	must(w.t, slave.Close())
	var read sync.WaitGroup
	read.Go(func() {
		_, _ = io.Copy(writerFunc(func(p []byte) (int, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.text.Write(p)
		}), master) // ends when the last program on it does
	})
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait()
	}()
	w.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.ended
		_ = master.Close()
		read.Wait()
	})
	return s
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (s *console) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// sees waits until the terminal shows a pattern for the nth time, and returns what its first group is there.
func (s *console) sees(n int, pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	var found [][]string
	if !within(waitLimit, func() bool { found = re.FindAllStringSubmatch(s.shown(), -1); return len(found) >= n }) {
		s.t.Fatalf("%q is not shown %d times:\n%s", pattern, n, s.shown())
	}
	return found[n-1][len(found[n-1])-1]
}

func (s *console) types(line string) {
	s.t.Helper()
	_, err := s.master.WriteString(line + "\n")
	must(s.t, err)
}

const codeShown = `Type (\w+ \w+) to allow the directory, `

func (w *world) ttyConfig() string {
	return w.config(obj{"files": obj{"builtin": "files"}}, obj{
		"roots":    obj{"fallback": []string{w.project}},
		"policy":   obj{"rules": []obj{{"name": "ask", "then": "escalate", "if": obj{"paths": obj{"roles": []string{"read"}, "outside": true}}}}},
		"approval": obj{"local": "tty", "timeout": "1m"},
	})
}

// TestApproveAtATerminal: a client that cannot ask, and a person at a terminal.
func TestApproveAtATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 4 {
		w.write(fmt.Sprintf("far/%d/f.txt", i), fmt.Sprintf("far text %d", i))
	}
	sockets := socketsIn(t)
	url := w.serveHTTP(w.ttyConfig(), sockets...)
	env := w.env(sockets...)
	web := &http.Client{Transport: given{&http.Transport{}}}
	client, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(t.Context(),
		&gosdk.StreamableClientTransport{Endpoint: url, HTTPClient: web}, &gosdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	must(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		web.CloseIdleConnections()
	})
	type outcome struct {
		text string
		bad  bool
	}
	call := func(i int) <-chan outcome {
		out := make(chan outcome, 1)
		go func() {
			r, err := client.CallTool(context.Background(), &gosdk.CallToolParams{Name: "files__read_text_file", Arguments: obj{"path": w.path("far", fmt.Sprint(i), "f.txt")}})
			if err != nil {
				out <- outcome{err.Error(), true}
				return
			}
			var b strings.Builder
			for _, c := range r.Content {
				if text, ok := c.(*gosdk.TextContent); ok {
					b.WriteString(text.Text)
				}
			}
			out <- outcome{b.String(), r.IsError}
		}()
		return out
	}
	waiting := func() {
		t.Helper()
		if !within(waitLimit, func() bool {
			cmd := exec.Command(mcphub(t), "status")
			cmd.Env = env
			out, _ := cmd.CombinedOutput()
			return strings.Contains(string(out), "waits for a person (terminal)")
		}) {
			t.Fatal("no question waits")
		}
	}

	// Nothing waits.
	idle := w.approver(env)
	idle.sees(1, `no call waits for approval`)

	first := call(0)
	waiting()
	list := w.approver(env, func(c *exec.Cmd) { c.Args = append(c.Args, "list", "--json") })
	list.sees(1, `"choices": \[`)
	<-list.ended
	if regexp.MustCompile(`"id"|"code"|` + codeShown).MatchString(list.shown()) {
		t.Errorf("more than may be listed:\n%s", list.shown())
	}
	s := w.approver(env)
	s.sees(1, regexp.QuoteMeta(w.path("far", "0"))+`", at any depth`)
	code := s.sees(1, codeShown)
	s.types(strings.ToLower(code))
	s.sees(1, `It is allowed \(directory\)`)
	if got := <-first; got.bad || got.text != "far text 0" || strings.Contains(got.text, code) {
		t.Errorf("allowed: %+v", got)
	}

	// A wrong code voids itself; after three the call is denied.
	second := call(1)
	waiting()
	s = w.approver(env)
	for i := range 3 {
		s.sees(i+1, codeShown)
		s.types("AAAAAAAA")
	}
	s.sees(1, `too many wrong codes`)
	if got := <-second; !got.bad || !strings.Contains(got.text, "wrong codes were typed") {
		t.Errorf("wrong codes: %+v", got)
	}

	// A no, and what a pipe says is nothing.
	third := call(2)
	waiting()
	for name, prepare := range map[string]func(*exec.Cmd){
		"standard input": func(c *exec.Cmd) {
			c.Stdin = strings.NewReader("yes\n")
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		},
		"standard output":     func(c *exec.Cmd) { c.Stdout = new(bytes.Buffer) },
		"no terminal at all":  func(c *exec.Cmd) { c.Stdin, c.Stdout = nil, nil; c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} },
		"somebody else's one": func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} },
	} {
		refused := w.approver(env, prepare)
		<-refused.ended
		if refused.cmd.ProcessState.Success() || regexp.MustCompile(codeShown).MatchString(refused.shown()) {
			t.Errorf("%s: it was let in:\n%s", name, refused.shown())
		}
	}
	s = w.approver(env)
	s.sees(1, codeShown)
	s.types("n")
	s.sees(1, `It is denied`)
	if got := <-third; !got.bad || !strings.Contains(got.text, "the person said no") {
		t.Errorf("denied: %+v", got)
	}
}

// TestApproveIsNotForWhatTheClientStarts: over stdio the hub's client is a program that may run commands for a model. Here it
// is this test.
func TestApproveIsNotForWhatTheClientStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("far/f.txt", "far text")
	sockets := socketsIn(t)
	c, err := ide.Start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", w.ttyConfig()}, Dir: w.home, Env: w.env(sockets...), Roots: ide.Folders(w.project)})
	must(t, err)
	t.Cleanup(func() { c.Close(waitLimit) })
	_, err = c.Initialize(t.Context())
	must(t, err)
	id, err := c.StartTool("files__read_text_file", pathArgs(t, w.path("far", "f.txt")))
	must(t, err)
	if !within(waitLimit, func() bool { return strings.Contains(c.Stderr(), "run mcphub approve") }) {
		t.Fatalf("no question waits:\n%s", c.Stderr())
	}
	s := w.approver(w.env(sockets...))
	s.sees(1, `what the hub's client starts may not approve`)
	<-s.ended
	if regexp.MustCompile(codeShown).MatchString(s.shown()) {
		t.Errorf("a code is shown:\n%s", s.shown())
	}
	must(t, c.Notify("notifications/cancelled", `{"requestId":`+id+`}`))
}
