package setup

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/spec"
	"mcphub/hub"
)

// shared returns the children of a file, as a hub has them that several clients may share or not.
func shared(t *testing.T, several bool, text string) map[string]spec.Spec {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	s := &Source{Shares: several}
	built, err := s.Build(file(t, text), io.Discard, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	specs := map[string]spec.Spec{}
	for _, c := range built.Hub.Children {
		specs[c.Spec.Name] = c.Spec
	}
	return specs
}

// TestShareByDefault: where several clients may share a hub, sessions with the same roots
// share a server that its profile knows to keep nothing of theirs. hub.json always wins; a
// rule that may ask keeps a server with its session.
func TestShareByDefault(t *testing.T) {
	const servers = `{"mcpServers":{
		"fs":      {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/"]},
		"own":     {"builtin": "files"},
		"git":     {"command": "uvx", "args": ["mcp-server-git"], "share": "session"},
		"time":    {"command": "uvx", "args": ["mcp-server-time"], "share": "all"},
		"fetch":   {"command": "uvx", "args": ["mcp-server-fetch"], "timeout": {"idle": "0"}},
		"think":   {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-sequential-thinking"]},
		"remote":  {"url": "https://mcp.example.com/mcp-server-fetch"},
		"unknown": {"command": "fetch-server"}}RULES}`
	const minutes, session, roots = 15 * time.Minute, spec.ShareSession, spec.ShareRoots
	type how struct {
		share spec.Share
		idle  time.Duration
		why   string
	}
	today := map[string]how{"fs": {}, "own": {}, "git": {}, "time": {spec.ShareAll, minutes, ""}, "fetch": {}, "think": {}, "remote": {}, "unknown": {}}
	with := func(more map[string]how) map[string]how {
		all := map[string]how{}
		for name, h := range today {
			all[name] = h
		}
		for name, h := range more {
			all[name] = h
		}
		return all
	}
	asks := func(rule string) string {
		return `, but the rule "` + rule + `" may ask about its calls`
	}
	for name, tc := range map[string]struct {
		several bool
		rules   string
		want    map[string]how
	}{
		"one client":  {false, "", today},
		"several":     {true, "", with(map[string]how{"fs": {roots, minutes, "profile filesystem"}, "own": {roots, minutes, "profile mcphub-files"}, "fetch": {roots, 0, "profile fetch"}})},
		"a rule asks": {true, `{"name": "ask", "then": "escalate", "if": {"paths": {"outside": true}}}`, with(map[string]how{"fs": {session, 0, asks("ask")}, "own": {session, 0, asks("ask")}, "fetch": {session, 0, asks("ask")}})},
		"of some": {true, `{"name": "no", "then": "deny"}, {"name": "ask", "then": "escalate", "if": {"servers": ["f*"], "tools": ["x"]}}`,
			with(map[string]how{"fs": {session, 0, asks("ask")}, "own": {roots, minutes, "profile mcphub-files"}, "fetch": {session, 0, asks("ask")}})},
		"others rules": {true, `{"name": "deny", "then": "deny", "if": {"servers": ["fs"]}}, {"name": "allow", "then": "allow", "if": {"servers": ["own"]}}`,
			with(map[string]how{"fs": {roots, minutes, "profile filesystem"}, "own": {roots, minutes, "profile mcphub-files"}, "fetch": {roots, 0, "profile fetch"}})},
	} {
		t.Run(name, func(t *testing.T) {
			rules := ""
			if tc.rules != "" {
				rules = `, "policy": {"rules": [` + tc.rules + `]}`
			}
			got := shared(t, tc.several, strings.Replace(servers, "RULES", rules, 1))
			for server, want := range tc.want {
				s := got[server]
				if s.Share != want.share || s.IdleTimeout != want.idle || (s.ShareWhy == "") != (want.why == "") || !strings.Contains(s.ShareWhy, want.why) {
					t.Errorf("%s: %s, idle %s, %q; want %+v", server, s.Share, s.IdleTimeout, s.ShareWhy, want)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("%d servers", len(got))
			}
		})
	}
}

// TestWhyAServerIsShared: status and plan say it.
func TestWhyAServerIsShared(t *testing.T) {
	s := &Source{Shares: true}
	t.Setenv("HOME", t.TempDir())
	built, err := s.Build(file(t, `{"mcpServers": {"own": {"builtin": "files"}, "think": {"command": "mcp-server-sequential-thinking"}}}`), io.Discard, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	h, err := hub.New(built.Hub)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range h.Status().Children {
		if own := c.Server == "own"; (c.Share == "roots") != own || strings.Contains(c.ShareWhy, "mcphub-files") != own {
			t.Errorf("status of %s: %s, %q", c.Server, c.Share, c.ShareWhy)
		}
	}
	for i := range built.Hub.Children {
		built.Hub.Children[i].Spec.Name += "2"
	}
	plan, err := h.PlanReload(built.Hub)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plan {
		if own := p.Server == "own2"; (p.Share == "roots") != own || strings.Contains(p.ShareWhy, "mcphub-files") != own {
			t.Errorf("plan of %s: %s, %q", p.Server, p.Share, p.ShareWhy)
		}
	}
}
