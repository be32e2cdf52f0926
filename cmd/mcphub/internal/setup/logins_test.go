package setup

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/loginpage"
	"mcphub/internal/principal"
)

// The redirect that a login sends is what the entry says, in the words of hub.json or of Claude Code.
func TestRedirectOfEntry(t *testing.T) {
	all := shared(t, false, `{"mcpServers":{
		"plain":  {"url": "https://mcp.example.com/mcp"},
		"own":    {"url": "https://mcp.example.com/mcp", "auth": {"clientId": "i", "callbackPort": 3118}},
		"named":  {"url": "https://mcp.example.com/mcp", "auth": {"clientId": "i", "redirectHost": "localhost", "redirectPath": "/oauth/callback"}},
		"none":   {"url": "https://mcp.example.com/mcp", "auth": {"clientId": "i", "redirectPath": ""}},
		"slack":  {"url": "https://mcp.example.com/mcp", "oauth": {"clientId": "i", "callbackPort": 3118}},
		"gemini": {"url": "https://mcp.example.com/mcp", "oauth": {"clientId": "i", "redirectUri": "http://localhost:7777/back"}}}}`)
	for name, want := range map[string]struct {
		redirect string
		port     int
	}{
		"plain": {"", 0}, "own": {"http://127.0.0.1/callback", 3118}, "named": {"http://localhost/oauth/callback", 0}, "none": {"http://127.0.0.1", 0},
		"slack": {"http://localhost/callback", 3118}, "gemini": {"http://localhost/back", 7777},
	} {
		s := all[name]
		if got := LoginSettings(&s); got.Redirect != want.redirect || got.CallbackPort != want.port {
			t.Errorf("%s: %q, port %d", name, got.Redirect, got.CallbackPort)
		}
	}
}

// Pages for logins need a front over HTTP, the address of the hub, and an entry whose login is made by a browser. Who cannot have one is told why, and
// no page is shown.
func TestLoginsByAPage(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	const servers = `"mcpServers": { "plain": {"url": "https://mcp.example.com/mcp"}, "device": {"url": "https://mcp.example.com/mcp", "auth": {"flow": "device"}} }`
	const resource = `"http": {"resource": "https://hub.example/mcp", "issuers": [{"issuer": "https://login.example", "login": {"clientId": "hub", "env": "MISSING_SECRET"}}]}`
	alice, carol := principal.Principal{Name: "alice"}, principal.Principal{Name: "carol", Issuer: "https://login.example"}
	for _, tc := range []struct {
		text   string
		desk   *loginpage.Desk
		pages  bool
		server string
		want   string
	}{
		{`{` + servers + `}`, new(loginpage.Desk), false, "plain", `has no "resource"`},
		{`{` + resource + `, ` + servers + `}`, nil, false, "plain", `has no "resource"`},
		{`{` + resource + `, ` + servers + `}`, new(loginpage.Desk), true, "device", `"flow": "device"`},
		{`{` + resource + `, ` + servers + `}`, new(loginpage.Desk), true, "missing", `there is no server "missing"`},
	} {
		built, err := (&Source{Desk: tc.desk}).Build(file(t, tc.text), io.Discard, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		err = built.Hub.StartLogin(t.Context(), tc.server, alice, func(address, _ string) error {
			t.Errorf("%s: the page %s is shown", tc.server, address)
			return nil
		})
		if built.Hub.LoginPages != tc.pages || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: pages %t, %v; want %q", tc.server, built.Hub.LoginPages, err, tc.want)
		}
		if !tc.pages {
			continue
		}
		if built.proverOf(alice) != nil {
			t.Error("a token of hub.json is proved at an issuer")
		}
		if _, err := built.proverOf(carol)(context.Background(), "https://hub.example/login/proved"); err == nil || !strings.Contains(err.Error(), "MISSING_SECRET is not set") {
			t.Errorf("without its secret the hub begins a login at the issuer: %v", err)
		}
	}
}
