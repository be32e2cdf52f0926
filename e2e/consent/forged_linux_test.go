package consent

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/children/consent"
	"mcphub/e2e/world"
)

// A confined server is served the home folder, or all there is, where the hub keeps what a person has accepted. It writes a new
// entry into hub.json, forges that someone has accepted it, and takes away what is on record of where servers write. No other hub
// runs the entry. The control is the same done by the test, which nothing holds: then the hub runs it.
func TestAServerForgesWhatAPersonAccepts(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for name, root := range map[string]func(w *world.World) string{
		"home":   func(w *world.World) string { return w.Project },
		"all":    func(*world.World) string { return "/" },
		"around": func(*world.World) string { return "/var/tmp" },
		"store":  func(w *world.World) string { return w.Consent().Closed() },
	} {
		for _, who := range []string{"a server", "control"} {
			t.Run(name+", "+who, func(t *testing.T) {
				t.Parallel()
				w := world.New(t)
				servers := obj{"kid": shellServer(nil)}
				path := w.Write("home/conf/hub.json", world.Raw(t, obj{"mcpServers": servers}))
				_, err := w.Consent().MakeFolder()
				world.Must(t, err)
				first := shellHub(w, path, w.Home, root(w))
				writes(first, w.Path("home", "new"), "made by a server") // honest work goes on
				ran := w.Path("outside", "ran")
				servers["more"] = obj{"command": "sh", "args": []string{"-c", "touch " + ran + "; exec " + world.Bin.Opener}, "sandbox": "off"}
				text := world.Raw(t, obj{"mcpServers": servers})
				script := forging(t, w, path, text)
				if who == "control" {
					out, err := exec.Command("sh", "-c", script).CombinedOutput()
					if err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				} else if said := first.MustCallArgs("kid__shell", obj{"command": script}).Text; !strings.Contains(said, "tried") {
					t.Fatalf("the server did not try: %s", said)
				}
				if who == "control" {
					w.Write("home/conf/hub.json", text)
				} else {
					writes(first, path, text)
				}
				second := serveFileAs(w, path, w.Other)
				if got, want := offers(second, "more__shell"), who == "control"; got != want {
					t.Errorf("the forged entry runs: %t, want %t; %+v", got, want, second.ConfigState())
				}
				if _, err := os.Lstat(ran); errors.Is(err, fs.ErrNotExist) != (who != "control") {
					t.Errorf("it was started: %v", err)
				}
			})
		}
	}
}

// serveFileAs starts a hub on a file that has the opener as kid, if it may, and waits until all that may run does.
func serveFileAs(w *world.World, path string, roots ...string) *world.Session {
	w.T.Helper()
	s := shellHub(w, path, roots...)
	s.AwaitConfig("it is read", func(c world.ConfigState) bool { return c.Waiting != "" || offers(s, "more__shell") })
	return s
}

// forging returns a script that has a hub.json taken for accepted wherever it can be kept.
func forging(t *testing.T, w *world.World, path, text string) string {
	t.Helper()
	value, err := json.Marshal(struct {
		Text string `json:"text"`
	}{text})
	world.Must(t, err)
	made := consent.NewFor(t.TempDir(), "")
	world.Must(t, made.Take(consent.Item{ID: "file:" + path, Value: value, Paths: []string{path}}))
	folder, err := made.Folder()
	world.Must(t, err)
	files, err := filepath.Glob(filepath.Join(folder, "accepted", "*.json"))
	world.Must(t, err)
	item, err := os.ReadFile(files[0])
	world.Must(t, err)
	place, err := w.Consent().Folder()
	world.Must(t, err)
	var b strings.Builder
	for _, dir := range []string{place, w.Path("home", "state", "mcphub", "consent")} {
		b.WriteString("mv " + dir + " " + dir + "-gone; mv " + dir + "-gone " + dir + "\n" +
			"rm -f " + dir + "/reach/*\nmkdir -p " + dir + "/accepted\ncat > " + filepath.Join(dir, "accepted", filepath.Base(files[0])) + " <<'THE END'\n" + string(item) + "\nTHE END\n")
	}
	return b.String() + "echo tried"
}
