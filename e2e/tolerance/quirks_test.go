package tolerance

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"
)

// overStdio and overHTTP are the transports of a quirk.
const (
	overStdio = "stdio"
	overHTTP  = "http"
)

// quirks returns the ways in which stubs are bent, by what is odd. A healthy one is the control.
func quirks() map[string]quirk {
	all := map[string]quirk{"healthy": {}}
	for _, of := range []map[string]quirk{messageQuirks(), questionQuirks(), greetingQuirks(), listQuirks(), resultQuirks(), stdioQuirks(), httpQuirks()} {
		maps.Copy(all, of)
	}
	return all
}

// differences are the quirks with which something that works directly is otherwise through the hub, and why.
var differences = map[string][]string{
	"models take no such names, so the hub gives it another": {"a long name", "a name in another script", "a name with blanks"},
	"a tool needs a name":                                  {"an empty name of a tool"},
	"the first of two with one name":                       {"a resource twice", "a tool twice, once otherwise"},
	"what a list lacks that can be read is unknown":        {"no tools"},
	"a server that says what it has has nothing else":      {"tools alone", "null for a capability"},
	"a message of stdio is a line, also to TypeScript":     {"JSON over lines"},
	"a body is one value, also to TypeScript":              {"two bodies"},
	"a result is an object, also to TypeScript":            {"null for a result"},
	"a message is one of JSON-RPC 2.0, also to TypeScript": {"another version"},
	"of two members with one name another may count":       {"an id twice"},
	"mcp-go takes what is answered to another":             {"an answer to a string", "an answer to nobody", "a body for another", "an event for another"},
}

// waiting are the quirks with which v1 waits in vain for something directly, and failing the others with which it does not get everything:
// the controls.
var (
	waiting = []string{
		"JSON over lines", "a body for another", "a list for _meta of a result", "a list for a list", "a list for a result",
		"a log line in front of a message", "a member too many", "a ping under a name", "a ping without params", "a refusal in a string",
		"a refusal without a message", "a string for a result", "a word after a message", "an answer in a batch", "an answer under another name",
		"an error that is a string", "an error with a code in a string", "an error with a fraction for a code", "an error without a code",
		"an event of a batch", "another version", "events with blanks", "events with nothing in them", "events with one line feed", "events without an end",
		"no answer in a body", "no error, and said so", "no version", "null _meta in a greeting", "null _meta of a list", "null _meta of a result",
		"null for a list", "null for a result", "two messages in a line",
	}
	failing = []string{
		"a content type with a suffix", "a cursor that is a number", "a link without a name", "a list for a capability", "a list for structured content",
		"a notification: 400", "a notification: 404", "a notification: 405", "a notification: 500", "a notification: 501", "a null cursor",
		"a number for a version", "a number for text", "a prompt of a list", "a prompt of a string", "a prompt of the system",
		"a prompt with null for a description", "a prompt without messages", "a protocol version that is a number", "a refusal with more",
		"a refusal without a known code", "a resource of bytes that are no base64", "a resource of null", "a resource with null for a type",
		"a resource without a URI", "a resource without a URI of its own", "a resource without anything", "a schema, and nothing structured",
		"a string for an item of content", "a string for content", "a version to come", "an answer before anything", "an answer that breaks off once",
		"an empty body", "an error for a call", "an error of no known code", "an error with an empty message", "an error with more",
		"an image that is no base64", "an image with the snake's name", "an image without a type", "an object for content", "an object for contents",
		"an object for text", "an object for tools", "an unknown type of content", "content without a type", "experimental true", "isError a number",
		"isError in a string", "isError null", "listChanged in a string", "listChanged null", "no content type", "no list in a list",
		"no prompts in prompts", "no serverInfo", "no tools", "no version at all", "no version of the server", "null annotations of content", "null capabilities",
		"null for a capability", "null for an item of content", "null for content", "null for prompts", "null for resources", "null for structured content",
		"null for text", "null for tools", "null instructions", "plain text", "prompts are refused", "resources are refused", "status 400 for an error",
		"status 500 for an error", "structured content that does not fit", "templates are refused", "text without text", "tools are refused",
		"true for a capability", "two bodies", "two content types",
	}
)

// instead returns a quirk by which a method has another result.
func instead(pairs ...string) quirk {
	q := quirk{results: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		q.results[pairs[i]] = pairs[i+1]
	}
	return q
}

// before returns a quirk by which the client is told this before each answer.
func before(messages ...string) quirk {
	return quirk{speak: func(c *conn, r request) {
		if r.pending {
			for _, m := range messages {
				c.send(m)
			}
			c.send(r.answer())
		}
	}}
}

// spelled returns a quirk by which an answer is written otherwise.
func spelled(write func(r request) string) quirk {
	return quirk{speak: func(c *conn, r request) {
		if r.pending {
			c.send(write(r))
		}
	}}
}

