//lint:file-ignore SA1019 the handshake is what is tested; the SDK calls parts of it deprecated since 2026-07-28

package clients

import (
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"mcphub/e2e/needs"
	"mcphub/e2e/oauthtest"
	"mcphub/e2e/world"
)

// A browser is the browser of one person.
type browser struct {
	t   testing.TB
	web *http.Client
}

func newBrowser(t testing.TB) *browser {
	jar, err := cookiejar.New(nil)
	world.Must(t, err)
	b := &browser{t, &http.Client{Jar: jar, Transport: &http.Transport{}}}
	t.Cleanup(b.web.CloseIdleConnections)
	return b
}

// open opens a page, and returns what it shows.
func (b *browser) open(address string) string { return b.read(b.web.Get(address)) }

// prove opens the page of a link, and sends its form with a token.
func (b *browser) prove(link, token string) string {
	b.open(link)
	return b.read(b.web.PostForm(link, url.Values{"token": {token}}))
}

// finish opens an address that leads back to the hub, and agrees there to finish the login of a caller.
func (b *browser) finish(address, who string) string {
	b.t.Helper()
	r, err := b.web.Get(address)
	page := b.read(r, err)
	if err != nil || !strings.Contains(page, "This is a login of "+who) {
		b.t.Errorf("got %q, %v", page, err)
		return page
	}
	return b.read(b.web.PostForm(r.Request.URL.String(), url.Values{}))
}

func (b *browser) read(r *http.Response, err error) string {
	b.t.Helper()
	if err != nil {
		b.t.Error(err)
		return ""
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		b.t.Error(err)
	}
	return string(text)
}

var (
	linkOfText = regexp.MustCompile(`http://[0-9.:]+/login/[A-Z0-9]+`)
	linkOfPage = regexp.MustCompile(`<a href="([^"]+)"`)
)

// next returns where a page leads to; "" if it leads nowhere.
func next(page string) string {
	if m := linkOfPage.FindStringSubmatch(page); m != nil {
		return html.UnescapeString(m[1])
	}
	return ""
}

