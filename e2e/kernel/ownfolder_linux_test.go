package e2e

import (
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
)

// A client names as its root a folder of the hub itself, where is kept what a person has accepted. The hub's servers are given no part of
// it. The control is the same folder, which to a hub with another folder of state is a folder like any other.
func TestARootInTheHubsOwnFolder(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	for _, sandbox := range []any{"auto", obj{"mode": "required", "read": []string{bin.opener}}} {
		for _, own := range []bool{false, true} {
			w := newWorld(t)
			config := w.config(obj{"kid": obj{"command": bin.opener, "args": []string{}, "paths": obj{"mode": "off"}, "sandbox": sandbox}})
			kept := w.write("home/state/mcphub/consent/accepted/kept", "kept\n")
			env := w.env()
			if !own {
				env = append(env, "XDG_STATE_HOME="+w.path("elsewhere"))
			}
			s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", config}, Roots: ide.Folders(w.path("home", "state", "mcphub", "consent")), Env: env})
			s.initialize()
			s.awaitTool("kid__shell")
			said := s.await(s.send("kid__shell", raw(t, obj{"command": "echo asked; echo forged > " + kept}))).Text
			if !strings.Contains(said, "asked") {
				t.Fatalf("%v: it was not asked: %s", sandbox, said)
			}
			text, err := os.ReadFile(kept)
			must(t, err)
			if forged := string(text) == "forged\n"; forged == own {
				t.Errorf("%v, the hub's own: %t, written: %t: %s", sandbox, own, forged, said)
			}
		}
	}
}
