package validate

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
	"mcphub/validate/schema"
)

// A lenientCase is a tool with arguments for it, and what two readers would make of them. It is drawn together, so that
// nothing here reads arguments the way the hub does.
type lenientCase struct {
	schema, loose any // as the tool has it, and without what it says about arguments that are read differently from how they stand
	args, read    any // as they stand, and as they are read
	lenient       int // in how many places the two differ
}

var (
	lenientNames = []string{"path", "files", "target", "note", "count", "out_dir", "command", "x", "content", "url"}
	lenientTexts = []string{"a.txt", "src/main.go", "link/secret.txt", "passwd", "../outside/secret.txt", "{outside}/secret.txt", "{project}/a.txt", "file://{outside}/secret.txt", "{hub}", "plain words", "5", "true",
		"cat ../outside/secret.txt", "link", "inner/main.go", "", "~/config", "null", "[", `["a"]`}
	numbers = []string{"0", "5", "-1", "2.5", "1e3"}
)

// drawLenient draws a value: of its schema, and now and then in one of the forms that a lenient reading knows. inText: it stands in JSON
// in a string, if there are none.
func drawLenient(t *rapid.T, depth int, inText bool) (c lenientCase) {
	kinds := []string{"string", "string", "integer", "number", "boolean", "array", "object"}
	if depth == 0 {
		kinds = kinds[:5]
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "type")
	own := map[string]any{"type": kind}
	c.schema, c.loose = own, own
	switch kind {
	case "string":
		c.args = rapid.SampledFrom(lenientTexts).Draw(t, "text")
		if rapid.IntRange(0, 5).Draw(t, "format") == 0 {
			own["format"] = "path"
		}
	case "integer":
		c.args = json.Number(rapid.SampledFrom(numbers[:3]).Draw(t, "integer"))
	case "number":
		c.args = json.Number(rapid.SampledFrom(numbers).Draw(t, "number"))
	case "boolean":
		c.args = rapid.Bool().Draw(t, "boolean")
	case "array":
		drawElements(t, &c, own, depth, inText)
	case "object":
		drawMembers(t, &c, own, depth, inText)
	}
	if c.read == nil {
		c.read = c.args
	}
	if kind != "string" && !inText && c.lenient == 0 && rapid.IntRange(0, 2).Draw(t, "in a string") == 0 {
		raw, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		c.args, c.loose, c.lenient = string(raw), map[string]any{}, 1
	}
	return c
}

// drawElements draws a list, whose elements have one schema.
func drawElements(t *rapid.T, c *lenientCase, own map[string]any, depth int, inText bool) {
	in := drawLenient(t, depth-1, inText)
	n := rapid.IntRange(1, 2).Draw(t, "elements")
	own["items"], c.loose = in.schema, map[string]any{"type": "array", "items": in.loose}
	c.args, c.read, c.lenient = slices.Repeat([]any{in.args}, n), slices.Repeat([]any{in.read}, n), n*in.lenient
}

// drawMembers draws an object: members that its schema has, with null for some, and some that it has not.
func drawMembers(t *rapid.T, c *lenientCase, own map[string]any, depth int, inText bool) {
	properties, loose, args, read := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}
	own["properties"] = properties
	looseOwn := map[string]any{"type": "object", "properties": loose}
	c.loose, c.args, c.read = looseOwn, args, read
	closed := rapid.IntRange(0, 2).Draw(t, "closed") > 0
	if closed {
		own["additionalProperties"], looseOwn["additionalProperties"] = false, false
	}
	for i, name := range rapid.Permutation(lenientNames).Draw(t, "names")[:rapid.IntRange(1, 3).Draw(t, "members")] {
		in := drawLenient(t, depth-1, inText)
		switch rapid.IntRange(0, 5).Draw(t, "how") {
		case 0:
			if inText || !closed {
				continue
			}
			args[name] = in.read // which its schema does not know
			looseOwn["additionalProperties"] = true
			c.lenient++
		case 1:
			if inText {
				continue
			}
			if m, ok := in.schema.(map[string]any); ok && m["type"] == "string" {
				m["default"] = rapid.SampledFrom([]string{"{outside}/new", "src", "link"}).Draw(t, "default")
			}
			properties[name], loose[name], args[name] = in.schema, map[string]any{}, nil
			c.lenient++
		default:
			properties[name], loose[name], args[name], read[name] = in.schema, in.loose, in.args, in.read
			c.lenient += in.lenient
			if i == 0 {
				own["required"] = []any{name}
			}
		}
	}
}

// filled returns the JSON of a value, with the world's directories in it.
func (w *world) filled(t *rapid.T, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.json(string(raw)))
}