// TestLoginPage: people of a team's hub log in at a server by a page of the hub, in both eras. A client that can show an address is given
// the page, and its call goes on. Any other client reads the address in the answer. Each is then served as who has logged in, and nobody
// logs in for another one.
func TestLoginPage(t *testing.T) {
	t.Parallel()
	for _, era := range world.Eras {
		t.Run(era.Name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			said := listenTo(w)
			as := oauthtest.New(t)
			at := "127.0.0.1:" + world.FreePort(t)
			config := w.Config(obj{"protected": obj{"url": as.Resource, "type": "http", "auth": obj{"issuer": as.Issuer}}}, obj{"secrets": obj{"store": "file"},
				"http": obj{"resource": "http://" + at + "/mcp", "tokens": []obj{{"name": "alice", "env": "ALICE"}, {"name": "bob", "env": "BOB"}}}})
			endpoint := w.Listening(exec.Command(world.Hub(t), "serve", "--http", at, "--config", config, "--log-level", "trace"), regexp.MustCompile(`serving (http://\S+/mcp)`),
				"ALICE=token of alice", "BOB=token of bob", "DBUS_SESSION_BUS_ADDRESS=unix:path="+w.Path("no-bus"))
			var browsers sync.WaitGroup
			t.Cleanup(browsers.Wait)
			connect := func(who string, show func(address string)) *gosdk.ClientSession {
				can := &gosdk.ClientCapabilities{}
				o := &gosdk.ClientOptions{Capabilities: can}
				if show != nil {
					can.Elicitation = &gosdk.ElicitationCapabilities{URL: &gosdk.URLElicitationCapabilities{}}
					o.ElicitationHandler = func(_ context.Context, r *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
						if r.Params.Mode != "url" || !strings.Contains(r.Params.Message, `"protected" asks for a login`) {
							t.Errorf("asked: %+v", r.Params)
						}
						browsers.Go(func() { show(r.Params.URL) })
						return &gosdk.ElicitResult{Action: "accept"}, nil
					}
				}
				web := &http.Client{Transport: bearer{"token of " + who, &http.Transport{}}}
				s, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, o).Connect(context.Background(),
					&gosdk.StreamableClientTransport{Endpoint: endpoint, HTTPClient: web}, &gosdk.ClientSessionOptions{ProtocolVersion: era.Version})
				world.Must(t, err)
				t.Cleanup(func() { world.Must(t, s.Close()); web.CloseIdleConnections() })
				return s
			}
			whoami := func(s *gosdk.ClientSession) string {
				text, _ := world.CallGoSDK(t, s, "call-tool", obj{"serverName": "protected", "toolName": "whoami", "toolArgs": obj{}}, nil)
				return text
			}
			wants := func(got, want string) {
				t.Helper()
				if !strings.Contains(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}

			// Alice's client shows the page.
			alice := connect("alice", func(address string) {
				b := newBrowser(t)
				wants(b.open(address), "asks for a login of alice")
				page := b.prove(address, "token of alice")
				wants(page, "You are alice")
				wants(b.finish(next(page), "alice"), "Logged in at protected")
			})
			if got := whoami(alice); got != "alice" {
				t.Errorf("alice is served as %q", got)
			}

			// Bob's client cannot show it. Alice's login is not Bob's.
			bob := connect("bob", nil)
			got := whoami(bob)
			wants(got, `The server "protected" asks for a login. Open http://`+at+"/login/")
			link := linkOfText.FindString(got)
			if again := linkOfText.FindString(whoami(bob)); again != link {
				t.Errorf("two links for one login: %q, %q", link, again)
			}
			bob2 := connect("bob", nil) // a session for which nothing has to be done again
			link2 := linkOfText.FindString(whoami(bob2))
			as.Change(func() { as.Consent = "robert" })

			// Alice is sent Bob's link: her login would be Bob's. She is told so, and led nowhere.
			victim := newBrowser(t)
			page := victim.prove(link, "token of alice")
			wants(page, "This link is for bob, and you are alice")
			if to := next(victim.open(link)); to != "" {
				t.Errorf("alice is led to %s", to)
			}
			// Bob proves it is him, and sends Alice on from there: her browser has not proved anything, and its answer is not taken.
			own := newBrowser(t)
			page = own.prove(link, "token of bob")
			wants(page, "You are bob")
			wants(victim.open(next(page)), "does not wait for this answer from this browser")
			wants(whoami(bob), "asks for a login")
			// The control: Bob's own browser.
			wants(own.finish(next(page), "bob"), "Logged in at protected")
			if got := whoami(bob); got != "robert" {
				t.Errorf("bob is served as %q", got)
			}
			wants(own.open(link), "This link has ended")
			if !world.Within(world.WaitLimit, func() bool {
				return strings.Contains(own.open(link2), "This link has ended") && whoami(bob2) == "robert"
			}) {
				t.Errorf("bob's other session is served as %q", whoami(bob2))
			}
			if got := whoami(alice); got != "alice" {
				t.Errorf("alice is served as %q", got)
			}

			if got := as.Registered(); got != 1 { // the hub is one client there, whoever logs in
				t.Errorf("the hub has registered itself %d times", got)
			}

			// Neither a token nor a code is in a file or in the log.
			told := said.joinLines()
			world.EachFile(t, w.Home, func(_ string, text []byte) { told += string(text) })
			for _, secret := range []string{"token of alice", "token of bob", oauthtest.Canary} {
				if strings.Contains(told, secret) {
					t.Errorf("%q is shown", secret)
				}
			}
			wants(told, `"reason":"login"`) // the control: the refusals are told
		})
	}
}

var (
	actionOf = regexp.MustCompile(`(?s)<form[^>]* action="([^"]+)"`)
	promptOf = regexp.MustCompile(`name="prompt" value="([^"]+)"`)
)

// logIn opens a page of a real authorization server, fills in its forms as a person, and returns the page behind them and its address.
func (b *browser) logIn(address, who string) (page, at string) {
	b.t.Helper()
	r, err := b.web.Get(address)
	for range 6 {
		page = b.read(r, err)
		if err != nil {
			return "", ""
		}
		at = r.Request.URL.String()
		action, prompt := actionOf.FindStringSubmatch(page), promptOf.FindStringSubmatch(page)
		if action == nil || prompt == nil {
			break
		}
		r, err = b.web.PostForm(html.UnescapeString(action[1]), url.Values{"prompt": {prompt[1]}, "login": {who}, "password": {"any"}})
	}
	return page, at
}

