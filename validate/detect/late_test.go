package detect

import (
	"errors"
	"testing"

	"mcphub/validate/machine"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// TestLateSchema: a tool whose schema does not compile does without, and says so before its first call and after. The other
// schema is checked by each call.
func TestLateSchema(t *testing.T) {
	t.Parallel()
	m := machine.New(nil, "", nil, nil)
	s := Searcher{Machine: &m, Depth: strictjson.DefaultDepth, Size: strictjson.DefaultSize}
	for text, checked := range map[string]bool{
		` {"type":"object","properties":{"a":{"type":"string"}},"required":["a"]} `: true,
		`false`:                             true,
		`{"type":"nonsense"}`:               false,
		`{"type":"object","type":"object"}`: false,
	} {
		var tool Tool
		if err := tool.UseSchema([]byte(text), strictjson.DefaultDepth); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second call finds what the first one did
			if why := tool.SchemaError(); (why == nil) != checked {
				t.Errorf("%s: not checked because of %v", text, why)
			}
			if _, err := s.Arguments(&tool, []byte(`{"a":1}`)); (err != nil) != checked {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	for _, text := range []string{`"object"`, `[]`, `1`} {
		if err := new(Tool).UseSchema([]byte(text), strictjson.DefaultDepth); !errors.Is(err, schema.ErrNoSchema) {
			t.Errorf("%s is taken for a schema: %v", text, err)
		}
	}
}
