package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/internal/client"
	"mcphub/internal/config"
	"mcphub/internal/exit"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/layout"
	"mcphub/internal/printable"
)

func toolsCommand() *cobra.Command {
	src := newSource()
	var logs logFlags
	f := callFlags{dry: true}
	var asJSON, cost bool
	cmd := &cobra.Command{
		Use:   "tools [SERVER]",
		Short: "List the tools of the servers, and what they cost a model",
		Long: "Starts the hub as call does and lists what its servers offer. --cost adds how many tokens\n" +
			"the definition of each tool takes of a model's context, at four bytes a token.",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeServers,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, src, &logs, func(ctx context.Context, c *client.Client) error {
				found, err := askTools(ctx, c)
				if err != nil {
					return err
				}
				if err := found.only(args); err != nil {
					return err
				}
				if asJSON {
					return exit.Failed(layout.JSON(cmd.OutOrStdout(), found))
				}
				found.show(cmd.OutOrStdout(), cmd.ErrOrStderr(), cost)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object; its shape is stable")
	cmd.Flags().BoolVar(&cost, "cost", false, "how many tokens each definition takes")
	f.register(cmd, 2*time.Minute)
	configFlags(cmd, src)
	logs.register(cmd, "error")
	return cmd
}

// offered is the result of tools; the shape of --json.
type offered struct {
	Servers []offeringServer `json:"servers"`
	Tokens  int              `json:"tokens"` // of all
}

type offeringServer struct {
	Name   string        `json:"name"`
	State  string        `json:"state"`
	Error  string        `json:"error,omitempty"`
	Tools  []offeredTool `json:"tools"`
	Tokens int           `json:"tokens"`
}

type offeredTool struct {
	Name        string `json:"name"`     // as clients call it
	ToolName    string `json:"toolName"` // as its server calls it
	Description string `json:"description,omitempty"`
	Tokens      int    `json:"tokens"` // 0 where the definition is not listed to clients
}

// askTools asks for the definitions first: that waits for the servers.
func askTools(ctx context.Context, c *client.Client) (*offered, error) {
	list, err := c.Request(ctx, "tools/list")
	if err != nil {
		return nil, err
	}
	tokens := map[string]int{}
	if err := jsonrpc.Elements(jsonrpc.Get(list, "tools"), func(def []byte) bool {
		name, _ := jsonrpc.String(jsonrpc.Get(def, "name"))
		tokens[name] = (len(def) + config.TokenBytes - 1) / config.TokenBytes
		return true
	}); err != nil {
		return nil, err
	}
	result, err := c.CallTool(ctx, "list-tools", []byte(`{}`))
	if err != nil {
		return nil, err
	}
	out := &offered{Servers: []offeringServer{}}
	if err := json.Unmarshal(jsonrpc.Get(result, "structuredContent"), out); err != nil {
		return nil, exit.Errorf(exit.Failure, "the hub's list of servers: %w", err)
	}
	for i := range out.Servers {
		s := &out.Servers[i]
		for j := range s.Tools {
			s.Tools[j].Tokens = tokens[s.Tools[j].Name]
			s.Tokens += s.Tools[j].Tokens
		}
		out.Tokens += s.Tokens
	}
	return out, nil
}

// only leaves the server that was named.
func (o *offered) only(args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for i := range o.Servers {
		names = append(names, o.Servers[i].Name)
	}
	if err := isAmong("the hub", args[0], names); err != nil {
		return err
	}
	o.Servers = slices.DeleteFunc(o.Servers, func(s offeringServer) bool { return s.Name != args[0] })
	o.Tokens = o.Servers[0].Tokens
	return nil
}

const describedMost = 60

func (o *offered) show(w, say io.Writer, cost bool) {
	t := layout.NewTable(w)
	head := []string{"TOOL", "SERVER", "DESCRIPTION"}
	if cost {
		head = []string{"TOOL", "SERVER", "TOKENS", "DESCRIPTION"}
	}
	t.Head(head...)
	for i := range o.Servers {
		s := &o.Servers[i]
		if s.Error != "" {
			layout.Printf(say, "%s: %s: %s\n", s.Name, s.State, s.Error)
		}
		for _, tool := range s.Tools {
			text, _, _ := strings.Cut(tool.Description, "\n")
			cells := []string{printable.Escape(tool.Name, 100), s.Name, printable.Escape(text, describedMost)}
			if cost {
				cells = slices.Insert(cells, 2, number(tool.Tokens))
			}
			t.Row(cells...)
		}
	}
	if cost {
		t.Row("all", "", strconv.Itoa(o.Tokens), "")
	}
	_ = t.Flush()
}
