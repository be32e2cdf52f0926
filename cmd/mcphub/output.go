package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/internal/printable"
)

// stderr is standard error for people.
var stderr = printable.Writer(running.Over(os.Stderr))

// writeResult prints the result of a command: as JSON, or for people by show.
func writeResult(out io.Writer, asJSON bool, result any, show func(io.Writer)) error {
	running.End()
	if asJSON {
		return layout.JSON(out, result)
	}
	show(out)
	return nil
}

// jsonFlag is the flag of every command whose result is one JSON object if that is asked for.
func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "one JSON object; its shape is stable")
}

// shortID returns the beginning of the id of a session, by which people tell it from others.
func shortID(id string) string { return printable.Escape(id[:min(8, len(id))], 8) }

func pluralOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxNamed is how many of many names few names.
const maxNamed = 5

// joinFirst names the first of many, and reports how many there are beside them.
func joinFirst(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
}

func numberOrDash(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func oneLine(text string) string { return printable.Clean(strings.Join(strings.Fields(text), " ")) }

// escapeText shows every character of a text that a person decides about, and all of it.
func escapeText(s string) string { return printable.Escape(s, len(s)) }

// asJSONLine returns a value of a file as JSON, whole.
func asJSONLine(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return escapeText(string(raw))
}

// refusedText returns how often the kernel has refused a server something, and what last.
func refusedText(n int, last string) string {
	return pluralOf(n, "time") + layout.WithPrefix(", last ", printable.Escape(last, 500))
}

// commandText returns a command line of mcphub, to be pasted into a shell. words are the command itself.
func commandText(words string, args ...string) string {
	return printable.CommandLine(printable.BuildCommand("mcphub "+words, nil, args...))
}

// kernelText returns how far the kernel holds a server, and what is lacking.
func kernelText(state string, lacks []string) string {
	text := printable.Escape(cmp.Or(state, "off"), 20)
	if len(lacks) > 0 {
		text += ": " + printable.Escape(strings.Join(lacks, "; "), 2000)
	}
	return text
}
