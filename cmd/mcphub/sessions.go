package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub"
	"mcphub/internal/printable"
)

func sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "End sessions of clients over HTTP",
	}
	cmd.AddCommand(sessionsEndCommand())
	return cmd
}

func sessionsEndCommand() *cobra.Command {
	var principal string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "end [ID]",
		Short: "End a session over HTTP, or all of a principal",
		Long: "Ends one session, by its id or the beginning of it, or every session of a principal, in the\n" +
			"hubs of this user. Calls under way end, and the record says who has ended them. A client with\n" +
			"a good token may begin another session: to keep it out take its token from hub.json. The\n" +
			"exit status is 5 if there is no such session, 1 if one goes on.",
		Example: "  mcphub sessions end 4f1c09aa\n  mcphub sessions end --principal alice",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := strings.Join(args, "")
			if (id == "") == (principal == "") {
				return exit.UsageErrorf("name one session by its id, or a principal by --principal; mcphub status shows both")
			}
			done, err := endSessions(cmd.Context(), id, principal)
			if err != nil {
				return err
			}
			if err := writeResult(cmd.OutOrStdout(), asJSON, done, done.showEnded); err != nil {
				return err
			}
			return done.outcomeError()
		},
	}
	cmd.Flags().StringVar(&principal, "principal", "", "every session of this one: the name of a token, NAME@ISSUER, local or nobody")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// endedReport is the result of sessions end; the shape of --json.
type endedReport struct {
	Hubs []endedHub `json:"hubs"` // those that had such a session
}

type endedHub struct {
	PID      int                `json:"pid"`
	Sessions []hub.EndedSession `json:"sessions"`
	Error    string             `json:"error,omitempty"`
}

func endSessions(ctx context.Context, id, principal string) (endedReport, error) {
	done := endedReport{Hubs: []endedHub{}}
	hubs, silent := askHubs(ctx, stderr, 0)
	for _, u := range silent {
		u.showHub(stderr)
	}
	if len(hubs) == 0 {
		return done, noHubError(0)
	}
	if id != "" {
		var err error
		if id, err = wholeSessionID(hubs, id); err != nil {
			return done, err
		}
	}
	for _, h := range hubs {
		found, err := h.EndSessions(ctx, id, principal)
		if err != nil {
			done.Hubs = append(done.Hubs, endedHub{h.report.PID, []hub.EndedSession{}, err.Error()})
		} else if len(found) > 0 {
			done.Hubs = append(done.Hubs, endedHub{PID: h.report.PID, Sessions: found})
		}
	}
	if len(done.Hubs) == 0 {
		return done, exit.NotFoundErrorf("no hub has a session of %q; mcphub status shows the sessions that there are", principal+id)
	}
	return done, nil
}

// wholeSessionID returns the id of the one session that begins like this.
func wholeSessionID(hubs []runningHub, begin string) (string, error) {
	var found []string
	for _, h := range hubs {
		for i := range h.report.Sessions {
			if id := h.report.Sessions[i].ID; strings.HasPrefix(id, begin) {
				found = append(found, id)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", exit.NotFoundErrorf("no hub has a session %q; mcphub status shows the sessions that there are", begin)
	case 1:
		return found[0], nil
	}
	return "", exit.UsageErrorf("%d sessions begin with %q: %s; give more of the id", len(found), begin, joinFirst(found))
}

func (r *endedReport) showEnded(w io.Writer) {
	for _, h := range r.Hubs {
		if h.Error != "" {
			layout.Printf(w, "hub %d: %.500s\n", h.PID, h.Error)
		}
		for _, s := range h.Sessions {
			what := "ended"
			if s.Kept != "" {
				what = "goes on: " + printable.Escape(s.Kept, 300)
			}
			layout.Printf(w, "hub %d: session %s of %.100s%s %s\n", h.PID, shortID(s.ID), s.Principal, layout.WithPrefix(", ", printable.Escape(s.Client, 60)), what)
		}
	}
}

func (r *endedReport) outcomeError() error {
	kept := 0
	for _, h := range r.Hubs {
		if h.Error != "" {
			return errors.New("not every hub has answered; call it again")
		}
		for _, s := range h.Sessions {
			if s.Kept != "" {
				kept++
			}
		}
	}
	if kept > 0 {
		return fmt.Errorf("%d sessions go on", kept)
	}
	return nil
}
