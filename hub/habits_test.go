package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlclark/regexp2"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/platform"
)

// A habit is something that generators of schemas write. VALUE in args is a text that the
// caller chooses.
type habit struct {
	what, schema, args string
	unchecked          bool // no schema can be made of it: under the rule before, the tool was left out
}

// offered are the schemas that clients of 2026-07-28, and those before, get instead of one that an SDK refuses; "" if they do not get
// the tool.
var offered = map[string][2]string{
	"type in capitals":                 {`{"type":"object","properties":{"n":{"type":"STRING"}}}`, `{"type":"object","properties":{"n":{"type":"STRING"}}}`},
	"properties a list, as PHP has it": {`{"type":"object","properties":{}}`, `{"type":"object","properties":{}}`},
	"properties null":                  {`{"type":"object"}`, `{"type":"object"}`},
	"required null, as Go has it":      {`{"type":"object","properties":{"n":{"type":"string"}}}`, `{"type":"object","properties":{"n":{"type":"string"}}}`},
	"a schema that is a text":          {`{"type":"object","properties":{"n":"string"}}`, ""},
	"boolean schemas":                  {`{"type":"object","properties":{"n":true,"m":false}}`, `{"type":"object","properties":{"n":{},"m":{"not":{}}}}`},
	"no type":                          {`{"properties":{"n":{"type":"string"}},"type":"object"}`, `{"properties":{"n":{"type":"string"}},"type":"object"}`},
	"nothing":                          {`{"type":"object"}`, `{"type":"object"}`},
	"true":                             {},
	"null":                             {`{"type":"object"}`, `{"type":"object"}`},
	"object or null":                   {`{"type":"object"}`, `{"type":"object"}`},
}

