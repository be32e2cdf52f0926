package mirror

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"p%d":{"type":"string","x-mcp-header":"H%d"}`, i, i)
	}
	return `{"properties":{` + b.String()[1:] + `}}`
}

func manyMarks(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("Mcp-Param-H%d=p%d", i, i))
	}
	return all
}

func TestMarksOfASchema(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"properties":{"a":`, 200) + `{"x-mcp-header":"A","type":"string"}` + strings.Repeat(`}}`, 200)
	for name, tc := range map[string]struct {
		schema string
		want   []string // header=path; nil and bad: none
		bad    bool
	}{
		"none":              {`{"type":"object","properties":{"a":{"type":"string"}}}`, nil, false},
		"one":               {`{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`, []string{"Mcp-Param-Region=a"}, false},
		"nested":            {`{"properties":{"a":{"type":"object","properties":{"b":{"type":"integer","x-mcp-header":"N"}}}}}`, []string{"Mcp-Param-N=a.b"}, false},
		"escaped":           {`{"properties":{"a":{"type":"boolean","x-mcp-\u0068eader":"B"}}}`, []string{"Mcp-Param-B=a"}, false},
		"types":             {`{"properties":{"a":{"type":["string","integer"],"x-mcp-header":"B"}}}`, nil, true}, // what would 1 be in the header?
		"one type, listed":  {`{"properties":{"a":{"type":["string"],"x-mcp-header":"B"}}}`, nil, true},
		"order":             {`{"properties":{"o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"b":{"type":"boolean","x-mcp-header":"x-B"}}}`, []string{"Mcp-Param-N=o.n", "Mcp-Param-x-B=b"}, false},
		"named properties":  {`{"properties":{"properties":{"type":"object","properties":{"c":{"type":"string","x-mcp-header":"C"}}}}}`, []string{"Mcp-Param-C=properties.c"}, false},
		"a name elsewhere":  {`{"$defs":{"x-mcp-header":{"type":"string"}},"patternProperties":{"x-mcp-header":{}},"dependentRequired":{"x-mcp-header":["a"]}}`, nil, false},
		"many":              {many(200), manyMarks(200), false},
		"no schema":         {`null`, nil, false},
		"colon":             {`{"properties":{"a":{"type":"string","x-mcp-header":"a:"}}}`, nil, true},
		"beyond ASCII":      {`{"properties":{"a":{"type":"string","x-mcp-header":"ä"}}}`, nil, true},
		"in more":           {`{"additionalProperties":{"type":"string","x-mcp-header":"A"}}`, nil, true},
		"two for one":       {`{"properties":{"a":{"type":"string","x-mcp-header":"A","x-mcp-header":"B"}}}`, nil, true},
		"in dependencies":   {`{"dependencies":{"b":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}`, nil, true},
		"deep without":      {`{"description":"\u00e9 x-mcp-header","properties":` + strings.Repeat(`{"a":{"properties":`, 200) + `{}` + strings.Repeat(`}}`, 200) + `}`, nil, false},
		"called so":         {`{"properties":{"x-mcp-header":{"type":"string"}}}`, nil, false},
		"a value":           {`{"properties":{"a":{"type":"object","default":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":"B"}]}}}`, nil, false},
		"a number":          {`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, nil, true},
		"no type":           {`{"properties":{"a":{"x-mcp-header":"A"}}}`, nil, true},
		"types with null":   {`{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`, nil, true},
		"no types":          {`{"properties":{"a":{"type":[],"x-mcp-header":"A"}}}`, nil, true},
		"empty":             {`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, nil, true},
		"no token":          {`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`, nil, true},
		"line end":          {`{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nX: y"}}}`, nil, true},
		"no string":         {`{"properties":{"a":{"type":"string","x-mcp-header":1}}}`, nil, true},
		"twice":             {`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`, nil, true},
		"at the root":       {`{"type":"string","x-mcp-header":"A"}`, nil, true},
		"in items":          {`{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`, nil, true},
		"below items":       {`{"properties":{"a":{"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}`, nil, true},
		"in anyOf":          {`{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, nil, true},
		"in $defs":          {`{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}`, nil, true},
		"in if":             {`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, nil, true},
		"deeper than ever":  {deep, nil, true},
		"no object":         {`["x-mcp-header"]`, nil, false},
		"odd annotation in": {`{"properties":{"a":{"type":"string","x-mcp-header":{"x-mcp-header":"A"}}}}`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Marks([]byte(tc.schema))
			var got []string
			for _, m := range found {
				got = append(got, m.Header+"="+strings.Join(m.Path, "."))
			}
			if (err != nil) != tc.bad || !slices.Equal(got, tc.want) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// keywords lead to schemas that properties alone do not lead to: one, a list, or one for each name.
var keywords = map[string]int{
	"items": 0, "contains": 0, "additionalProperties": 0, "unevaluatedProperties": 0, "propertyNames": 0, "not": 0, "if": 0, "then": 0, "else": 0, "contentSchema": 0,
	"oneOf": 1, "anyOf": 1, "allOf": 1, "prefixItems": 1,
	"$defs": 2, "definitions": 2, "patternProperties": 2, "dependentSchemas": 2,
}

// tame draws schemas whose marks are good, but for the ones that come twice.
func tame(t *rapid.T, depth int) map[string]any {
	props := map[string]any{}
	for range rapid.IntRange(1, 3).Draw(t, "properties") {
		name := rapid.SampledFrom([]string{"a", "b", "items", "properties", Annotation}).Draw(t, "name")
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			props[name] = map[string]any{"type": "string"}
		case 1:
			props[name] = map[string]any{
				"type":     rapid.SampledFrom([]any{"string", "integer", "boolean"}).Draw(t, "type"),
				Annotation: string(rapid.RuneFrom([]rune("ABCDEFGHIJKLMNOPQRSTUVWXYZ")).Draw(t, "mark")),
			}
		default:
			if depth > 0 {
				props[name] = tame(t, depth-1)
			}
		}
	}
	return map[string]any{"type": "object", "properties": props}
}

// schemas draws schemas with marks, good and bad ones, anywhere.
func schemas(t *rapid.T, depth int) map[string]any {
	s := map[string]any{}
	if rapid.IntRange(0, 9).Draw(t, "typed") > 0 {
		s["type"] = rapid.SampledFrom([]any{"string", "string", "integer", "boolean", "object", "number", "null", []any{"string", "null"}, []any{"string"}}).Draw(t, "type")
	}
	if rapid.IntRange(0, 2).Draw(t, "marked") == 0 {
		s[Annotation] = rapid.SampledFrom([]any{"A", "B", "b", "C", "D-1", "E", "F", "a b", "", 1, nil}).Draw(t, "mark")
	}
	if rapid.IntRange(0, 4).Draw(t, "data") == 0 {
		s["default"] = map[string]any{Annotation: "data"}
	}
	if depth == 0 {
		return s
	}
	if rapid.IntRange(0, 1).Draw(t, "parent") == 0 {
		props := map[string]any{}
		for range rapid.IntRange(1, 3).Draw(t, "properties") {
			props[rapid.SampledFrom([]string{"a", "b", "items", "properties", Annotation}).Draw(t, "name")] = schemas(t, depth-1)
		}
		s["properties"] = props
	}
	if rapid.IntRange(0, 5).Draw(t, "elsewhere") == 0 {
		names := slices.Sorted(maps.Keys(keywords))
		name := rapid.SampledFrom(names).Draw(t, "keyword")
		var v any = schemas(t, depth-1)
		switch keywords[name] {
		case 1:
			v = []any{true, v}
		case 2:
			v = map[string]any{"x": v}
		}
		s[name] = v
	}
	return s
}

// reading is what the specification says about a schema, over decoded values: where the marks are, and whether all are good.
type reading struct {
	marks map[string]string // header in lower case: path
	bad   bool
}

func (r *reading) read(v any, path []string, reachable bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			r.read(e, path, false)
		}
	case map[string]any:
		if mark, is := v[Annotation]; is {
			name, isString := mark.(string)
			kind, _ := v["type"].(string)
			_, again := r.marks[strings.ToLower(name)]
			if !isString || !Token(name) || again || !reachable || len(path) == 0 || !slices.Contains([]string{"string", "integer", "boolean"}, kind) {
				r.bad = true
			}
			r.marks[strings.ToLower(name)] = strings.Join(path, "/")
		}
		for name, sub := range v {
			switch {
			case name == "properties", name != Annotation && keywords[name] == 2:
				for member, s := range sub.(map[string]any) {
					r.read(s, append(slices.Clip(path), member), reachable && name == "properties")
				}
			case name != Annotation && name != "default" && name != "type":
				r.read(sub, path, false)
			}
		}
	}
}

