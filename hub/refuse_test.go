package hub

import (
	"fmt"
	"strings"
	"testing"
)

func TestShownEscapesAndClips(t *testing.T) {
	cases := []struct{ in, want string }{
		{"/plain/päth", "/plain/päth"},
		{"/a\nb\tc", `/a\nb\tc`},
		{"/a\x1b[31mred", `/a\u001b[31mred`},
		{"/a\u202egpj.exe", `/a\u202egpj.exe`},
		{"/a\u200bb", `/a\u200bb`},
		{"/a\u2028b", `/a\u2028b`},
		{"/a\xffb", `/a\xffb`},
		{strings.Repeat("é", 300), strings.Repeat("é", 200) + "…"},
	}
	for _, c := range cases {
		if got := shown(c.in, 200); got != c.want {
			t.Errorf("shown(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestRootListNamesTwentyAndCounts(t *testing.T) {
	if got := rootList([]string{"file:///home/user/project", "file:///home/user/documents"}); got != `["file:///home/user/project", "file:///home/user/documents"]` {
		t.Error(got)
	}
	if got := rootList(nil); got != "[]" {
		t.Error(got)
	}
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("file:///r%d", i))
	}
	got := rootList(many)
	if strings.Count(got, "file://") != 20 || !strings.HasSuffix(got, `"file:///r19", and 5 more]`) {
		t.Error(got)
	}
}

func TestStripEscapes(t *testing.T) {
	cases := []struct{ in, want string }{
		{"plain\ttext\nwith lines", "plain\ttext\nwith lines"},
		{"a\x1b[31mred\x1b[0m b", "ared b"},
		{"a\x1b]0;title\x07b", "ab"},
		{"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"},
		{"a\u009b31mb", "ab"},
		{"a\x1bPq...\x1b\\b", "ab"},
		{"bell\x07 del\x7f nul\x00", "bell del nul"},
		{"ends in \x1b", "ends in "},
		{"ends in \x1b[3", "ends in "},
	}
	for _, c := range cases {
		if got := stripEscapes(c.in); got != c.want {
			t.Errorf("stripEscapes(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
