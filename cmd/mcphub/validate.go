package main

import (
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
	"mcphub/internal/reference"
	"mcphub/validate"
)

func validateCommand() *cobra.Command {
	src := newSource()
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "validate [FILE]",
		Aliases: []string{"check"},
		Short:   "Check hub.json and say what is wrong with it",
		Long: "Reads hub.json and looks, without starting anything, for what would not work: programs\n" +
			"and folders that are not there, an address that serve would refuse, rules that concern\n" +
			"no client, servers that cannot be told apart. Prints ok if there is nothing. The exit\n" +
			"status is 3 if there is an error, 0 if there are warnings at the most.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if src.Config != "" {
					return exit.UsageErrorf("a file, and --config: which is meant?")
				}
				src.Config = args[0]
			}
			return validateConfig(src, cmd.OutOrStdout(), stderr, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	configFlags(cmd, src)
	return cmd
}

// validateConfig writes what is wrong to w, and what there is to out; as JSON all of it to
// out.
func validateConfig(src *setup.Source, out, w io.Writer, asJSON bool) error {
	if asJSON {
		w = io.Discard
	}
	src.ShareAs()
	found, err := src.Check(w)
	result := validateReport{Config: src.Path(), Problems: []problem{}}
	for _, p := range found.Problems {
		layout.Println(w, p.String())
		result.Problems = append(result.Problems, toProblem(p))
	}
	if err != nil {
		return err
	}
	wrong := validationError(&found)
	result.OK = wrong == nil
	if err := writeResult(out, asJSON, result, func(io.Writer) {
		if found.Whole {
			listServed(out, &found)
		}
		if warnings := found.Count(config.SeverityWarning); wrong == nil {
			layout.Println(out, layout.When(warnings == 0, "ok")+layout.When(warnings > 0, pluralOf(warnings, "warning")))
		}
	}); err != nil {
		return err
	}
	return wrong
}

// validationError returns an error if the configuration has one.
func validationError(found *setup.CheckResult) error {
	switch errs := found.Count(config.SeverityError); {
	case found.Whole && len(found.Bad) > 0:
		return exit.ConfigErrorf("%d of %d servers cannot be served", len(found.Bad), len(found.Hub.Broken)+len(found.Hub.Children))
	case errs > 0:
		return exit.ConfigErrorf("%s", pluralOf(errs, "error"))
	}
	return nil
}

// validateReport is the result of validate; the shape of --json.
type validateReport struct {
	OK       bool      `json:"ok"` // there is no error
	Config   string    `json:"config"`
	Problems []problem `json:"problems"` // in the order of the file
}

// problem is one problem of hub.json, in the JSON of validate and plan.
type problem struct {
	Severity string `json:"severity"` // error, warning or note
	Text     string `json:"text"`
	Hint     string `json:"hint,omitempty"`    // what to do
	Command  string `json:"command,omitempty"` // that does it
	Key      string `json:"key,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"` // from 1; absent if the problem has no place in the file
	Column   int    `json:"column,omitempty"`
}

func toProblem(p config.Problem) problem {
	return problem{p.Severity.String(), p.Text, p.Hint, printable.CommandLine(p.Command), p.Key, p.File, p.Line, p.Col}
}

// listServed reports what would be served.
func listServed(out io.Writer, found *setup.CheckResult) {
	if found.File.Path == "" {
		layout.Println(out, "No configuration: the embedded filesystem server would be served.")
	}
	specs := map[string]spec.Spec{}
	for i := range found.Hub.Children {
		specs[found.Hub.Children[i].Spec.Name] = found.Hub.Children[i].Spec
	}
	for i := range found.File.Servers {
		s := &found.File.Servers[i]
		switch {
		case s.Disabled:
			layout.Printf(out, "%-20s disabled\n", s.Name)
		case found.Bad[s.Name]:
			layout.Printf(out, "%-20s cannot be served, see above\n", s.Name)
		case s.Builtin != "":
			layout.Printf(out, "%-20s builtin %s\n", s.Name, s.Builtin)
		default:
			layout.Printf(out, "%-20s %s\n", s.Name, describeSpec(specs[s.Name]))
		}
		if why := specs[s.Name].ShareWhy; why != "" {
			layout.Printf(out, "%-20s share %s: %s\n", "", specs[s.Name].Share, why)
		}
	}
	showPolicy(out, found.Hub.Checker)
	layout.Println(out, describeAudit(found.Hub.Audit, found.Audit))
}

// describeSpec returns in one line how a server is run.
func describeSpec(s spec.Spec) string {
	if u, err := url.Parse(reference.Blank(s.URL, "SECRET")); s.URL != "" && err == nil {
		if _, path, _ := strings.Cut(s.URL, "://"); reference.Has(s.URL) {
			path, _, _ = strings.Cut(strings.Replace(path, "#", "?", 1), "?")
			_, path, _ = strings.Cut(path, "/")
			return reference.Show(u.Scheme + "://" + u.Host + "/" + path)
		}
		return redact.URL(s.URL)
	}
	return strings.Join(append([]string{s.Command}, redact.Args(s.Args, os.Environ())...), " ")
}

// describeAudit returns in one line where decisions would be recorded.
func describeAudit(a hub.Audit, dir string) string {
	switch {
	case dir == "":
		return "audit: off, decisions are not recorded"
	case a.Required:
		return "audit: " + dir + "; what cannot be recorded there is denied"
	}
	return "audit: " + dir
}

// showPolicy prints the rules in the order in which they are asked.
func showPolicy(w io.Writer, checker *validate.Checker) {
	info, ok := checker.Policy()
	if !ok {
		return
	}
	layout.Println(w, "policy")
	if info.Sandbox != "" {
		layout.Printf(w, "  %-18s inside every boundary: %s\n", "sandbox", info.Sandbox)
	}
	for i := range info.Rules {
		r := status.RuleOf(&info.Rules[i])
		layout.Printf(w, "  %-18s %s %s%s%s\n", r.Name, r.Then, r.If, layout.WithPrefix(" -- ", r.Note), layout.WithPrefix("  ", r.At))
	}
}
