package kernel

import (
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// TestAFileInTheHomeFolder: an entry keeps a database, or a file that it writes by rename, in the home folder, which stays closed. Its server is
// one process all the while. A file that a person allows is opened in the same way, whether it is there or not.
func TestAFileInTheHomeFolder(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	needs.Program(t, "sqlite3")
	for _, mode := range []string{"auto", "required"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.Write("home/notes.txt", "notes")
			w.Write("home/old.json", "{}")
			held := obj{"mode": mode}
			if mode == "required" {
				held["read"] = []string{world.Bin.Opener}
			}
			config := w.Config(obj{"kid": obj{"command": world.Bin.Opener, "args": []string{"--db=" + w.Path("home", "shop.db"), w.Path("home", "old.json")}, "paths": obj{"mode": "off"}, "sandbox": held}})
			start := func() *world.Session {
				s := w.Start(ide.Options{Apart: true, Command: world.Hub(t), Args: []string{"serve", "--config", config}, Env: w.Env(), Roots: ide.Folders(w.Project)})
				s.Handshake()
				s.AwaitTool("kid__shell")
				return s
			}
			s := start()
			run := func(command string) string {
				t.Helper()
				return s.AwaitCall(s.SendCall("kid__shell", world.Raw(t, obj{"command": strings.ReplaceAll(command, "HOME", w.Home)}))).Text
			}
			check := func(command, want string) {
				t.Helper()
				if got := run(command); !strings.Contains(got, want) {
					t.Errorf("%s: %q, want %q", command, got, want)
				}
			}
			before := run("echo $PPID")
			check("sqlite3 HOME/shop.db 'create table t(x); insert into t values(41)'; sqlite3 HOME/shop.db 'pragma journal_mode=wal; update t set x = x + 1; select x from t'", "42")
			check("echo new > HOME/old.json.tmp && mv HOME/old.json.tmp HOME/old.json && cat HOME/old.json", "new")
			check("chmod 600 HOME/shop.db && echo changed", "changed")
			check("cat HOME/notes.txt", "ermission denied")
			check("echo x > HOME/notes.txt || echo closed", "closed")
			check("mv HOME/notes.txt HOME/shop.db-wal || echo closed", "closed")
			check("ls HOME || echo closed", "closed")
			if after := run("echo $PPID"); after != before {
				t.Errorf("the server is another process: %q, and was %q", after, before)
			}
			check("echo x > HOME/later.json || echo closed", "closed")
			if out, err := paste(w, "mcphub allow kid --config "+config+" --write "+w.Path("home", "later.json")+" "+w.Path("home", "notes.txt")); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			s.End(world.StopBound)
			s = start()
			check("echo x > HOME/later.json && echo wrote", "wrote")
			check("echo y > HOME/later.json~ && mv HOME/later.json~ HOME/later.json && cat HOME/later.json HOME/notes.txt", "y\nnotes")
		})
	}
}
