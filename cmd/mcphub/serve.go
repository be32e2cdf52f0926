package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/attach"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/service"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/internal/stdio"
)

func serveCommand() *cobra.Command {
	src := newSource()
	logs := logFlags{times: true}
	var address string
	var shared, startShared bool // see package attach
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP over standard input and output, or over HTTP",
		Long: "Serves one MCP client over standard input and output. Register this command in an\n" +
			"IDE or agent. Without a configuration the embedded filesystem server is offered.\n" +
			"With --http it serves any number of clients over Streamable HTTP at /mcp instead, and at\n" +
			"/mcp/NAME those that are to see a toolset of hub.json alone. --toolset is for all clients.\n" +
			"Each shows a token: one of http.tokens or http.issuers in hub.json, else the one that\n" +
			"the hub makes; `mcphub install CLIENT --http` gives that to a client.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if src.NoAuth && address == "" {
				return exit.UsageErrorf("--no-auth is about HTTP: give --http as well")
			}
			if startShared {
				return sayStarted(cmd, src)
			}
			log, err := logs.newLogger(os.Stderr)
			if err != nil {
				return err
			}
			if shared {
				return service.ServeShared(cmd.Context(), src, log, logs.ofSession)
			}
			if address == "" && stdio.IsTerminal(os.Stdin) {
				layout.Println(stderr, "mcphub: this speaks MCP on standard input and output, and waits for a client, which starts it by itself; mcphub install CLIENT registers it there. Ctrl-C ends it.")
			}
			return service.Serve(cmd.Context(), src, log, address)
		},
	}
	configFlags(cmd, src)
	toolsetFlag(cmd, &src.Toolsets, "show clients this toolset of hub.json alone; repeatable, and several are shown together")
	logs.registerFlags(cmd, "info")
	flags := cmd.Flags()
	flags.StringVar(&address, "http", "", "serve Streamable HTTP on this address (host:port; config: that of http.listen in hub.json)")
	flags.BoolVar(&src.NoAuth, "no-auth", false, "with --http: nobody needs a token, so every user and process of this machine can call, servers of hubs as well")
	flags.BoolVar(&shared, strings.TrimPrefix(attach.SharedFlag, "--"), false, "")
	flags.BoolVar(&startShared, strings.TrimPrefix(attach.StartFlag, "--"), false, "")
	for _, name := range []string{attach.SharedFlag, attach.StartFlag} {
		if err := cmd.Flags().MarkHidden(strings.TrimPrefix(name, "--")); err != nil {
			panic(err) // it was defined above
		}
	}
	return cmd
}

// sayStarted starts the hub that clients share. It says on standard output why there is none, and nothing where none
// is wanted: the one who has started this waits for that.
func sayStarted(cmd *cobra.Command, src *setup.Source) error {
	started, err := service.StartShared(cmd.Context(), src)
	if err != nil {
		layout.Println(cmd.OutOrStdout(), err.Error())
	}
	if err != nil || !started {
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}
