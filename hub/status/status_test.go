package status

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/validate"
)

// TestChildren holds that every instance is reported, by the name of its child, and a child without one as well.
func TestChildren(t *testing.T) {
	t.Parallel()
	all := []configuration.Child{{Spec: spec.Spec{Name: "b", Command: "run"}}, {Spec: spec.Spec{Name: "a"}}}
	key := spec.Key{Child: "a", Instance: "s"}
	running := children.Status{Key: key, State: children.Ready, Args: []string{"--api-key", "hush"}, Err: "red\x1b[31m"}
	got := Children(all, []children.Status{running}, nil, nil, func(k spec.Key) []string { return []string{k.Instance} })
	if len(got) != 2 || got[0].Server != "a" || got[0].State != "ready" || got[0].Sessions[0] != "s" || got[1].Server != "b" || got[1].State != "configured" || got[1].Command != "run" {
		t.Fatalf("%+v", got)
	}
	text, err := json.Marshal(got)
	if err != nil || strings.Contains(string(text), "hush") || strings.Contains(string(text), "[31m") && strings.Contains(string(text), `\u001b`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestDefinitions holds that what is left out or mended of a server is named with the member, and that no name of a server controls a terminal.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	checker, err := validate.NewChecker(validate.Config{Home: t.TempDir(), Children: []validate.ChildConfig{{Name: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	by := catalog.NewBuilder(catalog.Config{Names: catalog.Names{}.WithDefaults(), Limit: 1 << 20, Children: []catalog.Child{{Name: "a"}}, Checker: checker})
	offer := by.Read("a", &offers.RawOffer{Entries: offers.Entries{
		offers.Tools:   [][]byte{[]byte(`{"name":"t","inputSchema":{"required":null,"properties":{"\u001b[31m":7}}}`), []byte(`{"name":"u","inputSchema":7}`)},
		offers.Prompts: [][]byte{[]byte(`{"name":"p","arguments":null}`)},
	}})
	all := map[string]*catalog.Offer{"a": offer}
	of := Children([]configuration.Child{{Spec: spec.Spec{Name: "a"}}}, nil, all, nil, nil)[0]
	conf, err := configuration.New(configuration.Settings{Checker: checker, Children: []configuration.Child{{Spec: spec.Spec{Name: "a"}}}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	listed := ServersOf(by.Catalog(all), conf, "", func(string) children.Status { return children.Status{State: children.Ready} }, nil).Servers
	if len(listed) != 1 {
		t.Fatalf("%+v", listed)
	}
	for what, omissions := range map[string][2][]Omission{"of status": {of.NotOffered, of.Mended}, "of list-tools": {listed[0].NotOffered, listed[0].Mended}} {
		if got, want := omissions, ([2][]Omission{
			{{"u", "its member /inputSchema is no object"}},
			{{"t", `inputSchema/required is left out: it is null; inputSchema/type is added: "object"; for clients before 2026-07-28: its member /inputSchema/properties/\x1b[31m is no object, so that they do not get it`}, {"prompt p", "arguments is left out: it is null"}},
		}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestConfinement holds that nothing is said of a child that is not to be confined.
func TestConfinement(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		report sandbox.Report
		want   string
	}{
		{sandbox.Report{Mode: sandbox.Off, Lacks: []string{"x"}}, `{}`},
		{sandbox.Report{Mode: sandbox.Auto, State: sandbox.Partial, Lacks: []string{"x"}}, `{"kernel":"partial","kernelLacks":["x"]}`},
	} {
		if text, err := json.Marshal(ConfinementOf(tc.report)); err != nil || string(text) != tc.want {
			t.Errorf("%s, want %s; %v", text, tc.want, err)
		}
	}
}

// Who is not the user of this machine is not told in which folder hub.json lies, nor of servers that are denied to him.
func TestOnlyTheOperatorIsTold(t *testing.T) {
	t.Parallel()
	config := &Config{File: "/home/u/conf/hub.json", LastError: "/home/u/conf/hub.json:3: no", Waiting: "/home/u/conf/hub.json waits"}
	r := Roots{Config: config, Policy: &Policy{Rules: []Rule{
		{Name: "secret", servers: []string{"kid"}, At: "/home/u/conf/hub.json:5"},
		{Name: "both", servers: []string{"kid", "other"}, At: "/home/u/conf/hub.json:6"},
		{Name: "all"},
		{Name: "secret too", servers: []string{"ki*"}},
		{Name: "some", servers: []string{"oth*"}, At: "/home/u/conf/hub.json:7"},
	}}}
	r.HideOperator([]string{"other"})
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), "/home/") || strings.Contains(string(text), "secret") {
		t.Errorf("%s %v", text, err)
	}
	if len(r.Policy.Rules) != 3 || r.Policy.Rules[0].At != "hub.json:6" || r.Policy.Rules[1].At != "" || r.Config.LastError != "hub.json:3: no" {
		t.Errorf("%+v %+v", r.Policy, r.Config)
	}
	if config.File != "/home/u/conf/hub.json" {
		t.Error("the operator is told no more")
	}
	none := Roots{}
	none.HideOperator(nil)
}