// TestLoginPageAtRealServer: the callers of a hub have tokens of a real authorization server (oidc-provider), and their browsers prove by a login there
// whose they are. Another person's browser is refused, and so is an answer that is brought again, by another browser, or that comes from another
// authorization server than was asked.
func TestLoginPageAtRealServer(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	n.Of(t, "authserver")
	w := world.New(t)
	said := listenTo(w)
	base, issuerOf := authorizationServer(w, n)
	issuer, at := issuerOf(""), "127.0.0.1:"+world.FreePort(t)
	resource := "http://" + at + "/mcp"
	entry := func(kind string) obj {
		return obj{"url": base + kind + "/mcp", "type": "http", "auth": obj{"issuer": issuerOf(kind)}}
	}
	config := w.Config(obj{"protected": entry(""), "mixed": entry("/mixed")}, obj{"secrets": obj{"store": "file"},
		"http": obj{"resource": resource, "issuers": []obj{{"issuer": issuer, "scopes": []string{"tools"}}}}})
	endpoint := w.Listening(exec.Command(world.Hub(t), "serve", "--http", at, "--config", config, "--log-level", "trace"), regexp.MustCompile(`serving (http://\S+/mcp)`),
		"DBUS_SESSION_BUS_ADDRESS=unix:path="+w.Path("no-bus"))

	// Ann's client gets a token for the hub, as clients do.
	ann := newBrowser(t)
	back := "http://127.0.0.1:" + world.FreePort(t) + "/back"
	r, err := http.Post(issuer+"/reg", "application/json", strings.NewReader(world.Raw(t, obj{"redirect_uris": []string{back}, "application_type": "native", "token_endpoint_auth_method": "none"})))
	world.Must(t, err)
	var client struct {
		ID string `json:"client_id"`
	}
	world.Must(t, json.NewDecoder(r.Body).Decode(&client))
	_ = r.Body.Close()
	conf, verifier := oauth2.Config{ClientID: client.ID, RedirectURL: back, Scopes: []string{"tools"}, Endpoint: oauth2.Endpoint{AuthURL: issuer + "/auth", TokenURL: issuer + "/token", AuthStyle: oauth2.AuthStyleInParams}}, oauth2.GenerateVerifier()
	forHub := oauth2.SetAuthURLParam("resource", resource)
	var answer *url.URL
	ann.web.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), back) {
			answer = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}
	ann.logIn(conf.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier), forHub), "ann")
	if answer == nil {
		t.Fatal("ann's client gets no code")
	}
	token, err := conf.Exchange(t.Context(), answer.Query().Get("code"), oauth2.VerifierOption(verifier), forHub)
	world.Must(t, err)
	web := &http.Client{Transport: bearer{token.AccessToken, &http.Transport{}}}
	s, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: endpoint, HTTPClient: web}, nil)
	world.Must(t, err)
	t.Cleanup(func() { _ = s.Close(); web.CloseIdleConnections() })
	call := func(server string) string {
		text, _ := world.CallGoSDK(t, s, "call-tool", obj{"serverName": server, "toolName": "whoami"}, nil)
		return text
	}
	wants := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// prove proves at the issuer that a browser is a person's.
	prove := func(b *browser, link, who string) string {
		wants(b.open(link), "Log in at "+strings.TrimPrefix(issuer, "http://"))
		b.web.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		r, err := b.web.PostForm(link, url.Values{})
		b.read(r, err)
		b.web.CheckRedirect = nil
		page, _ := b.logIn(r.Header.Get("Location"), who)
		return page
	}

	link := linkOfText.FindString(call("protected"))
	ben := newBrowser(t)
	wants(prove(ben, link, "ben"), "This link is for ann@"+issuer+", and you are ben@"+issuer)
	if to := next(ben.open(link)); to != "" {
		t.Errorf("ben is led to %s", to)
	}
	page := prove(ann, link, "ann")
	wants(page, "You are ann@"+issuer)
	// Ben, who has seen where it leads, logs in there: ann would work as ben.
	page2, _ := ben.logIn(next(page), "ben")
	wants(page2, "does not wait for this answer from this browser")
	page, done := ann.logIn(next(page), "ann")
	wants(page, "This is a login of ann@"+issuer)
	wants(ann.finish(done, "ann@"+issuer), "Logged in at protected")
	wants(ann.open(done), "does not wait for this answer")
	if got := call("protected"); got != "ann" {
		t.Errorf("ann is served as %q", got)
	}

	page = prove(ann, linkOfText.FindString(call("mixed")), "ann")
	_, done = ann.logIn(next(page), "ann")
	wants(ann.finish(done, "ann@"+issuer), "the answer comes from another authorization server")
	if n := said.countLines("mixed up: "); n != 0 {
		t.Errorf("the server that mixes up logins was sent %d requests", n)
	}
}

