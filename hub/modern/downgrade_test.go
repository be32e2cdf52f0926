package modern

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"mcphub/internal/jsonrpc"
)

// What belongs to the modern era alone is cut out, and every other byte stays.
func TestHandshakeEdits(t *testing.T) {
	t.Parallel()
	const inner = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"inner"}}`
	for _, c := range []struct {
		cached     bool
		have, want string
	}{
		{false, `{"content":[ 1.0 ]}`, `{"content":[ 1.0 ]}`},
		{false, `{"resultType":"complete"}`, `{}`},
		{false, `{ "resultType" : "complete" , "content" : [] }`, `{  "content" : [] }`},
		{false, `{"content":[],"resultType":"complete"}`, `{"content":[]}`},
		{false, `{"a":1,"resultType":"complete","b":2}`, `{"a":1,"b":2}`},
		{false, `{"resultType":"complete",` + inner + `,"a":12345678901234567890}`, `{"a":12345678901234567890}`},
		{false, `{` + inner + `,"resultType":"complete"}`, `{}`},
		{false, `{"a":1,` + inner + `,"resultType":"complete","b":",\"{"}`, `{"a":1,"b":",\"{"}`},
		{false, `{"_meta":{"io.modelcontextprotocol/serverInfo":{},"x":1.0},"resultType":"complete"}`, `{"_meta":{"x":1.0}}`},
		{false, `{"_meta":{"x":1.0 , "io.modelcontextprotocol/serverInfo":{}},"a":1}`, `{"_meta":{"x":1.0},"a":1}`},
		{false, `{"_meta":{},"resultType":"complete"}`, `{"_meta":{}}`},
		{false, `{"resultTyp\u0065":"complete","a\u0062":1}`, `{"a\u0062":1}`},
		{false, `{"resultType":"task","ttlMs":1}`, `{"resultType":"task","ttlMs":1}`},
		{false, `{"resultType":"complete","ttlMs":1,"cacheScope":"private"}`, `{"ttlMs":1,"cacheScope":"private"}`},
		{true, `{"contents":[],"ttlMs":1,"cacheScope":"private","resultType":"complete"}`, `{"contents":[]}`},
		{true, `{"ttlMs":1,"contents":[]}`, `{"contents":[]}`},
		{true, `{"contents":[],"structuredContent":7}`, `{"contents":[],"structuredContent":7}`},
		{false, `{"content":[{"type":"text","text":"1"}], "structuredContent":{"a":[1.0]},"resultType":"complete"}`, `{"content":[{"type":"text","text":"1"}], "structuredContent":{"a":[1.0]}}`},
		{false, `{"content":[{"type":"text","text":"1"}],"structuredContent":[1.0],"resultType":"complete","x":1.0}`, `{"content":[{"type":"text","text":"1"}],"x":1.0}`},
		{false, `{"content":[],"structuredContent":["a",1.0]}`, `{"content":[{"type":"text","text":"[\"a\",1.0]"}]}`},
		{false, `{"structuredContent":"a","resultType":"complete","isError":true}`, `{"isError":true,"content":[{"type":"text","text":"\"a\""}]}`},
		{false, `{"structuredContent":null,` + inner + `}`, `{"content":[{"type":"text","text":"null"}]}`},
	} {
		raw, method := []byte(c.have), "tools/call"
		if c.cached {
			method = "resources/read"
		}
		got := string(jsonrpc.Join(jsonrpc.Splice(raw, HandshakeEdits(raw, method)...)))
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.have, got, c.want)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%s: %s is no JSON", c.have, got)
		}
	}
}

// FuzzCut: whatever is taken out, what is left is the object without it.
func FuzzCut(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":{"a":2},"c":[1,"a"]}`, `{ "b" : 1 , "a" : "," , "d" : "{" }`, `{"a":1}`, `{"\u0061":",\"","e":null}`, ` {"a":1, "a2":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want map[string]any
		if json.Unmarshal([]byte(s), &want) != nil || want == nil {
			return
		}
		raw := []byte(strings.TrimSpace(s))
		if jsonrpc.Members(raw, func(string, []byte) bool { return true }) != nil {
			return // a name comes twice, or it is not UTF-8
		}
		out := func(name string) bool { return strings.HasPrefix(name, "a") }
		for name := range want {
			if out(name) {
				delete(want, name)
			}
		}
		left := jsonrpc.Join(jsonrpc.Splice(raw, cutMembers(raw, out)...))
		var got map[string]any
		if err := json.Unmarshal(left, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %s, %v", s, left, err)
		}
	})
}
