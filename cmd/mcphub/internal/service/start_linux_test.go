package service

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"mcphub/cmd/mcphub/internal/attach"
	"mcphub/cmd/mcphub/internal/setup"
)

// Who waits for another client that starts the shared hub waits for so long, and says what it waited for.
func TestAStartThatHangs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"} {
		t.Setenv(name, dir)
	}
	src := &setup.Source{Config: filepath.Join(dir, "hub.json")}
	if err := os.WriteFile(src.Config, []byte(`{"attach":"auto","mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	endpoint, err := attach.EndpointOf(attach.CommandLine{Config: src.Config}, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	folder, err := endpoint.Folder()
	if err != nil {
		t.Fatal(err)
	}
	other := flock.New(endpoint.Lock(folder))
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	defer other.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	started, err := StartShared(ctx, src)
	if started || err == nil || !strings.Contains(err.Error(), endpoint.Lock(folder)) {
		t.Errorf("%t %v", started, err)
	}
}

func TestScopeFor(t *testing.T) {
	t.Parallel()
	const window = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-code-12.scope\n"
	there := func(is bool) func(string) bool { return func(string) bool { return is } }
	if got := scopeFor(window, there(true)); !slices.Contains(got, "--scope") || got[0] != "/usr/bin/systemd-run" {
		t.Errorf("of a window: %q", got)
	}
	if got := scopeFor("0::/system.slice/docker.scope\n", there(true)); got != nil {
		t.Errorf("without a manager: %q", got)
	}
	if got := scopeFor(window, there(false)); got != nil {
		t.Errorf("without systemd: %q", got)
	}
}
