package catalog

import (
	"strconv"
	"testing"

	"mcphub/children/offers"
	"mcphub/validate"
)

// BenchmarkRead reads what a server offers: ten tools of a usual size. Each start of a server does it once.
func BenchmarkRead(b *testing.B) {
	checker, err := validate.NewChecker(validate.Config{Home: b.TempDir(), Children: []validate.ChildConfig{{Name: "kid"}}})
	if err != nil {
		b.Fatal(err)
	}
	builder := NewBuilder(Config{Names: Names{}.WithDefaults(), Limit: 1 << 20, Children: []Child{{Name: "kid", Prefix: "kid__"}}, Checker: checker})
	var tools []string
	for i := range 10 {
		tools = append(tools, `{"name":"search_`+strconv.Itoa(i)+`","title":"Search","description":"Searches the issue tracker of a project for entries that match a query, with filters on state, labels and dates; results come sorted and paged.",`+
			`"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"Search terms, with the usual operators","minLength":1,"maxLength":512},`+
			`"state":{"type":"string","enum":["open","closed","all"],"default":"open","description":"Which entries to look at"},`+
			`"labels":{"type":"array","items":{"type":"string"},"description":"Only entries that carry all of these labels"},`+
			`"page":{"type":"integer","minimum":1,"default":1},"output_path":{"type":"string","description":"File to which the result is written"}},`+
			`"required":["query"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":true}}`)
	}
	offer := &offers.RawOffer{Entries: offers.Entries{offers.Tools: raw(tools...)}}
	b.ReportAllocs()
	for b.Loop() {
		if o := builder.Read("kid", offer); len(o.Tools) != 10 {
			b.Fatal(len(o.Tools))
		}
	}
}
