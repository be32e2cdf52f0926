package tolerance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// lists are the lists of the protocol, by the member that holds each.
var lists = []string{"tools", "prompts", "resources", "resourceTemplates"}

// kinds are the names of their entries in the schemas of the protocol.
var kinds = map[string]string{"tools": "Tool", "prompts": "Prompt", "resources": "Resource", "resourceTemplates": "ResourceTemplate"}

// brokenDefinitions are definitions that servers have, of each list. KIND-N is the name of each.
var brokenDefinitions = map[string][]string{
	"tools": {
		`{"name":"NAME"}`,
		`{"name":"NAME","inputSchema":null}`,
		`{"name":"NAME","inputSchema":{}}`,
		`{"name":"NAME","inputSchema":{"properties":{"a":{"type":"string"}}}}`,
		`{"name":"NAME","inputSchema":{"anyOf":[{"type":"object"},{"type":"object","required":["a"]}]}}`,
		`{"name":"NAME","inputSchema":{"type":["object","null"]}}`,
		`{"name":"NAME","inputSchema":{"type":"OBJECT"}}`,
		`{"name":"NAME","inputSchema":{"type":"string"}}`,
		`{"name":"NAME","inputSchema":true}`,
		`{"name":"NAME","inputSchema":{"type":"object","properties":[]}}`,
		`{"name":"NAME","inputSchema":{"type":"object","properties":null}}`,
		`{"name":"NAME","inputSchema":{"type":"object","properties":{"a":"string"}}}`,
		`{"name":"NAME","inputSchema":{"type":"object","properties":{"a":true}}}`,
		`{"name":"NAME","inputSchema":{"type":"object","required":null}}`,
		`{"name":"NAME","inputSchema":{"type":"object","required":true}}`,
		`{"name":"NAME","description":null,"inputSchema":{"type":"object"}}`,
		`{"name":"NAME","description":["a","b"],"inputSchema":{"type":"object"}}`,
		`{"name":"NAME","title":null,"inputSchema":{"type":"object"}}`,
		`{"name":"NAME","annotations":null,"inputSchema":{"type":"object"}}`,
		`{"name":"NAME","annotations":{"readOnlyHint":"true","destructiveHint":"false"},"inputSchema":{"type":"object"}}`,
		`{"name":"NAME","outputSchema":{},"inputSchema":{"type":"object"}}`,
		`{"name":"NAME","outputSchema":null,"inputSchema":{"type":"object"}}`,
		`{"name":"NAME","outputSchema":{"type":"array","items":{"type":"string"}},"inputSchema":{"type":"object"}}`,
		`{"name":"NAME","_meta":null,"inputSchema":{"type":"object"}}`,
	},
	"prompts": {
		`{"name":"NAME","arguments":null}`,
		`{"name":"NAME","arguments":{}}`,
		`{"name":"NAME","arguments":[{"name":"a","required":"true"}]}`,
		`{"name":"NAME","arguments":[{"description":"no name"}]}`,
		`{"name":"NAME","description":null}`,
		`{"name":"NAME","_meta":null}`,
	},
	"resources": {
		`{"uri":"broken://NAME","name":"n","size":"12"}`,
		`{"uri":"broken://NAME","name":"n","size":"about 12"}`,
		`{"uri":"broken://NAME","name":"n","mimeType":null}`,
		`{"uri":"broken://NAME","name":"n","annotations":null}`,
		`{"uri":"broken://NAME","name":"n","annotations":{"priority":5}}`,
		`{"uri":"broken://NAME","name":"n","annotations":{"audience":"user"}}`,
		`{"uri":"broken://NAME"}`,
	},
	"resourceTemplates": {
		`{"uriTemplate":"broken://NAME/{a}","name":"n","mimeType":null}`,
		`{"uriTemplate":"broken://NAME/{a}","name":"n","description":null}`,
		`{"uriTemplate":"broken://NAME/{a}"}`,
		`{"uriTemplate":"broken://NAME/{a}","name":"n","_meta":[1]}`,
	},
}

