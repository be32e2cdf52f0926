package operation

import (
	"os"
	"testing"

	"mcphub/e2e/world"
)

// TestConsoleAttackedInABrowser opens pages of other origins, at another port and by a name that was bound again, beside a console:
// they try WebSocket, EventSource, images, fetch, forms and windows, first at a server that lets all of them in. Then the browser's
// profile, with its history, is searched for the code and the secret.
func TestConsoleAttackedInABrowser(t *testing.T) {
	t.Parallel()
	world.RequireNode(t)
	browser := world.RequireChromium(t)
	w := world.New(t)
	p, code := consoleOf(w, w.Config(obj{}))
	profile := w.Path("profile")
	world.Must(t, os.Mkdir(profile, 0o700))
	w.InBrowser("console_attacks.mjs", browser, p.at, code, profile)
}
