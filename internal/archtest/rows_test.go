package archtest

import (
	"regexp"
	"strings"
	"testing"
)

// rowNumber is the number of a row of docs/conformance.md and its forerunners. C0 and C1 are sets of control characters.
var rowNumber = regexp.MustCompile(`\b(?:[RVPHKUOAW][1-9][0-9]?|C(?:[2-9]|[1-9][0-9]))\b`)

// withRows are packages whose comments still have some.
var withRows []string

// TestNoRowNumbers holds that a comment says the thing itself: a reader has no table at hand. Tests may name rows.
func TestNoRowNumbers(t *testing.T) {
	t.Parallel()
	read := 0
	eachSource(t, func(s source) {
		if strings.HasSuffix(s.path, "_test.go") || hasAnyPrefix(s.path, withRows) {
			return
		}
		read++
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				if row := rowNumber.FindString(c.Text); row != "" {
					t.Errorf("%s: the comment names %s: say what it stands for", s.set.Position(c.Pos()), row)
				}
			}
		}
	})
	if read < 100 {
		t.Errorf("%d files were read", read)
	}
	for text, want := range map[string]string{"what it may read (R12, V8).": "R12", "so C4 has it": "C4", "a C0 control character": "", "SHA256, UTF8, HTTP2": ""} {
		if got := rowNumber.FindString(text); got != want {
			t.Errorf("the control: %q in %q, want %q", got, text, want)
		}
	}
}

func hasAnyPrefix(path string, any []string) bool {
	for _, p := range any {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}
