package main

import (
	"os"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/files"
	"mcphub/internal/stdio"
)

func filesCommand() *cobra.Command {
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "files [DIR...]",
		Short: "Run the embedded filesystem server over standard input and output",
		Long: "Runs the filesystem server that mcphub brings along, as an MCP server of its own. It\n" +
			"serves the roots of its client, or the directories given here if the client has\n" +
			"none, and opens every file below one of them and nowhere else.",
		RunE: func(cmd *cobra.Command, dirs []string) error {
			log, err := logs.newLogger(os.Stderr)
			if err != nil {
				return err
			}
			srv := files.New(files.Options{Dirs: dirs, Version: buildVersion(), Log: log})
			in, out, restore := stdio.Open()
			defer restore()
			if err := srv.Serve(cmd.Context(), in, out); err != nil && cmd.Context().Err() == nil {
				return err
			}
			return nil
		},
	}
	logs.registerFlags(cmd, "warn")
	return cmd
}
