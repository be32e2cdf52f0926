package e2e

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/internal/consent"
)

// hangUp sends the signal that makes a hub read hub.json whatever it may think of it.
func (s *session) hangUp() {
	s.t.Helper()
	p, err := os.FindProcess(s.PID())
	must(s.t, err)
	must(s.t, p.Signal(syscall.SIGHUP))
}

// accepts answers what waits as mcphub reload does for a person.
func (w *world) accepts() {
	w.t.Helper()
	if !accepts(w.consent()) {
		w.t.Fatal("nothing waits")
	}
}

func accepts(store *consent.Store) bool {
	return within(waitLimit, func() bool { // a hub may just be looking at a newer text
		all, err := store.Questions()
		return err == nil && len(all) == 1 && store.Accept(all[0].ID, all[0].Digest) == nil
	})
}

// TestAnotherHubDoesNotRunWhatAServerWrote: the root of one hub is the home folder, in which hub.json lies. What is written there
// runs in no hub, neither in one with another root nor in one that starts later, until a person has accepted it. The control
// is the same with hub.json out of all roots.
func TestAnotherHubDoesNotRunWhatAServerWrote(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"inside": "home/conf", "outside": "conf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := w.write(dir+"/hub.json", withRec)
			first := w.serveFile(path, w.home)
			second := w.serveFile(path, w.other)
			w.write(dir+"/hub.json", withTwo)
			if name == "outside" {
				first.awaitTool("more__echo")
				second.awaitTool("more__echo")
				return
			}
			for _, s := range []*session{first, second} {
				s.awaitConfig("it waits", func(c configState) bool { return c.Waiting != "" })
			}
			third := w.serveFile(path, w.other)
			if first.offers("more__echo") || second.offers("more__echo") || third.offers("more__echo") || third.configState().Waiting == "" {
				t.Errorf("it runs: %t %t %t, %+v", first.offers("more__echo"), second.offers("more__echo"), third.offers("more__echo"), third.configState())
			}
			w.accepts()
			for _, s := range []*session{first, second, third} {
				s.hangUp()
				s.awaitTool("more__echo")
			}
		})
	}
}

const (
	withRec = `{"mcpServers": {"rec": {"command": "recorder"}}}`
	without = `{"mcpServers": {}}`
	withTwo = `{"mcpServers": {"rec": {"command": "recorder"}, "more": {"command": "recorder"}}}`
)

// serveFile starts a hub on a file with this text, the recorder on its PATH.
func (w *world) serveFile(path string, roots ...string) *session {
	w.t.Helper()
	env := w.env()
	for i, e := range env {
		if strings.HasPrefix(e, "PATH=") {
			env[i] = "PATH=" + bin.dir + string(os.PathListSeparator) + strings.TrimPrefix(e, "PATH=")
		}
	}
	s := w.start(ide.Options{Command: mcphub(w.t), Args: []string{"serve", "--config", path}, Env: env, Roots: ide.Folders(roots...)})
	s.initialize()
	s.awaitTool("rec__echo")
	s.call("rec__echo", pathArgs(w.t, filepath.Join(roots[0], "any"))) // the roots are known
	return s
}

func (s *session) offers(tool string) bool { s.t.Helper(); return s.tools()[tool] != nil }

// A server that is added to a hub.json that servers may write waits: where it lies inside a root, where a link to it does, and
// where what it leads to does. A person's answer has it read, and SIGHUP is none. The control is the same edit of a file outside.
func TestAFileInsideABoundaryWaits(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGHUP here")
	}
	places := map[string]struct {
		inside bool
		make   func(w *world) (path string, edit func(text string))
	}{
		"inside": {true, func(w *world) (string, func(string)) {
			return w.write("project/conf/hub.json", withRec), func(text string) { w.write("project/conf/hub.json", text) }
		}},
		"a link inside to a file outside": {true, func(w *world) (string, func(string)) {
			symlink(w.t, w.write("conf/hub.json", withRec), w.path("project", "hub.json"))
			return w.path("project", "hub.json"), func(text string) { w.write("conf/hub.json", text) }
		}},
		"a link outside to a file inside": {true, func(w *world) (string, func(string)) {
			must(w.t, os.MkdirAll(w.path("conf"), 0o700))
			symlink(w.t, w.write("project/real.json", withRec), w.path("conf", "hub.json"))
			return w.path("conf", "hub.json"), func(text string) { w.write("project/real.json", text) }
		}},
		"a link on the way inside": {true, func(w *world) (string, func(string)) {
			w.write("conf/hub.json", withRec)
			symlink(w.t, w.path("conf"), w.path("project", "via"))
			symlink(w.t, w.path("project", "via"), w.path("dir"))
			return w.path("dir", "hub.json"), func(text string) { w.write("conf/hub.json", text) }
		}},
		"made a link to the inside later": {true, func(w *world) (string, func(string)) {
			return w.write("conf/hub.json", withRec), func(text string) {
				must(w.t, os.Remove(w.path("conf", "hub.json")))
				symlink(w.t, w.write("project/planted.json", text), w.path("conf", "hub.json"))
			}
		}},
		"outside": {false, func(w *world) (string, func(string)) {
			return w.write("conf/hub.json", withRec), func(text string) { w.write("conf/hub.json", text) }
		}},
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path, edit := place.make(w)
			s := w.serveFile(path, w.project)
			edit(withTwo)
			if !place.inside {
				s.awaitTool("more__echo")
				return
			}
			loaded := s.configState().LoadedAt
			waits := func() {
				t.Helper()
				c := s.awaitConfig("it waits", func(c configState) bool { return c.Waiting != "" })
				if c.LoadedAt != loaded || s.offers("more__echo") || !s.offers("rec__echo") || !strings.Contains(c.Waiting, "mcphub status") {
					t.Errorf("it was read all the same: %+v", c)
				}
			}
			waits()
			// The boundary moves; what is written then is as suspect as before.
			s.SetRoots(ide.Folders(w.other))
			must(t, s.RootsChanged())
			s.call("rec__echo", pathArgs(t, w.path("other", "other.txt")))
			edit(withTwo + " ")
			s.hangUp()
			waits()
			w.accepts()
			s.hangUp()
			s.awaitTool("more__echo")
			if c := s.configState(); c.Waiting != "" {
				t.Errorf("it is accepted and waits: %+v", c)
			}
		})
	}
}