// messageQuirks are of the envelope of messages.
func messageQuirks() map[string]quirk {
	note := func(method, params string) string {
		return `{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`
	}
	all := map[string]quirk{
		"the id last": spelled(func(r request) string { return `{` + r.body + `,"jsonrpc":"2.0","id":` + r.id + `}` }),
		"blanks": spelled(func(r request) string {
			return " \t{ \"jsonrpc\" : \"2.0\" ,\t\"id\" : " + r.id + " , " + r.body + " } \t"
		}),
		"escapes in names of the envelope": spelled(func(r request) string {
			return `{"\u006asonrpc":"2.0","\u0069d":` + r.id + `,"\u0072esult"` + strings.TrimPrefix(r.body, `"result"`) + `}`
		}),
		"an escape in the version": spelled(func(r request) string { return `{"jsonrpc":"\u0032.0","id":` + r.id + `,` + r.body + `}` }),
		"an id with a point":       spelled(func(r request) string { return r.with(r.id + ".0") }),
		"an id with an exponent":   spelled(func(r request) string { return r.with(r.id + "e0") }),
		"an id in a string":        spelled(func(r request) string { return r.with(`"` + r.id + `"`) }),
		"no version":               spelled(func(r request) string { return `{"id":` + r.id + `,` + r.body + `}` }),
		"another version":          spelled(func(r request) string { return `{"jsonrpc":"1.0","id":` + r.id + `,` + r.body + `}` }),
		"a member too many":        spelled(func(r request) string { return `{"jsonrpc":"2.0","id":` + r.id + `,` + r.body + `,"took":1}` }),
		"no error, and said so":    spelled(func(r request) string { return `{"jsonrpc":"2.0","id":` + r.id + `,"error":null,` + r.body + `}` }),
		"an id twice":              spelled(func(r request) string { return `{"jsonrpc":"2.0","id":99,"id":` + r.id + `,` + r.body + `}` }),
		"an answer twice":          {speak: func(c *conn, r request) { c.answers(r, r.answer(), r.answer()) }},
		"an answer to nobody":      {speak: func(c *conn, r request) { c.answers(r, `{"jsonrpc":"2.0","id":4711,"result":{}}`, r.answer()) }},
		"an answer to a string":    {speak: func(c *conn, r request) { c.answers(r, `{"jsonrpc":"2.0","id":"x-1","result":{}}`, r.answer()) }},
		"an error to nobody": {speak: func(c *conn, r request) {
			c.answers(r, `{"jsonrpc":"2.0","id":4711,"error":{"code":-32603,"message":"no"}}`, r.answer())
		}},
		"an error without an id": {speak: func(c *conn, r request) {
			c.answers(r, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, r.answer())
		}},
		"an error with null for an id": {speak: func(c *conn, r request) {
			c.answers(r, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, r.answer())
		}},
		"a message of nothing":          before(`{}`),
		"a message with a version":      before(`{"jsonrpc":"2.0"}`),
		"a message with an id":          before(`{"jsonrpc":"2.0","id":7}`),
		"an unknown notification":       before(note("notifications/made/up", `{"a":1}`)),
		"a notification of its own":     before(note("window/logMessage", `{"type":3,"message":"x"}`)),
		"null for params":               before(note("notifications/message", `null`)),
		"a list for params":             before(note("notifications/message", `[1]`)),
		"a notification without params": before(`{"jsonrpc":"2.0","method":"notifications/message"}`),
		"a log without a level":         before(note("notifications/message", `{"data":"x"}`)),
		"a log of an unknown level":     before(note("notifications/message", `{"level":"warn","data":"x"}`)),
		"a log of nothing":              before(note("notifications/message", `{"level":"info"}`)),
		"progress of nobody":            before(note("notifications/progress", `{"progressToken":"t","progress":1}`)),
		"progress without a token":      before(note("notifications/progress", `{"progress":1}`)),
		"progress in a string":          before(note("notifications/progress", `{"progressToken":1,"progress":"1"}`)),
		"cancels what is not there":     before(note("notifications/cancelled", `{"requestId":4711}`)),
		"cancels nothing":               before(note("notifications/cancelled", `{}`)),
		"updates nobody asked for":      before(note("notifications/resources/updated", `{"uri":"odd://x/y"}`)),
		"lists that always change":      before(note("notifications/tools/list_changed", `{}`)),
		"an empty method":               before(`{"jsonrpc":"2.0","method":""}`),
		"a number for a method":         before(`{"jsonrpc":"2.0","method":5}`),
		"slow": {speak: func(c *conn, r request) {
			if r.pending {
				if r.method == "initialize" || r.method == "tools/list" || r.method == "tools/call" {
					<-time.After(600 * time.Millisecond)
				}
				c.send(r.answer())
			}
		}},
		"lists only after initialized": {speak: func(c *conn, r request) {
			c.mu.Lock()
			ready := c.ready
			c.mu.Unlock()
			switch {
			case !r.pending:
			case ready || r.method == "initialize" || r.method == "server/discover":
				c.send(r.answer())
			default:
				c.send(`{"jsonrpc":"2.0","id":` + r.id + `,"error":{"code":-32002,"message":"Server not initialized"}}`)
			}
		}},
	}
	return all
}

// answers says this for a request that waits.
func (c *conn) answers(r request, messages ...string) {
	if r.pending {
		for _, m := range messages {
			c.send(m)
		}
	}
}

// questionQuirks ask the client something, and wait for what it says.
func questionQuirks() map[string]quirk {
	asks := func(id, method, params string, when ...string) quirk {
		return quirk{speak: func(c *conn, r request) {
			for _, m := range when {
				if m == r.method {
					c.ask(strings.Replace(id, "METHOD", m, 1), method, params)
				}
			}
			if r.pending {
				c.send(r.answer())
			}
		}}
	}
	call := "tools/call"
	return map[string]quirk{
		"a ping during a call":                      asks(`1`, "ping", `{}`, call),
		"a ping during each list":                   asks(`"p-METHOD"`, "ping", `{}`, "tools/list", "prompts/list", "resources/list"),
		"a ping without params":                     asks(`0`, "ping", `null`, call),
		"a ping under a negative id":                asks(`-1`, "ping", `{}`, call),
		"a ping under a large id":                   asks(`9007199254740991`, "ping", `{}`, call),
		"a ping under a long id":                    asks(`"`+strings.Repeat("p", 300)+`"`, "ping", `{}`, call),
		"a ping under a name":                       asks(`"é \u0031"`, "ping", `{}`, call),
		"a question that no client knows":           asks(`"q"`, "made/up", `{}`, call),
		"asks for roots during a call":              asks(`"r"`, "roots/list", `{}`, call),
		"asks for a sample that it may not ask for": asks(`"s"`, "sampling/createMessage", `{"messages":[],"maxTokens":1}`, call),
		"asks what it may not ask":                  asks(`"e"`, "elicitation/create", `{"message":"x","requestedSchema":{"type":"object","properties":{}}}`, call),
		"asks with bad params":                      asks(`"b"`, "sampling/createMessage", `{"messages":"none"}`, call),
	}
}

