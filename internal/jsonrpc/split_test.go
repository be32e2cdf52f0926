package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	line := []byte(` { "params" : {"name":"t","\u0061rguments" : {"x": 9007199254740993 } , "_meta":{}} , "foreign":[{}], "\u0069d":"\u00e9", "method":"a\/b" , "jsonrpc":"\u0032.0" } `)
	for _, strict := range []bool{true, false} {
		var m Message
		if err := Split(line, strict, &m); err != nil {
			t.Fatal(err)
		}
		if !m.IsRequest() || m.IsNotification() || m.IsResponse() {
			t.Error("it is a request")
		}
		if m.Method != "a/b" || string(m.ID) != `"\u00e9"` || m.Result != nil || m.Error != nil {
			t.Errorf("%+v", m)
		}
		if got := string(m.Params); got != `{"name":"t","\u0061rguments" : {"x": 9007199254740993 } , "_meta":{}}` {
			t.Errorf("params %s", got)
		}
		args := m.Param("arguments")
		if string(args) != `{"x": 9007199254740993 }` || m.Param("x") != nil {
			t.Errorf("arguments %s", args)
		}
		if at := m.Offset(args); !bytes.HasPrefix(m.Params[at:], args) {
			t.Errorf("offset %d", at)
		}
	}
}

func TestSplitKinds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line                            string
		request, notification, response bool
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"x"}`, true, false, false},
		{`{"jsonrpc":"2.0","method":"x","params":[1]}`, false, true, false},
		{`{"jsonrpc":"2.0","id":"","result":null}`, false, false, true},
		{`{"jsonrpc":"2.0","id":-1.5e300,"error":{}}`, false, false, true},
		{`{"jsonrpc":"2.0","ID":1,"METHOD":"x","Result":1}`, false, false, false}, // names are exact
		{`{"jsonrpc":"2.0","id\u0000":1,"method":"x"}`, false, true, false},
		{`{"jsonrpc":"2.0","ıd":1,"method":"x","paramſ":{}}`, false, true, false},
	} {
		var m Message
		if err := Split([]byte(tc.line), true, &m); err != nil {
			t.Errorf("%s: %v", tc.line, err)
		}
		if m.IsRequest() != tc.request || m.IsNotification() != tc.notification || m.IsResponse() != tc.response {
			t.Errorf("%s: %+v", tc.line, m)
		}
	}
}

// A peer cannot make the Conn hold many times what it sends.
func TestSplitBoundsMembers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxMembers, maxMembers + 1, 1 << 20} {
		line := []byte(`{"jsonrpc":"2.0","method":"x","params":{` + strings.Repeat(`,"":0`, n)[1:] + `}}`)
		var m Message
		err := Split(line, false, &m)
		if (err != nil) != (n > maxMembers) || cap(m.Members) > 2*maxMembers {
			t.Errorf("%d members: %v, room for %d is kept", n, err, cap(m.Members))
		}
		m.forgetFrame()
		if cap(m.Members) > 64 {
			t.Errorf("room for %d is kept", cap(m.Members))
		}
	}
}

func TestReasonsAreShort(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"`+strings.Repeat("n", 1000)+`":`, 100)
	var m Message
	var se *SyntaxError
	if err := Split([]byte(`{"jsonrpc":"2.0","id":1,"params":`+deep), true, &m); !errors.As(err, &se) || se.Code != CodeParse || len(se.Reason) > 300 {
		t.Fatalf("%d %.400s", len(err.Error()), err)
	}
}