// A reader is reads.mjs: the official clients.
type reader struct {
	t   testing.TB
	in  io.Writer
	out *bufio.Reader
}

// clients are the clients of reads.mjs.
var clients = []string{"v1", "v2", "modern"}

func startReader(t testing.TB, w *world.World, n world.Node) *reader {
	t.Helper()
	cmd := exec.Command(n.Program, world.Source("e2e", "tolerance", "reads.mjs"))
	cmd.Env, cmd.Stderr = w.Env(), os.Stderr
	in, out := world.Converse(t, cmd)
	return &reader{t, in, bufio.NewReaderSize(out, 1<<20)}
}

func (r *reader) ask(question obj, answer any) {
	r.t.Helper()
	_, err := fmt.Fprintln(r.in, world.Raw(r.t, question))
	world.Must(r.t, err)
	line, err := r.out.ReadBytes('\n')
	world.Must(r.t, err)
	world.Must(r.t, json.Unmarshal(line, answer))
}

// alone returns what each client says about a list that holds one of the definitions alone; "": it reads it.
func (r *reader) alone(list string, entries []string) map[string][]string {
	r.t.Helper()
	all := map[string][]string{}
	r.ask(obj{"list": list, "entries": entries, "each": true}, &all)
	return all
}

// whole returns what each client says about a list that holds all of them.
func (r *reader) whole(list string, entries []string) map[string]string {
	r.t.Helper()
	var all map[string][]string
	r.ask(obj{"list": list, "entries": entries}, &all)
	said := map[string]string{}
	for client, verdict := range all {
		said[client] = verdict[0]
	}
	return said
}

// serving returns the entry of a server that lists these definitions.
func serving(w *world.World, n world.Node, name string, given map[string][]string) obj {
	return obj{"command": n.Program, "args": []string{world.Source("e2e", "tolerance", "lists.mjs"), w.Write(name+".json", world.Raw(w.T, given))}, "sandbox": "off"}
}