// greetingQuirks are of the answer to initialize.
func greetingQuirks() map[string]quirk {
	greeting := func(capabilities, info, more string) quirk {
		rest := `"capabilities":` + capabilities + `,"serverInfo":` + info + more + `}`
		return instead("initialize", `{"protocolVersion":"VERSION",`+rest)
	}
	capable := func(capabilities string) quirk { return greeting(capabilities, `{"name":"odd","version":"1"}`, "") }
	all := `{"tools":{},"prompts":{},"resources":{}}`
	of := func(info, more string) quirk { return greeting(all, info, more) }
	plain := `{"name":"odd","version":"1"}`
	version := func(v string) quirk {
		return instead("initialize", `{"protocolVersion":"`+v+`","capabilities":`+all+`,"serverInfo":`+plain+`}`)
	}
	return map[string]quirk{
		"no capabilities":                     capable(`{}`),
		"tools alone":                         capable(`{"tools":{}}`),
		"true for a capability":               capable(`{"tools":true,"prompts":{},"resources":{}}`),
		"null for a capability":               capable(`{"tools":{},"prompts":null,"resources":{}}`),
		"a list for a capability":             capable(`{"tools":[],"prompts":{},"resources":{}}`),
		"an unknown capability":               capable(`{"tools":{},"prompts":{},"resources":{},"made-up":{"x":[1]},"experimental":{"x":{}}}`),
		"experimental true":                   capable(`{"tools":{},"prompts":{},"resources":{},"experimental":{"x":true}}`),
		"listChanged in a string":             capable(`{"tools":{"listChanged":"true"},"prompts":{},"resources":{}}`),
		"listChanged null":                    capable(`{"tools":{"listChanged":null},"prompts":{},"resources":{}}`),
		"more of a capability":                capable(`{"tools":{"listChanged":false,"x":1},"prompts":{"list":true},"resources":{"subscribe":false}}`),
		"logging that it has not":             capable(`{"tools":{},"prompts":{},"resources":{},"logging":{},"completions":{}}`),
		"null capabilities":                   capable(`null`),
		"no serverInfo":                       instead("initialize", `{"protocolVersion":"VERSION","capabilities":`+all+`}`),
		"no version of the server":            of(`{"name":"odd"}`, ""),
		"an empty name":                       of(`{"name":"","version":""}`, ""),
		"a number for a version":              of(`{"name":"odd","version":1.5}`, ""),
		"more of itself":                      of(`{"name":"odd","version":"1","title":"Odd","vendor":{"x":1},"websiteUrl":"https://example.com"}`, ""),
		"icons that are odd":                  of(`{"name":"odd","version":"1","icons":[{"src":"data:,x","sizes":["any"]}]}`, ""),
		"null instructions":                   of(plain, `,"instructions":null`),
		"empty instructions":                  of(plain, `,"instructions":""`),
		"long instructions":                   of(plain, `,"instructions":"`+strings.Repeat("Use say. ", 1_200)+`"`),
		"more of a greeting":                  of(plain, `,"_meta":{"x":1},"more":[{}]`),
		"null _meta in a greeting":            of(plain, `,"_meta":null`),
		"the version of 2024-11-05":           version("2024-11-05"),
		"the version of 2025-03-26":           version("2025-03-26"),
		"the version of 2024-10-07":           version("2024-10-07"),
		"a version to come":                   version("2099-01-01"),
		"no version at all":                   instead("initialize", `{"capabilities":`+all+`,"serverInfo":`+plain+`}`),
		"a protocol version that is a number": instead("initialize", `{"protocolVersion":2025,"capabilities":`+all+`,"serverInfo":`+plain+`}`),
		"a greeting before the client's answer": {speak: func(c *conn, r request) {
			c.answers(r, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, r.answer())
		}},
	}
}

