package configuration

import (
	"slices"
	"testing"

	"mcphub/hub/toolset"
)

// A session has the children that its toolsets show, and sessions with the same toolsets have the same Configuration. What a reload shows otherwise
// is superseded, also if the child goes on. Controls: a session without toolsets, and a reload that changes nothing.
func TestToolsetsOfASession(t *testing.T) {
	t.Parallel()
	set := settings(t, t.TempDir())
	set.Broken, set.Disabled = []Broken{{Name: "odd"}, {Name: "hidden"}}, []string{"off"}
	var before *Configuration
	conf := func(sets ...toolset.Set) *Configuration {
		t.Helper()
		set := set
		if sets != nil {
			set.Toolsets = &toolset.Table{Sets: sets, Clients: map[string][]string{"codex": {"a"}}}
		}
		c, err := New(set, nil, before)
		if err != nil {
			t.Fatal(err)
		}
		before = c
		return c
	}
	var common Current
	common.Set(conf(toolset.Set{Name: "a", Servers: []string{"own", "odd"}}))
	limited, free, named := common.For(Audience{Toolsets: toolset.Claim{Flag: []string{"a"}}}), common.For(Audience{}), common.For(Audience{})
	was := limited.InForce()
	if free.InForce() != common.InForce() || was == common.InForce() || was.Common() != common.InForce() || !slices.Equal(was.ChildNames(), []string{"own"}) || was.Child("all") != nil || !was.IsDenied("all") || was.IsDenied("own") ||
		len(was.Broken) != 1 || was.BrokenEntry("odd") == nil || len(was.Disabled) != 0 || limited.InForce() != was {
		t.Errorf("it has %v, %+v and %v", was.ChildNames(), was.Broken, was.Disabled)
	}
	if named.NoteClient("codex"); named.InForce() != was {
		t.Error("a session with the same toolsets goes by another Configuration")
	}
	for _, step := range []struct {
		name       string
		sets       []toolset.Set
		superseded bool
	}{
		{"the same", []toolset.Set{{Name: "a", Servers: []string{"own", "odd"}}}, false},
		{"another toolset more", []toolset.Set{{Name: "a", Servers: []string{"own", "odd"}}, {Name: "b", Servers: []string{"all"}}}, false},
		{"a tool is hidden", []toolset.Set{{Name: "a", Servers: []string{"own", "odd"}, Exclude: []toolset.Pattern{{Server: "own", Name: "x"}}}}, true},
		{"some tools are left", []toolset.Set{{Name: "a", Tools: []toolset.Pattern{{Server: "own", Name: "*"}}}}, true},
		{"the toolset is gone", []toolset.Set{{Name: "b", Servers: []string{"own"}}}, true},
		{"all are gone", nil, true},
	} {
		common.Set(conf(step.sets...))
		if got := limited.IsSuperseded(was, "own"); got != step.superseded {
			t.Errorf("%s: superseded %v", step.name, got)
		}
		if free.IsSuperseded(free.InForce(), "own") || free.InForce() != common.InForce() {
			t.Errorf("%s: a session without toolsets is another", step.name)
		}
	}
	if now := limited.InForce(); len(now.Children) != 0 || now.Child("own") != nil {
		t.Errorf("a toolset that is gone shows %v", now.ChildNames())
	}
}
