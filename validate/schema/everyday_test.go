package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/validate/strictjson"
)

// schemaPiece draws schemas, mostly right and now and then wrong, of the keywords that sound knows and of some that it
// does not.
func schemaPiece(t *rapid.T, depth int) any {
	value := func() any {
		return rapid.SampledFrom([]any{
			"string", "date-time", "", true, false, json.Number("3"), json.Number("-1"), json.Number("2.5"), json.Number("1e400"), json.Number("123456789012"),
			nil, []any{}, []any{"a", "b"}, []any{"a", "a"}, []any{"string", "null"}, []any{json.Number("1"), nil}, map[string]any{}, "[", "#/$defs/x", "https://example.com/other",
		}).Draw(t, "value")
	}
	if depth == 0 {
		return value()
	}
	m := map[string]any{}
	keys := []string{"$schema", "$ref", "$id", "$anchor", "pattern", "patternProperties", "multipleOf", "if", "dependentRequired", "prefixItems", "x-note"}
	keys = append(keys, slices.Sorted(maps.Keys(everyday))...)
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		key := rapid.SampledFrom(keys).Draw(t, "key")
		switch {
		case rapid.IntRange(0, 5).Draw(t, "wrong") == 0:
			m[key] = value()
		case key == "properties" || key == "patternProperties":
			m[key] = map[string]any{rapid.SampledFrom([]string{"a", "$ref", "$id", "", "(", "type"}).Draw(t, "name"): schemaPiece(t, depth-1)}
		case key == "anyOf" || key == "allOf" || key == "oneOf":
			m[key] = []any{schemaPiece(t, depth-1), schemaPiece(t, depth-1)}
		case key == "items" || key == "additionalProperties" || key == "propertyNames" || key == "not" || key == "if":
			m[key] = schemaPiece(t, depth-1)
		case key == "type":
			m[key] = rapid.SampledFrom([]any{"object", "string", "nonsense", []any{"string", "null"}}).Draw(t, "type")
		case key == "$schema":
			m[key] = rapid.SampledFrom([]any{dialects[0], dialects[1], dialects[2], dialects[3], "http://json-schema.org/draft-04/schema#", "https://example.com/mine"}).Draw(t, "dialect")
		case key == "enum" || key == "examples":
			m[key] = []any{value(), value()}
		default:
			m[key] = value()
		}
	}
	return m
}

// TestSoundSchemasCompile: what is not compiled before it is offered must compile when it is called.
func TestSoundSchemasCompile(t *testing.T) {
	t.Parallel()
	found := 0
	seeds.Check(t, func(t *rapid.T) {
		doc := schemaPiece(t, rapid.IntRange(1, 3).Draw(t, "depth"))
		if !Sound(doc, true) {
			return
		}
		found++
		if _, err := Compile(doc); err != nil {
			raw, _ := json.Marshal(doc)
			t.Fatalf("taken for sound, and %v: %s", err, raw)
		}
	})
	if found == 0 {
		t.Error("no sound schema was drawn: this shows nothing")
	}
}

func TestSoundKnowsRealSchemas(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"type":"object","properties":{"path":{"type":"string","description":"x"},"n":{"type":"integer","minimum":1,"maximum":100,"default":5}},"required":["path"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"A"},"l":{"type":"array","items":{"enum":["x","y"]}}}}`,
	} {
		doc, err := Read([]byte(raw), strictjson.DefaultDepth)
		if err != nil || !Sound(doc, true) {
			t.Errorf("compiled before anybody calls it: %s %v", raw, err)
		}
	}
}
