package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// tools gives the entries of tools/list, raw.
func (s *server) tools() []string {
	entries := append([]string{}, honestTools...)
	if s.habits.badSchema {
		entries = append(entries, badTools...)
	}
	if s.habits.nullable {
		entries = append(entries, `{"name":"echo_nullable","description":"Its schema allows null.","inputSchema":{"type":["object","null"]}}`)
	}
	if s.habits.hostile != "" {
		said := string(unhex(s.habits.hostile))
		for _, name := range []string{"hostile", "hostile" + said} {
			entry, _ := json.Marshal(map[string]any{"name": name, "title": said, "description": said, "inputSchema": map[string]any{"type": "object", "description": said}})
			entries = append(entries, string(entry))
		}
	}
	if s.habits.tasks {
		entries = append(entries, `{"name":"task","description":"Can be a task.","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}`)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.added {
		entries = append(entries, fmt.Sprintf(`{"name":%s,"description":"added while running","inputSchema":{"type":"object"}}`, strconv.Quote(name)))
	}
	if s.set != "" {
		entries = append(entries, s.set)
	}
	return entries
}

func join(entries []string) string { return strings.Join(entries, ",") }

// simple returns a tool that takes whatever it is given.
func simple(name, description string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, description)
}

// honestTools are in no order and hold what typed libraries lose: members they do not know, the order of properties, schema
// words at the root, numbers above 2^53.
var honestTools = []string{
	simple("whoami", "Says how this process was started."),
	`{"name":"echo","description":"Gives its arguments back.","inputSchema":{"type":"object","properties":{` +
		`"text":{"type":"string"},"path":{"type":"string"},"paths":{"type":"array","items":{"type":"string"}},"n":{"type":"number"}}}}`,
	simple("odd", "Answers with what no library expects."),
	richTool, richDraft07Tool,
	simple("ask_roots", "Asks its client for the roots and tells the answer."),
	`{"name":"sleep","description":"Answers late.","inputSchema":{"type":"object","properties":{"ms":{"type":"integer","minimum":0}},"required":["ms"]}}`,
	simple("crash", "Ends the process while the call is under way."),
	simple("progress", "Tells of its progress."),
	simple("big", "Answers with so many bytes."),
	simple("flood", "Floods stderr."),
	simple("add_tool", "Adds a tool and says so."),
	simple("reflect", "Gives the params of its call back."),
	simple("say", "Answers as it is told."),
	simple("ask", "Asks its client what it is told and tells the answer."),
	simple("set_tools", "Adds entries to its list as it is told."),
}

const richTool = `{"x-before":{"b":2,"a":1},"name":"rich","title":"R\u00efch \"tool\"","description":"Everything at once: \ud83d\ude00 \u2028.",` +
	`"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/rich.json","title":"root title",` +
	`"description":"root description","type":"object","properties":{"zeta":{"$ref":"#/$defs/z"},"alpha":{"type":["string","null"],"default":null,` +
	`"examples":["a"]},"count":{"type":"integer","maximum":9007199254740993,"multipleOf":1e0}},"required":["zeta"],"additionalProperties":true,` +
	`"patternProperties":{"^x-":{"type":"string"}},"propertyNames":{"maxLength":64},"minProperties":1,"maxProperties":9007199254740993,` +
	`"dependentRequired":{"count":["zeta"]},"oneOf":[{"required":["zeta"]},{"required":["never"]}],"anyOf":[true],"allOf":[{}],` +
	`"not":{"required":["forbidden"]},"if":{"required":["alpha"]},"then":{"minProperties":1},"else":true,"x-vendor":{"keep":[1,2.50,1E+2]},` +
	`"$defs":{"z":{"enum":["z1","z2",9007199254740993]}},"examples":[{"zeta":"z1"}]},` +
	`"outputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","oneOf":[{"required":["zeta"]},{"$ref":"#/$defs/o"}],` +
	`"$defs":{"o":{"type":"object","required":["other"]}}},` +
	`"annotations":{"title":"an annotation","readOnlyHint":true,"x-hint":{"n":9007199254740993}},` +
	`"icons":[{"src":"data:image/png;base64,AA==","mimeType":"image/png","sizes":["48x48"],"theme":"dark","x-icon":1}],` +
	`"execution":{"taskSupport":"forbidden","x-execution":[]},"_meta":{"example.com/n":18446744073709551616,"b":{"z":1,"a":2}},"x-after":[null]}`

const richDraft07Tool = `{"name":"rich_draft07","description":"The older dialect.","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#",` +
	`"type":"object","properties":{"mode":{"$ref":"#/definitions/mode"},"name":{"type":"string","pattern":"^(?!con$)[a-z]+$"}},"definitions":{"mode":{"type":"string","enum":["a","b"]}},` +
	`"dependencies":{"mode":["name"]},"additionalProperties":false},"_meta":{}}`

// badTools hold schemas that must not be used: one that would read a local file, one that would ask the network, one that is
// no schema. A hub offers these tools without the check.
var badTools = []string{
	`{"name":"reads_a_file","description":"$ref to a file.","inputSchema":{"type":"object","properties":{"a":{"$ref":"file:///etc/hostname"}}}}`,
	`{"name":"asks_the_network","description":"$ref to a host.","inputSchema":{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:9/schema.json"}}}}`,
	`{"name":"no_schema","description":"Not a schema.","inputSchema":{"type":"object","properties":{"a":{"type":"strnig"}}}}`,
}

// oddResult is a tool result with all that must survive a relay: unknown content types and members, numbers that no float64
// holds, lone surrogates, names given twice, blanks.
const oddResult = `{"x-first":true,"content":[{"type":"text","text":"a \ud83d lone \udc00 surrogate","annotations":{"priority":0.1234567890123456789,"x":1}},` +
	`{"type":"hologram","layers":[9007199254740993,-0,1E+2],"deep":{"x":{}}},{"type":"text","text":"twice","dup":1,"dup":2},` +
	`{"type":"resource_link","uri":"x://y","name":"n","icons":[{"src":"data:,","x":1}],"size":9007199254740993}, {} ,7,null],` +
	`"structuredContent":{"z":123456789012345678901234567890,"a":[1.0,1.50,1e-7],"\u006b":"\u0041\/"},"isError":false,` +
	`"_meta":{"example.com/n":18446744073709551616,"b":{"z":1,"a":2}},"x-last":[ 1 , 2 ]}`

const oddError = `{"code":-32050,"message":"quota \ud83d","data":{"left":9007199254740993,"z":1,"a":[2]},"x-member":true}`
