package main

import (
	"strings"
	"testing"

	"mcphub/internal/redact"
)

// What may be secret in hub.json is not shown; all else stands where it stood.
func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	const secret = "Sup3r-S3cret-Value"
	text := `{
  // the old one: "TOKEN": "` + secret + `"
  "mcpServers": {
    /* ` + secret + ` */
    "git": {"command": "git-mcp", "args": ["--root", "/src//x", "--api-key", "` + secret + `"], "env": {"LEVEL": "` + secret + `", "PASS": "${keyring:pass}", "MIX": "${HOME}` + secret + `", "DEF": "${X:-` + secret + `}"},},
    "web": {"url": "https://example.com/mcp?key=` + secret + `", "headers": {"Authorization": "Bearer ` + secret + `"}},
    "esc": {"password": "a\"` + secret + `"}
  },
  "http": {"tokens": [{"name": "alice", "token": "` + secret + `"}]},
  "roots": {"fallback": ["~/My Notes <1> #2"]},
  "audit": {"dir": "/var/log//mcphub"}
}`
	got, err := withoutSecrets("hub.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got, secret) {
		t.Errorf("a secret is shown:\n%s", got)
	}
	for _, part := range []string{`"command": "git-mcp"`, `"--root", "/src//x"`, `"PASS": "${keyring:pass}"`, `"LEVEL": "` + redact.Mark + `"`, `"audit": {"dir": "/var/log//mcphub"}`, `https://example.com/mcp"`, `["~/My Notes <1> #2"]`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not shown:\n%s", part, got)
		}
	}
	if strings.Count(got, "\n") != strings.Count(text, "\n") {
		t.Error("a line is missing")
	}
	if marked, err := withoutSecrets("hub.json", append([]byte("\xef\xbb\xbf"), text...)); err != nil || marked != got {
		t.Errorf("behind a byte order mark it is shown as\n%s, %v", marked, err)
	}
	for _, broken := range []string{`{"a": "` + secret + `"`, secret, ``} {
		if got, err := withoutSecrets("hub.json", []byte(broken)); err == nil || strings.Contains(got+err.Error(), secret) {
			t.Errorf("%q is shown as %q, %v", broken, got, err)
		}
	}
}
