package setup

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/hub/approval"
)

// TestWhoMayAnswer: the client answers if hub.json is silent, and else what approval.from names. A file that names a terminal or the console is
// refused on a system that cannot tell callers apart. A setting without effect is warned of.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text, goos      string
		want            approval.Channels
		refused, warned string
	}{
		{`{}`, "linux", approval.Channels{Client: true}, "", ""},
		{`{}`, "windows", approval.Channels{Client: true}, "", ""},
		{`{"approval": {"local": "tty"}}`, "linux", approval.Channels{Client: true, Terminal: true}, "", ""},
		{`{"approval": {"local": "tty"}}`, "windows", approval.Channels{Client: true}, "1:15 approval.local", ""},
		{`{"approval": {"local": "tty"}}`, "darwin", approval.Channels{Client: true}, "1:15 approval.local", ""},
		{`{"approval": {"from": ["terminal"]}}`, "linux", approval.Channels{Terminal: true}, "", ""},
		{`{"approval": {"from": ["terminal"]}}`, "windows", approval.Channels{}, "1:24 approval.from[0]", ""},
		{`{"approval": {"from": ["terminal"]}}`, "darwin", approval.Channels{}, "1:24 approval.from[0]", ""},
		{`{"approval": {"from": ["terminal"]}}`, "freebsd", approval.Channels{}, "1:24 approval.from[0]", ""},
		{`{"approval": {"from": ["client", "console"]}}`, "linux", approval.Channels{Client: true, Console: true}, "", ""},
		{`{"approval": {"from": ["client", "console"]}}`, "darwin", approval.Channels{Client: true}, "1:34 approval.from[1]", ""},
		{`{"approval": {"from": ["client", "console"]}}`, "windows", approval.Channels{Client: true}, "1:34 approval.from[1]", ""},
		{`{"approval": {"from": ["client"], "local": "tty"}}`, "linux", approval.Channels{Client: true}, "", "approval.local"},
		{`{"approval": {"from": ["client"], "local": "tty"}}`, "windows", approval.Channels{Client: true}, "", "approval.local"},
	} {
		f := file(t, tc.text)
		if got := answerChannels(&f.Approval, tc.goos); *got != tc.want {
			t.Errorf("%s on %s: %+v, want %+v", tc.text, tc.goos, *got, tc.want)
		}
		refused, warned := "", ""
		for _, p := range cannotAnswer(f, tc.goos) {
			refused += fmt.Sprintf("%d:%d %s", p.Line, p.Col, p.Key)
			if p.Severity != config.SeverityError || !strings.Contains(p.Hint, "leave it out") {
				t.Errorf("%s on %s: %s", tc.text, tc.goos, p)
			}
		}
		for _, p := range withoutEffect(f, tc.goos) {
			warned += p.Key
		}
		if refused != tc.refused || warned != tc.warned {
			t.Errorf("%s on %s: refused %q, want %q; warned of %q, want %q", tc.text, tc.goos, refused, tc.refused, warned, tc.warned)
		}
	}
}

// A shared hub is wanted although there can be none here: that is said, and nowhere else.
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
