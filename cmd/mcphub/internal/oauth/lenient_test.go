package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/e2e/oauthtest"
)

// An answer with a token that official clients take is taken here, and one that they do not take is refused. A time that is not
// known ends no token.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const asJSON = "application/json"
	for name, test := range map[string]struct {
		kind, text string
		life       time.Duration // of the token; 0: not known
		want       string        // of the error; "": there is none
	}{
		"control":                    {asJSON, `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":3600}`, time.Hour, ""},
		"a type in capitals":         {asJSON, `{"access_token":"c4n4ry","token_type":"BEARER"}`, 0, ""},
		"a type without a standard":  {asJSON, `{"access_token":"c4n4ry","token_type":"user"}`, 0, ""},
		"no type":                    {asJSON, `{"access_token":"c4n4ry"}`, 0, ""},
		"a type that needs a proof":  {asJSON, `{"access_token":"c4n4ry","token_type":"dpop"}`, 0, `"token_type"`},
		"one of another proof":       {asJSON, `{"access_token":"c4n4ry","token_type":"MAC"}`, 0, `"token_type"`},
		"no access token at all":     {asJSON, `{"access_token":"c4n4ry","token_type":"N_A"}`, 0, `"token_type"`},
		"a fraction":                 {asJSON, `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":3599.5}`, 3599 * time.Second, ""},
		"a number in a string":       {asJSON, `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":"3600"}`, time.Hour, ""},
		"a fraction in a string":     {asJSON, `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":"3599.5"}`, 3599 * time.Second, ""},
		"an exponent":                {asJSON, `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":3.6e3}`, time.Hour, ""},
		"no number":                  {asJSON, `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":null}`, 0, ""},
		"an empty one":               {asJSON, `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":""}`, 0, ""},
		"for ever":                   {asJSON, `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":-1}`, 0, ""},
		"far off":                    {asJSON, `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":1e300}`, (1<<31 - 1) * time.Second, ""},
		"a word for a number":        {asJSON, `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":"soon"}`, 0, "/token: "},
		"JSON as text":               {"text/plain; charset=utf-8", `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":3600}`, time.Hour, ""},
		"JSON as a page":             {"text/html", `{"access_token":"c4n4ry","token_type":"Bearer","expires_in":3600}`, time.Hour, ""},
		"JSON as a form":             {"application/x-www-form-urlencoded", `{"access_token":"c4n4ry","token_type":"Bearer"}`, 0, ""},
		"JSON of no type":            {"", `{"access_token":"c4n4ry","token_type":"Bearer"}`, 0, ""},
		"JSON with a mark before it": {asJSON, "\ufeff" + `{"access_token":"c4n4ry","token_type":"Bearer"}`, 0, ""},
		"a form":                     {"application/x-www-form-urlencoded", `access_token=c4n4ry&token_type=bearer&expires_in=3600`, time.Hour, ""},
		"an error as text":           {"text/plain", `{"error":"invalid_grant","error_description":"not today"}`, 0, "/token: the authorization server answers invalid_grant: not today"},
		"no token":                   {asJSON, `{"token_type":"Bearer"}`, 0, `"access_token"`},
		"a token that is a number":   {asJSON, `{"access_token":1,"token_type":"Bearer"}`, 0, `"access_token"`},
		"a token that no header can": {asJSON, `{"access_token":"c4n4ry\nX: y","token_type":"Bearer"}`, 0, `"access_token"`},
		"a page":                     {"text/html", `<html>c4n4ry`, 0, `"access_token"`},
		"a list":                     {asJSON, `["c4n4ry"]`, 0, `"access_token"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := oauthtest.New(t)
			s.Token = func(w http.ResponseWriter, _ url.Values) bool {
				w.Header()["Content-Type"] = []string{test.kind}
				_, _ = w.Write([]byte(test.text))
				return true
			}
			before := time.Now()
			g, err := login(t, s, oauth.Settings{}, oauth.Request{})
			switch {
			case test.want != "":
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), s.Issuer+"/token") || strings.Contains(err.Error(), oauthtest.Canary) {
					t.Errorf("%+v %v, want %q", g, err, test.want)
				}
			case err != nil:
				t.Error(err)
			case g.Access != oauthtest.Canary || g.Expiry.IsZero() != (test.life == 0):
				t.Errorf("%+v", g)
			case test.life != 0 && (g.Expiry.Before(before.Add(test.life)) || g.Expiry.After(time.Now().Add(test.life))):
				t.Errorf("it ends at %s, which is not %s later", g.Expiry, test.life)
			}
		})
	}
}

// S256 is sent to an authorization server that lists no ways of PKCE, and to none that lists others.
func TestPKCE(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		known any // nil: the metadata do not say
		want  string
	}{
		"listed": {[]string{"plain", "S256"}, ""}, "not said": {nil, ""},
		"plain": {[]string{"plain"}, `"code_challenge_methods_supported" lists "plain"`}, "none": {[]string{}, `"code_challenge_methods_supported" lists ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := oauthtest.New(t)
			s.Metadata = func(m map[string]any) { m["code_challenge_methods_supported"] = test.known }
			var asked url.Values
			s.Asked = func(r *http.Request) {
				if r.URL.Path == "/authorize" {
					asked = r.Form
				}
			}
			g, err := login(t, s, oauth.Settings{}, oauth.Request{})
			switch {
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || asked != nil):
				t.Errorf("%v, want %q; asked %v", err, test.want, asked)
			case test.want == "" && (err != nil || !s.Accepts(g.Access) || asked.Get("code_challenge_method") != "S256"):
				t.Errorf("%+v %v; asked %v", g, err, asked)
			}
		})
	}
}

