package toolset

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// home has three toolsets, a client and a project.
func home() *Table {
	return &Table{
		Sets:     []Set{{Name: "a", Servers: []string{"one"}, Instructions: "First."}, {Name: "b", Servers: []string{"two"}, Instructions: "Then."}, {Name: "c", Servers: []string{"three"}}},
		Clients:  map[string][]string{"codex": {"b"}},
		Projects: []Project{{Dirs: []string{filepath.FromSlash("/work/shop")}, Toolsets: []string{"c"}}},
	}
}

// Token and flag bound, the URL chooses within that, else the client and the project do; what no Set has shows nothing.
func TestChoice(t *testing.T) {
	t.Parallel()
	shop := []string{filepath.FromSlash("/elsewhere"), filepath.FromSlash("/work/shop/src")}
	for name, tc := range map[string]struct {
		said Claim
		want string // the names; "all": everything
	}{
		"nothing is said":                      {Claim{}, "all"},
		"a client without toolsets":            {Claim{Client: "cursor", Dirs: []string{filepath.FromSlash("/work/shopping")}}, "all"},
		"a folder above the project":           {Claim{Dirs: []string{filepath.FromSlash("/work")}}, "all"},
		"the token":                            {Claim{Bound: []string{"b", "a"}}, "a b"},
		"a token of no toolset":                {Claim{Bound: []string{}}, ""},
		"the flag":                             {Claim{Flag: []string{"c", "b", "gone"}}, "b c"},
		"the flag of one that is gone":         {Claim{Flag: []string{"gone"}}, ""},
		"token and flag":                       {Claim{Bound: []string{"a", "b"}, Flag: []string{"b", "c"}}, "b"},
		"token and flag have none in common":   {Claim{Bound: []string{"a"}, Flag: []string{"b"}}, ""},
		"the URL":                              {Claim{URL: "a"}, "a"},
		"a URL that is unknown":                {Claim{URL: "gone"}, ""},
		"the URL beyond the token":             {Claim{Bound: []string{"a"}, URL: "b"}, ""},
		"the URL within the token":             {Claim{Bound: []string{"a", "b"}, URL: "b"}, "b"},
		"the URL beyond the flag":              {Claim{Flag: []string{"a"}, URL: "b"}, ""},
		"the URL counts for more than a name":  {Claim{URL: "a", Client: "codex", Dirs: shop}, "a"},
		"the client":                           {Claim{Client: "codex"}, "b"},
		"the project":                          {Claim{Dirs: shop}, "c"},
		"the client and the project":           {Claim{Client: "codex", Dirs: shop}, "b c"},
		"a name opens nothing":                 {Claim{Bound: []string{"a"}, Client: "codex"}, ""},
		"a name within the token":              {Claim{Bound: []string{"a", "b"}, Client: "codex"}, "b"},
		"the flag counts for more than a name": {Claim{Flag: []string{"a"}, Client: "codex", Dirs: shop}, "a"},
	} {
		v := home().ViewOf(&tc.said)
		got := strings.Join(v.Names(), " ")
		if v == nil {
			got = "all"
		}
		if got != tc.want || v.IsEmpty() != (tc.want == "") {
			t.Errorf("%s: %q, want %q; empty %v", name, got, tc.want, v.IsEmpty())
		}
		for set, server := range map[string]string{"a": "one", "b": "two", "c": "three"} {
			want := tc.want == "all" || slices.Contains(v.Names(), set)
			if v.ShowsServer(server) != want || v.ShowsWhole(server) != want || v.ShowsTool(server, "x") != want || v.ShowsPrompt(server, "x") != want {
				t.Errorf("%s: %s is shown otherwise than %v", name, server, want)
			}
		}
	}
	if v := (*Table)(nil).ViewOf(&Claim{Flag: []string{"a"}}); !v.IsEmpty() || v.ShowsServer("one") {
		t.Error("without a table a toolset shows something")
	}
	if v := (&View{}); v.ShowsServer("one") || v.ShowsTool("one", "x") || v.ShowsWhole("one") || !v.IsEmpty() || v.Key() == (*View)(nil).Key() {
		t.Error("the zero View shows something")
	}
	if got := home().ViewOf(&Claim{Bound: []string{"b", "a"}}).Instructions(); got != "First.\n\nThen." {
		t.Errorf("instructions %q", got)
	}
}

