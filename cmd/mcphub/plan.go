package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/replay"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/internal/printable"
)

func planCommand() *cobra.Command {
	src := newSource()
	var asJSON, asSARIF bool
	var days int
	cmd := &cobra.Command{
		Use:   "plan [FILE]",
		Short: "Say what a changed hub.json would start, stop, restart, allow and refuse",
		Long: "Says what would happen if hub.json read as FILE does: which servers the hubs that run would\n" +
			"start, stop and restart, which tools would appear and vanish, and which calls of the last\n" +
			"days would be decided otherwise. Nothing is changed or started. Without FILE it looks at\n" +
			"hub.json itself, if the hubs have not read it again yet. If no hub runs, FILE is\n" +
			"compared with hub.json. The exit status is 3 if a reload would refuse the file.\n" +
			"With a hub.lock it compares what the servers offered last with that: the exit status is 6\n" +
			"if something has grown, and 10 if something only reads differently. It starts no server for\n" +
			"that; mcphub lock --check does.",
		Example: "  cp ~/.config/mcphub/hub.json new.json && $EDITOR new.json\n" +
			"  mcphub plan new.json\n" +
			"  mcphub plan --days 30 --json new.json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if days < 0 {
				return exit.UsageErrorf("--days: %d is less than none", days)
			}
			if asJSON && asSARIF {
				return errTwoForms
			}
			p := planWork{src: src, say: cmd.ErrOrStderr(), days: days, out: planReport{Plans: []hubPlan{}, Problems: []problem{}}}
			if len(args) == 1 {
				var err error
				if p.out.File, err = filepath.Abs(args[0]); err != nil {
					return err
				}
			}
			if err := p.buildHub(cmd.Context()); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asSARIF {
				if err := layout.JSON(out, sarifOf("hub.lock", p.out.changes())); err != nil {
					return err
				}
			} else if err := writeResult(out, asJSON, p.out, p.out.showPlan); err != nil {
				return err
			}
			return p.out.outcomeError()
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&asSARIF, "sarif", false, "print the differences from hub.lock as SARIF 2.1.0")
	cmd.Flags().IntVar(&days, "days", 7, "how many days of recorded calls are asked about; 0: none")
	configFlags(cmd, src)
	return cmd
}

// planReport is the result of plan; the shape of --json.
type planReport struct {
	Config   string        `json:"config"`
	File     string        `json:"file,omitempty"` // that would stand in its place; "": it itself
	Plans    []hubPlan     `json:"plans"`          // one for each hub that runs on it; one without a pid if none does
	Calls    *plannedCalls `json:"calls,omitempty"`
	Problems []problem     `json:"problems"`
}

type hubPlan struct {
	PID int `json:"pid,omitempty"`
	admin.Plan
	Error string `json:"error,omitempty"` // why this hub would keep what it has
}

type plannedCalls struct {
	Days    int             `json:"days"`
	Judged  int             `json:"judged"`
	Changed int             `json:"changed"`
	Unsure  int             `json:"unsure"`
	Groups  []replay.Change `json:"groups"`
}

type planWork struct {
	src  *setup.Source
	say  io.Writer
	days int
	out  planReport
}

func (p *planWork) buildHub(ctx context.Context) error {
	path, _, err := hubFile(p.src.Config)
	if err != nil {
		return err
	}
	p.out.Config = path
	then := *p.src
	then.Config, then.Text = path, p.out.File
	then.ShareAs()
	found, err := then.Check(p.say)
	if err != nil {
		return err
	}
	for _, problem := range found.Problems {
		p.out.Problems = append(p.out.Problems, toProblem(problem))
	}
	if !found.Whole {
		return nil // outcome says it
	}
	on, err := hubsOn(ctx, p.say, path)
	if err != nil && p.out.File == "" {
		return exit.Errorf(exit.NoHub, "%w. If none runs, name the changed file: mcphub plan FILE", err)
	}
	for _, h := range on {
		plan := hubPlan{PID: h.report.PID}
		if plan.Plan, err = h.Plan(ctx, p.out.File); err != nil {
			plan.Error = err.Error()
		}
		p.out.Plans = append(p.out.Plans, plan)
	}
	p.src.ShareAs()
	was, err := p.src.Read(io.Discard, zerolog.Nop())
	switch {
	case len(on) > 0 && (err != nil || p.out.File == "" || !allGoBy(on)):
		was = setup.Result{} // no one but the hubs knows what is in force
	case err != nil:
		return exit.ConfigErrorf("%s cannot be read, so there is nothing to compare with: %w", path, err)
	case len(on) == 0:
		h, err := hub.New(was.Hub)
		if err != nil {
			return err
		}
		plan := hubPlan{}
		if plan.Servers, err = h.PlanReload(found.Hub); err != nil {
			return err
		}
		p.out.Plans = append(p.out.Plans, plan)
	}
	return p.compareCalls(&was, &found.Result)
}

