package httpfront

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/mirror"
)

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func modernMeta(version string) string {
	return fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}`, version)
}

func split(t testing.TB, frame string) *jsonrpc.Message {
	t.Helper()
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split([]byte(frame), true, m); err != nil {
		t.Fatalf("%v: %s", err, frame)
	}
	return m
}

func TestHeadersAreTheBodys(t *testing.T) {
	const v = "2026-07-28"
	meta := modernMeta(v)
	encoded := func(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }
	callOf := func(name string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},%s}}`, name, meta)
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	ok := ""
	for name, tc := range map[string]struct {
		h     http.Header
		frame string
		want  string // the header that it is refused for
	}{
		"list":                      {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/list"), list, ok},
		"names in any case":         {headers("mcp-protocol-version", v, "MCP-METHOD", "tools/list"), list, ok},
		"no version":                {headers("Mcp-Method", "tools/list"), list, headerProtocol},
		"empty version":             {headers("MCP-Protocol-Version", "", "Mcp-Method", "tools/list"), list, headerProtocol},
		"a handshake's version":     {headers("MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "tools/list"), list, headerProtocol},
		"another version":           {headers("MCP-Protocol-Version", "2026-07-29", "Mcp-Method", "tools/list"), list, headerProtocol},
		"version twice":             {headers("MCP-Protocol-Version", v, "MCP-Protocol-Version", v, "Mcp-Method", "tools/list"), list, headerProtocol},
		"versions in one":           {headers("MCP-Protocol-Version", v+", "+v, "Mcp-Method", "tools/list"), list, headerProtocol},
		"version encoded":           {headers("MCP-Protocol-Version", encoded(v), "Mcp-Method", "tools/list"), list, headerProtocol},
		"body without a version":    {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/list"), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, ok},
		"no method":                 {headers("MCP-Protocol-Version", v), list, "Mcp-Method"},
		"another method":            {headers("MCP-Protocol-Version", v, "Mcp-Method", "prompts/list"), list, "Mcp-Method"},
		"method in capitals":        {headers("MCP-Protocol-Version", v, "Mcp-Method", "TOOLS/LIST"), list, "Mcp-Method"},
		"method encoded":            {headers("MCP-Protocol-Version", v, "Mcp-Method", encoded("tools/list")), list, "Mcp-Method"},
		"method twice":              {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/list", "Mcp-Method", "tools/call"), list, "Mcp-Method"},
		"call":                      {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "a"), callOf("a"), ok},
		"call, encoded":             {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", encoded("a")), callOf("a"), ok},
		"call, beyond ASCII":        {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", encoded("größe")), callOf("größe"), ok},
		"call, raw beyond ASCII":    {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "größe"), callOf("größe"), "Mcp-Name"},
		"call without a name":       {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call"), callOf("a"), "Mcp-Name"},
		"call, another name":        {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "b"), callOf("a"), "Mcp-Name"},
		"call, other case":          {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "A"), callOf("a"), "Mcp-Name"},
		"call, blank inside":        {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "a "), callOf("a"), "Mcp-Name"},
		"call, name twice":          {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "a", "Mcp-Name", "a"), callOf("a"), "Mcp-Name"},
		"call, body without a name": {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "a"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `}}`, "Mcp-Name"},
		"call, neither has a name":  {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `}}`, ok},
		"call, escaped in the body": {headers("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "a"), `{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"\u0061",` + meta + `}}`, ok},
		"read":                      {headers("MCP-Protocol-Version", v, "Mcp-Method", "resources/read", "Mcp-Name", "file:///x"), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x","name":"y",` + meta + `}}`, ok},
		"read, the wrong member":    {headers("MCP-Protocol-Version", v, "Mcp-Method", "resources/read", "Mcp-Name", "y"), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x","name":"y",` + meta + `}}`, "Mcp-Name"},
		"prompt":                    {headers("MCP-Protocol-Version", v, "Mcp-Method", "prompts/get", "Mcp-Name", "p"), `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"q",` + meta + `}}`, "Mcp-Name"},
		"task":                      {headers("MCP-Protocol-Version", v, "Mcp-Method", "tasks/get", "Mcp-Name", "1"), `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"2",` + meta + `}}`, "Mcp-Name"},
		"discover with a name":      {headers("MCP-Protocol-Version", v, "Mcp-Method", "server/discover", "Mcp-Name", "x"), `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, ok},
	} {
		t.Run(name, func(t *testing.T) {
			m := split(t, tc.frame)
			err := checkVersion(tc.h, m)
			if err == nil {
				err = checkMethod(tc.h, m)
			}
			var wrong *mismatchError
			switch {
			case err == nil && tc.want != ok, err != nil && !errors.As(err, &wrong), wrong != nil && wrong.header != tc.want:
				t.Errorf("%v, want it refused for %q", err, tc.want)
			case err != nil:
				if e := jsonrpc.ParseError(refuseMismatch(err).Error); e.Code != -32020 || !strings.HasPrefix(e.Message, "header mismatch: "+tc.want) {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

func TestHeadersTellTheEra(t *testing.T) {
	for _, tc := range []struct {
		h    http.Header
		want bool
	}{
		{headers(), false},
		{headers("MCP-Protocol-Version", ""), false},
		{headers("MCP-Protocol-Version", "2025-11-25"), false},
		{headers("MCP-Protocol-Version", "2024-11-05"), false},
		{headers("MCP-Protocol-Version", "2026-07-28"), true},
		{headers("MCP-Protocol-Version", "v999"), true}, // served by no handshake either: it is told what is
		{headers("MCP-Protocol-Version", "2025-11-25", "MCP-Protocol-Version", "2026-07-28"), true},
	} {
		if got := headerModern(tc.h); got != tc.want {
			t.Errorf("%v: %v", tc.h, got)
		}
	}
}

func TestMirrorsAreTheArguments(t *testing.T) {
	found, err := mirror.Marks([]byte(`{"properties":{
		"s":{"type":"string","x-mcp-header":"S"},"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"},
		"o":{"type":"object","properties":{"p":{"type":"string","x-mcp-header":"P"}}}}}`))
	if err != nil || len(found) != 4 {
		t.Fatal(found, err)
	}
	for name, tc := range map[string]struct {
		h    http.Header
		args string
		ok   bool
	}{
		"nothing":                  {headers(), `{}`, true},
		"no arguments":             {headers(), ``, true},
		"string":                   {headers("Mcp-Param-S", "x"), `{"s":"x"}`, true},
		"header name in any case":  {headers("mcp-param-s", "x"), `{"s":"x"}`, true},
		"string, encoded":          {headers("Mcp-Param-S", "=?base64?SGVsbG8=?="), `{"s":"Hello"}`, true},
		"string like a number":     {headers("Mcp-Param-S", "1"), `{"s":"1"}`, true},
		"string, not by number":    {headers("Mcp-Param-S", "1.0"), `{"s":"1"}`, false},
		"string, empty":            {headers("Mcp-Param-S", ""), `{"s":""}`, true},
		"string, empty, no header": {headers(), `{"s":""}`, false},
		"missing":                  {headers(), `{"s":"x"}`, false},
		"other":                    {headers("Mcp-Param-S", "y"), `{"s":"x"}`, false},
		"other case":               {headers("Mcp-Param-S", "X"), `{"s":"x"}`, false},
		"twice":                    {http.Header{"Mcp-Param-S": {"x", "x"}}, `{"s":"x"}`, false},
		"bad base64":               {headers("Mcp-Param-S", "=?base64?SGVsbG8?="), `{"s":"Hello"}`, false},
		"null":                     {headers(), `{"s":null}`, true},
		"null and a header":        {headers("Mcp-Param-S", ""), `{"s":null}`, false},
		"absent and a header":      {headers("Mcp-Param-S", "x"), `{}`, false},
		"integer":                  {headers("Mcp-Param-N", "42"), `{"n":42}`, true},
		"integer, other spelling":  {headers("Mcp-Param-N", "42.0"), `{"n":4.2e1}`, true},
		"integer, hex":             {headers("Mcp-Param-N", "0x2a"), `{"n":42}`, false},
		"integer, padded":          {headers("Mcp-Param-N", "042"), `{"n":42}`, false},
		"integer, plus":            {headers("Mcp-Param-N", "+42"), `{"n":42}`, false},
		"integer, grouped":         {headers("Mcp-Param-N", "4_2"), `{"n":42}`, false},
		"integer, almost":          {headers("Mcp-Param-N", "9007199254740990.6"), `{"n":9007199254740991}`, false},
		"integer, too large":       {headers("Mcp-Param-N", "9007199254740993"), `{"n":9007199254740993}`, false},
		"integer, absurd":          {headers("Mcp-Param-N", "1e999999999"), `{"n":1e999999999}`, false},
		"integer, negative":        {headers("Mcp-Param-N", "-7"), `{"n":-7}`, true},
		"boolean":                  {headers("Mcp-Param-B", "true"), `{"b":true}`, true},
		"boolean, capitals":        {headers("Mcp-Param-B", "True"), `{"b":true}`, false},
		"boolean, number":          {headers("Mcp-Param-B", "1"), `{"b":true}`, false},
		"object":                   {headers("Mcp-Param-S", "{}"), `{"s":{}}`, false},
		"nested":                   {headers("Mcp-Param-P", "x"), `{"o":{"p":"x"}}`, true},
		"nested, elsewhere":        {headers("Mcp-Param-P", "x"), `{"p":"x"}`, false},
		"unknown":                  {headers("Mcp-Param-Zone", "x"), `{"zone":"y"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkMirrors(tc.h, found, []byte(tc.args)); (err == nil) != tc.ok {
				t.Error(err)
			}
		})
	}
}

// TestOneTraceparentCounts: of two, either may be anybody's.
func TestOneTraceparentCounts(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	carried := func(values ...string) string {
		m := &jsonrpc.Message{}
		if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`), true, m); err != nil {
			t.Fatal(err)
		}
		if err := carry(http.Header{"Traceparent": values, "Baggage": {"a=1", "b=2"}}, m); err != nil {
			t.Fatal(err)
		}
		return string(m.Params)
	}
	if got := carried(parent); got != `{"_meta":{"traceparent":"`+parent+`","baggage":"a=1,b=2"},"name":"a"}` {
		t.Error(got)
	}
	for _, more := range []string{parent, "x"} {
		if got := carried(parent, more); got != `{"_meta":{"baggage":"a=1,b=2"},"name":"a"}` {
			t.Error(got)
		}
	}
}
