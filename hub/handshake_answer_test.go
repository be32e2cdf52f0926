package hub

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"mcphub/children"
	"mcphub/children/childtest"
	"mcphub/internal/jsonrpc"
)

// What belongs to the modern era alone is cut out, and every other byte stays.
func TestHandshakeEdits(t *testing.T) {
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
	} {
		raw := []byte(c.have)
		got := string(join(splice(raw, handshakeEdits(raw, c.cached)...)))
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
		left := join(splice(raw, cut(raw, out)...))
		var got map[string]any
		if err := json.Unmarshal(left, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %s, %v", s, left, err)
		}
	})
}

// A client of the handshake gets from a child without one what a child of its own
// era would say, whichever way its request goes; a modern one all of it.
func TestResultsAreOfTheEraOfTheClient(t *testing.T) {
	const odd = `"x":1.0,"n":12345678901234567890`
	result := `{"content":[],` + odd + `,"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"inner","version":"1"},"k":1.0}}`
	specs := []children.Spec{played("kid", children.ShareSession, childtest.Script{Era: "modern", Library: true})}
	play(t, specs, "", 0, func(t *testing.T, h *Hub, _ *stage) {
		dir := t.TempDir()
		c, _ := enter(t, h, dir)
		c.handshake(declared)
		kind := call("kid__kind", `{"Type":"","Result":`+result+`}`)
		want := `{"content":[],` + odd + `,"_meta":{"k":1.0}}`
		for way, params := range map[string]string{"the short way": kind, "the long way": strings.Replace(kind, `"Type":""`, `"path":"`+dir+`"`, 1)} {
			if got := c.raw("tools/call", params); got != want {
				t.Errorf("%s: %s, want %s", way, got, want)
			}
		}
		if got := c.raw("resources/read", `{"uri":"note://1"}`); !strings.HasPrefix(got, `{"contents":[`) || strings.Contains(got, "resultType") || strings.Contains(got, "ttlMs") || strings.Contains(got, "cacheScope") {
			t.Errorf("resources/read: %s", got)
		}
		if got := c.raw("prompts/get", `{"name":"kid__greet"}`); strings.Contains(got, "resultType") {
			t.Errorf("prompts/get: %s", got)
		}
		m, _ := enterModern(t, h, `{}`)
		if got := m.raw("tools/call", kind); member(got, "resultType") != `"complete"` || !strings.Contains(got, odd) {
			t.Errorf("a modern client: %s", got)
		}
	})
}
