package configuration

import (
	"testing"

	"mcphub/internal/principal"
	"mcphub/rootsmgr/guard"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// Of an entry that cannot be read no one hears to whom the rules deny that server. Control: someone else does.
func TestBrokenEntriesOfDeniedServers(t *testing.T) {
	t.Parallel()
	set := settings(t, t.TempDir())
	checker, err := validate.NewChecker(validate.Config{FS: guard.OS{}, Home: t.TempDir(), Policy: policy.Policy{Rules: []policy.Rule{
		{Name: "not for bob", Then: policy.Deny, People: policy.People{Principals: []string{"bob"}}, Servers: []string{"payroll"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	set.Checker, set.Broken = checker, []Broken{{Name: "payroll", Reason: "its command is empty"}, {Name: "other"}}
	c, err := New(set, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"bob": 1, "alice": 2} {
		if got := c.For(Audience{Principal: principal.Principal{Name: name}}).Broken; len(got) != want {
			t.Errorf("%s hears of %v", name, got)
		}
	}
}
