package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestStringsAreThereDecodedAndRaw: a string and a name are there decoded and as they stand.
func TestStringsAreThereDecodedAndRaw(t *testing.T) {
	t.Parallel()
	tr := parsed(t, `{"a":"x\u0041","b\n":"y","c":["z"],"d\t":"\\"}`)
	for _, c := range []struct {
		pointer, text, raw, name, rawName string
		escaped, plain, member            bool
	}{
		{"/a", "xA", `x\u0041`, "a", "a", true, true, true},
		{"/d\t", `\`, `\\`, "d\t", `d\t`, true, false, true},
		{"/b\n", "y", "y", "b\n", `b\n`, false, false, true},
	} {
		id := at(t, tr, c.pointer)
		raw, plain := tr.RawName(id)
		if tr.Str(id) != c.text || string(tr.Raw(id)) != c.raw || string(tr.Whole(id)) != `"`+c.raw+`"` || tr.Name(id) != c.name || string(raw) != c.rawName || plain != c.plain || tr.IsEscaped(id) != c.escaped || tr.IsMember(id) != c.member {
			t.Errorf("%s: %q %q %q %q %v %v %v", c.pointer, tr.Str(id), tr.Raw(id), tr.Name(id), raw, plain, tr.IsEscaped(id), tr.IsMember(id))
		}
	}
	if tr.IsMember(0) || tr.IsMember(at(t, tr, "/c/0")) {
		t.Error("the whole, or an element, has a name")
	}
}

// TestPointers: a token names a member or a position, and each value has one pointer.
func TestPointers(t *testing.T) {
	t.Parallel()
	tr := parsed(t, `{"a":[10,[20,30],{"0":40}],"b/c~d":{"":50},"0":60,"~1":70,"s":"x"}`)
	for pointer, want := range map[string]string{
		"/a/0": "10", "/a/1/1": "30", "/a/2/0": "40", "/b~1c~0d/": "50", "/0": "60", "/~01": "70",
		"/a/3": "", "/a/00": "", "/a/-": "", "/a/": "", "/b": "", "/b/c~d": "", "/~1": "", "/a/0/0": "", "/s/x": "", "/A": "", "a": "", "/1": "",
	} {
		id := tr.Lookup(pointer)
		if want == "" {
			if id != -1 {
				t.Errorf("%s is %s", pointer, tr.Whole(id))
			}
			continue
		}
		if id < 0 || string(tr.Whole(id)) != want || tr.Pointer(id) != pointer {
			t.Errorf("%s is %d, want %s", pointer, id, want)
		}
	}
	if tr.Lookup("") != 0 || tr.Pointer(0) != "" {
		t.Error("the empty pointer is not the whole")
	}
	for pointer, want := range map[string]string{"/a/1/1": "/a/*/*", "/a/2/0": "/a/*/0", "/b~1c~0d/": "/b~1c~0d/", "/0": "/0"} {
		if got := tr.Starred(at(t, tr, pointer)); got != want {
			t.Errorf("%s is declared as %s, want %s", pointer, got, want)
		}
	}
	for i := range tr.Nodes {
		if id := tr.Lookup(tr.Pointer(int32(i))); id != int32(i) {
			t.Errorf("%s is %d, want %d", tr.Pointer(int32(i)), id, i)
		}
	}
}

// TestTokens: a pointer is cut at its slashes, and its escapes are undone in one pass.
func TestTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pointer, token, rest string
		ok                   bool
	}{
		{"", "", "", false}, {"a/b", "", "", false}, {"/", "", "", true}, {"/a", "a", "", true}, {"/a/b/c", "a", "/b/c", true}, {"//a", "", "/a", true}, {"/a/", "a", "/", true},
		{"/a~1b~0/c~1", "a/b~", "/c~1", true}, {"/~01", "~1", "", true}, {"/~00", "~0", "", true}, {"/~2~", "~2~", "", true},
	} {
		token, rest, ok := CutToken(c.pointer)
		if token != c.token || rest != c.rest || ok != c.ok {
			t.Errorf("%s: %q %q %v", c.pointer, token, rest, ok)
		}
		if c.ok && !strings.Contains(c.pointer, "~2") && "/"+EscapeToken(token)+rest != c.pointer {
			t.Errorf("%q is written %q", token, EscapeToken(token))
		}
	}
	if EscapeToken("a~/1") != "a~0~11" || IndexToken(12) != "12" || string(TrimJSONSpace([]byte("\t\n\r x\v\n"))) != "x\v" {
		t.Error("a token is written otherwise")
	}
}

// TestMembers: a member is asked for by its name and its kind.
func TestMembers(t *testing.T) {
	t.Parallel()
	tr := parsed(t, `{"s":"x\ty","e":"","n":1,"t":true,"f":false,"q":"true","o":{"s":"z","t":true}}`)
	for name, want := range map[string]string{"s": "x\ty", "e": "", "n": "", "t": "", "o": "", "S": "", "none": ""} {
		if got := tr.Text(0, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]bool{"t": true, "f": false, "n": false, "q": false, "s": false, "none": false} {
		if tr.IsTrue(0, name) != want {
			t.Errorf("%s is %v", name, !want)
		}
	}
	if o := at(t, tr, "/o"); tr.Text(o, "s") != "z" || !tr.IsTrue(o, "t") || tr.IsTrue(o, "s") {
		t.Error("an object within is read otherwise")
	}
}

// TestValue: numbers keep their text, and everything else is what encoding/json makes of it.
func TestValue(t *testing.T) {
	t.Parallel()
	tr := parsed(t, `{"a":[1.0,-2E+1,"x\n",true,false,null,[],{}],"\u0062":{"c":0}}`)
	want := map[string]any{"a": []any{json.Number("1.0"), json.Number("-2E+1"), "x\n", true, false, nil, []any{}, map[string]any{}}, "b": map[string]any{"c": json.Number("0")}}
	if got := tr.Value(0); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

// TestTwinsAreEqualUnderCaseFolding: members are twins if their names are equal under case folding, as they are decoded.
func TestTwinsAreEqualUnderCaseFolding(t *testing.T) {
	t.Parallel()
	more := func(n int) string { // n members of other names
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%d":0,`, i)
		}
		return b.String()
	}
	for _, c := range []struct{ args, want string }{
		{`{}`, ``}, {`{"a":1}`, ``}, {`{"a":1,"b":2}`, ``}, {`{"a":1,"a ":2,"a_":3}`, ``},
		{`{"a":1,"A":2}`, `a=A`}, {`{"ab":1,"x":0,"A\u0042":2}`, `ab=AB`}, {`{"k":1,"K":2}`, `k=K`}, {`{"is":1,"iſ":2}`, `is=iſ`}, {`{"é":1,"É":2,"e":3}`, `é=É`}, {`{"ß":1,"ss":2}`, ``}, {`{"i":1,"İ":2,"ı":3}`, ``},
		{`{"aa":1,"aA":2,"AA":3}`, `aa=aA aa=AA aA=AA`}, {`{"a":1,"b":2,"B":3,"A":4}`, `a=A b=B`}, {`{"a":{"A":1}}`, ``},
		{`{` + more(13) + `"aa":1,"aA":2,"AA":3}`, `aa=aA aa=AA aA=AA`}, // 16 members
		{`{` + more(14) + `"aa":1,"aA":2,"AA":3}`, `aa=aA aa=AA`},
		{`{` + more(20) + `"k":1,"is":2,"K":3,"iſ":4}`, `k=K is=iſ`}, {`{` + more(20) + `"a":1}`, ``},
	} {
		tr := parsed(t, c.args)
		var pairs []string
		err := tr.Twins(0, func(a, b int32) error {
			pairs = append(pairs, tr.Name(a)+"="+tr.Name(b))
			return nil
		})
		if got := strings.Join(pairs, " "); got != c.want || err != nil {
			t.Errorf("%s\n got %s %v\nwant %s", c.args, got, err, c.want)
		}
		if len(pairs) == 0 {
			continue
		}
		refusal, calls := errors.New("refused"), 0
		if err := tr.Twins(0, func(int32, int32) error { calls++; return refusal }); !errors.Is(err, refusal) || calls != 1 {
			t.Errorf("%s: %v after %d pairs", c.args, err, calls)
		}
	}
}

