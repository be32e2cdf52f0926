package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/children/offers"
	"mcphub/e2e/seeds"
)

// TestCheck: a definition passes as it is, or is mended as a person would mend it, or is refused by the member that is wrong.
func TestCheck(t *testing.T) {
	t.Parallel()
	const tool, prompt, resource, template = offers.Tools, offers.Prompts, offers.Resources, offers.Templates
	for _, tc := range []struct {
		kind   offers.ListKind
		def    string
		want   string // "": as it is; "!" and a pointer: refused there
		mended string
	}{
		{tool, `{"name":"t","inputSchema":{"type":"object"}}`, "", ""},
		{tool, `{ "inputSchema" : {"type":"object","properties":{"a":true,"b":{}},"required":["a"],"anyOf":[{}]}, "name":"t", "title":"T", "x":null, "_meta":{"a":null} }`, "", ""},
		{tool, `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"string"},"icons":[{"src":"x","sizes":["any"],"theme":"dark"}],"execution":{"taskSupport":"optional"}}`, "", ""},
		{tool, `{"name":"t"}`, `{"name":"t","inputSchema":{"type":"object"}}`, `inputSchema is added: {"type":"object"}`},
		{tool, `{"name":"t","inputSchema":null,"x":1.0}`, `{"name":"t","inputSchema":{"type":"object"},"x":1.0}`, `inputSchema is added: {"type":"object"}`},
		{tool, `{"name":"t","inputSchema":{}}`, `{"name":"t","inputSchema":{"type":"object"}}`, `inputSchema/type is added: "object"`},
		{tool, `{"name":"t","inputSchema":[]}`, `{"name":"t","inputSchema":{"type":"object"}}`, `inputSchema is an object and not a list; inputSchema/type is added: "object"`},
		{tool, `{"inputSchema":{"anyOf":[{"a":1}]},"name":"t"}`, `{"inputSchema":{"anyOf":[{"a":1}],"type":"object"},"name":"t"}`, `inputSchema/type is added: "object"`},
		{tool, `{"name":"t","inputSchema":{"type":null,"properties":[ ],"required":null}}`, `{"name":"t","inputSchema":{"type":"object","properties":{}}}`,
			`inputSchema/type is added: "object"; inputSchema/properties is an object and not a list; inputSchema/required is left out: it is null`},
		{tool, `{"name":"t","inputSchema":{"type":["object","null"]}}`, `{"name":"t","inputSchema":{"type":"object"}}`, `inputSchema/type is "object" and not a list`},
		{tool, `{"name":"t","description":null,"annotations":null,"outputSchema":null,"_meta":null,"inputSchema":{"type":"object"}}`, `{"name":"t","inputSchema":{"type":"object"}}`,
			"description is left out: it is null; annotations is left out: it is null; outputSchema is left out: it is null; _meta is left out: it is null"},
		{tool, `{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"true","x":"true","destructiveHint":"false"},"_meta":[]}`,
			`{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"x":"true","destructiveHint":false},"_meta":{}}`,
			"annotations/readOnlyHint is true and not a text; annotations/destructiveHint is false and not a text; _meta is an object and not a list"},
		{tool, `{"name":"t","inputSchema":{"type":"OBJECT"}}`, `{"name":"t","inputSchema":{"type":"object"}}`, `inputSchema/type is "object" and not "OBJECT"`},
		{tool, `{"name":"t","inputSchema":{"type":"array"}}`, "!/inputSchema/type", ""},
		{tool, `{"name":"t","inputSchema":{"type":["array"]}}`, "!/inputSchema/type", ""},
		{tool, `{"name":"t","inputSchema":true}`, "!/inputSchema", ""},
		{tool, `{"name":"t","inputSchema":[1]}`, "!/inputSchema", ""},
		{tool, `{"name":"t","inputSchema":{"type":"object","required":"a"}}`, "!/inputSchema/required", ""},
		{tool, `{"name":"t","inputSchema":{"type":"object","required":["a",1]}}`, "!/inputSchema/required/1", ""},
		{tool, `{"name":"t","inputSchema":{"type":"object","$schema":1}}`, "!/inputSchema/$schema", ""},
		{tool, `{"name":"t","inputSchema":{"type":"object"},"description":5}`, "!/description", ""},
		{tool, `{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`, "!/annotations/readOnlyHint", ""},
		{tool, `{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"never"}}`, "!/execution/taskSupport", ""},
		{tool, `{"name":"t","inputSchema":{"type":"object"},"icons":[{"src":"x"},{}]}`, "!/icons/1/src", ""},
		{tool, `{"name":null,"inputSchema":{"type":"object"}}`, "!/name", ""},
		{tool, `{"inputSchema":{"type":"object"}}`, "!/name", ""},
		{tool, `{"name":"t","description":"\ud800","title":"` + "\xff" + `","inputSchema":{"type":"object","required":["\ud800"]}}`, "", ""},
		{tool, `"t"`, "!/", ""},
		{tool, `{"name":"t","inputSchema":{"type":"object","x":` + strings.Repeat("[", 178) + strings.Repeat("]", 178) + `}}`, "", ""},
		{tool, `{"name":"t","inputSchema":{"type":"object","x":` + strings.Repeat("[", 179) + strings.Repeat("]", 179) + `}}`, "!/", ""},
		{prompt, `{"name":"p","_meta":{"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`, "!/", ""},
		{prompt, `{"name":"p","arguments":[{"name":"a","required":true}]}`, "", ""},
		{prompt, `{"name":"p","arguments":null}`, `{"name":"p"}`, "arguments is left out: it is null"},
		{prompt, `{"name":"p","arguments":[{"name":"a"},{"name":"b","description":null,"required":"false"}]}`, `{"name":"p","arguments":[{"name":"a"},{"name":"b","required":false}]}`,
			"arguments/1/description is left out: it is null; arguments/1/required is false and not a text"},
		{prompt, `{"name":"p","arguments":{}}`, "!/arguments", ""},
		{prompt, `{"name":"p","arguments":[{"required":true}]}`, "!/arguments/0/name", ""},
		{resource, `{"uri":"a:b","name":"r","size":12,"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00Z"}}`, "", ""},
		{resource, `{"uri":"a:b","name":"r","size":"12","mimeType":null}`, `{"uri":"a:b","name":"r","size":12}`, "size is 12 and not a text; mimeType is left out: it is null"},
		{resource, `{"uri":"a:b","name":"r","annotations":{"lastModified":"2025-01-12 15:00:58","priority":"1"}}`, `{"uri":"a:b","name":"r","annotations":{"lastModified":"2025-01-12T15:00:58Z","priority":1}}`,
			"annotations/lastModified is 2025-01-12T15:00:58Z; annotations/priority is 1 and not a text"},
		{resource, `{"uri":"a:b","name":"r","annotations":{"lastModified":"2024-02-29"}}`, `{"uri":"a:b","name":"r","annotations":{"lastModified":"2024-02-29T00:00:00Z"}}`, "annotations/lastModified is 2024-02-29T00:00:00Z"},
		{resource, `{"uri":"a:b","name":"r","size":12.0}`, `{"uri":"a:b","name":"r","size":12}`, "size is written as 12"},
		{resource, `{"uri":"a:b","name":"r","size":1.2e3}`, `{"uri":"a:b","name":"r","size":1200}`, "size is written as 1200"},
		{resource, `{"uri":"a:b","name":"r","size":"1E1"}`, `{"uri":"a:b","name":"r","size":10}`, "size is 1E1 and not a text; size is written as 10"},
		{resource, `{"uri":"a:b","name":"r","size":9007199254740992}`, "", ""},
		{resource, `{"uri":"a:b","name":"r","size":1e30}`, "!/size", ""},
		{resource, `{"uri":"a:b","name":"r","size":1.5}`, "!/size", ""},
		{resource, `{"uri":"a:b","name":"r","size":"0x1"}`, "!/size", ""},
		{resource, `{"uri":"a:b","name":"r","size":1e999}`, "!/size", ""},
		{resource, `{"uri":"a:b","name":"r","size":true}`, "!/size", ""},
		{resource, `{"uri":"a:b","name":"r","annotations":{"priority":1.1}}`, "!/annotations/priority", ""},
		{resource, `{"uri":"a:b","name":"r","annotations":{"priority":-1}}`, "!/annotations/priority", ""},
		{resource, `{"uri":"a:b","name":"r","annotations":{"audience":["all"]}}`, "!/annotations/audience/0", ""},
		{resource, `{"uri":"a:b","name":"r","annotations":{"lastModified":"2025-02-29"}}`, "!/annotations/lastModified", ""},
		{resource, `{"uri":"a:b"}`, "!/name", ""},
		{resource, `{"name":"r"}`, "!/uri", ""},
		{template, `{"uriTemplate":"a:{b}","name":"r"}`, "", ""},
		{template, `{"uriTemplate":"a:{b}","name":"r","a/b":1,"title":7}`, "!/title", ""},
		{offers.Skills, `{"uri":7}`, "", ""},
	} {
		got, mended, err := Check(tc.kind, Read([]byte(tc.def)))
		if pointer, refused := strings.CutPrefix(tc.want, "!"); refused {
			if fault, ok := err.(*Fault); !ok || fault.Pointer != pointer || !strings.Contains(err.Error(), pointer+" ") {
				t.Errorf("%s: %v, want a fault at %s", tc.def, err, pointer)
			}
			continue
		}
		want := tc.want
		if want == "" {
			want = tc.def
		}
		if err != nil || string(got.Text) != want || strings.Join(mended, "; ") != tc.mended {
			t.Errorf("%s: %s, %q, %v", tc.def, got.Text, mended, err)
		}
		if again, mended, err := Check(tc.kind, got); err != nil || len(mended) > 0 || string(again.Text) != string(got.Text) {
			t.Errorf("what is mended is wrong again: %s, %q, %v", again.Text, mended, err)
		}
	}
}

