package layout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"mcphub/internal/printable"
)

// JSON writes a value as indented JSON, with every character that is not seen
// escaped.
func JSON(w io.Writer, v any) error { return writeJSON(w, v, "  ") }

// JSONLine is JSON on one line.
func JSONLine(w io.Writer, v any) error { return writeJSON(w, v, "") }

func writeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(indent == "") // lines are read by programs, as they were
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(printable.JSON(b.Bytes()))
	return err
}

// FormatDuration returns a duration in at most two units: 12s, 3m, 2h5m, 4d3h.
func FormatDuration(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// When returns the text if a condition holds, else nothing.
func When(holds bool, text string) string {
	if !holds {
		return ""
	}
	return text
}

// WithPrefix returns a text behind what introduces it, or nothing if there is none.
func WithPrefix(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}
