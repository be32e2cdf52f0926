package clients

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOverHTTP: each client is one that takes an address or one that says so. What is put in
// is known again as the hub, is not put in twice, shows no token, and comes out again.
func TestOverHTTP(t *testing.T) {
	t.Parallel()
	const token = "mcphub_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
	web := &Web{URL: "http://127.0.0.1:8080/mcp", Token: token, File: "/state/http/x.token"}
	for i := range All {
		c := &All[i]
		home := t.TempDir()
		e := Env{OS: "linux", Home: home, Get: func(string) string { return "" }}
		plan, _, err := PlanInstall(c, e, c.WithRoots(Hub{Web: web}, []string{"/srv/a"}))
		refers, takes := c.Refers()
		if !takes {
			if c.Name != "claude-desktop" || !errors.Is(err, ErrNoHTTP) || !strings.Contains(err.Error(), c.Title) {
				t.Errorf("%s: %v", c.Name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		f := plan.Files[0]
		shown := strings.Join(f.Diff(), "\n")
		if strings.Contains(shown, token) || !strings.Contains(shown, web.URL) {
			t.Errorf("%s shows\n%s", c.Name, shown)
		}
		if holds := strings.Contains(string(f.After), token); holds != (refers == ByValue) || holds != f.private {
			t.Errorf("%s: by value %t, private %t:\n%s", c.Name, refers == ByValue, f.private, f.After)
		}
		if err := os.MkdirAll(filepath.Dir(f.Place.File), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.Place.File, f.After, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Read(c, e)
		if err != nil || found.Registered != HubName || len(found.Servers) > 0 {
			t.Errorf("%s: %+v, %v", c.Name, found, err)
		}
		if plan, already, err := PlanInstall(c, e, c.WithRoots(Hub{Web: web}, []string{"/srv/a"})); err != nil || plan.HasChanges() || already != HubName {
			t.Errorf("%s: once more: %q, %v", c.Name, already, err)
		}
		if plan, err := PlanRemoval(c, e); err != nil || !plan.HasChanges() || strings.Contains(string(plan.Files[0].After), "8080") {
			t.Errorf("%s: it does not come out: %v", c.Name, err)
		}
		if open, _, err := PlanInstall(c, e, c.WithRoots(Hub{Web: &Web{URL: "http://127.0.0.1:9/mcp"}}, nil)); err != nil || strings.Contains(string(open.Files[0].After), "Bearer") || strings.Contains(string(open.Files[0].After), TokenVariable) {
			t.Errorf("%s: without a token: %v", c.Name, err)
		}
	}
}

// TestIsHubAt: only an entry of the hub's own name, at an endpoint of this machine.
func TestIsHubAt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"mcphub": {"url": "http://127.0.0.1:1/mcp"}}`: true, `{"mcphub": {"url": "http://localhost:1/mcp"}}`: true, `{"mcphub": {"url": "http://[::1]:1/mcp"}}`: true,
		`{"other": {"url": "http://127.0.0.1:1/mcp"}}`: false, `{"mcphub": {"url": "https://hub.example/mcp"}}`: false, `{"mcphub": {"url": "http://127.0.0.1:1/sse"}}`: false,
	} {
		home := t.TempDir()
		e := Env{OS: "linux", Home: home, Get: func(string) string { return "" }}
		file := filepath.Join(home, ".cursor", "mcp.json")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(`{"mcpServers": `+text+`}`), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Read(Find("cursor"), e)
		if err != nil || (found.Registered != "") != want || (len(found.Servers) == 0) != want {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
}
