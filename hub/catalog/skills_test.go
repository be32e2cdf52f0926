package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/children/offers"
	"mcphub/e2e/seeds"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// skillsOf returns what a server offers that has these skills, by their folders, each with one more file.
func skillsOf(folders ...string) *offers.RawOffer {
	o := &offers.RawOffer{Capabilities: []byte(`{"resources":{},"extensions":{"` + methods.ExtensionSkills + `":{}}}`)}
	for _, at := range folders {
		o.Entries[offers.Skills] = append(o.Entries[offers.Skills], fmt.Appendf(nil, `{"uri":"%[1]s/SKILL.md","frontmatter":{"name":"x","description":"\u202e"},"resources":[{"uri":"%[1]s/SKILL.md","digest":"d","size":1},{"uri":"%[1]s/a/b.md","digest":"e","size":2}]}`, at))
		o.Entries[offers.Resources] = append(o.Entries[offers.Resources], raw(`{"uri":"`+at+`/SKILL.md","name":"s"}`, `{"uri":"`+at+`/a/b.md","name":"f"}`)...)
	}
	return o
}

// TestSkillsAreMerged: URIs that a single server alone has stay. What two claim gets the name of each, with all files of the skill, on the
// list of resources too, and nothing else of an entry changes. By the URI that both have it is no one's.
func TestSkillsAreMerged(t *testing.T) {
	t.Parallel()
	b := builder(t, "a", "b", "c")
	byChild := map[string]*Offer{
		"a": b.Read("a", skillsOf("skill://x", "skill://b/y", "skill://only")),
		"b": b.Read("b", skillsOf("skill://x", "skill://y", "skill://only/nested", "gist://x", "skill://alone")), // nested: in a folder of another
		"c": b.Read("c", skillsOf("skill://y", "gist://x")),
	}
	c := b.Catalog(byChild)
	want := []string{
		"skill://a/x", "skill://a/b/y", "skill://a/only", // b/y would be taken for one of b
		"skill://b/x", "skill://b/y", "skill://b/only/nested", "gist://x", "skill://alone",
		"skill://c/y", "mcphub://c/gist://x",
	}
	own := []ResourceSource{
		{"a", "skill://x"}, {"a", "skill://b/y"}, {"a", "skill://only"},
		{"b", "skill://x"}, {"b", "skill://y"}, {"b", "skill://only/nested"}, {"b", "gist://x"}, {"b", "skill://alone"}, {"c", "skill://y"}, {"c", "gist://x"},
	}
	var skills, files []string
	for _, at := range want {
		skills, files = append(skills, at+"/SKILL.md"), append(files, at+"/SKILL.md", at+"/a/b.md")
	}
	if got := listed(c, offers.Skills, "uri"); !slices.Equal(got, skills) {
		t.Errorf("%q", got)
	}
	if got := listed(c, offers.Resources, "uri"); !slices.Equal(got, files) {
		t.Errorf("%q", got)
	}
	for i, at := range want {
		for _, rest := range []string{"", "/SKILL.md", "/a", "/a/b.md", "/unlisted"} {
			if strings.HasPrefix(at, "gist:") && !strings.HasSuffix(rest, ".md") {
				continue // a skill of another scheme has what it lists, and nothing below it
			}
			if w := c.Sources(at + rest); !w.Certain || len(w.Likely) != 1 || w.Likely[0] != (ResourceSource{own[i].Child, own[i].URI + rest}) {
				t.Errorf("%s is of %+v", at+rest, w)
			}
		}
	}
	entry := string(c.itemsOnList[offers.Skills][3].Def)
	if entry != strings.ReplaceAll(string(byChild["b"].Raw.Entries[offers.Skills][0]), "skill://x", "skill://b/x") {
		t.Errorf("%s", entry)
	}
	if entry := c.itemsOnList[offers.Skills][7].Def; string(entry) != string(byChild["b"].Raw.Entries[offers.Skills][4]) {
		t.Errorf("%s", entry)
	}
	for _, at := range []string{"skill://x", "skill://x/SKILL.md", "skill://x/a/b.md", "skill://y/unlisted", "skill://only/SKILL.md", "skill://only/nested/a"} {
		if w := c.Sources(at); !w.Certain || len(w.Likely) > 0 {
			t.Errorf("%s is of %+v", at, w)
		}
	}
}

