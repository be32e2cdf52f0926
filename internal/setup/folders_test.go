package setup

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestOwnFolders(t *testing.T) {
	env := map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/7", "LOCALAPPDATA": `C:\u`}
	t.Setenv("TMPDIR", "/tmp")
	if StateFolder(func(string) string { return "" }) != "" {
		t.Error("without a home there is a folder of state")
	}
	if runtime.GOOS != "linux" {
		t.Skip("these are paths of Linux")
	}
	f := file(t, `{"mcpServers":{}}`)
	all := ownFolders(f, "/home/u", func(n string) string { return env[n] })
	if len(all) != 3 || all[0] != "/home/u/.local/state/mcphub" || !slices.Contains(all, "/run/user/7/mcphub") || !strings.HasPrefix(all[2], "/tmp/mcphub-") {
		t.Errorf("%q", all)
	}
	env["XDG_STATE_HOME"] = "/state"
	all = ownFolders(file(t, `{"mcpServers":{},"logs":{"dir":"~/logs"}}`), "/home/u", func(n string) string { return env[n] })
	if !slices.Contains(all, "/state/mcphub") || !slices.Contains(all, "/home/u/logs") {
		t.Errorf("%q", all)
	}
	if dir := logFolder(file(t, `{"mcpServers":{},"logs":{"dir":"off"}}`), "/home/u", func(n string) string { return env[n] }); dir != "" {
		t.Errorf("logs that are off go to %s", dir)
	}
}