// Whatever a schema looks like, its marks are the ones that the specification gives it, or it is invalid.
func TestMarksAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	good, bad := 0, 0
	seeds.Check(t, func(t *rapid.T) {
		draw := schemas
		if rapid.Bool().Draw(t, "tame") {
			draw = tame
		}
		s := draw(t, 4)
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		want := reading{marks: map[string]string{}}
		want.read(s, nil, true)
		marks, err := Marks(raw)
		if (err != nil) != want.bad {
			t.Fatalf("%s: %v, %v", raw, marks, err)
		}
		if err != nil {
			bad++
			return
		}
		got := map[string]string{}
		for _, m := range marks {
			got[strings.ToLower(strings.TrimPrefix(m.Header, Prefix))] = strings.Join(m.Path, "/")
		}
		if !maps.Equal(got, want.marks) {
			t.Fatalf("%s: %v, want %v", raw, got, want.marks)
		}
		if len(got) > 0 {
			good++
		}
	})
	t.Logf("%d with marks, %d invalid", good, bad)
	if good == 0 || bad == 0 {
		t.Errorf("%d schemas with marks, %d invalid ones: that proves nothing", good, bad)
	}
}

func TestValueIsAtTheExactPath(t *testing.T) {
	t.Parallel()
	m := Mark{Path: []string{"o", "n"}}
	for args, want := range map[string]string{
		`{"o":{"n":1}}`: "1", `{"o":{"n":null}}`: "", `{"n":1}`: "", `{"o":[{"n":1}]}`: "", `{"o":null}`: "", ``: "", `{"o":{"n":"\u0041"}}`: `"\u0041"`,
	} {
		if got := m.Value([]byte(args)); string(got) != want {
			t.Errorf("%s: %s", args, got)
		}
	}
}
