package consent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// shellServer returns an entry of the opener, which no call is checked for.
func shellServer(more obj) obj {
	entry := obj{"command": world.Bin.Opener, "args": []string{}, "paths": obj{"mode": "off"}}
	for key, value := range more {
		entry[key] = value
	}
	return entry
}

// shellHub starts a hub on a file that has the opener as kid.
func shellHub(w *world.World, path string, roots ...string) *world.Session {
	w.T.Helper()
	s := w.Start(ide.Options{Apart: true, Command: world.Hub(w.T), Args: []string{"serve", "--config", path}, Env: w.Env(), Capabilities: ide.DefaultCapabilities, Roots: ide.Folders(roots...)})
	s.Handshake()
	s.AwaitTool("kid__shell")
	s.MustCallArgs("kid__shell", obj{"command": "true"}) // the roots are known
	return s
}

// writes has the server itself write a file.
func writes(s *world.Session, path, text string) {
	s.T.Helper()
	const script = "cat > %[1]s.new <<'THE END'\n%[2]s\nTHE END\nmv %[1]s.new %[1]s && echo written"
	if said := s.MustCallArgs("kid__shell", obj{"command": fmt.Sprintf(script, path, text)}).Text; !strings.Contains(said, "written") {
		s.T.Fatalf("the server cannot write %s, so this shows nothing: %s", path, said)
	}
}

// ranWithout runs mcphub if there is no terminal, and gives all that it said and its exit status.
func ranWithout(w *world.World, args ...string) (said string, status int) {
	w.T.Helper()
	ctx, stop := context.WithTimeout(context.Background(), world.WaitLimit)
	defer stop()
	cmd := exec.CommandContext(ctx, world.Hub(w.T), args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = w.Env(), w.Home, &syscall.SysProcAttr{Setsid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.T.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// namesQuestion wants status and doctor to name the one question that waits, and reload to answer nothing without a terminal.
func namesQuestion(w *world.World, config string, words ...string) {
	w.T.Helper()
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"doctor", "--config", config}, {"doctor", "--json", "--config", config}, {"reload"}} {
		said := ""
		named := world.Within(world.WaitLimit, func() bool {
			said, _ = ranWithout(w, args...)
			return strings.Contains(said, "for a person") || strings.Contains(said, `"questions"`)
		})
		if !named {
			w.T.Fatalf("mcphub %q does not say that something waits:\n%s", args, said)
		}
		said = strings.Join(strings.Fields(said), " ") // however it is broken into lines
		for _, word := range words {
			if !strings.Contains(said, word) {
				w.T.Errorf("mcphub %q does not say %q:\n%s", args, word, said)
			}
		}
		if args[0] != "reload" && args[len(args)-1] != "--json" && !strings.Contains(said, "mcphub reload") {
			w.T.Errorf("mcphub %q does not say what to do:\n%s", args, said)
		}
		if args[0] == "reload" && (!strings.Contains(said, "only a person at a terminal") || strings.Contains(said, "accepted.")) {
			w.T.Errorf("mcphub reload without a terminal:\n%s", said)
		}
	}
}

// answers is mcphub reload at a terminal at which a person answers the one question. It must show all of words beforehand.
func answers(w *world.World, answer, reply string, words ...string) {
	w.T.Helper()
	s := w.Approver(w.Env(), func(c *exec.Cmd) { c.Args[len(c.Args)-1] = "reload" })
	s.Sees(1, "Type yes to accept")
	for _, word := range append(words, "1 of 1") {
		if !strings.Contains(s.Shown(), word) {
			w.T.Errorf("%q is not shown before the answer:\n%s", word, s.Shown())
		}
	}
	s.Types(answer)
	s.Sees(1, reply)
	<-s.Ended
}

// wellAgain wants nothing to wait any more.
func wellAgain(w *world.World) {
	w.T.Helper()
	if said, status := ranWithout(w, "status"); strings.Contains(said, "waits for a person") || status != 0 {
		w.T.Errorf("status ends with %d:\n%s", status, said)
	}
}

// A server adds a server to a hub.json that lies in its root. Status and doctor name the question. A person at a terminal is
// shown what would change; no leaves it, yes starts it. No one answers without a terminal, nor whom the server starts.
func TestAPersonAnswersForAServer(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	w := world.New(t)
	servers := obj{"kid": shellServer(nil)}
	path := w.Write("project/conf/hub.json", world.Raw(t, obj{"mcpServers": servers}))
	s := shellHub(w, path, w.Project)
	ran := w.Path("outside", "ran")
	servers["more"] = obj{"command": "sh", "args": []string{"-c", "touch " + ran + "; exec " + world.Bin.Opener}, "sandbox": "off", "env": obj{"ADDED": "by a server"}}
	writes(s, path, world.Raw(t, obj{"mcpServers": servers}))

	namesQuestion(w, path, path, "has changed")
	if _, err := os.Lstat(ran); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("status, doctor or reload has started it: %v", err)
	}
	if said, status := ranWithout(w, "reload"); status != 3 {
		t.Errorf("reload ends with %d while the file waits:\n%s", status, said)
	}
	shows := []string{path, "more", world.Bin.Opener, "ADDED", "by a server", "sandbox"}
	answers(w, "no", "It goes on waiting", shows...)
	if offers(s, "more__shell") {
		t.Error("it runs, and the answer was no")
	}
	answers(w, "", "It goes on waiting", shows...)
	if offers(s, "more__shell") {
		t.Error("it runs, and nothing was answered")
	}
	namesQuestion(w, path, path)
	answers(w, "yes", "It is accepted", shows...)
	s.AwaitTool("more__shell")
	wellAgain(w)
	if _, err := os.Lstat(ran); err != nil {
		t.Errorf("it runs and leaves nothing, so this shows nothing: %v", err)
	}
}

