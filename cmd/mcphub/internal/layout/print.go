package layout

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"mcphub/internal/printable"
)

// Printf writes as fmt.Fprintf does, and makes of each argument a text on one line
// in which every character is seen. What is in the format is ours; an argument may
// come from a file or a server, and would otherwise make up lines or colours. %.200s
// writes at most 200 characters, as [printable.Escape] does.
func Printf(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(w, format, safeArgs(args)...)
	return err
}

// Sprintf returns what Printf would write.
func Sprintf(format string, args ...any) string { return fmt.Sprintf(format, safeArgs(args)...) }

// Println works like Printf for fmt.Fprintln.
func Println(w io.Writer, args ...any) error {
	_, err := fmt.Fprintln(w, safeArgs(args)...)
	return err
}

// Lines is a text of several lines, which Printf leaves so. Each line is made
// printable, and all but the first stand behind an indentation.
type Lines struct{ Text, Indent string }

// ErrorLines returns the texts of an error: one, or one for each of the ones
// that were joined. A line break in a name that an error holds makes no line.
func ErrorLines(err error) []string {
	text := err.Error()
	for in := err; in != nil; in = errors.Unwrap(in) {
		joined, ok := in.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		before, after, found := strings.Cut(text, in.Error())
		if !found {
			break
		}
		var lines []string
		for _, e := range joined.Unwrap() {
			lines = append(lines, ErrorLines(e)...)
		}
		if len(lines) == 0 || strings.Join(lines, "\n") != in.Error() {
			break // several errors in one sentence
		}
		lines[0] = before + lines[0]
		lines[len(lines)-1] += after
		return lines
	}
	return []string{text}
}

func safeArgs(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = argument{a}
	}
	return out
}

// argument is one argument of Printf.
type argument struct{ value any }

// Format implements fmt.Formatter.
func (a argument) Format(f fmt.State, verb rune) {
	if text, ok := a.value.(Lines); ok {
		for i, line := range strings.Split(text.Text, "\n") {
			if i > 0 {
				line = "\n" + text.Indent + printable.Line(strings.TrimSuffix(line, "\r"))
			} else {
				line = printable.Line(strings.TrimSuffix(line, "\r"))
			}
			_, _ = io.WriteString(f, line) // a fmt.State keeps its errors
		}
		return
	}
	if most, cut := f.Precision(); cut && verb == 's' {
		a.value = printable.Escape(fmt.Sprint(a.value), most)
		_, _ = fmt.Fprintf(f, strings.Replace(fmt.FormatString(f, verb), "."+strconv.Itoa(most), "", 1), a.value)
		return
	}
	_, _ = io.WriteString(f, printable.Line(fmt.Sprintf(fmt.FormatString(f, verb), a.value)))
}
