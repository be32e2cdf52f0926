package layout

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"mcphub/internal/printable"
)

// A Screen shows one page after the other. On a terminal each takes the place of the one
// before it; elsewhere it is appended. It belongs to one goroutine.
type Screen struct {
	// Newest keeps the end of a page that is longer than the terminal; else its beginning
	// is kept.
	Newest bool

	w     io.Writer
	term  *os.File // nil: pages are appended
	shown []byte   // what the terminal shows
	open  bool
}

// NewScreen returns a Screen for a writer. It looks behind writers that have an Unwrap
// method for a terminal that can move its cursor.
func NewScreen(w io.Writer) *Screen {
	s := &Screen{w: w}
	if CanRedraw(w) {
		s.term = writerBehind(w).(*os.File)
	}
	return s
}

// CanRedraw reports whether a writer is a terminal that can move its cursor. It looks behind
// writers that have an Unwrap method.
func CanRedraw(w io.Writer) bool {
	f, ok := writerBehind(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// NewRoll returns a Screen on which every page is appended.
func NewRoll(w io.Writer) *Screen { return &Screen{w: w} }

// InPlace reports whether a page takes the place of the one before it.
func (s *Screen) InPlace() bool { return s.term != nil }

// Size returns how many columns and rows a terminal has: 80 and 24 if the terminal does not say.
func Size(terminal *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(terminal.Fd()))
	if err != nil || columns < 2 {
		columns = 80
	}
	if err != nil || rows < 2 {
		rows = 24
	}
	return columns, rows
}

// A canvas is a page for a terminal.
type canvas struct {
	bytes.Buffer
	term *os.File
}

// Show shows the page that write writes. What it writes is made printable, but for the
// colours of a [Table].
func (s *Screen) Show(write func(io.Writer)) error {
	var page bytes.Buffer
	if s.term == nil {
		write(&page)
		_, err := s.w.Write(page.Bytes())
		return err
	}
	c := &canvas{term: s.term}
	write(printable.Writer(c))
	_, height := Size(s.term)
	if !s.open {
		page.WriteString("\x1b[?1049h\x1b[?7l") // the other screen, without wrapping: xterm's control sequences
		s.open = true
	}
	page.WriteString("\x1b[H")
	for i, line := range s.fittingLines(c.Bytes(), height) {
		if i > 0 {
			page.WriteString("\r\n")
		}
		page.Write(line)
		page.WriteString("\x1b[K")
	}
	page.WriteString("\x1b[J")
	if bytes.Equal(page.Bytes(), s.shown) {
		return nil
	}
	s.shown = page.Bytes()
	_, err := s.term.Write(s.shown)
	return err
}

// fittingLines returns the lines of a page that a terminal of this height can show.
func (s *Screen) fittingLines(page []byte, height int) [][]byte {
	lines := bytes.Split(bytes.TrimSuffix(page, []byte("\n")), []byte("\n"))
	switch left := len(lines) - height; {
	case left <= 0:
		return lines
	case s.Newest:
		return lines[left:]
	default:
		return append(lines[:height-1:height-1], fmt.Appendf(nil, "… and %d lines more", left+1))
	}
}

// Close gives the terminal back as it was.
func (s *Screen) Close() error {
	if !s.open {
		return nil
	}
	s.open = false
	_, err := s.term.WriteString("\x1b[?7h\x1b[?1049l")
	return err
}
