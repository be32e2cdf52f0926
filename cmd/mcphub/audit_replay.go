package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/internal/audit"
	"mcphub/internal/exit"
	"mcphub/internal/layout"
	"mcphub/internal/printable"
	"mcphub/validate"
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
			made, err := other.Read(os.Stderr, zerolog.Nop())
			if err != nil {
				return err
			}
			all, err := from.decisions(&f)
			if err != nil {
				return err
			}
			info, _ := made.Hub.Checker.Policy()
			return replay(cmd.OutOrStdout(), &info, all, asJSON)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&policy, "policy", "", "hub.json with the other policy")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each decision that would be turned, or may be")
	_ = cmd.MarkFlagRequired("policy") // its only error is a flag that there is not
	return cmd
}

// turned is one decision that another policy would not make; its shape is
// stable.
type turned struct {
	auditRow
	Now  string   `json:"now"`              // allow, deny or escalate
	By   string   `json:"nowBy"`            // the rule that decides, or inside, boundary, no path
	Open []string `json:"unsure,omitempty"` // what the record does not tell
}

func replay(w io.Writer, p *validate.PolicyInfo, all []audit.Decision, asJSON bool) error {
	asked, changed, unsure := 0, 0, 0
	for i := range all {
		d := &all[i]
		if d.Kind != audit.KindDecision || d.Decision == "refuse" {
			continue
		}
		asked++
		now := judgeRecord(p, d)
		if now.decision.String() == d.Decision && len(now.open) == 0 {
			continue
		}
		if now.decision.String() != d.Decision {
			changed++
		} else {
			unsure++
		}
		var err error
		if asJSON {
			err = json.NewEncoder(w).Encode(turned{rowOf(d), now.decision.String(), now.by, now.open})
		} else {
			err = now.print(w, d)
		}
		if err != nil {
			return exit.Errorf(exit.Failure, "%w", err)
		}
	}
	if !asJSON {
		fmt.Fprintf(w, "%d decisions: %d would be turned, %d are as they were for all that the record tells\n", asked, changed, unsure)
	}
	return nil
}

// A rejudgement is what another policy makes of a recorded decision.
type rejudgement struct {
	decision validate.Decision
	by       string
	open     []string
}

func (r *rejudgement) print(w io.Writer, d *audit.Decision) error {
	if err := (&auditPage{w: w}).decision(d); err != nil {
		return err
	}
	verb := "would be"
	if r.decision.String() == d.Decision {
		verb = "stays"
	}
	_, err := fmt.Fprintf(w, "    => %s %s (%s)%s\n", verb, r.decision, printable.Escape(r.by, 100), layout.Suffix("; not known: ", strings.Join(r.open, "; ")))
	return err
}

// hard are the codes of findings that no rule is asked about.
var hard = map[string]bool{validate.CodeProtected: true, validate.CodeProtectedAbove: true, validate.CodeCeiling: true, validate.CodeOutsideResource: true}

// judgeRecord asks the rules about a record: the strictest of its findings
// counts, and without any the first rule about calls.
func judgeRecord(p *validate.PolicyInfo, d *audit.Decision) rejudgement {
	tool := d.Tool
	if d.Method != "" {
		tool = d.Method // a rule names a request that is no call of a tool by its method
	}
	switch {
	case hard[d.Code]:
		out := rejudgement{decision: validate.Deny, by: d.Code}
		if d.Code != validate.CodeCeiling && d.Code != validate.CodeOutsideResource && (len(d.Findings) == 0 || protected(p, validate.RoleWrite, d.Findings[0].Path) == "") {
			out.open = []string{"it was protected when it was recorded"}
		}
		return out
	case d.Rule == validate.RuleUnresolvable, d.Rule == validate.RuleUnjudged, d.Code == validate.CodeBudget:
		return rejudgement{decision: validate.Deny, by: d.Rule}
	}
	if len(d.Findings) == 0 {
		for i := range p.Rules {
			if r := &p.Rules[i]; r.Paths == nil && about(r, d.Child, tool) {
				return rejudgement{decision: r.Then, by: r.Name}.asked(d)
			}
		}
		return rejudgement{decision: validate.Allow, by: validate.RuleNoPath}
	}
	out := rejudgement{decision: validate.Allow, by: validate.RuleInside}
	for i, f := range d.Findings {
		role, err := validate.ParseRole(f.Role)
		now := rejudgement{decision: validate.Deny, by: validate.RuleUnresolvable}
		switch {
		case f.Path == "" || strings.Contains(f.Path, audit.Redacted) || err != nil:
			now.open = []string{"where " + f.At + " led is not recorded"}
			if d.Decision == "allow" {
				now.decision, now.by = validate.Allow, validate.RuleInside
			}
		default:
			now = judgePath(p, d, tool, role, f.Path, f.Inside)
			if f.Ways > 1 && asksWhere(p, d.Child, tool) {
				now.open = append(now.open, fmt.Sprintf("%s may stand for %d places, links followed and not, of which one is recorded", f.At, f.Ways))
			}
		}
		if i == 0 || now.decision < out.decision {
			now.open = append(out.open, now.open...)
			out = now
		} else {
			out.open = append(out.open, now.open...)
		}
	}
	if d.More > 0 {
		out.open = append(out.open, fmt.Sprintf("%d more paths were not recorded", d.More))
	}
	return out.asked(d)
}