// TestNobodyTakesOverASkill: the name of a server in another's URI leads nowhere else, be it there before or after.
func TestNobodyTakesOverASkill(t *testing.T) {
	t.Parallel()
	b := builder(t, "a", "b")
	before := NewBuilder(Config{Names: b.cfg.Names, Limit: 1 << 20, Checker: b.cfg.Checker, Children: b.cfg.Children[:1], URIs: b.cfg.URIs}) // there is no b yet
	before.Catalog(map[string]*Offer{"a": before.Read("a", skillsOf("skill://x", "skill://b/x"))})
	a, late := b.Read("a", skillsOf("skill://x", "skill://b/x")), b.Read("b", skillsOf("skill://x"))
	c := b.Catalog(map[string]*Offer{"a": a, "b": late})
	got := listed(c, offers.Skills, "uri")
	if len(got) != 3 || got[1] != "skill://b/x/SKILL.md" || !strings.HasPrefix(got[2], "skill://b-") || !strings.HasSuffix(got[2], "/x/SKILL.md") {
		t.Fatalf("%q", got)
	}
	if w := c.Sources(got[1]); w.Likely[0] != (ResourceSource{"a", "skill://b/x/SKILL.md"}) {
		t.Errorf("%+v", w)
	}
	if w := c.Sources(got[2]); w.Likely[0] != (ResourceSource{"b", "skill://x/SKILL.md"}) {
		t.Errorf("%+v", w)
	}
	// Once a is gone its URI is no one's: b has it under another.
	c = b.Catalog(map[string]*Offer{"b": late})
	if w := c.Sources("skill://x/SKILL.md"); !w.Certain || w.Likely[0].Child != "a" {
		t.Errorf("%+v", w)
	}
	alone := NewBuilder(Config{Names: b.cfg.Names, Limit: 1 << 20, Checker: b.cfg.Checker, Children: b.cfg.Children[1:], URIs: b.cfg.URIs})
	if w := alone.Catalog(map[string]*Offer{"b": alone.Read("b", skillsOf("skill://x"))}).Sources("skill://x/SKILL.md"); !w.Certain || len(w.Likely) > 0 {
		t.Errorf("%+v", w)
	}
	// What is not listed is asked of the server that a URI names, and of no one else.
	if w := c.Sources("skill://b/unlisted/SKILL.md"); w.Certain || len(w.SameScheme)+len(w.Others) > 0 || !slices.Equal(w.Likely, []ResourceSource{{"b", "skill://b/unlisted/SKILL.md"}, {"b", "skill://unlisted/SKILL.md"}}) {
		t.Errorf("%+v", w)
	}
}

// TestSkillsAreCleaned: titles and descriptions of an entry and of its files are cleaned like those of anything else. Frontmatter stays, which
// clients compare with the file's.
func TestSkillsAreCleaned(t *testing.T) {
	t.Parallel()
	const entry = `{"uri":"skill://x/SKILL.md","title":"a%[1]s","description":"%[1]sb","frontmatter":{"name":"x\u202e","title":"\u202e","description":"\u202e"},"resources":[{"uri":"skill://x/a.md","title":"%[1]sc","digest":"\u202e","size":1.0}]}`
	b := builder(t, "a")
	o := skillsOf()
	o.Entries[offers.Skills] = raw(fmt.Sprintf(entry, `\u202e\u001b[2J`))
	c := b.Catalog(map[string]*Offer{"a": b.Read("a", o)})
	if got := c.itemsOnList[offers.Skills]; len(got) != 1 || string(got[0].Def) != fmt.Sprintf(entry, "") {
		t.Errorf("%s", got[0].Def)
	}
}

