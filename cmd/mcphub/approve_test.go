package main

import (
	"strings"
	"testing"
)

// A person sees all that they are asked about: nothing is cut off its end, and no line of it is made by what it holds.
func TestAQuestionIsShownWhole(t *testing.T) {
	t.Parallel()
	text := "Allow?\n\nIts arguments are: {" + strings.Repeat("x", 5000) + "; rm -rf /}\x1b[2J\r"
	got := printableLines(text)
	if !strings.Contains(got, `; rm -rf /}\x1b[2J\r`) || strings.Contains(got, "…") || strings.Count(got, "\n") != 2 {
		t.Errorf("shown as %q", got[len(got)-60:])
	}
}

// The code alone allows what opens the least; anything wider has to be named, and what is no choice stays none.
func TestWhatIsTypedForADecision(t *testing.T) {
	t.Parallel()
	both := []string{"file", "directory"}
	for _, tc := range []struct {
		line    string
		choices []string
		code    string
		choice  string
	}{
		{"abcd efgh", both, "ABCDEFGH", "file"},
		{" ABCDEFGH  ", both, "ABCDEFGH", "file"},
		{"abcd efgh file", both, "ABCDEFGH", "file"},
		{"abcd efgh Directory", both, "ABCDEFGH", "directory"},
		{"abcdefghdirectory", both, "ABCDEFGH", "directory"},
		{"abcd efgh", []string{"directory"}, "ABCDEFGH", "directory"},
		{"abcd efgh file", []string{"directory"}, "ABCDEFGH", "FILE"},
		{"abcd efgh allow", both, "ABCDEFGH", "ALLOW"},
		{"abcd efgh", nil, "ABCDEFGH", ""},
		{"directory", both, "DIRECTOR", "Y"},
		{"file", both, "FILE", "file"},
		{"n", both, "", "deny"},
		{"No", both, "", "deny"},
	} {
		if code, choice := readDecision(tc.line, 8, tc.choices); code != tc.code || choice != tc.choice {
			t.Errorf("%q with %v: %q, %q, want %q, %q", tc.line, tc.choices, code, choice, tc.code, tc.choice)
		}
	}
	if got, want := waysToAllow("ABCDEFGH", both), "ABCD EFGH to allow the file, ABCD EFGH directory to allow the directory"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
