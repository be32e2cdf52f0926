package operation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// maxClients are the fifteen that init is tried with, each with the file and the form in which it keeps servers.
var maxClients = []struct {
	name, file string
	text       func(servers []initServer) string
	off        string // how a server is switched off there; "": it is taken out
}{
	{"claude-code", ".claude.json", jsonServers("mcpServers"), ""},
	{"claude-desktop", "config/Claude/claude_desktop_config.json", jsonServers("mcpServers"), ""},
	{"cursor", ".cursor/mcp.json", jsonServers("mcpServers"), ""},
	{"vscode", "config/Code/User/mcp.json", jsonServers("servers"), ""},
	{"windsurf", ".codeium/windsurf/mcp_config.json", jsonServers("mcpServers"), `"disabled": true`},
	{"zed", "config/zed/settings.json", jsonServers("context_servers"), `"enabled": false`},
	{"codex", ".codex/config.toml", tomlServers, "enabled = false"},
	{"gemini", ".gemini/settings.json", jsonServers("mcpServers"), ""},
	{"opencode", "config/opencode/opencode.json", opencodeServers, `"enabled": false`},
	{"cline", ".cline/data/settings/cline_mcp_settings.json", jsonServers("mcpServers"), `"disabled": true`},
	{"roo", "config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", jsonServers("mcpServers"), `"disabled": true`},
	{"goose", "config/goose/config.yaml", gooseServers, "enabled: false"},
	{"continue", ".continue/config.yaml", continueServers, ""},
	{"copilot", ".copilot/mcp-config.json", jsonServers("mcpServers"), ""},
	{"lm-studio", ".lmstudio/mcp.json", jsonServers("mcpServers"), ""},
}

// initServer is one that a client runs.
type initServer struct {
	name    string
	command string
	args    []string
	env     [][2]string
	cwd     string
	fails   string // what init says about it; "": it works
	kept    string // where its secret goes; "": it has none
}

func (s *initServer) table() obj {
	env := obj{}
	for _, v := range s.env {
		env[v[0]] = v[1]
	}
	out := obj{"command": s.command, "args": append([]string{}, s.args...), "env": env}
	if s.cwd != "" {
		out["cwd"] = s.cwd
	}
	return out
}

func jsonServers(key string) func([]initServer) string {
	return func(servers []initServer) string {
		all := obj{}
		for i := range servers {
			all[servers[i].name] = servers[i].table()
		}
		text, _ := json.MarshalIndent(obj{key: all}, "", "  ") // of texts
		return string(text)
	}
}

func opencodeServers(servers []initServer) string {
	all := obj{}
	for i := range servers {
		s := servers[i].table()
		all[servers[i].name] = obj{"type": "local", "command": append([]string{servers[i].command}, servers[i].args...), "environment": s["env"], "cwd": s["cwd"], "enabled": true}
		if s["cwd"] == nil {
			delete(all[servers[i].name].(obj), "cwd")
		}
	}
	text, _ := json.MarshalIndent(obj{"mcp": all}, "", "  ")
	return string(text)
}

