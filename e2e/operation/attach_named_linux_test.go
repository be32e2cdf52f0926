package operation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// run runs a command of the program in a folder.
func (a *attached) run(dir string, args ...string) string {
	a.T.Helper()
	cmd := exec.Command(world.Hub(a.T), append(slices.Clone(args), "--config", a.config)...)
	if slices.Contains([]string{"status", "reload"}, args[0]) {
		cmd.Args = cmd.Args[:len(cmd.Args)-2]
	}
	cmd.Dir, cmd.Env = dir, a.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	a.T.Logf("mcphub %s (%v)\n%s", strings.Join(args, " "), err, &out)
	return out.String()
}

// apart is ready for a client that is a process of its own, and not this test.
func (a *attached) apart(root string) *ide.Client {
	a.T.Helper()
	line := []string{"-c", `"$@"; exit $?`, "sh", world.Hub(a.T), "serve", "--config", a.config}
	c, err := ide.Start(ide.Options{Command: "sh", Args: line, Dir: root, Env: a.env, Roots: ide.Folders(root)})
	world.Must(a.T, err)
	a.T.Cleanup(func() { c.Close(world.StopBound) })
	_, err = c.Initialize(a.wait())
	world.Must(a.T, err)
	return c
}

// wants holds what a command says, and what it does not say.
func (a *attached) wants(text string, want, not []string) {
	a.T.Helper()
	for _, w := range want {
		if !regexp.MustCompile(w).MatchString(text) {
			a.T.Errorf("%q is missing in\n%s", w, text)
		}
	}
	for _, n := range not {
		if strings.Contains(text, n) {
			a.T.Errorf("%q is in\n%s", n, text)
		}
	}
}

// Each command says about three clients in two folders whose session it is about.
func TestCommandsNameWhoSharesAHub(t *testing.T) {
	t.Parallel()
	a := sharing(t, nil)
	children := obj{"files": obj{"builtin": "files"}}
	for name, share := range map[string]string{"own": "session", "some": "roots", "all": "all"} {
		children[name] = world.WithKey(a.Recorder(name, "-stderr-flood", "40"), "share", share)
	}
	a.config = a.Config(children, obj{
		"attach": obj{"mode": "auto", "idle": "400ms"}, "approval": obj{"local": "tty"},
		"policy": obj{"rules": []obj{{"name": "ask", "then": "escalate", "if": obj{"servers": []string{"own"}, "paths": obj{"outside": true}}}}},
	})
	secret := a.Write("outside/secret.txt", "secret")
	clients := []*ide.Client{a.apart(a.Project), a.apart(a.Project), a.apart(a.Other)}
	for _, c := range clients {
		for _, name := range []string{"own", "some", "all"} {
			a.started(c, name)
		}
	}
	sessions := a.status().Hubs[0].Sessions
	in := func(i int) string {
		return fmt.Sprintf("fake-ide 1 in %s, process %d", regexp.QuoteMeta(sessions[i].Folder), clients[i].PID())
	}
	id := func(i int) string { return sessions[i].ID[:8] }
	first, second, third := id(0), id(1), id(2)
	if _, err := clients[2].Tool(a.wait(), "files__read_text_file", world.PathArgs(t, secret)); err != nil {
		t.Fatal(err)
	}

	a.wants(a.run(a.Home, "status"), []string{
		`(?m)^own .* ` + first + `$`, `(?m)^own .* ` + third + `$`, `(?m)^all .* \w{8}, \w{8}, \w{8}$`, `(?m)^some .* ` + third + `$`,
		first + ": in " + regexp.QuoteMeta(a.Project) + `, for process \d+`, third + ": in " + regexp.QuoteMeta(a.Other) + `, for process \d+`,
	}, nil)
	a.wants(a.run(a.Home, "status", "-v"), []string{`for +` + first + ", " + in(0), `for +` + third + ", " + in(2)}, nil)
	a.wants(a.run(a.Home, "logs", "own"), []string{first + ": " + in(0), second + ": " + in(1), third + ": " + in(2), `own\[\d+\] ` + third + ": "}, nil)
	a.wants(a.run(a.Home, "logs", "some"), []string{`roots-\w\w: ` + in(0), `roots-\w\w: ` + in(1), `roots-\w\w: ` + in(2)}, nil)
	a.wants(a.run(a.Home, "logs", "own", "--json"), []string{`"session":"` + third + `","clients":\[\{"client":"fake-ide 1","folder":"` + regexp.QuoteMeta(a.Other)}, nil)
	a.wants(a.run(a.Other, "why"), []string{"session " + third + " of " + in(2)}, []string{first})
	a.wants(a.run(a.Project, "why"), []string{"nothing was refused"}, []string{third})
	a.wants(a.run(a.Home, "why", "--all", "--json"), []string{`(?s)"client": "fake-ide 1",\s+"folder": "` + regexp.QuoteMeta(a.Other)}, nil)
	a.wants(a.run(a.Home, "audit", "show"), []string{`(?m)` + third + ` \(` + in(2) + `\) files read_text_file: deny`, first + ` \(` + in(0) + `\) own whoami: allow`}, nil)
	a.wants(a.run(a.Home, "audit", "show", "--json", "--denied"), []string{`"folder":"` + regexp.QuoteMeta(a.Other)}, nil)
	a.wants(a.run(a.Home, "restart", "own"), []string{`own restarted, 3 processes`, "of session " + first + ", " + in(0), "of session " + third + ", " + in(2)}, nil)
	a.wants(a.run(a.Home, "restart", "some", "--json"), []string{`"folder": "` + regexp.QuoteMeta(a.Other)}, nil)
	a.wants(a.run(a.Home, "reload"), []string{`hub \d+, which 3 clients share: .* read again`}, nil)

	asked := make(chan string, 1)
	ctx := a.wait()
	go func() {
		r, err := clients[1].Tool(ctx, "own__echo", world.PathArgs(t, secret))
		asked <- fmt.Sprint(r, err)
	}()
	if !world.Within(world.WaitLimit, func() bool { return strings.Contains(a.run(a.Home, "status"), "waits for a person (terminal)") }) {
		t.Fatal("no question waits")
	}
	list := a.Approver(a.env, func(c *exec.Cmd) { c.Args = append(c.Args, "list") })
	list.Sees(1, "session "+second+" of "+in(1)+", waiting")
	ours := a.ready(a.Other) // what this client has started, this test, approves for none
	refused := a.Approver(a.env)
	refused.Sees(1, "what the hub's client starts may not approve")
	ours.Close(world.StopBound)
	s := a.Approver(a.env)
	s.Sees(1, "session "+second+" of "+in(1)+", waiting")
	s.Sees(1, `Type \w+ \w+ to allow`)
	s.Types("n")
	s.Sees(1, "It is denied")
	if text := <-asked; !strings.Contains(text, "the person said no") {
		t.Errorf("it was answered with %q", text)
	}

	for _, c := range clients {
		c.Close(world.StopBound)
	}
	a.ends()
	a.wants(a.run(a.Home, "logs", "own"), []string{third + ": " + in(2)}, nil) // of what has ended the record tells
	a.wants(a.run(a.Home, "audit", "verify"), []string{"whole"}, nil)
	if said, ok := independent(a.World, world.RequireNode(t), a.AuditDir()); !ok {
		t.Error(said)
	}
	files, err := filepath.Glob(filepath.Join(a.AuditDir(), "*.jsonl"))
	world.Must(t, err)
	lines := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		world.Must(t, err)
		for line := range bytes.Lines(b) {
			var e struct{ Kind, Client, Folder, Session string }
			world.Must(t, json.Unmarshal(line, &e))
			if e.Kind == "session" {
				lines++
				if e.Client != "fake-ide 1" || e.Folder == "" || e.Session == "" {
					t.Errorf("%s", line)
				}
			}
		}
	}
	if lines != len(clients)+1 {
		t.Errorf("%d lines of sessions", lines)
	}
}

