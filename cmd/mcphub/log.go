package main

import (
	"io"
	"os"

	"mcphub/internal/exit"
	"mcphub/internal/stdio"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
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
