package main

import (
	"cmp"
	"io"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/internal/printable"
)

func listCommand() *cobra.Command {
	src := newSource()
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls", "servers"},
		Short:   "List the servers of hub.json, and their states if a hub runs",
		Long: "Lists the servers of hub.json with their kind. If a hub runs on that file, it says in\n" +
			"which state each is and how many tools it offers; mcphub status says more. Nothing is\n" +
			"started.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := src.Load(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			found := listServers(file, reportsOn(cmd.Context(), file.Path))
			return writeResult(cmd.OutOrStdout(), asJSON, found, found.showList)
		},
	}
	jsonFlag(cmd, &asJSON)
	configFlags(cmd, src)
	return cmd
}

// listReport is the result of list; the shape of --json.
type listReport struct {
	Config  string         `json:"config"` // "" if there is none
	Hubs    int            `json:"hubs"`   // that run on this file
	Servers []listedServer `json:"servers"`
}

type listedServer struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // builtin, command or url
	Disabled bool   `json:"disabled"`
	State    string `json:"state,omitempty"` // disabled, unusable, or what the hub says; "" if no hub runs
	Tools    int    `json:"tools"`           // offered when a hub listed them last
	Error    string `json:"error,omitempty"`
}

func listServers(file *config.File, hubs []admin.Report) listReport {
	out := listReport{Config: file.Path, Hubs: len(hubs), Servers: []listedServer{}}
	for i := range file.Servers {
		s := &file.Servers[i]
		l := listedServer{Name: s.Name, Kind: "command", Disabled: s.Disabled}
		switch {
		case s.Builtin != "":
			l.Kind = "builtin"
		case s.URL != "":
			l.Kind = "url"
		}
		switch {
		case s.Disabled:
			l.State = "disabled"
		case s.Err != nil:
			l.State, l.Error = "unusable", s.Err.Text
		default:
			l.askHubs(hubs)
		}
		out.Servers = append(out.Servers, l)
	}
	return out
}

// askHubs takes over how a server is. One instance that is ready counts for more than
// others that are not.
func (l *listedServer) askHubs(hubs []admin.Report) {
	for _, r := range hubs {
		for _, c := range r.Children {
			if c.Server != l.Name {
				continue
			}
			l.Tools = max(l.Tools, c.Tools)
			if l.State != "ready" {
				l.State, l.Error = c.State, c.Error
			}
		}
	}
}

func (l listReport) showList(w io.Writer) {
	if len(l.Servers) == 0 {
		layout.Println(w, "no servers; mcphub add NAME -- COMMAND adds one")
		return
	}
	t := layout.NewTable(w)
	t.Head("SERVER", "KIND", "STATE", "TOOLS", "")
	for _, s := range l.Servers {
		t.Row(s.Name, s.Kind, cmp.Or(s.State, "-"), numberOrDash(s.Tools), printable.Escape(s.Error, 200))
	}
	_ = t.Flush()
}
