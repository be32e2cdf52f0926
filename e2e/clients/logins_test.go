package clients

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/ide"
	"mcphub/e2e/oauthtest"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// auth runs one command of mcphub. visit is given each address that it prints alone on a line.
func auth(w *world.World, visit func(address string), args ...string) (said string, err error) {
	w.T.Helper()
	return w.AuthWith([]string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")}, visit, args...)
}

// whoami calls the server's tool, which says whose token it saw; what is wrong instead if it cannot.
func whoami(s *world.Session) string {
	s.T.Helper()
	r, err := s.Tool(s.Context(), "protected__whoami", "{}")
	if err != nil {
		return err.Error() + " " + s.MustCall("list-tools", "{}").Text
	}
	return r.Text
}

// isSeenAs waits until whoami says want, and returns what it said last.
func isSeenAs(s *world.Session, want string) (got string) {
	s.T.Helper()
	if !world.Within(world.WaitLimit, func() bool { got = whoami(s); return strings.Contains(got, want) }) {
		s.T.Errorf("got %q, want %q", got, want)
	}
	return got
}

// whoamiOver is whoami over HTTP, for who has this token.
func whoamiOver(t *testing.T, hub, token string) func() string {
	t.Helper()
	web := &http.Client{Transport: bearer{token, &http.Transport{}}}
	s, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: hub, HTTPClient: web}, nil)
	world.Must(t, err)
	t.Cleanup(func() {
		_ = s.Close()
		web.CloseIdleConnections()
	})
	return func() string {
		r, err := s.CallTool(t.Context(), &gosdk.CallToolParams{Name: "whoami", Arguments: obj{}})
		if err != nil {
			if r, err = s.CallTool(t.Context(), &gosdk.CallToolParams{Name: "list-tools", Arguments: obj{}}); err != nil {
				return err.Error()
			}
		}
		if text, ok := r.Content[0].(*gosdk.TextContent); ok {
			return text.Text
		}
		return ""
	}
}

// A server asks for a login: the hub says the command, the command logs in, the hub goes on. The token is renewed when it
// ends, more rights are asked for by the command, and no token is seen anywhere but where it belongs.
func TestLogin(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	as := oauthtest.New(t)
	config := w.Config(obj{"protected": obj{"url": as.Resource, "type": "http", "auth": obj{"issuer": as.Issuer}}}, obj{"audit": obj{"arguments": true}, "secrets": obj{"store": "file"}})
	var said strings.Builder
	auth := func(args ...string) string {
		t.Helper()
		out, err := auth(w, world.Visitor(t), append(args, "--config", config)...)
		fmt.Fprintf(&said, "%q: %v\n%s", args, err, out)
		return out
	}
	s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", config, "--log-level", "trace"},
		Env: w.Env("DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")), Roots: ide.Folders(w.Project)})
	s.Handshake()
	expect := func(want string) { t.Helper(); fmt.Fprintln(&said, isSeenAs(s, want)) }
	expect("run: mcphub auth login protected")
	if out := auth("status", "protected"); !strings.Contains(out, "run: mcphub auth login protected") {
		t.Error(out)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(world.Hub(t), args...)
		cmd.Env = w.Env("DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus"))
		out, _ := cmd.CombinedOutput()
		said.Write(out)
		return string(out)
	}
	if out := run("status"); !strings.Contains(out, "run: mcphub auth login protected") {
		t.Error(out)
	}
	if out := auth("login", "protected", "--no-browser"); !strings.Contains(out, "Logged in at protected") {
		t.Fatal(out)
	}
	expect("alice")
	as.Expire()
	expect("alice")
	if n := as.Rotations(); n != 1 {
		t.Errorf("the login was renewed %d times", n)
	}
	as.Scope = "more"
	expect("scopes more; run: mcphub auth login protected")
	if out := auth("list"); !strings.Contains(out, "the server asked for more scopes: more") {
		t.Error(out)
	}
	auth("login", "protected", "--no-browser")
	expect("alice")
	if out := auth("status", "--json"); !strings.Contains(out, `"state": "good"`) || !strings.Contains(out, `"more"`) {
		t.Error(out)
	}
	run("status", "--json")
	if out := run("secret", "list", "--config", config); strings.Contains(out, "login") {
		t.Errorf("a login is listed among the secrets: %s", out)
	}
	for _, name := range []string{"cmdline", "environ"} {
		if raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.PID()), name)); err == nil {
			said.Write(raw)
		}
	}
	if out := auth("logout", "protected", "--json"); !strings.Contains(out, `"revoked": true`) || as.Revoked() != 1 {
		t.Error(out)
	}
	expect("run: mcphub auth login protected")
	if as.Twice() != 0 {
		t.Error("a token was used twice")
	}
	// The control: the canary is in the tokens of the calls that were seen, so they are what is searched for.
	if len(as.Calls()) == 0 || strings.Contains(said.String(), oauthtest.Canary) {
		t.Errorf("a token was shown:\n%s", said.String())
	}
	world.EachFile(t, w.Dir, func(path string, text []byte) {
		if strings.Contains(string(text), oauthtest.Canary) {
			t.Errorf("%s holds a token", path)
		}
	})
}

