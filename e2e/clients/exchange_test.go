package clients

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/world"
)

// A machine is a client of an authorization server.
type machine struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
}

// registerMachine registers a client at an authorization server.
func registerMachine(t *testing.T, issuer string, grants ...string) (m machine) {
	t.Helper()
	r, err := http.Post(issuer+"/reg", "application/json", strings.NewReader(world.Raw(t, obj{
		"redirect_uris": []string{}, "response_types": []string{}, "grant_types": grants, "token_endpoint_auth_method": "client_secret_basic"})))
	world.Must(t, err)
	defer func() { _ = r.Body.Close() }()
	world.Must(t, json.NewDecoder(r.Body).Decode(&m))
	return m
}

// tokenFor gets a token for a resource, which names the client itself.
func (m machine) tokenFor(t *testing.T, issuer, resource string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {resource}, "scope": {"tools"}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+"/token", strings.NewReader(form.Encode()))
	world.Must(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(m.ID), url.QueryEscape(m.Secret))
	resp, err := http.DefaultClient.Do(r)
	world.Must(t, err)
	defer func() { _ = resp.Body.Close() }()
	var got struct {
		Token string `json:"access_token"`
	}
	world.Must(t, json.NewDecoder(resp.Body).Decode(&got))
	if got.Token == "" {
		t.Fatalf("no token: %s", resp.Status)
	}
	return got.Token
}

// authorizationServer starts the real authorization server with the servers that it protects, below base. issuerOf returns the issuer that the
// metadata of one of these name.
func authorizationServer(w *world.World, n world.Node) (base string, issuerOf func(kind string) string) {
	protected := w.Listening(exec.Command(n.Program, world.Source("e2e", "authserver", "server.mjs")), regexp.MustCompile(`^protected (http://\S+/mcp)$`))
	base = strings.TrimSuffix(protected, "/mcp")
	return base, func(kind string) string {
		r, err := http.Get(base + "/.well-known/oauth-protected-resource" + kind + "/mcp")
		world.Must(w.T, err)
		defer func() { _ = r.Body.Close() }()
		var m struct {
			Servers []string `json:"authorization_servers"`
		}
		world.Must(w.T, json.NewDecoder(r.Body).Decode(&m))
		return m.Servers[0]
	}
}

