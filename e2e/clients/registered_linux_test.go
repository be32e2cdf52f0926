package clients

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
	"mcphub/internal/clients"
)

// registrations matches the table of docs/clients.md that says what each registration comes to.
var registrations = regexp.MustCompile(`(?m)^\| client \| roots come from \|.*\n\|[-|]+\n((?:\|.*\n)+)`)

// TestRegistrationsHold makes a table of docs/clients.md: each client is registered by install, in a project and in the home
// folder, and the hub is started as the client's file says, by a client that gives roots where that one does. How many of three
// servers the kernel holds is what get-roots says.
func TestRegistrationsHold(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
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

// registeredHolds registers the hub in a client, in the project or in the home folder, and starts it as the client would with
// the project open.
func registeredHolds(t *testing.T, c *clients.Profile, project bool) (held int, said string) {
	t.Helper()
	w := world.New(t)
	w.Write("home/config/mcphub/hub.json", world.Raw(t, obj{"mcpServers": obj{"a": w.Recorder("a"), "b": w.Recorder("b"), "c": w.Recorder("c")}}))
	place := w.Project
	if !project {
		w.Project = w.Home
	}
	said = says(w, nil, world.Hub(t), "install", c.Name, "--yes")
	w.Project = place
	home := map[string]string{"XDG_CONFIG_HOME": w.Path("home", "config")}
	found, err := clients.Read(c, clients.Env{OS: "linux", Home: w.Home, Get: func(name string) string { return home[name] }})
	world.Must(t, err)
	if len(found.HubProgram) == 0 {
		t.Fatalf("%s is not registered: %s", c.Name, said)
	}
	o := ide.Options{Command: found.HubProgram[0], Args: found.HubProgram[1:], Dir: w.Project, Env: w.Env(), Capabilities: `{}`}
	if c.Roots == clients.GivesRoots || c.Roots == clients.ListsRoots && project { // what its entry lists, it gives
		o.Capabilities, o.Roots = ide.DefaultCapabilities, ide.Folders(w.Project)
	}
	s := w.Start(o)
	s.Handshake()
	for _, name := range []string{"a", "b", "c"} {
		s.AwaitTool(name + "__echo")
	}
	held = strings.Count(s.MustCall("get-roots", `{}`).Text, `"kernel": "held"`)
	s.End(world.StopBound)
	return held, said
}
