package layout

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Coloured reports whether what is written shows in colour: on a terminal, unless
// NO_COLOR is set or TERM is dumb. It looks behind writers that have an Unwrap method.
func Coloured(w io.Writer) bool {
	f, ok := terminalOf(w)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// terminalOf returns the file that a writer writes to in the end, or its page is for.
func terminalOf(w io.Writer) (f *os.File, ok bool) {
	switch to := writerBehind(w).(type) {
	case *os.File:
		return to, true
	case *canvas:
		return to.term, true
	}
	return nil, false
}

// writerBehind returns the writer that others pass on to.
func writerBehind(w io.Writer) io.Writer {
	for {
		in, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = in.Unwrap()
	}
}

// Paint returns a text in a colour, which is a parameter of ECMA-48's SGR: "32", "1;31".
func Paint(colour, text string) string {
	if colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// ofState returns the colour of a state, as it stands below the head STATE of a table.
func ofState(state string) string {
	state, _, _ = strings.Cut(state, ",")
	switch state {
	case "ready":
		return "32"
	case "backing off", "circuit open", "hung", "failed", "unusable", "not configured":
		return "31"
	case "configured", "waiting", "starting", "draining":
		return "33"
	case "cold", "stopped", "disabled":
		return "2"
	}
	return ""
}
