package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/config"
)

func TestManualAndSchema(t *testing.T) {
	t.Parallel()
	page := manualPage(rootCommand())
	for _, want := range []string{".SS mcphub add NAME", `\fB\-\-header\fR`, ".SS mcphub audit verify", ".SH \"EXIT STATUS\""} {
		if !strings.Contains(page, want) {
			t.Errorf("the manual lacks %s", want)
		}
	}
	if got := escapeRoff(".x\n'y\na\\b-c"); got != "\\&.x\n\\&'y\na\\eb\\-c" {
		t.Errorf("roff: %q", got)
	}
	if !json.Valid([]byte(config.Schema)) {
		t.Error("the schema is no JSON")
	}
}

// TestCompletionOfServers has a shell ask for the servers of hub.json.
func TestCompletionOfServers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hub.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers": {"git": {"command": "x"}, "web": {"url": "https://example.com/mcp"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	root := rootCommand()
	root.SetOut(&out)
	root.SetArgs([]string{"__complete", "remove", "--config", file, ""})
	if err := root.Execute(); err != nil || !strings.HasPrefix(out.String(), "git\nweb\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if cmd, _, err := root.Find([]string{"completion", "zsh"}); err != nil || cmd.Name() != "zsh" {
		t.Errorf("completion zsh: %v", err)
	}
}