// TestLenientAllowsWhatBothReadingsAllow: if a call passes by a lenient reading, the arguments as they are read pass the strict check,
// and the arguments as they stand pass if the schema says nothing about the values that are read otherwise.
func TestLenientAllowsWhatBothReadingsAllow(t *testing.T) {
	t.Parallel()
	w := lenientWorld(t)
	rootsView, where := w.view(), w.where()
	var allowed, denied, twice int
	cases := seeds.Cases(t, 400)
	seeds.CheckCases(t, cases, func(t *rapid.T) {
		c := lenientCase{}
		own := map[string]any{"type": "object"}
		c.schema, c.loose = own, own
		drawMembers(t, &c, own, 2, false)
		mode := rapid.SampledFrom([]declare.Mode{declare.ModeStrict, declare.ModeStrict, declare.ModeDeclared}).Draw(t, "mode")
		judged := func(d declare.Demand, schemaOf, args any) (*Verdict, error) {
			checker := w.demanding(d, mode, map[string]map[string]declare.ArgRule{"*": {"/x/*": {Role: 2}, "/note": {Role: 1}}})
			tool, err := checker.PrepareTool("child", "", []byte(`{"name":"do_it","inputSchema":`+w.filled(t, schemaOf)+`}`))
			if err != nil {
				t.Fatal(err)
			}
			s, err := checker.Scan(tool, []byte(w.filled(t, args)))
			if err != nil {
				return nil, err
			}
			return checker.Judge(s, where, rootsView), nil
		}
		v, err := judged(declare.DemandLenient, c.schema, c.args)
		if err != nil {
			t.Fatalf("refused: %v\nschema %s\narguments %s", err, w.filled(t, c.schema), w.filled(t, c.args))
		}
		_, strictly := judged(declare.DemandStrict, c.schema, c.args)
		if _, misfit := errors.AsType[*schema.Error](strictly); misfit != (c.lenient > 0) || (v.Lenient > 0) != (c.lenient > 0) {
			t.Fatalf("lenient %d, want %d; strictly %v", v.Lenient, c.lenient, strictly)
		}
		if c.lenient > 0 {
			twice++
		}
		if v.Decision != policy.Allow {
			denied++
			return
		}
		allowed++
		read, err := judged(declare.DemandStrict, c.schema, c.read)
		if err != nil || read.Decision != policy.Allow {
			t.Fatalf("as they are read: %v %+v\nschema %s\narguments %s\nread %s", err, read, w.filled(t, c.schema), w.filled(t, c.args), w.filled(t, c.read))
		}
		stand, err := judged(declare.DemandStrict, c.loose, c.args)
		if err != nil || stand.Decision != policy.Allow && !onlyOneClass(stand) {
			t.Fatalf("as they stand: %v %+v\nschema %s\narguments %s", err, stand, w.filled(t, c.loose), w.filled(t, c.args))
		}
	})
	if least := cases / 20; allowed < least || denied < least || twice < least {
		t.Errorf("%d allowed, %d denied, %d lenient: this shows too little", allowed, denied, twice)
	}
}

// onlyOneClass reports a call that is denied for nothing but lists in strings that would be one class of a pattern.
func onlyOneClass(v *Verdict) bool {
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Decision == policy.Allow {
			continue
		}
		if f.Code != CodeGlob || f.Form != detect.FormPath || !strings.HasPrefix(f.Raw, "[") || !json.Valid([]byte(f.Raw)) {
			return false
		}
	}
	return true
}

// FuzzLenient: whatever passes by a lenient reading is a call that the strict check refuses, and passes it once it is read by the few
// rules for lenient readings, written down a second time here.
func FuzzLenient(f *testing.F) {
	for _, pair := range lenientCalls {
		f.Add(pair[0])
		f.Add(pair[1])
	}
	for _, a := range attacks {
		f.Add(a.args)
	}
	w := lenientWorld(f)
	lenient, strict := w.demanding(declare.DemandLenient, declare.ModeStrict, nil), w.demanding(declare.DemandStrict, declare.ModeStrict, nil)
	def := string(w.json(lenientTool))
	tool, strictTool := w.tool(lenient, "", def), w.tool(strict, "", def)
	var doc struct {
		InputSchema map[string]any `json:"inputSchema"`
	}
	if err := json.Unmarshal([]byte(def), &doc); err != nil {
		f.Fatal(err)
	}
	rootsView, where := w.view(), w.where()
	f.Fuzz(func(t *testing.T, args string) {
		raw := w.json(args)
		_, strictly := strict.Scan(strictTool, raw)
		s, err := lenient.Scan(tool, raw)
		if _, misfit := errors.AsType[*schema.Error](strictly); !misfit {
			if (err == nil) != (strictly == nil) || err == nil && s.found.Lenient > 0 {
				t.Fatalf("strictly %v, lenient %v", strictly, err)
			}
			return
		}
		if err != nil {
			return
		}
		v := lenient.Judge(s, where, rootsView)
		if v.Lenient == 0 {
			t.Fatal("it fits by a lenient reading, and that is not noted")
		}
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		var value any
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
		read, err := json.Marshal(readAgain(doc.InputSchema, value))
		if err != nil {
			t.Fatal(err)
		}
		again, err := strict.Scan(strictTool, read)
		if err != nil {
			t.Fatalf("%s was read as what does not fit: %s: %v", raw, read, err)
		}
		if v.Decision == policy.Allow && strict.Judge(again, where, rootsView).Decision != policy.Allow {
			t.Fatalf("%s passes, and read as %s it does not", raw, read)
		}
	})
}

// judgeFromNamedDirs reads arguments by a schema of types, members and elements alone.
func readAgain(schemaOf map[string]any, v any) any {
	want, _ := schemaOf["type"].(string)
	if text, ok := v.(string); ok && want != "string" {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			return text
		}
		return v
	}
	switch v := v.(type) {
	case []any:
		items, _ := schemaOf["items"].(map[string]any)
		out := []any{}
		for _, in := range v {
			out = append(out, readAgain(items, in))
		}
		return out
	case map[string]any:
		properties, _ := schemaOf["properties"].(map[string]any)
		out := maps.Clone(v)
		for name, in := range v {
			sub, known := properties[name].(map[string]any)
			if !known || in == nil {
				delete(out, name)
				continue
			}
			out[name] = readAgain(sub, in)
		}
		return out
	}
	return v
}
