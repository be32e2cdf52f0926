package catalog

import (
	"slices"
	"strings"
	"testing"

	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// builder makes a Builder for children of these names, in this order.
func builder(t *testing.T, names ...string) *Builder {
	t.Helper()
	cfg := Config{Names: Names{}.WithDefaults(), Limit: 1 << 20, Own: []HubTool{{Name: "own", Def: []byte(`{"name":"own"}`)}}}
	var known []validate.ChildConfig
	for _, name := range names {
		cfg.Children = append(cfg.Children, Child{Name: name, Prefix: name + "__"})
		known = append(known, validate.ChildConfig{Name: name})
	}
	var err error
	if cfg.Checker, err = validate.NewChecker(validate.Config{Home: t.TempDir(), Children: known}); err != nil {
		t.Fatal(err)
	}
	return NewBuilder(cfg)
}

// raw are entries of a list.
func raw(entries ...string) (all [][]byte) {
	for _, e := range entries {
		all = append(all, []byte(e))
	}
	return all
}

// listed returns the values of one member of all entries on the first page of a list.
func listed(c *Catalog, k offers.ListKind, member string) (all []string) {
	_ = jsonrpc.Elements(jsonrpc.Get(c.Pages(k).At(nil).Result, k.List().Member), func(entry []byte) bool {
		text, _ := jsonrpc.String(jsonrpc.Get(entry, member))
		all = append(all, text)
		return true
	})
	return all
}

// TestCollisions: no name shadows another. Tools and prompts of one name are all
// marked; of resources with one URI the first child's keeps it.
func TestCollisions(t *testing.T) {
	t.Parallel()
	b := builder(t, "a", "a__b")
	offer := func(name, tool, prompt string) *Offer {
		return b.Read(name, &offers.RawOffer{
			Entries: offers.Entries{
				offers.Tools:     raw(`{"name":"` + tool + `","inputSchema":{"type":"object"}}`),
				offers.Prompts:   raw(`{"name":"` + prompt + `"}`),
				offers.Resources: raw(`{"uri":"note://1","name":"n"}`),
			},
		})
	}
	c := b.Catalog(map[string]*Offer{"a": offer("a", "b__t", "b__p"), "a__b": offer("a__b", "t", "p")}) // both want a__b__t and a__b__p
	names := listed(c, offers.Tools, "name")
	if len(names) != 3 || names[0] != "own" || c.Tool("a__b__t") != nil {
		t.Fatalf("%q", names)
	}
	for i, want := range []struct{ child, ownName string }{{"a", "b__t"}, {"a__b", "t"}} {
		if got := c.Tool(names[i+1]); got == nil || got.Child != want.child || got.OwnName != want.ownName || got != c.ToolOf(want.child, want.ownName) {
			t.Errorf("%s is %v", names[i+1], got)
		}
	}
	prompts := listed(c, offers.Prompts, "name")
	if len(prompts) != 2 || prompts[0] == prompts[1] || c.Item(offers.Prompts, "a__b__p") != nil || c.Item(offers.Prompts, prompts[1]).Child != "a__b" {
		t.Errorf("%q", prompts)
	}
	const other = "mcphub://a__b/note://1"
	if got := listed(c, offers.Resources, "uri"); !slices.Equal(got, []string{"note://1", other}) {
		t.Errorf("%q", got)
	}
	for uri, want := range map[string]ResourceSource{"note://1": {"a", "note://1"}, other: {"a__b", "note://1"}} {
		if w := c.Sources(uri); !w.Certain || w.Likely[0] != want {
			t.Errorf("%s is of %v", uri, w)
		}
	}
	alone := b.Catalog(map[string]*Offer{"a": offer("a", "b__t", "b__p")})
	if alone.Tool("a__b__t") == nil || alone.Item(offers.Prompts, "a__b__p") == nil {
		t.Error("control: names are marked that nobody else wants")
	}
}

// TestReplaced: what another Builder read is on the lists and is not found.
func TestReplaced(t *testing.T) {
	t.Parallel()
	old, b := builder(t, "kid"), builder(t, "kid")
	entry := &offers.RawOffer{
		Entries: offers.Entries{offers.Tools: raw(`{"name":"t","inputSchema":{"type":"object"}}`), offers.Prompts: raw(`{"name":"p"}`), offers.Resources: raw(`{"uri":"note://1","name":"n"}`)},
	}
	for _, by := range []*Builder{old, b} {
		c := b.Catalog(map[string]*Offer{"kid": by.Read("kid", entry)})
		if !slices.Contains(listed(c, offers.Tools, "name"), "kid__t") || len(listed(c, offers.Prompts, "name")) != 1 || len(listed(c, offers.Resources, "uri")) != 1 {
			t.Error("it is not listed")
		}
		found := []bool{c.Tool("kid__t") != nil, c.ToolOf("kid", "t") != nil, c.Item(offers.Prompts, "kid__p") != nil, c.Item(offers.Resources, "note://1") != nil}
		if slices.Contains(found, by != b) {
			t.Errorf("read by the same Builder %t: found %v", by == b, found)
		}
	}
}

// TestSources: who lists something alike comes before who only has resources.
func TestSources(t *testing.T) {
	t.Parallel()
	b := builder(t, "none", "other", "alike", "fits")
	has := []byte(`{"resources":{}}`)
	c := b.Catalog(map[string]*Offer{
		"none":  b.Read("none", &offers.RawOffer{}),
		"other": b.Read("other", &offers.RawOffer{Capabilities: has}),
		"alike": b.Read("alike", &offers.RawOffer{Capabilities: has, Entries: offers.Entries{offers.Resources: raw(`{"uri":"NOTE://9","name":"n"}`)}}),
		"fits":  b.Read("fits", &offers.RawOffer{Capabilities: []byte(`{"resources":{"subscribe":true}}`), Entries: offers.Entries{offers.Templates: raw(`{"uriTemplate":"note://{id}","name":"n"}`)}}),
	})
	w := c.Sources("note://1")
	got := []string{}
	for _, rank := range [][]ResourceSource{w.Likely, w.SameScheme, w.Others} {
		for _, at := range rank {
			got = append(got, at.Child)
		}
		got = append(got, "|")
	}
	if strings.Join(got, " ") != "fits | alike | other |" || w.Certain {
		t.Errorf("%q, sure %t", got, w.Certain)
	}
	if c.IsSubscribable("alike") || !c.IsSubscribable("fits") {
		t.Error("who tells of changes")
	}
	if at, ok := c.OwnerOf("note://1", []string{"alike", "other"}); !ok || at.Child != "alike" {
		t.Errorf("of these it is %v, %t", at, ok)
	}
	if at := c.Addressed("mcphub://fits/note://2"); at == nil || at.Child != "fits" || at.OwnName != "note://2" {
		t.Errorf("%v", at)
	}
	if c.Addressed("mcphub://nobody/note://2") != nil {
		t.Error("a server that is not there is addressed")
	}
}

// TestTemplatesAreTheChilds: calls are judged by the templates of the instance that
// they go to. Where these are the ones of the catalogue, a call need not be scanned
// again.
func TestTemplatesAreTheChilds(t *testing.T) {
	t.Parallel()
	b := builder(t, "kid")
	offer := &offers.RawOffer{Entries: offers.Entries{offers.Templates: raw(`{"uriTemplate":"note://{id}","name":"n"}`, `{"uriTemplate":"file:///{path}","name":"f"}`)}}
	c := b.Catalog(map[string]*Offer{"kid": b.Read("kid", offer)})
	if got, want := c.TemplatesOf("kid"), TemplatesOf(offer); !slices.Equal(got, want) || len(want) != 2 {
		t.Errorf("%q, the child has %q", got, want)
	}
}

// TestCursors: a cursor belongs to exactly one list.
func TestCursors(t *testing.T) {
	t.Parallel()
	var defs, others [][]byte
	for range pageEntries + 1 {
		defs, others = append(defs, []byte(`1`)), append(others, []byte(`2`))
	}
	p, other := renderPages("tools", defs), renderPages("tools", others)
	next := jsonrpc.Get(p.At(nil).Result, "nextCursor")
	if got := string(p.At(next).Result); got != `{"tools":[1]}` {
		t.Errorf("the second page is %s", got)
	}
	if a := other.At(next); a.Error == nil || !strings.Contains(string(a.Error), "has changed") {
		t.Errorf("a cursor of another list is taken: %s", a.Result)
	}
	for _, cursor := range []string{`"x"`, `7`, `""`, `"` + p.pageCursor(0) + `"`, `"` + p.pageCursor(2) + `"`} {
		if a := p.At([]byte(cursor)); a.Error == nil {
			t.Errorf("%s is taken for a cursor", cursor)
		}
	}
}
