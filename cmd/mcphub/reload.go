package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/internal/exit"
	"mcphub/internal/layout"
	"mcphub/internal/printable"
	"mcphub/internal/setup"
)

func reloadCommand() *cobra.Command {
	var pid int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have the hubs that run read their hub.json again",
		Long: "Has every hub that this user runs read its hub.json again and says what came of it. A\n" +
			"hub does so by itself when the file changes, but not where the file lies inside a\n" +
			"boundary, so that a tool could have written it: look at it first. Where a file cannot\n" +
			"be used the former configuration stays in force and the exit status is 3; it is 9\n" +
			"where no hub runs. SIGHUP does the same for one hub.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			done := reloadHubs(cmd.Context(), setup.SocketFolders(os.Getenv), pid)
			out := cmd.OutOrStdout()
			if asJSON {
				if err := layout.JSON(out, done); err != nil {
					return exit.Failed(err)
				}
			} else {
				done.show(out)
			}
			return done.outcome(pid)
		},
	}
	cmd.Flags().IntVar(&pid, "pid", 0, "only the hub with this process id")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object; its shape is stable")
	return cmd
}

// reloads is the result of reload; the shape of --json.
type reloads struct {
	Hubs        []reloadedHub `json:"hubs"`
	Unreachable []unreachable `json:"unreachable"`
}

type reloadedHub struct {
	PID    int    `json:"pid"`
	Config string `json:"config"`          // "" where there is no hub.json
	Error  string `json:"error,omitempty"` // why the former configuration stays in force
}

// reloadHubs asks every hub, or the one with this process id.
func reloadHubs(ctx context.Context, folders []string, pid int) reloads {
	done := reloads{Hubs: []reloadedHub{}, Unreachable: []unreachable{}}
	for _, h := range findHubs(os.Stderr, folders) {
		r, err := h.Status(ctx)
		if err != nil {
			done.Unreachable = append(done.Unreachable, unreachable{h.Socket, err.Error()})
			continue
		}
		if pid != 0 && r.PID != pid {
			continue
		}
		one := reloadedHub{PID: r.PID, Config: r.Config.Path}
		if err := h.Reload(ctx, true); err != nil {
			one.Error = err.Error()
		}
		done.Hubs = append(done.Hubs, one)
	}
	return done
}

func (d reloads) show(out io.Writer) {
	for _, u := range d.Unreachable {
		fmt.Fprintf(out, "no answer from %s: %s\n", printable.Escape(u.Socket, 200), printable.Escape(u.Error, 300))
	}
	for _, h := range d.Hubs {
		if h.Error == "" {
			fmt.Fprintf(out, "hub %d: %s read again\n", h.PID, printable.Escape(configName(h.Config), 200))
			continue
		}
		fmt.Fprintf(out, "hub %d: the former configuration stays in force:\n", h.PID)
		for line := range strings.SplitSeq(h.Error, "\n") {
			fmt.Fprintf(out, "  %s\n", printable.Escape(line, 500))
		}
	}
}

func (d reloads) outcome(pid int) error {
	silent := len(d.Unreachable)
	switch {
	case slices.ContainsFunc(d.Hubs, func(h reloadedHub) bool { return h.Error != "" }):
		return &exit.Error{Code: exit.Config}
	case silent > 0:
		return exit.Errorf(exit.Failure, "%d of %d hubs did not answer", silent, silent+len(d.Hubs))
	case len(d.Hubs) == 0:
		return noHub(pid)
	}
	return nil
}

func configName(path string) string {
	if path == "" {
		return "hub.json"
	}
	return path
}
