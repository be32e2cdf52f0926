package main

import (
	"encoding/json"
	"io"

	"github.com/rs/zerolog"

	text "mcphub/internal/printable"
)

// printable is a name, a path or a line as a page shows it: at most so many
// characters, what does not print escaped.
func printable(s string, most int) string { return text.Escape(s, most) }

// clean is a text of several lines without what would steer a terminal.
func clean(s string) string { return text.Clean(s) }

// cleanTo is w for pages that quote what others wrote; each Write is a text.
func cleanTo(w io.Writer) io.Writer { return text.Writer(w) }

// logTo is where a log is written to: its lines as they are, or made for people.
// What others wrote is clean in both.
func logTo(w io.Writer, people, noColor bool) io.Writer {
	if !people {
		return text.Writer(w) // JSON, in which control characters are escaped
	}
	return zerolog.ConsoleWriter{Out: w, NoColor: noColor, FormatPrepare: func(event map[string]any) error {
		for name, v := range event {
			event[name] = cleanValue(v)
		}
		return nil
	}}
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return clean(v)
	case nil, bool, json.Number:
		return v
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return json.RawMessage(clean(string(raw)))
}