// listQuirks are of lists.
func listQuirks() map[string]quirk {
	tool := func(name, more string) string {
		return `{"name":"` + name + `","inputSchema":{"type":"object"}` + more + `}`
	}
	say := tool("say", "")
	tools := func(entries ...string) quirk {
		return instead("tools/list", `{"tools":[`+strings.Join(entries, ",")+`]}`)
	}
	closing := func(more string) quirk { return instead("tools/list", `{"tools":[`+say+`]`+more+`}`) }
	refused := func(code int, methods ...string) quirk {
		q := quirk{errors: map[string]string{}}
		for _, m := range methods {
			q.errors[m] = fmt.Sprintf(`{"code":%d,"message":"no such list"}`, code)
		}
		return q
	}
	paged := func(pages ...string) quirk {
		return quirk{speak: func(c *conn, r request) {
			if r.method != "tools/list" {
				c.answers(r, r.answer())
				return
			}
			page := 0
			for i := range pages {
				if strings.Contains(string(r.params), fmt.Sprintf(`"cursor":"c%d"`, i)) {
					page = i
				}
			}
			result := `{"tools":[` + pages[page] + `]`
			if page+1 < len(pages) {
				result += fmt.Sprintf(`,"nextCursor":"c%d"`, page+1)
			}
			r.body = `"result":` + result + `}`
			c.answers(r, r.answer())
		}}
	}
	var many []string
	for i := range 60 {
		many = append(many, tool(fmt.Sprintf("t%d", i), ""))
	}
	other := "prompts/list"
	return map[string]quirk{
		"a null cursor":                        closing(`,"nextCursor":null`),
		"an empty cursor":                      closing(`,"nextCursor":""`),
		"a cursor that is a number":            closing(`,"nextCursor":2`),
		"a cursor that leads back":             closing(`,"nextCursor":"again"`),
		"more of a list":                       closing(`,"total":1,"_meta":{"x":1},"nextPage":null`),
		"null _meta of a list":                 closing(`,"_meta":null`),
		"three pages":                          paged(say, tool("b", ""), tool("c", "")),
		"an empty page":                        paged(say, "", tool("c", "")),
		"an empty first page":                  paged("", say),
		"no tools":                             instead("tools/list", `{"tools":[]}`),
		"null for tools":                       instead("tools/list", `{"tools":null}`),
		"no list in a list":                    instead("tools/list", `{}`),
		"an object for tools":                  instead("tools/list", `{"tools":{"say":`+say+`}}`),
		"null for prompts":                     instead(other, `{"prompts":null}`),
		"no prompts in prompts":                instead(other, `{}`),
		"null for resources":                   instead("resources/list", `{"resources":null}`),
		"null for a list":                      instead("resources/list", `null`),
		"a list for a list":                    instead("resources/list", `[]`),
		"60 tools":                             tools(append(many, say)...),
		"a tool twice":                         tools(say, say),
		"a tool twice, once otherwise":         tools(say, tool("say", `,"description":"again"`)),
		"a name with blanks":                   tools(say, tool("say it again", "")),
		"a name in another script":             tools(say, tool("größe", "")),
		"an empty name of a tool":              tools(say, tool("", "")),
		"a long name":                          tools(say, tool(strings.Repeat("n", 200), "")),
		"names that differ by case":            tools(say, tool("Say", "")),
		"an escape in a name":                  tools(strings.Replace(say, `"say"`, `"\u0073ay"`, 1)),
		"an escape in a member's name":         tools(strings.Replace(say, `"name"`, `"\u006eame"`, 1)),
		"unknown members":                      tools(tool("say", `,"x-vendor":{"a":[1,null]},"category":"x","enabled":true`)),
		"annotations of its own":               tools(tool("say", `,"annotations":{"readOnlyHint":true,"x":1}`)),
		"numbers that are odd":                 tools(tool("say", `,"_meta":{"a":1.50,"b":1e2,"c":12345678901234567890,"d":-0}`)),
		"a schema with another $schema":        tools(`{"name":"say","inputSchema":{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"exclusiveMinimum":true,"minimum":0}}}}`),
		"a schema with a reference":            tools(`{"name":"say","inputSchema":{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"array"}}}}`),
		"a schema with a reference to nowhere": tools(`{"name":"say","inputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/None"}}}}`),
		"a schema of an odd pattern":           tools(`{"name":"say","inputSchema":{"type":"object","properties":{"text":{"type":"string","pattern":"^(?!x)\\p{L}"}}}}`),
		"a schema of an unknown format":        tools(`{"name":"say","inputSchema":{"type":"object","properties":{"text":{"type":"string","format":"prose"}}}}`),
		"a large schema":                       tools(`{"name":"say","description":"` + strings.Repeat("long ", 8_000) + `","inputSchema":{"type":"object"}}`),
		"a deep schema":                        tools(`{"name":"say","inputSchema":{"type":"object","properties":{"x":` + strings.Repeat(`{"type":"object","properties":{"x":`, 60) + `{}` + strings.Repeat(`}}`, 60) + `}}}`),
		"an argument of a prompt with more":    instead(other, `{"prompts":[{"name":"greet","arguments":[{"name":"who","type":"string","x":1}]}]}`),
		"a prompt without arguments":           instead(other, `{"prompts":[{"name":"greet"}]}`),
		"a resource of an odd scheme":          instead("resources/list", `{"resources":[{"uri":"odd://KEY/note?x=%20#é","name":"note"},{"uri":"odd://KEY/note","name":"n"}]}`),
		"a resource twice":                     instead("resources/list", `{"resources":[{"uri":"odd://KEY/note","name":"a"},{"uri":"odd://KEY/note","name":"b"}]}`),
		"the size of a resource":               instead("resources/list", `{"resources":[{"uri":"odd://KEY/note","name":"a","size":1e3,"annotations":{"priority":0.5}}]}`),
		"an odd template":                      instead("resources/templates/list", `{"resourceTemplates":[{"uriTemplate":"odd://KEY/{+a}{?b*}{#c:3}","name":"any"}]}`),
		"prompts are refused":                  refused(-32601, other),
		"resources are refused":                refused(-32603, "resources/list", "resources/templates/list"),
		"templates are refused":                refused(-32601, "resources/templates/list"),
		"a refusal without a known code":       refused(7, other, "resources/list"),
		"tools are refused":                    refused(-32601, "tools/list"),
		"a refusal without a message":          {errors: map[string]string{other: `{"code":-32601}`}},
		"a refusal in a string":                {errors: map[string]string{other: `"no"`}},
		"a refusal with more":                  {errors: map[string]string{other: `{"code":-32601,"message":"no","data":null,"x":1}`}},
	}
}

