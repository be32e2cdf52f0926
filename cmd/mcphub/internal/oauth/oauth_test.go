package oauth_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/e2e/oauthtest"
)

func client(t *testing.T, s oauth.Settings) *oauth.Flow {
	t.Helper()
	c, err := oauth.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// discover asks the server without a token and finds out where to log in.
func discover(t *testing.T, c *oauth.Flow, server string) (*oauth.Discovery, error) {
	t.Helper()
	resp, err := http.Post(server, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return c.Discover(t.Context(), oauth.ChallengeOf(resp.Header))
}

func login(t *testing.T, s *oauthtest.Server, set oauth.Settings, r oauth.Request) (*oauth.TokenSet, error) {
	t.Helper()
	set.Server, set.Issuer = s.Resource, cmp.Or(set.Issuer, s.Issuer)
	c := client(t, set)
	p, err := discover(t, c, s.Resource)
	if err != nil {
		return nil, err
	}
	return c.Browser(t.Context(), p, r, func(at string) error { return oauthtest.Visit(t.Context(), at) })
}

func TestBrowser(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	g, err := login(t, s, oauth.Settings{}, oauth.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Accepts(g.Access) || g.Refresh == "" || g.Issuer != s.Issuer || g.Resource != s.Resource || g.Expired() || !slices.Equal(g.Scopes, []string{"tools", "offline_access"}) {
		t.Errorf("%+v", g)
	}
	// The registration is used again where its port is free.
	again, err := login(t, s, oauth.Settings{}, oauth.Request{Earlier: &g.Identity})
	if err != nil || s.Registered() != 1 || again.Identity != g.Identity {
		t.Errorf("registered %d times: %v", s.Registered(), err)
	}
	c := client(t, oauth.Settings{Server: s.Resource, Issuer: s.Issuer})
	next, err := c.Refresh(t.Context(), again)
	if err != nil || next.Refresh == again.Refresh || !s.Accepts(next.Access) || s.Accepts(again.Access) {
		t.Fatalf("%+v %v", next, err)
	}
	if _, err := c.Refresh(t.Context(), again); !errors.Is(err, oauth.ErrRefused) || strings.Contains(err.Error(), oauthtest.Canary) {
		t.Errorf("a token a second time: %v", err)
	}
	if g, err := login(t, s, oauth.Settings{ClientID: "mine", Scopes: []string{"own"}}, oauth.Request{Scopes: []string{"more"}}); err != nil || s.Registered() != 1 || !slices.Equal(g.Scopes, []string{"own", "more", "offline_access"}) {
		t.Errorf("%+v %v, registered %d times", g, err, s.Registered())
	}
}

// A login at the issuer that hub.json names, by a page of the hub: the issuer alone is asked, the browser comes back to the page, and no token
// for renewal is asked for. An answer of another issuer is refused. What was registered is used again at the same page.
func TestLoginByAPage(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	var kind any
	s.Register = func(m map[string]any) { kind = m["application_type"] }
	c := client(t, oauth.Settings{Server: s.Resource, Issuer: s.Issuer, Scopes: []string{"tools"}})
	p, err := c.DiscoverIssuer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		redirect   string
		registered int
		kind       string
	}{{"https://hub.example/login/proved", 1, "web"}, {"http://127.0.0.1:8080/login/proved", 2, "native"}} {
		var earlier *oauth.Registration
		for _, iss := range []string{s.Issuer, "https://evil.example", s.Issuer} {
			a, err := c.Begin(t.Context(), p, oauth.Request{Brief: true, Earlier: earlier, Registered: func(r *oauth.Registration) { earlier = r }}, tc.redirect)
			if err != nil {
				t.Fatal(err)
			}
			answer := s.Authorize(t, a.Address)
			if answer.Get("state") != a.State {
				t.Errorf("the state is %s, want %s", answer.Get("state"), a.State)
			}
			answer.Set("iss", iss)
			g, err := a.Finish(t.Context(), answer)
			if iss != s.Issuer {
				if err == nil || !strings.Contains(err.Error(), "another authorization server") {
					t.Errorf("an answer of another issuer: %v", err)
				}
				continue
			}
			if err != nil || !s.Accepts(g.Access) || !slices.Equal(g.Scopes, []string{"tools"}) {
				t.Errorf("%+v: %v", g, err)
			}
			if _, err := a.Finish(t.Context(), answer); err == nil {
				t.Error("a code counts twice")
			}
		}
		if s.Registered() != tc.registered || kind != tc.kind {
			t.Errorf("%s: registered %d times, as %v", tc.redirect, s.Registered(), kind)
		}
	}
	s.Metadata = func(m map[string]any) { m["issuer"] = "https://evil.example" }
	if _, err := c.DiscoverIssuer(t.Context()); err == nil || !strings.Contains(err.Error(), "it is another one") {
		t.Errorf("metadata of another issuer: %v", err)
	}
}

// Each fault ends the login before anything secret is sent, or the control, the same
// without the fault, would fail too.
func TestFaults(t *testing.T) {
	t.Parallel()
	const document = "https://client.example/mcphub.json"
	for _, test := range []struct {
		name string
		with func(s *oauthtest.Server)
		set  oauth.Settings
		want string // of the error; "": there is none
	}{
		{"control", func(*oauthtest.Server) {}, oauth.Settings{}, ""},
		{"answer of another issuer", func(s *oauthtest.Server) { s.Answer = func(q url.Values) { q.Set("iss", "https://evil.example") } }, oauth.Settings{}, "another authorization server"},
		{"issuer written otherwise", func(s *oauthtest.Server) { s.Answer = func(q url.Values) { q.Set("iss", q.Get("iss")+"/") } }, oauth.Settings{}, "another authorization server"},
		{"no issuer in the answer", func(s *oauthtest.Server) { s.Answer = func(q url.Values) { q.Del("iss") } }, oauth.Settings{}, "(iss)"},
		{"no issuer, and none was promised", func(s *oauthtest.Server) {
			s.Answer = func(q url.Values) { q.Del("iss") }
			s.Metadata = func(m map[string]any) { m["authorization_response_iss_parameter_supported"] = nil }
		}, oauth.Settings{}, ""},
		{"another issuer, and none was promised", func(s *oauthtest.Server) {
			s.Answer = func(q url.Values) { q.Set("iss", "https://evil.example") }
			s.Metadata = func(m map[string]any) { m["authorization_response_iss_parameter_supported"] = nil }
		}, oauth.Settings{}, "another authorization server"},
		{"consent refused", func(s *oauthtest.Server) {
			s.Answer = func(q url.Values) {
				q.Del("code")
				q.Set("error", "access_denied")
				q.Set("error_description", "not today")
			}
		}, oauth.Settings{}, "access_denied: not today"},
		{"metadata of another issuer", func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["issuer"] = "https://evil.example" }
		}, oauth.Settings{}, "another one"},
		{"metadata of another resource", func(s *oauthtest.Server) {
			s.Resources = func(m map[string]any) { m["resource"] = "https://bank.example/mcp" }
		}, oauth.Settings{}, "is that of another one"},
		{"a resource beside", func(s *oauthtest.Server) { s.Resources = func(m map[string]any) { m["resource"] = s.Resource + "2" } }, oauth.Settings{}, "is that of another one"},
		{"a page that is a program", func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["authorization_endpoint"] = "calc:1" }
		}, oauth.Settings{}, "authorization_endpoint"},
		{"a page without https", func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["authorization_endpoint"] = "http://example.com/x" }
		}, oauth.Settings{}, "not https"},
		{"tokens from a private address", func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["token_endpoint"] = "https://169.254.169.254/token" }
		}, oauth.Settings{}, "private address"},
		{"tokens from a private address in disguise", func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["token_endpoint"] = "https://[::ffff:10.0.0.1]/token" }
		}, oauth.Settings{}, "private address"},
		{"another server than is configured", func(*oauthtest.Server) {}, oauth.Settings{Issuer: "https://login.example"}, "\"issuer\""},
		{"no registration", func(s *oauthtest.Server) { s.Metadata = func(m map[string]any) { m["registration_endpoint"] = nil } }, oauth.Settings{}, "clientId"},
		{"a document, not supported", func(s *oauthtest.Server) { s.Metadata = func(m map[string]any) { m["registration_endpoint"] = nil } }, oauth.Settings{ClientID: document}, "clientId"},
		{"a document, supported", func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) {
				m["registration_endpoint"] = nil
				m["client_id_metadata_document_supported"] = true
			}
		}, oauth.Settings{ClientID: document}, ""},
		{"a document for all, supported", func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) {
				m["registration_endpoint"] = nil
				m["client_id_metadata_document_supported"] = true
			}
		}, oauth.Settings{Document: document}, ""},
		{"a document for all, not supported", func(*oauthtest.Server) {}, oauth.Settings{Document: document}, ""}, // it registers itself
		{"an answer that is none", func(s *oauthtest.Server) {
			s.Token = func(w http.ResponseWriter, _ url.Values) bool {
				http.Error(w, "c4n4ry", http.StatusInternalServerError)
				return true
			}
		}, oauth.Settings{}, "HTTP status 500"},
		{"tokens are elsewhere", func(s *oauthtest.Server) {
			s.Token = func(w http.ResponseWriter, _ url.Values) bool {
				w.Header().Set("Location", s.Issuer+"/elsewhere")
				w.WriteHeader(http.StatusTemporaryRedirect)
				return true
			}
		}, oauth.Settings{}, "what is sent holds secrets"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := oauthtest.New(t)
			test.with(s)
			_, err := login(t, s, test.set, oauth.Request{})
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %q", err, test.want)
			case err != nil && strings.Contains(err.Error(), oauthtest.Canary):
				t.Errorf("the error quotes a secret: %v", err)
			}
		})
	}
}