// A server puts another link instead of one that an entry of another hub names. Status and doctor name the question. A
// person at a terminal is shown its target; after yes, and not before, `mcphub restart` opens it.
func TestAPersonAnswersForALink(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	w := world.New(t)
	w.Write("home/dotfiles/conf/app", "honest\n")
	w.Write("home/private/x", world.SecretText)
	link, was, now := w.Path("home", "conf"), w.Path("home", "dotfiles", "conf"), w.Path("home", "private")
	world.Symlink(t, was, link)
	config := w.Config(obj{"kid": shellServer(obj{"sandbox": obj{"read": []string{link}}})})
	s := shellHub(w, config, w.Project)
	does := func(s *world.Session, line string) string {
		return s.MustCallArgs("kid__shell", obj{"command": line}).Text
	}
	if said := does(s, "cat "+link+"/app"); !strings.Contains(said, "honest") {
		t.Fatalf("an honest link does not work: %s", said)
	}
	other := shellHub(w, w.Write("other.json", world.Raw(t, obj{"mcpServers": obj{"kid": shellServer(nil)}})), w.Path("home", "dotfiles"))
	if said := does(other, "rm -rf "+was+"; ln -s "+now+" "+was+"; readlink "+was); !strings.Contains(said, "private") {
		t.Fatalf("the other session could not plant a link: %s", said)
	}
	other.End(world.StopBound)
	secret := func() bool {
		t.Helper()
		if said, status := ranWithout(w, "restart", "kid", "--config", config); status != 0 {
			t.Fatalf("restart ends with %d:\n%s", status, said)
		}
		return strings.Contains(does(s, "cat "+link+"/x; true"), world.SecretText)
	}
	if secret() {
		t.Error("it is open, and nobody was asked")
	}
	namesQuestion(w, config, link+" led to "+was+" and leads to "+now)
	shows := []string{link, "It opened to servers: " + was, "It would open:        " + now, "mcphub restart NAME"}
	answers(w, "no", "It goes on waiting", shows...)
	if secret() {
		t.Error("it is open, and the answer was no")
	}
	answers(w, "yes", "It is accepted", shows...)
	if !secret() {
		t.Error("it is not open, and the answer was yes")
	}
	wellAgain(w)
}

// The root of one hub is the home folder, and its confined server writes hub.json there. What is new runs neither in that hub nor
// in one with another root nor in one that starts later, until a person has accepted it; then it does, free of all bounds.
// What a person adds by a command runs at once, which is the control.
func TestAnotherHubAndWhatAServerItselfWrote(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for _, person := range []bool{false, true} {
		w := world.New(t)
		ran := w.Path("outside", "ran")
		servers := obj{"kid": shellServer(nil)}
		path := w.Write("home/conf/hub.json", world.Raw(t, obj{"mcpServers": servers}))
		hubs := []*world.Session{shellHub(w, path, w.Home), shellHub(w, path, w.Other)}
		if person {
			if said, status := ranWithout(w, "add", "more", "--config", path, "--", world.Bin.Opener); status != 0 {
				t.Fatalf("add ends with %d:\n%s", status, said)
			}
			for _, s := range hubs {
				s.AwaitTool("more__shell")
			}
			continue
		}
		servers["more"] = obj{"command": "sh", "args": []string{"-c", "touch " + ran + "; exec " + world.Bin.Opener}, "sandbox": "off"}
		writes(hubs[0], path, world.Raw(t, obj{"mcpServers": servers}))
		for _, s := range hubs {
			s.AwaitConfig("it waits", func(c world.ConfigState) bool { return c.Waiting != "" })
		}
		hubs[0].End(world.StopBound) // what it left behind counts
		hubs[0] = shellHub(w, path, w.Other)
		_, _ = ranWithout(w, "reload")
		for i, s := range hubs {
			if offers(s, "more__shell") || s.ConfigState().Waiting == "" {
				t.Errorf("hub %d runs it: %+v", i, s.ConfigState())
			}
		}
		if _, err := os.Lstat(ran); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it ran: %v", err)
		}
		accepts(w)
		if said, status := ranWithout(w, "reload"); status != 0 {
			t.Errorf("reload ends with %d:\n%s", status, said)
		}
		for _, s := range hubs {
			s.AwaitTool("more__shell")
		}
		if _, err := os.Lstat(ran); err != nil {
			t.Errorf("it is accepted and does nothing outside, so this shows nothing: %v", err)
		}
	}
}