// Each kind of broken definition costs nothing but itself: with all of them in one server, every client of either era lists what another
// server has, what was mended, and what is left out is named with the member. Control: without the hub each client reads none of those lists.
func TestBrokenDefinitionsHarmNoOtherServer(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	r := startReader(t, w, n)
	broken, names := map[string][]string{}, map[string][]string{}
	kinds := 0
	for _, list := range lists {
		for i, def := range brokenDefinitions[list] {
			name := fmt.Sprintf("%s-%d", strings.ToLower(list), i)
			broken[list], names[list] = append(broken[list], strings.Replace(def, "NAME", name, 1)), append(names[list], name)
			kinds++
		}
		said := r.alone(list, broken[list])
		for i, def := range broken[list] {
			if said["v1"][i] == "" && said["v2"][i] == "" && said["modern"][i] == "" {
				t.Errorf("control: each client reads %s", def)
			}
		}
	}
	if kinds != 41 {
		t.Errorf("%d kinds of broken definitions, want 41", kinds)
	}
	good := map[string][]string{
		"tools": {`{"name":"ok","inputSchema":{"type":"object"}}`}, "prompts": {`{"name":"ok"}`},
		"resources": {`{"uri":"good://ok","name":"n"}`}, "resourceTemplates": {`{"uriTemplate":"good://ok/{a}","name":"n"}`},
	}
	goodName := map[string]string{"tools": "good__ok", "prompts": "good__ok", "resources": "good://ok", "resourceTemplates": "good://ok/{a}"}

	var direct map[string]map[string]json.RawMessage
	entry := serving(w, n, "broken", broken)
	r.ask(obj{"command": entry["command"], "args": entry["args"], "env": environment(w), "cwd": w.Home, "until": []string{}}, &direct)
	for client, said := range direct {
		for list, of := range said {
			if of[0] != '"' {
				t.Errorf("control: %s reads the %s of the server itself: %s", client, list, of)
			}
		}
	}

	config := w.Config(obj{"broken": entry, "good": serving(w, n, "good", good)}, obj{"expose": "direct"})
	s := w.Serve(config, nil)
	s.Odd = true // the definitions are judged by the clients here
	s.Handshake()
	s.AwaitTool("broken__tools-3")
	var report struct {
		Servers []struct {
			Name               string
			NotOffered, Mended []struct{ Tool, Reason string }
		}
	}
	world.Must(t, json.Unmarshal([]byte(s.MustCall("list-tools", `{"serverName":"broken"}`).Text), &report))
	of := report.Servers[0]
	var through map[string]map[string][]string
	r.ask(obj{"command": world.Hub(t), "args": []string{"serve", "--config", config}, "env": environment(w), "cwd": w.Home,
		"until": []string{"good__ok", "broken__tools-3"}}, &through)
	for client, said := range through {
		for _, list := range lists {
			if !slices.Contains(said[list], goodName[list]) {
				t.Errorf("%s does not list %s of the good server: %q", client, goodName[list], said[list])
			}
			for i, name := range names[list] {
				named := func(all []struct{ Tool, Reason string }) bool {
					return slices.ContainsFunc(all, func(o struct{ Tool, Reason string }) bool {
						return strings.Contains(o.Tool+" ", name+" ") || strings.HasSuffix(strings.TrimSuffix(o.Tool, "/{a}"), name)
					})
				}
				listed := slices.ContainsFunc(said[list], func(n string) bool { return strings.HasSuffix(strings.TrimSuffix(n, "/{a}"), name) })
				switch leftOut := named(of.NotOffered); {
				case leftOut && listed, !leftOut && !named(of.Mended), client == "modern" && !leftOut && !listed:
					t.Errorf("%s, %s: listed %t, left out %t, mended %t", client, broken[list][i], listed, leftOut, named(of.Mended))
				}
			}
		}
	}
	if len(of.NotOffered) == 0 || len(of.NotOffered) > 15 {
		t.Errorf("%d are left out: %+v", len(of.NotOffered), of.NotOffered)
	}
}