// What there is to say about hub.json is said to each client that attaches, as by a hub of its own.
func TestAttachedClientsAreToldOfHubJSON(t *testing.T) {
	t.Parallel()
	a := sharing(t, nil)
	servers := obj{"rec": a.Recorder("rec")}
	shared := obj{"attach": obj{"mode": "auto", "idle": "400ms"}}
	a.config = a.Config(servers, shared, obj{"policy": obj{"rules": []obj{{"name": "idle", "then": "escalate", "serve": true, "if": obj{"tools": []string{"none"}}}}}})
	told := func(c *ide.Client, want string) {
		t.Helper()
		if !world.Within(world.WaitLimit, func() bool { return strings.Contains(c.Stderr(), want) }) {
			t.Errorf("%q is not said: %s", want, c.Stderr())
		}
	}
	const warning = "the rule names no directory"
	told(a.ready(a.Project), warning)
	told(a.ready(a.Other), warning)

	good, err := os.ReadFile(a.config)
	world.Must(t, err)
	world.Must(t, os.WriteFile(a.config, []byte(strings.Replace(string(good), `"mcpServers"`, `"limits": "none", "mcpServers"`, 1)), 0o600))
	a.run(a.Home, "reload")
	late := a.ready(a.Project)
	told(late, "hub.json is not taken as it is now")
	told(late, "limits")

	a.config = a.Config(servers, shared)
	a.run(a.Home, "reload")
	last := a.ready(a.Other)
	told(last, "client connected") // the first line of the session's own log
	for _, not := range []string{warning, "not taken"} {
		if strings.Contains(last.Stderr(), not) {
			t.Errorf("%q is said: %s", not, last.Stderr())
		}
	}
}

// doctor says whether clients share a hub, and what keeps one from it: a hub that ends four times within a minute is not started again.
func TestDoctorSaysWhoShares(t *testing.T) {
	t.Parallel()
	a := sharing(t, nil)
	a.config = a.Config(obj{"rec": a.Recorder("rec")}, obj{"attach": obj{"mode": "auto", "idle": "400ms"}})
	a.wants(a.run(a.Project, "doctor", "-v"), []string{`clients +share a hub`}, []string{"has a hub of its own"})
	c := a.ready(a.Project)
	for range 4 {
		a.started(c, "rec") // at the next hub
		kill(t, a.status().Hubs[0].PID)
	}
	<-c.Exited()
	if !world.Within(world.WaitLimit, func() bool { return strings.Contains(c.Stderr(), "the shared hub ended 4 times within a minute") }) {
		t.Errorf("the client is not told: %s", c.Stderr())
	}
	a.wants(a.run(a.Project, "doctor"), []string{`warning .*a client that is started from here has a hub of its own, although hub.json says attach: the shared hub ended 4 times`}, nil)
	a.ready(a.Project)
	a.wants(a.run(a.Project, "doctor"), []string{`warning .*serves one client alone, although hub.json says attach: the shared hub ended 4 times`}, nil)
}
