package setup

import (
	"strings"
	"testing"

	"mcphub/hub/approval"
)

// Who may answer: the client where nothing is said, nobody whom approval.from does not name, and on Windows nobody who would
// have to be at a terminal. What has no effect is warned of.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text, goos string
		want       approval.Channels
		warned     string
	}{
		{`{}`, "linux", approval.Channels{Client: true}, ""},
		{`{"approval": {"local": "tty"}}`, "linux", approval.Channels{Client: true, Terminal: true}, ""},
		{`{"approval": {"local": "tty"}}`, "windows", approval.Channels{Client: true}, "approval.local"},
		{`{"approval": {"from": ["terminal"]}}`, "linux", approval.Channels{Terminal: true}, ""},
		{`{"approval": {"from": ["terminal"]}}`, "windows", approval.Channels{}, "approval.from[0]"},
		{`{"approval": {"from": ["client", "console"]}}`, "linux", approval.Channels{Client: true, Console: true}, ""},
		{`{"approval": {"from": ["client", "console"]}}`, "darwin", approval.Channels{Client: true}, "approval.from[1]"},
		{`{"approval": {"from": ["client", "console"]}}`, "windows", approval.Channels{Client: true}, "approval.from[1]"},
		{`{"approval": {"from": ["client"], "local": "tty"}}`, "linux", approval.Channels{Client: true}, "approval.local"},
	} {
		f := file(t, tc.text)
		if got := mayAnswer(&f.Approval, tc.goos); *got != tc.want {
			t.Errorf("%s on %s: %+v, want %+v", tc.text, tc.goos, *got, tc.want)
		}
		warned := ""
		for _, p := range withoutEffect(f, tc.goos) {
			warned += p.Key
		}
		if warned != tc.warned {
			t.Errorf("%s on %s: warned of %q, want %q", tc.text, tc.goos, warned, tc.warned)
		}
	}
}

// A shared hub is wanted where there can be none: that is said, and nowhere else.
func TestAttachHasNoEffectElsewhere(t *testing.T) {
	t.Parallel()
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
