package hub

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/jsonrpc"
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

func TestSentinel(t *testing.T) {
	const bad = "\x00"
	for raw, want := range map[string]string{
		"us-west1":                            "us-west1",
		"":                                    "",
		"a\tb c":                              "a\tb c",
		"=?base64?SGVsbG8sIOS4lueVjA==?=":     "Hello, 世界",
		"=?base64?IHBhZGRlZCA=?=":             " padded ",
		"=?base64?bGluZTEKbGluZTI=?=":         "line1\nline2",
		"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=": "=?base64?literal?=",
		"=?base64??=":                         "",
		"=?base64?SGVsbG8=":                   "=?base64?SGVsbG8=",
		"SGVsbG8=?=":                          "SGVsbG8=?=",
		"=?BASE64?SGVsbG8=?=":                 "=?BASE64?SGVsbG8=?=",
		"=?base64?=":                          bad, // the end of the one is the beginning of the other
		"=?base64?SGVsbG8?=":                  bad, // no padding
		"=?base64?SGVs!!!bG8=?=":              bad,
		"=?base64?SGVsbG9=?=":                 bad, // bits left over: a second spelling
		"=?base64?SGVs bG8=?=":                bad,
		"=?base64?SGVsbG8=SGVsbG8=?=":         bad,
		"=?base64?_-8=?=":                     bad, // the alphabet of URLs
		"=?base64?/w==?=":                     bad, // not UTF-8
		"größe":                               bad,
		"a\x00b":                              bad,
		"a\nb":                                bad,
		"a\x7f":                               bad,
	} {
		got, reason := decodeMirrored(raw)
		if want == bad && reason == "" || want != bad && (reason != "" || got != want) {
			t.Errorf("%q: %q, %q", raw, got, reason)
		}
	}
}

// Whatever a client encodes is read as what it was, and what is read has one
// reading: encoded again it reads the same.
func FuzzSentinel(f *testing.F) {
	for _, s := range []string{"", "a", " ", "=?base64?x?=", "=?base64?=", "größe", "a\nb", "=?base64?SGVsbG8=?="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if utf8.ValidString(s) {
			encoded, ok := mcp.EncodeHeaderValue(s)
			if got, reason := decodeMirrored(encoded); ok && (reason != "" || got != s) {
				t.Errorf("%q is sent as %q and read as %q (%s)", s, encoded, got, reason)
			}
		}
		got, reason := decodeMirrored(s)
		if reason != "" {
			return
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q is read as %q", s, got)
		}
		if got != s { // it was encoded, and in the only way that there is
			if canonical := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(got)) + "?="; canonical != s {
				t.Errorf("%q and %q are both read as %q", s, canonical, got)
			}
		}
	})
}

func TestMirrorsOfASchema(t *testing.T) {
	def := func(schema string) []byte { return []byte(`{"name":"t","inputSchema":` + schema + `}`) }
	deep := strings.Repeat(`{"properties":{"a":`, 200) + `{"x-mcp-header":"A","type":"string"}` + strings.Repeat(`}}`, 200)
	for name, tc := range map[string]struct {
		schema string
		want   []string // header=path; nil and bad: none
		bad    bool
	}{
		"none":              {`{"type":"object","properties":{"a":{"type":"string"}}}`, nil, false},
		"one":               {`{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`, []string{"Mcp-Param-Region=a"}, false},
		"nested":            {`{"properties":{"a":{"type":"object","properties":{"b":{"type":"integer","x-mcp-header":"N"}}}}}`, []string{"Mcp-Param-N=a.b"}, false},
		"escaped":           {`{"properties":{"a":{"type":"boolean","x-mcp-\u0068eader":"B"}}}`, []string{"Mcp-Param-B=a"}, false},
		"types":             {`{"properties":{"a":{"type":["string","integer"],"x-mcp-header":"B"}}}`, []string{"Mcp-Param-B=a"}, false},
		"called so":         {`{"properties":{"x-mcp-header":{"type":"string"}}}`, nil, false},
		"a value":           {`{"properties":{"a":{"type":"object","default":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":"B"}]}}}`, nil, false},
		"a number":          {`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, nil, true},
		"no type":           {`{"properties":{"a":{"x-mcp-header":"A"}}}`, nil, true},
		"types with null":   {`{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`, nil, true},
		"no types":          {`{"properties":{"a":{"type":[],"x-mcp-header":"A"}}}`, nil, true},
		"empty":             {`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, nil, true},
		"no token":          {`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`, nil, true},
		"line end":          {`{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nX: y"}}}`, nil, true},
		"no string":         {`{"properties":{"a":{"type":"string","x-mcp-header":1}}}`, nil, true},
		"twice":             {`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`, nil, true},
		"at the root":       {`{"type":"string","x-mcp-header":"A"}`, nil, true},
		"in items":          {`{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`, nil, true},
		"below items":       {`{"properties":{"a":{"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}`, nil, true},
		"in anyOf":          {`{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, nil, true},
		"in $defs":          {`{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}`, nil, true},
		"in if":             {`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, nil, true},
		"deeper than ever":  {deep, nil, true},
		"no object":         {`["x-mcp-header"]`, nil, false},
		"odd annotation in": {`{"properties":{"a":{"type":"string","x-mcp-header":{"x-mcp-header":"A"}}}}`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := mirrors(def(tc.schema))
			var got []string
			for _, m := range found {
				got = append(got, m.header+"="+strings.Join(m.path, "."))
			}
			if (err != nil) != tc.bad || !slices.Equal(got, tc.want) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestMirrorsAreTheArguments(t *testing.T) {
	found, err := mirrors([]byte(`{"inputSchema":{"properties":{
		"s":{"type":"string","x-mcp-header":"S"},"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"},
		"o":{"type":"object","properties":{"p":{"type":"string","x-mcp-header":"P"}}}}}}`))
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
