package setup

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/config"
)

// TestSandboxIsChecked: what cannot be held is an error with its line where it must be,
// and paths that are not there are told about.
func TestSandboxIsChecked(t *testing.T) {
	dir := t.TempDir()
	path, docker := filepath.Join(dir, "hub.json"), filepath.Join(dir, "bin", "docker")
	if err := errors.Join(os.Mkdir(filepath.Dir(docker), 0o700), os.WriteFile(docker, []byte("#!/bin/sh\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(docker))
	text := `{"mcpServers": {
"must": {"command": "docker", "args": ["run", "x"], "sandbox": "required"},
"may": {"command": "docker", "args": ["run", "x"], "sandbox": "auto"},
"lost": {"command": "docker", "args": ["run", "x"], "sandbox": {"mode": "auto", "read": ["nowhere"]}},
"free": {"command": "docker", "args": ["run", "x"], "sandbox": {"mode": "off", "read": ["nowhere"]}}
}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Source{Config: path, RootsGiven: func() bool { return false }}
	c, err := s.Check(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]config.Problem{}
	for _, p := range c.Problems {
		if strings.Contains(p.Key, "sandbox") {
			found[p.Key] = p
		}
	}
	for key, want := range map[string]struct {
		line int
		sev  config.Severity
		text string
	}{
		"mcpServers.must.sandbox":         {2, config.SeverityError, "a container"},
		"mcpServers.may.sandbox":          {3, config.SeverityNote, "a container"},
		"mcpServers.lost.sandbox.read[0]": {4, config.SeverityWarning, "there is no " + filepath.Join(dir, "nowhere")},
	} {
		if p := found[key]; p.Line != want.line || p.Severity != want.sev || !strings.Contains(p.Text, want.text) {
			t.Errorf("%s: %+v", key, p)
		}
	}
	if _, ok := found["mcpServers.free.sandbox.read[0]"]; ok || !c.Bad["must"] || c.Bad["may"] {
		t.Errorf("bad are %v, found %v", c.Bad, found)
	}
}
