package main

import (
	"context"
	"io"
	"slices"

	webconsole "mcphub/cmd/mcphub/internal/console"
)

// This file lets a person allow a path on the page, as `mcphub allow` does.

// allowanceOf returns what a command of mcphub opens; nil: it is another command than allow, or one that a
// page cannot show as it is.
func allowanceOf(run []string) *webconsole.Allowance {
	if len(run) == 0 || run[0] != "allow" {
		return nil
	}
	words := slices.DeleteFunc(slices.Clone(run[1:]), func(word string) bool { return word == "--write" || word == "--" })
	if len(words) != 2 {
		return nil
	}
	a := webconsole.Allowance{Server: words[0], Path: words[1], Write: slices.Contains(run, "--write")}
	if !isShowable(webconsole.Edit{Allowance: a}) {
		return nil
	}
	return &a
}

// planAllow plans what `mcphub allow` would do, by hub.json as it reads now.
func (c *consoleSource) planAllow(ctx context.Context, e webconsole.Edit) (*planned, error) {
	w := &allowWork{entryWork: entryWork{config: c.src.Config, ctx: ctx, out: io.Discard, say: io.Discard}, write: e.Write, calls: e.Calls, callsSaid: e.Calls}
	p, err := w.planChange("allowed", e.Server, []string{e.Path}, w.allowTarget)
	if err != nil {
		return nil, err
	}
	p.report.DryRun = true
	out := &planned{path: w.path, before: p.before, after: w.text, notes: p.reportLines(), put: func() ([]string, error) {
		p.report.DryRun = false
		return p.reportLines(), w.putPlan(p)
	}}
	for _, t := range p.targets {
		out.done = append(append(out.done, t.Path), t.Done...)
		if slices.Contains(t.Done, "sandbox."+t.Access) {
			out.texts = append(out.texts, w.writtenPath(t.Path))
		}
		if slices.Contains(t.Done, doneRule) {
			out.texts = append(out.texts, w.writtenPath(t.ruleDir()))
		}
	}
	if t := p.targets[0]; !e.Calls && !slices.Contains(t.Done, doneRule) && w.lastRefusal(t) != nil {
		e.Calls = true
		if with, err := c.planAllow(ctx, e); err == nil && with.hasChanged() && slices.Contains(with.done, doneRule) {
			out.folder = t.ruleDir()
		}
	}
	return out, nil
}

// reportLines returns what the command prints of each path and why, and what hub.json is warned of then.
func (p *allowPlan) reportLines() (lines []string) {
	for i := range p.report.Paths {
		t := &p.report.Paths[i]
		lines = append(append(lines, t.Path+": "+t.describePath(&p.report)), t.Notes...)
	}
	return append(lines, p.report.Warnings...)
}
