package tolerance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// A loginCase is a server at which one logs in, bent in one way.
type loginCase struct {
	bend     func(s *authServer)
	redirect string // that is registered for a client; PORT is a free port; "": the client registers itself
	secret   string // of that client
	entry    obj    // more of the entry in hub.json

	fails  string // what the hub says if the case fails both ways; "": it works
	stands string // what the hub says if it refuses what works directly, to keep what a login promises
}

// Logins at servers as they are: the hub logs in if the official clients do. If the hub is stricter, the case gives the reason.
func TestLogins(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	cases := loginCases()
	names, servers, direct := []string{}, obj{}, []obj{}
	for name, c := range cases {
		s := newAuthServer(t)
		if c.bend != nil {
			c.bend(s)
		}
		port := world.FreePort(t)
		entry := obj{"url": s.url + "/mcp", "type": "http"}
		raw := strings.NewReplacer(`"PORT"`, port, "PORT", port, "URL", s.url).Replace(world.Raw(t, c.entry))
		var more obj
		world.Must(t, json.Unmarshal([]byte(raw), &more))
		maps.Copy(entry, more)
		one := obj{"name": name, "url": s.url + "/mcp", "redirect": "http://localhost:" + port + "/callback"}
		if c.redirect != "" {
			redirect := strings.ReplaceAll(c.redirect, "PORT", port)
			s.clients["registered"] = &account{c.secret, []any{redirect}}
			client := obj{"client_id": "registered"}
			if c.secret != "" {
				client["client_secret"] = c.secret
			}
			one["redirect"], one["client"] = redirect, client
		}
		names, servers[fmt.Sprintf("s%d", len(names))], direct = append(names, name), entry, append(direct, one)
	}
	w.Write("secret", "sec-ret")
	w.Write("signs", "s+c/r=t&")
	config := w.Config(servers, obj{"secrets": obj{"store": "file"}})
	env := w.Env("DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("no-bus"))
	directly := playLogins(t, w, n, obj{"direct": direct}).Direct
	said, calls := make([]string, len(names)), make([]string, len(names))
	for i := range names {
		calls[i] = fmt.Sprintf("s%d", i)
		said[i] = logIn(t, w, env, calls[i], config)
	}
	vars := obj{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	hub := playLogins(t, w, n, obj{"hub": obj{"command": world.Hub(t), "args": []string{"serve", "--config", config}, "env": vars, "cwd": w.Home}, "calls": calls}).Hub
	if len(directly) != len(names) || len(hub) != len(names) {
		t.Fatalf("%d cases, %d of them directly, and %d through the hub", len(names), len(directly), len(hub))
	}
	works := 0
	for i, name := range names {
		c := cases[name]
		v1, v2, through := directly[i].V1, directly[i].V2, hub[i]
		t.Logf("%s: directly %v and %v, through the hub %v", name, v1, v2, through)
		works++
		switch {
		case c.fails != "":
			works--
			if v1.Text != "" || v2.Text != "" || through.Text != "" || !strings.Contains(said[i], c.fails) {
				t.Errorf("%s: directly %v and %v, through the hub %v; it says %s\nwant %q", name, v1, v2, through, said[i], c.fails)
			}
		case c.stands != "":
			if v1.Text != "ann" || through.Text != "" || !strings.Contains(said[i], c.stands) {
				t.Errorf("%s: directly %v, through the hub %v; it says %s\nwant %q", name, v1, through, said[i], c.stands)
			}
		case v1.Text != "ann" && v2.Text != "ann":
			t.Errorf("%s: it does not work directly: %v and %v", name, v1, v2)
		case through.Text != "ann":
			t.Errorf("%s: directly %v and %v, through the hub %v; the login says %s", name, v1, v2, through, said[i])
		}
	}
	t.Logf("%d logins, of which %d work directly", len(names), works)
}

// A loginPlayed is what a call gave: a text or an error.
type loginPlayed struct{ Text, Error string }

type loginReport struct {
	Direct []struct{ V1, V2 loginPlayed }
	Hub    []loginPlayed
}

// playLogins has the official clients do something.
func playLogins(t *testing.T, w *world.World, n world.Node, what obj) (r loginReport) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), n.Program, world.Source("e2e", "tolerance", "login.mjs"))
	cmd.Env, cmd.Dir = w.Env(), w.Home
	cmd.Stdin = strings.NewReader(world.Raw(t, what))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the official clients: %v\n%s", err, errs.String())
	}
	world.Must(t, json.Unmarshal(out, &r))
	return r
}