// What is wrong is said whole, with the place; the former configuration goes on; and a file that is lost is not taken for
// one that was never there.
func TestABrokenFileKeepsTheFormerConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.write("conf/hub.json", withRec)
	s := w.serveFile(path, w.project)
	pid := s.pids("rec")["rec"]
	w.write("conf/hub.json", "{\n \"roots\": {\"timeout\": \"ten\",\n  \"when\": {\"empty\": \"maybe\"}},\n \"mcpServers\": {}\n}")
	c := s.awaitConfig("it is refused", func(c configState) bool { return c.LastError != "" })
	for _, want := range []string{path + ":2:", "roots.timeout", path + ":3:", "roots.when.empty"} {
		if !strings.Contains(c.LastError, want) || !strings.Contains(s.Stderr(), want) {
			t.Errorf("status or log do not say %q: %s", want, c.LastError)
		}
	}
	must(t, os.Remove(path))
	s.awaitConfig("the loss is noticed", func(c configState) bool { return strings.Contains(c.LastError, "no such file") })
	if now := s.pids("rec")["rec"]; now != pid {
		t.Errorf("the child was restarted: %d became %d", pid, now)
	}
	w.write("conf/hub.json", withRec)
	s.awaitConfig("it is well again", func(c configState) bool { return c.LastError == "" })
	w.write("conf/hub.json", `{"mcpServers": {"rec": {"command": "recorder"}}, "limits": {"calls": 7}}`)
	s.awaitConfig("it is taken", func(configState) bool { return strings.Contains(s.Stderr(), "takes effect after a restart") })
	if now := s.pids("rec")["rec"]; now != pid {
		t.Errorf("the child was restarted: %d became %d", pid, now)
	}
}

// A variable that is not set fails the server that uses it and no other, by a reload as at a start.
func TestAnUnsetVariableFailsItsServerOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serveFile(w.write("conf/hub.json", withRec), w.project)
	pid := s.pids("rec")["rec"]
	w.write("conf/hub.json", `{"mcpServers": {"rec": {"command": "recorder"}, "bad": {"command": "${MCPHUB_E2E_NEVER_SET}"}}}`)
	s.awaitConfig("it is taken", func(configState) bool { return strings.Contains(raw(t, s.servers()), "MCPHUB_E2E_NEVER_SET") })
	if now := s.pids("rec")["rec"]; now != pid {
		t.Errorf("the other one was restarted: %d became %d", pid, now)
	}
}

// What hub.json is called and where it lies is protected under every name, whatever the roots are, and after a reload the new
// names are (V10).
func TestEveryNameOfTheFileIsProtected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, os.MkdirAll(w.path("conf"), 0o700))
	symlink(t, w.write("one/real.json", withRec), w.path("conf", "mid.json"))
	symlink(t, "mid.json", w.path("conf", "hub.json"))
	s := w.serveFile(w.path("conf", "hub.json"), w.dir)
	refused := func(path string) bool {
		r := s.await(s.send("rec__echo", pathArgs(t, path)))
		return r.IsError && strings.Contains(r.Text, "protects")
	}
	for _, path := range []string{w.path("conf", "hub.json"), w.path("conf", "mid.json"), w.path("one", "real.json")} {
		if !refused(path) {
			t.Errorf("%s is within reach", path)
		}
	}
	two := w.write("two/real.json", withRec)
	if refused(two) {
		t.Error("control: another file is refused")
	}
	loaded := s.configState().LoadedAt
	must(t, os.Remove(w.path("conf", "mid.json")))
	symlink(t, two, w.path("conf", "mid.json"))
	s.awaitConfig("it is read: it says what was accepted", func(c configState) bool { return c.LoadedAt != loaded })
	if !refused(two) {
		t.Error("the new place of hub.json is within reach")
	}
}