// allGoBy reports whether all hubs go by their hub.json as it reads now.
func allGoBy(on []runningHub) bool {
	return !slices.ContainsFunc(on, func(h runningHub) bool { return h.report.Config.Error != "" || h.report.Config.Waiting != "" })
}

// compareCalls asks about the recorded calls. If it is not known what is in force, what
// was recorded is compared with what would be.
func (p *planWork) compareCalls(was, then *setup.Result) error {
	if p.days == 0 || then.Audit == "" {
		return nil
	}
	now, _ := then.Hub.Checker.Policy()
	c := replay.Comparison{Now: &now, Served: then.Hub.Wanted()}
	if was.Hub.Checker != nil {
		info, _ := was.Hub.Checker.Policy()
		c.Was, c.WasServed = &info, was.Hub.Wanted()
	}
	done, err := c.Run(then.Audit, time.Now().AddDate(0, 0, -p.days))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	p.out.Calls = &plannedCalls{Days: p.days, Judged: done.Judged, Changed: done.Changed, Unsure: done.Unsure, Groups: append([]replay.Change{}, done.Groups...)}
	return nil
}

func (p *planReport) outcomeError() error {
	if len(p.Plans) == 0 {
		return exit.ConfigErrorf("a reload would refuse this; what is in force would stay")
	}
	for _, h := range p.Plans {
		if h.Error != "" {
			return exit.ConfigErrorf("hub %d would refuse this; what is in force there would stay", h.PID)
		}
	}
	grown, differ := 0, 0
	for _, s := range p.changes() {
		g, d := countChanges(s.changes)
		grown, differ = grown+g, differ+d
	}
	switch {
	case grown > 0:
		return grownError(grown)
	case differ > 0:
		return errDiffers
	}
	return nil
}

// changes returns how servers differ from hub.lock: each server once, as the first hub knows it that does.
func (p *planReport) changes() (all []serverChanges) {
	for _, h := range p.Plans {
		for i := range h.Servers {
			s := &h.Servers[i]
			if len(s.Changes) > 0 && !slices.ContainsFunc(all, func(known serverChanges) bool { return known.server == s.Server }) {
				all = append(all, serverChanges{s.Server, s.Changes})
			}
		}
	}
	return all
}

// maxShown is how many kinds of calls, and how many lines of tools, are shown to
// people.
const maxShown = 10

func (p *planReport) showPlan(w io.Writer) {
	for i, h := range p.Plans {
		if h.Error != "" {
			layout.Printf(w, "hub %d would refuse it:\n  %s\n", h.PID, layout.Lines{Text: h.Error, Indent: "  "})
			continue
		}
		if i > 0 && reflect.DeepEqual(h.Plan, p.Plans[i-1].Plan) {
			layout.Printf(w, "hub %d: the same\n", h.PID)
			continue
		}
		if h.PID != 0 {
			layout.Printf(w, "hub %d:\n", h.PID)
		}
		showPlan(w, h.Plan)
	}
	if c := p.Calls; c != nil {
		c.showCalls(w)
	}
	for _, problem := range p.Problems {
		if problem.Severity == config.SeverityNote.String() {
			continue
		}
		where := problem.File
		if problem.Line > 0 {
			where = fmt.Sprintf("%s:%d", where, problem.Line)
		}
		layout.Printf(w, "%s: %s: %s%s\n", problem.Severity, where, problem.Text, layout.WithPrefix("; ", problem.Hint)+layout.WithPrefix("; ", problem.Command))
	}
}

