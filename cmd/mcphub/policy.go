package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"mcphub/hub"
	"mcphub/internal/config"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file makes the policy of hub.json what package validate judges by, and
// says where in the file something is wrong with it.

var decisions = map[string]validate.Decision{config.ThenAllow: validate.Allow, config.ThenDeny: validate.Deny, config.ThenEscalate: validate.Escalate}

// policy translates; relative directories start at the folder of hub.json.
func policy(f *config.File, home string) (validate.Policy, error) {
	p := validate.Policy{Sandbox: policyDir(f, f.Policy.Sandbox, home)}
	for i := range f.Policy.Rules {
		from := &f.Policy.Rules[i]
		at := f.At("policy", "rules", strconv.Itoa(i))
		then, ok := decisions[from.Then]
		if !ok {
			return p, &validate.PolicyError{Rule: i, Key: []string{"then"}, Text: "it says neither allow, deny nor escalate"}
		}
		r := validate.Rule{Name: from.Name, Then: then, Serve: from.Serve, Servers: from.If.Servers, Tools: from.If.Tools}
		if at.Line > 0 {
			r.At = fmt.Sprintf("%s:%d", at.File, at.Line)
		}
		if paths := from.If.Paths; paths != nil {
			r.Paths = &validate.PathRule{Within: policyDir(f, paths.Within, home), Outside: paths.Outside}
			for _, word := range paths.Roles {
				role, err := validate.ParseRole(word)
				if err != nil {
					return p, &validate.PolicyError{Rule: i, Key: []string{"if", "paths", "roles"}, Text: err.Error()}
				}
				r.Paths.Roles = append(r.Paths.Roles, role)
			}
		}
		p.Rules = append(p.Rules, r)
	}
	return p, nil
}

// policyDir makes a directory of the policy absolute. A URI stays as it is, and
// is refused as what it is.
func policyDir(f *config.File, dir, home string) string {
	if rootsmgr.IsFileURI(dir) || home == "" && strings.HasPrefix(dir, "~") {
		return dir
	}
	return fromFile(f, dir, home, false)
}

// policyErrors says of everything that is wrong with a policy where it stands.
// Other errors come back as they are.
func policyErrors(f *config.File, err error) error {
	var list []config.Problem
	var other []error
	var walk func(error)
	walk = func(err error) {
		var p *validate.PolicyError
		joined, many := err.(interface{ Unwrap() []error }) //nolint:errorlint // this very level
		switch {
		case many:
			for _, e := range joined.Unwrap() {
				walk(e)
			}
		case errors.As(err, &p):
			path := []string{"policy"}
			if p.Rule >= 0 {
				path = append(path, "rules", strconv.Itoa(p.Rule))
			}
			problem := f.At(append(path, p.Key...)...)
			problem.Text, problem.Hint = p.Text, p.Hint
			list = append(list, problem)
		default:
			other = append(other, err)
		}
	}
	walk(err)
	if len(list) == 0 {
		return err
	}
	for _, e := range other {
		list = append(list, config.Problem{File: f.Path, Text: e.Error()})
	}
	return &config.LoadError{Path: f.Path, Errors: list}
}

// printed writes all errors of a configuration but the first, which the error
// itself says.
func printed(w io.Writer, err error) error {
	var le *config.LoadError
	if errors.As(err, &le) && len(le.Errors) > 1 {
		for _, p := range le.Errors[1:] {
			fmt.Fprintln(w, p.String())
		}
	}
	return err
}

// doubtful lists what is very likely a mistake in a policy: rules about tools
// by the names that the client sees, which no rule is asked by.
func doubtful(f *config.File, cfg *hub.Config) []config.Problem {
	var out []config.Problem
	for i := range f.Policy.Rules {
		for k, pattern := range f.Policy.Rules[i].If.Tools {
			for _, c := range cfg.Children {
				if c.Prefix != "" && strings.HasPrefix(pattern, c.Prefix) {
					p := f.At("policy", "rules", strconv.Itoa(i), "if", "tools", strconv.Itoa(k))
					p.Severity = config.SeverityWarning
					p.Text = fmt.Sprintf("rules know tools by the names that their servers give them; %q begins with a prefix of the hub's", pattern)
					p.Hint = fmt.Sprintf("write %q, and %q under servers", strings.TrimPrefix(pattern, c.Prefix), c.Spec.Name)
					out = append(out, p)
					break
				}
			}
		}
	}
	return out
}
