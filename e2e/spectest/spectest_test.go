package spectest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// meta returns the _meta of a request without a handshake, by a client that declares these capabilities.
func meta(capabilities string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
}

func initialize(version, capabilities string) []string {
	return []string{
		`>{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":` + capabilities + `,"clientInfo":{"name":"c","version":"1"}}}`,
		`<{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"` + version + `","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`,
		`>{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
}

// run plays a conversation: ">" is the client, "<" the server.
func run(lines ...string) []Fault {
	c := NewConversation()
	for _, line := range lines {
		c.Saw(map[byte]Party{'>': Client, '<': Server}[line[0]], []byte(line[1:]))
	}
	return append(c.Faults(Client), c.Faults(Server)...)
}

const ok = `"resultType":"complete"`

func TestConversations(t *testing.T) {
	t.Parallel()
	call := func(capabilities string) string {
		return `>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + meta(capabilities) + `}}`
	}
	listen := []string{`>{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta(`{}`) + `}}`,
		`<{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"` + subscriptionID + `":"l"}}}`}
	legacyCall := `>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":7}}}`
	for name, c := range map[string]struct {
		lines []string
		want  string // among the faults; "" for none
	}{
		"a call":        {[]string{call(`{}`), `<{"jsonrpc":"2.0","id":1,"result":{"content":[],` + ok + `}}`}, ""},
		"no resultType": {[]string{call(`{}`), `<{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`}, "unknown resultType"},
		"a list without ttlMs": {[]string{`>{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta(`{}`) + `}}`,
			`<{"jsonrpc":"2.0","id":1,"result":{"tools":[],"cacheScope":"public",` + ok + `}}`}, "ttlMs"},
		"no capabilities":    {[]string{`>{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`}, "clientCapabilities"},
		"answered twice":     {[]string{call(`{}`), `<{"jsonrpc":"2.0","id":1,"result":{"content":[],` + ok + `}}`, `<{"jsonrpc":"2.0","id":1,"result":{"content":[],` + ok + `}}`}, "nothing that waits"},
		"roots asked for":    {[]string{call(`{"roots":{}}`), `<{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}}`}, ""},
		"roots not declared": {[]string{call(`{}`), `<{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}}`}, "did not declare roots"},
		"asks nothing":       {[]string{call(`{}`), `<{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"}}`}, "neither asks"},
		"a list that asks": {[]string{`>{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta(`{"roots":{}}`) + `}}`,
			`<{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"x"}}`}, "not answered with questions"},
		"a push": {[]string{`>{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta(`{"roots":{}}`) + `}}`,
			`<{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`,
			`<{"jsonrpc":"2.0","id":1,"method":"roots/list"}`}, "a request to a client of the era"},
		"an old error":      {[]string{call(`{}`), `<{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"x"}}`}, "-32002"},
		"a bare version":    {[]string{call(`{}`), `<{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"x"}}`}, "data"},
		"an unasked log":    {[]string{call(`{}`), `<{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`}, "no request asks"},
		"a subscription":    {append(slices.Clone(listen), `<{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"`+subscriptionID+`":"l"}}}`), ""},
		"not acknowledged":  {[]string{listen[0], `<{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"` + subscriptionID + `":"l"}}}`}, "before the subscription"},
		"not subscribed to": {append(slices.Clone(listen), `<{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"`+subscriptionID+`":"l"}}}`), "does not ask for that"},
		"no subscription":   {append(slices.Clone(listen), `<{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"`+subscriptionID+`":"m"}}}`), "not of any subscription"},

		"a handshake":               {initialize("2025-06-18", `{}`), ""},
		"a handshake of 2025-11-25": {initialize("2025-11-25", `{"roots":{"listChanged":true}}`), ""},
		"no server info":            {[]string{initialize("2025-06-18", `{}`)[0], `<{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}`}, "serverInfo"},
		"a question":                {append(initialize("2025-06-18", `{"roots":{}}`), `<{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, `>{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`), ""},
		"a bad answer":              {append(initialize("2025-06-18", `{"roots":{}}`), `<{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, `>{"jsonrpc":"2.0","id":1,"result":{"roots":[{"name":"x"}]}}`), "uri"},
		"a question too many":       {append(initialize("2025-06-18", `{}`), `<{"jsonrpc":"2.0","id":1,"method":"roots/list"}`), "did not declare roots"},
		"a page for a client of forms": {append(initialize("2025-11-25", `{"elicitation":{}}`),
			`<{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x.test/","elicitationId":"1"}}`), "elicitation.url"},
		"progress": {append(initialize("2025-06-18", `{}`), legacyCall,
			`<{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`, `<{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`), ""},
		"progress afterwards": {append(initialize("2025-06-18", `{}`), legacyCall, `<{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
			`<{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`), "no request that is under way"},
		"progress that stands": {append(initialize("2025-06-18", `{}`), legacyCall, `<{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`,
			`<{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`), "does not increase"},
		"tasks before their time": {append(initialize("2025-06-18", `{}`), `>{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`), "has no tasks/list"},
		"an update for nobody":    {append(initialize("2025-06-18", `{}`), `<{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}`), "subscribed"},
		"no JSON":                 {[]string{`<nonsense`}, "no JSON object"},
	} {
		got := run(c.lines...)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: %v", name, got)
		case c.want != "" && (!strings.Contains(fmt.Sprint(got), c.want)):
			t.Errorf("%s: want %q, got %v", name, c.want, got)
		}
	}
}

// What is judged is counted, so that a test can tell whether it has seen anything.
func TestJudgedCounts(t *testing.T) {
	t.Parallel()
	c := NewConversation()
	for _, line := range initialize("2025-06-18", `{}`) {
		c.Saw(map[byte]Party{'>': Client, '<': Server}[line[0]], []byte(line[1:]))
	}
	got := c.Judged()
	for _, want := range []string{"2025-06-18 initialize", "2025-06-18 result of initialize", "2025-06-18 notifications/initialized"} {
		if got[want] != 1 {
			t.Errorf("%s: %d in %v", want, got[want], got)
		}
	}
	if all := Versions(); len(all) != 3 || all[2] != Modern {
		t.Errorf("versions %v", all)
	}
}
