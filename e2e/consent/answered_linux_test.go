package consent

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// A realClient has a client call the tool files__read_text_file of the hub with this hub.json, for one path after the other,
// and gives what it was told.
type realClient func(w *world.World, config string, env []string, paths ...string) string

// TestARealClientIsAnswered: a client that asks no one waits while a person answers, on the page or at a terminal, and goes on
// then. The official TypeScript SDK has no form by itself. Codex, whose model a stand-in plays, says that it has one, and
// declines it if no one looks, so approval.from leaves it out. Codex is for the long run: it is large.
func TestARealClientIsAnswered(t *testing.T) {
	n := world.RequireNode(t)
	t.Run("SDK", func(t *testing.T) { answersReach(t, ofSDK(n), "client", "terminal", "console") })
	t.Run("Codex", func(t *testing.T) {
		if !world.Long {
			t.Skip("MCPHUB_E2E_LONG is not set: the client is large")
		}
		if runtime.GOARCH != "amd64" {
			t.Skip("the client is pinned for x64")
		}
		codex := ofCodex(n.Agents(t))
		answersReach(t, codex, "terminal", "console")
		t.Run("control: its own no", func(t *testing.T) {
			t.Parallel()
			c := startWaiting(t, codex, 1, "1m", "client", "terminal", "console")
			if got := <-c.told; !strings.Contains(got, "the person said no") {
				t.Errorf("it is told %s", got)
			}
		})
	})
}

func ofSDK(n world.Node) realClient {
	return func(w *world.World, config string, env []string, paths ...string) string {
		vars := obj{}
		for _, pair := range env {
			name, value, _ := strings.Cut(pair, "=")
			vars[name] = value
		}
		cmd := exec.Command(n.Program, world.Source("e2e", "clients", "session.mjs"))
		cmd.Env = env
		steps := []obj{{"do": "awaitTool", "name": "files__read_text_file"}}
		for _, path := range paths {
			steps = append(steps, obj{"do": "call", "name": "files__read_text_file", "arguments": obj{"path": path}, "progress": true})
		}
		cmd.Stdin = strings.NewReader(world.Raw(w.T, obj{"command": world.Hub(w.T), "args": []string{"serve", "--config", config}, "env": vars, "cwd": w.Project, "steps": steps}))
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			return err.Error() + "\n" + errs.String()
		}
		return out.String()
	}
}

func ofCodex(n world.Node) realClient {
	return func(w *world.World, config string, env []string, paths ...string) string {
		text := fmt.Sprintf("model = \"stand-in\"\n[mcp_servers.mcphub]\ncommand = %q\nargs = [\"serve\", \"--config\", %q]\ntool_timeout_sec = 120\n[mcp_servers.mcphub.env]\n", world.Hub(w.T), config)
		for _, pair := range env {
			name, value, _ := strings.Cut(pair, "=")
			text += fmt.Sprintf("%s = %q\n", name, value)
		}
		w.Write("home/.codex/config.toml", text)
		var calls []obj
		for _, path := range paths {
			calls = append(calls, obj{"path": path})
		}
		return w.Codex(n, env, "files__read_text_file", calls...)
	}
}

// A waitingClient is one whose call waits for a person.
type waitingClient struct {
	*world.World
	env    []string
	config string
	path   string
	told   <-chan string
}

func startWaiting(t *testing.T, client realClient, calls int, timeout string, from ...string) *waitingClient {
	t.Helper()
	w := world.New(t)
	c := &waitingClient{World: w, env: w.Env(), path: w.Write("far/f.txt", "far text")}
	c.config = w.Config(obj{"files": obj{"builtin": "files"}}, obj{
		"roots":    obj{"fallback": []string{w.Project}},
		"policy":   obj{"rules": []obj{{"name": "ask", "then": "escalate", "if": obj{"paths": obj{"roles": []string{"read"}, "outside": true}}}}},
		"approval": obj{"from": from, "timeout": timeout},
	})
	told := make(chan string, 1)
	c.told = told
	go func() { told <- client(w, c.config, c.env, slices.Repeat([]string{c.path}, calls)...) }()
	return c
}

// goesOn wants the call to have been made.
func (c *waitingClient) goesOn() {
	c.T.Helper()
	if got := <-c.told; !strings.Contains(got, "far text") {
		c.T.Errorf("the call was not made: %s", got)
	}
}

