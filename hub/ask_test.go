package hub

import (
	"errors"
	"testing"

	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

func TestReadRoots(t *testing.T) {
	page, err := readRoots([]byte(`{"roots":[{"uri":"file:///a","name":"A","x":1},{"uri":"file:///b","name":null},{"uri":7},"file:///c",{"name":"no uri"},{"uri":"file:///d"}],"nextCursor":"n"}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Entries) != 3 || page.Entries[0] != (rootsmgr.Entry{URI: "file:///a", Name: "A"}) || page.Entries[1].Name != "" || page.Entries[2].URI != "file:///d" {
		t.Errorf("entries: %+v", page.Entries)
	}
	if len(page.Skipped) != 3 || page.NextCursor != "n" {
		t.Errorf("skipped %+v, cursor %q", page.Skipped, page.NextCursor)
	}
}

func TestReadRootsMalformed(t *testing.T) {
	for _, raw := range []string{`{}`, `[]`, `null`, `"x"`, `7`, `{"roots":null}`, `{"roots":{}}`, `{"roots":"file:///a"}`, `{"Roots":[]}`, `{"roots":[],"nextCursor":7}`} {
		if page, err := readRoots([]byte(raw)); !errors.Is(err, rootsmgr.ErrMalformed) {
			t.Errorf("%s: page %+v, error %v", raw, page, err)
		}
	}
	if page, err := readRoots([]byte(`{"roots":[],"nextCursor":null}`)); err != nil || len(page.Entries) != 0 {
		t.Errorf("an empty list is an answer: %+v, %v", page, err)
	}
}

func TestEraOfARequest(t *testing.T) {
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
		if got := isModern(split(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`)); got != want {
			t.Errorf("%s: modern %t", params, got)
		}
	}
	for _, method := range []string{"server/discover", "subscriptions/listen"} {
		if !isModern(split(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`)) {
			t.Errorf("%s is of the other era", method)
		}
	}
}

// What belongs to the hop between a modern client and the hub goes no further;
// the answers that tasks/update carries are what it is about.
func TestCoreOfAModernRequest(t *testing.T) {
	const params = `{"taskId":"t","name":"n","inputResponses":{"q":{"action":"accept"}},"requestState":"s","task":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","kept":1.0}}`
	for method, want := range map[string]string{
		"tools/call":   `{"taskId":"t","name":"n","_meta":{"kept":1.0}}`,
		"tasks/update": `{"taskId":"t","name":"n","inputResponses":{"q":{"action":"accept"}},"_meta":{"kept":1.0}}`,
	} {
		var m jsonrpc.Message
		if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`), true, &m); err != nil {
			t.Fatal(err)
		}
		got, err := core(&m)
		if err != nil || string(got.Params) != want {
			t.Errorf("%s: %s, %v", method, got.Params, err)
		}
	}
}