func showPlan(w io.Writer, plan admin.Plan) {
	// What a server does decides with which others it is told.
	type doing struct {
		change  string
		why     string
		unknown bool
		ends    bool
	}
	var order []doing
	names, ended := map[doing][]string{}, map[doing]int{}
	var appear, vanish [][]string
	for i := range plan.Servers {
		s := &plan.Servers[i]
		appear = append(appear, s.Appear)
		if !s.Unknown {
			vanish = append(vanish, s.Vanish)
		}
		if s.Change == hub.PlanStays {
			continue
		}
		d := doing{s.Change, s.Why, s.Unknown, s.Processes > 0}
		if names[d] == nil {
			order = append(order, d)
		}
		names[d] = append(names[d], s.Server)
		ended[d] += s.Processes
	}
	for _, d := range order {
		tools := "; its tools are known once it has started"
		if len(names[d]) > 1 {
			tools = "; their tools are known once they have started"
		}
		layout.Line(w, fmt.Sprintf("  %-9s ", d.change), joinFirst(names[d])+layout.WithPrefix(": ", d.why)+endingText(ended[d])+layout.When(d.unknown, tools))
	}
	if len(order) == 0 {
		layout.Println(w, "  no server starts, stops or restarts")
	}
	for i := range plan.Servers {
		s := &plan.Servers[i]
		for _, what := range s.Opens {
			layout.Printf(w, "  %.100s may %.300s, because its entry names it\n", s.Server, what)
		}
		for _, what := range s.Recorded {
			layout.Printf(w, "  %.100s %.500s (recorded)\n", s.Server, what)
		}
		if s.RecordedDiffers {
			layout.Printf(w, "  %.100s: its entry or its program is not what you confirmed that for: it holds until you answer the question of mcphub reload; %s records again\n",
				s.Server, printable.CommandLine(printable.BuildCommand("mcphub learn", []string{"--confirm"}, s.Server)))
		}
		if s.ShareWhy != "" && s.Change != hub.PlanStays {
			layout.Printf(w, "  %.100s has \"share\": \"%s\", because %.500s\n", s.Server, s.Share, s.ShareWhy)
		}
	}
	showTools(w, "+", appear)
	showTools(w, "-", vanish)
	showLocked(w, plan.Servers)
	for _, key := range plan.AfterRestart {
		layout.Printf(w, "  %s takes effect when the hub is started again\n", key)
	}
}

// showLocked writes how what servers offered last differs from hub.lock.
func showLocked(w io.Writer, servers []hub.PlannedServer) {
	var unknown []string
	for i := range servers {
		s := &servers[i]
		for _, c := range s.Changes {
			layout.Printf(w, "  since hub.lock, %.100s: %s\n", s.Server, changeText(c))
		}
		if s.NotCompared {
			unknown = append(unknown, s.Server)
		}
	}
	if len(unknown) > 0 {
		layout.Line(w, "  ", "not compared with hub.lock, because it is not known what they offer: "+joinFirst(unknown)+"; mcphub lock --check starts them")
	}
}

// endingText returns how many processes end.
func endingText(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 process ends once its calls have"
	}
	return fmt.Sprintf("; %d processes end once their calls have", n)
}

// showTools writes the tools of each server: one to a line, or the first few on one
// if they are many.
func showTools(w io.Writer, sign string, servers [][]string) {
	all := slices.Concat(servers...)
	if len(all) <= maxShown {
		for _, name := range all {
			layout.Printf(w, "  %s tool %.200s\n", sign, name)
		}
		return
	}
	lines, left := 0, 0
	for _, tools := range servers {
		switch {
		case len(tools) == 0:
			continue
		case lines == maxShown:
			left += len(tools)
			continue
		}
		lines++
		names := make([]string, len(tools))
		for i, name := range tools {
			names[i] = printable.Escape(name, 200)
		}
		layout.Line(w, "  "+sign+" ", pluralOf(len(tools), "tool")+": "+joinFirst(names))
	}
	if left > 0 {
		layout.Printf(w, "  %s %s more; --json names all\n", sign, pluralOf(left, "tool"))
	}
}

func (c *plannedCalls) showCalls(w io.Writer) {
	layout.Printf(w, "  of %s in %s, %d would be decided otherwise%s\n", pluralOf(c.Judged, "recorded call"), pluralOf(c.Days, "day"), c.Changed,
		layout.When(c.Unsure > 0, fmt.Sprintf(", %d may be", c.Unsure)))
	for i := range c.Groups[:min(len(c.Groups), maxShown)] {
		g := &c.Groups[i]
		layout.Printf(w, "    %6d  %.100s %.100s: %s becomes %s (%.100s)%s%s\n", g.Count, g.Server, g.Tool, g.Was, g.Now, g.By,
			layout.WithPrefix(", such as ", printable.Escape(strings.Join(g.Example.Paths, " "), 200)), layout.WithPrefix("; not known: ", printable.Escape(g.Unsure, 200)))
	}
	if more := len(c.Groups) - maxShown; more > 0 {
		layout.Printf(w, "    and %s more; --json shows all\n", pluralOf(more, "kind"))
	}
}
