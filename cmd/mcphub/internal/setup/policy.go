package setup

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

var decisions = map[string]policy.Decision{keys.ThenAllow: policy.Allow, keys.ThenDeny: policy.Deny, keys.ThenEscalate: policy.Escalate}

// policyOf translates; relative directories start at the folder of hub.json.
func policyOf(f *config.File, home string) (policy.Policy, error) {
	p := policy.Policy{Sandbox: policyDir(f, f.Policy.Sandbox, home)}
	for _, path := range f.Policy.Protected {
		p.Protected = append(p.Protected, policyDir(f, path, home))
	}
	var errs []error
	for i := range f.Policy.Rules {
		from := &f.Policy.Rules[i]
		at := f.At("policy", "rules", strconv.Itoa(i))
		then, ok := decisions[from.Then]
		if !ok {
			errs = append(errs, &policy.Error{Rule: i, Key: []string{"then"}, Text: "it says neither allow, deny nor escalate"})
		}
		r := policy.Rule{Name: from.Name, Then: then, Serve: from.Serve, People: policy.People{Principals: from.If.Principals, Groups: from.If.Groups}, Servers: from.If.Servers, Tools: from.If.Tools}
		if at.Line > 0 {
			r.At = fmt.Sprintf("%s:%d", at.File, at.Line)
		}
		if paths := from.If.Paths; paths != nil {
			r.Paths = &policy.PathRule{Within: policyDir(f, paths.Within, home), Outside: paths.Outside}
			for k, word := range paths.Roles {
				role, err := access.Parse(word)
				if err != nil {
					errs = append(errs, &policy.Error{Rule: i, Key: []string{"if", "paths", "roles", strconv.Itoa(k)}, Text: err.Error()})
					continue
				}
				r.Paths.Roles = append(r.Paths.Roles, role)
			}
		}
		p.Rules = append(p.Rules, r)
	}
	return p, errors.Join(errs...)
}

// policyDir makes a path of the policy absolute. A URI stays as it is, and so
// does what looks like a variable or someone's home: it is refused as that.
func policyDir(f *config.File, dir, home string) string {
	own := dir == "~" || strings.HasPrefix(dir, "~/")
	if platform.IsFileURI(dir) || strings.HasPrefix(dir, "$") || strings.HasPrefix(dir, "~") && (!own || home == "") {
		return dir
	}
	return resolvePath(f, dir, home, false)
}

// withPolicyErrors adds what is wrong with the policy of a file to the other errors of that
// file: one reading tells everything.
func withPolicyErrors(err error, home string) error {
	var le *config.LoadError
	if !errors.As(err, &le) || le.Partial == nil {
		return err
	}
	f := le.Partial
	p, wrong := policyOf(f, home)
	for i := range p.Rules {
		if p.Rules[i].Name == "" {
			p.Rules[i].Name = fmt.Sprintf("rule %d", i+1) // said already
		}
	}
	_, more := validate.NewChecker(validate.Config{FS: guard.OS{}, Home: home, Policy: p})
	var also *config.LoadError
	if !errors.As(policyErrors(f, errors.Join(wrong, more)), &also) {
		return err
	}
	for _, p := range also.Errors {
		if !slices.ContainsFunc(le.Errors, func(had config.Problem) bool { return isReported(had.Key, p.Key) }) {
			le.Errors = append(le.Errors, p)
		}
	}
	slices.SortStableFunc(le.Errors, config.ByPlace)
	return err
}

// isReported reports whether an error of one key reports what is wrong with another one:
// that key is a part of it, or the rule that lacks it.
func isReported(had, key string) bool {
	return had == key || strings.HasPrefix(had, key+"[") || strings.HasPrefix(had, key+".") || had+".then" == key
}

// policyErrors reports all that is wrong with a policy, and where it
// stands. Other errors come back as they are.
func policyErrors(f *config.File, err error) error {
	var list []config.Problem
	var other []error
	for _, e := range Flatten(err) {
		var p *policy.Error
		if !errors.As(e, &p) {
			other = append(other, e)
			continue
		}
		path := []string{"policy"}
		if p.Rule >= 0 {
			path = append(path, "rules", strconv.Itoa(p.Rule))
		}
		problem := f.At(append(path, p.Key...)...)
		problem.Text, problem.Hint = p.Text, p.Hint
		list = append(list, problem)
	}
	if len(list) == 0 {
		return err
	}
	for _, e := range other {
		list = append(list, config.Problem{File: f.Path, Text: e.Error()})
	}
	return &config.LoadError{Path: f.Path, Errors: list}
}
