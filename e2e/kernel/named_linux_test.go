package kernel

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// An entry names a vault, a database, a log, settings, credentials and modules, and the monitor is off. What it names opens as
// docs/sandbox.md says, and nothing around it does. The control is the same server free.
func TestWhatAnEntryNamesOpens(t *testing.T) {
	t.Parallel()
	const works, fails = true, false
	lines := []struct {
		line string
		held bool // it works if the kernel holds the server; free, all do
	}{
		{"cat vault/note.md && echo x > vault/new && mv vault/new vault/newer && rm vault/newer", works},
		{"cat data/x.db && echo x >> data/x.db", works},
		{"echo x > logs/new.log && echo x > logs/new.log.1", works},
		{"cat cfg/credentials.json", works},
		{"cat conf/app.json", works},
		{"cat mods/m.py", works},

		{"cat data/other", fails},
		{"echo x > data/x.db-journal", works}, // the hub makes it
		{"mv data/x.db data/y.db && mv data/y.db data/x.db", fails},
		{"echo x >> cfg/credentials.json", fails},
		{"cat cfg/other", fails},
		{"echo x >> conf/app.json", fails},
		{"cat conf/other", fails},
		{"echo x >> mods/m.py", fails},
		{"echo x > mods/n.py", fails},
		{"mv mods/m.py mods/n.py && mv mods/n.py mods/m.py", fails},
		{"ls -d . && ls .", fails},
		{"echo x > new", fails},
		{"ln -sfn ../.ssh vault/keys && cat vault/keys/id_ed25519", fails},
		{"ln -f .ssh/id_ed25519 vault/key && cat vault/key", fails},
		{"cp .ssh/id_ed25519 vault/copy", fails},
		{"mv vault moved && mv moved vault", fails},
		{"mkdir -p logs/../other", fails},
		{"cat config/mcphub/hub.json", fails},
	}
	for _, mode := range []string{"auto", "required", "off"} {
		t.Run(mode, func(t *testing.T) {
			s := newSandboxed(t, way{free: mode == "off"}, func(w *world.World) obj {
				w.Write("home/config/mcphub/hub.json", "{}")
				kid := namingEntry(mode == "off")(w)
				kid["sandbox"] = mode
				return kid
			})
			if mode == "off" {
				world.Must(t, os.Mkdir(s.w.Path("home", "logs"), 0o700)) // which is made for a server that is held
			}
			s.AwaitTool("kid__shell")
			for _, tc := range lines {
				said := s.MustCallArgs("kid__shell", obj{"command": fmt.Sprintf("cd '%s' && { %s; } && echo it-works", s.w.Home, tc.line)}).Text
				if done := strings.Contains(said, "it-works"); done != (tc.held || mode == "off") {
					t.Errorf("%s: it works: %t: %s", tc.line, done, said)
				}
			}
			if mode != "off" {
				if changed := s.changes(); len(changed) > 0 {
					t.Errorf("changed outside: %q", changed)
				}
			}
		})
	}
}