// Two persons share a hub, and a server that is shared by all: each is served with their own login.
func TestLoginsOfTwo(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	as := oauthtest.New(t)
	config := w.Config(obj{"protected": obj{"url": as.Resource, "type": "http", "auth": obj{"issuer": as.Issuer}, "share": "all", "prefix": ""}}, obj{
		"secrets": obj{"store": "file"},
		"http":    obj{"tokens": []obj{{"name": "ann", "env": "ANN"}, {"name": "bob", "env": "BOB"}, {"name": "eve", "env": "EVE"}}},
	})
	for _, name := range []string{"ann", "bob"} {
		as.Consent = name
		if out, err := auth(w, world.Visitor(t), "login", "protected", "--no-browser", "--principal", name, "--config", config); err != nil {
			t.Fatal(err, out)
		}
	}
	hub := w.ServeHTTP(config, "ANN=token-of-ann-0123456789", "BOB=token-of-bob-0123456789", "EVE=token-of-eve-0123456789", "DBUS_SESSION_BUS_ADDRESS=unix:path="+w.Path("no-bus"))
	calls := seeds.Cases(t, 200)
	var wg sync.WaitGroup
	for i := range 4 {
		name := []string{"ann", "bob"}[i%2]
		wg.Go(func() {
			ask := whoamiOver(t, hub, "token-of-"+name+"-0123456789")
			for n := range calls / 4 {
				if n%50 == 25 && i == 0 {
					as.Expire()
				}
				if got := ask(); got != name {
					t.Errorf("%s is served as %q", name, got)
					return
				}
			}
		})
	}
	wg.Wait()
	seen, turns := map[string]int{}, 0
	all := as.Calls()
	for i, c := range all {
		seen[c.User]++
		if i > 0 && c.User != all[i-1].User {
			turns++
		}
	}
	t.Logf("the server saw %d requests with the tokens of %v, which took turns %d times; %d renewals", len(all), seen, turns, as.Rotations())
	if seen["ann"] < calls/2 || seen["bob"] < calls/2 || turns < calls/20 || as.Rotations() == 0 {
		t.Error("the two did not call the server beside each other")
	}
	if got := whoamiOver(t, hub, "token-of-eve-0123456789")(); !strings.Contains(got, "mcphub auth login protected --principal eve") {
		t.Errorf("who has no login is served: %q", got)
	}
}

