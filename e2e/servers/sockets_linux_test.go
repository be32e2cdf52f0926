package servers

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// TestASocketOfItsOwn: a server of Python's uses multiprocessing.Manager, which listens on a unix socket: at its start, or when
// it is called. Its client is told that sockets are closed, its user how that is learned, and with what is learned it works. The
// control is the same server without the hub.
func TestASocketOfItsOwn(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for name, tc := range map[string]struct {
		more []string // arguments of the server
		call string   // what its user adds to the line that is printed
	}{
		"at its start":      {[]string{"early"}, ""},
		"when it is called": {nil, ` --call 'it__count {}'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := configured{
				name: "multiprocessing.Manager", server: "count.py", needs: []string{"python3"},
				files: map[string]string{"{home}/srv/count.py": "@count.py", "{home}/srv/wire.py": "@wire.py"},
				hub:   obj{"command": "python3", "args": append([]string{"{home}/srv/count.py"}, tc.more...)},
				read:  act{"count", `{}`, "counted 1", false},
			}
			e.need(t)
			d := e.at(newDesk(t, &e))
			if why := d.gather().wrong(&e); why != "" {
				t.Fatalf("it does not work without the hub, so it shows nothing: %s", why)
			}
			d.configure(e.hub)
			counts := func() (said string) {
				world.Must(t, d.throughHub(nil, func(c *ide.Client, prefix string) {
					_, err := c.Initialize(t.Context())
					world.Must(t, err)
					world.Within(world.WaitLimit, func() bool {
						said = d.said(t.Context(), c, prefix, e.read)
						return strings.Contains(said, "mcphub why") || strings.Contains(said, "counted")
					})
				}))
				return said
			}
			if said := counts(); !strings.Contains(said, "unix sockets are closed to it. Ask your user to run `mcphub why`") {
				t.Errorf("its client is told %s\n%s", said, d.log)
			}
			_, said := d.says("why")
			line := regexp.MustCompile(`(?m)run: (mcphub learn it .*)$`).FindStringSubmatch(said)
			if line == nil || !strings.Contains(said, "unix sockets") {
				t.Fatalf("its user reads %s", said)
			}
			cmd := exec.Command("/bin/sh", "-c", line[1]+tc.call)
			cmd.Dir, cmd.Env = d.Project, d.environment("PATH="+filepath.Dir(world.Hub(t))+":/usr/bin:/bin")
			out, err := cmd.Output()
			world.Must(t, err)
			proposed, _, _ := strings.Cut(string(out), "\n//")
			if !strings.Contains(proposed, `"sockets": "on"`) || strings.Contains(string(out), "DOES NOT START") {
				t.Fatalf("%s%s: %s", line[1], tc.call, out)
			}
			entry := strings.TrimSuffix(world.Raw(t, d.filled()), "}")
			d.Write("home/.config/mcphub/hub.json", `{"mcpServers":{"it":`+entry+","+proposed+"}}}")
			if said := counts(); !strings.Contains(said, "counted N") {
				t.Errorf("with %s its client is told %s", proposed, said)
			}
		})
	}
}