const (
	pageAllowed     = "Allowed: directory"
	terminalAllowed = `It is allowed \(directory\)`
	alreadyAnswered = "that question was answered already"
	waitsNoMore     = "that question does not wait any more"
)

func answersReach(t *testing.T, client realClient, from ...string) {
	t.Parallel()
	t.Run("on the page", func(t *testing.T) {
		t.Parallel()
		c := startWaiting(t, client, 1, "1m", from...)
		p := openPage(c.World, c.config, c.env)
		shown := p.question(c.path)
		if said := p.click(shown, "directory", field(shown, "digest")); !strings.Contains(said, pageAllowed) {
			t.Errorf("the page says %s", said)
		}
		c.goesOn()
	})
	t.Run("at the terminal", func(t *testing.T) {
		t.Parallel()
		c := startWaiting(t, client, 1, "1m", from...)
		s := c.approver()
		s.Types(s.Sees(1, codeShown))
		s.Sees(1, terminalAllowed)
		c.goesOn()
	})
	t.Run("two answers at once", func(t *testing.T) {
		t.Parallel()
		c := startWaiting(t, client, 1, "1m", from...)
		p := openPage(c.World, c.config, c.env)
		shown := p.question(c.path)
		s := c.approver()
		code := s.Sees(1, codeShown)
		said := make(chan string, 1)
		go func() { said <- p.click(shown, "directory", field(shown, "digest")) }()
		s.Types(code)
		typed := s.Sees(1, terminalAllowed+"|"+alreadyAnswered)
		clicked := <-said
		if page := strings.Contains(clicked, pageAllowed); page == strings.Contains(typed, "allowed") || !page && !strings.Contains(clicked, alreadyAnswered) {
			t.Errorf("the terminal says %q, the page %s", typed, clicked)
		}
		c.goesOn()
	})
	t.Run("after the time", func(t *testing.T) {
		t.Parallel()
		c := startWaiting(t, client, 2, "10s", from...)
		p := openPage(c.World, c.config, c.env)
		shown := p.question(c.path)
		s := c.approver()
		code := s.Sees(1, codeShown)
		var next string
		if !world.Within(world.WaitLimit, func() bool {
			next = p.question(c.path)
			return field(next, "id") != field(shown, "id")
		}) {
			t.Fatal("the client has not tried again")
		}
		s.Types(code)
		s.Sees(1, waitsNoMore)
		if said := p.click(shown, "directory", field(shown, "digest")); !strings.Contains(said, "does not count: "+waitsNoMore) {
			t.Errorf("a click after the time: %s", said)
		}
		if said := p.click(next, "deny", field(next, "digest")); !strings.Contains(said, "Denied.") {
			t.Errorf("the question that waits: %s", said)
		}
		got := <-c.told
		for _, want := range []string{"nobody has answered in time", "the person said no", "a person could have answered at a terminal of the hub's user or on the page of the hub's console"} {
			if !strings.Contains(got, want) {
				t.Errorf("its client is not told that %s: %s", want, got)
			}
		}
		if where := "waiting for approval: a person can answer at a terminal of the hub's user or on the page of the hub's console"; strings.Contains(got, `"progress":[`) && !strings.Contains(got, where) {
			t.Errorf("its progress does not say where a person can answer: %s", got)
		}
		if strings.Contains(got, "far text") || regexp.MustCompile("mcphub (approve|console)").MatchString(got) {
			t.Errorf("its client is told %s", got)
		}
	})
	t.Run("a page that was closed", func(t *testing.T) {
		t.Parallel()
		c := startWaiting(t, client, 1, "1m", from...)
		p := openPage(c.World, c.config, c.env)
		p.question(c.path)
		p.Types("\x03")
		<-p.Ended
		s := c.approver()
		s.Types(s.Sees(1, codeShown))
		s.Sees(1, terminalAllowed)
		c.goesOn()
	})
}

// approver has a person at a terminal look at what waits, once something does.
func (c *waitingClient) approver() *world.Console {
	c.T.Helper()
	if !world.Within(world.WaitLimit, func() bool {
		cmd := exec.Command(world.Hub(c.T), "status")
		cmd.Env = c.env
		out, _ := cmd.CombinedOutput()
		return strings.Contains(string(out), "terminal, console)")
	}) {
		c.T.Fatal("no question waits")
	}
	return c.Approver(c.env)
}
