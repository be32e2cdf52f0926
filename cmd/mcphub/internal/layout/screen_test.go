package layout

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// What is longer than the terminal is cut at the place that the page names, and never in silence.
func TestPagesFitTheTerminal(t *testing.T) {
	t.Parallel()
	page := []byte("1\n2\n3\n4\n5\n")
	for _, tc := range []struct {
		newest bool
		height int
		want   string
	}{
		{false, 5, "1,2,3,4,5"}, {false, 9, "1,2,3,4,5"}, {false, 3, "1,2,… and 3 lines more"}, {false, 2, "1,… and 4 lines more"},
		{true, 5, "1,2,3,4,5"}, {true, 3, "3,4,5"},
	} {
		s := &Screen{Newest: tc.newest}
		if got := string(bytes.Join(s.fittingLines(page, tc.height), []byte(","))); got != tc.want {
			t.Errorf("%v, %d lines: %q, want %q", tc.newest, tc.height, got, tc.want)
		}
	}
}

// If there is no terminal a page is what it would be without a Screen, and no sequence for a terminal comes.
func TestPagesWithoutATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := NewScreen(&out)
	for i := range 2 {
		if err := s.Show(func(w io.Writer) {
			table := NewTable(w)
			table.Head("STATE")
			table.Row(fmt.Sprintf("ready %d", i))
			_ = table.Flush()
		}); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil || s.InPlace() {
		t.Errorf("in place %v, %v", s.InPlace(), err)
	}
	if got := out.String(); got != "STATE\nready 0\nSTATE\nready 1\n" || strings.Contains(got, "\x1b") {
		t.Errorf("shown %q", got)
	}
}
