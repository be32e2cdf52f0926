package consent

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// hangUp sends the signal that makes a hub read hub.json whatever it may think of it.
func hangUp(s *world.Session) {
	s.T.Helper()
	p, err := os.FindProcess(s.PID())
	world.Must(s.T, err)
	world.Must(s.T, p.Signal(syscall.SIGHUP))
}

// accepts answers what waits as mcphub reload does for a person.
func accepts(w *world.World) {
	w.T.Helper()
	if !world.Accepts(w.Consent()) {
		w.T.Fatal("nothing waits")
	}
}

const (
	withRec = `{"mcpServers": {"rec": {"command": "recorder"}}}`
	without = `{"mcpServers": {}}`
	withTwo = `{"mcpServers": {"rec": {"command": "recorder"}, "more": {"command": "recorder"}}}`
)

// serveFile starts a hub on a file with this text, the recorder on its PATH.
func serveFile(w *world.World, path string, roots ...string) *world.Session {
	w.T.Helper()
	env := w.Env()
	for i, e := range env {
		if strings.HasPrefix(e, "PATH=") {
			env[i] = "PATH=" + world.Bin.Dir + string(os.PathListSeparator) + strings.TrimPrefix(e, "PATH=")
		}
	}
	s := w.Start(ide.Options{Command: world.Hub(w.T), Args: []string{"serve", "--config", path}, Env: env, Roots: ide.Folders(roots...)})
	s.Handshake()
	s.AwaitTool("rec__echo")
	s.MustCall("rec__echo", world.PathArgs(w.T, filepath.Join(roots[0], "any"))) // the roots are known
	return s
}

func offers(s *world.Session, tool string) bool { s.T.Helper(); return s.Tools()[tool] != nil }

// A server that is added to a hub.json that servers may write waits: where it lies inside a root, if a link to it does, and where
// what it leads to does. A person's answer has it read, and SIGHUP is none. The control is the same edit of a file outside.
func TestAFileInsideABoundaryWaits(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGHUP here")
	}
	places := map[string]struct {
		inside bool
		make   func(w *world.World) (path string, edit func(text string))
	}{
		"inside": {true, func(w *world.World) (string, func(string)) {
			return w.Write("project/conf/hub.json", withRec), func(text string) { w.Write("project/conf/hub.json", text) }
		}},
		"a link inside to a file outside": {true, func(w *world.World) (string, func(string)) {
			world.Symlink(w.T, w.Write("conf/hub.json", withRec), w.Path("project", "hub.json"))
			return w.Path("project", "hub.json"), func(text string) { w.Write("conf/hub.json", text) }
		}},
		"a link outside to a file inside": {true, func(w *world.World) (string, func(string)) {
			world.Must(w.T, os.MkdirAll(w.Path("conf"), 0o700))
			world.Symlink(w.T, w.Write("project/real.json", withRec), w.Path("conf", "hub.json"))
			return w.Path("conf", "hub.json"), func(text string) { w.Write("project/real.json", text) }
		}},
		"a link on the way inside": {true, func(w *world.World) (string, func(string)) {
			w.Write("conf/hub.json", withRec)
			world.Symlink(w.T, w.Path("conf"), w.Path("project", "via"))
			world.Symlink(w.T, w.Path("project", "via"), w.Path("dir"))
			return w.Path("dir", "hub.json"), func(text string) { w.Write("conf/hub.json", text) }
		}},
		"made a link to the inside later": {true, func(w *world.World) (string, func(string)) {
			return w.Write("conf/hub.json", withRec), func(text string) {
				world.Must(w.T, os.Remove(w.Path("conf", "hub.json")))
				world.Symlink(w.T, w.Write("project/planted.json", text), w.Path("conf", "hub.json"))
			}
		}},
		"outside": {false, func(w *world.World) (string, func(string)) {
			return w.Write("conf/hub.json", withRec), func(text string) { w.Write("conf/hub.json", text) }
		}},
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			path, edit := place.make(w)
			s := serveFile(w, path, w.Project)
			edit(withTwo)
			if !place.inside {
				s.AwaitTool("more__echo")
				return
			}
			loaded := s.ConfigState().LoadedAt
			var digest string // of what was asked last
			waits := func() {
				t.Helper()
				if !world.Within(world.WaitLimit, func() bool {
					all, err := w.Consent().Questions()
					if err != nil || len(all) != 1 || all[0].Digest == digest {
						return false
					}
					digest = all[0].Digest
					return true
				}) {
					t.Fatal("nobody is asked about it")
				}
				c := s.AwaitConfig("it waits", func(c world.ConfigState) bool { return c.Waiting != "" })
				if c.LoadedAt != loaded || offers(s, "more__echo") || !offers(s, "rec__echo") || !strings.Contains(c.Waiting, "mcphub status") {
					t.Errorf("it was read all the same: %+v", c)
				}
			}
			waits()
			// The boundary moves; what is written then is as suspect as before.
			s.SetRoots(ide.Folders(w.Other))
			world.Must(t, s.RootsChanged())
			s.MustCall("rec__echo", world.PathArgs(t, w.Path("other", "other.txt")))
			edit(withTwo + " ")
			hangUp(s)
			waits()
			accepts(w)
			hangUp(s)
			s.AwaitTool("more__echo")
			if c := s.ConfigState(); c.Waiting != "" {
				t.Errorf("it is accepted and waits: %+v", c)
			}
		})
	}
}

