package windows

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// atMost is how long a hub takes to end. A server that hangs has 2.5 s of it.
const atMost = 10 * time.Second

// state is the folder in which the hub keeps what it knows.
const state = `C:\Users\me\AppData\Local\mcphub`

// A place is where one test starts hubs: none has been there before, so that the state folder is empty.
type place struct {
	*machine
	t      *testing.T
	name   string
	config string // hub.json
	root   string
	mark   string // in the environment of each process
	log    string // what Wine writes of files, for tests that have it do so
}

// at gives a test its place, whose hub.json has these servers. The state folder is cleared first.
func at(t *testing.T, name string, servers map[string]any) *place {
	t.Helper()
	m := onWindows(t)
	m.forget(t)
	p := &place{machine: m, t: t, name: name, config: `C:\config\` + name + `\hub.json`, root: `C:\starts\` + name, mark: "MCPHUB_TEST_PLACE=" + name}
	text, err := json.MarshalIndent(map[string]any{"mcpServers": servers}, "", "  ")
	world.Must(t, errors.Join(err, m.write(p.config, string(text)), m.write(p.root+`\README.md`, "text\n")))
	t.Cleanup(func() {
		for _, left := range p.processes("") {
			t.Errorf("it has left %s", left)
		}
	})
	return p
}

// forget clears the state folder.
func (m *machine) forget(t *testing.T) {
	t.Helper()
	world.Must(t, os.RemoveAll(m.path(state)))
}

// server returns an entry for the witness, which records its calls under a name.
func server(record, command string, args ...string) map[string]any {
	return map[string]any{"command": command, "args": args, "env": map[string]string{"WITNESS_FILE": `C:\records\` + record + `.jsonl`}}
}

// processes gives the programs of C:\tools, and of other folders if the name says so, that run and were started from this place.
func (p *place) processes(program string) []world.Process {
	return slices.DeleteFunc(world.Marked(p.t, p.mark+"\x00"), func(r world.Process) bool {
		return !strings.Contains(r.Command, ".exe") || !strings.Contains(r.Command, program) || strings.Contains(r.Command, `\system32\`)
	})
}

// serve starts a hub and does the handshake.
func (p *place) serve() *ide.Client {
	p.t.Helper()
	c := p.machine.serve(p.t, p.root, ide.Result(`{"roots":[{"uri":"file:///c%3A/starts/`+p.name+`"}]}`), p.config, p.mark)
	ctx, cancel := context.WithTimeout(context.Background(), bounds.Patience)
	defer cancel()
	if _, err := c.Initialize(ctx); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// call wants a call of a server to reach it.
func (p *place) call(c *ide.Client, server string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bounds.Patience)
	defer cancel()
	if r, err := c.Tool(ctx, server+"__read", `{"path":"README.md"}`); err != nil || r.Text != has {
		p.t.Errorf("%s: %v, %s", server, err, r.Raw)
	}
}

// ends wants a hub to end well by the end of its input, in some time.
func (p *place) ends(c *ide.Client, within time.Duration) {
	p.t.Helper()
	if e := c.Close(within); e.Code != 0 || e.Killed || e.Held {
		p.t.Errorf("it ends with %+v: %s", e, c.Stderr())
	}
}

// leaves wants nothing to run that was started from this place.
func (p *place) leaves() {
	p.t.Helper()
	if !bounds.Within(bounds.Patience, func() bool { return len(p.processes("")) == 0 }) {
		p.t.Errorf("it leaves %v", p.processes(""))
	}
}

// run runs a command of the hub to its end.
func (p *place) run(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bounds.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.wine, append([]string{hub}, args...)...)
	var out, log bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.path(p.root), append(slices.Clip(p.env), p.mark), &out, &log
	err := cmd.Run()
	if ctx.Err() != nil {
		p.t.Fatalf("mcphub %q does not end: %s%s", args, &out, &log)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

func TestAHubEndsWithItsInput(t *testing.T) {
	p := at(t, "ends", map[string]any{"witness": server("ends", `C:\tools\witness.exe`)})
	c := p.serve()
	p.call(c, "witness")
	// The control: what runs is seen.
	if len(p.processes("witness.exe")) != 1 || len(p.processes("mcphub.exe")) == 0 {
		t.Errorf("these run: %v", p.processes(""))
	}
	if kept, err := filepath.Glob(p.path(state + `\*`)); len(kept) == 0 || err != nil {
		t.Errorf("the state folder: %v %v", kept, err)
	}
	p.ends(c, bounds.Of(atMost))
	p.leaves()
}

// A server that answers no call and outlives its input is killed with what it has started.
func TestAHubEndsThoughAServerHangs(t *testing.T) {
	p := at(t, "hangs", map[string]any{"hang": server("hangs", `C:\tools\witness.exe`, "hang"), "spawn": server("hangs", `C:\tools\witness.exe`, "spawn")})
	c := p.serve()
	p.call(c, "spawn")
	if _, err := c.StartTool("hang__read", `{"path":"README.md"}`); err != nil {
		t.Fatal(err)
	}
	if !bounds.Within(bounds.Patience, func() bool { return p.recorded(t, "hangs") == 2 }) {
		t.Error("the call does not reach the server that hangs")
	}
	if n := len(p.processes("witness.exe")); n != 3 {
		t.Errorf("%d servers run, want 2 and what one has started", n)
	}
	p.ends(c, bounds.Of(atMost))
	p.leaves()
}

func TestAServerThatIsKilledIsStartedAgain(t *testing.T) {
	p := at(t, "killed", map[string]any{"witness": server("killed", `C:\tools\witness.exe`)})
	c := p.serve()
	p.call(c, "witness")
	first := p.processes("witness.exe")
	if len(first) != 1 {
		t.Fatalf("%v run", first)
	}
	p.kill(first[0])
	if !bounds.Within(bounds.Patience, func() bool {
		return !slices.ContainsFunc(p.processes(""), func(r world.Process) bool { return r.PID == first[0].PID })
	}) {
		t.Fatal("it was not killed")
	}
	// The call may meet the server that is dead. It is answered so, and the next one starts the server.
	ctx, cancel := context.WithTimeout(context.Background(), bounds.Patience)
	defer cancel()
	if r, err := c.Tool(ctx, "witness__read", `{"path":"README.md"}`); err != nil || r.Text != has {
		if !strings.Contains(r.Text, "the next call starts it again") {
			t.Errorf("%v, %s", err, r.Raw)
		}
		p.call(c, "witness")
	}
	if n := p.recorded(t, "killed"); n != 2 {
		t.Errorf("the servers have %d calls", n)
	}
	p.ends(c, bounds.Patience)
	p.leaves()
}

// The hub is killed when both servers have a call: a process that the hub has made and not yet put into its job would stay, suspended.
func TestAKilledHubLeavesNothing(t *testing.T) {
	p := at(t, "dies", map[string]any{"hang": server("dies", `C:\tools\witness.exe`, "hang"), "spawn": server("dies", `C:\tools\witness.exe`, "spawn")})
	c := p.serve()
	p.call(c, "spawn")
	if _, err := c.StartTool("hang__read", `{"path":"README.md"}`); err != nil {
		t.Fatal(err)
	}
	if !bounds.Within(bounds.Patience, func() bool { return p.recorded(t, "dies") == 2 }) {
		t.Fatal("the call does not reach the server that hangs")
	}
	p.kill(world.Process{PID: c.PID()})
	p.leaves()
	c.Close(bounds.Patience)
}

// kill ends a process as the task manager does.
func (p *place) kill(r world.Process) {
	p.t.Helper()
	process, err := os.FindProcess(r.PID)
	world.Must(p.t, err)
	world.Must(p.t, process.Kill())
}

func TestTwoHubsAtATime(t *testing.T) {
	p := at(t, "two", map[string]any{"witness": server("two", `C:\tools\witness.exe`)})
	one, other := p.serve(), p.serve()
	p.call(one, "witness")
	p.call(other, "witness")
	p.ends(one, bounds.Patience)
	p.call(other, "witness")
	p.ends(other, bounds.Patience)
	p.leaves()
	if n := p.recorded(t, "two"); n != 3 {
		t.Errorf("the servers have %d calls", n)
	}
}

// Servers are programs and batch files, in folders with blanks and with letters beyond ASCII, with arguments that hold blanks.
func TestServersOfEachKindStart(t *testing.T) {
	m := onWindows(t)
	program, err := os.ReadFile(m.path(`C:\tools\witness.exe`))
	world.Must(t, err)
	servers := map[string]any{}
	for name, folder := range map[string]string{"blanks": `C:\Program Files\My Server (x64)`, "umlaut": `C:\Programme\Prüfung 日本`, "sign": `D:\new & old\100%`} {
		world.Must(t, os.MkdirAll(m.path(folder), 0o700))
		world.Must(t, os.WriteFile(m.path(folder+`\witness.exe`), program, 0o700))
		world.Must(t, m.write(folder+`\start.cmd`, "@\"C:\\tools\\witness.exe\" %*\r\n"))
		servers[name] = server("kinds", folder+`\witness.exe`, "an argument", `with "quotes"`, `and\`)
		if name != "sign" { // cmd.exe takes & in the name of a batch file for an instruction
			servers[name+"-cmd"] = server("kinds", folder+`\start.cmd`, "an argument")
		}
	}
	p := at(t, "kinds", servers)
	c := p.serve()
	for name := range servers {
		p.call(c, name)
	}
	if n := p.recorded(t, "kinds"); n != len(servers) {
		t.Errorf("the servers have %d calls", n)
	}
	p.ends(c, bounds.Patience)
	p.leaves()
}

// What is wrong in hub.json is told with its file and line, by serve and by validate.
func TestAWrongConfigurationIsTold(t *testing.T) {
	p := at(t, "wrong", nil)
	for text, want := range map[string]string{
		"{\n  \"mcpServers\": {\n    \"x\": { \"command\": \"C:\\new\\x.exe\" }\n  }\n}":     ":3:",
		"{\n  \"mcpServers\": {},\n  \"policy\": { \"rules\": [ { \"then\": \"no\" } ] }\n}": ":3:",
		"mcpServers:\n  x:\n    command: x\n":                                                ":1:",
	} {
		world.Must(t, p.write(p.config, text))
		for _, command := range []string{"serve", "validate"} {
			out, said, code := p.run(command, "--config", p.config)
			if said += out; code != 3 || !strings.Contains(said, p.config+want) {
				t.Errorf("%s of %q: exit %d, %s", command, text, code, said)
			}
		}
	}
	_, said, code := p.run("serve", "--config", `C:\config\none\hub.json`)
	if code != 3 || !strings.Contains(said, `C:\config\none\hub.json`) {
		t.Errorf("a file that is not there: exit %d, %s", code, said)
	}
}

// A call that is not answered ends at its timeout, and its server with it.
func TestACallThatIsNotAnsweredEnds(t *testing.T) {
	p := at(t, "silent", map[string]any{"hang": server("silent", `C:\tools\witness.exe`, "hang")})
	_, said, code := p.run("call", "hang__read", "path=README.md", "--root", ".", "--timeout", "3s", "--config", p.config)
	if code != 8 || !strings.Contains(said, "no answer within 3s") {
		t.Errorf("exit %d, %s", code, said)
	}
	p.leaves()
}

func TestCommands(t *testing.T) {
	p := at(t, "commands", map[string]any{"witness": server("commands", `C:\tools\witness.exe`)})
	config := []string{"--config", p.config}
	for _, c := range []struct {
		args []string
		code int
		want string // an expression that fits what it prints
	}{
		{[]string{"version"}, 0, `^mcphub .*windows/amd64`},
		{[]string{"validate"}, 0, `witness +C:\\tools\\witness\.exe\r?\n(?s:.*)ok\r?\n$`},
		{[]string{"tools"}, 0, `witness__read `},
		{[]string{"tools", "witness", "--json"}, 0, `"toolName": ?"read_many"`},
		{[]string{"doctor"}, 0, `: 1 server with 17 tools, 1 client`},
		{[]string{"list"}, 0, `witness +command`},
		{[]string{"explain", "witness__read", `path=C:\outside\secret.txt`, "--root", "."}, 6, `witness__read: DENY \(boundary\)(?s:.*)C:\\outside\\secret\.txt`},
		{[]string{"explain", "witness__read", `path=C:\starts\commands\README.md`, "--root", "."}, 0, `witness__read: ALLOW`},
		{[]string{"call", "witness__read", "path=README.md", "--root", "."}, 0, "^" + has + `\r?\n$`},
		{[]string{"call", "witness__read", `path=..\..\outside\secret.txt`, "--root", "."}, 6, `^Access denied: Path '\.\.\\\.\.\\outside\\secret\.txt' is outside`},
		{[]string{"call", "witness__read", `path=C:\work\app\README.md`, "--root", `C:\work\app`}, 0, "^" + has},
		{[]string{"call", "nothing__read", "path=x", "--root", "."}, 5, `Unknown tool`},
		{[]string{"roots", "--contains", `C:\starts\commands\x`, "--root", "."}, 0, ``},
		{[]string{"roots", "--contains", `C:\starts\command`, "--root", "."}, 1, ``},
		{[]string{"roots", "--contains", `..\commands\x`, "--root", `C:\STARTS\Commands`}, 0, ``},
	} {
		args := c.args
		if args[0] != "version" {
			args = append(slices.Clip(args), config...)
		}
		out, said, code := p.run(args...)
		if code != c.code || !regexp.MustCompile(c.want).MatchString(out+said) {
			t.Errorf("mcphub %q: exit %d, want %d and %q\n%s%s", args, code, c.code, c.want, out, said)
		}
		p.leaves()
	}
	if n := p.recorded(t, "commands"); n != 2 {
		t.Errorf("the server has %d calls", n)
	}
}
