package edit

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

// What is put in is taken out again, and every byte is as it was: whatever comments, commas, blanks and line ends there are.
func TestInsertAndCut(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		text := layoutOf(t)
		if rapid.Bool().Draw(t, "windows") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		whole, err := Decode(JSON, []byte(text))
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		list, _ := whole.Get("list").([]any)
		at := rapid.SampledFrom([]ValuePath{
			{"table", "new"}, {"table", "new", "in", 0}, {"fresh", "in", 0}, {"list", rapid.IntRange(0, len(list)).Draw(t, "number")},
		}).Draw(t, "at")
		var v any = "a ${x} \n value"
		if rapid.Bool().Draw(t, "object") {
			v = Table{{"name", "x"}, {"if", Table{{"roles", []any{"read"}}}}}
		}
		with, err := Insert([]byte(text), at, v)
		if err != nil {
			t.Fatalf("%v: %v:\n%s", at, err, text)
		}
		if _, empty := whole.Get(at[0].(string)).(Table); at[0] == "table" && !empty && whole.Has("table") {
			t.Fatal("no table")
		}
		keep := len(at) - 1
		if at[0] == "fresh" {
			keep = 0
		} else if len(at) > 2 {
			keep = 1
		}
		back, err := Cut(with, at, keep)
		if err != nil {
			t.Fatalf("%v: %v:\n%s", at, err, with)
		}
		if string(back) != text && hasSpans(text, at[0].(string)) {
			t.Fatalf("%v:\n%s\nbecame\n%s\nand then\n%s", at, text, with, back)
		}
	})
}

// hasSpans reports whether something stands in what is changed: what is empty is laid out again.
func hasSpans(text, name string) bool {
	if name == "fresh" {
		return true
	}
	box, _ := boxAt([]byte(text), ValuePath{name})
	return len(box.spans) > 0
}

// layoutOf returns a text with a table and a list in one of many layouts.
func layoutOf(t *rapid.T) string {
	one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	members := func(name string, n int, member func(i int) string) string {
		sep, open, end := "\n    ", "\n    ", one(name+" end", "", ",", ", // last", " // last", ",\n    // last")+"\n  "
		if rapid.Bool().Draw(t, name+" inline") {
			sep, open, end = " ", one(name+" blank", "", " "), one(name+" blank behind", "", " ")
		}
		var b strings.Builder
		b.WriteString(open)
		for i := range n {
			if i > 0 {
				b.WriteString(",")
				if sep != " " {
					b.WriteString(one(fmt.Sprint(name, " comment ", i), "", " // about the one before", " /* the one before */", "\n    // about the next"))
				}
				b.WriteString(sep)
			}
			b.WriteString(member(i))
		}
		if n == 0 {
			return ""
		}
		return b.String() + end
	}
	table := members("table", rapid.IntRange(0, 3).Draw(t, "members"), func(i int) string { return fmt.Sprintf("%q: %d", fmt.Sprint("m", i), i) })
	list := members("list", rapid.IntRange(0, 3).Draw(t, "elements"), func(i int) string {
		return one(fmt.Sprint("element ", i), `"text"`, `{"a": 1}`, "{\n      \"a\": 1\n    }")
	})
	return "{\n  // first\n  \"table\": {" + table + "},\n  \"list\": [" + list + "]" + one("end", "", ",", ", // the end") + "\n}\n"
}

func TestInsert(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		at         ValuePath
		v          any
		want       string
	}{
		{"behind the last", "{\n  \"a\": {\n    \"x\": 1 // one\n  }\n}\n", ValuePath{"a", "s", "read", 0}, "~/v",
			"{\n  \"a\": {\n    \"x\": 1, // one\n    \"s\": {\n      \"read\": [\"~/v\"]\n    }\n  }\n}\n"},
		{"in one line", `{"a": {"x": 1}}`, ValuePath{"a", "s", "read", 0}, "~/v", `{"a": {"x": 1, "s": {"read": ["~/v"]}}}`},
		{"in the place of another", "{\n  \"a\": {\"x\": 1, \"s\": \"auto\"},\n}", ValuePath{"a", "s"}, Table{{"mode", "auto"}, {"read", []any{"~/v"}}},
			"{\n  \"a\": {\"x\": 1, \"s\": {\"mode\": \"auto\", \"read\": [\"~/v\"]}},\n}"},
		{"before another", "{\"l\": [\n  // the first\n  1,\n  2\n]}", ValuePath{"l", 0}, "0", "{\"l\": [\n  \"0\",\n  // the first\n  1,\n  2\n]}"},
	} {
		got, err := Insert([]byte(c.text), c.at, c.v)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
	for _, c := range []struct {
		name, text string
		at         ValuePath
	}{
		{"a name that stands twice", `{"a": {"s": 1, "s": 2}}`, ValuePath{"a", "s"}},
		{"no object on the way", `{"a": 1}`, ValuePath{"a", "s"}},
		{"null on the way", `{"a": null}`, ValuePath{"a", "s"}},
		{"an object in the place of a list", `{"a": {}}`, ValuePath{"a", 0}},
		{"a list in the place of an object", `{"a": []}`, ValuePath{"a", "b"}},
		{"no JSON", `{"a": `, ValuePath{"a", "b"}},
	} {
		if got, err := Insert([]byte(c.text), c.at, "x"); err == nil {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if got, err := Cut([]byte(`{"a": {"s": [1]}}`), ValuePath{"a", "s", 1}, 0); err == nil {
		t.Errorf("what is not there is cut: %s", got)
	}
	if got, err := Cut([]byte("{\"b\": 1, \"a\": {\"s\": [1 /* kept */]}}"), ValuePath{"a", "s", 0}, 0); err != nil || string(got) != "{\"b\": 1, \"a\": {\"s\": [ /* kept */]}}" && !strings.Contains(string(got), "kept") {
		t.Errorf("a comment is lost: %s, %v", got, err)
	}
}