// A server that may use unix sockets, and one that nothing holds, ask the hubs of its user for all that a socket of theirs can do,
// its own hub and another. They are refused. The same requests of this test, which no hub has started, are answered.
func TestAServerAdministersNoHub(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	needs.Program(t, "setsid")
	w := world.New(t)
	other := shellHub(w, w.Write("other.json", world.Raw(t, obj{"mcpServers": obj{"kid": shellServer(nil)}})), w.Other)
	own := shellHub(w, w.Config(obj{"kid": shellServer(obj{"sandbox": obj{"sockets": "on", "read": []string{world.Bin.Opener}}}), "free": shellServer(obj{"sandbox": "off"})}), w.Project)
	own.AwaitTool("free__shell")
	sockets, err := filepath.Glob(filepath.Join(w.Runtime, "mcphub", "*.sock"))
	if err != nil || len(sockets) != 2 {
		t.Fatal(sockets, err)
	}
	before := other.MustCallArgs("kid__shell", obj{"command": "echo $PPID"}).Text
	for _, request := range []string{"GET /status", "POST /reload", "POST /plan?file=" + w.Path("other.json"), "POST /restart?server=kid", "POST /sessions/end?principal=local", "GET /approvals", "POST /approvals/code", "POST /approvals/answer"} {
		for _, socket := range sockets {
			for _, server := range []string{"kid", "free"} {
				for _, how := range []string{"", "env -i OPENER_NEEDLE=00 setsid -w "} {
					line := "export OPENER_NEEDLE=00; " + how + world.Bin.Opener + " do connect " + socket + " " + request + " 2>&1"
					said := own.MustCallArgs(server+"__shell", obj{"command": line}).Text
					if !strings.Contains(said, "403 Forbidden") || !strings.Contains(said, "servers start may not") {
						t.Errorf("%s of %s: %s%s: %s", request, server, how, socket, said)
					}
				}
			}
		}
	}
	if now := other.MustCallArgs("kid__shell", obj{"command": "echo $PPID"}).Text; now != before {
		t.Errorf("the other hub's server was started anew: %s, then %s", before, now)
	}
	for _, request := range []string{"GET /status", "POST /reload", "POST /plan?file=" + w.Path("other.json"), "POST /restart?server=kid", "POST /sessions/end?principal=local"} {
		for _, socket := range sockets {
			if status, err := requests(t, socket, request); err != nil || status != http.StatusOK {
				t.Errorf("the control, %s: %d %v", request, status, err)
			}
		}
	}
}

// requests makes a request of a hub by its socket, as a person's command does.
func requests(t *testing.T, socket, request string) (status int, err error) {
	t.Helper()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, "http://mcphub"+path, nil)
	world.Must(t, err)
	res, err := web.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// A person's `mcphub allow` counts at once where a server could have written hub.json. What the server writes there itself, the
// very same text, does not.
func TestAPersonAllowsWhereAServerCouldWrite(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for _, person := range []bool{true, false} {
		w := world.New(t)
		path := w.Write("project/conf/hub.json", world.Raw(t, obj{"mcpServers": obj{"kid": shellServer(nil)}}))
		vault := filepath.Dir(w.Write("home/vault/note", world.SecretText))
		s := shellHub(w, path, w.Project)
		reads := func() bool {
			return strings.Contains(s.MustCallArgs("kid__shell", obj{"command": "cat " + filepath.Join(vault, "note")}).Text, world.SecretText)
		}
		if reads() {
			t.Fatal("it is open anyway, so this shows nothing")
		}
		if !person {
			writes(s, path, world.Raw(t, obj{"mcpServers": obj{"kid": shellServer(obj{"sandbox": obj{"read": []string{"~/vault"}}})}}))
			s.AwaitConfig("it waits", func(c world.ConfigState) bool { return c.Waiting != "" })
			if said, status := ranWithout(w, "allow", "kid", vault, "--write", "--config", path); status != 3 || !strings.Contains(said, "nobody has accepted") {
				t.Errorf("allow accepts what a server has written; it ends with %d:\n%s", status, said)
			}
			if reads() {
				t.Error("a server has allowed it to itself")
			}
			continue
		}
		if said, status := ranWithout(w, "allow", "kid", vault, "--config", path); status != 0 {
			t.Fatalf("allow ends with %d:\n%s", status, said)
		}
		if !world.Within(world.WaitLimit, reads) {
			t.Error("it is not open")
		}
		if said, status := ranWithout(w, "revoke", "kid", vault, "--config", path); status != 0 {
			t.Fatalf("revoke ends with %d:\n%s", status, said)
		}
		if !world.Within(world.WaitLimit, func() bool { return !reads() }) {
			t.Error("it is open after it was revoked")
		}
		wellAgain(w)
	}
}
