package policy

import (
	"slices"
	"testing"

	"mcphub/internal/principal"
	"mcphub/validate/machine"
)

func compiled3(t *testing.T, rules ...Rule) *Compiled {
	t.Helper()
	m := machine.New(nil, t.TempDir(), nil, nil)
	p, err := Compile(&m, Policy{Rules: rules}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func named(then Decision, name string, principals, groups []string) Rule {
	return Rule{Name: name, Then: then, People: People{Principals: principals, Groups: groups}}
}

// TestWhomRulesAreFor: each condition has to hold, and of no one it is taken what gives least.
func TestWhomRulesAreFor(t *testing.T) {
	t.Parallel()
	alice := principal.Principal{Name: "alice", Groups: []string{"dev", "ops"}}
	issued := principal.Principal{Name: "alice", Issuer: "https://login.example/a/b"}
	for _, tc := range []struct {
		name               string
		principals, groups []string
		who                principal.Principal
		is                 bool
	}{
		{"by name", []string{"bob", "alice"}, nil, alice, true},
		{"another", []string{"bob"}, nil, alice, false},
		{"case counts", []string{"Alice"}, nil, alice, false},
		{"by pattern", []string{"al*"}, nil, alice, true},
		{"by group", nil, []string{"ops"}, alice, true},
		{"no such group", nil, []string{"root"}, alice, false},
		{"both", []string{"alice"}, []string{"d*"}, alice, true},
		{"one of both", []string{"alice"}, []string{"root"}, alice, false},
		{"a name alone is not that of an issuer", []string{"alice"}, nil, issued, false},
		{"of an issuer", []string{"*@login.example/a/b"}, nil, issued, true},
		{"the local user", []string{"local"}, nil, principal.User(), true},
		{"any", []string{"*"}, nil, principal.User(), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, then := range []Decision{Deny, Escalate, Allow} {
				p := compiled3(t, named(then, "r", tc.principals, tc.groups))
				r := p.For(tc.who).Ruling("kid", "tool")
				if (r != nil) != tc.is || r != nil && r.WithoutPaths().Then != then {
					t.Errorf("%s: %+v", then, r)
				}
				// A Ruling that was made for all means the same.
				if late := p.Ruling("kid", "tool").ForPolicy(p.For(tc.who)); (late != nil) != tc.is {
					t.Errorf("%s: %+v", then, late)
				}
				for _, nobody := range []*Ruling{p.For(principal.Principal{}).Ruling("kid", "tool"), p.Ruling("kid", "tool").ForPolicy(p)} {
					if then == Allow && nobody != nil || then != Allow && nobody.WithoutPaths().Then != Deny {
						t.Errorf("%s for nobody: %+v", then, nobody)
					}
				}
			}
		})
	}
}

// TestPeopleShareAPolicy: it depends on which rules are for them, and not on who they are. Without such rules nothing is made.
func TestPeopleShareAPolicy(t *testing.T) {
	t.Parallel()
	p := compiled3(t, named(Allow, "dev", nil, []string{"dev"}), named(Deny, "bob", []string{"bob"}, nil))
	first := p.For(principal.Principal{Name: "p0", Groups: []string{"dev"}})
	for _, name := range []string{"p1", "p2", "alice"} {
		if p.For(principal.Principal{Name: name, Groups: []string{"a", "dev"}}) != first {
			t.Errorf("%s has a policy of its own", name)
		}
	}
	if p.For(principal.Principal{Name: "bob", Groups: []string{"dev"}}) == first {
		t.Error("control: another rule is for bob")
	}
	if plain := compiled3(t, Rule{Name: "all", Then: Deny}); plain.For(principal.User()) != plain || plain.ForSome() {
		t.Error("a policy for everybody was made anew")
	}
}

// TestDirectoriesOfPeople: servers may write in what rules open to those whom they are for.
func TestDirectoriesOfPeople(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	open := named(Allow, "open", []string{"alice"}, nil)
	open.Paths = &PathRule{Within: dir}
	closed := named(Deny, "closed", []string{"alice"}, nil)
	closed.Paths = &PathRule{Within: other}
	p := compiled3(t, open, closed)
	for name, want := range map[string][]string{"alice": {p.rules[0].dir.Path}, "bob": nil} {
		if got := p.For(principal.Principal{Name: name}).WritableDirs(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestRefuses: what is always denied, whatever the arguments are.
func TestRefuses(t *testing.T) {
	t.Parallel()
	paths := &PathRule{}
	for _, tc := range []struct {
		name  string
		rules []Rule
		want  bool
	}{
		{"denied", []Rule{{Name: "a"}}, true},
		{"of another tool", []Rule{{Name: "a", Tools: []string{"other"}}}, false},
		{"allowed first", []Rule{{Name: "a", Then: Allow}, {Name: "b"}}, false},
		{"asked first", []Rule{{Name: "a", Then: Escalate}, {Name: "b"}}, false},
		{"some paths are allowed", []Rule{{Name: "a", Then: Allow, Paths: paths}, {Name: "b"}}, false},
		{"paths are denied, and the rest", []Rule{{Name: "a", Paths: paths}, {Name: "b"}}, true},
		{"only paths are denied", []Rule{{Name: "a", Paths: paths}}, false},
	} {
		if got := compiled3(t, tc.rules...).Refuses("kid", "tool"); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
	if (*Compiled)(nil).Refuses("kid", "tool") {
		t.Error("no policy denies")
	}
}

// TestRulesOfPeopleKeepTheirOrder: the rules for a principal are those that are for it, in the order of the file, whether its name is written in full, matches a pattern, or stands
// there twice. For no one those that do not allow are left, and deny.
func TestRulesOfPeopleKeepTheirOrder(t *testing.T) {
	t.Parallel()
	p := compiled3(t,
		named(Escalate, "in full", []string{"alice"}, nil), named(Deny, "pattern", []string{"al*"}, nil), Rule{Name: "all", Then: Escalate}, named(Allow, "twice", []string{"bob", "alice", "alice"}, nil),
		named(Deny, "other", []string{"bob"}, nil), named(Allow, "group", nil, []string{"dev"}), named(Deny, "both", []string{"alice"}, []string{"dev"}), named(Deny, "last", []string{"alice"}, nil))
	for _, tc := range []struct {
		who  principal.Principal
		want []string
	}{
		{principal.Principal{Name: "alice", Groups: []string{"dev"}}, []string{"escalate in full", "deny pattern", "escalate all", "allow twice", "allow group", "deny both", "deny last"}},
		{principal.Principal{Name: "alice"}, []string{"escalate in full", "deny pattern", "escalate all", "allow twice", "deny last"}},
		{principal.Principal{Name: "bob"}, []string{"escalate all", "allow twice", "deny other"}},
		{principal.Principal{Name: "carol"}, []string{"escalate all"}},
		{principal.Principal{}, []string{"deny in full", "deny pattern", "escalate all", "deny other", "deny both", "deny last"}},
	} {
		var got []string
		for _, r := range p.For(tc.who).rules {
			got = append(got, r.Then.String()+" "+r.Name)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.who, got, tc.want)
		}
	}
}
