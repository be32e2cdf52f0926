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
// renewed by refresh tokens that are good once. Consent is refused and given, tokens are renewed, also one that ends amid a
// call, a login is revoked behind the hub's back, a code is entered on another device; and of the servers with a fault each
// is refused with its reason, before a token or a code has gone anywhere.
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
	unsaid := func(kind string) obj { s := at(kind); delete(s, "auth"); return s }
	config := w.Config(obj{"protected": at(""), "audience": at("/audience"), "issuer": at("/issuer"), "mixed": at("/mixed"), "private": unsaid("/private"), "port": unsaid("")}, obj{"secrets": obj{"store": "file"}})
	// person logs in by the browser; some of the addresses that are printed are passed over.
	person := func(answer string, skip int) func(address string) {
		return func(address string) {
			if skip--; skip >= 0 {
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), world.WaitLimit)
			defer cancel()
			cmd := exec.CommandContext(ctx, n.Program, world.Source("e2e", "clients", "browse.mjs"), address, "ann", answer)
			cmd.Env, cmd.Dir = w.Env("CHROMIUM="+chromium), w.Home
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("the browser at %s: %v\n%s", address, err, out)
			} else {
				t.Logf("the browser shows: %s", out)
			}
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
	login("the login was refused", person("no", 0), "login", "protected", "--no-browser")
	login("Logged in at protected", person("yes", 0), "login", "protected", "--no-browser")
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
	out, err := w.AuthWith([]string{"XDG_CONFIG_HOME=" + elsewhere, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")}, nil, "logout", "protected", "--config", config)
	if err != nil || !strings.Contains(out, "has ended it") {
		t.Fatal(err, out)
	}
	expect("/token: the authorization server answers invalid_grant")
	login("over", nil, "status", "protected")
	login("run: mcphub auth login protected", nil, "status", "protected")

	// The program opens the browser itself, by what a desktop opens pages with.
	opener := w.Write("bin/xdg-open", "#!/bin/sh\nexec '"+n.Program+"' '"+world.Source("e2e", "clients", "browse.mjs")+"' \"$1\" ann yes\n")
	world.Must(t, os.Chmod(opener, 0o700))
	out, err = w.AuthWith([]string{"DISPLAY=:0", "CHROMIUM=" + chromium, "PATH=" + filepath.Dir(opener) + ":" + os.Getenv("PATH"), "DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")},
		nil, "login", "protected", "--config", config)
	if err != nil || !strings.Contains(out, "The login is open in your browser") || !strings.Contains(out, "Logged in at protected") {
		t.Errorf("with a browser that is opened: %v %s", err, out)
	}
	expect("ann")
	login("has ended it", nil, "logout", "protected")
	expect("run: mcphub auth login protected")
	login("Logged in at protected", person("yes", 1), "login", "protected", "--device")
	expect("ann")

	login("another one", nil, "login", "issuer", "--no-browser")
	for name, issuer := range map[string]string{"private": "https://10.1.2.3", "port": at("")["auth"].(obj)["issuer"].(string)} {
		_, private, _ := strings.Cut(issuer, "//")
		login(private+" is a private address, which a server may not send this program to", nil, "login", name, "--no-browser")
		login(`write "auth": {"issuer": "`+issuer+`"} for this server in hub.json`, nil, "login", name, "--no-browser")
	}
	login("the answer comes from another authorization server, http://127.0.0.1:", person("yes", 0), "login", "mixed", "--no-browser")
	login("Logged in at audience", person("yes", 0), "login", "audience", "--no-browser")
	got := ""
	if !world.Within(world.WaitLimit, func() bool {
		got = s.AwaitCall(s.SendCall("call-tool", `{"serverName":"audience","toolName":"whoami"}`)).Text
		return strings.Contains(got, "HTTP status 401 (Unauthorized); it refuses the token of the login, and new ones too")
	}) {
		t.Errorf("a server that takes tokens for another one only: %q", got)
	}
	if said.countLines("refused ERR_JWT_CLAIM_VALIDATION_FAILED") == 0 {
		t.Error("the control: no token for another server has come")
	}
	if n := said.countLines("mixed up: "); n != 0 { // more than its metadata was asked for: the code would be with it
		t.Errorf("the server that mixes up logins was sent %d requests", n)
	}
}