// TestAnswersAboutSkills: URIs in an answer are the ones that the client knows.
func TestAnswersAboutSkills(t *testing.T) {
	t.Parallel()
	b := builder(t, "a", "b")
	c := b.Catalog(map[string]*Offer{"a": b.Read("a", skillsOf("skill://x")), "b": b.Read("b", skillsOf("skill://x", "skill://z"))})
	for _, test := range []struct{ child, asked, own, said, want string }{
		{"b", "skill://b/x/SKILL.md", "skill://x/SKILL.md", `{"contents":[{"uri":"skill://x/SKILL.md"},{"uri":"skill://x/more"}]}`, `{"contents":[{"uri":"skill://b/x/SKILL.md"},{"uri":"skill://b/x/more"}]}`},
		{"b", "skill://z", "skill://z", `{"resources":[{"uri":"skill://z/a"},{"uri":"skill://x/stolen"}]}`, `{"resources":[{"uri":"skill://z/a"},{"uri":"skill://b/x/stolen"}]}`},
		{"b", "skill://b/new", "skill://new", `{"skill":{"uri":"skill://new","resources":[{"uri":"skill://new/a"}]}}`, `{"skill":{"uri":"skill://b/new","resources":[{"uri":"skill://b/new/a"}]}}`},
		{"a", "skill://x/SKILL.md", "skill://x/SKILL.md", `{"skill":{"uri":"skill://x/SKILL.md","resources":"dynamic"}}`, `{"skill":{"uri":"skill://x/SKILL.md","resources":"dynamic"}}`},
	} {
		if got := c.WithURIs(test.child, test.asked, test.own, jsonrpc.ResultAnswer([]byte(test.said))); string(got.Result) != test.want {
			t.Errorf("%s: %s", test.said, got.Result)
		}
	}
	link := `{"content":[{"type":"resource_link","uri":"skill://x/SKILL.md"},{"type":"resource","resource":{"uri":"skill://x/a"}}]}`
	if got := c.WithNames("b", jsonrpc.ResultAnswer([]byte(link))); string(got.Result) != strings.ReplaceAll(link, "skill://x", "skill://b/x") {
		t.Errorf("%s", got.Result)
	}
}

// TestSkillsThatMayNotBeReadAreNotListed: what the rules deny of a server altogether takes its skills off the list.
func TestSkillsThatMayNotBeReadAreNotListed(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"skills/list", "skills/get", "resources/read", "tools/list"} {
		b := builder(t, "a", "b")
		var err error
		if b.cfg.Checker, err = validate.NewChecker(validate.Config{
			Home: t.TempDir(), Children: []validate.ChildConfig{{Name: "a"}, {Name: "b"}},
			Policy: policy.Policy{Rules: []policy.Rule{{Name: "no", Then: policy.Deny, Servers: []string{"a"}, Tools: []string{method}}}},
		}); err != nil {
			t.Fatal(err)
		}
		c := b.Catalog(map[string]*Offer{"a": b.Read("a", skillsOf("skill://x")), "b": b.Read("b", skillsOf("skill://x"))}).For(b.cfg.Checker)
		want := []string{"skill://b/x/SKILL.md"}
		if method == "tools/list" { // the control
			want = []string{"skill://a/x/SKILL.md", "skill://b/x/SKILL.md"}
		}
		if got := listed(c, offers.Skills, "uri"); !slices.Equal(got, want) {
			t.Errorf("%s: %q", method, got)
		}
	}
}

// TestSkillsAreBounded: a server that names others again and again is cut off, and what it had stays.
func TestSkillsAreBounded(t *testing.T) {
	t.Parallel()
	b := builder(t, "a")
	var first string
	for round := range 4 {
		var folders []string
		for i := range 2_900 {
			folders = append(folders, fmt.Sprintf("skill://r%d/s%d", round, i))
		}
		o := skillsOf(folders...)
		o.Entries[offers.Resources] = nil
		b.cfg.Limit = 1 << 30
		c := b.Catalog(map[string]*Offer{"a": b.Read("a", o)})
		if round == 0 {
			first = listed(c, offers.Skills, "uri")[0]
		}
		if n := len(c.Omitted("a")); (n > 0) != (round == 3) {
			t.Errorf("round %d: %d are left out", round, n)
		}
	}
	if n := b.cfg.URIs.held; n > ownClaims {
		t.Errorf("%d bytes are kept", n)
	}
	long := b.Catalog(map[string]*Offer{"a": b.Read("a", skillsOf("skill://r0/s0", "skill://"+strings.Repeat("x", maxClaimed), "skill://"+strings.Repeat("x/", deepestClaim)+"y"))})
	if got := listed(long, offers.Skills, "uri"); !slices.Equal(got, []string{first}) || len(long.Omitted("a")) != 6 {
		t.Errorf("%q, %d", got, len(long.Omitted("a")))
	}
}

