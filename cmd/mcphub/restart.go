package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub"
)

func restartCommand() *cobra.Command {
	var config string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "restart NAME",
		Short: "Start a server again in the hubs that run",
		Long: "Stops a server in every hub that runs on this hub.json, and starts it again if it ran.\n" +
			"Calls under way end in the old process, those that come go to the new one. Failures before\n" +
			"count no longer. The exit status is 9 if no hub runs on the file, 5 if none of them\n" +
			"serves the server, 1 if it does not start.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, _, err := hubFile(config)
			if err != nil {
				return err
			}
			done, err := restartServer(cmd.Context(), cmd.ErrOrStderr(), path, args[0])
			if err != nil {
				return err
			}
			if err := writeResult(cmd.OutOrStdout(), asJSON, done, done.showRestart); err != nil {
				return err
			}
			return done.outcomeError()
		},
	}
	cmd.Flags().StringVarP(&config, "config", "c", "", "hub.json that the hubs run on (default: $MCPHUB_CONFIG, then mcphub/hub.json in the user's configuration folder)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// restartReport is the result of restart; the shape of --json.
type restartReport struct {
	Config string       `json:"config"`
	Server string       `json:"server"`
	Hubs   []restartHub `json:"hubs"`
}

type restartHub struct {
	PID int `json:"pid"`
	hub.RestartReport
	Sessions []namedSession `json:"sessions,omitempty"` // shown instead of those of RestartReport
}

func restartServer(ctx context.Context, say io.Writer, path, name string) (restartReport, error) {
	done := restartReport{Config: path, Server: name, Hubs: []restartHub{}}
	on, err := hubsOn(ctx, say, path)
	if err != nil {
		return done, err
	}
	var served []string
	for _, h := range on {
		for _, c := range h.report.Children {
			served = append(served, c.Server)
		}
	}
	if !slices.Contains(served, name) {
		for _, s := range on[0].report.NotServed {
			if s.Server == name {
				return done, exit.NotFoundErrorf("%s is not served: %s; mcphub validate says what to do", name, s.Reason)
			}
		}
		return done, checkServerName("the hub on "+path, name, served)
	}
	for _, h := range on {
		r := restartHub{PID: h.report.PID}
		if r.RestartReport, err = h.Restart(ctx, name); err != nil {
			r.Error = err.Error()
		}
		clients := clientsOf(&h.report)
		for _, id := range r.RestartReport.Sessions {
			r.Sessions = append(r.Sessions, namedSession{id, clients[id]})
		}
		done.Hubs = append(done.Hubs, r)
	}
	return done, nil
}

func (r *restartReport) showRestart(w io.Writer) {
	for _, h := range r.Hubs {
		switch {
		case h.Error != "":
			layout.Printf(w, "hub %d: %s is not ready: %s\n", h.PID, r.Server, h.Error)
		case h.Processes == 0:
			layout.Printf(w, "hub %d: %s did not run; the next call starts it\n", h.PID, r.Server)
		case h.Processes == 1:
			layout.Printf(w, "hub %d: %s restarted\n", h.PID, r.Server)
		default:
			layout.Printf(w, "hub %d: %s restarted, %d processes\n", h.PID, r.Server, h.Processes)
		}
		for _, s := range h.Sessions {
			layout.Printf(w, "  of session %s%s\n", shortID(s.ID), layout.WithPrefix(", ", clientText(s.ClientInfo)))
		}
	}
}

func (r *restartReport) outcomeError() error {
	failed := 0
	for _, h := range r.Hubs {
		if h.Error != "" {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s is not ready in %d of %d hubs; %s shows what it wrote", r.Server, failed, len(r.Hubs), commandText("logs", r.Server))
	}
	return nil
}
