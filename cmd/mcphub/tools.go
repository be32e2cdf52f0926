package main

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/children"
	"mcphub/cmd/mcphub/internal/client"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub"
	"mcphub/internal/printable"
)

func toolsCommand() *cobra.Command {
	src := newSource()
	var logs logFlags
	f := callFlags{dry: true, lists: true}
	var asJSON, cost bool
	var find string
	var limit int
	cmd := &cobra.Command{
		Use:   "tools [SERVER]",
		Short: "List the tools of the servers, and what they cost a model",
		Long: "Lists what the servers offer, or the one that is named. Of a server that has run before it\n" +
			"shows what it offered then, and starts nothing; --anew starts it and asks. --cost adds\n" +
			"how many tokens the definition of each tool takes of a model's context, at four bytes a\n" +
			"token. --find shows the tools that fit some words instead, of all servers, the best fit\n" +
			"first, as find-tools of the hub answers a client. --toolset shows what a client of that\n" +
			"toolset sees.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("find") {
				if len(args) > 0 {
					return exit.UsageErrorf("--find looks at the tools of all servers; leave out %s", printable.Word(args[0]))
				}
				f.lists = false // it waits three times
				return f.runAsClient(cmd, src, &logs, func(ctx context.Context, c *client.Session) error {
					return findTools(ctx, cmd, c, find, limit, asJSON, f.timeout)
				})
			}
			if len(args) > 0 {
				useDisabled(src, cmd.ErrOrStderr(), args...)
				f.selectServers = theServer(args[0])
			}
			return f.runAsClient(cmd, src, &logs, func(ctx context.Context, c *client.Session) error {
				all, err := c.Offered(ctx)
				if err != nil {
					return err
				}
				found := toolsReport{all}
				found.keepOnly(args)
				if err := writeResult(cmd.OutOrStdout(), asJSON, found, func(out io.Writer) { found.showTools(out, cmd.ErrOrStderr(), cost) }); err != nil {
					return err
				}
				return found.lateError(f.timeout)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	flags := cmd.Flags()
	flags.BoolVar(&cost, "cost", false, "how many tokens each definition takes")
	flags.StringVar(&find, "find", "", "show the tools that fit these words, the best fit first")
	flags.IntVar(&limit, "limit", 5, "how many tools --find shows at most")
	cmd.MarkFlagsMutuallyExclusive("find", "cost")
	flags.BoolVar(&f.anew, "anew", false, "start the servers and ask them, also if it is known what they offered last")
	toolsetFlag(cmd, &f.toolsets, "show what this toolset of hub.json has; repeatable")
	f.registerFlags(cmd)
	configFlags(cmd, src)
	logs.registerFlags(cmd, "error")
	return cmd
}

// findTools prints what the hub's find-tools answers. It asks what is offered first: that waits for the servers.
func findTools(ctx context.Context, cmd *cobra.Command, c *client.Session, words string, limit int, asJSON bool, timeout time.Duration) error {
	all, err := c.Offered(ctx)
	if err != nil {
		return err
	}
	found, err := c.Find(ctx, words, limit)
	if err != nil {
		return err
	}
	if err := writeResult(cmd.OutOrStdout(), asJSON, found, func(out io.Writer) {
		toolsReport{all}.sayWrong(cmd.ErrOrStderr())
		if found.Note != "" {
			layout.Line(out, "", found.Note)
		}
		t := layout.NewTable(out)
		t.Head("TOOL", "SERVER", "DESCRIPTION")
		for _, tool := range found.Tools {
			t.Row(printable.Escape(tool.Name, 100), tool.ServerName, printable.Escape(tool.Description, describedMost))
		}
		_ = t.Flush()
	}); err != nil {
		return err
	}
	return toolsReport{all}.lateError(timeout)
}

// toolsReport is the result of tools; the shape of --json.
type toolsReport struct{ *client.Offered }

// theServer returns the one server of that name, which must be there.
func theServer(name string) func(cfg *hub.Config) ([]string, error) {
	return func(cfg *hub.Config) ([]string, error) {
		return []string{name}, checkServerName("the hub", name, hubServerNames(cfg))
	}
}

// keepOnly leaves the server that was named.
func (o toolsReport) keepOnly(args []string) {
	if len(args) == 0 {
		return
	}
	o.Servers = slices.DeleteFunc(o.Servers, func(s client.Server) bool { return s.Name != args[0] })
	o.Tokens = 0
	for i := range o.Servers {
		o.Tokens += o.Servers[i].Tokens
	}
}

// lateError returns the error if servers are still starting, so that their tools are missing.
func (o toolsReport) lateError(timeout time.Duration) error {
	var names []string
	for i := range o.Servers {
		if state := o.Servers[i].State; state == children.Starting.String() || state == children.Waiting.String() {
			names = append(names, printable.Escape(o.Servers[i].Name, 100))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return exit.Errorf(exit.Timeout, "without the tools of %s, still starting after %s; --timeout gives more", strings.Join(names, ", "), timeout)
}

// keptServers returns the servers that were not started: what they offer is what they offered last.
func (o toolsReport) keptServers() (names []string) {
	for i := range o.Servers {
		if s := &o.Servers[i]; s.State == children.Cold.String() && len(s.Tools) > 0 {
			names = append(names, printable.Escape(s.Name, 100))
		}
	}
	return names
}

const describedMost = 60

// sayWrong reports which servers offer nothing, and why.
func (o toolsReport) sayWrong(say io.Writer) {
	for i := range o.Servers {
		if s := &o.Servers[i]; s.Error != "" {
			layout.Printf(say, "%s: %s: %s\n", s.Name, s.State, s.Error)
		}
	}
}

// allOmissions is the command that shows all of them.
const allOmissions = "mcphub tools --json"

// sayOdd names what servers define and clients do not get, or get in another form.
func (o toolsReport) sayOdd(say io.Writer) {
	for i := range o.Servers {
		s := &o.Servers[i]
		showOmissions(s.NotOffered, allOmissions, func(text string) { layout.Printf(say, "%s: not offered: %s\n", s.Name, text) })
		showOmissions(s.Mended, allOmissions, func(text string) { layout.Printf(say, "%s: mended: %s\n", s.Name, text) })
	}
}

func (o toolsReport) showTools(w, say io.Writer, cost bool) {
	o.sayWrong(say)
	o.sayOdd(say)
	t := layout.NewTable(w)
	head := []string{"TOOL", "SERVER", "DESCRIPTION"}
	if cost {
		head = []string{"TOOL", "SERVER", "TOKENS", "DESCRIPTION"}
	}
	t.Head(head...)
	for i := range o.Servers {
		s := &o.Servers[i]
		for _, tool := range s.Tools {
			text, _, _ := strings.Cut(tool.Description, "\n")
			cells := []string{printable.Escape(tool.Name, 100), s.Name, printable.Escape(text, describedMost)}
			if cost {
				cells = slices.Insert(cells, 2, numberOrDash(tool.Tokens))
			}
			t.Row(cells...)
		}
	}
	if cost {
		t.Row("all", "", strconv.Itoa(o.Tokens), "")
	}
	_ = t.Flush()
	if kept := o.keptServers(); len(kept) > 0 {
		layout.Line(say, "", "as offered when last started, by "+strings.Join(kept, ", ")+"; --anew asks again")
	}
}
