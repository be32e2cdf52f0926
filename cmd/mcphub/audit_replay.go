package main

import (
	"io"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/replay"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/validate/policy"
)

func auditReplayCommand(from *auditSource) *cobra.Command {
	var f auditFilter
	var policy string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay --policy FILE",
		Short: "Say which recorded decisions another policy would turn",
		Long: "Asks the rules of another hub.json about every recorded decision: by its server, its tool,\n" +
			"and where its paths led. What a record does not hold is said and not guessed: roots that\n" +
			"are others by now, links that lead elsewhere, what a human would answer, paths that were\n" +
			"left out. What was refused before it was judged is passed over, and what is protected\n" +
			"stays denied.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			other := newSource()
			other.Config = policy
			made, err := other.Read(stderr, zerolog.Nop())
			if err != nil {
				return err
			}
			pick, dir, err := from.pickDecisions(&f)
			if err != nil {
				return err
			}
			info, _ := made.Hub.Checker.Policy()
			r := replayed{p: &info, json: asJSON}
			err = printDecisions(cmd.OutOrStdout(), dir, pick, func(w io.Writer) func(*trail.Decision) error {
				r.w = w
				return r.replayDecision
			})
			if err == nil && !asJSON {
				err = layout.Printf(cmd.OutOrStdout(), "%d decisions: %d would be turned, %d are as they were for all that the record tells\n", r.asked, r.changed, r.unsure)
			}
			return auditReadError(dir, err)
		},
	}
	f.registerFlags(cmd)
	cmd.Flags().StringVar(&policy, "policy", "", "hub.json with the other policy")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each decision that would be turned, or may be")
	_ = cmd.MarkFlagRequired("policy") // its only error is a flag that there is not
	return cmd
}

// replayReport is one decision that another policy would not make; its shape is
// stable.
type replayReport struct {
	auditRow
	Now  string   `json:"now"`              // allow, deny or escalate
	By   string   `json:"nowBy"`            // the rule that decides, or inside, boundary, no path
	Open []string `json:"unsure,omitempty"` // what the record does not tell
}

// replayed counts decisions that were judged again, and prints the ones that would be others.
type replayed struct {
	p                      *policy.Info
	json                   bool
	w                      io.Writer
	asked, changed, unsure int
}

func (r *replayed) replayDecision(d *trail.Decision) error {
	if d.Kind != audit.KindDecision || d.Decision == "refuse" {
		return nil
	}
	r.asked++
	now := replay.Judge(r.p, d)
	switch {
	case now.Decision.String() != d.Decision:
		r.changed++
	case len(now.Unknowns) > 0:
		r.unsure++
	default:
		return nil
	}
	if r.json {
		return layout.JSONLine(r.w, replayReport{rowOf(d), now.Decision.String(), now.By, now.Unknowns})
	}
	return printTurned(r.w, d, &now)
}

// printTurned prints a decision and what would become of it.
func printTurned(w io.Writer, d *trail.Decision, now *replay.Verdict) error {
	if err := (&auditPage{w: w}).printDecision(d); err != nil {
		return err
	}
	verb := "would be"
	if now.Decision.String() == d.Decision {
		verb = "stays"
	}
	return layout.Printf(w, "    => %s %s (%.100s)%s\n", verb, now.Decision, now.By, layout.WithPrefix("; not known: ", strings.Join(now.Unknowns, "; ")))
}