// habits are the habits of OpenAPI converters, of zod, pydantic, FastMCP, TypeBox, of
// generators for Java, C#, Go, PHP and Python, and of people who write schemas by hand.
var habits = []habit{
	// What is no schema of the dialect that it says it is of.
	{"exclusiveMinimum of draft-04", `{"type":"object","properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}`, `{"n":1,"at":"VALUE"}`, true},
	{"required in a property", `{"type":"object","properties":{"n":{"type":"string","required":true}}}`, `{"n":"VALUE"}`, true},
	{"components of OpenAPI", `{"type":"object","properties":{"n":{"$ref":"#/components/schemas/X"}}}`, `{"n":"VALUE"}`, true},
	{"no description", `{"type":"object","properties":{"n":{"type":"string","description":null}}}`, `{"n":"VALUE"}`, true},
	{"items a list", `{"type":"object","properties":{"n":{"type":"array","items":[{"type":"string"}]}}}`, `{"n":["VALUE"]}`, true},
	{"type any", `{"type":"object","properties":{"n":{"type":"any"}}}`, `{"n":"VALUE"}`, true},
	{"type in capitals", `{"type":"OBJECT","properties":{"n":{"type":"STRING"}}}`, `{"n":"VALUE"}`, true},
	{"type of Python", `{"type":"object","properties":{"n":{"type":"str"},"m":{"type":"float"}}}`, `{"n":"VALUE","m":1.50}`, true},
	{"type file", `{"type":"object","properties":{"n":{"type":"file"}}}`, `{"n":"VALUE"}`, true},
	{"type null", `{"type":"object","properties":{"n":{"type":null}}}`, `{"n":"VALUE"}`, true},
	{"type of no names", `{"type":"object","properties":{"n":{"type":[]}}}`, `{"n":"VALUE"}`, true},
	{"a group with a name, as in Python", `{"type":"object","properties":{"n":{"type":"string","pattern":"(?P<n>.*)"}}}`, `{"n":"VALUE"}`, true},
	{"an anchor of Python", `{"type":"object","properties":{"n":{"type":"string","pattern":"(?<"}}}`, `{"n":"VALUE"}`, true},
	{"allOf of nothing", `{"type":"object","allOf":[]}`, `{"n":"VALUE"}`, true},
	{"anyOf of nothing", `{"type":"object","properties":{"n":{"anyOf":[]}}}`, `{"n":"VALUE"}`, true},
	{"anyOf null", `{"type":"object","anyOf":null}`, `{"n":"VALUE"}`, true},
	{"unknown dialect", `{"$schema":"https://example.com/my-dialect","type":"object"}`, `{"n":"VALUE"}`, true},
	{"remote reference", `{"type":"object","properties":{"n":{"$ref":"https://example.com/n.json"}}}`, `{"n":"VALUE"}`, true},
	{"reference to a file", `{"type":"object","properties":{"n":{"$ref":"file:///etc/n.json"}}}`, `{"n":"VALUE"}`, true},
	{"reference to another document", `{"type":"object","properties":{"n":{"$ref":"common.json#/n"}}}`, `{"n":"VALUE"}`, true},
	{"reference to nothing", `{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}}}`, `{"n":"VALUE"}`, true},
	{"additionalProperties a text", `{"type":"object","properties":{},"additionalProperties":"false"}`, `{"n":"VALUE"}`, true},
	{"minimum a text", `{"type":"object","properties":{"n":{"type":"integer","minimum":"0"}}}`, `{"n":1,"at":"VALUE"}`, true},
	{"maxLength below nothing", `{"type":"object","properties":{"n":{"type":"string","maxLength":-1}}}`, `{"n":"VALUE"}`, true},
	{"enum a text", `{"type":"object","properties":{"n":{"enum":"a|b"}}}`, `{"n":"VALUE"}`, true},
	{"properties a list, as PHP has it", `{"type":"object","properties":[]}`, `{"n":"VALUE"}`, false},
	{"properties null", `{"type":"object","properties":null}`, `{"n":"VALUE"}`, false},
	{"required null, as Go has it", `{"type":"object","properties":{"n":{"type":"string"}},"required":null}`, `{"n":"VALUE"}`, false},
	{"required twice", `{"type":"object","properties":{"n":{"type":"string"}},"required":["n","n"]}`, `{"n":"VALUE"}`, true},
	{"title a number", `{"title":7,"type":"object"}`, `{"n":"VALUE"}`, true},
	{"description a list", `{"type":"object","properties":{"n":{"description":["a","b"]}}}`, `{"n":"VALUE"}`, true},
	{"a schema that is a text", `{"type":"object","properties":{"n":"string"}}`, `{"n":"VALUE"}`, true},
	{"examples a text", `{"type":"object","properties":{"n":{"examples":"a"}}}`, `{"n":"VALUE"}`, true},
	{"deprecated a text", `{"type":"object","properties":{"n":{"deprecated":"yes"}}}`, `{"n":"VALUE"}`, true},
	{"id of draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"n","type":"object","properties":{"n":{"type":"string","id":"#n"}}}`, `{"n":"VALUE"}`, false},

	// What is one.
	{"pydantic", `{"$defs":{"N":{"enum":["a","b"],"title":"N","type":"string"}},"properties":{"n":{"anyOf":[{"$ref":"#/$defs/N"},{"type":"null"}],"default":null},"at":{"title":"At","type":"string"}},"required":["at"],"title":"argsArguments","type":"object"}`, `{"n":null,"at":"VALUE"}`, false},
	{"zod 3", `{"type":"object","properties":{"n":{"type":"string","minLength":1}},"required":["n"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"n":"VALUE"}`, false},
	{"zod 4", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"n":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991},"r":{"type":"object","propertyNames":{"type":"string"},"additionalProperties":{}}}}`, `{"n":9007199254740991,"r":{"k":"VALUE"}}`, false},
	{"TypeBox", `{"type":"object","properties":{"n":{"anyOf":[{"const":"a","type":"string"},{"const":"b","type":"string"}]},"at":{"type":"string"}},"$id":"T"}`, `{"n":"a","at":"VALUE"}`, false},
	{"FastMCP", `{"properties":{"n":{"default":null,"title":"N","type":"string"}},"title":"toolArguments","type":"object","x-fastmcp-wrap-result":true}`, `{"n":"VALUE"}`, false},
	{"nullable", `{"type":"object","properties":{"n":{"type":"string","nullable":true},"at":{"type":"string"}}}`, `{"n":null,"at":"VALUE"}`, false},
	{"formats of OpenAPI", `{"type":"object","properties":{"n":{"type":"integer","format":"int32"},"m":{"type":"number","format":"double"},"b":{"type":"string","format":"binary"},"u":{"type":"string","format":"uuid4"}}}`, `{"n":1,"m":1.5,"b":"b","u":"VALUE"}`, false},
	{"words of OpenAPI", `{"type":"object","discriminator":{"propertyName":"n"},"xml":{"name":"x"},"example":{"n":1},"externalDocs":{"url":"https://example.com"},"properties":{"n":{"type":"string","example":"a","readOnly":true}}}`, `{"n":"VALUE"}`, false},
	{"definitions", `{"type":"object","definitions":{"N":{"type":"string"}},"properties":{"n":{"$ref":"#/definitions/N"}}}`, `{"n":"VALUE"}`, false},
	{"a reference that is escaped", `{"type":"object","$defs":{"a/b c":{"type":"string"}},"properties":{"n":{"$ref":"#/$defs/a~1b%20c"}}}`, `{"n":"VALUE"}`, false},
	{"words beside a reference", `{"type":"object","$defs":{"N":{"type":"string"}},"properties":{"n":{"$ref":"#/$defs/N","description":"d","default":"x"}}}`, `{"n":"VALUE"}`, false},
	{"a schema in itself", `{"type":"object","properties":{"n":{"$ref":"#"},"at":{"type":"string"}}}`, `{"n":{"n":{"at":"VALUE"}}}`, false},
	{"a property called $ref", `{"type":"object","properties":{"$ref":{"type":"string"},"$schema":{"type":"string"}}}`, `{"$ref":"VALUE"}`, false},
	{"enum with null", `{"type":"object","properties":{"n":{"enum":["a",null]},"at":{"type":"string"}}}`, `{"n":null,"at":"VALUE"}`, false},
	{"enum of nothing", `{"type":"object","properties":{"n":{"type":"string","enum":[]}}}`, `{"at":"VALUE"}`, false},
	{"const", `{"type":"object","properties":{"n":{"const":1e0},"at":{"type":"string"}}}`, `{"n":1,"at":"VALUE"}`, false},
	{"default null", `{"type":"object","properties":{"n":{"type":"string","default":null}}}`, `{"n":"VALUE"}`, false},
	{"default of another type", `{"type":"object","properties":{"n":{"type":"integer","default":"none"},"at":{}}}`, `{"n":1,"at":"VALUE"}`, false},
	{"keys of the vendor", `{"type":"object","x-order":["n"],"properties":{"n":{"type":"string","x-ui":{"widget":1.0}}}}`, `{"n":"VALUE"}`, false},
	{"examples", `{"type":"object","properties":{"n":{"type":"string","examples":["a","b"]}},"examples":[{"n":"a"}]}`, `{"n":"VALUE"}`, false},
	{"boolean schemas", `{"type":"object","properties":{"n":true,"m":false}}`, `{"n":"VALUE"}`, false},
	{"several types", `{"type":"object","properties":{"n":{"type":["string","null"]},"m":{"type":["integer","string"]}}}`, `{"n":"VALUE","m":"1"}`, false},
	{"flags of a pattern", `{"type":"object","properties":{"n":{"type":"string","pattern":"(?i)^.*$"}}}`, `{"n":"VALUE"}`, false},
	{"look-ahead", `{"type":"object","properties":{"n":{"type":"string","pattern":"^(?!-)[\\s\\S]+$"}}}`, `{"n":"VALUE"}`, false},
	{"dependencies of draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"n":["m"]},"properties":{"n":{},"m":{}}}`, `{"n":"VALUE","m":1}`, false},
	{"unevaluatedProperties", `{"type":"object","allOf":[{"properties":{"n":{"type":"string"}}}],"unevaluatedProperties":false}`, `{"n":"VALUE"}`, false},
	{"contentEncoding", `{"type":"object","properties":{"n":{"type":"string","contentEncoding":"base64","contentMediaType":"image/png"}}}`, `{"n":"AA==","at":"VALUE"}`, false},
	{"optional by hand", `{"type":"object","properties":{"n":{"type":"string","optional":true}}}`, `{"n":"VALUE"}`, false},
	{"no type", `{"properties":{"n":{"type":"string"}}}`, `{"n":"VALUE"}`, false},
	{"nothing", `{}`, `{"n":"VALUE"}`, false},
	{"true", `true`, `{"n":"VALUE"}`, false},
	{"null", `null`, `{"n":"VALUE"}`, false},
	{"object or null", `{"type":["object","null"]}`, `{"n":"VALUE"}`, false},
}

