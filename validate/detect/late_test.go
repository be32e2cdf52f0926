package detect

import (
	"testing"

	"mcphub/validate/machine"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// TestLateSchemaThatDoesNotCompile: a Tool that is late does without, as one whose schema is compiled when it is listed. The
// other schema is checked by each call.
func TestLateSchemaThatDoesNotCompile(t *testing.T) {
	m := machine.New(nil, "", nil, nil)
	s := Searcher{Machine: &m, Depth: strictjson.DefaultDepth, Size: strictjson.DefaultSize}
	for text, refused := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`: true,
		`{"type":"nonsense"}`: false,
	} {
		doc, err := schema.Read([]byte(text), strictjson.DefaultDepth)
		if err != nil {
			t.Fatal(err)
		}
		var tool Tool
		tool.later(doc)
		for range 2 { // the second call finds what the first one did
			if _, err = s.Arguments(&tool, []byte(`{"a":1}`)); (err != nil) != refused {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}
