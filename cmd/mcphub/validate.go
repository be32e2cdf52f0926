package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/children"
	"mcphub/hub"
	"mcphub/internal/audit"
	"mcphub/validate"
)

// describe says in one line how a server is run.
func describe(s children.Spec) string {
	if u, err := url.Parse(s.URL); s.URL != "" && err == nil {
		u.User, u.RawQuery, u.Fragment = nil, "", "" // they may hold a secret
		return u.String()
	}
	return strings.Join(append([]string{s.Command}, audit.RedactArgs(s.Args, os.Environ())...), " ")
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

// showPolicy prints the rules in the order in which they are asked.
func showPolicy(w io.Writer, c *validate.Checker) {
	info, ok := c.Policy()
	if !ok {
		return
	}
	fmt.Fprintln(w, "policy")
	if info.Sandbox != "" {
		fmt.Fprintf(w, "  %-18s inside every boundary: %s\n", "sandbox", info.Sandbox)
	}
	for i := range info.Rules {
		r := hub.NewRuleReport(&info.Rules[i])
		fmt.Fprintf(w, "  %-18s %s %s%s%s\n", r.Name, r.Then, r.If, suffix(" -- ", r.Note), suffix("  ", r.At))
	}
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
				if doubt := c.Spec.Doubt(); doubt != "" {
					fmt.Fprintf(out, "%-20s warning: mcpServers.%s: %s\n", "", c.Spec.Name, doubt)
				}
			}
			for _, b := range cfg.Broken {
				fmt.Fprintf(out, "%-20s not served: %s\n", b.Name, b.Reason)
			}
			showPolicy(out, cfg.Checker)
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