// TestLoginPageInARealBrowser: a person logs in by the page of the hub in Chromium, at an authorization server of another site. Before that a page of that
// site sends the form of the hub with a token that is right, which would give the attacker the victim's login. The browser reports where the form comes from, and it is
// refused. The control is that the same token is taken from the page itself.
func TestLoginPageInARealBrowser(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	chromium := needs.Program(t, "chromium")
	n.Of(t, "authserver")
	w := world.New(t)
	protected := w.Listening(exec.Command(n.Program, world.Source("e2e", "authserver", "server.mjs")), regexp.MustCompile(`^protected (http://\S+/mcp)$`))
	r, err := http.Get(strings.TrimSuffix(protected, "/mcp") + "/.well-known/oauth-protected-resource/mcp")
	world.Must(t, err)
	var m struct {
		Servers []string `json:"authorization_servers"`
	}
	world.Must(t, json.NewDecoder(r.Body).Decode(&m))
	_ = r.Body.Close()
	port := world.FreePort(t)
	config := w.Config(obj{"protected": obj{"url": protected, "type": "http", "auth": obj{"issuer": m.Servers[0]}}}, obj{"secrets": obj{"store": "file"},
		"http": obj{"resource": "http://localhost:" + port + "/mcp", "tokens": []obj{{"name": "ann", "env": "ANN"}}}})
	endpoint := w.Listening(exec.Command(world.Hub(t), "serve", "--http", "127.0.0.1:"+port, "--config", config), regexp.MustCompile(`serving (http://\S+/mcp)`),
		"ANN=token-of-ann", "DBUS_SESSION_BUS_ADDRESS=unix:path="+w.Path("no-bus"))
	web := &http.Client{Transport: bearer{"token-of-ann", &http.Transport{}}}
	s, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: endpoint, HTTPClient: web}, nil)
	world.Must(t, err)
	t.Cleanup(func() { _ = s.Close(); web.CloseIdleConnections() })
	whoami := func() string {
		text, _ := world.CallGoSDK(t, s, "call-tool", obj{"serverName": "protected", "toolName": "whoami"}, nil)
		return text
	}
	link := regexp.MustCompile(`http://localhost:[0-9]+/login/[A-Z0-9]+`).FindString(whoami())
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<title>evil</title><form method="post" action="`+link+`"><input name="trap" value="x"><input type="hidden" name="token" value="token-of-ann"><button type="submit">A prize</button></form>`)
	}))
	defer evil.Close()
	visit := func(address, token string) string {
		ctx, cancel := context.WithTimeout(t.Context(), world.WaitLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, n.Program, world.Source("e2e", "clients", "browse.mjs"), address, "ann", "yes")
		cmd.Env, cmd.Dir = w.Env("CHROMIUM="+chromium, "TOKEN="+token), w.Home
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("the browser at %s: %v", address, err)
		}
		return string(out)
	}
	if got := visit(evil.URL, ""); !strings.Contains(got, "This form was sent by another page") {
		t.Errorf("the form of another page: %s", got)
	}
	if got := whoami(); !strings.Contains(got, link) {
		t.Errorf("after it: %q", got)
	}
	if got := visit(link, "token-of-ann"); !strings.Contains(got, "Logged in at protected") {
		t.Errorf("the login: %s", got)
	}
	if got := whoami(); got != "ann" {
		t.Errorf("ann is served as %q", got)
	}
}
