package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/internal/clients"
)

// registrations matches the table of docs/clients.md that says what each registration comes to.
var registrations = regexp.MustCompile(`(?m)^\| client \| roots come from \|.*\n\|[-|]+\n((?:\|.*\n)+)`)

// TestRegistrationsHold makes a table of docs/clients.md: each client is registered by install, in a project and in the home
// folder, and the hub is started as the client's file says, by a client that gives roots where that one does. How many of three
// servers the kernel holds is what get-roots says.
func TestRegistrationsHold(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	rows := ""
	for i := range clients.All {
		c := &clients.All[i]
		from := map[clients.Roots]string{clients.GivesRoots: "the client", clients.ListsRoots: "its entry, which init fills", clients.StartsIn: "the folder that it is started in", clients.NoRoots: "`--roots` in its entry"}[c.Roots]
		inProject, said := registeredHolds(t, c, true)
		atHome, why := registeredHolds(t, c, false)
		rows += fmt.Sprintf("| %s | %s | %d of 3 | %d of 3 |\n", c.Title, from, inProject, atHome)
		if inProject != 3 {
			t.Errorf("%s: %d of 3 servers are held: %s", c.Name, inProject, said)
		}
		if told := strings.Contains(why, "without folders no boundary holds"); told != (atHome == 0) {
			t.Errorf("%s: %d of 3 servers are held, and it is said: %s", c.Name, atHome, why)
		}
	}
	const file = "../docs/clients.md"
	page, err := os.ReadFile(file)
	must(t, err)
	at := registrations.FindSubmatchIndex(page)
	if at == nil {
		t.Fatal("docs/clients.md has no table of registrations")
	}
	want := string(page[:at[2]]) + rows + string(page[at[3]:])
	if *update {
		must(t, os.WriteFile(file, []byte(want), 0o600))
	} else if want != string(page) {
		t.Errorf("the table of docs/clients.md is out of date, run go test ./e2e -run TestRegistrationsHold -update:\n%s", rows)
	}
}

// registeredHolds registers the hub in a client, in the project or in the home folder, and starts it as the client would with
// the project open.
func registeredHolds(t *testing.T, c *clients.Profile, project bool) (held int, said string) {
	t.Helper()
	w := newWorld(t)
	w.write("home/config/mcphub/hub.json", raw(t, obj{"mcpServers": obj{"a": w.recorder("a"), "b": w.recorder("b"), "c": w.recorder("c")}}))
	place := w.project
	if !project {
		w.project = w.home
	}
	said = w.says(nil, mcphub(t), "install", c.Name, "--yes")
	w.project = place
	home := map[string]string{"XDG_CONFIG_HOME": w.path("home", "config")}
	found, err := clients.Read(c, clients.Env{OS: "linux", Home: w.home, Get: func(name string) string { return home[name] }})
	must(t, err)
	if len(found.HubProgram) == 0 {
		t.Fatalf("%s is not registered: %s", c.Name, said)
	}
	o := ide.Options{Command: found.HubProgram[0], Args: found.HubProgram[1:], Dir: w.project, Env: w.env(), Capabilities: `{}`}
	if c.Roots == clients.GivesRoots || c.Roots == clients.ListsRoots && project { // what its entry lists, it gives
		o.Capabilities, o.Roots = ide.DefaultCapabilities, ide.Folders(w.project)
	}
	s := w.start(o)
	s.initialize()
	for _, name := range []string{"a", "b", "c"} {
		s.awaitTool(name + "__echo")
	}
	held = strings.Count(s.call("get-roots", `{}`).Text, `"kernel": "held"`)
	s.end(stopBound)
	return held, said
}