// TestOlder: clients before 2026-07-28 want an object for each property of a schema, and results that are objects. v1 of the SDK
// compiles their schema when it lists the tool.
func TestOlder(t *testing.T) {
	t.Parallel()
	const plain = `{"name":"t","inputSchema":{"type":"object"}}`
	out := func(more string) string {
		return `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object",` + more + `}}`
	}
	for def, want := range map[string]string{
		`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`:                "",
		`{"name":"t","inputSchema":{"type":"object","properties":{"a":true,"b":false,"c":[],"d":{}}}}`: `{"name":"t","inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}},"c":[],"d":{}}}}`,
		`{"name":"t","inputSchema":{"type":"object","properties":{"a":{"nullable":true,"id":7}}}}`:     "", // they do not compile it
		`{"name":"t","inputSchema":{"type":"object","properties":{"a":null}}}`:                         "!",
		`{"name":"t","inputSchema":{"type":"object","properties":{"a":"text"}}}`:                       "!",
		`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`:                 `{"name":"t","inputSchema":{"type":"object"}}`,
		out(`"$id":"x","$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a":{"$ref":"#/$defs/A~1%20"},"b":{"$ref":"#"},"c":{"anyOf":[true,{"type":["string","null"],"nullable":true}]}},"$defs":{"A/ ":{"enum":[null]}}`):                  "",
		out(`"properties":{"a":{"items":[{"type":"string"}],"const":null,"default":null,"x":null,"id2":1},"id":{"pattern":"^[\\w\\-]{1,}\\p{L}(?=\\.)$"}},"dependencies":{"a":["b"],"b":{"not":false}},"additionalProperties":{"format":"int32","maximum":1.0}`): "",
		out(`"properties":{"a":{"type":"STRING","anyOf":null,"minimum":"0"}}`):                                     out(`"properties":{"a":{"type":"string","minimum":0}}`),
		out(`"properties":{"a":{"type":"str"}}`):                                                                   plain,
		out(`"properties":{"a":{"required":true}}`):                                                                plain,
		out(`"properties":{"a":{"exclusiveMinimum":true,"minimum":0}}`):                                            plain,
		out(`"properties":{"a":{"enum":[]}}`):                                                                      plain,
		out(`"properties":{"a":{"id":"x"}}`):                                                                       plain,
		out(`"properties":{"a":{"$id":"x"}}`):                                                                      plain,
		out(`"properties":{"a":{"nullable":true}}`):                                                                plain,
		out(`"properties":{"a":{"type":["null"],"nullable":false}}`):                                               plain,
		out(`"properties":{"a":{"$ref":"https://example.com/x"}}`):                                                 plain,
		out(`"properties":{"a":{"$ref":"#/$defs/A"}}`):                                                             plain,
		out(`"$anchor":"a","properties":{"a":{"$ref":"#a"}}`):                                                      plain,
		out(`"properties":{"a":{"pattern":"(?P<n>.)"}}`):                                                           plain,
		out(`"properties":{"a":{"pattern":"\\_"}}`):                                                                plain,
		out(`"properties":{"a":{"pattern":"^{.*}$"}}`):                                                             plain,
		out(`"properties":{"a":{"pattern":"("}}`):                                                                  plain,
		out(`"additionalProperties":"false"`):                                                                      plain,
		out(`"if":7`):                                                                                              plain,
		out(`"$id":7`):                                                                                             plain,
		out(`"properties":{"a":{"nullable":true,"type":[]}}`):                                                      plain,
		out(`"properties":{"a":{"nullable":true,"type":null}}`):                                                    plain,
		out(`"properties":{"a":{"type":["nul\u006c"],"nullable":false}}`):                                          plain,
		out(`"patternProperties":{"(":{"type":"string"}}`):                                                         plain,
		out(`"properties":{"a":{"formatMinimum":"x"}}`):                                                            plain,
		out(`"properties":{"a":{"$anchor":"x"},"b":{"$anchor":"x","type":"string"}}`):                              plain,
		out(`"x-a":{"$id":"q"},"x-b":[{"y":{"$id":"q"}}]`):                                                         plain,
		out(`"properties":{"a":{"$ref":"#/properties/a"}}`):                                                        plain,
		out(`"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}`): plain,
		out(`"properties":{"a":{"$ref":"#/x-a"}},"x-a":{"type":"any"}`):                                            plain,
		out(`"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{}},"$defs":{}`):                                 plain,
		out(`"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{},"$id":{}}`):                                   plain,
		out(`"properties":{"a":{"$ref":"#/$defs/a%2Fb"}},"$defs":{"a/b":{}}`):                                      plain,
		out(`"properties":{"a":{"$ref":"#/properties/__proto__"},"__proto__":{}}`):                                 plain,
		out(`"properties":{"a":{"$ref":"#/$defs/\ud800"}},"$defs":{"\ud801":{}}`):                                  plain,
		out(`"$id":"constructor"`):                                                                                 plain,
		out(`"$id":"x#/%"`):                                                                                        plain,
		out(`"properties":{"a":{"$async":true}}`):                                                                  plain,
		out(`"properties":{"a":` + strings.Repeat(`{"not":`, 100) + `{}` + strings.Repeat(`}`, 101)):               plain,
		out(`"properties":{"a":{"const":"` + strings.Repeat("x", maxResults) + `"}}`):                              plain,
		out(`"const":[` + strings.Repeat("0,", maxValues) + `0]`):                                                  plain,
		out(references(100, 400)):                                                                                  plain,
		out(references(70, 400)):                                                                                   "",
		out(chain(200)):                                                                                            plain,
		out(chain(120)):                                                                                            "",
		`{"name":"t","inputSchema":{"type":"object"},"outputSchema":{}}`:                                           `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`,
	} {
		got, mended, err := Older(Read([]byte(def)))
		switch {
		case want == "!":
			if err == nil {
				t.Errorf("%s: %s", def, got)
			}
		case want == "" && (err != nil || string(got) != def || len(mended) > 0), want != "" && (err != nil || string(got) != want || len(mended) == 0):
			t.Errorf("%s: %s, %q, %v", def, got, mended, err)
		}
	}
}

