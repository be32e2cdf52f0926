package console

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub/status"
	"mcphub/internal/printable"
)

// maxText is how many characters of one text a page shows.
const maxText = 4000

// templateFunctions returns what templates may call.
func templateFunctions() template.FuncMap {
	return template.FuncMap{
		"ago": func(at any) string {
			switch t := at.(type) {
			case time.Time:
				return layout.FormatDuration(time.Since(t)) + " ago"
			case *time.Time:
				if t != nil {
					return layout.FormatDuration(time.Since(*t)) + " ago"
				}
			}
			return "-"
		},
		"clock":  func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") },
		"clip":   clipText,
		"join":   func(all []string) string { return clipText(strings.Join(all, " ")) },
		"short":  func(id string) string { return id[:min(8, len(id))] },
		"memory": memoryText,
		"took":   func(us int64) string { return (time.Duration(us) * time.Microsecond).String() },
		"adding": addingOf,
		"lines":  func(all []string) string { return strings.Join(all, "\n") },
		"kernel": func(c *status.Child) string { return clipText(kernelText(c)) },
		"views":  func() []view { return views },
	}
}

type view struct{ Path, Name string }

var views = []view{{"/now", "Now"}, {"/servers", "Servers"}, {"/decisions", "Decisions"}, {"/questions", "Questions"}, {"/configuration", "Configuration"}, {"/record", "Record"}}

func clipText(s string) string {
	if cut := printable.Clip(s, maxText); len(cut) < len(s) {
		return cut + " …"
	}
	return s
}

func memoryText(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))
}

// inert is the last writer of every page: it shows each character that does not print, leaves no
// mark or changes direction as an escape of Go. Markup is html/template's to escape.
type inert struct {
	w    io.Writer
	buf  bytes.Buffer
	rest []byte // of a character that has not come whole
}

const inertBlock = 32 << 10

func (o *inert) Write(p []byte) (int, error) {
	b := append(o.rest, p...)
	o.rest = nil
	for len(b) > 0 {
		if !utf8.FullRune(b) {
			o.rest = bytes.Clone(b)
			break
		}
		r, size := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&o.buf, `\x%02x`, b[0])
		case r != '\n' && r != '\t' && printable.Hidden(r):
			o.buf.WriteString(printable.Rune(r))
		default:
			o.buf.Write(b[:size])
		}
		b = b[size:]
	}
	if o.buf.Len() < inertBlock {
		return len(p), nil
	}
	return len(p), o.writeOut()
}

func (o *inert) writeOut() error {
	_, err := o.w.Write(o.buf.Bytes())
	o.buf.Reset()
	return err
}

// flushRest writes what is left.
func (o *inert) flushRest() error {
	for _, b := range o.rest {
		fmt.Fprintf(&o.buf, `\x%02x`, b)
	}
	o.rest = nil
	return o.writeOut()
}
