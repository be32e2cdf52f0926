package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/internal/printable"
)

// Severity describes what a Problem costs. The zero value is the worst.
type Severity uint8

const (
	// SeverityError fails the server that it lies in or, outside of
	// mcpServers, the whole file.
	SeverityError Severity = iota
	// SeverityWarning is very likely a mistake; the file loads all the same.
	SeverityWarning
	// SeverityNote is a key that works in other clients and has no effect here.
	SeverityNote
)

// String returns "error", "warning" or "note".
func (s Severity) String() string {
	switch s {
	case SeverityWarning:
		return "warning"
	case SeverityNote:
		return "note"
	}
	return "error"
}

// Problem is one thing wrong in a configuration file.
type Problem struct {
	File     string   // as it was named to Load or Parse
	Line     int      // from 1; 0 if the problem has no place in the file
	Col      int      // from 1, in characters; a byte order mark counts for nothing
	Key      string   // the key path in hub.json's own spelling, `mcpServers.git.args[0]`; may be empty
	Severity Severity // what it costs
	Text     string   // what is wrong; never holds the value of a variable
	Hint     string   // what to do; may be empty
	Command  []string // a program and its arguments that do it; may be empty
}

// String formats the problem on one line, as compilers do:
//
//	hub.json:12:7: error: mcpServers.git.args: found a string, want a list; write ["..."]
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		b.WriteByte(':')
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Col)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(p.Severity.String())
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key)
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	if p.Hint != "" {
		b.WriteString("; ")
		b.WriteString(p.Hint)
	}
	if len(p.Command) > 0 {
		b.WriteString("; ")
		b.WriteString(printable.CommandLine(p.Command))
	}
	return printable.Line(b.String()) // a key or a path of the file may hold anything
}

// Error makes a Problem usable as an error; it is String.
func (p Problem) Error() string { return p.String() }

// ByPlace orders problems as they stand in the file.
func ByPlace(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
}

// problemAt makes the Problem of a place in a text.
func problemAt(src *jsonc.Source, off int, text, hint string) *Problem {
	p := &Problem{Text: text, Hint: hint}
	p.File, p.Line, p.Col = src.Locate(off)
	return p
}

// LoadError reports that nothing usable came out of a file.
type LoadError struct {
	Path   string    // as it was named
	Errors []Problem // what is wrong in it; empty when it could not be read
	Err    error     // why it could not be read; nil when it could
	// Partial is what could be made of the file, for finding out what else is wrong
	// with it, and for nothing else: what is wrong has its zero value. May be nil.
	Partial *File
}

// Error gives the first error in full and the number of the others.
func (e *LoadError) Error() string {
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return fmt.Sprintf("configuration %s: there is no such file; `mcphub init` makes hub.json, --config names another", e.Path)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("configuration %s: this user may not read it; chmod u+r %s", e.Path, e.Path)
	case e.Err != nil:
		return fmt.Sprintf("configuration %s: %v", e.Path, e.Err)
	case len(e.Errors) == 0:
		return fmt.Sprintf("configuration %s is unusable", e.Path)
	case len(e.Errors) == 1:
		return e.Errors[0].String()
	}
	return fmt.Sprintf("%s (and %d more)", e.Errors[0], len(e.Errors)-1)
}

// Unwrap returns the reading error, so that errors.Is(err, fs.ErrNotExist) holds.
func (e *LoadError) Unwrap() error { return e.Err }

// ErrorLines returns all that is wrong, a line each.
func ErrorLines(err error) []string {
	var le *LoadError
	if !errors.As(err, &le) || len(le.Errors) == 0 {
		return []string{err.Error()}
	}
	var lines []string
	for _, p := range le.Errors {
		lines = append(lines, p.String())
	}
	return lines
}
