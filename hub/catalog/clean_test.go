package catalog

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

// evil is every kind of thing that is cleaned away, as JSON may write it.
const evil = `\u001b[31m\u202e\u2066\udb40\udc41` + "\u202d\U000e0041"

func TestCleanedTouchesProseAlone(t *testing.T) {
	t.Parallel()
	cases := []struct{ in, want string }{
		{`{"name":"a","description":"no escape"}`, ""},
		{`{"description":"tab \\t, line \\n, \u00e9 and \ud83d\ude00 stay"}`, ""},
		{`{"description":"bad ~red","x":"~"}`, `{"description":"bad red","x":"~"}`},
		{`{"title":"~a","annotations":{"title":"b~","x":"~"}}`, `{"title":"a","annotations":{"title":"b","x":"~"}}`},
		{`{"name":"p","arguments":[{"name":"~","description":"~d","title":"t~"}]}`, `{"name":"p","arguments":[{"name":"~","description":"d","title":"t"}]}`},
		{`{"inputSchema": {"title":"~a","properties":{"description":{"description":"~b","default":"~"},"default":{"title":"c~"}},"x":1e400}}`,
			`{"inputSchema": {"title":"a","properties":{"description":{"description":"b","default":"~"},"default":{"title":"c"}},"x":1e400}}`},
		{`{"outputSchema":{"items":[{"description":"~a"}],"allOf":[{"$defs":{"title":{"title":"~b"}}}],"const":{"title":"~"},"enum":["~",{"description":"~"}],"examples":[{"title":"~"}]}}`,
			`{"outputSchema":{"items":[{"description":"a"}],"allOf":[{"$defs":{"title":{"title":"b"}}}],"const":{"title":"~"},"enum":["~",{"description":"~"}],"examples":[{"title":"~"}]}}`},
		{`{"_meta":{"title":"~"},"icons":[{"title":"~"}],"description":"~"}`, `{"_meta":{"title":"~"},"icons":[{"title":"~"}],"description":""}`},
		{`{"description":"half \ud800 ~pair"}`, `{"description":"half ` + "\ufffd" + ` pair"}`},
		{`{"description":"half \ud800 pair"}`, ""},
		{`{"description":{"title":"~"}}`, ""},
	}
	put := func(s string) string { return strings.ReplaceAll(s, "~", evil) }
	for _, c := range cases {
		want := c.want
		if want == "" {
			want = c.in
		}
		if got := string(cleanProse([]byte(put(c.in)))); got != put(want) {
			t.Errorf("of %s\ngot  %q\nwant %q", c.in, got, put(want))
		}
	}
	for _, odd := range []string{``, `{`, `[]`, `"\u001b"`, `{"description":"\u001b"`, `{"inputSchema":[{"title":"\u001b"}`, `{"a":1}}`} {
		if got := cleanProse([]byte(odd)); string(got) != odd {
			t.Errorf("%q became %q", odd, got)
		}
	}
}

// A definition that nests deeper than a stack goes is read without one.
func TestCleanedIsNotRecursive(t *testing.T) {
	t.Parallel()
	deep := `{"inputSchema":` + strings.Repeat(`{"not":`, 9000) + `{"title":"\u001b"}` + strings.Repeat(`}`, 9001)
	if got := string(cleanProse([]byte(deep))); got != strings.Replace(deep, `\u001b`, "", 1) {
		t.Error("9,000 levels were not cleaned")
	}
	endless := []byte(`{"inputSchema":` + strings.Repeat(`{"not":`, 1<<20))
	if got := cleanProse(endless); !bytes.Equal(got, endless) {
		t.Error("what is no JSON was changed")
	}
}

// Whatever a definition holds, cleaning it changes texts of prose and nothing
// else, and doing it again changes nothing.
func TestCleanedProperty(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		def := drawValue(t, 4)
		raw, err := json.Marshal(map[string]any{"name": "n", "inputSchema": def, "x": def})
		if err != nil {
			t.Fatal(err)
		}
		got := cleanProse(bytes.Clone(raw))
		if again := cleanProse(bytes.Clone(got)); !bytes.Equal(again, got) {
			t.Fatalf("%s\n%s", got, again)
		}
		var before, after any
		if json.Unmarshal(raw, &before) != nil || json.Unmarshal(got, &after) != nil {
			t.Fatalf("%s became %s", raw, got)
		}
		if b, a := sketch(before), sketch(after); b != a {
			t.Fatalf("%s\n%s", b, a)
		}
	})
}

func drawValue(t *rapid.T, depth int) any {
	words := []string{"title", "description", "properties", "items", "default", "enum", "x", "\u001b[1mred", "a\u202eb", "plain"}
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case kind == 0 && depth > 0:
		out := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			out[rapid.SampledFrom(words).Draw(t, "name")] = drawValue(t, depth-1)
		}
		return out
	case kind == 1 && depth > 0:
		var out []any
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			out = append(out, drawValue(t, depth-1))
		}
		return out
	}
	return rapid.SampledFrom(words).Draw(t, "text")
}

// sketch returns a value without the texts that may be prose.
func sketch(v any) string {
	var out func(v any, prose bool) any
	out = func(v any, prose bool) any {
		switch v := v.(type) {
		case map[string]any:
			for name := range v {
				v[name] = out(v[name], name == "title" || name == "description")
			}
		case []any:
			for i := range v {
				v[i] = out(v[i], false)
			}
		case string:
			if prose {
				return "prose"
			}
		}
		return v
	}
	raw, _ := json.Marshal(out(v, false))
	return string(raw)
}