var loginPage = regexp.MustCompile(`^https?://\S+$`)

// logIn returns a person who logs in by a browser, and ends the command if the page does not lead back.
func logIn(t *testing.T, w *world.World, env []string, name, config string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), world.Hub(t), "auth", "login", name, "--no-browser", "--config", config)
	cmd.Env, cmd.Dir = env, w.Home
	out, err := cmd.StdoutPipe()
	world.Must(t, err)
	cmd.Stderr = cmd.Stdout
	world.Must(t, cmd.Start())
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if !loginPage.MatchString(lines.Text()) {
			continue
		}
		resp, err := http.Get(lines.Text())
		world.Must(t, err)
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			fmt.Fprintf(&said, "the page: %s\n", text)
			world.Must(t, cmd.Process.Signal(os.Interrupt))
		}
	}
	_ = cmd.Wait()
	return said.String()
}

func withMember(name string, value any) func(m obj) { return func(m obj) { m[name] = value } }

func withDocument(name string, value any) func(m obj) string {
	return func(m obj) string { m[name] = value; return "" }
}

func loginCases() map[string]loginCase {
	const resourceAt, serverAt = wellKnown + "oauth-protected-resource/mcp", wellKnown + "oauth-authorization-server"
	answers := func(bend func(m obj)) loginCase { return loginCase{bend: func(s *authServer) { s.token = bend }} }
	sent := func(kind, head string) loginCase {
		return loginCase{bend: func(s *authServer) { s.kind, s.head = kind, head }}
	}
	asks := func(challenge string) loginCase {
		return loginCase{bend: func(s *authServer) { s.challenge = challenge }}
	}
	metadata := func(name string, value any) loginCase {
		return loginCase{bend: func(s *authServer) { s.metadata = withDocument(name, value) }}
	}
	// secret is a client that registers itself and is given a secret.
	secret := func(proof string, known any, said any) loginCase {
		return loginCase{bend: func(s *authServer) {
			s.proof, s.metadata = proof, withDocument("token_endpoint_auth_methods_supported", known)
			s.registers = func(m obj) {
				m["client_secret"], m["token_endpoint_auth_method"], m["client_secret_expires_at"] = "sec-ret", said, 0
			}
		}}
	}
	const basic, post = "client_secret_basic", "client_secret_post"
	fails := func(c loginCase, want string) loginCase { c.fails = want; return c }
	own := func(bend func(m obj) string) loginCase {
		return loginCase{bend: func(s *authServer) { s.resource = bend; s.challenge = "Bearer" }}
	}
	return map[string]loginCase{
		"control": {},

		"a type of token without a standard": answers(withMember("token_type", "user")),
		"another one":                        answers(withMember("token_type", "urn:example:session")),
		"a type in capitals":                 answers(withMember("token_type", "BEARER")),
		"a type in small letters":            answers(withMember("token_type", "bearer")),
		"a type that needs a proof": {bend: func(s *authServer) { s.token, s.scheme = withMember("token_type", "DPoP"), "DPoP" },
			fails: `/token: "token_type" of the answer is DPoP`},
		"an end with a fraction":           answers(withMember("expires_in", 3599.5)),
		"an end as text":                   answers(withMember("expires_in", "3600")),
		"an end with a fraction, as text":  answers(withMember("expires_in", "3599.5")),
		"an end that is none":              answers(withMember("expires_in", -1)),
		"an end that is empty":             answers(withMember("expires_in", "")),
		"an end far off":                   answers(withMember("expires_in", 1e15)),
		"no end":                           answers(withMember("expires_in", nil)),
		"an end in words":                  fails(answers(withMember("expires_in", "tomorrow")), "/token: "),
		"no refresh token":                 answers(withMember("refresh_token", nil)),
		"no token":                         fails(answers(withMember("access_token", nil)), `"access_token"`),
		"more than is known":               answers(func(m obj) { m["id_token"], m["scope"], m["team"], m["ok"] = "x.y.z", "tools", obj{"id": 1}, true }),
		"JSON as text":                     sent("text/plain; charset=utf-8", ""),
		"JSON as a page":                   sent("text/html", ""),
		"JSON as a form":                   sent("application/x-www-form-urlencoded", ""),
		"JSON of no type":                  sent("", ""),
		"JSON with a mark before it":       sent("application/json", "\ufeff"),
		"a page before the JSON":           fails(sent("text/html", "<html>"), "/token: "),
		"a token that ends amid a session": {bend: func(s *authServer) { s.ends = true }},
		"one that is renewed by odd answers": {bend: func(s *authServer) {
			s.ends, s.kind = true, "text/plain"
			s.token = func(m obj) { m["expires_in"], m["token_type"] = 3599.5, "user" }
		}},

		"no word on PKCE":   metadata("code_challenge_methods_supported", nil),
		"PKCE without S256": fails(metadata("code_challenge_methods_supported", []any{"plain"}), `its "code_challenge_methods_supported" lists "plain"`),
		"PKCE in no way":    fails(metadata("code_challenge_methods_supported", []any{}), `its "code_challenge_methods_supported" lists ""`),

		"a secret, and no word on it":             secret(basic, nil, nil),
		"a secret, one way known":                 secret(post, []any{post}, nil),
		"a secret, all ways known":                secret(basic, []any{"none", post, basic}, nil),
		"a secret, sent as said":                  secret(post, []any{post, basic}, post),
		"a secret, sent as said, none listed":     secret(post, nil, post),
		"a secret, said in a way that is unknown": secret(basic, []any{basic}, post),
		"a secret that is not needed":             secret("", nil, "none"),
		"a secret, and a proof of another kind":   fails(secret("private_key_jwt", nil, nil), "/token: the authorization server answers invalid_client: so it is"),
		"a registration with keys": {bend: func(s *authServer) {
			s.registers = func(m obj) { m["jwks"], m["client_id_issued_at"] = obj{"keys": []any{}}, 1.5 }
		}},
		"a registration that is not new":    {bend: func(s *authServer) { s.status["/register"] = 200 }},
		"a registration that is on its way": {bend: func(s *authServer) { s.status["/register"] = 202 }},
		"a registration that is refused":    {bend: func(s *authServer) { s.status["/register"] = 403 }, fails: "/register with the redirect http://127.0.0.1:"},
		"a consent that is refused":         {bend: func(s *authServer) { s.deny = "access_denied" }, fails: "the login was refused: the authorization server answers access_denied"},
		"a token endpoint that fails":       {bend: func(s *authServer) { s.status["/token"] = 500 }, fails: "/token: the authorization server answers with HTTP status 500"},
		"no registration":                   {bend: func(s *authServer) { s.metadata = withDocument("registration_endpoint", nil) }, fails: "lets no program register itself"},

		"metadata at a relative place":            asks(`Bearer resource_metadata="/.well-known/oauth-protected-resource/mcp"`),
		"metadata at a relative place, with none": asks(`Bearer resource_metadata="gone"`),
		"metadata at a place with none":           asks(`Bearer resource_metadata="URL/gone"`),
		"no word on metadata":                     asks(`Bearer`),
		"a realm that is empty":                   asks(`Bearer realm="", error="invalid_token"`),
		"no commas":                               asks(`Bearer error="invalid_token" resource_metadata="URL/.well-known/oauth-protected-resource/mcp"`),
		"no challenge":                            asks(``),
		"small letters":                           asks(`bearer resource_metadata="URL/.well-known/oauth-protected-resource/mcp"`),
		"metadata at the root": {bend: func(s *authServer) {
			s.challenge = "Bearer"
			s.moved[resourceAt] = wellKnown + "oauth-protected-resource"
		}},
		"metadata elsewhere": {bend: func(s *authServer) {
			s.challenge = `Bearer resource_metadata="URL/meta"`
			s.moved[resourceAt] = "/meta"
		}},
		"metadata of another host":               fails(loginCase{bend: func(s *authServer) { s.resource = withDocument("resource", "https://bank.example/mcp") }}, `its "resource", https://bank.example/mcp`),
		"metadata of the whole host":             {bend: func(s *authServer) { s.resource = withDocument("resource", s.url) }},
		"metadata that fail, and an own server":  {bend: func(s *authServer) { s.challenge = "Bearer"; s.status[resourceAt] = 500 }},
		"no metadata, and an own server":         {bend: func(s *authServer) { s.challenge = "Bearer"; s.moved[resourceAt] = "" }},
		"a page for metadata, and an own server": own(func(obj) string { return "<html>" }),
		"other metadata, and an own server":      own(func(obj) string { return `{"status":"ok"}` }),
		"metadata that name no server":           own(withDocument("authorization_servers", nil)),
		"no metadata at all":                     {bend: func(s *authServer) { s.challenge = "Bearer"; s.moved[resourceAt], s.moved[serverAt] = "", "" }},
		"metadata with a mark before":            {bend: func(s *authServer) { s.resource, s.metadata = markedDocument, markedDocument }},
		"members of other types":                 metadata("ui_locales_supported", "en"),
		"a slash behind the issuer":              {bend: func(s *authServer) { s.metadata = withDocument("issuer", s.url+"/") }},
		"an issuer with a path": {bend: func(s *authServer) {
			s.resource, s.metadata = withDocument("authorization_servers", []any{s.url + "/tenant"}), withDocument("issuer", s.url+"/tenant")
			s.moved[serverAt] = serverAt + "/tenant"
		}},
		"OpenID alone": {bend: func(s *authServer) {
			s.moved[serverAt] = wellKnown + "openid-configuration"
			s.metadata = func(m obj) string {
				m["jwks_uri"], m["subject_types_supported"], m["id_token_signing_alg_values_supported"] = s.url+"/keys", []any{"public"}, []any{"RS256"}
				return ""
			}
		}},
		"another issuer": {bend: func(s *authServer) { s.metadata = withDocument("issuer", "https://login.example") },
			stands: `says that it is another one: its "issuer" is https://login.example`},

		"a client of Claude Code":   {redirect: "http://localhost:PORT/callback", entry: obj{"oauth": obj{"clientId": "registered", "callbackPort": "PORT"}}},
		"a client of the hub":       {redirect: "http://127.0.0.1:PORT/callback", entry: obj{"auth": obj{"clientId": "registered", "callbackPort": "PORT"}}},
		"a client of Gemini":        {redirect: "http://localhost:PORT/oauth/callback", entry: obj{"oauth": obj{"enabled": true, "clientId": "registered", "redirectUri": "http://localhost:PORT/oauth/callback"}}},
		"a client of opencode":      {redirect: "http://127.0.0.1:PORT/mcp/oauth/callback", entry: obj{"oauth": obj{"clientId": "registered", "redirectUri": "http://127.0.0.1:PORT/mcp/oauth/callback"}}},
		"a redirect by name":        {redirect: "http://localhost:PORT/a/b", entry: obj{"auth": obj{"clientId": "registered", "redirectHost": "localhost", "redirectPath": "/a/b", "callbackPort": "PORT"}}},
		"a redirect without a path": {redirect: "http://localhost:PORT", entry: obj{"auth": obj{"clientId": "registered", "redirectHost": "localhost", "redirectPath": "", "callbackPort": "PORT"}}},
		"a redirect to the root":    {redirect: "http://127.0.0.1:PORT/", entry: obj{"auth": obj{"clientId": "registered", "redirectPath": "/", "callbackPort": "PORT"}}},
		"a secret of the entry": {redirect: "http://127.0.0.1:PORT/callback", secret: "sec-ret", bend: func(s *authServer) { s.proof = basic },
			entry: obj{"auth": obj{"clientId": "registered", "clientSecret": "${file:secret}", "callbackPort": "PORT"}}},
		"a secret with signs": {redirect: "http://127.0.0.1:PORT/callback", secret: "s+c/r=t&", bend: func(s *authServer) { s.proof = basic },
			entry: obj{"auth": obj{"clientId": "registered", "clientSecret": "${file:signs}", "callbackPort": "PORT"}}},
		"a secret of the entry in the body": {redirect: "http://127.0.0.1:PORT/callback", secret: "sec-ret",
			bend: func(s *authServer) {
				s.proof, s.metadata = post, withDocument("token_endpoint_auth_methods_supported", []any{post})
			},
			entry: obj{"auth": obj{"clientId": "registered", "clientSecret": "${file:secret}", "callbackPort": "PORT"}}},
		// Directly it is refused by the page, too: that client has no way to send another redirect than it is registered with.
		"a redirect that is not registered": {redirect: "http://localhost:PORT/callback", bend: func(s *authServer) { s.deny = "redirect" },
			entry: obj{"oauth": obj{"clientId": "registered", "redirectUri": "http://localhost:PORT/elsewhere"}}, fails: "the browser did not come back to http://localhost:"},
	}
}

// markedDocument returns a document behind a byte order mark.
func markedDocument(m obj) string {
	text, _ := json.Marshal(m)
	return "\ufeff" + string(text)
}
