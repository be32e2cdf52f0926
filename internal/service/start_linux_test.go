package service

import (
	"slices"
	"testing"
)

func TestScopeFor(t *testing.T) {
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
