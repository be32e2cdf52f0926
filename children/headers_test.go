package children

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestHeaderValue(t *testing.T) {
	// The table of the specification (2026-07-28, Value Encoding), and more.
	for in, want := range map[string]string{
		"us-west1":            "us-west1",
		"Hello, 世界":           "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":            "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":        "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=":  "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?":           "=?base64?",
		"a\tb":                "a\tb",
		"a\r\nX-Evil: 1":      "=?base64?YQ0KWC1FdmlsOiAx?=",
		"\x00":                "=?base64?AA==?=",
		"":                    "",
		"file:///a b":         "file:///a b",
		"\u00a0":              "=?base64?wqA=?=",
		"tab at the end\t":    "=?base64?dGFiIGF0IHRoZSBlbmQJ?=",
		"two  blanks, inside": "two  blanks, inside",
	} {
		if got := headerValue(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestMarksOfASchema(t *testing.T) {
	const one = `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}`
	for schema, want := range map[string]string{
		one: "Mcp-Param-A=a",
		`{"properties":{"o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"b":{"type":"boolean","x-mcp-header":"x-B"}}}`: "Mcp-Param-N=o/n Mcp-Param-x-B=b",
		`{"properties":{"x-mcp-header":{"type":"string"}}}`:                                                        "", // a property of that name
		`{"properties":{"properties":{"type":"object","properties":{"c":{"type":"string","x-mcp-header":"C"}}}}}`:  "Mcp-Param-C=properties/c",
		`{"properties":{"a":{"type":"string","default":{"x-mcp-header":"data"},"examples":[{"x-mcp-header":1}]}}}`: "",
		`{}`: "", `null`: "", `true`: "",
		// Each of these makes the tool invalid.
		`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`:                                           "!no name",
		`{"properties":{"a":{"type":"string","x-mcp-header":7}}}`:                                            "!no name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`:                                        "!no name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nX-Evil"}}}`:                                "!no name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"a:"}}}`:                                         "!no name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"ä"}}}`:                                          "!no name",
		`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`:                                          "!no string",
		`{"properties":{"a":{"type":["string"],"x-mcp-header":"A"}}}`:                                        "!no string",
		`{"properties":{"a":{"x-mcp-header":"A"}}}`:                                                          "!no string",
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`: "!twice",
		`{"type":"string","x-mcp-header":"A"}`:                                                               "!by properties alone",
		`{"properties":{"l":{"items":{"type":"string","x-mcp-header":"A"}}}}`:                                "!by properties alone",
		`{"properties":{"l":{"items":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}}`:           "!by properties alone",
		`{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`:                              "!by properties alone",
		`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`:                                   "!by properties alone",
		`{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}`:                                               "!by properties alone",
		`{"additionalProperties":{"type":"string","x-mcp-header":"A"}}`:                                      "!by properties alone",
		strings.Repeat(`{"properties":{"a":`, 100) + one + strings.Repeat(`}}`, 100):                         "!deeper",
	} {
		marks, err := marksOf([]byte(schema))
		var got []string
		for _, m := range marks {
			got = append(got, m.header+"="+strings.Join(m.path, "/"))
		}
		if wrong, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%.200s: %v, %v", schema, got, err)
			}
			continue
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%.200s: %v, %v, want %s", schema, got, err, want)
		}
	}
}

func TestHeadersOfTheBytesThatAreSent(t *testing.T) {
	var m mirror
	m.on.Store(true)
	tools := [][]byte{
		[]byte(`{"name":"t","inputSchema":{"properties":{"r":{"type":"string","x-mcp-header":"R"},"o":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"b":{"type":"boolean","x-mcp-header":"B"}}}}`),
		[]byte(`{"name":"bad","inputSchema":{"properties":{"r":{"type":"number","x-mcp-header":"R"}}}}`),
		[]byte(`{"name":"plain"}`), []byte(`7`),
	}
	good, odd := m.learn(tools)
	if len(good) != 3 || len(odd) != 1 || !strings.Contains(odd[0], `"bad"`) {
		t.Errorf("%d tools, %q", len(good), odd)
	}
	for params, want := range map[string]map[string]string{
		`{"name":"t","arguments":{"r":"x","o":{"n":42},"b":false}}`:    {"Mcp-Name": "t", "Mcp-Param-R": "x", "Mcp-Param-N": "42", "Mcp-Param-B": "false"},
		`{"arguments":{"r":"\u4e16","o":{"n":42.0}},"name":"\u0074"}`:  {"Mcp-Name": "t", "Mcp-Param-R": "=?base64?5LiW?=", "Mcp-Param-N": "42"},
		`{"name":"t","arguments":{"r":null,"o":{"n":1.5},"b":"true"}}`: {"Mcp-Name": "t", "Mcp-Param-B": "true"},
		`{"name":"t","arguments":{"r":{"x":1},"o":7,"b":[]}}`:          {"Mcp-Name": "t"},
		`{"name":"t"}`:                                                {"Mcp-Name": "t"},
		`{"name":"plain","arguments":{"r":"x"}}`:                      {"Mcp-Name": "plain"},
		`{"name":"größe"}`:                                            {"Mcp-Name": "=?base64?Z3LDtsOfZQ==?="},
		`{"name":"t","arguments":{"r":"first","r":"second"}}`:         {"Mcp-Name": "t", "Mcp-Param-R": "first"},
		fmt.Sprintf(`{"name":"t","arguments":{"o":{"n":%d}}}`, 1<<53): {"Mcp-Name": "t", "Mcp-Param-N": "9007199254740992"},
		`{"name":"t","arguments":{"o":{"n":12345678901234567890}}}`:   {"Mcp-Name": "t"},
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
	var off mirror // as over stdio
	if good, odd := off.learn(tools); len(good) != 4 || odd != nil {
		t.Errorf("%d tools, %q", len(good), odd)
	}
}

func TestMetaIsSpliced(t *testing.T) {
	s := &shownMeta{meta: []byte(`"io.modelcontextprotocol/x":1`)}
	const own = `"io.modelcontextprotocol/x":1`
	for in, want := range map[string]string{
		``:                               `{"_meta":{` + own + `}}`,
		`{}`:                             `{"_meta":{` + own + `}}`,
		`{ }`:                            `{"_meta":{` + own + `} }`,
		` {"a":1.0 , "a":2} `:            `{"_meta":{` + own + `},"a":1.0 , "a":2}`,
		`{"a":1,"_meta":{}}`:             `{"a":1,"_meta":{` + own + `}}`,
		`{"_meta":null,"a":"\ud800"}`:    `{"_meta":{` + own + `},"a":"\ud800"}`,
		`{"\u005fmeta":{"k":1e2},"a":1}`: `{"\u005fmeta":{"k":1e2,` + own + `},"a":1}`,
		`{"_meta":{"progressToken":9007199254740993,"io.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol\/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/other":[1.0]}}`: `{"_meta":{"progressToken":9007199254740993,"io.modelcontextprotocol/other":[1.0],` + own + `}}`,
	} {
		got, err := s.params([][]byte{[]byte(in)})
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{`[]`, `7`, `"x"`, `{`} {
		if got, err := s.params([][]byte{[]byte(in)}); err == nil {
			t.Errorf("%s: %s", in, got)
		}
	}
	parts := [][]byte{[]byte(`{"name":"`), []byte(`t","argu`), []byte(`ments":{}}`)}
	if got, err := s.params(parts); err != nil || string(got) != `{"_meta":{`+own+`},"name":"t","arguments":{}}` {
		t.Errorf("%s, %v", got, err)
	}
}
