package main

import (
	"os"

	"github.com/spf13/cobra"

	"mcphub/internal/service"
)

func serveCommand() *cobra.Command {
	src := newSource()
	var logs logFlags
	var address string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP over standard input and output, or over HTTP",
		Long: "Serves one MCP client over standard input and output. Register this command in an\n" +
			"IDE or agent. Without a configuration the embedded filesystem server is offered.\n" +
			"With --http it serves any number of clients over Streamable HTTP at /mcp instead.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logs.logger(os.Stderr)
			if err != nil {
				return err
			}
			return service.Serve(cmd.Context(), src, log, address)
		},
	}
	configFlags(cmd, src)
	logs.register(cmd, "info")
	cmd.Flags().StringVar(&address, "http", "", "serve Streamable HTTP on this address (host:port; config: that of http.listen in hub.json)")
	return cmd
}
