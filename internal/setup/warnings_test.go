package setup

import (
	"strings"
	"testing"
)

// A shared hub is wanted where there can be none: that is said, and nowhere else.
func TestAttachHasNoEffectElsewhere(t *testing.T) {
	for _, tc := range []struct {
		text, goos string
		want       bool
	}{
		{`{"attach": "auto"}`, "darwin", true}, {`{"attach": {"mode": "auto"}}`, "windows", true},
		{`{"attach": "auto"}`, "linux", false}, {`{"attach": "off"}`, "darwin", false}, {`{}`, "windows", false},
	} {
		got := false
		for _, p := range withoutEffect(file(t, tc.text), tc.goos) {
			got = got || strings.HasPrefix(p.Key, "attach") && strings.Contains(p.Text, "Linux alone")
		}
		if got != tc.want {
			t.Errorf("%s on %s: warned %t", tc.text, tc.goos, got)
		}
	}
}