// TestHabitsOfGenerators: a tool whose schema any generator wrote is listed as its server
// defined it, but for the name and for what an SDK refuses, and called with the bytes that the client sent; a path
// outside is denied all the same. Over both fronts, to clients of both eras, from servers of
// both. Tools that are left out are the control: one without a name, one with two, and one without any object as its schema.
func TestHabitsOfGenerators(t *testing.T) {
	t.Cleanup(regexp2.StopTimeoutClock)
	root, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var defs []string
	for i, h := range habits {
		defs = append(defs, fmt.Sprintf(`{"title":%q,"name":"t%d","description":"a <b> & c","inputSchema":%s,"x-after":1.0}`, h.what, i, h.schema))
	}
	file := filepath.Join(t.TempDir(), "defs")
	leftOut := `{"inputSchema":{"type":"object"}}` + "\n" + `{"name":"one","name":"two","inputSchema":{"type":"object"}}`
	if err := os.WriteFile(file, []byte(strings.Join(append(defs, leftOut), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(t, played("old", spec.ShareAll, childtest.Script{Defs: file}), played("new", spec.ShareAll, childtest.Script{Era: "modern", Defs: file}))
	cfg.Fallback = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: platform.Host().FormatURI(root)}}}
	h := runHub(t, cfg)
	for front, ask := range everyFront(t, h) {
		t.Run(front, func(t *testing.T) {
			listed := map[string]string{}
			_ = jsonrpc.Elements(jsonrpc.Get(ask(t, "tools/list", `{}`), "tools"), func(def []byte) bool {
				name, _ := jsonrpc.String(jsonrpc.Get(def, "name"))
				if strings.Contains(name, "__") {
					listed[name] = string(def)
				}
				return true
			})
			said, _ := text(string(ask(t, "tools/call", toolCall("list-tools", `{}`))))
			era, want := 0, 0
			if strings.HasSuffix(front, "2025-11-25") {
				era = 1
			}
			for _, child := range []string{"old", "new"} {
				for i, h := range habits {
					own := fmt.Sprintf("t%d", i)
					name := child + "__" + own
					def := strings.Replace(defs[i], `"name":"`+own+`"`, `"name":"`+name+`"`, 1)
					if schemas, other := offered[h.what]; other {
						def = strings.Replace(def, `"inputSchema":`+h.schema, `"inputSchema":`+schemas[era], 1)
						if schemas[era] == "" {
							def = ""
						}
						if schemas[0] == "" {
							if !strings.Contains(said, own+`",`) || listed[name] != "" {
								t.Errorf("%s: listed as %q; list-tools: %s", h.what, listed[name], said)
							}
							continue
						}
					}
					if def != "" {
						want++
					}
					if listed[name] != def {
						t.Errorf("%s: listed as %s\nwant %s", h.what, listed[name], def)
					}
					args := strings.Replace(h.args, "VALUE", "word", 1)
					if got := ask(t, "tools/call", toolCall(name, args)); string(jsonrpc.Get(got, "structuredContent")) != args {
						t.Errorf("%s: called with %s, answered %s", h.what, args, got)
					}
					denied := ask(t, "tools/call", toolCall(name, strings.Replace(h.args, "VALUE", outside, 1)))
					if said, failed := text(string(denied)); !failed || !strings.HasPrefix(said, "Access denied: Path '"+outside+"'") {
						t.Errorf("%s: a path outside: %s", h.what, denied)
					}
				}
			}
			if len(listed) != want {
				t.Errorf("%d tools are listed, want %d", len(listed), want)
			}
			for _, child := range []string{"old", "new"} {
				for i, h := range habits {
					_, of, _ := strings.Cut(said, fmt.Sprintf("%q", fmt.Sprintf("%s__t%d", child, i)))
					of, _, _ = strings.Cut(of, "}")
					if strings.Contains(of, "not checked by its schema") != h.unchecked {
						t.Errorf("%s: list-tools says %s", h.what, of)
					}
				}
			}
		})
	}
}