// A page of someone else knows the port, and not the state.
func TestForgedAnswer(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	c := client(t, oauth.Settings{Server: s.Resource, Issuer: s.Issuer})
	p, err := discover(t, c, s.Resource)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Browser(t.Context(), p, oauth.Request{}, func(at string) error {
		u, err := url.Parse(at)
		if err != nil {
			return err
		}
		resp, err := http.Get(u.Query().Get("redirect_uri") + "?" + url.Values{"code": {"evil"}, "state": {"guess"}, "iss": {s.Issuer}}.Encode())
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("a forged answer has status %d", resp.StatusCode)
		}
		return oauthtest.Visit(t.Context(), at)
	})
	if err != nil {
		t.Error(err)
	}
}

// A public name may lead to a private address, and a redirect to any.
func TestReach(t *testing.T) {
	t.Parallel()
	private := httptest.NewServer(http.NotFoundHandler())
	defer private.Close()
	port := private.URL[strings.LastIndex(private.URL, ":"):]
	for _, test := range []struct{ name, server, issuer, want string }{
		{"a public server, and one here", "https://example.com/mcp", "http://127.0.0.1" + port, "private address"},
		{"likewise by name", "https://example.com/mcp", "https://localhost" + port, "private address"},
		{"of another kind", "https://example.com/mcp", "https://[fd00::1]", "private address"},
		{"of the provider", "https://example.com/mcp", "https://169.254.169.254", "private address"},
		{"with a password", "https://example.com/mcp", "https://me:c4n4ry@example.org", "a user name"},
		{"IPv4 in IPv6", "https://example.com/mcp", "https://[::ffff:10.0.0.1]", "private address"},
		{"compatible", "https://example.com/mcp", "https://[::127.0.0.1]", "private address"},
		{"translated", "https://example.com/mcp", "https://[::ffff:0:127.0.0.1]", "private address"},
		{"by NAT64", "https://example.com/mcp", "https://[64:ff9b::7f00:1]", "private address"},
		{"by a tunnel", "https://example.com/mcp", "https://[2002:7f00:1::]", "private address"},
		{"of no block for hosts", "https://example.com/mcp", "https://[4000::1]", "private address"},
		{"of this link", "https://example.com/mcp", "https://[fe80::1%25eth0]", "private address"},
		{"a number", "https://example.com/mcp", "https://2130706433", "is a number"},
		{"of fewer parts", "https://example.com/mcp", "https://127.1", "is a number"},
		{"in hexadecimal", "https://example.com/mcp", "https://0x7f.0.0.0x1", "is a number"},
		{"in wide digits", "https://example.com/mcp", "https://169.254.169.２５４", "not in ASCII"},
		{"in octal, with a dot", "https://example.com/mcp", "https://0177.0.0.01.", "is a number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := client(t, oauth.Settings{Server: test.server})
			_, err := c.Discover(t.Context(), oauth.Challenge{Bearer: true, Metadata: test.issuer + "/.well-known/oauth-protected-resource"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	t.Run("a redirect", func(t *testing.T) {
		s := httptest.NewServer(http.RedirectHandler("https://10.1.2.3/x", http.StatusFound))
		defer s.Close()
		c := client(t, oauth.Settings{Server: s.URL})
		if _, err := c.Discover(t.Context(), oauth.Challenge{}); err == nil || !strings.Contains(err.Error(), "private address") {
			t.Error(err)
		}
	})
	if _, err := oauth.New(oauth.Settings{Server: "http://example.com/mcp"}); err == nil {
		t.Error("a token over http")
	}
}

// TestReachByPort: a server on this machine sends no one to another port of it, by none of
// the addresses that it may name. hub.json names the port of the authorization server, and
// no other, which is the control.
func TestReachByPort(t *testing.T) {
	t.Parallel()
	var came atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { came.Add(1); http.NotFound(w, nil) }))
	defer other.Close()
	metadata := func(key, address string) func(s *oauthtest.Server) oauth.Settings {
		return func(s *oauthtest.Server) oauth.Settings {
			s.Metadata = func(m map[string]any) { m[key] = address }
			return oauth.Settings{Server: s.Resource, Issuer: s.Issuer}
		}
	}
	named := func(s *oauthtest.Server) oauth.Settings {
		s.Resources = func(m map[string]any) { m["authorization_servers"] = []string{other.URL} }
		return oauth.Settings{Server: s.Resource}
	}
	for name, test := range map[string]struct {
		set  func(s *oauthtest.Server) oauth.Settings
		meta string // where the server says that its metadata are
		want string
	}{
		"metadata": {func(s *oauthtest.Server) oauth.Settings { return oauth.Settings{Server: s.Resource, Issuer: s.Issuer} }, other.URL, "as \"url\" of the server"},
		"a redirect": {func(*oauthtest.Server) oauth.Settings {
			moved := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
			t.Cleanup(moved.Close)
			return oauth.Settings{Server: moved.URL}
		}, "", "as \"url\" of the server"},
		"an authorization server": {named, "", `write "auth": {"issuer": "` + other.URL + `"}`},
		"its tokens":              {metadata("token_endpoint", other.URL), "", "token_endpoint: "},
		"its page":                {metadata("authorization_endpoint", strings.Replace(other.URL, "127.0.0.1", "localhost", 1)), "", "authorization_endpoint: "},
		"its registration":        {metadata("registration_endpoint", strings.Replace(other.URL, "127.0.0.1", "[::1]", 1)), "", "registration_endpoint: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client(t, test.set(oauthtest.New(t))).Discover(t.Context(), oauth.Challenge{Bearer: true, Metadata: test.meta})
			if err == nil || !strings.Contains(err.Error(), "is a private address") || !strings.Contains(err.Error(), test.want) || came.Load() != 0 {
				t.Errorf("%v; %d requests came", err, came.Load())
			}
		})
	}
	set := named(oauthtest.New(t))
	set.Issuer = other.URL
	_, err := client(t, set).Discover(t.Context(), oauth.Challenge{Bearer: true})
	if err == nil || !strings.Contains(err.Error(), "tells nothing of itself") || came.Load() == 0 {
		t.Errorf("the control: %v; %d requests came", err, came.Load())
	}
}

// names has names looked up by a server of the test's own, which knows one address for all.
func names(t *testing.T, ip [4]byte) {
	t.Helper()
	dns, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := dns.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			if q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: ip}}}
			}
			if answer, err := m.Pack(); err == nil {
				_, _ = dns.WriteTo(answer, from)
			}
		}
	}()
	was := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", dns.LocalAddr().String())
	}}
	t.Cleanup(func() { net.DefaultResolver = was; _ = dns.Close() })
}

