package detect

import (
	"errors"
	"testing"

	"mcphub/rootsmgr/platform"
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

// TestToolsAndDefaults: what a schema and declarations say about arguments that are absent, or spelled in other letters.
func TestToolsAndDefaults(t *testing.T) {
	t.Parallel()
	search(t, on(platform.Linux), []row{
		{frob.declared("/p write", "/q none").with(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","default":"x"},"path":{"type":"string","default":"y"},"p":{"type":"string","default":"z"},"q":{"type":"string","default":"w"}}}`), `{}`, `/p default w z; /path default w? y`},
		{frob.with(`{"properties":{"dir":{"default":"/etc"}}}`), `{}`, `/dir default w? /etc`},
		{frob.with(`{"type":"object","properties":{"data":{"type":"string"},"path":{"type":"string"}}}`), `{"text":"@/etc/x"}`, ``},
		{frob.with(`{"type":"object","properties":{"path":{"type":"string"},"logDir":{"type":"string"},"command":{"type":"string"},"where":{"type":"string","format":"path"}}}`), `{"WHERE":"passwd"}`, `/WHERE key w? passwd`},
		{frob.with(`{"type":"object","properties":{"data":{"type":"string"}}}`), `{"text":"@/etc/x"}`, `/text literal/literal w? /etc/x`},
		{frob.with(`{"type":"object","properties":{"data":{"type":"string"},"source":{"type":"string"}}}`), `{"text":"@/etc/x"}`, ``},
	})
}
