package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/clients/edit"
)

// Claude Code's program for headers is held back until a person agrees to the very program that would run. Without it the hub does not
// take the server from its client.
func TestHelperOfClaudeCode(t *testing.T) {
	t.Parallel()
	project, home := t.TempDir(), t.TempDir()
	file := filepath.Join(home, ".claude.json")
	if err := os.Mkdir(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"user": map[string]any{"type": "http", "url": "https://mcp.example.com/mcp", "headersHelper": "./token.sh"},
	}, "projects": map[string]any{project: map[string]any{"mcpServers": map[string]any{
		"plain": map[string]any{"type": "http", "url": "https://mcp.example.com/mcp", "headersHelper": "./token.sh --mcp"},
		"shell": map[string]any{"type": "http", "url": "https://mcp.example.com/mcp", "headersHelper": "token | jq ."},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := Read(Find("claude-code"), Env{OS: "linux", Home: home, Get: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]*Server{}
	for i := range read.Servers {
		by[read.Servers[i].Name] = &read.Servers[i]
	}
	plain := by["plain"]
	if plain == nil || plain.Entry.Has("headersFrom") || len(plain.Held) != 1 || plain.Held[0].Key != "headersFrom" {
		t.Fatalf("%+v, %+v", plain, read.Skipped)
	}
	plain.Allow(plain.Held[0])
	helper, err := json.Marshal(filepath.Join(project, "token.sh"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"command":` + string(helper) + `,"args":["--mcp"]}`
	if got, err := json.Marshal(plain.Entry.Get("headersFrom").(edit.Table)); err != nil || string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if user := by["user"]; user == nil || len(user.Held) != 1 || !strings.Contains(fmt.Sprint(user.Held[0].Value), filepath.Join(home, ".claude", "token.sh")) {
		t.Errorf("%+v", user)
	}
	told := ""
	for _, sk := range read.Skipped {
		told += sk.Name + ": " + sk.Why
	}
	if shell := by["shell"]; shell != nil {
		told += strings.Join(shell.Notes, "\n") + shell.unservable
	}
	if !strings.Contains(told, "there is no shell") {
		t.Errorf("of a line for a shell is told %q", told)
	}
}