// TestExecutionOfTools: whether calls of a tool can be tasks is said of it if the hub can serve
// such tasks: to clients of 2025-11-25, of servers that said that they make them. Everywhere else
// it says that they cannot, and all else that stands there stays. A task that is said to be there
// can be made, which is the control.
func TestExecutionOfTools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "defs")
	const def = `{"name":"NAME","inputSchema":{"type":"object"},"execution":{"x-before":1.0,"taskSupport":"SUPPORT","x-after":[null]}}`
	written := func(name, support string) string {
		return strings.NewReplacer("NAME", name, "SUPPORT", support).Replace(def)
	}
	supports := []string{"optional", "required", "forbidden"}
	names := []string{"task", "needs", "never"}
	var defs []string
	for i, support := range supports {
		defs = append(defs, written(names[i], support))
	}
	if err := os.WriteFile(file, []byte(strings.Join(append(defs, `{"name":"plain","inputSchema":{"type":"object"},"execution":{"x":1.0}}`), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newTestHub(t, played("makes", spec.ShareAll, childtest.Script{Defs: file, Asks: true}), // which declares them
		played("not", spec.ShareAll, childtest.Script{Defs: file}), played("modern", spec.ShareAll, childtest.Script{Defs: file, Asks: true, Era: "modern", Tasks: true}))
	for front, ask := range everyFront(t, h) {
		t.Run(front, func(t *testing.T) {
			relays := strings.HasSuffix(front, "2025-11-25")
			list := ""
			for range 1000 { // a server that starts late is on a later list
				list = string(ask(t, "tools/list", `{}`))
				if strings.Contains(list, "makes__plain") && strings.Contains(list, "not__plain") && strings.Contains(list, "modern__plain") {
					break
				}
			}
			for _, child := range []string{"makes", "not", "modern"} {
				for i, support := range supports {
					if child != "makes" || !relays {
						support = "forbidden"
					}
					if want := written(child+"__"+names[i], support); !strings.Contains(list, want) {
						t.Errorf("%s is not listed: %s", want, list)
					}
				}
				if want := `{"name":"` + child + `__plain","inputSchema":{"type":"object"},"execution":{"x":1.0}}`; !strings.Contains(list, want) {
					t.Errorf("%s is not listed: %s", want, list)
				}
			}
			if !relays {
				return
			}
			id := strings.ReplaceAll(front, ", ", "-")
			made := ask(t, "tools/call", tasked("makes", id))
			if got, _ := jsonrpc.String(jsonrpc.Get(jsonrpc.Get(made, "task"), "taskId")); got != id {
				t.Errorf("no task was made: %s", made)
			}
			if got := ask(t, "tasks/get", fmt.Sprintf(`{"taskId":%q}`, id)); string(jsonrpc.Get(got, "status")) != `"working"` {
				t.Errorf("of the task: %s", got)
			}
		})
	}
}

// A frontClient makes one request and returns its result; over HTTP with headers.
type frontClient func(t *testing.T, method, params string, header ...string) []byte

// everyFront asks a hub over stdio and over HTTP, as clients of both eras do.
func everyFront(t *testing.T, h *Hub) map[string]frontClient {
	t.Helper()
	old, modern := connect(t, h), connect(t, h)
	old.raw("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	if err := old.conn.Notify(context.Background(), "notifications/initialized"); err != nil {
		t.Fatal(err)
	}
	w := serveWeb(t, h, HTTPOptions{})
	oldWeb, modernWeb := w.initialize(`{}`).initialized(), w.modern("")
	return map[string]frontClient{
		"stdio, 2025-11-25": func(_ *testing.T, method, params string, _ ...string) []byte { return []byte(old.raw(method, params)) },
		"stdio, 2026-07-28": func(_ *testing.T, method, params string, _ ...string) []byte {
			return []byte(modern.raw(method, modernParams(params, `{}`)))
		},
		"HTTP, 2025-11-25": func(t *testing.T, method, params string, header ...string) []byte {
			m := oldWeb.frames(oldWeb.request(method, params, header...), nil)
			if m == nil || m.Error != nil {
				t.Fatalf("%s %s: %+v", method, params, m)
			}
			return m.Result
		},
		"HTTP, 2026-07-28": func(t *testing.T, method, params string, header ...string) []byte {
			modernWeb.header = header
			m := modernWeb.request(method, params, nil)
			if m.Error != nil {
				t.Fatalf("%s %s: %s", method, params, m.Error)
			}
			return m.Result
		},
	}
}