// resultQuirks are of what comes of a call, a prompt and a resource.
func resultQuirks() map[string]quirk {
	said := `[{"type":"text","text":"a"}]`
	call := func(result string) quirk { return instead("tools/call", result) }
	content := func(entries string) quirk { return call(`{"content":` + entries + `}`) }
	structured := func(schema, result string) quirk {
		return instead("tools/list", `{"tools":[{"name":"say","inputSchema":{"type":"object"},"outputSchema":`+schema+`}]}`, "tools/call", result)
	}
	get := func(result string) quirk { return instead("prompts/get", result) }
	read := func(result string) quirk { return instead("resources/read", result) }
	failed := func(refusal string) quirk { return quirk{errors: map[string]string{"tools/call": refusal}} }
	schema := `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	deep := strings.Repeat(`[`, 300) + strings.Repeat(`]`, 300)
	return map[string]quirk{
		"structured content without a schema":    call(`{"content":` + said + `,"structuredContent":{"n":1}}`),
		"structured content alone":               call(`{"structuredContent":{"n":1}}`),
		"structured content that fits":           structured(schema, `{"content":`+said+`,"structuredContent":{"n":1,"more":1}}`),
		"structured content that does not fit":   structured(schema, `{"content":`+said+`,"structuredContent":{"n":"1"}}`),
		"a schema, and nothing structured":       structured(schema, `{"content":`+said+`}`),
		"a schema, and an error":                 structured(schema, `{"content":`+said+`,"isError":true}`),
		"null for structured content":            call(`{"content":` + said + `,"structuredContent":null}`),
		"a list for structured content":          call(`{"content":` + said + `,"structuredContent":[1]}`),
		"numbers in structured content":          call(`{"content":[],"structuredContent":{"a":1.50,"b":12345678901234567890,"c":1e400,"d":-0,"e":1E+2}}`),
		"deep structured content":                call(`{"content":[],"structuredContent":{"a":` + deep + `}}`),
		"a name twice in structured content":     call(`{"content":[],"structuredContent":{"a":1,"a":2}}`),
		"a name like the prototype":              call(`{"content":[],"structuredContent":{"constructor":1,"toString":{}}}`),
		"no content":                             call(`{}`),
		"empty content":                          content(`[]`),
		"null for content":                       content(`null`),
		"an object for content":                  content(`{"type":"text","text":"a"}`),
		"a string for content":                   content(`"a"`),
		"null for a result":                      call(`null`),
		"a string for a result":                  call(`"a"`),
		"a list for a result":                    call(said),
		"isError in a string":                    call(`{"content":` + said + `,"isError":"true"}`),
		"isError null":                           call(`{"content":` + said + `,"isError":null}`),
		"isError a number":                       call(`{"content":` + said + `,"isError":0}`),
		"isError true":                           call(`{"content":` + said + `,"isError":true}`),
		"null _meta of a result":                 call(`{"content":` + said + `,"_meta":null}`),
		"a list for _meta of a result":           call(`{"content":` + said + `,"_meta":[]}`),
		"odd names in _meta":                     call(`{"content":` + said + `,"_meta":{"":1,"a b":2,"modelcontextprotocol.io/x":{"y":1},"progressToken":"t"}}`),
		"more of a result":                       call(`{"content":` + said + `,"took":1.5,"toolResult":{"x":1},"status":null}`),
		"an unknown type of content":             content(`[{"type":"text","text":"a"},{"type":"video","url":"x"}]`),
		"content without a type":                 content(`[{"text":"a"}]`),
		"text without text":                      content(`[{"type":"text"}]`),
		"null for text":                          content(`[{"type":"text","text":null}]`),
		"a number for text":                      content(`[{"type":"text","text":5}]`),
		"an object for text":                     content(`[{"type":"text","text":{"a":1}}]`),
		"null for an item of content":            content(`[null]`),
		"a string for an item of content":        content(`["a"]`),
		"more of an item of content":             content(`[{"type":"text","text":"a","x":1,"annotations":{"audience":["user"],"x":2}}]`),
		"null annotations of content":            content(`[{"type":"text","text":"a","annotations":null}]`),
		"an image":                               content(`[{"type":"image","data":"aGk=","mimeType":"image/png"}]`),
		"an image that is no base64":             content(`[{"type":"image","data":"not base64!","mimeType":"image/png"}]`),
		"an image over lines":                    content(`[{"type":"image","data":"aGVs\nbG8=","mimeType":"image/png"}]`),
		"an image without a type":                content(`[{"type":"image","data":"aGk="}]`),
		"an image with the snake's name":         content(`[{"type":"image","data":"aGk=","mime_type":"image/png"}]`),
		"sound":                                  content(`[{"type":"audio","data":"aGk=","mimeType":"audio/wav"}]`),
		"a resource in it":                       content(`[{"type":"resource","resource":{"uri":"odd://KEY/x","text":"a"}}]`),
		"a resource without anything":            content(`[{"type":"resource","resource":{"uri":"odd://KEY/x"}}]`),
		"a resource without a URI":               content(`[{"type":"resource","resource":{"text":"a"}}]`),
		"a link to a resource":                   content(`[{"type":"resource_link","uri":"odd://KEY/x","name":"x"}]`),
		"a link without a name":                  content(`[{"type":"resource_link","uri":"odd://KEY/x"}]`),
		"2 MB of text":                           content(`[{"type":"text","text":"` + strings.Repeat("0123456789abcdef", 1<<17) + `"}]`),
		"a lone surrogate":                       content(`[{"type":"text","text":"a\ud800b"}]`),
		"control characters in escapes":          content(`[{"type":"text","text":"\u0000\u0007\u001b[31m\u007f\u0085\u2028"}]`),
		"line separators as they are":            content("[{\"type\":\"text\",\"text\":\"a\u2028b\u2029c\u0085d\u007fe\"}]"),
		"bytes that are no UTF-8":                content("[{\"type\":\"text\",\"text\":\"a\xffb\xc3\"}]"),
		"characters beyond the first plane":      content(`[{"type":"text","text":"😀\ud83d\ude00\ufeff\u200b"}]`),
		"an error for a call":                    failed(`{"code":-32602,"message":"no such thing","data":{"x":1}}`),
		"an error of no known code":              failed(`{"code":42,"message":"no"}`),
		"an error with an empty message":         failed(`{"code":-32000,"message":""}`),
		"an error with a code in a string":       failed(`{"code":"-32000","message":"no"}`),
		"an error with a fraction for a code":    failed(`{"code":1.5,"message":"no"}`),
		"an error without a code":                failed(`{"message":"no"}`),
		"an error that is a string":              failed(`"no"`),
		"an error with more":                     failed(`{"code":-32000,"message":"no","stack":"x","data":"y"}`),
		"a prompt of the system":                 get(`{"messages":[{"role":"system","content":{"type":"text","text":"a"}}]}`),
		"a prompt that says nothing":             get(`{"messages":[]}`),
		"a prompt of a string":                   get(`{"messages":[{"role":"user","content":"a"}]}`),
		"a prompt of a list":                     get(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`),
		"a prompt with null for a description":   get(`{"description":null,"messages":[{"role":"user","content":{"type":"text","text":"a"}}]}`),
		"a prompt with more":                     get(`{"x":1,"messages":[{"role":"assistant","name":"x","content":{"type":"text","text":"a","x":1}}]}`),
		"a prompt with an image":                 get(`{"messages":[{"role":"user","content":{"type":"image","data":"aGk=","mimeType":"image/png"}}]}`),
		"a prompt without messages":              get(`{"description":"x"}`),
		"a resource of nothing":                  read(`{"contents":[]}`),
		"a resource of two":                      read(`{"contents":[{"uri":"odd://KEY/note","text":"a"},{"uri":"odd://KEY/other","blob":"aGk="}]}`),
		"a resource of another URI":              read(`{"contents":[{"uri":"NOTE","text":"a"}]}`),
		"a resource without a URI of its own":    read(`{"contents":[{"text":"a"}]}`),
		"a resource of text and bytes":           read(`{"contents":[{"uri":"odd://KEY/note","text":"a","blob":"aGk="}]}`),
		"a resource of bytes that are no base64": read(`{"contents":[{"uri":"odd://KEY/note","blob":"*"}]}`),
		"a resource of null":                     read(`{"contents":[{"uri":"odd://KEY/note","text":null}]}`),
		"a resource with null for a type":        read(`{"contents":[{"uri":"odd://KEY/note","text":"a","mimeType":null}]}`),
		"an object for contents":                 read(`{"contents":{"uri":"odd://KEY/note","text":"a"}}`),
		"a resource with more":                   read(`{"contents":[{"uri":"odd://KEY/note","text":"a","x":1,"_meta":{"y":2}}],"x":1}`),
	}
}

