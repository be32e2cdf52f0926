package setup

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/rundir"
)

func TestOwnFolders(t *testing.T) {
	for name, value := range map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/7", "LOCALAPPDATA": `C:\u`, "XDG_STATE_HOME": "", "TMPDIR": "/tmp"} {
		t.Setenv(name, value)
	}
	if rundir.State(func(string) string { return "" }) != "" {
		t.Error("without a home there is a folder of state")
	}
	if runtime.GOOS != "linux" {
		t.Skip("these are paths of Linux")
	}
	f := file(t, `{"mcpServers":{}}`)
	all := ownFolders(f, "/home/u")
	accepted := consent.NewFor("/home/u/.local/state/mcphub", "/home/u").Closed()
	if len(all) != 4 || all[0] != "/home/u/.local/state/mcphub" || all[1] != accepted || !slices.Contains(all, "/run/user/7/mcphub") || !strings.HasPrefix(all[3], "/tmp/mcphub-") {
		t.Errorf("%q", all)
	}
	t.Setenv("XDG_STATE_HOME", "/state")
	all = ownFolders(file(t, `{"mcpServers":{},"logs":{"dir":"~/logs"}}`), "/home/u")
	if !slices.Contains(all, "/state/mcphub") || !slices.Contains(all, "/home/u/logs") {
		t.Errorf("%q", all)
	}
	if dir := LogFolder(file(t, `{"mcpServers":{},"logs":{"dir":"off"}}`)); dir != "" {
		t.Errorf("logs that are off go to %s", dir)
	}
}

// TestSecretFiles: whatever file of a secret hub.json names, no call may touch it.
func TestSecretFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := file(t, `{"mcpServers": {
		"local": {"command": "x", "envFile": "${root}/.env"},
		"read": {"command": "x", "envFile": "/secrets/env", "args": ["${file:/secrets/arg}"], "env": {"A": "${file:/secrets/variable}"}},
		"web": {"url": "https://host/mcp", "headers": {"Authorization": "Bearer ${file:/secrets/header}"}}},
		"http": {"stateKey": {"file": "/secrets/key"}, "tokens": [{"name": "a", "file": "~/token"}, {"name": "b", "env": "B"}]}}`)
	if runtime.GOOS == "windows" {
		t.Skip("these are paths of Unix")
	}
	got := secretFiles(f, dir)
	for _, want := range []string{"/secrets/env", "/secrets/arg", "/secrets/variable", "/secrets/header", "/secrets/key", dir + "/token"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s may be touched: %q", want, got)
		}
	}
	for _, path := range got {
		if strings.Contains(path, "$") || path == "" {
			t.Errorf("got %q", path)
		}
	}
}