// How a client with a secret proves who it is: as its registration says, if the authorization server lists that; else in the
// first way that it lists; else in a header.
func TestClientAuthentication(t *testing.T) {
	t.Parallel()
	const header, body, neither = "in the header", "in the body", "not at all"
	for name, test := range map[string]struct {
		known    []string // ways that the authorization server lists
		answered any      // as token_endpoint_auth_method by the registration; nil: none
		want     string   // how the secret is sent
	}{
		"nothing is said":                   {nil, nil, header},
		"the registration says":             {nil, "client_secret_post", body},
		"it says that none is needed":       {nil, "none", neither},
		"it says an unknown way":            {nil, "private_key_jwt", header},
		"it says what is listed":            {[]string{"client_secret_basic", "client_secret_post"}, "client_secret_post", body},
		"it says what is not listed":        {[]string{"client_secret_basic"}, "client_secret_post", header},
		"it says nothing, and all is known": {[]string{"none", "client_secret_post", "client_secret_basic"}, nil, header},
		"the other one alone is known":      {[]string{"client_secret_post"}, nil, body},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := oauthtest.New(t)
			s.Metadata = func(m map[string]any) {
				if test.known != nil {
					m["token_endpoint_auth_methods_supported"] = test.known
				}
			}
			s.Register = func(m map[string]any) {
				m["client_secret"] = s.Secret
				m["jwks"] = map[string]any{"keys": []any{}} // as RFC 7591 has it
				m["client_secret_expires_at"] = float64(time.Now().Add(time.Hour).Unix()) + 0.5
				if m["token_endpoint_auth_method"] = test.answered; test.answered == nil {
					delete(m, "token_endpoint_auth_method")
				}
			}
			var seen []string
			s.Asked = func(r *http.Request) {
				if r.URL.Path != "/token" {
					return
				}
				way := neither
				if _, secret, ok := r.BasicAuth(); ok && secret == s.Secret {
					way = header
				}
				if r.Form.Get("client_secret") == s.Secret {
					way += body
				}
				seen = append(seen, strings.TrimPrefix(way, neither[:len(neither)*strings.Count(way, body)]))
			}
			g, err := login(t, s, oauth.Settings{}, oauth.Request{})
			if err != nil || !s.Accepts(g.Access) || len(seen) != 1 || seen[0] != test.want || g.Identity.Until.IsZero() {
				t.Errorf("%+v %v; the secret came %q, want %s", g, err, seen, test.want)
			}
		})
	}
}

// A secret with signs in it is sent encoded, as RFC 6749 has it, and as it is to a server that does not know it so. A secret
// without such signs is sent once, whatever the answer is.
func TestSecretWithSigns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		secret string
		knows  []string // in the header
		asked  int      // requests for a token
		works  bool
	}{
		"decoded":             {"a+/b=", []string{"a%2B%2Fb%3D"}, 1, true},
		"compared as it is":   {"a+/b=", []string{"a+/b="}, 2, true},
		"another one":         {"a+/b=", nil, 2, false},
		"another, no signs":   {"a-b", nil, 1, false},
		"control, no signs":   {"a-b", []string{"a-b"}, 1, true},
		"a percent in itself": {"a%2Fb", []string{"a%2Fb"}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := oauthtest.New(t)
			asked, known := 0, false
			s.Asked = func(r *http.Request) {
				if r.URL.Path == "/token" {
					_, secret, _ := r.BasicAuth()
					asked, known = asked+1, slices.Contains(test.knows, secret)
				}
			}
			s.Token = func(w http.ResponseWriter, f url.Values) bool {
				if f.Get("code") == "" {
					t.Error("the code is not there")
				}
				w.Header().Set("Content-Type", "application/json")
				if !known {
					w.WriteHeader(http.StatusUnauthorized)
					_, _ = w.Write([]byte(`{"error":"invalid_client","error_description":"` + test.secret + ` is wrong"}`))
				}
				return !known
			}
			_, err := login(t, s, oauth.Settings{ClientID: "mine", ClientSecret: test.secret}, oauth.Request{})
			if asked != test.asked || (err == nil) != test.works || err != nil && (!strings.Contains(err.Error(), "invalid_client") || strings.Contains(err.Error(), test.secret)) {
				t.Errorf("asked %d times: %v", asked, err)
			}
		})
	}
}

