package catalog

import (
	"slices"
	"strings"
	"testing"

	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
)

// TestBrokenDefinitions: clients of each era get what their SDK reads. What was mended and what is left out is named, with the member.
// Whatever compares what a server defined has the server's own bytes.
func TestBrokenDefinitions(t *testing.T) {
	t.Parallel()
	const good, mended, modern, results, broken = `{ "name":"good", "inputSchema":{"type":"object"}, "x":1.0 }`, `{"name":"mended","annotations":null,"inputSchema":{"properties":{"n":{"type":"integer"}},"required":null}}`,
		`{"name":"modern","inputSchema":{"type":"object","properties":{"n":"text"}}}`, `{"name":"results","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`, `{"name":"broken","inputSchema":{"type":"array"}}`
	entries := offers.Entries{
		offers.Tools:     raw(broken, good, mended, modern, results),
		offers.Prompts:   raw(`{"name":"p","arguments":{}}`, `{"name":"q","arguments":null}`, `{"name":"r"}`),
		offers.Resources: raw(`{"uri":"note://1","name":"n","size":"much"}`, `{"uri":"note://2","name":"n","mimeType":null}`),
		offers.Templates: raw(`{"uriTemplate":"note://{id}"}`, `{"uriTemplate":"note:{id}","name":"n","title":null}`),
	}
	var before []string
	for _, list := range entries {
		for _, entry := range list {
			before = append(before, string(entry))
		}
	}
	b := builder(t, "kid")
	given := &offers.RawOffer{Entries: entries}
	o := b.Read("kid", given)
	var after []string
	for _, list := range o.Raw.Entries {
		for _, entry := range list {
			after = append(after, string(entry))
		}
	}
	if o.Raw != given || !slices.Equal(before, after) {
		t.Errorf("the server's own bytes have become %q", after)
	}
	named := func(all []Omission) string {
		var lines []string
		for _, left := range all {
			lines = append(lines, left.Name+": "+left.Reason)
		}
		return strings.Join(lines, "\n")
	}
	if got, want := named(o.Omitted), `broken: its member /inputSchema/type is not "object"
prompt p: its member /arguments is no list
resource note://1: its member /size is no number
resource template note://{id}: its member /name is missing`; got != want {
		t.Errorf("left out:\n%s\nwant:\n%s", got, want)
	}
	if got, want := named(o.Mended), `mended: annotations is left out: it is null; inputSchema/required is left out: it is null; inputSchema/type is added: "object"
modern: for clients before 2026-07-28: its member /inputSchema/properties/n is no object, so that they do not get it
results: for clients before 2026-07-28: outputSchema is left out: its member /outputSchema/type is not "object"
prompt q: arguments is left out: it is null
resource note://2: mimeType is left out: it is null
resource template note:{id}: title is left out: it is null`; got != want {
		t.Errorf("mended:\n%s\nwant:\n%s", got, want)
	}

	c := b.Catalog(map[string]*Offer{"kid": o})
	const asMended = `{"name":"kid__mended","inputSchema":{"properties":{"n":{"type":"integer"}},"type":"object"}}`
	ofAll := []string{`{"name":"own"}`, strings.Replace(good, "good", "kid__good", 1), asMended}
	for _, tc := range []struct {
		who  string
		list *Pages
		want []string
	}{
		{"before 2026-07-28", c.Pages(offers.Tools), append(slices.Clone(ofAll), `{"name":"kid__results","inputSchema":{"type":"object"}}`)},
		{"of 2026-07-28", c.PagesModern(offers.Tools), append(slices.Clone(ofAll), strings.Replace(modern, `"modern"`, `"kid__modern"`, 1), strings.Replace(results, `"results"`, `"kid__results"`, 1))},
		{"for all", c.PagesModern(offers.Prompts), []string{`{"name":"kid__q"}`, `{"name":"kid__r"}`}},
		{"for all", c.Pages(offers.Resources), []string{`{"uri":"note://2","name":"n"}`}},
		{"for all", c.Pages(offers.Templates), []string{`{"uriTemplate":"note:{id}","name":"n"}`}},
	} {
		var got []string
		_ = jsonrpc.Members(tc.list.At(nil).Result, func(_ string, list []byte) bool {
			if list[0] == '[' {
				_ = jsonrpc.Elements(list, func(entry []byte) bool { got = append(got, string(entry)); return true })
			}
			return true
		})
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q\nwant %q", tc.who, got, tc.want)
		}
	}

	// Calls are judged by the schema as it is mended: "required": null alone would leave a tool without a schema.
	for name, reason := range map[string]string{"mended": "", "good": "", "modern": "schema"} {
		tool := c.ToolOf("kid", name)
		if tool == nil {
			t.Fatalf("%s is not there", name)
		}
		if note := tool.Note(); (note == "") != (reason == "") {
			t.Errorf("%s: %q", name, note)
		}
	}
	if control, err := b.cfg.Checker.PrepareTool("kid", "", []byte(mended)); err != nil || control.SchemaError() == nil {
		t.Errorf("control: the definition of the server has a schema: %v", err)
	}
	for args, refused := range map[string]bool{`{"n":"x"}`: true, `{"n":1}`: false} {
		if _, err := b.cfg.Checker.Scan(c.ToolOf("kid", "mended").Checked, []byte(args)); (err != nil) != refused {
			t.Errorf("a call with %s: %v", args, err)
		}
	}
}

// TestIdentifiersOfResults: v1 of the SDK takes two schemas of results with one identifier for one. The first child of the configuration keeps it, for whatever
// reason another one has it too. Clients of 2026-07-28 get both as they are.
func TestIdentifiersOfResults(t *testing.T) {
	t.Parallel()
	b := builder(t, "a", "b")
	def := func(name, id, more string) string {
		return `{"name":"` + name + `","inputSchema":{"type":"object"},"outputSchema":{` + id + `"type":"object"` + more + `}}`
	}
	const id = `"$id":"Result",`
	mine, own := def("mine", id, ""), def("own", `"$id":"Other",`, "")
	c := b.Catalog(map[string]*Offer{
		"a": b.Read("a", &offers.RawOffer{Entries: offers.Entries{offers.Tools: raw(mine, def("again", id, `,"x":1.0`))}}),
		"b": b.Read("b", &offers.RawOffer{Entries: offers.Entries{offers.Tools: raw(own, def("theirs", id, `,"required":["n"]`), def("twice", `"$id":"New","\u0024id":"Result",`, ""))}}),
	})
	asListed := func(list *Pages) string { return string(jsonrpc.Get(list.At(nil).Result, "tools")) }
	prefixed := func(child string, defs ...string) (all []string) {
		for _, def := range defs {
			all = append(all, strings.Replace(def, `"name":"`, `"name":"`+child+`__`, 1))
		}
		return all
	}
	for list, want := range map[string][]string{
		asListed(c.Pages(offers.Tools)): slices.Concat(prefixed("a", mine, def("again", id, `,"x":1.0`)),
			prefixed("b", own, def("theirs", "", `,"required":["n"]`), def("twice", "", ""))),
		asListed(c.PagesModern(offers.Tools)): slices.Concat(prefixed("a", mine, def("again", id, `,"x":1.0`)),
			prefixed("b", own, def("theirs", id, `,"required":["n"]`), def("twice", `"$id":"New","\u0024id":"Result",`, ""))),
	} {
		if want := `[{"name":"own"},` + strings.Join(want, ",") + "]"; list != want {
			t.Errorf("listed: %s\nwant:   %s", list, want)
		}
	}
}
