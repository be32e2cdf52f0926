package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/internal/exit"
	"mcphub/internal/printable"
	"mcphub/internal/setup"
)

func reloadCommand() *cobra.Command {
	var pid int
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
			return reloadHubs(cmd.Context(), cmd.OutOrStdout(), setup.SocketFolders(os.Getenv), pid)
		},
	}
	cmd.Flags().IntVar(&pid, "pid", 0, "only the hub with this process id")
	return cmd
}

// reloadHubs asks every hub, or the one with this process id.
func reloadHubs(ctx context.Context, out io.Writer, folders []string, pid int) error {
	hubs := findHubs(os.Stderr, folders)
	asked, refused, silent := 0, 0, 0
	for _, h := range hubs {
		r, err := h.Status(ctx)
		if err != nil {
			fmt.Fprintf(out, "no answer from %s: %s\n", printable.Escape(h.Socket, 200), printable.Escape(err.Error(), 300))
			silent++
			continue
		}
		if pid != 0 && r.PID != pid {
			continue
		}
		asked++
		if err := h.Reload(ctx, true); err != nil {
			refused++
			fmt.Fprintf(out, "hub %d: the former configuration stays in force:\n", r.PID)
			for line := range strings.SplitSeq(err.Error(), "\n") {
				fmt.Fprintf(out, "  %s\n", printable.Escape(line, 500))
			}
			continue
		}
		fmt.Fprintf(out, "hub %d: %s read again\n", r.PID, printable.Escape(configName(r.Config.Path), 200))
	}
	switch {
	case refused > 0:
		return &exit.Error{Code: exit.Config}
	case silent > 0:
		return exit.Errorf(exit.Failure, "%d of %d hubs did not answer", silent, silent+asked)
	case asked == 0:
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
