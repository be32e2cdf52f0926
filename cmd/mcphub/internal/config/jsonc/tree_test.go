package jsonc

import (
	"strings"
	"testing"
)

// TestAt: columns are characters, wherever in the text, and also if all of a large text is one line.
func TestAt(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 3000 {
		b.WriteString([]string{"a", "é", "\n", "漢", "😀", "xyz"}[(i*i+i/7)%6])
		if i == 1500 {
			b.WriteString(strings.Repeat("né", 3000))
		}
	}
	text := b.String()
	s := NewSource("hub.json", []byte(text))
	line, col := 1, 1
	for i, r := range text {
		if gotLine, gotCol := s.At(i); gotLine != line || gotCol != col {
			t.Fatalf("the offset %d is at %d:%d, want %d:%d", i, gotLine, gotCol, line, col)
		}
		if col++; r == '\n' {
			line, col = line+1, 1
		}
	}
	if gotLine, gotCol := s.At(len(text) + 9); gotLine != line || gotCol != col {
		t.Errorf("the end is at %d:%d, want %d:%d", gotLine, gotCol, line, col)
	}
}
