package main

import (
	"encoding/json"
	"io"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/internal/exit"
	"mcphub/internal/printable"
	"mcphub/internal/stdio"
)

// logFlags are the flags of every command that runs the hub.
type logFlags struct{ level string }

func (f *logFlags) register(cmd *cobra.Command, level string) {
	cmd.Flags().StringVar(&f.level, "log-level", level, "trace, debug, info, warn, error or off; the log goes to standard error")
}

// logger writes to w: for people where w is a terminal, else JSON lines.
func (f *logFlags) logger(w io.Writer) (zerolog.Logger, error) {
	if f.level == "off" {
		return zerolog.Nop(), nil
	}
	level, err := zerolog.ParseLevel(f.level)
	if err != nil {
		return zerolog.Nop(), exit.Errorf(exit.Usage, "--log-level: %q is none of trace, debug, info, warn, error, off", f.level)
	}
	file, ok := w.(*os.File)
	return zerolog.New(logTo(w, ok && stdio.IsTerminal(file), os.Getenv("NO_COLOR") != "")).Level(level).With().Timestamp().Logger(), nil
}

// logTo is where a log is written to: its lines as they are, or made for people.
// What others wrote is clean in both.
func logTo(w io.Writer, people, noColor bool) io.Writer {
	if !people {
		return escapingJSON{w}
	}
	return zerolog.ConsoleWriter{Out: w, NoColor: noColor, FormatPrepare: func(event map[string]any) error {
		for name, v := range event {
			event[name] = cleanValue(v)
		}
		return nil
	}}
}

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
