package results

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

// texts are of characters of all lengths, with and without lines, and JSON of both shapes.
func texts() *rapid.Generator[string] {
	runes := rapid.RuneFrom([]rune("ab \n\"\\,{}[]ä€😀\r\t"))
	plain := rapid.StringOfN(runes, 0, 400, -1)
	return rapid.OneOf(plain, rapid.Custom(func(t *rapid.T) string {
		v := rapid.MapOfN(plain, rapid.SliceOfN(rapid.OneOf(rapid.Map(plain, func(s string) any { return s }), rapid.Map(rapid.Int(), func(n int) any { return n })), 0, 5), 0, 10).Draw(t, "value")
		raw, err := json.Marshal(v)
		if rapid.Bool().Draw(t, "indented") {
			raw, err = json.MarshalIndent(v, "", "  ")
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}))
}

func TestCutsAreBetweenCharactersAndKeepTheBound(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		most := rapid.IntRange(0, len(text)).Draw(t, "most")
		if most == len(text) {
			return
		}
		c := cutText(text, most)
		head, tail := text[:c.head], text[c.tail:]
		switch {
		case c.head > c.tail:
			t.Fatalf("%+v overlaps", c)
		case len(head)+len(tail) > most:
			t.Fatalf("%d and %d bytes are left of %d", len(head), len(tail), most)
		case !utf8.ValidString(head) || !utf8.ValidString(tail):
			t.Fatalf("cut inside a character: %q, %q", head, tail)
		case c.note == "" && head != "" && !strings.HasSuffix(head, "\n"):
			t.Fatalf("the head ends inside a line and does not say so: %q", head)
		case c.note == "" && tail != "" && text[c.tail-1] != '\n':
			t.Fatalf("the tail begins inside a line and does not say so: %q", tail)
		case isJSON(text) != strings.Contains(c.note, "JSON"):
			t.Fatalf("JSON is not named: %q", c.note)
		case strings.Contains(c.note, "between members"):
			// What is left is whole but for the brackets: a member on either side completes it.
			if !completes(head) {
				t.Fatalf("the head does not end between members: %q", head)
			}
			if !strings.HasSuffix(strings.TrimRight(text[:c.tail], " \t\r\n"), ",") {
				t.Fatalf("the tail does not begin between members: %q", tail)
			}
		}
	})
}

// completes reports whether some JSON goes on behind head with a value or a member.
func completes(head string) bool {
	var open []byte
	d := json.NewDecoder(strings.NewReader(head))
	for {
		tok, err := d.Token()
		if err != nil {
			break
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			open = append(open, byte(tok.(json.Delim)))
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return false
	}
	text := head + `0`
	if open[len(open)-1] == '{' {
		text = head + `"x":0`
	}
	for i := len(open) - 1; i >= 0; i-- {
		text += string(map[byte]byte{'{': '}', '[': ']'}[open[i]])
	}
	return json.Valid([]byte(text))
}

func TestPagesAreTheWhole(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		size := rapid.IntRange(1, 100).Draw(t, "size")
		starts := append(pageStarts(text, size), len(text))
		whole := ""
		for i, from := range starts[:len(starts)-1] {
			page := text[from:starts[i+1]]
			whole += page
			switch {
			case !utf8.ValidString(page):
				t.Fatalf("a page ends inside a character: %q", page)
			case len(page) > size && utf8.RuneCountInString(page) > 1:
				t.Fatalf("a page of %d bytes, of %d at most", len(page), size)
			case page == "" && text != "":
				t.Fatal("an empty page")
			}
		}
		if whole != text {
			t.Fatalf("the pages are %q", whole)
		}
	})
}

func TestWhereItIsCut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text, head, tail string
		most             int
		note             string
	}{
		{"one\ntwo\nthree\nfour\nfive\n", "one\ntwo\n", "five\n", 16, ""},
		{"one\r\ntwo\r\nthree\r\nfour", "one\r\n", "four", 14, ""},
		{"abcdefghijklmnop", "abcd", "mnop", 8, "inside a line"},
		{"ääääääää", "ä", "ää", 7, "inside a line"},
		{`[{"a":1,"b":2},{"a":3,"b":4},{"a":5,"b":6},{"a":7,"b":8}]`, `[{"a":1,"b":2},`, `{"a":7,"b":8}]`, 44, "between members"},
		{"[\n  1,\n  2,\n  3,\n  4,\n  5\n]", "[\n  1,\n", "  5\n]", 18, "between members"},
		{`{"a":"` + strings.Repeat("x,", 20) + `"}`, `{"a":"x,x,`, `x,x,x,x,"}`, 20, "inside a value"},
	} {
		c := cutText(tc.text, tc.most)
		if tc.text[:c.head] != tc.head || tc.text[c.tail:] != tc.tail || !strings.Contains(c.note, tc.note) || (tc.note == "") != (c.note == "") {
			t.Errorf("%q to %d: %q, %q, %q; want %q, %q, %q", tc.text, tc.most, tc.text[:c.head], tc.text[c.tail:], c.note, tc.head, tc.tail, tc.note)
		}
	}
}