// references returns a schema that refers n times to one of so many values.
func references(n, values int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"$ref":"#/$defs/A"},`, i)
	}
	return `"properties":{` + b.String() + `"b":{}},"$defs":{"A":{"enum":[` + strings.Repeat("0,", values) + `0]}}`
}

// chain returns a schema in which n others refer to the next one each.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":{"properties":{"a":{"$ref":"#/$defs/%d"}}},`, i, i+1)
	}
	return fmt.Sprintf(`"properties":{"a":{"$ref":"#/$defs/0"}},"$defs":{%s"%d":{}}`, b.String(), n)
}

// TestPatterns: an expression compiles if JavaScript compiles it with the flag "u".
func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		``, `^a.b$`, `^[\w\-.]{1,}\p{L}(?=\.)$`, `a*?b+?c??d{2}?e{0,3}`, `(?:a|b)*`, `(?<!a)(?<=b)c`, `(?<n>a)\k<n>`, `(a)(b)\2`, `\2(a)(b)`, `[]`, `[^]`, `[a-z-]`, `[-a]`, `[a-b-c]`, `[\b\-\]]`, `\bword\B`,
		`[\ud83d\ude00-\ud83d\ude4f]`, `\u{1F600}`, `\x41\u0041\0`, `^[A-Z]{2}\d+$`, `^(?!.*\.\.)[^/]+\/$`, `[\u0000-\u{10ffff}]`, `\p{Script=Greek}`, `[(]`, `[{}]`, `Größe`, `(?:(?:))`,
		`^(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:[0-9a-zA-Z-]+)(?:\.[0-9a-zA-Z-]+)*))?$`,
	} {
		if !surelyCompiles(good) {
			t.Errorf("%s does not compile", good)
		}
	}
	for _, bad := range []string{
		`(`, `)`, `[`, `]`, `a]`, `}`, `{`, `^{.*}$`, `a{,5}`, `a{2,1}`, `a**`, `a{1}{2}`, `^*`, `*`, `|+`, `(?=a)*`, `(?<=a)+`, `\b+`, `(?>a)`, `(?#c)`, `(?P<n>a)`, `(?i)a`, `(?'n'a)`, `(?<1>a)`, `(?<n>a)(?<n>b)`, `(?`,
		`\1`, `(a)\2`, `\k<n>`, `\k`, `\_`, `\-`, `\@`, `\a`, `\A`, `\z`, `\`, `\01`, `\x4`, `\u12`, `\u{110000}`, `\u{}`, `\pL`, `\p{IsGreek}`, `\p{Foo}`, `[b-a]`, `[\w-a]`, `[a-\d]`, `[\B]`, `[\1]`, `[\_]`, `[a`, `[a-`,
		`[\udfff-\ud800]`, "\ufffd", strings.Repeat("(", 51) + strings.Repeat(")", 51), strings.Repeat("a", 10_001),
	} {
		if surelyCompiles(bad) {
			t.Errorf("%s compiles", bad)
		}
	}
}

// TestMendsAreBounded: of a definition with many mistakes some are named. What its server calls them is clipped and controls no terminal.
func TestMendsAreBounded(t *testing.T) {
	t.Parallel()
	def, mended, err := Check(offers.Prompts, Read([]byte(`{"name":"p","arguments":[`+strings.Repeat(`{"name":"a","title":null},`, 100)+`{"name":"a"}]}`)))
	if err != nil || strings.Contains(string(def.Text), "null") || len(mended) != maxMended+1 || mended[maxMended] != "and more" {
		t.Errorf("%s, %q, %v", def.Text, mended, err)
	}
	_, _, err = Older(Read([]byte(`{"name":"t","inputSchema":{"type":"object","properties":{"\u001b[31m` + strings.Repeat("x", 500) + `":7}}}`)))
	if err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), `/inputSchema/properties/\x1b[31mxxx`) {
		t.Errorf("%v", err)
	}
}

// TestCheckProperty: whatever a server sends, what is offered is JSON that passes again as it is.
func TestCheckProperty(t *testing.T) {
	t.Parallel()
	passed, mendedSome, refused := 0, 0, 0
	seeds.Check(t, func(t *rapid.T) {
		kind := offers.ListKind(rapid.IntRange(int(offers.Tools), int(offers.Templates)).Draw(t, "kind"))
		def := value(shapes[kind]).Draw(t, "definition")
		got, mended, err := Check(kind, Read([]byte(def)))
		switch {
		case err != nil:
			refused++
			return
		case len(mended) == 0:
			passed++
			if string(got.Text) != def {
				t.Fatalf("%s became %s", def, got.Text)
			}
		default:
			mendedSome++
		}
		if !json.Valid(got.Text) {
			t.Fatalf("%s became %s", def, got.Text)
		}
		if again, mended, err := Check(kind, got); err != nil || len(mended) > 0 || string(again.Text) != string(got.Text) {
			t.Fatalf("%s became %s, which is wrong again: %q %v", def, got.Text, mended, err)
		}
	})
	if passed == 0 || mendedSome == 0 || refused == 0 {
		t.Errorf("%d passed, %d were mended, %d refused: too little was tried", passed, mendedSome, refused)
	}
}

// value draws JSON of about a shape.
func value(s *shape) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 15).Draw(t, "odd") == 0 {
			return rapid.SampledFrom([]string{"null", "true", `"true"`, "[]", "{}", "7", `"7"`, `""`, `[""]`, `["object"]`}).Draw(t, "value")
		}
		switch s.form {
		case object:
			var members []string
			for _, name := range slices.Sorted(maps.Keys(s.members)) {
				member := s.members[name]
				if rapid.Bool().Draw(t, name) || len(s.needs) > 0 && rapid.IntRange(0, 7).Draw(t, name) > 0 {
					members = append(members, `"`+name+`":`+value(member).Draw(t, "member"))
				}
			}
			return "{" + strings.Join(members, ",") + "}"
		case record:
			return `{"a":` + value(s.each).Draw(t, "member") + "}"
		case list:
			return "[" + value(s.each).Draw(t, "element") + "]"
		case choice:
			return `"` + rapid.SampledFrom(s.choices).Draw(t, "choice") + `"`
		case flag:
			return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "flag")
		case number, whole:
			return rapid.SampledFrom([]string{"0", "1", "0.5", "12"}).Draw(t, "number")
		case moment:
			return rapid.SampledFrom([]string{`"2025-01-12T15:00:58Z"`, `"2025-01-12"`, `"now"`}).Draw(t, "moment")
		case text:
			return `"x"`
		}
		return rapid.SampledFrom([]string{"{}", "true", `{"type":"string"}`}).Draw(t, "anything")
	})
}
