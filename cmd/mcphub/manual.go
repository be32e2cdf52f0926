package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
)

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of hub.json",
		Long: "Prints the JSON Schema of hub.json, by which editors complete and check it: save it beside\n" +
			"the file, and name it there as \"$schema\".",
		Example: "  mcphub schema > hub.schema.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), config.Schema)
			return err
		},
	}
}

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "Print the manual page",
		Example: "  mcphub man | man -l -",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), manualPage(cmd.Root()))
			return err
		},
	}
}

// statuses are the exit statuses, as the manual and docs/commands.md have them.
var statuses = []struct {
	code int
	text string
}{
	{exit.OK, "done"},
	{exit.Failure, "failed"},
	{exit.Usage, "wrong usage"},
	{exit.Config, "hub.json cannot be used"},
	{exit.NotFound, "there is no such server, tool, login or session"},
	{exit.ToolError, "the tool answered with an error, the call was refused, or a definition has grown since hub.lock was written"},
	{exit.Timeout, "no answer in time"},
	{exit.NoHub, "no hub runs, or nothing waits for an answer"},
	{exit.Differs, "definitions read differently from hub.lock (`lock --check`, `plan`)"},
	{exit.Interrupt, "interrupted"},
}

// manualPage returns one page in roff for all commands.
func manualPage(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH MCPHUB 1 \"\" \"mcphub %s\"\n.SH NAME\nmcphub \\- %s\n.SH SYNOPSIS\n.B mcphub\n.I COMMAND\n[\\fIFLAGS\\fR]\n.SH DESCRIPTION\n%s\n.SH COMMANDS\n",
		escapeRoff(root.Version), escapeRoff(root.Short), escapeRoff(root.Long))
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if !sub.IsAvailableCommand() {
				continue
			}
			if sub.Runnable() {
				fmt.Fprintf(&b, ".SS %s\n%s\n", escapeRoff(sub.UseLine()), escapeRoff(cmp.Or(sub.Long, sub.Short)))
				sub.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
					if !f.Hidden && f.Name != "help" {
						fmt.Fprintf(&b, ".TP\n\\fB\\-\\-%s\\fR\n%s\n", escapeRoff(f.Name), escapeRoff(f.Usage))
					}
				})
			}
			walk(sub)
		}
	}
	walk(root)
	b.WriteString(".SH \"EXIT STATUS\"\n")
	for _, s := range statuses {
		fmt.Fprintf(&b, ".TP\n%d\n%s\n", s.code, s.text)
	}
	return b.String()
}

// escapeRoff makes plain text harmless in a manual page.
func escapeRoff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