// What is wrong is said whole, with the place; the former configuration goes on; and a file that is lost is not taken for
// one that was never there.
func TestABrokenFileKeepsTheFormerConfiguration(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	path := w.Write("conf/hub.json", withRec)
	s := serveFile(w, path, w.Project)
	pid := s.PIDs("rec")["rec"]
	w.Write("conf/hub.json", "{\n \"roots\": {\"timeout\": \"ten\",\n  \"when\": {\"empty\": \"maybe\"}},\n \"mcpServers\": {}\n}")
	for _, want := range []string{path + ":2:", "roots.timeout", path + ":3:", "roots.when.empty"} {
		// The log line is written after the status, by another process.
		s.AwaitConfig("status and log say "+want, func(c world.ConfigState) bool {
			return strings.Contains(c.LastError, want) && strings.Contains(s.Stderr(), want)
		})
	}
	world.Must(t, os.Remove(path))
	s.AwaitConfig("the loss is noticed", func(c world.ConfigState) bool { return strings.Contains(c.LastError, "no such file") })
	if now := s.PIDs("rec")["rec"]; now != pid {
		t.Errorf("the child was restarted: %d became %d", pid, now)
	}
	w.Write("conf/hub.json", withRec)
	s.AwaitConfig("it is well again", func(c world.ConfigState) bool { return c.LastError == "" })
	w.Write("conf/hub.json", `{"mcpServers": {"rec": {"command": "recorder"}}, "limits": {"calls": 7}}`)
	s.AwaitConfig("it is taken", func(world.ConfigState) bool { return strings.Contains(s.Stderr(), "takes effect after a restart") })
	if now := s.PIDs("rec")["rec"]; now != pid {
		t.Errorf("the child was restarted: %d became %d", pid, now)
	}
}

// What hub.json is called and where it lies is protected under every name, whatever the roots are, and after a reload the new
// names are.
func TestEveryNameOfTheFileIsProtected(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	world.Must(t, os.MkdirAll(w.Path("conf"), 0o700))
	world.Symlink(t, w.Write("one/real.json", withRec), w.Path("conf", "mid.json"))
	world.Symlink(t, "mid.json", w.Path("conf", "hub.json"))
	s := serveFile(w, w.Path("conf", "hub.json"), w.Dir)
	refused := func(path string) bool {
		r := s.AwaitCall(s.SendCall("rec__echo", world.PathArgs(t, path)))
		return r.IsError && strings.Contains(r.Text, "protects")
	}
	for _, path := range []string{w.Path("conf", "hub.json"), w.Path("conf", "mid.json"), w.Path("one", "real.json")} {
		if !refused(path) {
			t.Errorf("%s is within reach", path)
		}
	}
	two := w.Write("two/real.json", withRec)
	if refused(two) {
		t.Error("control: another file is refused")
	}
	loaded := s.ConfigState().LoadedAt
	world.Must(t, os.Remove(w.Path("conf", "mid.json")))
	world.Symlink(t, two, w.Path("conf", "mid.json"))
	s.AwaitConfig("it is read: it says what was accepted", func(c world.ConfigState) bool { return c.LoadedAt != loaded })
	if !refused(two) {
		t.Error("the new place of hub.json is within reach")
	}
}