// environment returns the environment of a program which a client starts.
func environment(w *world.World) obj {
	vars := obj{}
	for _, v := range w.Env() {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	return vars
}

// Whatever a server defines, all clients read what the hub offers of it. What is valid in the protocol and they read without the hub, they get byte
// for byte, but for the name.
// The definitions are drawn by the protocol's own schema, with mistakes in them.
func TestWhateverIsDefinedIsRead(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	r := startReader(t, w, n)
	const batch = 1000
	cases := world.LongCases(t, 250, 10_000)
	random := seeds.Rand(t)
	schemas, valid := protocolSchemas(t)
	servers, given, direct := obj{}, map[string]map[string][]string{}, map[string]map[string]map[string][]string{}
	for from := 0; from < cases; from += batch {
		server := fmt.Sprintf("s%d", from/batch)
		given[server], direct[server] = map[string][]string{}, map[string]map[string][]string{}
		for i := from; i < min(from+batch, cases); i++ {
			list := lists[i%len(lists)]
			d := &drawer{random, schemas[i/len(lists)%2], fmt.Sprintf("d-%s-%d-", server, len(given[server][list]))}
			given[server][list] = append(given[server][list], d.definition(list))
		}
		for _, list := range lists {
			direct[server][list] = r.alone(list, given[server][list])
		}
		servers[server] = serving(w, n, server, given[server])
	}
	config := w.Config(servers, obj{"expose": "direct"})
	kept, mended, dropped := 0, 0, 0
	for _, modern := range []bool{false, true} {
		s := w.Serve(config, nil)
		s.Odd = true // the definitions are judged by the clients here
		params := obj{}
		readers := []string{"v1", "v2"}
		if modern {
			params["_meta"] = obj{"io.modelcontextprotocol/protocolVersion": world.ModernVersion, "io.modelcontextprotocol/clientCapabilities": obj{}}
			readers = []string{"modern"}
		} else {
			s.Handshake()
		}
		for _, list := range lists {
			var offered []json.RawMessage
			if !world.Within(world.WaitLimit, func() bool {
				offered = everyPage(t, s, params, list)
				for server := range servers {
					if !slices.ContainsFunc(offered, func(entry json.RawMessage) bool { return strings.Contains(string(entry), "d-"+server+"-") }) {
						return false // it is still starting
					}
				}
				return true
			}) {
				t.Fatalf("some server has no %s", list)
			}
			entries := make([]string, len(offered))
			byName := map[string]string{}
			for i, entry := range offered {
				entries[i] = string(entry)
				byName[keyOf(entry)] = string(entry)
			}
			said := r.whole(list, entries)
			for _, client := range readers {
				if said[client] != "" {
					t.Errorf("%s does not read the %s that the hub offers: %.2000s", client, list, said[client])
				}
			}
			for server := range servers {
				for i, def := range given[server][list] {
					want := def
					if list == "tools" || list == "prompts" {
						want = strings.Replace(def, `"name":"d-`, `"name":"`+server+`__d-`, 1)
					}
					got := byName[keyOf([]byte(want))]
					reads := goReads(list, def) && !slices.ContainsFunc(clients, func(c string) bool { return direct[server][list][c][i] != "" })
					switch {
					case got == want:
						kept++
					case reads && valid(list, def):
						t.Errorf("modern %t, %s: %s\nis offered as %q", modern, list, def, got)
					case got == "":
						dropped++
					default:
						mended++
					}
				}
			}
		}
	}
	t.Logf("%d as they are, %d mended, %d left out", kept, mended, dropped)
	if kept < cases/4 || mended < cases/20 || dropped < cases/20 {
		t.Errorf("%d as they are, %d mended, %d left out: too little was tried", kept, mended, dropped)
	}
}

// Whatever a server gives for the schema of its results, v1 compiles what the hub offers of it. The schemas are drawn with mistakes in them. Control: the same
// schemas without the hub.
func TestWhateverIsDefinedOfResultsIsCompiled(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	r := startReader(t, w, n)
	d := &drawer{Rand: seeds.Rand(t)}
	const batch = 1000
	cases := world.LongCases(t, 400, 10_000)
	servers, direct := obj{}, map[string]string{}
	compiled := 0
	for from := 0; from < cases; from += batch {
		var defs []string
		for i := from; i < min(from+batch, cases); i++ {
			d.token = fmt.Sprint(i) // of two schemas with one identifier v1 compiles the first
			def := fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"%s`, i, strings.Replace(d.schema(0)+"}", "{", ",", 1))
			def = strings.Replace(def, ",}", "}", 1)
			defs, direct[fmt.Sprintf("kid%d__t%d", from, i)] = append(defs, def), def
		}
		for _, said := range r.alone("tools", defs)["v1"] {
			if said == "" {
				compiled++
			}
		}
		servers[fmt.Sprintf("kid%d", from)] = serving(w, n, fmt.Sprintf("kid%d", from), map[string][]string{"tools": defs})
	}
	s := w.Serve(w.Config(servers, obj{"expose": "direct"}), nil)
	s.Odd = true // the definitions are judged by the clients here
	s.Handshake()
	var offered []json.RawMessage
	if !world.Within(world.WaitLimit, func() bool {
		offered = slices.DeleteFunc(everyPage(t, s, obj{}, "tools"), func(entry json.RawMessage) bool { return direct[keyOf(entry)] == "" })
		return len(offered) == cases
	}) {
		t.Fatalf("%d of %d tools are offered", len(offered), cases)
	}
	var entries []string
	kept, without := 0, 0
	for _, entry := range offered {
		def := direct[keyOf(entry)]
		switch text := string(entry); {
		case text == strings.Replace(def, `"name":"`, `"name":"`+keyOf(entry)[:strings.Index(keyOf(entry), "t")], 1):
			kept++
		case !strings.Contains(text, "outputSchema"):
			without++
		}
		entries = append(entries, string(entry))
	}
	if said := r.whole("tools", entries)["v1"]; said != "" {
		for i, said := range r.alone("tools", entries)["v1"] {
			if said != "" {
				t.Errorf("v1 says %s of %s", said, entries[i])
			}
		}
		t.Errorf("v1 does not read the tools that the hub offers: %.2000s", said)
	}
	t.Logf("%d of %d compile without the hub; with it %d are as they are, and %d without the schema", compiled, cases, kept, without)
	if compiled < cases/10 || compiled > cases*9/10 || kept < compiled/3 || without > cases*9/10 {
		t.Errorf("%d of %d compile without the hub, %d are as they are, %d without the schema: too little was tried", compiled, cases, kept, without)
	}
}

// goReads reports whether the Go SDK reads a definition.
func goReads(list, def string) bool {
	entry := map[string]any{"tools": &gosdk.Tool{}, "prompts": &gosdk.Prompt{}, "resources": &gosdk.Resource{}, "resourceTemplates": &gosdk.ResourceTemplate{}}[list]
	return json.Unmarshal([]byte(def), entry) == nil
}

// parts are pieces of regular expressions.
var parts = []string{"a", "b", "b", "(", ")", ")", "(?:", "(?=", "(?<n>", "(?>", "(?i)", "[", "]", "]", "-", "^", "$", "*", "+", "?", "{1}", "{2,1}", "{", "}", "|", `\\d`, `\\b`, `\\1`, `\\k<n>`, `\\u{1F600}`, `\\ud83d`, `\\ude00`, `\\_`, `\\-`, `\\p{L}`,
	`\\p{IsGreek}`, ".", "é", `\ud800`, ":"}

// keys are names of properties and definitions, as they are in JSON.
var keys = []string{"a", "b", "b", "c d", "a/b", "~", "$id", "__proto__", "constructor", "properties", "type", "%", "é", `\ud800`, "1"}

// targets are references, as they are in JSON.
var targets = []string{"#", "#/$defs/a", "#/$defs/b", "#/$defs/c%20d", "#/$defs/c d", "#/$defs/a~1b", "#/$defs/~0", "#/$defs/a%2Fb", "#/$defs/%25", "#/$defs/é", "#/$defs/%C3%A9", "#/$defs/__proto__", "#/$defs/constructor", "#/$defs/$id", "#/$defs/\\ud800",
	"#/$defs/a/properties/b", "#/properties/a", "#/properties/type", "#/allOf/0", "#/items", "#/x-y", "#a", "x", "#/"}

// schema draws a schema of results, with some mistakes.
func (d *drawer) schema(level int) string {
	sub := func() string {
		if level > 3 || d.IntN(8) == 0 {
			return pick(d, []string{"{}", `{"type":"string"}`, "true", "false", `{"$ref":"` + pick(d, targets[:4]) + `"}`})
		}
		return d.schema(level + 1)
	}
	byName := func() string {
		var all []string
		for range 1 + d.IntN(2) {
			all = append(all, `"`+pick(d, keys)+`":`+sub())
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	text := func(from ...string) string { return `"` + pick(d, from) + `"` }
	expression := func() string {
		var b strings.Builder
		for range d.IntN(5) {
			b.WriteString(pick(d, parts))
		}
		return `"` + b.String() + `"`
	}
	var all []string
	for range 1 + d.IntN(3) {
		name, value := "", ""
		switch d.IntN(23) {
		case 0, 1, 2, 3:
			name, value = pick(d, []string{"properties", "properties", "$defs"}), byName()
		case 4:
			name, value = "$defs", `{"`+pick(d, keys)+`":`+sub()+`,"a":{"type":"string"},"b":{"properties":{"a":`+sub()+`}}}`
		case 5:
			name, value = pick(d, []string{"items", "not", "additionalProperties", "contains", "if", "then", "propertyNames", "x-y", "prefixItems"}), sub()
		case 6:
			name, value = pick(d, []string{"anyOf", "oneOf", "allOf", "items", "examples", "x-y"}), "["+sub()+"]"
		case 7, 8:
			name, value = "pattern", expression()
		case 9:
			name, value = "patternProperties", "{"+expression()+":"+sub()+"}"
		case 10, 11:
			name, value = "$ref", text(targets...)
		case 12:
			name, value = pick(d, []string{"$anchor", "id", "$dynamicAnchor", "$async", "formatMinimum", "$schema", "$comment"}), text("a", "b", "1 x")
		case 20:
			name, value = "$id", text("a-"+d.token, "https://example.com/"+d.token, "#a", "a#/%", "constructor")
		case 13:
			name, value = "nullable", pick(d, []string{"true", "false", "null", `"true"`})
		case 14:
			name, value = "type", pick(d, []string{`"string"`, `"null"`, `["string","null"]`, `["nul\u006c"]`, "[]", "null", `"any"`, `"STRING"`})
		case 15:
			name, value = pick(d, []string{"minimum", "maxLength", "multipleOf"}), pick(d, []string{"0", "1.5", "-1", `"1"`, "true", "null"})
		case 16:
			name, value = "enum", pick(d, []string{"[1]", "[null]", "[]", `"a"`, `[{"$id":"a"}]`})
		case 17:
			name, value = "dependencies", `{"`+pick(d, keys)+`":`+pick(d, []string{`["a"]`, "[]", "[1]", sub()})+"}"
		case 18:
			name, value = pick(d, []string{"format", "format", "title", "default", "const", "deprecated"}), text("date-time", "int32", "constructor", "x")
		case 19:
			name, value = "required", pick(d, []string{`["a"]`, "[]", "null", "true", `["a","a"]`})
		default:
			name, value = pick(d, []string{"description", "x-y"}), pick(d, []string{`"x"`, "{}", `{"$id":"a"}`, `{"$anchor":"a"}`, `{"type":"any"}`, "7"})
		}
		if level == 0 && name == "type" {
			continue
		}
		all = append(all, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(all, ",") + "}"
}

// with returns a copy of an object with more members.
func with(o, more obj) obj {
	all := obj{}
	for _, from := range []obj{o, more} {
		for name, value := range from {
			all[name] = value
		}
	}
	return all
}

// everyPage returns a list of the hub, each entry raw.
func everyPage(t *testing.T, s *world.Session, params obj, list string) (all []json.RawMessage) {
	t.Helper()
	method := map[string]string{"resourceTemplates": "resources/templates/list"}[list]
	if method == "" {
		method = list + "/list"
	}
	for {
		m := s.MustRequest(method, world.Raw(t, params))
		if m.Error != nil && params["cursor"] != nil {
			return nil // the list has changed since its first page
		}
		var page map[string]json.RawMessage
		world.Must(t, json.Unmarshal(m.Result, &page))
		var entries []json.RawMessage
		world.Must(t, json.Unmarshal(page[list], &entries))
		all = append(all, entries...)
		if page["nextCursor"] == nil {
			return all
		}
		params = with(params, obj{"cursor": page["nextCursor"]})
	}
}

// keyOf is by what an entry is known.
func keyOf(entry []byte) string {
	var of struct{ Name, URI, URITemplate any }
	_ = json.Unmarshal(entry, &of)
	for _, key := range []any{of.URI, of.URITemplate, of.Name} {
		if text, ok := key.(string); ok {
			return text
		}
	}
	return "none"
}

// A drawer makes definitions by the protocol's own schema, with mistakes in them.
type drawer struct {
	*rand.Rand

	schemas map[string]any // the $defs of one version
	token   string         // in the name and the URI of the definition
}

// odd are values that servers write instead of others.
var odd = []string{"null", "null", "null", "true", `"true"`, `"FALSE"`, "[]", "{}", "7", `"7"`, "1.5", "-1", `""`, `[""]`, `["object"]`, `{"a":null}`, "[null]", `"2025-01-12"`, `"OBJECT"`}

func pick[V any](d *drawer, from []V) V { return from[d.IntN(len(from))] }

// definition draws one; a half of them have a mistake.
func (d *drawer) definition(list string) string {
	text := d.value(d.schemas[kinds[list]].(map[string]any), "")
	return strings.Replace(`{"x-n":1.50,`+text[1:], ",}", "}", 1)
}

func (d *drawer) value(s map[string]any, at string) string {
	if at != "" && d.IntN(15) == 0 {
		if wrong := pick(d, odd); wrong[0] != '"' || at != "/name" && at != "/uri" && at != "/uriTemplate" { // which is how an entry is known
			return wrong
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		return d.value(d.schemas[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any), at)
	}
	switch {
	case at == "/name":
		return `"` + d.token + `"`
	case at == "/uri":
		return `"x://h/` + d.token + `"`
	case at == "/uriTemplate":
		return `"x://h/` + d.token + `/{a}"`
	case at == "/execution/taskSupport":
		return `"forbidden"` // the hub says itself which calls can be tasks
	case strings.HasSuffix(at, "/lastModified"):
		return `"2025-01-12T15:00:58Z"`
	case s["const"] != nil:
		return fmt.Sprintf("%q", s["const"])
	case s["enum"] != nil:
		return fmt.Sprintf("%q", pick(d, s["enum"].([]any)))
	case s["anyOf"] != nil:
		return d.value(pick(d, s["anyOf"].([]any)).(map[string]any), at)
	}
	switch s["type"] {
	case "object":
		return d.object(s, at)
	case "array":
		var all []string
		for range d.IntN(3) {
			all = append(all, d.value(s["items"].(map[string]any), at+"/-"))
		}
		return "[" + strings.Join(all, ",") + "]"
	case "boolean":
		return pick(d, []string{"true", "false"})
	case "integer", "number":
		return pick(d, []string{"0", "1", "1.0"})
	case "string":
		return pick(d, []string{`"x"`, `"a \u003cb>"`, `"Größe 1"`, `"image/png"`})
	}
	return pick(d, []string{"{}", `"x"`, "1.50", "true", `{"x":[1e2]}`})
}

func (d *drawer) object(s map[string]any, at string) string {
	members, _ := s["properties"].(map[string]any)
	needed, _ := s["required"].([]any)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		is, needs := members[name].(map[string]any), slices.Contains(needed, any(name))
		if needs && d.IntN(60) > 0 || !needs && d.IntN(3) == 0 {
			all = append(all, fmt.Sprintf("%q:%s", name, d.value(is, at+"/"+name)))
		}
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok && d.IntN(2) == 0 {
		all = append(all, `"x":`+d.value(more, at+"/x"))
	}
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return "{" + strings.Join(all, ",") + "}"
}

// protocolSchemas returns the definitions of each version, as the protocol publishes them, and what says whether an entry of a list is
// valid in all of them.
func protocolSchemas(t testing.TB) (all []map[string]any, valid func(list, def string) bool) {
	t.Helper()
	compiled := map[string][]*jsonschema.Schema{}
	for _, era := range world.Eras {
		text, err := os.ReadFile(world.Source("e2e", "spectest", "schema", era.Version+".json"))
		world.Must(t, err)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		world.Must(t, err)
		all = append(all, doc.(map[string]any)["$defs"].(map[string]any))
		c := jsonschema.NewCompiler()
		world.Must(t, c.AddResource("mem:"+era.Version, doc))
		for list, kind := range kinds {
			s, err := c.Compile("mem:" + era.Version + "#/$defs/" + kind)
			world.Must(t, err)
			compiled[list] = append(compiled[list], s)
		}
	}
	return all, func(list, def string) bool {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(def))
		world.Must(t, err)
		return !slices.ContainsFunc(compiled[list], func(s *jsonschema.Schema) bool { return s.Validate(v) != nil })
	}
}
