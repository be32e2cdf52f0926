package layout

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"mcphub/internal/printable"
)

const (
	gap          = 2  // between columns
	leastWrapped = 24 // narrower than that, a wrapped column is no help
)

// Table collects rows and writes them by Flush, in columns two spaces apart. On
// a terminal that is too narrow the last column is wrapped below itself. If
// that does not help, each row becomes a block of lines, one for each cell.
// Nothing is cut off. Elsewhere there is no limit, because programs read it
// line by line. What stands below the head STATE has a colour on a terminal.
type Table struct {
	w      io.Writer
	room   int // of the terminal; 0: no limit
	colour bool
	head   []string
	rows   [][]string
}

// NewTable returns an empty table for a writer.
func NewTable(w io.Writer) *Table { return &Table{w: w, room: Columns(w), colour: Coloured(w)} }

// Columns returns how wide the terminal behind a writer is: 0 if there is
// none, or it does not say. It looks behind writers that have an Unwrap
// method.
func Columns(w io.Writer) int {
	f, ok := terminalOf(w)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// Head names the columns.
func (t *Table) Head(cells ...string) { t.head = cells }

// Row adds a row. A cell is one line, whatever is in it.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = printable.Line(cell)
	}
	t.rows = append(t.rows, row)
}

// Flush writes the table.
func (t *Table) Flush() error {
	all := t.rows
	if t.head != nil {
		all = append([][]string{t.head}, t.rows...)
	}
	var widths []int
	for _, row := range all {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	for len(widths) > 0 && widths[len(widths)-1] == 0 {
		widths = widths[:len(widths)-1] // a column that no one has
	}
	if len(widths) == 0 {
		return nil
	}
	last := len(widths) - 1
	before := gap * last
	for _, n := range widths[:last] {
		before += n
	}
	var b strings.Builder
	switch left := t.room - before; {
	case t.room == 0 || left >= widths[last]:
		t.writeColumns(&b, all, widths, 0)
	case left >= leastWrapped && left >= longestWord(all, last):
		t.writeColumns(&b, all, widths, left)
	default:
		t.writeBlocks(&b)
	}
	w := t.w
	if t.colour {
		w = writerBehind(w) // what is before it takes colours out; each cell is printable already
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// paintCell returns a cell of a column as it is shown.
func (t *Table) paintCell(column int, cell string) string {
	if !t.colour || column >= len(t.head) || t.head[column] != "STATE" {
		return cell
	}
	return Paint(ofState(cell), cell)
}

// writeColumns writes one line for each row, and more if the last column is
// wrapped at a width.
func (t *Table) writeColumns(b *strings.Builder, rows [][]string, widths []int, wrapAt int) {
	last := len(widths) - 1
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row[:min(len(row), len(widths))] {
			if i > 0 {
				line.WriteString(strings.Repeat(" ", gap))
			}
			if i < last {
				line.WriteString(t.paintCell(i, cell) + strings.Repeat(" ", widths[i]-Width(cell)))
				continue
			}
			indent := 0
			for _, n := range widths[:last] {
				indent += n + gap
			}
			line.WriteString(t.paintCell(i, hangText(cell, indent, wrapAt)))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// writeBlocks writes each row as its first cell and, indented below it, the others
// with the names of their columns.
func (t *Table) writeBlocks(b *strings.Builder) {
	names := 0
	for _, name := range t.head[min(1, len(t.head)):] {
		names = max(names, Width(name))
	}
	indent := gap
	if names > 0 {
		indent += names + gap
	}
	for _, row := range t.rows {
		for i, cell := range row {
			switch {
			case i == 0:
				b.WriteString(cell + "\n")
			case cell != "":
				name := ""
				if i < len(t.head) {
					name = t.head[i]
				}
				b.WriteString(strings.Repeat(" ", gap) + name + strings.Repeat(" ", indent-gap-Width(name)) + t.paintCell(i, hangText(cell, indent, max(1, t.room-indent))) + "\n")
			}
		}
	}
}

// Line writes a line that starts with before. On a terminal that is too narrow the text
// behind it is wrapped below itself.
func Line(w io.Writer, before, text string) {
	at, indent := Columns(w), Width(before)
	if at > 0 {
		at = max(1, at-indent)
	}
	_, _ = io.WriteString(w, before+hangText(printable.Line(text), indent, at)+"\n") // as any write for people: no one to tell
}

// hangText wraps a text between words. A word that is too long stays whole. Further
// lines are indented. At a width of 0 it is left as it is.
func hangText(text string, indent, at int) string {
	if at == 0 || Width(text) <= at {
		return text
	}
	var b strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		n := Width(word)
		switch {
		case used == 0:
		case used+1+n > at:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

func longestWord(rows [][]string, column int) int {
	longest := 0
	for _, row := range rows {
		if column < len(row) {
			for _, word := range strings.Fields(row[column]) {
				longest = max(longest, Width(word))
			}
		}
	}
	return longest
}

// Cut returns a text that takes at most so many columns. If the text is longer, an ellipsis
// stands instead of its end.
func Cut(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	end, used := 0, 0
	for i, r := range text {
		if used += Width(string(r)); used >= columns {
			break
		}
		end = i + len(string(r))
	}
	return text[:end] + "…"
}

// Width returns how many columns of a terminal a text takes.
func Width(text string) int {
	n := 0
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case r < utf8.RuneSelf:
			n++
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
