package kernel

import (
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// A client names as its root a folder of the hub itself, where is kept what a person has accepted. The hub's servers are given no part of
// it. The control is the same folder, which to a hub with another folder of state is a folder like any other.
func TestARootInTheHubsOwnFolder(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for _, sandbox := range []any{"auto", obj{"mode": "required", "read": []string{world.Bin.Opener}}} {
		for _, own := range []bool{false, true} {
			w := world.New(t)
			config := w.Config(obj{"kid": obj{"command": world.Bin.Opener, "args": []string{}, "paths": obj{"mode": "off"}, "sandbox": sandbox}})
			kept := w.Write("home/state/mcphub/consent/accepted/kept", "kept\n")
			env := w.Env()
			if !own {
				env = append(env, "XDG_STATE_HOME="+w.Path("elsewhere"))
			}
			s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", config}, Roots: ide.Folders(w.Path("home", "state", "mcphub", "consent")), Env: env})
			s.Handshake()
			s.AwaitTool("kid__shell")
			said := s.AwaitCall(s.SendCall("kid__shell", world.Raw(t, obj{"command": "echo asked; echo forged > " + kept}))).Text
			if !strings.Contains(said, "asked") {
				t.Fatalf("%v: it was not asked: %s", sandbox, said)
			}
			text, err := os.ReadFile(kept)
			world.Must(t, err)
			if forged := string(text) == "forged\n"; forged == own {
				t.Errorf("%v, the hub's own: %t, written: %t: %s", sandbox, own, forged, said)
			}
		}
	}
}