// TestParseNested: JSON inside a string hangs below it, by every reading, and any other string stays one.
func TestParseNested(t *testing.T) {
	t.Parallel()
	wrapped := func(s string, times int) string {
		for range times {
			s = quoted(s)
		}
		return s
	}
	for _, c := range []struct{ text, want string }{
		{`{"a":1}`, `<{a:1}>`}, {`[1,"x"]`, `<[1,"x"]>`}, {` {} `, `<{}>`}, {"\ufeff\r\n[0]\t", `<[0]>`},
		{``, ``}, {` `, ``}, {`a`, ``}, {`1`, ``}, {`true`, ``}, {`null`, ``}, {`"x"`, ``}, {`"`, ``}, {`""`, ``}, {`a{"b":1}`, ``}, {`/`, ``}, {`/etc/passwd`, ``}, {`{`, ``}, {`[}`, ``}, {"\v{}", ``},
		// Names may occur twice, and lone surrogates pass.
		{`{"a":1,"a":2}`, `<{a:1,a:2}>`}, {`["\ud800"]`, `<["\ud800"]>`}, {`{"a":1e10000}`, `<{a:1e10000}>`},
		// JSON in a JSON string.
		{quoted(`{"a":1}`), `<{a:1}>`}, {" " + quoted("\ufeff "+`[2]`), `<[2]>`}, {wrapped(`[3]`, maxNested), `<[3]>`}, {wrapped(`[3]`, maxNested+1), ``}, {quoted(`{"a":1}`) + `x`, ``}, {`"{\"a\":1}`, ``}, {`"\x"`, ``},
		// The lenient spellings: see lenient.go.
		{`{a:1,}`, `<{a:1}>`}, {`{'a':'b'} // x`, `<{a:"b"}>`}, {"/* x */ {\"a\":1}", `<{a:1}>`}, {`{"a":1}{"b":2}`, `<[{a:1},{b:2}]>`}, {`{a 1}`, ``}, {`{a:b}`, ``},
		{`{"outFile\u0000":"flink"}`, `arguments-bad-name /s`}, {`{'a\u0000':1}`, `arguments-bad-name /s`}, {`{"b":{"a\u0000":1}}`, `arguments-bad-name /s/b`},
	} {
		tr := parsed(t, `{"s":`+quoted(c.text)+`,"z":0}`)
		id, nodes := at(t, tr, "/s"), len(tr.Nodes)
		is, err := tr.ParseNested(id, tr.Str(id), 0)
		got := outcome(err)
		if is {
			got = written(tr, id)
		}
		if got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.text, got, c.want)
		}
		if is != tr.IsNested(id) || !is && (len(tr.Nodes) != nodes || len(tr.docs) != 1 || tr.Nodes[id].First != 0) {
			t.Errorf("%q leaves something: %v, %d values", c.text, is, len(tr.Nodes))
		}
	}
}

