package hub

import (
	"encoding/json"
	"strings"
	"testing"

	"mcphub/children/sandbox"
)

// TestATokenWithoutRootsIsHeld: the servers of a client of 2026-07-28 over HTTP whose token names no directories open none, with the search
// for paths off: a shell that computes a path reads no part of the hub's user. Control: http.when.noRoots allows it.
func TestATokenWithoutRootsIsHeld(t *testing.T) {
	landlocked(t)
	for _, allow := range []bool{false, true} {
		c, d := shellHub(t, sandbox.Settings{Mode: sandbox.Auto, Default: true}, nil, func(cfg *Config) {
			cfg.AllowWithoutRoots, cfg.Roots.When.Unsupported = allow, true
		})
		bob := serveWeb(t, c.hub, HTTPOptions{Tokens: []Token{{Name: "bob", Secret: "b"}}}).modern("b")
		args, _ := json.Marshal(map[string]string{"Name": "cat $(echo " + d["out"] + ")/file"})
		said, _ := bob.call("kid__shell", string(args))
		if strings.Contains(said, "canary") != allow || !allow && !strings.Contains(said, "denied") {
			t.Errorf("allowed %t: %s", allow, said)
		}
	}
}
