package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/children"
	"mcphub/hub"
)

// describe says in one line how a server is run.
func describe(s children.Spec) string {
	return strings.TrimSpace(s.Command + " " + strings.Join(s.Args, " "))
}

// describeAudit says in one line where decisions would be recorded.
func describeAudit(a hub.Audit, dir string) string {
	switch {
	case dir == "":
		return "audit: off, decisions are not recorded"
	case a.Required:
		return "audit: " + dir + "; what cannot be recorded there is denied"
	}
	return "audit: " + dir
}

func validateCommand() *cobra.Command {
	var src sources
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check hub.json and say what is wrong with it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			cfg, err := src.hubConfig(os.Stderr, zerolog.Nop())
			if err != nil {
				return err
			}
			if src.found == "" {
				fmt.Fprintln(out, "No configuration: the embedded filesystem server would be served.")
			}
			for _, c := range cfg.Children {
				fmt.Fprintf(out, "%-20s %s\n", c.Spec.Name, describe(c.Spec))
			}
			for _, b := range cfg.Broken {
				fmt.Fprintf(out, "%-20s not served: %s\n", b.Name, b.Reason)
			}
			fmt.Fprintln(out, describeAudit(cfg.Audit, src.audit))
			if len(cfg.Broken) > 0 {
				return exitf(exitConfig, "%d of %d servers cannot be served", len(cfg.Broken), len(cfg.Broken)+len(cfg.Children))
			}
			return nil
		},
	}
	src.register(cmd)
	return cmd
}
