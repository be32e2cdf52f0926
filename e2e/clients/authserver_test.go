package clients

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// A real authorization server and a real browser: oidc-provider, whose tokens are signed, good for one server, short, and
// renewed by refresh tokens that are good once. The program opens the browser by itself. Tokens are renewed, also one that ends amid a
// call; a login is revoked behind the hub's back; and a server that mixes up logins is refused before a code has gone anywhere. What else
// may be wrong is tried by cmd/mcphub/internal/oauth, and other ways to log in by TestLoginOtherwise.
func TestLoginAtRealServer(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	chromium := needs.Program(t, "chromium")
	n.Of(t, "authserver")
	w := world.New(t)
	said := listenTo(w)
	resource := w.Listening(exec.Command(n.Program, world.Source("e2e", "authserver", "server.mjs")), regexp.MustCompile(`^protected (http://\S+/mcp)$`), "LIFE=2")
	// at is a server, with the authorization server that it names: each is on a port of its own, which a person says to be meant.
	at := func(kind string) obj {
		r, err := http.Get(strings.TrimSuffix(resource, "/mcp") + "/.well-known/oauth-protected-resource" + kind + "/mcp")
		world.Must(t, err)
		defer func() { _ = r.Body.Close() }()
		var m struct {
			Servers []string `json:"authorization_servers"`
		}
		world.Must(t, json.NewDecoder(r.Body).Decode(&m))
		return obj{"url": strings.TrimSuffix(resource, "/mcp") + kind + "/mcp", "type": "http", "auth": obj{"issuer": m.Servers[0]}}
	}
	config := w.Config(obj{"protected": at(""), "mixed": at("/mixed")}, obj{"secrets": obj{"store": "file"}})
	person := func(address string) {
		ctx, cancel := context.WithTimeout(t.Context(), world.WaitLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, n.Program, world.Source("e2e", "clients", "browse.mjs"), address, "ann", "yes")
		cmd.Env, cmd.Dir = w.Env("CHROMIUM="+chromium), w.Home
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("the browser at %s: %v\n%s", address, err, out)
		} else {
			t.Logf("the browser shows: %s", out)
		}
	}
	login := func(want string, visit func(address string), args ...string) {
		t.Helper()
		if out, _ := auth(w, visit, append(args, "--config", config)...); !strings.Contains(out, want) {
			t.Errorf("%q: %s\nwant %q", args, out, want)
		}
	}
	s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", config},
		Env: w.Env("DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")), Roots: ide.Folders(w.Project)})
	s.Handshake()
	expect := func(want string) { t.Helper(); isSeenAs(s, want) }
	expect("run: mcphub auth login protected")
	// The program opens the browser itself, by what a desktop opens pages with.
	opener := w.Write("bin/xdg-open", "#!/bin/sh\nexec '"+n.Program+"' '"+world.Source("e2e", "clients", "browse.mjs")+"' \"$1\" ann yes\n")
	world.Must(t, os.Chmod(opener, 0o700))
	out, err := w.AuthWith([]string{"DISPLAY=:0", "CHROMIUM=" + chromium, "PATH=" + filepath.Dir(opener) + ":" + os.Getenv("PATH"), "DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")},
		nil, "login", "protected", "--config", config)
	if err != nil || !strings.Contains(out, "The login is open in your browser") || !strings.Contains(out, "Logged in at protected") {
		t.Errorf("with a browser that is opened: %v %s", err, out)
	}
	expect("ann")
	const renewal = "granted by refresh_token"
	renewed := said.countLines(renewal)
	for range 5 { // each with a token that was renewed: they last no longer than it takes
		if got := whoami(s); got != "ann" {
			t.Errorf("got %q", got)
		}
	}
	if !world.Within(world.WaitLimit, func() bool { return said.countLines(renewal) >= renewed+5 }) {
		t.Errorf("renewed %d times", said.countLines(renewal)-renewed)
	}
	if got := s.MustCall("protected__expires", `{}`).Text; got != "ann" {
		t.Errorf("amid a call that outlasts its token: %q", got)
	}
	if !world.Within(world.WaitLimit, func() bool { return said.countLines("refused amid a call") >= 1 }) {
		t.Error("no token has ended amid a call")
	}

	// Someone else revokes the login.
	elsewhere := w.Path("elsewhere")
	world.Must(t, os.CopyFS(elsewhere, os.DirFS(w.Path("home", "config"))))
	world.Must(t, os.Chmod(elsewhere+"/mcphub/secrets.age", 0o600))
	world.Must(t, os.Chmod(elsewhere+"/mcphub/secrets.identity", 0o600))
	out, err = w.AuthWith([]string{"XDG_CONFIG_HOME=" + elsewhere, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")}, nil, "logout", "protected", "--config", config)
	if err != nil || !strings.Contains(out, "has ended it") {
		t.Fatal(err, out)
	}
	expect("/token: the authorization server answers invalid_grant")
	login("over", nil, "status", "protected")
	login("run: mcphub auth login protected", nil, "status", "protected")

	login("the answer comes from another authorization server, http://127.0.0.1:", person, "login", "mixed", "--no-browser")
	if n := said.countLines("mixed up: "); n != 0 { // more than its metadata was asked for: the code would be with it
		t.Errorf("the server that mixes up logins was sent %d requests", n)
	}
}