// A public name leads to this machine. No one is spoken to there, unless hub.json names it.
func TestReachByDNS(t *testing.T) {
	t.Parallel()
	var came atomic.Int32
	private := httptest.NewUnstartedServer(http.NotFoundHandler())
	private.Config.ErrorLog = log.New(io.Discard, "", 0)
	private.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			came.Add(1)
		}
	}
	private.StartTLS()
	defer private.Close()
	names(t, [4]byte{127, 0, 0, 1})
	there := "https://login.example" + private.URL[strings.LastIndex(private.URL, ":"):]
	ask := func(set oauth.Settings) error {
		set.Server = "https://server.example/mcp"
		_, err := client(t, set).Discover(t.Context(), oauth.Challenge{Bearer: true, Metadata: there + "/.well-known/oauth-protected-resource"})
		return err
	}
	if err := ask(oauth.Settings{}); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(there, "https://")+" is a private address") || came.Load() != 0 {
		t.Errorf("%v; %d connections", err, came.Load())
	}
	if err := ask(oauth.Settings{Issuer: there}); err == nil || !strings.Contains(err.Error(), "certificate") || came.Load() == 0 {
		t.Errorf("the control: %v; %d connections", err, came.Load())
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	set := oauth.Settings{Server: s.Resource, Issuer: s.Issuer, ClientID: "confidential", ClientSecret: s.Secret}
	c := client(t, set)
	p, err := discover(t, c, s.Resource)
	if err != nil {
		t.Fatal(err)
	}
	if g, err := c.ClientCredentials(t.Context(), p); err != nil || !s.Accepts(g.Access) {
		t.Errorf("%+v %v", g, err)
	}
	set.ClientSecret = oauthtest.Canary
	if _, err := client(t, set).ClientCredentials(t.Context(), p); err == nil || strings.Contains(err.Error(), oauthtest.Canary) {
		t.Errorf("another secret: %v", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	set.ClientSecret = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	var form url.Values
	s.Token = func(_ http.ResponseWriter, f url.Values) bool { form = f; return false }
	_, _ = client(t, set).ClientCredentials(t.Context(), p) // this server has no such clients
	if strings.Count(form.Get("client_assertion"), ".") != 2 || form.Get("client_id") != "confidential" || form.Has("client_secret") {
		t.Errorf("%v", form)
	}
}

// TestExchangedTokenLasts: a token that is had in exchange lasts no longer than the one it is had for, and cannot be renewed without that.
func TestExchangedTokenLasts(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	c := client(t, oauth.Settings{Server: s.Resource, Issuer: s.Issuer, ClientID: "confidential", ClientSecret: s.Secret})
	p, err := discover(t, c, s.Resource)
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(30 * time.Minute)
	for said, own := range map[string]bool{`"expires_in":60`: true, `"expires_in":7200`: false, `"expires_in":null`: false} {
		s.Token = func(w http.ResponseWriter, _ url.Values) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"a","token_type":"Bearer","refresh_token":"r","issued_token_type":"urn:ietf:params:oauth:token-type:access_token",` + said + `}`))
			return true
		}
		g, err := c.ExchangeToken(t.Context(), p, oauth.Subject{Token: "subject", Issuer: s.Issuer, Expires: until})
		if err != nil || g.Access != "a" || g.Refresh != "" || g.Expiry.Before(until) != own || g.Expiry.After(until) {
			t.Errorf("%s: %+v %v", said, g, err)
		}
	}
	if _, err := client(t, oauth.Settings{Server: s.Resource, Issuer: s.Issuer}).ExchangeToken(t.Context(), p, oauth.Subject{Token: "subject", Issuer: s.Issuer, Expires: until}); err == nil || !strings.Contains(err.Error(), `"clientId"`) {
		t.Errorf("as no client: %v", err)
	}
}

func TestDevice(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	c := client(t, oauth.Settings{Server: s.Resource, Issuer: s.Issuer})
	p, err := discover(t, c, s.Resource)
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.Device(t.Context(), p, oauth.Request{}, func(d oauth.DevicePrompt) {
		if d.Code != "WDJB-MJHT" {
			t.Errorf("%+v", d)
		}
		if err := oauthtest.Visit(context.Background(), d.Address); err != nil {
			t.Error(err)
		}
	})
	if err != nil || !s.Accepts(g.Access) {
		t.Fatalf("%+v %v", g, err)
	}
	if done, err := c.Revoke(t.Context(), g); !done || err != nil || s.Revoked() != 1 || s.Accepts(g.Access) {
		t.Errorf("revoked: %v %v", done, err)
	}
}
