package schema

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/validate/budget"
	"mcphub/validate/strictjson"
)

// quickSchema draws schemas of the keywords that a quick schema knows, and of some that it does not.
func quickSchema(t *rapid.T, depth int) any {
	if rapid.IntRange(0, 9).Draw(t, "bool") == 0 {
		return rapid.Bool().Draw(t, "any")
	}
	m := map[string]any{}
	names := rapid.SampledFrom([]string{"a", "b", "ä", "c"})
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		switch key := rapid.SampledFrom([]string{"type", "type", "enum", "properties", "properties", "required", "additionalProperties", "items", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "format", "const", "title", "not", "uniqueItems"}).Draw(t, "key"); key {
		case "type":
			m[key] = rapid.SampledFrom([]any{"object", "string", "integer", "number", "array", "boolean", "null", []any{"string", "null"}, []any{"integer", "number"}, []any{"integer", "object"}}).Draw(t, "type")
		case "enum":
			m[key] = rapid.SampledFrom([]any{[]any{"x", "y"}, []any{"a", json.Number("1")}, []any{nil, true}, []any{map[string]any{"a": "x"}}}).Draw(t, "enum")
		case "properties":
			props := map[string]any{}
			for range rapid.IntRange(0, 3).Draw(t, "props") {
				if depth > 0 {
					props[names.Draw(t, "name")] = quickSchema(t, depth-1)
				}
			}
			m[key] = props
		case "required":
			m[key] = rapid.SampledFrom([]any{[]any{"a"}, []any{"a", "b"}, []any{"d"}, []any{}}).Draw(t, "required")
		case "minLength", "maxLength", "minItems", "maxItems":
			m[key] = rapid.SampledFrom([]any{json.Number("0"), json.Number("1"), json.Number("2")}).Draw(t, "count")
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
			m[key] = rapid.SampledFrom([]any{json.Number("-3"), json.Number("1"), json.Number("1.5"), json.Number("1e2"), json.Number("12345678901234567890")}).Draw(t, "bound")
		case "format":
			m[key] = "uri"
		case "const":
			m[key] = "x"
		case "title":
			m[key] = "t"
		case "uniqueItems":
			m[key] = true
		default:
			if depth > 0 {
				m[key] = quickSchema(t, depth-1)
			}
		}
	}
	return m
}

func quickValue(t *rapid.T, depth int) string {
	plain := []string{`"x"`, `"y"`, `"a"`, `"\u0078"`, `""`, `"ää"`, `1`, `1.0`, `1e2`, `-3`, `2.5`, `true`, `null`, `12345678901234567890`}
	if depth == 0 {
		return rapid.SampledFrom(plain).Draw(t, "plain")
	}
	switch rapid.IntRange(0, 3).Draw(t, "shape") {
	case 0:
		return rapid.SampledFrom(plain).Draw(t, "plain")
	case 1:
		text := ""
		for i := range rapid.IntRange(0, 3).Draw(t, "length") {
			if i > 0 {
				text += ","
			}
			text += quickValue(t, depth-1)
		}
		return "[" + text + "]"
	}
	return quickObject(t, depth)
}

func quickObject(t *rapid.T, depth int) string {
	text := ""
	for i, name := range rapid.SampledFrom([][]string{{}, {"a"}, {"b", "a"}, {"ä", "c"}, {`\u0061`}, {"a", "b", "c", "d"}, {"e"}}).Draw(t, "names") {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(`"%s":%s`, name, quickValue(t, depth-1))
	}
	return "{" + text + "}"
}

// TestQuickNeverSaysMoreThanTheWhole: what a quick schema lets pass, the whole one lets pass.
func TestQuickNeverSaysMoreThanTheWhole(t *testing.T) {
	t.Parallel()
	sure, unsure := 0, 0
	seeds.Check(t, func(t *rapid.T) {
		doc := quickSchema(t, 3)
		s, err := Compile(doc)
		if err != nil {
			return
		}
		for range 4 {
			args := quickObject(t, 3)
			tr := strictjson.New(100)
			if err := tr.Parse([]byte(args), 1<<20); err != nil {
				t.Fatal(err)
			}
			quick := s.Plainly(tr)
			err := s.Validate(tr.Value(0), budget.New(0))
			tr.Free()
			raw, _ := json.Marshal(doc)
			switch {
			case quick && err != nil:
				t.Fatalf("%s passes %s quickly, and %v", args, raw, err)
			case quick:
				sure++
			case err == nil:
				unsure++
			}
		}
	})
	t.Logf("%d passed quickly, %d only by the whole schema", sure, unsure)
	if sure < 5 {
		t.Errorf("only %d passed quickly: this shows little", sure)
	}
}

// TestQuickKnowsEverydayCalls: the arguments of most calls pass without the whole schema.
func TestQuickKnowsEverydayCalls(t *testing.T) {
	t.Parallel()
	doc := `{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","properties":{"path":{"type":"string"},"mode":{"type":"string","enum":["r","w"]},
		"head":{"type":"number"},"lines":{"type":"array","items":{"type":"integer"}},"o":{"type":"object","properties":{"deep":{"type":["string","null"]}},"additionalProperties":false}},"required":["path"],"additionalProperties":false}`
	v, err := Read([]byte(doc), strictjson.DefaultDepth)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Compile(v)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]bool{
		`{"path":"/x\ny","mode":"r","head":1.5,"lines":[1,2],"o":{"deep":null}}`: true,
		`{"path":5}`: false, `{}`: false, `{"path":"x","more":1}`: false, `{"path":"x","mode":"z"}`: false, `{"path":"x","lines":[1.5]}`: false, `{"path":"x","o":{"x":1}}`: false,
	} {
		tr := strictjson.New(100)
		if err := tr.Parse([]byte(args), 1<<20); err != nil {
			t.Fatal(err)
		}
		if got := s.Plainly(tr); got != want {
			t.Errorf("%s: %v", args, got)
		}
		tr.Free()
	}
}