// login by a code on another device, and a consent that is refused.
func TestLoginOtherwise(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	as := oauthtest.New(t)
	config := w.Config(obj{"protected": obj{"url": as.Resource, "auth": obj{"issuer": as.Issuer}}, "machine": obj{"url": as.Resource, "auth": obj{"issuer": as.Issuer, "clientId": "confidential", "clientSecret": "${file:key}", "flow": "client"}},
		"files": obj{"builtin": "files"}, "keyed": obj{"url": as.Resource, "headers": obj{"Authorization": "Bearer x"}}}, obj{"secrets": obj{"store": "file"},
		"http": obj{"resource": "https://hub.example/mcp", "issuers": []obj{{"issuer": "https://login.example"}}}})
	w.Write("key", as.Secret+"\n")
	for _, test := range []struct {
		args []string
		with func(q url.Values)
		want string
	}{
		{[]string{"login", "protected", "--device"}, nil, "Logged in at protected"},
		{[]string{"login", "machine"}, nil, "machine takes the client of hub.json"},
		{[]string{"login", "protected", "--no-browser"}, func(q url.Values) { delete(q, "code"); q["error"] = []string{"access_denied"} }, "the login was refused"},
		{[]string{"login", "protected", "--no-browser"}, func(q url.Values) { q["iss"] = []string{"https://evil.example"} }, "another authorization server"},
		{[]string{"login", "files"}, nil, "is a program on this machine"},
		{[]string{"login", "keyed"}, nil, "credentials in \"headers\""},
		{[]string{"login", "nobody"}, nil, "there is no server"},
		{[]string{"login", "protected", "--principal", "nobody"}, nil, "no token of \"http\""},
		{[]string{"login", "protected", "--principal", "@login.example"}, nil, "no token of \"http\""},
		{[]string{"login", "protected", "--no-browser", "--principal", "ann@login.example"}, nil, "Logged in at protected"},
		{[]string{"status", "protected", "--principal", "ann@login.example"}, nil, "good"},
	} {
		as.Answer = test.with
		if out, _ := auth(w, world.Visitor(t), append(test.args, "--config", config)...); !strings.Contains(out, test.want) || strings.Contains(out, oauthtest.Canary) {
			t.Errorf("%q: %s\nwant %q", test.args, out, test.want)
		}
	}
}

// What the commands about logins print, from the first look to the logout: testdata/printed/logins.txt has it word for word.
func TestLoginPrinted(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	as := oauthtest.New(t)
	config := w.Config(obj{"linear": obj{"url": as.Resource, "type": "http", "auth": obj{"issuer": as.Issuer}}}, obj{"secrets": obj{"store": "file"}})
	var b strings.Builder
	run := func(args ...string) {
		t.Helper()
		said, err := w.Visiting([]string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus")}, world.Visitor(t), append(args, "--config", config)...)
		status := 0
		if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
			status = ended.ExitCode()
		}
		fmt.Fprintf(&b, "$ mcphub %s\n%sexit status %d\n\n", strings.Join(args, " "), said, status)
	}
	call := func() { run("call", "linear__whoami", "--root", w.Project, "--log-level", "off") }
	call()
	run("doctor", "linear")
	run("auth", "status", "linear")
	run("auth", "login", "linear", "--no-browser")
	call()
	run("doctor", "linear")
	run("auth", "status", "linear")
	as.Change(func() { as.Scope = "more" })
	call()
	run("auth", "status", "linear")
	as.Change(func() { as.Scope = "" })
	as.EndLogins()
	call()
	run("doctor", "linear")
	run("auth", "status", "linear")
	run("auth", "login", "linear", "--device", "--json")
	run("auth", "logout", "linear", "--json")
	run("auth", "logout", "linear")
	run("auth", "login", "linear", "--device")
	run("auth", "logout", "linear")
	got := world.Steady(b.String(), "ISSUER", as.Issuer, "SERVER", strings.TrimSuffix(as.Resource, "/mcp"), "$HOME", w.Home, "$DIR", w.Dir)
	got = regexp.MustCompile(`client_id=registered-\d+.*`).ReplaceAllString(got, "PARAMETERS")
	got = regexp.MustCompile(`code_challenge=.*`).ReplaceAllString(got, "PARAMETERS")
	got = regexp.MustCompile(`; it is not started again for SPAN, a call after that starts it`).ReplaceAllString(got, "")
	golden := filepath.Join("testdata", "printed", "logins.txt")
	if *world.Update {
		world.Must(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	kept, err := os.ReadFile(golden)
	world.Must(t, err)
	if diff := cmp.Diff(string(kept), got); diff != "" {
		t.Errorf("not as in %s (go test ./e2e/clients -run TestLoginPrinted -update writes it): %s", golden, diff)
	}
}