func TestReadingHelpers(t *testing.T) {
	t.Parallel()
	var got []string
	if err := Members([]byte(` {"a":1,"b":[2],"a":"x"} `), func(n string, v []byte) bool {
		got = append(got, n+"="+string(v))
		return len(got) < 3
	}); err != nil || strings.Join(got, " ") != `a=1 b=[2] a="x"` {
		t.Error(got, err)
	}
	got = nil
	if err := Elements([]byte(`[1, {"a":2},"x"]`), func(v []byte) bool {
		got = append(got, string(v))
		return true
	}); err != nil || strings.Join(got, " ") != `1 {"a":2} "x"` {
		t.Error(got, err)
	}
	for _, bad := range []string{``, `x`, `"a"`, `[1`, `{"a":1`, `{1:2}`, `{"a" 1}`} {
		all := func([]byte) bool { return true }
		if Members([]byte(bad), func(string, []byte) bool { return true }) == nil || (bad != `[1` && Elements([]byte(bad), all) == nil) {
			t.Errorf("%s passed", bad)
		}
	}
	if Elements([]byte(`[1`), func([]byte) bool { return true }) == nil {
		t.Error("half an array passed")
	}
	if v := Get([]byte(`{"a":null,"a":1}`), "a"); string(v) != "null" {
		t.Errorf("%s", v)
	}
	if Get([]byte(`{"b":1}`), "a") != nil || Get([]byte(`[]`), "a") != nil || Get(nil, "a") != nil {
		t.Error("found what is not there")
	}
	for raw, want := range map[string]string{`"a\u00e9\n"`: "aé\n", `""`: "", `1`: "!", ``: "!", `"\ud800"`: "!", `"`: "!", `"a" `: "!"} {
		text, ok := String([]byte(raw))
		if (want == "!") == ok || ok && text != want {
			t.Errorf("%s: %q, %v", raw, text, ok)
		}
	}
	e := ParseError([]byte(`{"code":-32050,"message":"m","data":{"a":1e400}}`))
	if string(e.Raw()) != `{"code":-32050,"message":"m","data":{"a":1e400}}` || e.Error() != "m (code -32050)" {
		t.Errorf("%s", e.Raw())
	}
	for _, bad := range []string{`{}`, `"x"`, `{"code":"1"}`, `null`} {
		if e := ParseError([]byte(bad)); e.Code != CodeInternal || !strings.Contains(e.Message, bad) {
			t.Errorf("%s: %+v", bad, e)
		}
	}
	if err := (&ClosedError{Reason: errors.New("why")}); !errors.Is(err, ErrClosed) || err.Error() != "connection closed: why" {
		t.Error(err)
	}
}

// What passes through comes out as it went in, whatever it is, but for the id:
// in order, with its spaces, its escapes and its numbers.
func TestRelayedTextIsUnchanged(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		value := text(t, 4)
		strict := rapid.Bool().Draw(t, "strict")
		id := rapid.SampledFrom([]string{`1`, `"1"`, `9007199254740993`, `"\ud83d\ude00"`, `-0.0`}).Draw(t, "id")
		blank := func() string { return rapid.SampledFrom([]string{"", "", " ", "\t "}).Draw(t, "blank") }
		member := func(name, value string) string {
			return blank() + `"` + name + `"` + blank() + ":" + blank() + value + blank()
		}
		parts := rapid.Permutation([]string{member("jsonrpc", `"2.0"`), member("id", id), member("result", value)}).Draw(t, "order")
		in := blank() + "{" + strings.Join(parts, ",") + "}" + blank()
		var m Message
		if err := Split([]byte(in), strict, &m); err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		if string(m.ID) != id || string(m.Result) != value {
			t.Fatalf("%s: id %s, result %s", in, m.ID, m.Result)
		}
		f := newFrame()
		f.makeAnswer(`"other"`, ResultAnswer(m.movedPart(bytes.Clone(m.Frame), m.Result)))
		out := bytes.Join(f.parts, nil)
		if want := `{"jsonrpc":"2.0","id":"other","result":` + value + `}`; string(out) != want {
			t.Fatalf("got %s, want %s", out, want)
		}
		var again Message
		if err := Split(out, strict, &again); err != nil || !bytes.Equal(again.Result, m.Result) {
			t.Fatalf("%s: %v", out, err)
		}
	})
}

