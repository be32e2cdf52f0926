package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

func auditShowCommand(from *auditSource) *cobra.Command {
	var f auditFilter
	var asJSON, follow bool
	var last int
	cmd := &cobra.Command{
		Use:     "show",
		Short:   "Show recorded decisions and what became of them",
		Example: "  mcphub audit show --denied --since 1d\n  mcphub audit show --child files --json\n  mcphub audit show -f --denied",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last <= 0 && follow {
				last = watchedFirst
			} else if last <= 0 {
				last = math.MaxInt
			}
			if s := layout.NewScreen(cmd.OutOrStdout()); follow && !asJSON && s.InPlace() {
				return from.watchDecisions(cmd.Context(), &f, s, last)
			}
			return from.tailDecisions(cmd.Context(), &f, &auditPage{w: cmd.OutOrStdout(), json: asJSON}, last, follow)
		},
	}
	f.registerFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "one JSON object a line")
	flags.BoolVarP(&follow, "follow", "f", false, "go on with what is written, until interrupted: in place on a terminal, else an outcome comes on a line of its own")
	flags.IntVarP(&last, "last", "n", 0, "only so many, the newest; with -f 100 by default")
	return cmd
}

func auditTailCommand(from *auditSource) *cobra.Command {
	var f auditFilter
	var asJSON, follow bool
	var last int
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Show the newest decisions, and with -f those that come",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return from.tailDecisions(cmd.Context(), &f, &auditPage{w: cmd.OutOrStdout(), json: asJSON}, last, follow)
		},
	}
	f.registerFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "one JSON object a line")
	flags.BoolVarP(&follow, "follow", "f", false, "go on with what is written, until interrupted; an outcome comes on a line of its own")
	flags.IntVarP(&last, "last", "n", 10, "how many of those that there are")
	return cmd
}

// tailDecisions shows the last decisions, and with follow the ones that come.
func (a *auditSource) tailDecisions(ctx context.Context, f *auditFilter, out *auditPage, last int, follow bool) error {
	pick, dir, err := a.pickDecisions(f)
	if err != nil {
		return err
	}
	var wrong error
	keep := func(err error) { wrong = errors.Join(wrong, err) }
	if last == math.MaxInt && !follow {
		return auditReadError(dir, printDecisions(out.w, dir, pick, func(w io.Writer) func(*trail.Decision) error {
			out.w = w
			return out.printDecision
		}))
	}
	start := func() {
		all, err := trail.Last(ctx, dir, pick, last)
		if err != nil && (!follow || !errors.Is(err, fs.ErrNotExist)) {
			keep(auditReadError(dir, err))
			return
		}
		for i := range all {
			keep(out.printDecision(&all[i]))
		}
	}
	if !follow {
		start()
		return wrong
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	shown, by := map[string]map[audit.CallPosition]trail.Event{}, followedClients{}
	err = trail.Follow(ctx, dir, start, func(e trail.Event) {
		by.note(ctx, dir, &e)
		for _, one := range e.Each() {
			if !pick.Matches(&one) {
				continue
			}
			if shown[e.LogID] == nil {
				shown[e.LogID] = map[audit.CallPosition]trail.Event{}
			}
			if one.Decision == "allow" {
				shown[e.LogID][one.Position()] = one
			}
			keep(out.printDecision(&trail.Decision{Event: one}))
		}
		for _, r := range e.AllOutcomes() {
			if of, ok := shown[e.LogID][r.DecisionPosition()]; ok {
				delete(shown[e.LogID], r.DecisionPosition())
				keep(out.printDecision(&trail.Decision{Event: of, Outcome: &r}))
			}
		}
		if wrong != nil {
			stop() // the one who read this is gone
		}
	})
	return errors.Join(wrong, err)
}

// followedClients are the clients of the sessions whose lines are followed.
type followedClients trail.Clients

// note gives a line the client of its session, which it looks up in the record with the first line of a session.
func (c followedClients) note(ctx context.Context, dir string, e *trail.Event) {
	trail.Clients(c).Note(e)
	if e.Session == "" || e.Kind == audit.KindSession {
		return
	}
	known, ok := c[e.Session]
	if !ok {
		if last, err := trail.Last(ctx, dir, trail.Filter{Session: e.Session}, 1); err == nil && len(last) > 0 {
			known = last[0].ClientInfo
		}
		if len(c) >= maxFollowed {
			clear(c)
		}
		c[e.Session] = known
	}
	if known != (audit.ClientInfo{}) {
		e.ClientInfo = known
	}
}

// maxFollowed bounds how many clients are remembered.
const maxFollowed = 10_000
