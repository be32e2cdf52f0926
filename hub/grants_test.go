package hub

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mcphub/internal/jsonrpc"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// A grant is of the policy that asked. A reload after which no one would be asked, for a rule denies it, nothing asks, or it
// is protected, takes it back, and the child is served the directory no more; the control is a reload that asks as before.
func TestAReloadEndsWhatItsPolicyDenies(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(a *askedHub, v *validate.Config)
		ends   bool
	}{
		"as before": {func(*askedHub, *validate.Config) {}, false},
		"renamed":   {func(_ *askedHub, v *validate.Config) { v.Policy.Rules[3].Name = "another name" }, false},
		"denied": {func(a *askedHub, v *validate.Config) {
			v.Policy.Rules = slices.Insert(v.Policy.Rules, 0, policy.Rule{Name: "new", Then: policy.Deny, Paths: &policy.PathRule{Within: a.at("data")}})
		}, true},
		"denied to this tool": {func(a *askedHub, v *validate.Config) {
			v.Policy.Rules = slices.Insert(v.Policy.Rules, 0, policy.Rule{Name: "new", Then: policy.Deny, Tools: []string{"ec*"}, Paths: &policy.PathRule{Within: a.at("data")}})
		}, true},
		"denied to another tool": {func(a *askedHub, v *validate.Config) {
			v.Policy.Rules = slices.Insert(v.Policy.Rules, 0, policy.Rule{Name: "new", Then: policy.Deny, Tools: []string{"x*"}, Paths: &policy.PathRule{Within: a.at("data")}})
		}, false},
		"denied to be written": {func(a *askedHub, v *validate.Config) {
			v.Policy.Rules = slices.Insert(v.Policy.Rules, 0, policy.Rule{Name: "new", Then: policy.Deny, Paths: &policy.PathRule{Roles: []access.Role{access.Write}, Within: a.at("data")}})
		}, false},
		"not asked about": {func(_ *askedHub, v *validate.Config) { v.Policy.Rules = slices.Delete(v.Policy.Rules, 3, 4) }, true},
		"no policy":       {func(_ *askedHub, v *validate.Config) { v.Policy.Rules = nil }, true},
		"protected":       {func(a *askedHub, v *validate.Config) { v.Protected = append(v.Protected, a.at("data", "one")) }, true},
		"holds what is protected": {func(a *askedHub, v *validate.Config) {
			v.Protected = append(v.Protected, a.at("data", "one", "1.txt"))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var judged validate.Config
			approving(t, nil, func(a *askedHub) {
				p := saying(yes)
				c, _ := a.client(p)
				a.passes(c, "kid__echo", reading(a.at("data", "one", "1.txt")))
				cfg := a.h.currentConfiguration().Settings
				judged.Policy.Rules = slices.Clone(judged.Policy.Rules)
				tc.change(a, &judged)
				var err error
				if cfg.Checker, err = validate.NewChecker(judged); err != nil {
					t.Fatal(err)
				}
				apply(a.T, a.h, cfg)
				synctest.Wait()
				served, _ := text(c.raw("tools/call", toolCall("kid__roots", `{}`)))
				if n := len(c.grants(t)); n != 0 == tc.ends || strings.Contains(served, a.at("data", "one")) == tc.ends {
					t.Errorf("%d grants, the child has the roots %s", n, served)
				}
				p.says = func(context.Context, *jsonrpc.Message) string { return no }
				if tc.ends {
					a.refused(c, "kid__echo", reading(a.at("data", "one", "1.txt")), "Access denied")
				} else {
					a.passes(c, "kid__echo", reading(a.at("data", "one", "1.txt")))
				}
				a.asks(p, 1)
			}, func(_ *Config, v *validate.Config) { judged = *v })
		})
	}
}