// TestNestedPointers: one pointer runs through a string into what it holds.
func TestNestedPointers(t *testing.T) {
	t.Parallel()
	inner := `{"a/b":["x",{"c":7}]}`
	tr := parsed(t, `{"l":[`+quoted(inner)+`]}`)
	id := at(t, tr, "/l/0")
	if is, err := tr.ParseNested(id, tr.Str(id), 0); !is || err != nil {
		t.Fatal(is, err)
	}
	c := at(t, tr, "/l/0/a~1b/1/c")
	start, end := tr.Span(c)
	if string(tr.Whole(c)) != "7" || inner[start:end] != "7" || tr.Pointer(c) != "/l/0/a~1b/1/c" || tr.Starred(c) != "/l/*/a~1b/*/c" || !tr.InString(c) || tr.InString(id) || tr.Lookup("/l/0/x") != -1 {
		t.Errorf("%s at %s, declared as %s", tr.Whole(c), tr.Pointer(c), tr.Starred(c))
	}
	if tr.Value(id) != inner {
		t.Errorf("the string is %v", tr.Value(id))
	}
}

// TestNestedBounds: strings count for the depth, for the number of values, and by how often JSON stands in them.
func TestNestedBounds(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		text  string
		level int
		want  string
	}{
		// The limit is 9; the object, the array and the string are three.
		{deep(6), 0, ``}, {deep(7), 0, `arguments-too-deep /l/0/0/0/0/0/0`}, {`[[[[[['x']]]]]]`, 0, ``}, {`{a:` + deep(5) + `}`, 0, ``}, {`{a:` + deep(6) + `}`, 0, `arguments-too-deep /l/0`}, {`{a:` + strings.Repeat("[", 6), 0, `arguments-too-deep /l/0`}, {`{a:` + strings.Repeat("[", 5), 0, `text`},
		{`[[[[[1]]]]][2]`, 0, ``}, {`[[[[[[1]]]]]][2]`, 0, `arguments-too-deep /l/0`}, // several documents are one array
		{`[]`, maxNested - 1, ``}, {`[]`, maxNested, `arguments-too-deep /l/0`}, {`x`, maxNested, `text`},
	} {
		tr := New(9)
		if err := tr.Parse([]byte(`{"l":[`+quoted(c.text)+`]}`), DefaultSize); err != nil {
			t.Fatal(err)
		}
		id := at(t, tr, "/l/0")
		is, err := tr.ParseNested(id, tr.Str(id), c.level)
		got := outcome(err)
		if err == nil && !is {
			got = "text"
		}
		if got != c.want || is && err != nil {
			t.Errorf("%s at level %d: got %q, want %q", c.text, c.level, got, c.want)
		}
	}
	tr := parsed(t, `{"s":"[1,2]"}`)
	tr.Nodes = slices.Grow(tr.Nodes, MaxNodes)[:MaxNodes-2]
	if is, err := tr.ParseNested(1, "[1,2]", 0); is || outcome(err) != `arguments-too-large /s` {
		t.Errorf("one value too many: %v, %v", is, err)
	}
	if is, err := tr.ParseNested(1, "[1]", 0); !is || err != nil {
		t.Errorf("as many values: %v, %v", is, err)
	}
}
