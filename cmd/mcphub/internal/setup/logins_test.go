package setup

import "testing"

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