// text draws the text of a JSON value with unique names.
func text(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	space := rapid.SampledFrom([]string{"", "", " ", "\t"}).Draw(t, "space")
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1:
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,25})?([eE][-+]?[0-9]{1,4})?`).Draw(t, "number")
	case 2, 3:
		return str(t)
	case 4:
		var all []string
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			all = append(all, space+text(t, depth-1)+space)
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	var all []string
	for i := range rapid.IntRange(0, 4).Draw(t, "members") {
		all = append(all, fmt.Sprintf("%s%q%s:%s", space, fmt.Sprintf("%d id", i), space, text(t, depth-1)))
	}
	return "{" + strings.Join(all, ",") + "}"
}

func str(t *rapid.T) string {
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "id", "{", "}", "[", ":", ",", `\"`, `\\`, `\/`, `\n`, `\u0000`, `\u00E9`, "é", "😀", `\ud83d\ude00`, `\u2028`, "\u2028", "\u007f", `\\\"`,
	}), 0, 12).Draw(t, "string")
	return `"` + strings.Join(pieces, "") + `"`
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[1,{"y":"z"}]}}}`,
		`{"jsonrpc":"2.0","id":"\u0061","result":{"content":[]}}`, `{"error":null,"result":1,"id":1}`,
		`{"jsonrpc":"2.0","id":1,"id":2}`, `[]`, `{}{}`, `{"params":{},"params":{"a":1}}`, `{"method":"\ud800"}`,
		"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}", ` {"jsonrpc" : "2.0" , "method" : "x" } `, `{"id":1e1}`, "\xef\xbb\xbf{}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		was := bytes.Clone(line)
		var strict, loose Message
		serr, lerr := Split(line, true, &strict), Split(line, false, &loose)
		if !bytes.Equal(was, line) {
			t.Fatal("the frame was written to")
		}
		if serr != nil {
			var se *SyntaxError
			if !errors.As(serr, &se) || se.Code == 0 || se.Reason == "" || strict.ID != nil || strict.Method != "" {
				t.Fatalf("error %#v, message %+v", serr, strict)
			}
			if se.Code == CodeParse && json.Valid(line) && !tooDeepFor(line) {
				t.Fatalf("refused as no JSON: %v", serr)
			}
		}
		if serr == nil && lerr != nil {
			t.Fatalf("strict takes what lenient refuses: %v", lerr)
		}
		for _, m := range []*Message{&strict, &loose} {
			if m.Frame != nil {
				checkParts(t, line, m)
			}
		}
		if serr != nil {
			return
		}
		if !json.Valid(line) || !jsontext.Value(line).IsValid() {
			t.Fatal("strict takes what is no JSON")
		}
		// Any other reader of JSON sees the same members.
		var other map[string]json.RawMessage
		if err := json.Unmarshal(line, &other); err != nil {
			t.Fatal(err)
		}
		for name, part := range map[string][]byte{"id": strict.ID, "params": strict.Params, "result": strict.Result, "error": strict.Error} {
			if !bytes.Equal(bytes.TrimSpace(other[name]), part) {
				t.Fatalf("%s is %q, others see %q", name, part, other[name])
			}
		}
	})
}

func tooDeepFor(line []byte) bool {
	var m Message
	return strings.Contains(fmt.Sprint(Split(line, false, &m)), "max depth")
}

// checkParts checks that the parts lie in the frame, are values, and move.
func checkParts(t *testing.T, line []byte, m *Message) {
	parts := [][]byte{m.ID, m.Params, m.Result, m.Error}
	for _, mb := range m.Members {
		parts = append(parts, mb.Value)
		if at := m.Offset(mb.Value); !bytes.HasPrefix(m.Params[at:], mb.Value) {
			t.Fatalf("member %q is not at %d", mb.Name, at)
		}
	}
	own := m.rebaseOn(bytes.Clone(line))
	moved := [][]byte{own.ID, own.Params, own.Result, own.Error}
	for _, mb := range own.Members {
		moved = append(moved, mb.Value)
	}
	for i, p := range parts {
		if p == nil {
			continue
		}
		if at := offsetOf(line, p); at < 0 || &line[at] != &p[0] || at+len(p) > len(line) {
			t.Fatalf("part %q is not in the frame", p)
		}
		if !wellFormed(p) || !bytes.Equal(bytes.TrimSpace(p), p) {
			t.Fatalf("part %q is no value", p)
		}
		if !bytes.Equal(p, moved[i]) || &p[0] == &moved[i][0] {
			t.Fatalf("part %q moved to %q", p, moved[i])
		}
	}
}