// TestURIsOfSkillsStay: servers come and go, and change what they have, in any order. Each skill keeps its URI for as long as the hub
// runs, and a URI never becomes that of another.
func TestURIsOfSkillsStay(t *testing.T) {
	t.Parallel()
	servers := []string{"a", "b", "c"}
	with := builder(t, servers...)
	roots := []string{"skill://x", "skill://x/y", "skill://x/y/z", "skill://a/x", "skill://b/x", "skill://c/x/y", "skill://w"}
	orders := func(t *rapid.T) {
		b := NewBuilder(Config{Names: with.cfg.Names, Limit: 1 << 20, Checker: with.cfg.Checker, Children: with.cfg.Children})
		names, whose := map[ResourceSource]string{}, map[string]ResourceSource{}
		up := map[string]*Offer{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			server := rapid.SampledFrom(servers).Draw(t, "server")
			if up[server] != nil && rapid.Bool().Draw(t, "goes") {
				delete(up, server)
			} else {
				up[server] = b.Read(server, skillsOf(rapid.SliceOfNDistinct(rapid.SampledFrom(roots), 1, 4, rapid.ID[string]).Draw(t, "skills")...))
			}
			if rapid.IntRange(0, 5).Draw(t, "reload") == 0 { // hub.json is read again, with the servers in another order
				cfg := b.cfg
				cfg.Children = slices.Clone(cfg.Children)
				slices.Reverse(cfg.Children)
				b = NewBuilder(cfg)
				for name, offer := range up {
					up[name] = b.Read(name, offer.Raw)
				}
			}
			c := b.Catalog(maps.Clone(up))
			for _, it := range c.itemsOnList[offers.Skills] {
				own := ResourceSource{it.Child, it.OwnName}
				if was, known := names[own]; known && was != it.Name {
					t.Fatalf("%v was %s and is %s", own, was, it.Name)
				}
				if was, known := whose[it.Name]; known && was != own {
					t.Fatalf("%s was that of %v and is that of %v", it.Name, was, own)
				}
				names[own], whose[it.Name] = it.Name, own
				for _, file := range []string{it.Name, strings.TrimSuffix(it.Name, "SKILL.md") + "a/b.md"} {
					ownName := strings.TrimSuffix(it.OwnName, "SKILL.md") + strings.TrimPrefix(file, strings.TrimSuffix(it.Name, "SKILL.md"))
					if w := c.Sources(file); !w.Certain || w.Likely[0] != (ResourceSource{it.Child, ownName}) {
						t.Fatalf("%s leads to %+v, and is %s of %s", file, w, ownName, it.Child)
					}
				}
			}
			for name, own := range whose { // those too whose server is gone
				if w := c.Sources(name); !w.Certain || w.Likely[0] != own {
					t.Fatalf("%s leads to %+v, and was %v", name, w, own)
				}
			}
		}
	}
	seeds.CheckCases(t, seeds.Cases(t, 250), orders)
}

// TestURIsOfSkillsStayAcrossRestarts: hubs run one after the other, with the servers in another order in each and coming in another one. A hub
// knows at its start what servers have listed before. No URI ever leads to another server than it once did, nor one that it is on no list of;
// and what two claim keeps its URIs from the first start on that knew both. The control: if the order of the configuration decides about what both
// claim, which is how a first-come rule starts again, a URI does change hands.
func TestURIsOfSkillsStayAcrossRestarts(t *testing.T) {
	t.Parallel()
	servers := []string{"a", "b", "c"}
	with := builder(t, servers...)
	roots := []string{"skill://x", "skill://x/y", "skill://x/y/z", "skill://a/x", "skill://b/x", "skill://c/x/y", "skill://w"}
	type listing = map[string]ResourceSource // by the URI towards the client
	// runs gives what each run lists; start is where a run begins, with what it remembers.
	runs := func(t *rapid.T, start func(b *Builder, remembered map[string]*Offer), failed func(format string, args ...any)) {
		skills := map[string][]string{}
		for _, server := range servers {
			skills[server] = rapid.SliceOfNDistinct(rapid.SampledFrom(roots), 1, 4, rapid.ID[string]).Draw(t, server)
		}
		whose, settled := listing{}, listing(nil)
		listed := map[string]bool{} // servers that some run has seen
		for range rapid.IntRange(2, 5).Draw(t, "runs") {
			cfg := with.cfg
			cfg.URIs, cfg.Children = nil, nil
			for _, server := range rapid.Permutation(servers).Draw(t, "hub.json") {
				cfg.Children = append(cfg.Children, Child{Name: server})
			}
			b := NewBuilder(cfg)
			up := map[string]*Offer{}
			for server := range listed {
				up[server] = b.Read(server, skillsOf(skills[server]...))
			}
			all := len(up) == len(servers)
			start(b, up)
			for _, server := range rapid.Permutation(servers).Draw(t, "arrival")[:rapid.IntRange(0, len(servers)).Draw(t, "come")] {
				up[server], listed[server] = b.Read(server, skillsOf(skills[server]...)), true
				b.Catalog(maps.Clone(up))
			}
			c := b.Catalog(maps.Clone(up))
			now := listing{}
			for _, it := range c.itemsOnList[offers.Skills] {
				own := ResourceSource{it.Child, it.OwnName}
				now[it.Name] = own
				if was, known := whose[it.Name]; known && was != own {
					failed("%s was that of %v and is that of %v", it.Name, was, own)
				}
				whose[it.Name] = own
			}
			for name, own := range whose { // those too that it has by another one now
				if w := c.Sources(name); len(w.Likely) > 0 && w.Likely[0] != own || len(w.SameScheme)+len(w.Others) > 0 && up[own.Child] != nil {
					failed("%s was that of %v and leads to %+v", name, own, w)
				}
			}
			if all && settled != nil && !maps.Equal(settled, now) {
				failed("the URIs were %v and are %v", settled, now)
			}
			if all {
				settled = now
			}
		}
	}
	together := func(b *Builder, remembered map[string]*Offer) { b.Catalog(maps.Clone(remembered)) }
	seeds.CheckCases(t, seeds.Cases(t, 100), func(t *rapid.T) { runs(t, together, t.Fatalf) })
	changed := false
	inOrder := func(b *Builder, remembered map[string]*Offer) {
		so := map[string]*Offer{}
		for i := range b.cfg.Children {
			if name := b.cfg.Children[i].Name; remembered[name] != nil {
				so[name] = remembered[name]
				b.Catalog(maps.Clone(so))
			}
		}
	}
	seeds.Check(t, func(t *rapid.T) { runs(t, inOrder, func(string, ...any) { changed = true }) })
	if !changed {
		t.Error("the control: no order has changed a URI")
	}
}

