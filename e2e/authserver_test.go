package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/ide"
)

// A real authorization server and a real browser: oidc-provider, whose tokens are signed, good for one server, short, and
// renewed by refresh tokens that are good once.
func TestLoginAtRealServer(t *testing.T) {
	n := requireNode(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil && inCI() {
		t.Fatal("no browser in CI: ", err)
	} else if err != nil {
		t.Skip("NOT PROVED HERE: ", err)
	}
	n.of(t, "authserver")
	w := newWorld(t)
	here, err := filepath.Abs(".")
	must(t, err)
	resource := w.listening(exec.Command(n.program, filepath.Join(here, "authserver", "server.mjs")), regexp.MustCompile(`^protected (http://\S+/mcp)$`), "LIFE=2")
	config := w.config(obj{"protected": obj{"url": resource, "type": "http"}}, obj{"secrets": obj{"store": "file"}})
	// person logs in by the browser; some of the addresses that are printed are passed over.
	person := func(answer string, skip int) func(address string) {
		return func(address string) {
			if skip--; skip >= 0 {
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
			defer cancel()
			cmd := exec.CommandContext(ctx, n.program, filepath.Join(here, "clients", "browse.mjs"), address, "ann", answer)
			cmd.Env, cmd.Dir = w.env("CHROMIUM="+chromium), w.home
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("the browser at %s: %v\n%s", address, err, out)
			} else {
				t.Logf("the browser shows: %s", out)
			}
		}
	}
	login := func(want string, visit func(address string), args ...string) {
		t.Helper()
		if out, _ := w.auth(visit, append(args, "--config", config)...); !strings.Contains(out, want) {
			t.Errorf("%q: %s\nwant %q", args, out, want)
		}
	}
	s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", config},
		Env: w.env("DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.path("no-bus")), Roots: ide.Folders(w.project)})
	s.initialize()
	expect := func(want string) { t.Helper(); s.isSeenAs(want) }
	expect("run: mcphub auth login protected")
	login("the login was refused", person("no", 0), "login", "protected", "--no-browser")
	login("Logged in at protected", person("yes", 0), "login", "protected", "--no-browser")
	expect("ann")
	for range 5 { // each with a token that was renewed: they last no longer than it takes
		if got := s.whoami(); got != "ann" {
			t.Errorf("got %q", got)
		}
	}
	login("has ended it", nil, "logout", "protected")
	expect("run: mcphub auth login protected")
	login("Logged in at protected", person("yes", 1), "login", "protected", "--device")
	expect("ann")
}
