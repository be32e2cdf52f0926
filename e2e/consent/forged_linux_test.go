package e2e

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/internal/consent"
)

// A confined server is served the home folder, or all there is, where the hub keeps what a person has accepted. It writes a new
// entry into hub.json, forges that somebody has accepted it, and takes away what is on record of where servers write. No other hub
// runs the entry. The control is the same done by the test, which nothing holds: then the hub runs it.
func TestAServerForgesWhatAPersonAccepts(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	for name, root := range map[string]func(w *world) string{
		"home":   func(w *world) string { return w.project },
		"all":    func(*world) string { return "/" },
		"around": func(*world) string { return "/var/tmp" },
		"store":  func(w *world) string { return w.consent().Closed() },
	} {
		for _, who := range []string{"a server", "control"} {
			t.Run(name+", "+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				servers := obj{"kid": shellServer(nil)}
				path := w.write("home/conf/hub.json", raw(t, obj{"mcpServers": servers}))
				_, err := w.consent().Ready()
				must(t, err)
				first := w.shellHub(path, w.home, root(w))
				first.writes(w.path("home", "new"), "made by a server") // honest work goes on
				ran := w.path("outside", "ran")
				servers["more"] = obj{"command": "sh", "args": []string{"-c", "touch " + ran + "; exec " + bin.opener}, "sandbox": "off"}
				text := raw(t, obj{"mcpServers": servers})
				script := forging(t, w, path, text)
				if who == "control" {
					out, err := exec.Command("sh", "-c", script).CombinedOutput()
					if err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				} else if said := first.callArgs("kid__shell", obj{"command": script}).Text; !strings.Contains(said, "tried") {
					t.Fatalf("the server did not try: %s", said)
				}
				if who == "control" {
					w.write("home/conf/hub.json", text)
				} else {
					first.writes(path, text)
				}
				second := w.serveFileAs(path, w.other)
				if got, want := second.offers("more__shell"), who == "control"; got != want {
					t.Errorf("the forged entry runs: %t, want %t; %+v", got, want, second.configState())
				}
				if _, err := os.Lstat(ran); errors.Is(err, fs.ErrNotExist) != (who != "control") {
					t.Errorf("it was started: %v", err)
				}
			})
		}
	}
}

// serveFileAs starts a hub on a file that has the opener as kid, if it may, and waits until all that may run does.
func (w *world) serveFileAs(path string, roots ...string) *session {
	w.t.Helper()
	s := w.shellHub(path, roots...)
	s.awaitConfig("it is read", func(c configState) bool { return c.Waiting != "" || s.offers("more__shell") })
	return s
}

// forging is a script that has a hub.json taken for accepted wherever it can be kept.
func forging(t *testing.T, w *world, path, text string) string {
	t.Helper()
	value, err := json.Marshal(struct {
		Text string `json:"text"`
	}{text})
	must(t, err)
	made := consent.Of(t.TempDir(), "")
	must(t, made.Take(consent.Item{ID: "file:" + path, Value: value, Paths: []string{path}}))
	folder, err := made.Folder()
	must(t, err)
	files, err := filepath.Glob(filepath.Join(folder, "accepted", "*.json"))
	must(t, err)
	item, err := os.ReadFile(files[0])
	must(t, err)
	place, err := w.consent().Folder()
	must(t, err)
	var b strings.Builder
	for _, dir := range []string{place, w.path("home", "state", "mcphub", "consent")} {
		b.WriteString("mv " + dir + " " + dir + "-gone; mv " + dir + "-gone " + dir + "\n" +
			"rm -f " + dir + "/reach/*\nmkdir -p " + dir + "/accepted\ncat > " + filepath.Join(dir, "accepted", filepath.Base(files[0])) + " <<'THE END'\n" + string(item) + "\nTHE END\n")
	}
	return b.String() + "echo tried"
}