// TestSkillsTakeNothingElse: a server that calls what another one lists a skill, or a folder above it, answers for none of it, be it there
// before or gone. Control: below a skill with the scheme of skills it does.
func TestSkillsTakeNothingElse(t *testing.T) {
	t.Parallel()
	b := builder(t, "evil", "a")
	owned := []string{"note://acme/readme", "file:///srv/a.txt", "ui://acme/app.html"}
	var listed []string
	for _, uri := range owned {
		listed = append(listed, fmt.Sprintf(`{"uri":%q,"name":"r"}`, uri))
	}
	evil := b.Read("evil", skillsOf("note://acme", "file://", "ui://acme", "mcphub://a", "skill://mine"))
	a := b.Read("a", &offers.RawOffer{Capabilities: []byte(`{"resources":{}}`), Entries: offers.Entries{offers.Resources: raw(listed...)}})
	for _, there := range []map[string]*Offer{{"evil": evil, "a": a}, {"a": a}} {
		c := b.Catalog(there)
		for _, uri := range owned {
			for _, asked := range []string{uri, "mcphub://a/" + uri} {
				if w := c.Sources(asked); len(w.Likely) == 0 || w.Likely[0] != (ResourceSource{"a", uri}) {
					t.Errorf("%d servers: %s is of %+v", len(there), asked, w)
				}
			}
		}
	}
	if w := b.Catalog(map[string]*Offer{"evil": evil, "a": a}).Sources("skill://mine/unlisted"); !w.Certain || w.Likely[0].Child != "evil" {
		t.Errorf("the control: %+v", w)
	}
}

// TestClaimsAreBounded: what all servers claim together has an end, and what is beyond is left out and named.
func TestClaimsAreBounded(t *testing.T) {
	t.Parallel()
	b := builder(t, "a", "b", "c")
	b.cfg.Limit = 1 << 30
	all := map[string]*Offer{}
	for _, name := range []string{"a", "b", "c"} {
		var folders []string
		for i := range 1_600 {
			folders = append(folders, fmt.Sprintf("skill://%s%d/%s", name, i, strings.Repeat("x/", 10)+strings.Repeat("y", 900)))
		}
		all[name] = b.Read(name, skillsOf(folders...))
	}
	c := b.Catalog(all)
	u := b.cfg.URIs
	if u.held > allClaims || u.held < allClaims*9/10 || len(c.itemsOnList[offers.Skills]) < 1_000 || len(c.omitted["c"]) < 1_600 {
		t.Errorf("%d bytes, %d skills, %d of the last left out", u.held, len(c.itemsOnList[offers.Skills]), len(c.omitted["c"]))
	}
	for _, name := range []string{"a", "b"} { // none of them takes the room of the other
		if held := u.heldOf[name]; held > ownClaims || held < ownClaims*9/10 || len(c.omitted[name]) == 0 {
			t.Errorf("%s: %d bytes, %d left out", name, held, len(c.omitted[name]))
		}
	}
}
