package consent

import (
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// A hub that runs has an entry with a file of variables, which lies in the root of another hub. What a server of that one caller
// writes into it decides what the entry's server runs, so it counts only once a person has accepted it: also at a start long after
// hub.json was read. The control are hubs that do not know of each other: there it counts at the next start.
func TestAnEnvFileThatAnotherHubsServerWrites(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for _, known := range []bool{false, true} {
		name := "hubs that do not know of each other"
		if known {
			name = "hubs of one user"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			other := w.Path("other")
			w.Write("project/vars", "WHO=person\n")
			quiet := obj{"mode": "off"}
			config := w.Config(obj{
				"kid": obj{"command": world.Bin.Opener, "args": []string{}, "paths": quiet},
				"two": obj{"command": world.Bin.Opener, "args": []string{}, "paths": quiet, "sandbox": "off", "envFile": w.Path("project", "vars")},
			})
			serve := func(root string, env []string) *world.Session {
				s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", config}, Roots: ide.Folders(root), Env: env})
				s.Handshake()
				s.AwaitTool("kid__shell")
				return s
			}
			first := serve(other, w.Env())
			first.AwaitTool("two__shell")
			ask := func(command string) string { // it may answer that it does not run
				return first.AwaitCall(first.SendCall("two__shell", world.Raw(t, obj{"command": command}))).Text
			}
			who := func() string { return ask("echo WHO=$WHO") }
			if got := who(); !strings.Contains(got, "WHO=person") {
				t.Fatalf("the file of variables was not read: %s", got)
			}
			env := w.Env()
			if !known {
				env = append(env, "XDG_STATE_HOME="+w.Path("elsewhere"))
			}
			second := serve(w.Project, env)
			second.MustCallArgs("kid__shell", obj{"command": "echo WHO=server > " + w.Path("project", "vars")})
			if text, err := os.ReadFile(w.Path("project", "vars")); string(text) != "WHO=server\n" {
				t.Fatalf("the server has not written: %q, %v", text, err)
			}
			again := func() (got string) {
				ask("kill -9 $PPID")
				world.Within(world.WaitLimit, func() bool {
					got = who()
					return strings.Contains(got, "WHO=") || strings.Contains(got, "has changed")
				})
				return got
			}
			if !known {
				if got := again(); !strings.Contains(got, "WHO=server") {
					t.Fatalf("it does not work where nobody guards, so this shows nothing: %s", got)
				}
				return
			}
			if got := again(); strings.Contains(got, "WHO=") || !strings.Contains(got, "mcphub status") {
				t.Errorf("what a server wrote counts: %s", got)
			}
			store := w.Consent()
			waits, err := store.Questions()
			world.Must(t, err)
			if len(waits) != 1 || !strings.Contains(strings.Join(waits[0].Lines, "\n"), "vars has changed") {
				t.Fatalf("a person is asked: %v", waits)
			}
			world.Must(t, store.Accept(waits[0].ID, waits[0].Digest)) // as mcphub reload does
			var got string
			if !world.Within(world.WaitLimit, func() bool { got = who(); return strings.Contains(got, "WHO=server") }) {
				t.Errorf("what a person accepted does not count: %s", got)
			}
		})
	}
}
