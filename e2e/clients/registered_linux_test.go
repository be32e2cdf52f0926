package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// What gives a client's roots, in the words of docs/clients.md.
const (
	byClient = "the client"
	byFolder = "the folder that it is started in"
	byEntry  = "its entry, which init fills"
	byFlag   = "`--roots` in its entry"
)

// registrable are the clients that install knows, in its order.
var registrable = []struct{ name, title, roots string }{
	{"claude-code", "Claude Code", byClient},
	{"claude-desktop", "Claude Desktop", byFlag},
	{"cursor", "Cursor", byClient},
	{"vscode", "VS Code", byClient},
	{"windsurf", "Windsurf", byFlag},
	{"zed", "Zed", byFlag},
	{"codex", "Codex", byFolder},
	{"gemini", "Gemini CLI", byClient},
	{"opencode", "opencode", byClient},
	{"cline", "Cline", byFlag},
	{"roo", "Roo Code", byFlag},
	{"goose", "Goose", byClient},
	{"continue", "Continue", byFlag},
	{"copilot", "Copilot CLI", byFlag},
	{"lm-studio", "LM Studio", byFlag},
	{"mcporter", "mcporter", byFlag},
	{"inspector", "MCP Inspector", byEntry},
}

// registrations matches the table of docs/clients.md that says what each registration comes to.
var registrations = regexp.MustCompile(`(?m)^\| client \| roots come from \|.*\n\|[-|]+\n((?:\|.*\n)+)`)

// TestRegistrationsHold makes a table of docs/clients.md: each client is registered by install, in a project and in the home
// folder, and the hub is started as the client's file says, by a client that gives roots if that one does. How many of three
// servers the kernel holds is what get-roots says. Clients that start a hub in the same way share one start; in the long series
// each has its own.
func TestRegistrationsHold(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	rows := ""
	names := []string{}
	counts := map[string]int{} // by the way in which the hub was started
	for _, c := range registrable {
		names = append(names, c.name)
		inProject, said := registeredHolds(t, c.name, c.roots, true, counts)
		atHome, why := registeredHolds(t, c.name, c.roots, false, counts)
		rows += fmt.Sprintf("| %s | %s | %d of 3 | %d of 3 |\n", c.title, c.roots, inProject, atHome)
		if inProject != 3 {
			t.Errorf("%s: %d of 3 servers are held: %s", c.name, inProject, said)
		}
		if told := strings.Contains(why, "without folders no boundary holds"); told != (atHome == 0) {
			t.Errorf("%s: %d of 3 servers are held, and it is said: %s", c.name, atHome, why)
		}
	}
	if help, err := exec.CommandContext(t.Context(), world.Hub(t), "install", "--help").Output(); err != nil || !strings.Contains(string(help), "Clients: "+strings.Join(names, ", ")+".") {
		t.Errorf("install knows other clients than %v: %s (%v)", names, help, err)
	}
	file := world.Source("docs", "clients.md")
	page, err := os.ReadFile(file)
	world.Must(t, err)
	at := registrations.FindSubmatchIndex(page)
	if at == nil {
		t.Fatal("docs/clients.md has no table of registrations")
	}
	want := string(page[:at[2]]) + rows + string(page[at[3]:])
	if *world.Update {
		world.Must(t, os.WriteFile(file, []byte(want), 0o600))
	} else if want != string(page) {
		t.Errorf("the table of docs/clients.md is out of date, run go test ./e2e/clients -run TestRegistrationsHold -update:\n%s", rows)
	}
}

// givenRoots matches the roots in a hub's arguments, as JSON, TOML and YAML have them.
var givenRoots = regexp.MustCompile(`--roots"?[,\s-]+"?([^"\],\s]+)`)

// registeredHolds registers the hub in a client, in the project or in the home folder, and starts it as the client would with
// the project open. It starts no hub if counts has the result of a hub that was started in that way.
func registeredHolds(t *testing.T, client, roots string, project bool, counts map[string]int) (held int, said string) {
	t.Helper()
	w := world.New(t)
	w.Write("home/config/mcphub/hub.json", world.Raw(t, obj{"mcpServers": obj{"a": w.Recorder("a"), "b": w.Recorder("b"), "c": w.Recorder("c")}}))
	place := w.Project
	if !project {
		w.Project = w.Home
	}
	said = says(w, nil, world.Hub(t), "install", client, "--yes")
	var printed struct{ Clients []struct{ File string } }
	if out := says(w, nil, world.Hub(t), "install", client, "--print", "--json"); json.Unmarshal([]byte(out), &printed) != nil || len(printed.Clients) != 1 {
		t.Fatalf("install --print gives no file of %s: %s", client, out)
	}
	w.Project = place
	text, err := os.ReadFile(printed.Clients[0].File)
	world.Must(t, err)
	if !strings.Contains(string(text), world.Hub(t)) {
		t.Fatalf("%s is not registered: %s", client, said)
	}
	args := []string{"serve"}
	if m := givenRoots.FindSubmatch(text); m != nil {
		args = append(args, "--roots", string(m[1]))
	}
	o := ide.Options{Command: world.Hub(t), Args: args, Dir: w.Project, Env: w.Env(), Capabilities: `{}`}
	if roots == byClient || roots == byEntry && project { // what its entry lists, it gives
		o.Capabilities, o.Roots = ide.DefaultCapabilities, ide.Folders(w.Project)
	}
	way := strings.ReplaceAll(fmt.Sprint(o.Args, o.Capabilities), w.Dir, "")
	if held, known := counts[way]; known && !world.Long {
		return held, said
	}
	s := w.Start(o)
	s.Handshake()
	for _, name := range []string{"a", "b", "c"} {
		s.AwaitTool(name + "__echo")
	}
	held = strings.Count(s.MustCall("get-roots", `{}`).Text, `"kernel": "held"`)
	s.End(world.StopBound)
	counts[way] = held
	return held, said
}
