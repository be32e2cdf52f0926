package consent

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/world"
)

const codeShown = `Type (\w+ \w+) to allow the directory, `

func ttyConfig(w *world.World) string {
	return w.Config(obj{"files": obj{"builtin": "files"}}, obj{
		"roots":    obj{"fallback": []string{w.Project}},
		"policy":   obj{"rules": []obj{{"name": "ask", "then": "escalate", "if": obj{"paths": obj{"roles": []string{"read"}, "outside": true}}}}},
		"approval": obj{"local": "tty", "timeout": "1m"},
	})
}

// TestApproveAtATerminal: a client that cannot ask, and a person at a terminal.
func TestApproveAtATerminal(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	for i := range 4 {
		w.Write(fmt.Sprintf("far/%d/f.txt", i), fmt.Sprintf("far text %d", i))
	}
	url := w.ServeHTTP(ttyConfig(w))
	env := w.Env()
	web := &http.Client{Transport: world.Given{Transport: &http.Transport{}}}
	client, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(t.Context(),
		&gosdk.StreamableClientTransport{Endpoint: url, HTTPClient: web}, &gosdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	world.Must(t, err)
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
			r, err := client.CallTool(context.Background(), &gosdk.CallToolParams{Name: "files__read_text_file", Arguments: obj{"path": w.Path("far", fmt.Sprint(i), "f.txt")}})
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
		if !world.Within(world.WaitLimit, func() bool {
			cmd := exec.Command(world.Hub(t), "status")
			cmd.Env = env
			out, _ := cmd.CombinedOutput()
			return strings.Contains(string(out), "waits for a person (terminal)")
		}) {
			t.Fatal("no question waits")
		}
	}

	// Nothing waits.
	idle := w.Approver(env)
	idle.Sees(1, `no call waits for approval`)

	first := call(0)
	waiting()
	list := w.Approver(env, func(c *exec.Cmd) { c.Args = append(c.Args, "list", "--json") })
	list.Sees(1, `"choices": \[`)
	<-list.Ended
	if regexp.MustCompile(`"id"|"code"|` + codeShown).MatchString(list.Shown()) {
		t.Errorf("more than may be listed:\n%s", list.Shown())
	}
	s := w.Approver(env)
	s.Sees(1, regexp.QuoteMeta(w.Path("far", "0"))+`", at any depth`)
	code := s.Sees(1, codeShown)
	s.Types(strings.ToLower(code))
	s.Sees(1, `It is allowed \(directory\)`)
	if got := <-first; got.bad || got.text != "far text 0" || strings.Contains(got.text, code) {
		t.Errorf("allowed: %+v", got)
	}

	// A wrong code voids itself; after three the call is denied.
	second := call(1)
	waiting()
	s = w.Approver(env)
	for i := range 3 {
		s.Sees(i+1, codeShown)
		s.Types("AAAAAAAA")
	}
	s.Sees(1, `too many wrong codes`)
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
		refused := w.Approver(env, prepare)
		<-refused.Ended
		if refused.Cmd.ProcessState.Success() || regexp.MustCompile(codeShown).MatchString(refused.Shown()) {
			t.Errorf("%s: it was let in:\n%s", name, refused.Shown())
		}
	}
	s = w.Approver(env)
	s.Sees(1, codeShown)
	s.Types("n")
	s.Sees(1, `It is denied`)
	if got := <-third; !got.bad || !strings.Contains(got.text, "the person said no") {
		t.Errorf("denied: %+v", got)
	}
}
