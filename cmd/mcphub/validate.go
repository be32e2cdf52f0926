package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/children"
	"mcphub/hub"
	"mcphub/internal/audit"
	"mcphub/internal/config"
	"mcphub/internal/exit"
	"mcphub/internal/layout"
	"mcphub/internal/printable"
	"mcphub/validate"
)

// describe says in one line how a server is run.
func describe(s children.Spec) string {
	if u, err := url.Parse(s.URL); s.URL != "" && err == nil {
		u.User, u.RawQuery, u.Fragment = nil, "", "" // they may hold a secret
		return u.String()
	}
	return strings.Join(append([]string{s.Command}, audit.RedactArgs(s.Args, os.Environ())...), " ")
}

// describeAudit says in one line where decisions would be recorded.
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
func showPolicy(w io.Writer, c *validate.Checker) {
	info, ok := c.Policy()
	if !ok {
		return
	}
	fmt.Fprintln(w, "policy")
	if info.Sandbox != "" {
		fmt.Fprintf(w, "  %-18s inside every boundary: %s\n", "sandbox", info.Sandbox)
	}
	for i := range info.Rules {
		r := hub.NewRuleReport(&info.Rules[i])
		fmt.Fprintf(w, "  %-18s %s %s%s%s\n", r.Name, r.Then, r.If, layout.Suffix(" -- ", r.Note), layout.Suffix("  ", r.At))
	}
}

func validateCommand() *cobra.Command {
	var src sources
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check hub.json and say what is wrong with it",
		Long: "Reads hub.json and looks, without starting anything, for what would not work: programs\n" +
			"and folders that are not there, an address that serve would refuse, rules that are about\n" +
			"nobody, servers that cannot be told apart. Says ok where there is nothing. The exit\n" +
			"status is 3 where there is an error, 0 where there are warnings at the most.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return src.validate(printable.Writer(cmd.OutOrStdout()), printable.Writer(os.Stderr))
		},
	}
	src.register(cmd)
	return cmd
}

// validate writes what is wrong to w, and what there is to out.
func (s *sources) validate(out, w io.Writer) error {
	s.hush = true
	file, cfg, err := s.readable(w)
	left := s.take(err)
	bad := map[string]bool{} // servers
	for _, b := range cfg.Broken {
		bad[b.Name] = true
	}
	if file != nil {
		for _, p := range lint(file, &cfg) {
			s.problems = append(s.problems, p.Problem)
			bad[p.server] = bad[p.server] || p.server != "" && p.Severity == config.SeverityError
		}
	}
	slices.SortStableFunc(s.problems, func(a, b config.Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col)) })
	count := map[config.Severity]int{}
	for _, p := range s.problems {
		count[p.Severity]++
		fmt.Fprintln(w, p.String())
	}
	if left != nil {
		return left
	}
	if err == nil {
		s.list(out, file, &cfg, bad)
	}
	delete(bad, "")
	maps.DeleteFunc(bad, func(_ string, is bool) bool { return !is })
	switch {
	case err == nil && len(bad) > 0:
		return exit.Errorf(exit.Config, "%d of %d servers cannot be served", len(bad), len(cfg.Broken)+len(cfg.Children))
	case count[config.SeverityError] > 0:
		return exit.Errorf(exit.Config, "%s", several(count[config.SeverityError], "error"))
	case count[config.SeverityWarning] > 0:
		fmt.Fprintln(out, several(count[config.SeverityWarning], "warning"))
	default:
		fmt.Fprintln(out, "ok")
	}
	return nil
}

// readable reads the configuration. Beside an error there may be what could be
// read of the file all the same.
func (s *sources) readable(w io.Writer) (*config.File, hub.Config, error) {
	file, err := s.load(w)
	if err == nil {
		cfg, err := s.wire(file, w, zerolog.Nop())
		return file, cfg, err
	}
	var cfg hub.Config
	var le *config.LoadError
	if !errors.As(err, &le) || le.Sound == nil {
		return nil, cfg, err
	}
	return le.Sound, cfg, errors.Join(err, s.entries(le.Sound, &cfg))
}

// take keeps the problems that an error consists of, and returns what is none.
func (s *sources) take(err error) error {
	var le *config.LoadError
	var p config.Problem
	joined, many := err.(interface{ Unwrap() []error }) // this very level
	switch {
	case many:
		var left []error
		for _, e := range joined.Unwrap() {
			left = append(left, s.take(e))
		}
		return errors.Join(left...)
	case errors.As(err, &le) && len(le.Errors) > 0:
		s.problems = append(s.problems, le.Errors...)
		return nil
	case errors.As(err, &p):
		s.problems = append(s.problems, p)
		return nil
	}
	return err
}

// list says what would be served; bad are the servers that cannot be.
func (s *sources) list(out io.Writer, file *config.File, cfg *hub.Config, bad map[string]bool) {
	if s.found == "" {
		fmt.Fprintln(out, "No configuration: the embedded filesystem server would be served.")
	}
	specs := map[string]children.Spec{}
	for i := range cfg.Children {
		specs[cfg.Children[i].Spec.Name] = cfg.Children[i].Spec
	}
	for i := range file.Servers {
		s := &file.Servers[i]
		switch {
		case s.Disabled:
			fmt.Fprintf(out, "%-20s disabled\n", s.Name)
		case bad[s.Name]:
			fmt.Fprintf(out, "%-20s cannot be served, see above\n", s.Name)
		case s.Builtin != "":
			fmt.Fprintf(out, "%-20s builtin %s\n", s.Name, s.Builtin)
		default:
			fmt.Fprintf(out, "%-20s %s\n", s.Name, describe(specs[s.Name]))
		}
	}
	showPolicy(out, cfg.Checker)
	fmt.Fprintln(out, describeAudit(cfg.Audit, s.audit))
}

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
