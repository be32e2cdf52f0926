package detect

import (
	"strings"
	"testing"

	"mcphub/validate/machine"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// TestLateSchemaRefusesAllTheSame puts a schema that does not compile behind a Tool that is late: the call is refused.
func TestLateSchemaRefusesAllTheSame(t *testing.T) {
	m := machine.New(nil, "", nil, nil)
	s := Searcher{Machine: &m, Depth: strictjson.DefaultDepth, Size: strictjson.DefaultSize}
	for text, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`: "",
		`{"type":"nonsense"}`: "could not be loaded",
	} {
		doc, err := schema.Read([]byte(text), strictjson.DefaultDepth)
		if err != nil {
			t.Fatal(err)
		}
		tool := Tool{late: &late{doc: doc}}
		for range 2 { // the second call finds what the first one did
			_, err = s.Arguments(&tool, []byte(`{"a":1}`))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	if err := new(Tool).ReadSchema([]byte(`{"type":"nonsense"}`), strictjson.DefaultDepth); err == nil {
		t.Error("a schema that does not compile was not quarantined when listed")
	}
}
