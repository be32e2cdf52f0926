package remote

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestHeadersOfTheBytesThatAreSent(t *testing.T) {
	t.Parallel()
	var m marked
	tools := [][]byte{
		[]byte(`{"name":"t","inputSchema":{"properties":{"r":{"type":"string","x-mcp-header":"R"},"o":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"b":{"type":"boolean","x-mcp-header":"B"}}}}`),
		[]byte(`{"name":"bad","inputSchema":{"properties":{"r":{"type":"number","x-mcp-header":"R"}}}}`),
		[]byte(`{"name":"plain"}`), []byte(`7`),
	}
	good, odd := m.learnTools(tools)
	if len(good) != 3 || len(odd) != 1 || !strings.Contains(odd[0], `"bad"`) {
		t.Errorf("%d tools, %q", len(good), odd)
	}
	for params, want := range map[string]map[string]string{
		`{"name":"t","arguments":{"r":"x","o":{"n":42},"b":false}}`:    {"Mcp-Name": "t", "Mcp-Param-R": "x", "Mcp-Param-N": "42", "Mcp-Param-B": "false"},
		`{"arguments":{"r":"\u4e16","o":{"n":42.0}},"name":"\u0074"}`:  {"Mcp-Name": "t", "Mcp-Param-R": "=?base64?5LiW?=", "Mcp-Param-N": "42"},
		`{"name":"t","arguments":{"r":null,"o":{"n":1.5},"b":"true"}}`: {"Mcp-Name": "t", "Mcp-Param-B": "true"},
		`{"name":"t","arguments":{"r":{"x":1},"o":7,"b":[]}}`:          {"Mcp-Name": "t"},
		`{"name":"t"}`:                                                  {"Mcp-Name": "t"},
		`{"name":"plain","arguments":{"r":"x"}}`:                        {"Mcp-Name": "plain"},
		`{"name":"größe"}`:                                              {"Mcp-Name": "=?base64?Z3LDtsOfZQ==?="},
		`{"name":"t","arguments":{"r":"first","r":"second"}}`:           {"Mcp-Name": "t", "Mcp-Param-R": "first"},
		fmt.Sprintf(`{"name":"t","arguments":{"o":{"n":%d}}}`, 1<<53-1): {"Mcp-Name": "t", "Mcp-Param-N": "9007199254740991"},
		fmt.Sprintf(`{"name":"t","arguments":{"o":{"n":%d}}}`, 1<<53):   {"Mcp-Name": "t"}, // read differently by different parsers
		`{"name":"t","arguments":{"o":{"n":12345678901234567890}}}`:     {"Mcp-Name": "t"},
	} {
		want["Mcp-Method"] = "tools/call"
		if got := m.headersOf("tools/call", []byte(params)); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", params, got, want)
		}
	}
	for method, want := range map[string]string{"resources/read": "file:///x", "prompts/get": "p", "tasks/get": "t1", "tools/list": ""} {
		got := m.headersOf(method, []byte(`{"uri":"file:///x","name":"p","taskId":"t1"}`))
		if got["Mcp-Name"] != want || got["Mcp-Method"] != method {
			t.Errorf("%s: %v", method, got)
		}
	}
}