func tomlServers(servers []initServer) string {
	var b strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&b, "[mcp_servers.%s]\ncommand = %q\nargs = [", s.name, s.command)
		for _, a := range s.args {
			fmt.Fprintf(&b, "%q, ", a)
		}
		b.WriteString("]\n")
		if s.cwd != "" {
			fmt.Fprintf(&b, "cwd = %q\n", s.cwd)
		}
		fmt.Fprintf(&b, "\n[mcp_servers.%s.env]\n", s.name)
		for _, v := range s.env {
			fmt.Fprintf(&b, "%s = %q\n", v[0], v[1])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// yamlServer returns a server as a mapping, all texts in the form of JSON.
func yamlServer(s initServer, indent, command, env string) string {
	args, _ := json.Marshal(append([]string{}, s.args...))
	vars, _ := json.Marshal(s.table()["env"])
	text := fmt.Sprintf("%s%s: %q\n%sargs: %s\n%s%s: %s\n", indent, command, s.command, indent, args, indent, env, vars)
	if s.cwd != "" {
		text += fmt.Sprintf("%scwd: %q\n", indent, s.cwd)
	}
	return text
}

func gooseServers(servers []initServer) string {
	text := "extensions:\n"
	for _, s := range servers {
		text += fmt.Sprintf("  %s:\n    enabled: true\n    type: stdio\n    name: %s\n", s.name, s.name) + yamlServer(s, "    ", "cmd", "envs")
	}
	return text
}

func continueServers(servers []initServer) string {
	text := "name: Local\nversion: 1.0.0\nschema: v1\nmcpServers:\n"
	for _, s := range servers {
		text += "  - name: " + s.name + "\n" + yamlServer(s, "    ", "command", "env")
	}
	return text
}

// fortyServers are as many, of which ten cannot run: a program, a key, a folder or a socket is missing. Two are bots of which
// no second process may run beside the first: they note that they have begun and ended.
func fortyServers(w *world.World) []initServer {
	var all []initServer
	recorder := ownRecorder(w)
	shell := func(fails, script string) initServer {
		return initServer{command: "sh", args: []string{"-c", script + "; exec " + recorder, fmt.Sprint(len(all))}, fails: fails}
	}
	for i := range 3 {
		all = append(all, initServer{command: fmt.Sprintf("no-such-program-%d", i), fails: "was not found in PATH"})
		all = append(all, shell("SERVICE_API_KEY is required", `test -n "$SERVICE_API_KEY" || { echo "Error: SERVICE_API_KEY is required" >&2; exit 1; }`))
	}
	for range 2 {
		all = append(all, initServer{command: world.Bin.Recorder, cwd: w.Path("gone"), env: [][2]string{{"MARK", fmt.Sprint(len(all))}}, fails: "there is no folder " + w.Path("gone")})
		all = append(all, shell("connect "+w.Path("no.sock"), `test -S `+w.Path("no.sock")+` || { echo "Error: connect `+w.Path("no.sock")+`: no such file or directory" >&2; exit 1; }`))
	}
	bot := `mkdir bot-$0.lock || { echo "another instance is already running" >&2; exit 1; }; echo begin $0 >>bots.log; ` + recorder + `; echo end $0 >>bots.log; rmdir bot-$0.lock`
	for _, name := range []string{"a", "b"} {
		all = append(all, initServer{command: "sh", args: []string{"-c", bot, name}})
	}
	for len(all) < 40 {
		s := initServer{command: world.Bin.Recorder, env: [][2]string{{"MARK", fmt.Sprint(len(all))}}}
		if n := len(all); n%5 == 0 {
			s.env = append(s.env, [2]string{"KEY", fmt.Sprintf("plain-secret-%d", n)})
			s.kept = "KEY"
		}
		all = append(all, s)
	}
	for i := range all {
		all[i].name = fmt.Sprintf("s%02d", i)
		if all[i].kept != "" {
			all[i].kept = "the secret of env.KEY is kept outside of hub.json, as " + all[i].name + "/KEY"
		}
	}
	return all
}

// ownRecorder returns a recorder in the root, if a shell that the kernel holds may run it.
func ownRecorder(w *world.World) string {
	w.T.Helper()
	program, err := os.ReadFile(world.Bin.Recorder)
	world.Must(w.T, err)
	path := w.Write("project/recorder", string(program))
	world.Must(w.T, os.Chmod(path, 0o700))
	return path
}

// initYes runs mcphub init --yes in the project, and gives what it printed and how it ended.
func initYes(w *world.World, args ...string) (said string, status int) {
	w.T.Helper()
	cmd := exec.Command(world.Hub(w.T), append([]string{"init", "--yes"}, args...)...)
	cmd.Env, cmd.Dir = w.Env("DBUS_SESSION_BUS_ADDRESS=unix:path="+w.Path("none")), w.Project
	out, _ := cmd.CombinedOutput() // the status tells
	return string(out), cmd.ProcessState.ExitCode()
}

// hubEntries returns the servers of the hub.json that init has made.
func hubEntries(w *world.World) map[string]map[string]any {
	w.T.Helper()
	text, err := os.ReadFile(w.Path("home", "config", "mcphub", "hub.json"))
	world.Must(w.T, err)
	var hub struct {
		MCPServers map[string]map[string]any `json:"mcpServers"`
	}
	world.Must(w.T, json.Unmarshal(text, &hub))
	return hub.MCPServers
}

// TestInitTakesNothingAwayThatDoesNotWork: fifteen clients have forty servers, ten of which cannot run. Those stay on in their
// clients, each with its reason, and hub.json has them disabled; the others are taken over. Of each is said what it will be
// able to open, and where its secret went.
func TestInitTakesNothingAwayThatDoesNotWork(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	w := world.New(t)
	servers := fortyServers(w)
	of := make([][]initServer, len(maxClients))
	for i, s := range servers {
		of[i%len(of)] = append(of[i%len(of)], s)
	}
	long := strings.Repeat("long-value-", 300)
	of[0][2].env = append(of[0][2].env, [2]string{"LONG", long})
	for i, c := range maxClients {
		w.Write("home/"+c.file, c.text(of[i]))
	}
	said, status := initYes(w, "-v")
	if status != 1 || !strings.Contains(said, "10 servers not served by the hub yet") {
		t.Errorf("it ends with %d", status)
	}
	if !strings.Contains(said, "LONG="+long) || strings.Contains(said, "plain-secret") {
		t.Error("a value is clipped, or a secret is shown")
	}
	entries := hubEntries(w)
	for i, c := range maxClients {
		text, err := os.ReadFile(w.Path("home", c.file))
		world.Must(t, err)
		if !strings.Contains(string(text), "serve") {
			t.Errorf("%s has no hub: %s", c.name, text)
		}
		gone := 0
		for _, s := range of[i] {
			there := regexp.MustCompile(`\b` + s.name + `\b`).Match(text)
			stays := regexp.MustCompile(`stays on there: ` + s.name + `: .*` + regexp.QuoteMeta(s.fails)).MatchString(said)
			if works := s.fails == ""; works == (entries[s.name]["disabled"] == true) || !works && (!there || !stays) || works && there && c.off == "" {
				t.Errorf("%s of %s: in hub.json %v, in its client %t, its reason is said %t", s.name, c.name, entries[s.name], there, stays)
			}
			if s.fails == "" {
				gone++
			}
			ledger := regexp.MustCompile(`(?m)^  \d+ of 40  ` + s.name + `: (works, with \d+ tools|does not work: .*)$(?:\n       .*)*?\n       opens:  what its client has open`)
			if !ledger.MatchString(said) {
				t.Errorf("what %s opens is not said", s.name)
			}
			if !strings.Contains(said, s.kept) {
				t.Errorf("where the secret of %s went is not said", s.name)
			}
		}
		if n := strings.Count(string(text), c.off); c.off != "" && n != gone {
			t.Errorf("%s has switched off %d of %d: %s", c.name, n, gone, text)
		}
	}
	bots, err := os.ReadFile(filepath.Join(w.Project, "bots.log"))
	world.Must(t, err)
	// Each runs as the hub runs it and as its client does, and has ended before the next begins.
	if want := strings.Repeat("begin a\nend a\n", 2) + strings.Repeat("begin b\nend b\n", 2); string(bots) != want {
		t.Errorf("the bots ran thus:\n%s", bots)
	}
	if t.Failed() {
		t.Log(said)
	}
}

// TestInitForOthers runs it again as an ordinary user.
func TestInitForOthers(t *testing.T) {
	t.Parallel()
	world.AsOrdinaryUser(t, []string{"TestInitTakesNothingAwayThatDoesNotWork"})
}

// TestInitTellsWhatTheKernelRefuses: one server does not start under the kernel, one offers less. Both stay on in their client,
// with the line that mends it; once it is opened, they are taken over. The control is a server that needs nothing.
func TestInitTellsWhatTheKernelRefuses(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	w := world.New(t)
	secret, recorder := w.Path("outside", "secret.txt"), ownRecorder(w)
	refuses := w.Write("bin/refuses", "#!/bin/sh\ncat "+secret+" >/dev/null || exit 3\nexec "+recorder+"\n")
	less := w.Write("bin/less", "#!/bin/sh\ncat "+secret+" >/dev/null 2>&1 || exec "+recorder+"\nexec "+recorder+" --offers\n")
	world.Must(t, os.Chmod(refuses, 0o700))
	world.Must(t, os.Chmod(less, 0o700))
	w.Write("home/.cursor/mcp.json", world.Raw(t, obj{"mcpServers": obj{"refuses": obj{"command": refuses}, "less": obj{"command": less}, "plain": obj{"command": world.Bin.Recorder}}}))
	said, status := initYes(w)
	for _, want := range []string{
		"refuses: does not work: the kernel holds it, and so it does not start: exited with status 3",
		"run:    mcphub learn refuses --confirm\n",
		"closed: it reads " + secret + "\n",
		"less: does not work: the kernel holds it, and so it does not offer the prompt ",
		"run:    mcphub learn less --confirm\n",
		"plain: works, with ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said", want)
		}
	}
	entries := hubEntries(w)
	if status != 1 || entries["refuses"]["disabled"] != true || entries["less"]["disabled"] != true || entries["plain"]["disabled"] != nil {
		t.Errorf("it ends with %d: %v\n%s", status, entries, said)
	}
	// An allowed path counts as one that was confirmed.
	for _, name := range []string{"refuses", "less"} {
		line := exec.Command("sh", "-c", "mcphub allow "+name+" "+secret)
		line.Env, line.Dir = append(w.Env(), "PATH="+world.Bin.Dir+":"+os.Getenv("PATH")), w.Project
		if out, err := line.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	said, status = initYes(w)
	text, err := os.ReadFile(w.Path("home", ".cursor", "mcp.json"))
	world.Must(t, err)
	if entries = hubEntries(w); status != 0 || strings.Contains(string(text), "refuses") || strings.Contains(string(text), "less") || entries["less"]["disabled"] == true {
		t.Errorf("mended, it ends with %d: %v\n%s\n%s", status, entries, text, said)
	}
}