// stdioQuirks are of lines.
func stdioQuirks() map[string]quirk {
	written := func(write func(w io.Writer, message string)) quirk { return quirk{on: overStdio, write: write} }
	text := func(format string) quirk {
		return written(func(w io.Writer, message string) {
			_, _ = io.WriteString(w, strings.Replace(format, "MESSAGE", message, 1))
		})
	}
	opening := func(said string) quirk {
		return quirk{on: overStdio, opens: func(c *conn) { c.raw(said) }}
	}
	return map[string]quirk{
		"a carriage return before each line feed": text("MESSAGE\r\n"),
		"blank lines":                            text("\n\nMESSAGE\n \n\t\n"),
		"a log line before each":                 text("[info] about to answer\nMESSAGE\n"),
		"a log line after each":                  text("MESSAGE\nDone in 3 ms: {ok}\n"),
		"log lines that are JSON":                text(`{"level":30,"time":1,"msg":"x"}` + "\nMESSAGE\n"),
		"log lines with an id":                   text(`{"level":30,"id":1,"msg":"x"}` + "\n" + `{"id":2}` + "\nMESSAGE\n"),
		"log lines with a method":                text(`{"level":30,"method":"GET","id":1,"url":"x"}` + "\nMESSAGE\n"),
		"values that are no message":             text("null\ntrue\n42\n\"text\"\n[]\n[1,2]\nMESSAGE\n"),
		"a batch that says nothing":              text(`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}]` + "\nMESSAGE\n"),
		"an answer in a batch":                   text("[MESSAGE]\n"),
		"a log line in front of a message":       text("INFO MESSAGE\n"),
		"a word after a message":                 text("MESSAGE ok\n"),
		"two messages in a line":                 text("MESSAGE{}\n"),
		"colours":                                text("\x1b[32mready\x1b[0m\nMESSAGE\n"),
		"a bar of progress":                      text("10%\r50%\r100%\nMESSAGE\n"),
		"bytes that mean nothing":                text("\x00\x01\xff\xfe\nMESSAGE\n"),
		"a line of half a message":               text(`{"jsonrpc":"2.0","id":` + "\nMESSAGE\n"),
		"a line of 1 MB":                         text(strings.Repeat("noise ", 1<<18) + "\nMESSAGE\n"),
		"a banner":                               opening("Server 1.0 running on stdio\n"),
		"a banner with a mark of the byte order": opening("\ufeffServer 1.0\n"),
		"a banner of boxes":                      opening("╭────╮\n│ ok │\n╰────╯\n\n"),
		"a banner in UTF-16":                     opening("\xff\xfeS\x00e\x00r\x00\n\x00\n"),
		"a notification before anything":         opening(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"up"}}` + "\n"),
		"a change before anything":               opening(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"),
		"a question before anything":             opening(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}` + "\n"),
		"a ping before anything":                 opening(`{"jsonrpc":"2.0","id":0,"method":"ping"}` + "\n"),
		"an answer before anything":              opening(`{"jsonrpc":"2.0","id":0,"result":{}}` + "\n"),
		"an answer in pieces": written(func(w io.Writer, message string) {
			for _, piece := range []string{message[:1], message[1 : len(message)/2], message[len(message)/2:], "\n"} {
				_, _ = io.WriteString(w, piece)
				<-time.After(2 * time.Millisecond)
			}
		}),
		"a line feed that comes late": written(func(w io.Writer, message string) {
			_, _ = io.WriteString(w, message)
			<-time.After(20 * time.Millisecond)
			_, _ = io.WriteString(w, "\n")
		}),
		"JSON over lines": written(func(w io.Writer, message string) {
			_, _ = io.WriteString(w, strings.Replace(message, `,"id"`, ",\n\"id\"", 1)+"\n")
		}),
	}
}

// raw writes bytes to stdout.
func (c *conn) raw(text string) { _, _ = io.WriteString(c.out, text) }

