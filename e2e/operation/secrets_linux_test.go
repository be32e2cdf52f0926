package operation

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/oauthtest"
	"mcphub/e2e/world"
)

// startKeyring starts a bus and a keyring of the desktop on it, for this test alone. It returns what leads there.
func startKeyring(t *testing.T) (env []string) {
	t.Helper()
	needs.Program(t, "dbus-daemon")
	needs.Program(t, "gnome-keyring-daemon")
	dir := world.ShortFolder(t)
	bus := filepath.Join(dir, "bus")
	own := append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+filepath.Join(dir, "data"), "XDG_RUNTIME_DIR="+dir, "DBUS_SESSION_BUS_ADDRESS=unix:path="+bus)
	daemon := func(stdin, program string, args ...string) {
		cmd := exec.Command(program, args...)
		cmd.Env, cmd.Dir, cmd.Stdin = own, dir, strings.NewReader(stdin)
		world.Must(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	daemon("", "dbus-daemon", "--session", "--nofork", "--nopidfile", "--address=unix:path="+bus)
	var conn *dbus.Conn
	connected := func() bool { // the socket is there before it listens
		var err error
		conn, err = dbus.Connect("unix:path=" + bus)
		return err == nil
	}
	if !world.Within(world.WaitLimit, connected) {
		t.Fatal("the bus did not start")
	}
	defer conn.Close()
	daemon("password of the keyring", "gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
	// To ask it anything before it is there would have the bus start another one.
	const name = "org.freedesktop.secrets"
	unlocked := func() bool {
		var there bool
		if conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, name).Store(&there) != nil || !there {
			return false
		}
		var collection dbus.ObjectPath
		service := conn.Object(name, "/org/freedesktop/secrets")
		if service.Call("org.freedesktop.Secret.Service.ReadAlias", 0, "default").Store(&collection) != nil || collection == "/" {
			return false
		}
		locked, err := conn.Object(name, collection).GetProperty("org.freedesktop.Secret.Collection.Locked")
		return err == nil && locked.Value() == false
	}
	if !world.Within(world.WaitLimit, unlocked) {
		t.Fatal("the keyring did not unlock")
	}
	return []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + bus}
}

