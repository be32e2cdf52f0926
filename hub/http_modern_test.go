package hub

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// modernWeb is a modern client over HTTP. What one request says is all that the
// hub knows of it.
type modernWeb struct {
	*web
	caps   string   // clientCapabilities
	roots  []string // that it gives when asked; needs roots among caps
	header []string // of every request
	answer func(method string, params []byte) string
	ids    atomic.Int64
}

// modern returns a client that can give these roots, as the holder of a secret.
func (w *web) modern(secret string, roots ...string) *modernWeb {
	c := &modernWeb{web: w, caps: `{}`, roots: roots}
	if roots != nil {
		c.caps = `{"roots":{}}`
	}
	if secret != "" {
		c.header = []string{"Authorization", "Bearer " + secret}
	}
	return c
}

// frame returns a request with its metadata; params is an object.
func (c *modernWeb) frame(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.ids.Add(1), method, modernParams(params, c.caps))
}

// modernParams adds the metadata of a request to its params, an object.
func modernParams(params, caps string) string {
	meta := fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s`, caps)
	if old := jsonrpc.Get([]byte(params), "_meta"); old != nil {
		return strings.Replace(params, string(old), "{"+meta+","+string(old[1:]), 1)
	}
	inner := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(params), "{"), "}"))
	if inner != "" {
		inner += ","
	}
	return "{" + inner + `"_meta":{` + meta + `}}`
}

// headersOf returns the headers that mirror a frame.
func (c *modernWeb) headersOf(frame string) []string {
	m := split(c.t, frame)
	h := append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", m.Method}, c.header...)
	if member := methods.Of(m.Method).Header; member != "" {
		name, _ := jsonrpc.String(m.Param(member))
		h = append(h, "Mcp-Name", name)
	}
	return h
}

// once makes one request.
func (c *modernWeb) once(method, params string, header ...string) *http.Response {
	c.t.Helper()
	frame := c.frame(method, params)
	return c.do("POST", frame, append(c.headersOf(frame), header...)...)
}

// outcome reads the answer to one request, of either kind.
func (c *modernWeb) outcome(r *http.Response, each func(m *jsonrpc.Message)) (*jsonrpc.Message, int) {
	c.t.Helper()
	if r.Header.Get("Content-Type") != "text/event-stream" {
		var m jsonrpc.Message
		raw := []byte(body(c.t, r))
		if string(jsonrpc.Get(raw, "id")) == "null" {
			m.Error = jsonrpc.Get(raw, "error") // of a request whose id was not read
		} else if err := jsonrpc.Split(raw, false, &m); err != nil {
			c.t.Fatalf("%d: %v: %s", r.StatusCode, err, raw)
		}
		return &m, r.StatusCode
	}
	reader := &webClient{web: c.web}
	return reader.frames(r, func(m *jsonrpc.Message, event string) {
		if event != "" {
			c.t.Errorf("an event has the id %q", event)
		}
		if each != nil {
			each(m)
		}
	}), r.StatusCode
}

// request makes a request, and again with what it is asked, until it is
// answered.
func (c *modernWeb) request(method, params string, each func(m *jsonrpc.Message)) *jsonrpc.Message {
	c.t.Helper()
	retry := params
	for range 20 {
		m, _ := c.outcome(c.once(method, retry), each)
		if kind, _ := jsonrpc.String(jsonrpc.Get(m.Result, "resultType")); m.Error != nil || kind != "input_required" {
			return m
		}
		retry = c.again(params, m.Result)
	}
	c.t.Fatalf("%s is asked for more and more", method)
	return nil
}

// again returns params with the answers to what a result asks.
func (c *modernWeb) again(params string, result []byte) string {
	c.t.Helper()
	var answers []string
	_ = jsonrpc.Members(jsonrpc.Get(result, "inputRequests"), func(key string, ask []byte) bool {
		method, _ := jsonrpc.String(jsonrpc.Get(ask, "method"))
		a := ""
		switch {
		case method == "roots/list":
			a = string(split(c.t, rootsAnswer([]byte("1"), c.roots...)).Result)
		case c.answer != nil:
			a = c.answer(method, jsonrpc.Get(ask, "params"))
		}
		if a != "" {
			answers = append(answers, fmt.Sprintf("%q:%s", key, a))
		}
		return true
	})
	inner := strings.TrimSuffix(strings.TrimSpace(params), "}")
	return fmt.Sprintf(`%s,"inputResponses":{%s},"requestState":%s}`, inner, strings.Join(answers, ","), jsonrpc.Get(result, "requestState"))
}

// call calls a tool until it is answered; an error object fails the test.
func (c *modernWeb) call(name, args string) (string, bool) {
	c.t.Helper()
	m := c.request("tools/call", toolCall(name, args), nil)
	if m.Error != nil {
		c.t.Fatalf("%s %s: %s", name, args, m.Error)
	}
	return text(string(m.Result))
}

func codeOf(m *jsonrpc.Message) int64 {
	if m.Error == nil {
		return 0
	}
	return jsonrpc.ParseError(m.Error).Code
}

// TestModernHTTPHeadersAreChecked: what is refused for its headers never reaches
// the child; the same request with headers that fit does.
func TestModernHTTPHeadersAreChecked(t *testing.T) {
	defs := filepath.Join(t.TempDir(), "defs")
	schema := `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"tag":{"type":"string"}}}`
	odd := `{"type":"object","properties":{"region":{"type":"number","x-mcp-header":"Region"}}}`
	if err := os.WriteFile(defs, fmt.Appendf(nil, "{\"name\":\"echo\",\"inputSchema\":%s}\n{\"name\":\"noticed\",\"inputSchema\":%s}\n", schema, odd), 0o600); err != nil {
		t.Fatal(err)
	}
	w := serveWeb(t, newPlayedHub(t, scripted("kid", childtest.Script{Defs: defs})), HTTPOptions{Origins: []string{"https://ide.example"}})
	c := w.modern("")
	version, name := []string{"MCP-Protocol-Version", "2026-07-28"}, []string{"Mcp-Name", "kid__echo"}
	method := []string{"Mcp-Method", "tools/call"}
	region := []string{"Mcp-Param-Region", "eu"}
	all := func(parts ...[]string) (h []string) {
		for _, p := range parts {
			h = append(h, p...)
		}
		return h
	}
	frame := c.frame("tools/call", toolCall("kid__echo", `{"region":"eu"}`))
	for what, tc := range map[string]struct {
		header []string
		frame  string
		status int
		code   int64
	}{
		"control":            {all(version, method, name, region), frame, 200, 0},
		"control, encoded":   {all(version, method, []string{"Mcp-Name", "=?base64?a2lkX19lY2hv?=", "Mcp-Param-Region", "=?base64?ZXU=?="}), frame, 200, 0},
		"other name":         {all(version, method, []string{"Mcp-Name", "kid__noticed"}, region), frame, 400, -32020},
		"no parameter":       {all(version, method, name), frame, 400, -32020},
		"other parameter":    {all(version, method, name, []string{"Mcp-Param-Region", "us"}), frame, 400, -32020},
		"version not served": {all([]string{"MCP-Protocol-Version", "2027-01-01"}, method, name), strings.ReplaceAll(frame, "2026-07-28", "2027-01-01"), 400, -32022},
		"invalid annotation": {all(version, method, []string{"Mcp-Name", "kid__noticed"}), c.frame("tools/call", toolCall("kid__noticed", `{"region":1.5}`)), 200, 0},
		"unknown":            {all(version, []string{"Mcp-Method", "no/such"}), c.frame("no/such", `{}`), 404, -32601},
		"an answer":          {version, `{"jsonrpc":"2.0","id":7,"result":{}}`, 400, -32600},
		"batch":              {all(version, method, name, region), "[" + frame + "]", 400, -32600},
	} {
		t.Run(what, func(t *testing.T) {
			m, status := c.outcome(w.do("POST", tc.frame, tc.header...), nil)
			if status != tc.status || codeOf(m) != tc.code {
				t.Errorf("%d %d, want %d %d: %s%s", status, codeOf(m), tc.status, tc.code, m.Result, m.Error)
			}
			if id := jsonrpc.Get([]byte(tc.frame), "id"); tc.status == 400 && tc.code != -32600 && tc.code != -32700 && string(m.ID) != string(id) {
				t.Errorf("the id is %s, want %s", m.ID, id)
			}
		})
	}
	if r := w.do("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, version...); r.StatusCode != http.StatusAccepted {
		t.Errorf("a notification: %d", r.StatusCode)
	}
	for _, verb := range []string{"GET", "DELETE"} {
		if r := w.do(verb, "", version...); r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d", verb, r.StatusCode)
		}
	}
	if r := w.do("OPTIONS", "", "Origin", "https://ide.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "mcp-param-region, x-evil, mcp-method"); !strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), "mcp-param-region") || strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), "x-evil") {
		t.Errorf("%v", r.Header)
	}
}

// askingKid is a child that asks its client things.
func askingKid(name string) spec.Spec { return scripted(name, childtest.Script{Asks: true}) }

const elicits = `{"method":"elicitation/create","params":{"mode":"form","message":"sure?","requestedSchema":{"type":"object","properties":{}}}}`

// suspendCall makes a call that its child asks something on, and returns the result
// that asks the client.
func (c *modernWeb) suspendCall(tool, args string) *jsonrpc.Message {
	c.t.Helper()
	m, status := c.outcome(c.once("tools/call", toolCall(tool, args)), nil)
	if status != 200 || string(jsonrpc.Get(m.Result, "resultType")) != `"input_required"` {
		c.t.Fatalf("%d %s%s", status, m.Result, m.Error)
	}
	return m
}

func (c *modernWeb) noticed(child string) string {
	c.t.Helper()
	got, _ := c.call(child+"__noticed", `{}`)
	return got
}
