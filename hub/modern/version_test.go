package modern

import (
	"testing"

	"mcphub/internal/jsonrpc"
)

func TestEraOfARequest(t *testing.T) {
	t.Parallel()
	split := func(s string) *jsonrpc.Message {
		var m jsonrpc.Message
		if err := jsonrpc.Split([]byte(s), true, &m); err != nil {
			t.Fatal(err)
		}
		return &m
	}
	for params, want := range map[string]bool{
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`:      true,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}`:      true,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}`:                 true,
		`{"_meta":{"io.\u006dodelcontextprotocol/protocolVersion":"2026-07-28"}}`: true,
		`{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}}`:     true,
		`{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}`:             false,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`:      false,
		`{"_meta":{"progressToken":1}}`:                                           false,
		`{"name":"x"}`:                                                            false,
	} {
		if got := IsModern(split(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`)); got != want {
			t.Errorf("%s: %t", params, got)
		}
	}
	for _, method := range []string{"server/discover", "subscriptions/listen"} {
		if !IsModern(split(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`)) {
			t.Errorf("%s is of the other era", method)
		}
	}
}

// What belongs to the hop between a client and the hub goes no further;
// the answers that tasks/update carries are what it is about.
func TestStrippedRequest(t *testing.T) {
	t.Parallel()
	const params = `{"taskId":"t","name":"n","inputResponses":{"q":{"action":"accept"}},"requestState":"s","task":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","kept":1.0}}`
	for method, want := range map[string]string{
		"tools/call":   `{"taskId":"t","name":"n","_meta":{"kept":1.0}}`,
		"tasks/update": `{"taskId":"t","name":"n","inputResponses":{"q":{"action":"accept"}},"_meta":{"kept":1.0}}`,
	} {
		var m jsonrpc.Message
		if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`), true, &m); err != nil {
			t.Fatal(err)
		}
		got, err := StripHopMembers(&m)
		if err != nil || string(got.Params) != want {
			t.Errorf("%s: %s, %v", method, got.Params, err)
		}
	}
}
