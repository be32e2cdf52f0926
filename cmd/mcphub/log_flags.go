package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/internal/printable"
	"mcphub/internal/stdio"
)

// logFlags are the flags of every command that runs the hub.
type logFlags struct {
	level string
	times bool // a line tells when it was written, and of which session: for what runs long
}

func (f *logFlags) registerFlags(cmd *cobra.Command, level string) {
	cmd.Flags().StringVar(&f.level, "log-level", level, "trace, debug, info, warn, error or off; the log goes to standard error")
}

// newLogger writes to w: for people where w is a terminal, else JSON lines.
func (f *logFlags) newLogger(w io.Writer) (zerolog.Logger, error) {
	if f.level == "off" {
		return zerolog.Nop(), nil
	}
	level, err := zerolog.ParseLevel(f.level)
	if err != nil {
		return zerolog.Nop(), exit.UsageErrorf("--log-level: %q is none of trace, debug, info, warn, error, off", f.level)
	}
	file, ok := w.(*os.File)
	people := ok && stdio.IsTerminal(file)
	if people {
		w = running.Over(file)
	}
	return zerolog.New(logTo(w, people, f.times)).Level(level).With().Timestamp().Logger(), nil
}

// ofSession returns the logger of a session that brings a --log-level of its own.
func (f *logFlags) ofSession(w io.Writer, level string) (zerolog.Logger, error) {
	own := *f
	if level != "" {
		own.level = level
	}
	return own.newLogger(w)
}

// logTo returns the writer of a log: its lines as they are, or made for
// people. What others wrote is clean in both.
func logTo(w io.Writer, people, times bool) io.Writer {
	if !people {
		return escapingJSON{w}
	}
	console := zerolog.ConsoleWriter{Out: w, NoColor: !layout.Coloured(w), FormatPrepare: func(event map[string]any) error {
		for name, v := range event {
			event[name] = cleanValue(v)
		}
		return nil
	}}
	if !times {
		console.NoColor = true
		console.PartsOrder = []string{zerolog.LevelFieldName, zerolog.MessageFieldName}
		console.FieldsExclude = []string{"session"}
		console.FormatLevel = func(level any) string { return "mcphub: " + levelNames[fmt.Sprint(level)] }
	}
	return console
}

// levelNames are the levels of a log as they stand in other messages.
var levelNames = map[string]string{"warn": "warning:", "error": "error:", "info": "note:"}

// escapingJSON writes lines of JSON, in which nothing stays unseen and nothing is lost.
type escapingJSON struct{ to io.Writer }

func (e escapingJSON) Write(b []byte) (int, error) {
	if _, err := e.to.Write(printable.JSON(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return printable.Clean(v)
	case nil, bool, json.Number:
		return v
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return json.RawMessage(printable.Clean(string(raw)))
}