// Of a registration that is refused, or cannot be read, the error says where it was asked for, the redirect, and what to do.
func TestRegistrationRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		text   string
		want   string
	}{
		"refused":            {400, `{"error":"invalid_redirect_uri","error_description":"no"}`, "invalid_redirect_uri: no"},
		"refused otherwise":  {403, `{"error":"access_denied"}`, "access_denied"},
		"refused in words":   {403, `go away`, "HTTP status 403"},
		"a page":             {200, `<html>`, "something else than a JSON object"},
		"no client":          {201, `{}`, `without "client_id"`},
		"another kind of id": {201, `{"client_id": 1}`, `a number as "client_id"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.text))
			}))
			defer at.Close()
			set := oauth.Settings{Server: at.URL + "/mcp", CallbackPort: freePort(t), Redirect: "http://localhost/back"}
			p := &oauth.Discovery{Resource: set.Server, Meta: oauth.Metadata{Issuer: at.URL, AuthorizationEndpoint: at.URL + "/a", TokenEndpoint: at.URL + "/t", RegistrationEndpoint: at.URL + "/r"}}
			_, err := client(t, set).Browser(t.Context(), p, oauth.Request{}, func(string) error { return errors.New("a page was opened") })
			for _, want := range []string{test.want, at.URL + "/r", fmt.Sprintf("http://localhost:%d/back", set.CallbackPort), `"clientId"`} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
		})
	}
}

// freePort returns a port that is free at 127.0.0.1.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// The redirect is the redirect of hub.json, to the letter, and the browser finds it at each address that its host may stand for.
func TestRedirect(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	for name, test := range map[string]struct {
		set  oauth.Settings
		want string
	}{
		"default":      {oauth.Settings{CallbackPort: port}, fmt.Sprintf("http://127.0.0.1:%d/callback", port)},
		"of a client":  {oauth.Settings{Redirect: "http://localhost/callback", CallbackPort: port}, fmt.Sprintf("http://localhost:%d/callback", port)},
		"with a path":  {oauth.Settings{Redirect: "http://localhost/oauth/callback", CallbackPort: port}, fmt.Sprintf("http://localhost:%d/oauth/callback", port)},
		"with no path": {oauth.Settings{Redirect: "http://localhost", CallbackPort: port}, fmt.Sprintf("http://localhost:%d", port)},
		"with a slash": {oauth.Settings{Redirect: "http://127.0.0.1/", CallbackPort: port}, fmt.Sprintf("http://127.0.0.1:%d/", port)},
	} {
		t.Run(name, func(t *testing.T) { // one after another: they have one port
			s := oauthtest.New(t)
			test.set.Server, test.set.Issuer = s.Resource, s.Issuer
			c := client(t, test.set)
			p, err := discover(t, c, s.Resource)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Browser(t.Context(), p, oauth.Request{}, func(at string) error {
				u, err := url.Parse(at)
				if err != nil {
					return err
				}
				if got := u.Query().Get("redirect_uri"); got != test.want {
					t.Errorf("the redirect is %s, want %s", got, test.want)
				}
				for _, elsewhere := range []string{"/elsewhere", "/callback/", "//callback"} {
					resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", port, elsewhere))
					if err != nil {
						return err
					}
					_ = resp.Body.Close()
					if resp.StatusCode != http.StatusNotFound {
						t.Errorf("%s answers with %d", elsewhere, resp.StatusCode)
					}
				}
				six, err := net.Dial("tcp", fmt.Sprintf("[::1]:%d", port))
				if err == nil {
					_ = six.Close()
				}
				if l, none := net.Listen("tcp", "[::1]:0"); none == nil {
					_ = l.Close()
					if (err == nil) != strings.Contains(test.want, "localhost") {
						t.Errorf("at ::1: %v", err)
					}
				}
				return oauthtest.Visit(t.Context(), at)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// A program that listens at one of the addresses of localhost would be brought the code: no page is opened then.
func TestRedirectTaken(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "::1"} {
		other, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			continue // this machine has no such address, and a browser of it goes nowhere else
		}
		port := other.Addr().(*net.TCPAddr).Port
		s := oauthtest.New(t)
		set := oauth.Settings{Redirect: "http://localhost/callback", CallbackPort: port}
		_, err = login(t, s, set, oauth.Request{})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("http://localhost:%d/callback, and that cannot be listened on", port)) || s.Registered() != 0 {
			t.Errorf("%s is taken: %v", address, err)
		}
		_ = other.Close()
		if _, err := login(t, s, set, oauth.Request{}); err != nil {
			t.Errorf("the control: %v", err)
		}
	}
}

// A redirect to another machine is no redirect.
func TestRedirectElsewhere(t *testing.T) {
	t.Parallel()
	for _, redirect := range []string{"http://login.example/callback", "https://localhost/callback", "http://localhost.example/", "http://me@localhost/", "http://localhost/?x", "localhost/callback"} {
		if _, err := oauth.New(oauth.Settings{Server: "https://server.example/mcp", Redirect: redirect}); err == nil || !strings.Contains(err.Error(), redirect) {
			t.Errorf("%s: %v", redirect, err)
		}
	}
}

// A login that never comes back says which redirect the page may not have known, and how that is changed.
func TestLoginThatNeverComesBack(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	c := client(t, oauth.Settings{Server: s.Resource, Issuer: s.Issuer, ClientID: "mine", Redirect: "http://localhost/callback"})
	p, err := discover(t, c, s.Resource)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	redirect := ""
	_, err = c.Browser(ctx, p, oauth.Request{}, func(at string) error {
		u, err := url.Parse(at)
		redirect = u.Query().Get("redirect_uri")
		cancel()
		return err
	})
	for _, want := range []string{"http://localhost:", redirect, "redirect_uri", `"redirectHost", "callbackPort" and "redirectPath"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The place of a login is found by each way that official clients go, and they pass over the same faults.
func TestPlaces(t *testing.T) {
	t.Parallel()
	challenge := func(text string) func(*oauthtest.Server) {
		return func(s *oauthtest.Server) { s.Challenge = func(string) string { return text } }
	}
	for name, test := range map[string]struct {
		with func(s *oauthtest.Server)
		want string
	}{
		"control":                 {func(*oauthtest.Server) {}, ""},
		"relative":                {challenge(`Bearer resource_metadata="/.well-known/oauth-protected-resource/mcp"`), ""},
		"relative, elsewhere":     {challenge(`Bearer resource_metadata="nothing/here"`), ""},
		"of another host, unsaid": {challenge(`Bearer resource_metadata="//evil.example/x"`), ""},
		"no address":              {challenge(`Bearer resource_metadata="http://%zz"`), ""},
		"nothing there":           {func(s *oauthtest.Server) { challenge(`Bearer resource_metadata="` + s.Resource + `/none"`)(s) }, ""},
		"an empty value before":   {challenge(`Bearer realm="", error="invalid_token"`), ""},
		"no comma": {func(s *oauthtest.Server) {
			challenge(`Bearer realm="x" resource_metadata="` + s.Resource + `/none"`)(s)
		}, ""},
		"of a private address":    {challenge(`Bearer resource_metadata="https://10.1.2.3/x"`), "private address"},
		"no comma, private":       {challenge(`Bearer realm="x" resource_metadata="https://10.1.2.3/x"`), "private address"},
		"no authorization server": {func(s *oauthtest.Server) { s.Resources = func(m map[string]any) { delete(m, "authorization_servers") } }, ""}, // hub.json names one
		"another member is broken": {func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["jwks_uri"], m["ui_locales_supported"] = 7, "en" }
		}, ""},
		"a member is of another type": {func(s *oauthtest.Server) { s.Metadata = func(m map[string]any) { m["token_endpoint"] = 7 } }, "tells nothing of itself"},
		"a page of another scheme": {func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["token_endpoint"] = "http://login.example/token" }
		}, "token_endpoint: http://login.example/token is not https"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := oauthtest.New(t)
			test.with(s)
			g, err := login(t, s, oauth.Settings{}, oauth.Request{})
			switch {
			case test.want == "" && (err != nil || !s.Accepts(g.Access)):
				t.Errorf("%+v %v", g, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// A server whose metadata are absent, or name no authorization server, is asked whether it is its own one. Metadata of another
// one are not taken for that.
func TestOwnAuthorizationServer(t *testing.T) {
	t.Parallel()
	const metadata = `{"issuer":"ISSUER","authorization_endpoint":"ISSUER/a","token_endpoint":"ISSUER/t"}`
	for name, test := range map[string]struct {
		status         int // of the metadata of the server
		resource, meta string
		want, not      string
	}{
		"none":                       {404, ``, metadata, "", ""},
		"it fails":                   {500, ``, metadata, "", ""},
		"a page":                     {200, `<html>`, metadata, "", ""},
		"another document":           {200, `{"status":"ok"}`, metadata, "", ""},
		"a mark before":              {200, "\ufeff" + `{"resource":"ISSUER/mcp","authorization_servers":["ISSUER"]}`, "\ufeff" + metadata, "", ""},
		"names none":                 {200, `{"resource":"ISSUER/mcp"}`, metadata, "", ""},
		"names none, and is none":    {200, `{"resource":"ISSUER/mcp"}`, `{}`, `its "issuer" is `, ""},
		"speaks of another":          {404, ``, `{"issuer":"https://login.example","token_endpoint":"ISSUER/t"}`, `"issuer" is https://login.example; if that is the one that you log in at, write "auth": {"issuer": "https://login.example"}`, ""},
		"speaks of another, by name": {200, `{"resource":"ISSUER/mcp","authorization_servers":["ISSUER"]}`, `{"issuer":"https://login.example","token_endpoint":"ISSUER/t"}`, `"issuer" is https://login.example`, "write"},
		"another resource":           {200, `{"resource":"https://bank.example/mcp","authorization_servers":["ISSUER"]}`, metadata, "a token for its \"resource\", https://bank.example/mcp, is not sent to ISSUER", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var at *httptest.Server
			at = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status, text := 404, ""
				switch r.URL.Path {
				case "/.well-known/oauth-protected-resource/mcp":
					status, text = test.status, test.resource
				case "/.well-known/oauth-authorization-server":
					status, text = 200, test.meta
				}
				w.WriteHeader(status)
				_, _ = w.Write([]byte(strings.ReplaceAll(text, "ISSUER", at.URL)))
			}))
			defer at.Close()
			p, err := client(t, oauth.Settings{Server: at.URL + "/mcp"}).Discover(t.Context(), oauth.Challenge{Bearer: true})
			switch {
			case test.want == "" && (err != nil || p.Meta.Issuer != at.URL || p.Meta.AuthorizationEndpoint != at.URL+"/a" || p.Resource != at.URL+"/mcp"):
				t.Errorf("%+v %v", p, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(test.want, "ISSUER", at.URL)) || test.not != "" && strings.Contains(err.Error(), test.not)):
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// A server that names an address for its metadata, and has none there, is not taken for one of a time before metadata.
func TestNamedAndAbsent(t *testing.T) {
	t.Parallel()
	at := httptest.NewServer(http.NotFoundHandler())
	defer at.Close()
	c := client(t, oauth.Settings{Server: at.URL + "/mcp"})
	if p, err := c.Discover(t.Context(), oauth.Challenge{Bearer: true, Metadata: at.URL + "/none"}); err == nil || !strings.Contains(err.Error(), "does not say where to log in: "+at.URL+"/none answers with HTTP status 404") {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := c.Discover(t.Context(), oauth.Challenge{Bearer: true}); err != nil || p.Meta.TokenEndpoint != at.URL+"/token" {
		t.Errorf("the control: %+v %v", p, err)
	}
}

// A code for another device is waited for as long as can be, whatever the numbers are that come with it.
func TestDeviceNumbers(t *testing.T) {
	t.Parallel()
	for _, numbers := range []string{`"interval":-5,"expires_in":600.5`, `"interval":"1.5","expires_in":"600"`, `"interval":null,"expires_in":1e300`, `"interval":1e10,"expires_in":600`} {
		at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"device_code":"d","user_code":"WDJB-MJHT","verification_uri":"https://login.example/code",%s}`, numbers)
		}))
		defer at.Close()
		c := client(t, oauth.Settings{Server: "https://server.example/mcp", Issuer: at.URL, ClientID: "mine"})
		ctx, cancel := context.WithCancel(t.Context())
		shown := false
		_, err := c.Device(ctx, &oauth.Discovery{Resource: "https://server.example/mcp", Meta: oauth.Metadata{Issuer: at.URL, DeviceEndpoint: at.URL, TokenEndpoint: at.URL}}, oauth.Request{}, func(oauth.DevicePrompt) { shown = true; cancel() })
		if !shown || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", numbers, err)
		}
	}
}
