package validate

import (
	"strings"
	"testing"

	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// TestLateSchemaRefusesAllTheSame puts a schema that does not compile behind a Tool that is late: the call is refused.
func TestLateSchemaRefusesAllTheSame(t *testing.T) {
	w := newWorld(t)
	c := w.checker()
	for text, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`: "",
		`{"type":"nonsense"}`: "could not be loaded",
	} {
		tool := w.tool(c, "", `{"name":"x","inputSchema":{"type":"object"}}`)
		doc, err := schema.Read([]byte(text), strictjson.DefaultDepth)
		if err != nil {
			t.Fatal(err)
		}
		tool.doc, tool.late = doc, &late{}
		for range 2 { // the second call finds what the first one did
			_, err = c.Scan(tool, []byte(`{"a":1}`))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	if _, err := c.Tool("kid", "", []byte(`{"name":"x","inputSchema":{"type":"nonsense"}}`)); err == nil {
		t.Error("a schema that does not compile was not quarantined when listed")
	}
}
