package platform_test

import (
	"strings"
	"testing"

	. "mcphub/rootsmgr/platform"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p        Platform
		in, want string
	}{
		{Linux, "/a/../..//b/./c/", "/b/c"}, {Linux, "//", "/"}, {Linux, "x/..", "x/.."}, {Linux, `/a\..\b`, `/a\..\b`},
		{Windows, `c:/a/../b/`, `C:\b`}, {Windows, `C:\..\..`, `C:\`}, {Windows, `\\s\h\..\x`, `\\s\h\x`}, {Windows, `\\s\h`, `\\s\h\`},
		{Windows, `x\..`, `x\..`}, {Windows, `C:x`, `C:x`}, {Windows, `\\s`, `\\s`}, {Windows, `\\s\\h`, `\\s\\h`},
	} {
		if got := tt.p.Clean(tt.in); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// What a cause is called is said of no other, and fit for a terminal.
func TestCauses(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for c := CauseNone; c <= CauseIO; c++ {
		if seen[c.String()] {
			t.Errorf("cause %d: %q again", c, c)
		}
		seen[c.String()] = true
	}
	_, err := Host().ParseRootURI("file://evil\x1b/x")
	if err == nil || !strings.Contains(err.Error(), "another host") || strings.Contains(err.Error(), "\x1b") {
		t.Error(err)
	}
}
