package headers

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

func head(pairs ...string) http.Header {
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
	t.Parallel()
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
		"list":                      {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/list"), list, ok},
		"names in any case":         {head("mcp-protocol-version", v, "MCP-METHOD", "tools/list"), list, ok},
		"no version":                {head("Mcp-Method", "tools/list"), list, Protocol},
		"empty version":             {head("MCP-Protocol-Version", "", "Mcp-Method", "tools/list"), list, Protocol},
		"a handshake's version":     {head("MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "tools/list"), list, Protocol},
		"another version":           {head("MCP-Protocol-Version", "2026-07-29", "Mcp-Method", "tools/list"), list, Protocol},
		"version twice":             {head("MCP-Protocol-Version", v, "MCP-Protocol-Version", v, "Mcp-Method", "tools/list"), list, Protocol},
		"versions in one":           {head("MCP-Protocol-Version", v+", "+v, "Mcp-Method", "tools/list"), list, Protocol},
		"version encoded":           {head("MCP-Protocol-Version", encoded(v), "Mcp-Method", "tools/list"), list, Protocol},
		"body without a version":    {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/list"), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, ok},
		"no method":                 {head("MCP-Protocol-Version", v), list, "Mcp-Method"},
		"another method":            {head("MCP-Protocol-Version", v, "Mcp-Method", "prompts/list"), list, "Mcp-Method"},
		"method in capitals":        {head("MCP-Protocol-Version", v, "Mcp-Method", "TOOLS/LIST"), list, "Mcp-Method"},
		"method encoded":            {head("MCP-Protocol-Version", v, "Mcp-Method", encoded("tools/list")), list, "Mcp-Method"},
		"method twice":              {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/list", "Mcp-Method", "tools/call"), list, "Mcp-Method"},
		"call":                      {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "a"), callOf("a"), ok},
		"call, encoded":             {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", encoded("a")), callOf("a"), ok},
		"call, beyond ASCII":        {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", encoded("größe")), callOf("größe"), ok},
		"call, raw beyond ASCII":    {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "größe"), callOf("größe"), "Mcp-Name"},
		"call without a name":       {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call"), callOf("a"), "Mcp-Name"},
		"call, another name":        {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "b"), callOf("a"), "Mcp-Name"},
		"call, other case":          {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "A"), callOf("a"), "Mcp-Name"},
		"call, blank inside":        {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "a "), callOf("a"), "Mcp-Name"},
		"call, name twice":          {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "a", "Mcp-Name", "a"), callOf("a"), "Mcp-Name"},
		"call, body without a name": {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "a"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `}}`, "Mcp-Name"},
		"call, neither has a name":  {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `}}`, ok},
		"call, escaped in the body": {head("MCP-Protocol-Version", v, "Mcp-Method", "tools/call", "Mcp-Name", "a"), `{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"\u0061",` + meta + `}}`, ok},
		"read":                      {head("MCP-Protocol-Version", v, "Mcp-Method", "resources/read", "Mcp-Name", "file:///x"), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x","name":"y",` + meta + `}}`, ok},
		"read, the wrong member":    {head("MCP-Protocol-Version", v, "Mcp-Method", "resources/read", "Mcp-Name", "y"), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x","name":"y",` + meta + `}}`, "Mcp-Name"},
		"prompt":                    {head("MCP-Protocol-Version", v, "Mcp-Method", "prompts/get", "Mcp-Name", "p"), `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"q",` + meta + `}}`, "Mcp-Name"},
		"task":                      {head("MCP-Protocol-Version", v, "Mcp-Method", "tasks/get", "Mcp-Name", "1"), `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"2",` + meta + `}}`, "Mcp-Name"},
		"discover with a name":      {head("MCP-Protocol-Version", v, "Mcp-Method", "server/discover", "Mcp-Name", "x"), `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, ok},
	} {
		t.Run(name, func(t *testing.T) {
			m := split(t, tc.frame)
			err := CheckVersion(tc.h, m)
			if err == nil {
				err = CheckMethod(tc.h, m)
			}
			var wrong *mismatchError
			switch {
			case err == nil && tc.want != ok, err != nil && !errors.As(err, &wrong), wrong != nil && wrong.header != tc.want:
				t.Errorf("%v, want it refused for %q", err, tc.want)
			case err != nil:
				if e := jsonrpc.ParseError(MismatchAnswer(err).Error); e.Code != -32020 || !strings.HasPrefix(e.Message, "header mismatch: "+tc.want) {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

func TestHeadersTellTheEra(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		h    http.Header
		want bool
	}{
		{head(), false},
		{head("MCP-Protocol-Version", ""), false},
		{head("MCP-Protocol-Version", "2025-11-25"), false},
		{head("MCP-Protocol-Version", "2024-11-05"), false},
		{head("MCP-Protocol-Version", "2026-07-28"), true},
		{head("MCP-Protocol-Version", "v999"), true}, // served by no handshake either: it is told what is
		{head("MCP-Protocol-Version", "2025-11-25", "MCP-Protocol-Version", "2026-07-28"), true},
	} {
		if got := IsModern(tc.h); got != tc.want {
			t.Errorf("%v: %v", tc.h, got)
		}
	}
}

func TestMirrorsAreTheArguments(t *testing.T) {
	t.Parallel()
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
		"nothing":                  {head(), `{}`, true},
		"no arguments":             {head(), ``, true},
		"string":                   {head("Mcp-Param-S", "x"), `{"s":"x"}`, true},
		"header name in any case":  {head("mcp-param-s", "x"), `{"s":"x"}`, true},
		"string, encoded":          {head("Mcp-Param-S", "=?base64?SGVsbG8=?="), `{"s":"Hello"}`, true},
		"string like a number":     {head("Mcp-Param-S", "1"), `{"s":"1"}`, true},
		"string, not by number":    {head("Mcp-Param-S", "1.0"), `{"s":"1"}`, false},
		"string, empty":            {head("Mcp-Param-S", ""), `{"s":""}`, true},
		"string, empty, no header": {head(), `{"s":""}`, false},
		"missing":                  {head(), `{"s":"x"}`, false},
		"other":                    {head("Mcp-Param-S", "y"), `{"s":"x"}`, false},
		"other case":               {head("Mcp-Param-S", "X"), `{"s":"x"}`, false},
		"twice":                    {http.Header{"Mcp-Param-S": {"x", "x"}}, `{"s":"x"}`, false},
		"bad base64":               {head("Mcp-Param-S", "=?base64?SGVsbG8?="), `{"s":"Hello"}`, false},
		"null":                     {head(), `{"s":null}`, true},
		"null and a header":        {head("Mcp-Param-S", ""), `{"s":null}`, false},
		"absent and a header":      {head("Mcp-Param-S", "x"), `{}`, false},
		"integer":                  {head("Mcp-Param-N", "42"), `{"n":42}`, true},
		"integer, other spelling":  {head("Mcp-Param-N", "42.0"), `{"n":4.2e1}`, true},
		"integer, hex":             {head("Mcp-Param-N", "0x2a"), `{"n":42}`, false},
		"integer, padded":          {head("Mcp-Param-N", "042"), `{"n":42}`, false},
		"integer, plus":            {head("Mcp-Param-N", "+42"), `{"n":42}`, false},
		"integer, grouped":         {head("Mcp-Param-N", "4_2"), `{"n":42}`, false},
		"integer, almost":          {head("Mcp-Param-N", "9007199254740990.6"), `{"n":9007199254740991}`, false},
		"integer, too large":       {head("Mcp-Param-N", "9007199254740993"), `{"n":9007199254740993}`, false},
		"integer, absurd":          {head("Mcp-Param-N", "1e999999999"), `{"n":1e999999999}`, false},
		"integer, negative":        {head("Mcp-Param-N", "-7"), `{"n":-7}`, true},
		"boolean":                  {head("Mcp-Param-B", "true"), `{"b":true}`, true},
		"boolean, capitals":        {head("Mcp-Param-B", "True"), `{"b":true}`, false},
		"boolean, number":          {head("Mcp-Param-B", "1"), `{"b":true}`, false},
		"object":                   {head("Mcp-Param-S", "{}"), `{"s":{}}`, false},
		"nested":                   {head("Mcp-Param-P", "x"), `{"o":{"p":"x"}}`, true},
		"nested, elsewhere":        {head("Mcp-Param-P", "x"), `{"p":"x"}`, false},
		"unknown":                  {head("Mcp-Param-Zone", "x"), `{"zone":"y"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := CheckMirrors(tc.h, found, []byte(tc.args)); (err == nil) != tc.ok {
				t.Error(err)
			}
		})
	}
}

// TestOneTraceparentCounts: of two, either may be anybody's.
func TestOneTraceparentCounts(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	carried := func(values ...string) string {
		m := &jsonrpc.Message{}
		if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`), true, m); err != nil {
			t.Fatal(err)
		}
		if err := CarryTrace(http.Header{"Traceparent": values, "Baggage": {"a=1", "b=2"}}, m); err != nil {
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