// A file in a project chooses among what the session would have without it, and only what is selectable.
func TestChoiceOfAProject(t *testing.T) {
	t.Parallel()
	shop := []string{filepath.FromSlash("/work/tree/src")}
	for name, tc := range map[string]struct {
		said       Claim
		choice     []string
		selectable string
		want       string
	}{
		"one of all":                           {Claim{Dirs: shop}, []string{"a"}, "a b", "a"},
		"two of all":                           {Claim{Dirs: shop}, []string{"b", "a", "gone"}, "a b", "a b"},
		"one that is not selectable":           {Claim{Dirs: shop}, []string{"c", "a"}, "a b", "a"},
		"none that is selectable":              {Claim{Dirs: shop}, []string{"c", "gone"}, "a b", "all"},
		"nothing":                              {Claim{Dirs: shop}, nil, "a b", "all"},
		"a client of another folder":           {Claim{Dirs: []string{filepath.FromSlash("/work")}}, []string{"a"}, "a b", "all"},
		"a client of no folder":                {Claim{Client: "other"}, []string{"a"}, "a b", "all"},
		"beyond the client's":                  {Claim{Client: "codex", Dirs: shop}, []string{"a"}, "a b", "b"},
		"within the client's":                  {Claim{Client: "codex", Dirs: shop}, []string{"a", "b"}, "a b", "b"},
		"the flag counts for more":             {Claim{Flag: []string{"b", "c"}, Dirs: shop}, []string{"b"}, "a b", "b c"},
		"beyond the bound, it shows less":      {Claim{Bound: []string{"c"}, Dirs: shop}, []string{"a"}, "a b", ""},
		"within the bound":                     {Claim{Bound: []string{"a", "c"}, Dirs: shop}, []string{"a"}, "a b", "a"},
		"within what projects of hub.json say": {Claim{Dirs: []string{filepath.FromSlash("/work/shop"), shop[0]}}, []string{"a"}, "a b c", "c"},
	} {
		table := home()
		for i := range table.Sets {
			table.Sets[i].Selectable = slices.Contains(strings.Fields(tc.selectable), table.Sets[i].Name)
		}
		table.Choice = &Project{Dirs: []string{filepath.FromSlash("/work/tree")}, Toolsets: tc.choice}
		v := table.ViewOf(&tc.said)
		got := strings.Join(v.Names(), " ")
		if v == nil {
			got = "all"
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if !table.HasSelectable() {
			t.Errorf("%s: nothing is selectable", name)
		}
	}
	if home().HasSelectable() || (*Table)(nil).HasSelectable() {
		t.Error("without a mark something is selectable")
	}
}

// A pattern has two halves: of the server, and of its own names. What a server calls its tools opens none of another's.
func TestPatterns(t *testing.T) {
	t.Parallel()
	pattern := func(text string) Pattern {
		p, err := ParsePattern(text, "__")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	v := &View{sets: []*Set{
		{Name: "a", Servers: []string{"files"}, Tools: []Pattern{pattern("git*__get_*"), pattern("one__a__b")}, Exclude: []Pattern{pattern("*__*_secret")}},
		{Name: "b", Tools: []Pattern{pattern("db__*")}},
	}, names: []string{"a", "b"}}
	for name, want := range map[string]bool{
		"files/read": true, "files/read_secret": false, "github/get_issue": true, "gitlab/get_x/y": true, "github/get_secret": false, "github/delete": false,
		"one/a__b": true, "one/a": false, "evil/git__get_x": false, "evil/files": false, "db/drop": true, "db/a_secret": true, "other/x": false,
	} {
		server, tool, _ := strings.Cut(name, "/")
		if got := v.ShowsTool(server, tool); got != want {
			t.Errorf("%s is shown: %v", name, got)
		}
		if reasons := v.WhyHidden(server, tool); (len(reasons) == 0) != want || !want && len(reasons) != 2 {
			t.Errorf("%s: %v", name, reasons)
		}
	}
	for server, want := range map[string]bool{"files": true, "github": true, "db": true, "evil": false, "fil": false} {
		if v.ShowsServer(server) != want || v.ShowsWhole(server) != (server == "files") || v.ShowsPrompt(server, "x") != (server == "files") {
			t.Errorf("%s is shown otherwise than %v", server, want)
		}
	}
	if v.ShowsPrompt("files", "a_secret") {
		t.Error("a prompt that is excluded is shown")
	}
	for _, bad := range []string{"", "read_*", "__read", "files__", "fi[les__read", "files__rea[d"} {
		if p, err := ParsePattern(bad, "__"); err == nil {
			t.Errorf("%q is %+v", bad, p)
		}
	}
	if p, err := ParsePattern("files--a__b", "--"); err != nil || p != (Pattern{"files", "a__b"}) {
		t.Errorf("%+v %v", p, err)
	}
	for name, want := range map[string]bool{"web": true, "a.b-c_1": true, "": false, ".": false, "..": false, "a/b": false, "a b": false, "ä": false, strings.Repeat("a", 65): false} {
		if IsName(name) != want {
			t.Errorf("%q is a name: %v", name, !want)
		}
	}
}
