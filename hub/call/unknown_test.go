package call_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/childtest"
)

// An answer by which a child shows that it does not know what it has listed has that list read again before the client gets it, on
// either path. Another error has not.
func TestWhatAChildDoesNotKnow(t *testing.T) {
	t.Parallel()
	result := func(text string) childtest.Script {
		return childtest.Script{Replies: map[string]string{"tools/call": `{"content":[{"type":"text","text":"` + text + `"}],"isError":true}`}}
	}
	refusal := func(method, e string) childtest.Script {
		return childtest.Script{Library: true, Errors: map[string]string{method: e}}
	}
	tool, prompt, resource := wantedBy("tools/call"), wantedBy("prompts/get"), wantedBy("resources/read")
	for name, c := range map[string]struct {
		script childtest.Script
		ask    func(s *stage) string
		list   string // that is read again; "" for none
	}{
		"a result":              {result("Unknown tool: echo"), tool, "tools/list"},
		"a result of an SDK":    {result("MCP error -32602: Tool echo not found"), tool, "tools/list"},
		"a tool that is off":    {result("MCP error -32602: Tool echo disabled"), tool, "tools/list"},
		"a file":                {result("echo: no such file"), tool, ""},
		"another tool":          {result("tool jq not found"), tool, ""},
		"bad arguments":         {result("MCP error -32602: Input validation error: Invalid arguments for tool echo"), tool, ""},
		"much text":             {result("Unknown tool: echo" + strings.Repeat(".", 3000)), tool, ""},
		"no error":              {childtest.Script{Replies: map[string]string{"tools/call": `{"content":[{"type":"text","text":"Unknown tool: echo"}]}`}}, tool, ""},
		"-32602":                {refusal("tools/call", `{"code":-32602,"message":"Unknown tool: echo"}`), tool, "tools/list"},
		"-32602 without a name": {refusal("tools/call", `{"code":-32602,"message":"tool not found"}`), tool, "tools/list"},
		"-32602 of arguments":   {refusal("tools/call", `{"code":-32602,"message":"Invalid arguments for tool echo"}`), tool, ""},
		"-32601":                {refusal("tools/call", `{"code":-32601,"message":"Method not found"}`), tool, "tools/list"},
		"-32603":                {refusal("tools/call", `{"code":-32603,"message":"Internal error"}`), tool, ""},
		"a prompt":              {refusal("prompts/get", `{"code":-32602,"message":"Prompt greet not found"}`), prompt, "prompts/list"},
		"a prompt, -32601":      {refusal("prompts/get", `{"code":-32601,"message":"Method not found"}`), prompt, "prompts/list"},
		"a prompt's argument":   {refusal("prompts/get", `{"code":-32602,"message":"Missing required arguments of prompt greet"}`), prompt, ""},
		"a resource":            {refusal("resources/read", `{"code":-32002,"message":"gone"}`), resource, "resources/list"},
		"a resource, -32602":    {refusal("resources/read", `{"code":-32602,"message":"Resource note://1 not found"}`), resource, "resources/list"},
		"a resource's trouble":  {refusal("resources/read", `{"code":-32603,"message":"disk"}`), resource, ""},
		"an unlisted resource": {refusal("resources/read", `{"code":-32002,"message":"gone"}`), func(s *stage) string {
			return answerText(s.ServeResource(s.Context(), request(s.T, "resources/read", `{"uri":"note://unlisted"}`)))
		}, ""},
		"a tool, quickly":              {result("Unknown tool: echo"), quickly, "tools/list"},
		"a tool, quickly, -32602":      {refusal("tools/call", `{"code":-32602,"message":"Unknown tool: echo"}`), quickly, "tools/list"},
		"another error, quickly":       {refusal("tools/call", `{"code":-32602,"message":"Invalid arguments for tool echo"}`), quickly, ""},
		"another tool, quickly":        {result("tool jq not found"), quickly, ""},
		"without a handshake":          {childtest.Script{Era: "modern", Errors: map[string]string{"tools/call": `{"code":-32602,"message":"Unknown tool: echo"}`}}, tool, "tools/list"},
		"quickly, without a handshake": {childtest.Script{Era: "modern", Errors: map[string]string{"tools/call": `{"code":-32602,"message":"Unknown tool: echo"}`}}, quickly, "tools/list"},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, oneChild(c.script), func(s *stage) {
				lists := []string{"tools/list", "prompts/list", "resources/list"}
				before := map[string]int{}
				for _, list := range lists {
					before[list] = len(s.children.messagesSent(list))
				}
				got := c.ask(s)
				for _, e := range c.script.Errors {
					s.wantParts(got, e[strings.Index(e, `"message"`):])
				}
				for _, r := range c.script.Replies {
					s.wantParts(got, strings.TrimSuffix(strings.TrimPrefix(r, "{"), "}"))
				}
				for _, list := range lists {
					again := 0
					if list == c.list {
						again = 1
					}
					s.wantReached(list, before[list]+again) // by now: the answer has waited for it
				}
				s.wantReleased()
			})
		})
	}
}

// wantedBy asks the child for what it has listed, by a method.
func wantedBy(method string) func(s *stage) string {
	return func(s *stage) string {
		switch method {
		case "prompts/get":
			return answerText(s.ServePrompt(s.Context(), request(s.T, method, `{"name":"kid__greet"}`)))
		case "resources/read":
			return answerText(s.ServeResource(s.Context(), request(s.T, method, `{"uri":"note://1"}`)))
		}
		return s.callWaiting(echoParams(`{}`))
	}
}

// quickly calls the tool on the fast path.
func quickly(s *stage) string {
	got, ok := s.callFast(echoParams(`{}`))
	if !ok {
		s.Error("it was left to the waiting path")
	}
	return got
}

// When the client gets such an answer, what the child offers by then is in force. A list that is not answered holds the answer up for
// two seconds.
func TestTheListIsInForceBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(s *stage) string{"waiting": wantedBy("tools/call"), "quickly": quickly} {
		t.Run(name, func(t *testing.T) {
			defs := filepath.Join(t.TempDir(), "defs")
			list := func(tool string) {
				if err := os.WriteFile(defs, []byte(`{"name":"`+tool+`","inputSchema":{"type":"object"}}`), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			list("echo")
			unknown := map[string]string{"tools/call": `{"code":-32602,"message":"Unknown tool: echo"}`}
			onStage(t, oneChild(childtest.Script{Defs: defs, Quiet: true, Errors: unknown}), func(s *stage) {
				list("new")
				s.wantParts(ask(s), "Unknown tool")
				if c := s.Offering.Catalog(); c.Tool("kid__new") == nil || c.Tool("kid__echo") != nil {
					t.Error("the former list is in force")
				}
				s.wantReleased()
			})
		})
	}
	withheld := filepath.Join(t.TempDir(), "withheld")
	onStage(t, oneChild(childtest.Script{Library: true, Withheld: withheld, Errors: map[string]string{"prompts/get": `{"code":-32602,"message":"Unknown prompt: greet"}`}}), func(s *stage) {
		if err := os.WriteFile(withheld, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s.wantParts(wantedBy("prompts/get")(s), "Unknown prompt")
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the answer took %s", took)
		}
		s.wantReleased()
	})
}