// TestTokensInExchange: at a real authorization server a hub gets a token for a server in exchange for each of its callers' own, who
// come at the same time. Each is served as who it is. No server is sent a caller's token, a server whose metadata name an authorization
// server of its own has none sent there, and the token is in no file and no log. Control: hub.json names that authorization server.
func TestTokensInExchange(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	n.Of(t, "authserver")
	w := world.New(t)
	said := listenTo(w)
	base, issuerOf := authorizationServer(w, n)
	const resource = "https://hub.example/mcp"
	issuer := issuerOf("")
	hub := registerMachine(t, issuer, "urn:ietf:params:oauth:grant-type:token-exchange")
	entry := func(kind string, more obj) obj {
		auth := obj{"flow": "exchange", "clientId": hub.ID, "clientSecret": "${EXCHANGE_SECRET}", "scopes": []string{"tools"}}
		for k, v := range more {
			auth[k] = v
		}
		return obj{"url": base + kind + "/mcp", "type": "http", "share": "all", "auth": auth}
	}
	serve := func(file string, servers obj) (config, at string) {
		config = w.Write(file, world.Raw(t, obj{"mcpServers": servers, "http": obj{
			"resource": resource, "tokens": []obj{{"name": "carol", "env": "CAROL"}}, "issuers": []obj{{"issuer": issuer, "scopes": []string{"tools"}}}}}))
		return config, w.Listening(exec.Command(world.Hub(t), "serve", "--http", "127.0.0.1:0", "--config", config, "--log-level", "trace"), regexp.MustCompile(`serving (http://\S+/mcp)`),
			"EXCHANGE_SECRET="+hub.Secret, "CAROL=token of carol")
	}
	config, at := serve("hub.json", obj{"protected": entry("", nil), "foreign": entry("/mixed", nil)})
	connect := func(at, secret string) *gosdk.ClientSession {
		web := &http.Client{Transport: bearer{secret, &http.Transport{}}}
		s, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: at, HTTPClient: web}, nil)
		world.Must(t, err)
		t.Cleanup(func() { _ = s.Close(); web.CloseIdleConnections() })
		return s
	}
	through := func(s *gosdk.ClientSession, server string) string {
		text, _ := world.CallGoSDK(t, s, "call-tool", obj{"serverName": server, "toolName": "whoami"}, nil)
		return text
	}

	var secrets []string
	var people []machine
	var all sync.WaitGroup
	for range 2 {
		person := registerMachine(t, issuer, "client_credentials")
		secret := person.tokenFor(t, issuer, resource)
		people, secrets = append(people, person), append(secrets, secret)
		for range 2 { // sessions
			s := connect(at, secret)
			all.Go(func() {
				for range 5 {
					if got := through(s, "protected"); got != person.ID {
						t.Errorf("%s is served as %s", person.ID, got)
					}
				}
			})
		}
	}
	all.Wait()
	for _, person := range people {
		line := "exchanged " + person.ID + " for " + base + "/mcp"
		world.Within(world.WaitLimit, func() bool { return said.countLines(line) > 0 }) // its output is read as it comes
		if n := said.countLines(line); n != 1 {
			t.Errorf("%d tokens for %s in exchange, want one for all sessions", n, person.ID)
		}
	}

	// A call goes by the token that it has come with, and not by another one of its principal.
	person := registerMachine(t, issuer, "client_credentials")
	one, other := person.tokenFor(t, issuer, resource), person.tokenFor(t, issuer, resource)
	secrets = append(secrets, one, other)
	for _, session := range []*gosdk.ClientSession{connect(at, one), connect(at, other)} {
		if got := through(session, "protected"); got != person.ID {
			t.Errorf("%s is served as %s", person.ID, got)
		}
	}
	line := "exchanged " + person.ID + " for " + base + "/mcp"
	if !world.Within(world.WaitLimit, func() bool { return said.countLines(line) >= 2 }) || said.countLines(line) != 2 {
		t.Errorf("%d tokens in exchange for two tokens of one caller", said.countLines(line))
	}

	s := connect(at, secrets[0])
	if got := through(s, "foreign"); !strings.Contains(got, "is a private address") {
		t.Errorf("a server that names another authorization server: %s", got)
	}
	if n := said.countLines("mixed up: /token"); n != 0 {
		t.Errorf("the other authorization server was sent %d tokens", n)
	}
	_, second := serve("second.json", obj{"named": entry("/mixed", obj{"issuer": issuerOf("/mixed")})})
	if got := through(connect(second, secrets[0]), "named"); !strings.Contains(got, "/token: the authorization server answers with HTTP status 404") || !strings.Contains(got, `see "auth" of named in hub.json (`) {
		t.Errorf("an exchange that fails: %s", got)
	}
	if !world.Within(world.WaitLimit, func() bool { return said.countLines("mixed up: /token") > 0 }) {
		t.Error("the control: the authorization server that hub.json names was not asked")
	}
	if got := through(connect(at, "token of carol"), "protected"); !strings.Contains(got, "was sent no request") || !strings.Contains(got, "call over HTTP with a token of one of") {
		t.Errorf("a caller without a token of an issuer: %s", got)
	}
	if said.countLines("refused ERR_JWT_CLAIM_VALIDATION_FAILED") != 0 {
		t.Error("the server was sent the token of a caller")
	}
	if got, err := w.AuthWith([]string{"EXCHANGE_SECRET=" + hub.Secret}, nil, "login", "protected", "--config", config); err == nil || !strings.Contains(got, "there is nothing to log in at protected") {
		t.Errorf("auth login: %v %s", err, got)
	}

	status := exec.Command(world.Hub(t), "status", "--json")
	status.Env = w.Env()
	told, err := status.CombinedOutput()
	world.Must(t, err)
	told = append(told, said.joinLines()...)
	world.EachFile(t, w.Home, func(_ string, text []byte) { told = append(told, text...) })
	for _, part := range []string{`"hubs":`, `"kind":"decision"`, people[0].ID} {
		if !strings.Contains(string(told), part) {
			t.Errorf("the control: %s is not in what is searched", part)
		}
	}
	for _, secret := range append(secrets, hub.Secret) {
		if part := secret[max(0, len(secret)-60):]; strings.Contains(string(told), part) {
			t.Errorf("a token or a secret is shown: %s", told)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
