package main

import (
	"strings"
	"testing"
)

// A person sees all that they are asked about: nothing is cut off its end, and no line of it is made by what it holds.
func TestAQuestionIsShownWhole(t *testing.T) {
	text := "Allow?\n\nIts arguments are: {" + strings.Repeat("x", 5000) + "; rm -rf /}\x1b[2J\r"
	got := printableLines(text)
	if !strings.Contains(got, `; rm -rf /}\x1b[2J\r`) || strings.Contains(got, "…") || strings.Count(got, "\n") != 2 {
		t.Errorf("shown as %q", got[len(got)-60:])
	}
}
