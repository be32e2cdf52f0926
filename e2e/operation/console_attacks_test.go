package operation

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mcphub/e2e/world"
)

// TestConsoleAttackedInABrowser opens pages of other origins, at another port and by a name that was bound anew, beside a console: they
// try WebSocket, EventSource, images, fetch, forms and windows, first at a server that lets all of them in. Then the browser's profile,
// with its history, is searched for the code and the secret.
func TestConsoleAttackedInABrowser(t *testing.T) {
	t.Parallel()
	world.RequireNode(t)
	browser := world.Chromium()
	if browser == "" {
		world.NoChromium(t)
	}
	w := world.New(t)
	cmd := exec.Command(world.Hub(t), "console", "--no-browser", "--config", w.Config(obj{}))
	cmd.Env = w.Env()
	p, code, err := openConsole(cmd)
	if err != nil {
		t.Fatal(err, code)
	}
	defer func() {
		if err := p.end(); err != nil && p.cmd.ProcessState.ExitCode() != 130 {
			t.Error(err)
		}
	}()
	profile := w.Path("profile")
	world.Must(t, os.Mkdir(profile, 0o700))
	script := exec.Command(world.NPM.Program, filepath.Join("testdata", "console-attacks.mjs"), filepath.Join(world.NPM.Modules, "playwright-core"), browser, p.at, code, profile)
	script.Env = w.Env()
	out, err := script.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}