// httpQuirks are of HTTP.
func httpQuirks() map[string]quirk {
	answered := func(answer func(w http.ResponseWriter, r *http.Request, message string)) quirk {
		return quirk{on: overHTTP, answer: answer}
	}
	typed := func(contentType string) quirk {
		return answered(func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header()["Content-Type"] = []string{contentType}
			_, _ = io.WriteString(w, message)
		})
	}
	body := func(format string) quirk {
		return answered(func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.Replace(format, "MESSAGE", message, 1))
		})
	}
	events := func(format string) quirk {
		return answered(func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, strings.Replace(format, "MESSAGE", message, 1))
		})
	}
	status := func(code int, more string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			if more != "" {
				w.Header().Set("Content-Type", "application/json")
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, more)
		}
	}
	notified := func(code int, more string) quirk { return quirk{on: overHTTP, notified: status(code, more)} }
	page := func(code int, contentType, text string) func(*conn, http.ResponseWriter, *http.Request) {
		return func(_ *conn, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
		}
	}
	get := func(code int, contentType, text string) quirk {
		return quirk{on: overHTTP, get: page(code, contentType, text)}
	}
	end := func(code int) quirk { return quirk{on: overHTTP, end: page(code, "text/plain", "")} }
	named := func(headers func(c *conn, w http.ResponseWriter, r *http.Request)) quirk {
		return quirk{on: overHTTP, headers: headers}
	}
	posted := func(do func(c *conn, w http.ResponseWriter, r *http.Request, b []byte) bool) quirk {
		return quirk{on: overHTTP, posted: do}
	}
	note := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`
	waiting := func(w http.ResponseWriter, text string, message string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			_, _ = io.WriteString(w, text)
			w.(http.Flusher).Flush()
			<-time.After(100 * time.Millisecond)
		}
		_, _ = io.WriteString(w, "data: "+message+"\n\n")
	}
	return map[string]quirk{
		"a charset":                         typed("application/json; charset=utf-8"),
		"a content type in capitals":        typed("Application/JSON"),
		"a content type with blanks":        typed("application/json ; charset=\"utf-8\""),
		"a content type with a suffix":      typed("application/vnd.mcp+json"),
		"plain text":                        typed("text/plain"),
		"no content type":                   typed(""),
		"two content types":                 typed("application/json, application/json"),
		"white space around a body":         body("\r\n\n  MESSAGE\n\n"),
		"a body in a batch":                 body("[MESSAGE]"),
		"a body in a batch with more":       body("[" + note + ",MESSAGE]"),
		"a body after a batch of nothing":   body("[MESSAGE,{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}]"),
		"an empty body":                     body(""),
		"two bodies":                        body("MESSAGE\nMESSAGE"),
		"no answer in a body":               body(note),
		"a body for another":                body(`{"jsonrpc":"2.0","id":4711,"result":{}}`),
		"events without a name":             events("data: MESSAGE\n\n"),
		"an event of another name":          events("event: ping\ndata: {}\n\nevent: message\ndata: MESSAGE\n\n"),
		"an answer under another name":      events("event: response\ndata: MESSAGE\n\n"),
		"an event of an empty name":         events("event:\ndata: MESSAGE\n\n"),
		"events without blanks":             events("event:message\ndata:MESSAGE\n\n"),
		"events with blanks":                events("event: message \ndata:   MESSAGE  \n\n"),
		"events with a comment":             events(": hello\n\n:\n\nevent: message\n: between\ndata: MESSAGE\n\n"),
		"events with a pause":               events("retry: 5\nevent: message\ndata: MESSAGE\n\n"),
		"events with an odd pause":          events("retry: soon\nevent: message\ndata: MESSAGE\n\n"),
		"events with ids":                   events("id: 1\nevent: message\ndata: MESSAGE\n\n"),
		"events with odd ids":               events("id: a b/é\nevent: message\ndata: MESSAGE\n\n"),
		"events with an empty id":           events("id:\nevent: message\ndata: MESSAGE\n\n"),
		"events that begin with nothing":    events("id: 0\ndata:\n\nevent: message\ndata: MESSAGE\n\n"),
		"events with unknown fields":        events("x: y\nevent: message\nfoo\ndata: MESSAGE\n\n"),
		"events with carriage returns":      events("event: message\r\ndata: MESSAGE\r\n\r\n"),
		"events with a mark":                events("\ufeffevent: message\ndata: MESSAGE\n\n"),
		"events with more after the answer": events("data: MESSAGE\n\ndata: " + note + "\n\n: bye\n\n"),
		"events that are no JSON":           events("data: [DONE]\n\ndata: MESSAGE\n\ndata: [DONE]\n\n"),
		"events without an end":             events("event: message\ndata: MESSAGE"),
		"events with one line feed":         events("event: message\ndata: MESSAGE\n"),
		"an event of a batch":               events("data: [MESSAGE]\n\n"),
		"an event for another":              events("data: {\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}\n\ndata: MESSAGE\n\n"),
		"events with nothing in them":       events(": none\n\n"),
		"an event over lines": answered(func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = io.WriteString(w, "event: message\ndata: "+strings.Replace(message, `,"id"`, ",\ndata: \"id\"", 1)+"\n\n")
		}),
		"JSON over lines, in a body": answered(func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.Replace(message, `,"id"`, ",\r\n  \"id\"", 1)+"\n")
		}),
		"a pause with comments": answered(func(w http.ResponseWriter, _ *http.Request, message string) { waiting(w, ": wait\n\n", message) }),
		"a pause with pings": answered(func(w http.ResponseWriter, _ *http.Request, message string) {
			waiting(w, "event: ping\ndata: {}\n\n", message)
		}),
		"a stream that stays open": answered(func(w http.ResponseWriter, r *http.Request, message string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: message\ndata: "+message+"\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}),
		"gzip": answered(func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = io.WriteString(z, message)
			_ = z.Close()
			_, _ = w.Write(b.Bytes())
		}),
		"gzip of events": answered(func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, "data: "+message+"\n\n")
			_ = z.Close()
		}),
		"in chunks": answered(func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header().Set("Content-Type", "application/json")
			for _, piece := range []string{message[:2], message[2 : len(message)/2], message[len(message)/2:]} {
				_, _ = io.WriteString(w, piece)
				w.(http.Flusher).Flush()
			}
		}),
		"a connection for each": answered(func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, message)
		}),
		"status 201": answered(func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, message)
		}),
		"status 400 for an error": {on: overHTTP, errors: map[string]string{"resources/templates/list": `{"code":-32601,"message":"no"}`}, answer: func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(message, `"error"`) {
				w.WriteHeader(http.StatusBadRequest)
			}
			_, _ = io.WriteString(w, message)
		}},
		"status 500 for an error": {on: overHTTP, errors: map[string]string{"prompts/list": `{"code":-32603,"message":"no"}`}, answer: func(w http.ResponseWriter, _ *http.Request, message string) {
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(message, `"error"`) {
				w.WriteHeader(http.StatusInternalServerError)
			}
			_, _ = io.WriteString(w, message)
		}},

		"a notification: 200":             notified(200, ""),
		"a notification: 200 and {}":      notified(200, "{}"),
		"a notification: 200 and null":    notified(200, "null"),
		"a notification: 200 and ok":      notified(200, `{"status":"ok"}`),
		"a notification: 200 and result":  notified(200, `{"jsonrpc":"2.0","id":null,"result":{}}`),
		"a notification: 202 and {}":      notified(202, "{}"),
		"a notification: 202 and a word":  notified(202, `"Accepted"`),
		"a notification: 204":             notified(204, ""),
		"a notification: 400":             notified(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no id"}}`),
		"a notification: 404":             notified(404, ""),
		"a notification: 405":             notified(405, ""),
		"a notification: 500":             notified(500, ""),
		"a notification: 501":             notified(501, ""),
		"a notification: an empty stream": {on: overHTTP, notified: func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }},
		"GET: 404":                        get(404, "text/plain", "not found"),
		"GET: 400":                        get(400, "application/json", `{"error":"bad request"}`),
		"GET: 401":                        get(401, "text/plain", ""),
		"GET: 406":                        get(406, "text/plain", ""),
		"GET: 500":                        get(500, "text/html", "<html>"),
		"GET: 501":                        get(501, "text/plain", ""),
		"GET: a page":                     get(200, "text/html", "<html>hello</html>"),
		"GET: JSON":                       get(200, "application/json", `{"status":"ok"}`),
		"GET: 204":                        get(204, "text/plain", ""),
		"DELETE: 404":                     end(404),
		"DELETE: 500":                     end(500),
		"DELETE: 501":                     end(501),
		"DELETE: 200":                     end(200),
		"GET: a stream that says nothing": {on: overHTTP, get: func(_ *conn, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
		"GET: no answer": {on: overHTTP, get: func(_ *conn, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"answers on the stream of GET": {on: overHTTP,
			get: func(c *conn, w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.(http.Flusher).Flush()
				for {
					select {
					case m := <-c.told:
						_, _ = io.WriteString(w, "data: "+m+"\n\n")
						w.(http.Flusher).Flush()
					case <-r.Context().Done():
						return
					}
				}
			},
			posted: func(c *conn, w http.ResponseWriter, _ *http.Request, b []byte) bool {
				if isMethod(b, "initialize") || !bytes.Contains(b, []byte(`"id"`)) {
					return false
				}
				c.told <- c.read(b).answer()
				w.WriteHeader(http.StatusAccepted)
				return true
			}},

		"no session": named(func(*conn, http.ResponseWriter, *http.Request) {}),
		"a session of any kind": named(func(_ *conn, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Mcp-Session-Id", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~")
		}),
		"a session in each": named(func(c *conn, w http.ResponseWriter, _ *http.Request) { w.Header().Set("Mcp-Session-Id", c.name) }),
		"a session of 2 KB": named(func(_ *conn, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Mcp-Session-Id", strings.Repeat("s", 2048))
		}),
		"an empty session": named(func(_ *conn, w http.ResponseWriter, _ *http.Request) { w.Header().Set("Mcp-Session-Id", "") }),
		"a header in lower case": named(func(_ *conn, w http.ResponseWriter, _ *http.Request) {
			w.Header()["mcp-session-id"] = []string{"lower"}
		}),
		"a cookie": named(func(_ *conn, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Set-Cookie", "sticky=1; Path=/")
		}),
		"needs what it accepts": posted(func(_ *conn, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			accepts := strings.Join(r.Header.Values("Accept"), ",")
			return refuse(w, !strings.Contains(accepts, "application/json") || !strings.Contains(accepts, "text/event-stream"), http.StatusNotAcceptable)
		}),
		"needs a content type": posted(func(_ *conn, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			return refuse(w, !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"), http.StatusUnsupportedMediaType)
		}),
		"needs its session": posted(func(c *conn, w http.ResponseWriter, r *http.Request, b []byte) bool {
			return refuse(w, !isMethod(b, "initialize", "server/discover") && r.Header.Get("Mcp-Session-Id") == "", http.StatusBadRequest)
		}),
		"needs the version in a header": posted(func(_ *conn, w http.ResponseWriter, r *http.Request, b []byte) bool {
			return refuse(w, !isMethod(b, "initialize") && r.Header.Get("Mcp-Protocol-Version") == "", http.StatusBadRequest)
		}),
		"needs no origin": posted(func(_ *conn, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			return refuse(w, r.Header.Get("Origin") != "", http.StatusForbidden)
		}),
		"needs the length": posted(func(_ *conn, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			return refuse(w, r.ContentLength <= 0, http.StatusLengthRequired)
		}),
		"takes no batch": posted(func(_ *conn, w http.ResponseWriter, _ *http.Request, b []byte) bool {
			return refuse(w, bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")), http.StatusBadRequest)
		}),
		"takes only what it knows, and says 404": posted(func(c *conn, w http.ResponseWriter, _ *http.Request, b []byte) bool {
			return refuse(w, isMethod(b, "server/discover"), http.StatusNotFound)
		}),
		"takes only what it knows, and says 500": posted(func(c *conn, w http.ResponseWriter, _ *http.Request, b []byte) bool {
			return refuse(w, isMethod(b, "server/discover"), http.StatusInternalServerError)
		}),
		"a redirection in place: 307": posted(func(_ *conn, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if r.URL.Path != "/mcp" {
				return false
			}
			http.Redirect(w, r, "/there/mcp/", http.StatusTemporaryRedirect)
			return true
		}),
		"a redirection for ever: 308": posted(func(_ *conn, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if r.URL.Path != "/mcp" {
				return false
			}
			http.Redirect(w, r, "/mcp/", http.StatusPermanentRedirect)
			return true
		}),
		"hints before the answer": posted(func(_ *conn, w http.ResponseWriter, _ *http.Request, _ []byte) bool {
			w.Header().Set("Link", "</x>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("Link")
			return false
		}),
		"an answer that breaks off once": posted(func(c *conn, w http.ResponseWriter, _ *http.Request, b []byte) bool {
			if !isMethod(b, "tools/list") || c.count() > 0 {
				return false
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}),
	}
}

// refuse answers with a status if something is so.
func refuse(w http.ResponseWriter, is bool, status int) bool {
	if is {
		w.WriteHeader(status)
	}
	return is
}