// A secret from each place where one may stand (keyring, encrypted file, file, variables, header, address, a client's file, and
// what an authorization server answers, kept in a real keyring) reaches the server that is to have it, and is found nowhere
// else: in no answer, log, record, report, cache, command line, copy of an edited file or output of a crash, and not in the
// environment or the memory of the guardian or another server.
func TestCanary(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	bus := startKeyring(t)
	noBus := []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")}

	var mu sync.Mutex
	var got strings.Builder // what the server on the network was sent
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		fmt.Fprintln(&got, r.URL, r.Header.Get("Authorization"))
		mu.Unlock()
		http.Error(rw, "who are you?", http.StatusUnauthorized)
	}))
	defer web.Close()

	holder := w.Recorder("holder")
	for name, ref := range map[string]string{"S_KEYRING": "${keyring:ring}", "S_AGE": "a ${keyring:aged} b", "S_INPUT": "${input:asked}", "S_FILE": "${file:token.txt}"} {
		holder["env"].(obj)[name] = ref
	}
	w.Write("token.txt", world.Canary+"file\n")
	w.Write("kid.env", "# variables\nexport S_ENVFILE='"+world.Canary+"envfile'\n")
	holder["envFile"] = "kid.env"
	argued := w.Recorder("argued", "positional", "--label", "${keyring:ring}")
	dies := w.Recorder("dies", "-die-at-start")
	dies["env"].(obj)["S_KEYRING"] = "${keyring:ring}"
	missing := w.Recorder("missing")
	missing["env"].(obj)["S_NONE"] = "${keyring:none}"
	missing["env"].(obj)["S_KEYRING"] = "${keyring:ring}"
	broken := w.Recorder("broken")
	broken["envFile"] = w.Write("broken.env", "A='"+world.Canary+"broken\n")
	withKeys := func(base string) obj {
		return obj{"url": base + "/mcp/${keyring:ring}?key=${keyring:aged}", "headers": obj{"Authorization": "Bearer ${input:asked}"}}
	}
	as := oauthtest.New(t)
	config := w.Config(obj{
		"logged": obj{"url": as.Resource, "type": "http", "auth": obj{"issuer": as.Issuer}},
		"holder": holder, "other": w.Recorder("other"), "argued": argued, "dies": dies, "missing": missing, "broken": broken,
		"web": withKeys(web.URL), "gone": withKeys("http://127.0.0.1:1"),
	}, obj{"audit": obj{"arguments": true}, "inputs": []obj{{"id": "asked", "description": "the key", "password": true}}})

	var said strings.Builder // all that was told to anybody
	command := func(env []string, stdin string, args ...string) {
		t.Helper()
		cmd := exec.Command(world.Hub(t), args...)
		cmd.Env, cmd.Dir, cmd.Stdin = w.Env(env...), w.Home, strings.NewReader(stdin)
		out, _ := cmd.CombinedOutput() // some of them fail, and say so
		fmt.Fprintf(&said, "--- %q\n%s\n", args, out)
	}
	command(bus, world.Canary+"ring\n", "secret", "set", "ring", "--config", config)
	command(bus, world.Canary+"asked\n", "secret", "set", "asked", "--config", config)
	command(noBus, world.Canary+"aged\n", "secret", "set", "aged", "--config", config)
	for _, want := range []string{"ring is kept in the keyring.", "asked is kept in the keyring.", "aged is kept in the encrypted file " + w.Path("home", "config", "mcphub", "secrets.age") + ": no keyring: "} {
		if !strings.Contains(said.String(), want) {
			t.Fatalf("%q was not said:\n%s", want, said.String())
		}
	}

	// Files are edited, and a client's file is read that holds a secret.
	theirs := w.Write("home/.cursor/mcp.json", `{"mcpServers": {"imported": {"command": "`+world.Bin.Recorder+`", "env": {"API_KEY": "`+world.Canary+`imported"}}}}`)
	command(bus, "", "init", "--yes", "--config", config) // which takes the server out of the client's file, and keeps a copy
	command(bus, "", "disable", "imported", "--config", config)
	command(bus, "", "add", "extra", "--config", config, "--env", "K=${keyring:ring}", "--", "/bin/true")
	for _, verb := range []string{"disable", "enable", "remove"} {
		command(bus, "", verb, "extra", "--config", config)
	}
	command(bus, world.Canary+"again\n", "secret", "set", "extra", "--config", config)
	command(bus, "", "secret", "rm", "extra", "--config", config)
	login := func(env []string, args ...string) string {
		t.Helper()
		out, err := w.AuthWith(env, world.Visitor(t), append(args, "--config", config)...)
		fmt.Fprintf(&said, "--- auth %q: %v\n%s\n", args, err, out)
		return out
	}
	if out := login(bus, "login", "logged", "--no-browser"); !strings.Contains(out, "Logged in at logged") {
		t.Fatal(out)
	}
	if out := login(noBus, "status", "logged"); !strings.Contains(out, "none") {
		t.Errorf("the login is not in the keyring alone: %s", out)
	}
	if text, err := os.ReadFile(config); err != nil || !strings.Contains(string(text), "${keyring:imported/API_KEY}") {
		t.Errorf("the control: nothing was imported: %v\n%s\n%s", err, text, said.String())
	}

	s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", config, "--log-level", "trace"}, Env: w.Env(slices.Concat(bus, []string{"GOTRACEBACK=crash"})...), Roots: ide.Folders(w.Project)})
	s.Handshake()
	_, err := s.Call(s.Context(), "tools/list", `{}`)
	world.Must(t, err)
	s.AwaitTool("holder__echo")
	s.AwaitTool("other__echo")
	s.AwaitTool("argued__echo")
	s.MustCall("holder__echo", `{}`)
	s.MustCall("other__echo", `{}`)
	s.MustCall("get-roots", `{}`)
	whoami := func() string { return s.MustCall("call-tool", `{"serverName":"logged","toolName":"whoami"}`).Text }
	for range 2 {
		if got := whoami(); got != "alice" {
			t.Errorf("logged in, the server sees %q", got)
		}
		as.Expire()
	}
	if n := as.Rotations(); n == 0 {
		t.Error("the control: no token was renewed, in a real keyring")
	}
	refused := map[string]string{"dies": "", "missing": `env S_NONE: the secret \"none\" is not set`, "broken": "a quote is not closed", "web": "401", "gone": "refused"}
	for name, want := range refused {
		m, err := s.Call(s.Context(), "tools/call", ide.ToolParams(name+"__echo", `{}`))
		world.Must(t, err)
		fmt.Fprintf(&said, "--- %s\n%s\n", name, m.Raw)
		if !world.Within(world.WaitLimit, func() bool { return strings.Contains(s.Stderr(), want) }) {
			t.Errorf("%s: nowhere %q", name, want)
		}
	}
	for _, args := range [][]string{
		{"status"}, {"status", "--json"}, {"validate", "--config", config}, {"secret", "list", "--config", config}, {"secret", "list", "--json", "--config", config},
		{"explain", "holder__echo", "--config", config, "--root", w.Project}, {"audit"}, {"warm", "--config", config},
		{"doctor", "--config", config, "logged", "web"}, {"auth", "list"}, {"auth", "list", "--json"}, {"auth", "status", "--json", "--config", config}, {"logs", "dies"},
	} {
		command(bus, "", args...)
	}
	for _, want := range []string{"--label ${keyring:ring}", "${keyring:ring} will stand in the list of processes", `the secret "none" is not set`, web.URL + "/mcp/${keyring:ring}\n"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is nowhere in what the commands said:\n%s", want, said.String())
		}
	}

	wantNoCanary(t, "what was said", said.String())
	wantNoCanary(t, "the log", s.Stderr())
	for _, m := range s.Messages() {
		wantNoCanary(t, "a message", string(m.Raw))
	}
	wantNoFile := func(but ...string) {
		t.Helper()
		files, with := 0, []string{}
		look := func(path string, text []byte) {
			files++
			if canaryIn(string(text)) >= 0 {
				with = append(with, path)
			}
		}
		world.EachFile(t, w.Home, look)
		world.EachFile(t, w.Runtime, look)
		if files < 4 || !slices.Equal(with, but) { // a log, a record, the cache, the encrypted file, a copy of the client's file
			t.Errorf("of %d files these hold a secret: %q, want %q", files, with, but)
		}
	}
	wantNoFile()

	// Who has which in its environment and on its command line, as the system tells it.
	seen := map[string]int{}
	for _, p := range world.Tree(t, s.PID()) {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err != nil || strings.Contains(string(environ), "RECORDER_FILE="+w.Record("dies")) { // it has ended, or will at once
			continue
		}
		who := "the hub"
		for _, name := range []string{"holder", "other", "argued"} {
			if strings.Contains(string(environ), "RECORDER_FILE="+w.Record(name)) {
				who = name
			}
		}
		seen[who]++
		if who != "holder" {
			wantNoCanary(t, "the environment of "+who, string(environ))
		} else if n := strings.Count(string(environ), world.Canary); n != 5 {
			t.Errorf("the control: %d of 5 secrets are in the environment of their server", n)
		}
		if who != "argued" {
			wantNoCanary(t, "the command line of "+who, p.Command)
		} else if !strings.Contains(p.Command, "--label "+world.Canary+"ring") {
			t.Errorf("the control: the argument of its server is not on its command line: %s", p.Command)
		}
	}
	hub := world.HubProper(t, s.PID()) // which has to hold secrets
	for _, p := range world.Tree(t, s.PID()) {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if p.PID == hub || strings.HasPrefix(p.Command, "(") || strings.Contains(string(environ), "RECORDER_FILE="+w.Record("dies")) {
			continue
		}
		found, err := memoryHolds(p.PID)
		holds := strings.HasPrefix(p.Command, world.Bin.Recorder) && (strings.Contains(p.Command, "positional") || p.PID == w.Starts("holder")[0].PID)
		switch {
		case err != nil:
			t.Logf("not tried here: the memory of %s: %v", p.Command, err)
		case found != holds: // that of the servers that are given secrets is the control
			t.Errorf("a secret in the memory of process %d, %s: %v, want %v", p.PID, p.Command, found, holds)
		}
	}
	if seen["the hub"] != 2 || seen["holder"] != 1 || seen["other"] != 1 || seen["argued"] != 1 {
		t.Errorf("looked at %v, want hub and guardian and three servers", seen)
	}
	for name, want := range map[string]string{
		"S_KEYRING": world.Canary + "ring", "S_AGE": "a " + world.Canary + "aged b", "S_INPUT": world.Canary + "asked", "S_FILE": world.Canary + "file", "S_ENVFILE": world.Canary + "envfile",
	} {
		if start := w.Starts("holder")[0]; !slices.Contains(start.Env, name+"="+want) {
			t.Errorf("the control: the server was not given %s=%s", name, want)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if want := "/mcp/" + world.Canary + "ring?key=" + world.Canary + "aged Bearer " + world.Canary + "asked"; !strings.Contains(got.String(), want) {
		t.Errorf("the control: the server on the network was sent\n%s, want %s", got.String(), want)
	}

	// A crash: what it prints, and what it leaves on disk.
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", hub))
	world.Must(t, err)
	if !regexp.MustCompile(`(?m)^Max core file size +0 `).Match(limits) {
		t.Errorf("the hub may write its memory to a core file:\n%s", limits)
	}
	s.ExitStatus = 128 + int(syscall.SIGABRT)
	world.Must(t, syscall.Kill(hub, syscall.SIGABRT))
	s.End(world.StopBound)
	if text := s.Stderr(); !strings.Contains(text, "SIGABRT") || !strings.Contains(text, "goroutine ") {
		t.Errorf("the control: it did not crash:\n%s", text)
	}
	wantNoCanary(t, "the output of the crash", s.Stderr())
	wantNoFile()
	command(noBus, "", "uninstall", "cursor", "--config", config)
	if !strings.Contains(said.String(), "its key cannot be found") {
		t.Errorf("the key of the copies is not in the keyring alone:\n%s", said.String())
	}
	wantNoFile()
	command(bus, "", "uninstall", "cursor", "--config", config)
	wantNoFile(theirs) // the control: a secret was in the copy
}

// memoryHolds reports whether the memory that a process can write holds a secret.
func memoryHolds(pid int) (bool, error) {
	return world.MemoryHas(pid, func(text string) bool { return canaryIn(text) >= 0 })
}

// canaryIn returns where a text holds one of the secrets, -1 if it holds none.
func canaryIn(text string) int {
	return max(strings.Index(text, world.Canary), strings.Index(text, oauthtest.Canary))
}

func wantNoCanary(t *testing.T, where, text string) {
	t.Helper()
	if at := canaryIn(text); at >= 0 {
		t.Errorf("a secret is in %s: ...%s...", where, text[max(0, at-200):min(len(text), at+60)])
	}
}

// A keyring that does not answer holds no one up for long: what is in the file is found, and validate is done.
func TestAKeyringThatHangs(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	bus := w.Path("bus")
	l := listenUnix(t)
	config := w.Config(obj{"rec": obj{"command": world.Bin.Recorder, "env": obj{"K": "${keyring:aged}", "N": "${keyring:none}"}}})
	run := func(address string, atMost time.Duration, args ...string) string {
		cmd := exec.Command(world.Hub(t), append(args, "--config", config)...)
		cmd.Env, cmd.Dir, cmd.Stdin = w.Env("DBUS_SESSION_BUS_ADDRESS=unix:path="+address), w.Home, strings.NewReader("v")
		start := time.Now()
		out, _ := cmd.CombinedOutput()
		if took := time.Since(start); took > atMost {
			t.Errorf("%q took %s", args, took)
		}
		return string(out)
	}
	run(bus, world.WaitLimit, "secret", "set", "aged")
	out := run(l, bounds.Of(8*time.Second), "validate")
	if !strings.Contains(out, `the secret "none" is not set (the keyring does not answer`) || strings.Contains(out, `"aged" is not set`) {
		t.Error(out)
	}
}

// listenUnix returns the path of a socket that takes connections and never says a word.
func listenUnix(t *testing.T) string {
	t.Helper()
	dir := world.ShortFolder(t)
	l, err := net.Listen("unix", filepath.Join(dir, "bus"))
	world.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// At a terminal a secret is asked for, with the words of hub.json, and none of it is shown. What is no password is.
func TestSecretsAreAskedForAtATerminal(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	config := w.Config(obj{"rec": obj{"command": world.Bin.Recorder, "env": obj{"A": "${input:key}", "B": "${input:user}", "C": "${keyring:other}"}}},
		obj{"secrets": obj{"store": "file"}, "inputs": []obj{{"id": "key", "description": "Key of the service", "password": true}, {"id": "user"}}})
	set := func(args ...string) *world.Console {
		return w.Approver(w.Env(), func(c *exec.Cmd) {
			c.Args = append([]string{c.Path, "secret", "set", "--config", config}, args...)
		})
	}
	s := set()
	s.Sees(1, `Key of the service \(key\): $`)
	s.Types(world.Canary + "key")
	s.Sees(1, `key is kept in the encrypted file .*secrets\.age\.`)
	s.Sees(1, `Value of user for rec: $`)
	s.Types("shown")
	s.Sees(1, "user is kept")
	s.Sees(1, `Value of other for rec: $`)
	s.Types("")
	s.Sees(1, "other is left out")
	<-s.Ended
	if shown := s.Shown(); strings.Contains(shown, world.Canary) || !strings.Contains(shown, "for rec: shown") || s.Cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("exit status %d, shown:\n%s", s.Cmd.ProcessState.ExitCode(), shown)
	}

	s = set("other")
	s.Sees(1, `Value of other for rec: $`)
	s.Types(world.Canary + "o\x7fother\x03")
	<-s.Ended
	if s.Cmd.ProcessState.ExitCode() != 130 || strings.Contains(s.Shown(), world.Canary) {
		t.Errorf("exit status %d, shown:\n%s", s.Cmd.ProcessState.ExitCode(), s.Shown())
	}
	s = set("other")
	s.Sees(1, `Value of other for rec: $`)
	s.Types(world.Canary + "o\x7fother")
	s.Sees(1, "other is kept")
	<-s.Ended

	hub := w.Serve(config, ide.Folders(w.Project))
	hub.Handshake()
	_, err := hub.Call(hub.Context(), "tools/list", `{}`)
	world.Must(t, err)
	var environ string
	if !world.Within(world.WaitLimit, func() bool {
		for _, p := range world.Tree(t, hub.PID()) {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
			if strings.HasPrefix(p.Command, world.Bin.Recorder) {
				environ = string(text)
			}
		}
		return environ != ""
	}) {
		t.Fatal("the server did not start")
	}
	for _, want := range []string{"A=" + world.Canary + "key", "B=shown", "C=" + world.Canary + "other"} {
		if !strings.Contains(environ, want+"\x00") {
			t.Errorf("%s is not in its environment", want)
		}
	}
}