// asked notes that the answer of a human is not known, where the one that was
// given once does not stand for it.
func (r rejudgement) asked(d *audit.Decision) rejudgement {
	if r.decision == validate.Escalate && d.Decision != validate.Escalate.String() {
		r.open = append(r.open, "what a human would answer")
		if d.By != "" { // they have answered
			r.decision, r.open = validate.Allow, []string{"whether the human who allowed it would again"}
		}
	}
	return r
}

// judgePath asks the rules about one path.
func judgePath(p *validate.PolicyInfo, d *audit.Decision, tool string, role validate.Role, path string, inside bool) rejudgement {
	if code := protected(p, role, path); code != "" {
		return rejudgement{decision: validate.Deny, by: code}
	}
	inside = inside || p.Sandbox != "" && below(p.Sandbox, path)
	for i := range p.Rules {
		r := &p.Rules[i]
		if !about(r, d.Child, tool) {
			continue
		}
		along := takesAlong(r, role, path)
		if r.Paths == nil || hasRole(r.Paths.Roles, role) && (r.Dir == "" || along || below(r.Dir, path)) && (!r.Paths.Outside || !inside) {
			out := rejudgement{decision: r.Then, by: r.Name}
			if r.Dir != "" && !r.Found {
				out.open = []string{r.Dir + " is not there now, so links in it are not followed"}
			}
			return out
		}
	}
	switch {
	case inside:
		return rejudgement{decision: validate.Allow, by: validate.RuleInside}
	case d.Decision == "allow" && d.Rule == validate.RuleNoBoundary:
		return rejudgement{decision: validate.Allow, by: d.Rule}
	}
	return rejudgement{decision: validate.Deny, by: validate.RuleBoundary}
}

// takesAlong reports that a directory is removed or moved which holds that of a
// rule that denies or escalates.
func takesAlong(r *validate.RuleInfo, role validate.Role, path string) bool {
	return role == validate.RoleDelete && r.Dir != "" && r.Then != validate.Allow && !r.Paths.Outside && below(path, r.Dir)
}

// protected says by which code a path is denied before any rule, or "".
func protected(p *validate.PolicyInfo, role validate.Role, path string) string {
	for _, own := range p.Protected {
		switch {
		case below(own, path):
			return validate.CodeProtected
		case role != validate.RoleRead && below(path, own):
			return validate.CodeProtectedAbove
		}
	}
	return ""
}

// asksWhere reports whether some rule about a tool depends on where paths lead.
func asksWhere(p *validate.PolicyInfo, child, tool string) bool {
	for i := range p.Rules {
		if r := &p.Rules[i]; r.Paths != nil && (r.Dir != "" || r.Paths.Outside) && about(r, child, tool) {
			return true
		}
	}
	return false
}

// about reports whether a rule is about the tool of a server, as validate
// matches names: patterns in which * is any text.
func about(r *validate.RuleInfo, child, tool string) bool {
	return matchesAny(r.Servers, child) && matchesAny(r.Tools, tool)
}

func matchesAny(patterns []string, name string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\u2215") }
	for _, g := range patterns {
		if ok, err := doublestar.Match(flat(g), flat(name)); ok && err == nil {
			return true
		}
	}
	return len(patterns) == 0
}

func hasRole(roles []validate.Role, role validate.Role) bool {
	for _, r := range roles {
		if r == role {
			return true
		}
	}
	return len(roles) == 0
}

// below reports whether a canonical path is a directory or lies in it.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
