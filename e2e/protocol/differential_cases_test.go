package protocol

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mcphub/e2e/world"
)

// corpus returns every string that the tests of what is judged are made of: the tables of attacks and of honest calls, seeds of
// fuzz targets, what those have found. To take all of them, and not the tables by name, leaves out none that is added.
func corpus(t testing.TB) []string {
	t.Helper()
	return world.CorpusOf(t, "validate", "rootsmgr", "cmd/mcphub/internal/files", "validate/resource")
}

// hubJSON returns a hub.json with a server of every kind.
func hubJSON(w *world.World) obj {
	kid := w.Recorder("kid", "-era", "both")
	kid["env"].(obj)["RECORDER_WRAP"] = world.Raw(w.T, []string{world.Bin.Fixture})
	children := obj{"kid": kid, "files": obj{"builtin": "files"}}
	for _, role := range []string{"read", "write"} {
		child := w.Recorder(role, "-offers", "-tasks")
		child["paths"] = obj{"args": obj{"echo": obj{"/path": role, "/other_path": role}}}
		children[role] = child
	}
	return obj{"mcpServers": children}
}

func toolCall(kind, name, args string) step {
	return step{kind: kind, method: "tools/call", name: name, params: `"name":` + world.Quoted(name) + `,"arguments":` + args}
}

// edges are the calls before which every server is started, and behind which nothing is under way any more. The server that asks
// for roots by itself is started by a call with a path: whether its question comes before a call without one, or in it, is a
// matter of time.
var edges = []step{toolCall("tools/call", "read__echo", "{}"), toolCall("tools/call", "write__echo", "{}"), toolCall("tools/call", "kid__test_simple_text", "{}"),
	toolCall("tools/call", "files__read_text_file", `{"path":"hello.txt"}`), toolCall("tools/call", "files__list_allowed_directories", "{}"),
	toolCall("tools/call", "read__echo", `{"path":"hello.txt"}`), toolCall("tools/call", "write__echo", `{"path":"hello.txt"}`), toolCall("tools/call", "kid__takes_path", `{"path":"hello.txt"}`)}

// corpusPlan sends each text under several schemas.
func corpusPlan(w *world.World, i int, texts []string) plan {
	p := plan{way: ways[i%len(ways)], config: hubJSON(w), steps: slices.Clone(edges)}
	keys := []string{"command", "query", "config", "tmpl", "url", "content", "file", "cwd"}
	for n, text := range texts {
		text = world.Fill(w, text)
		value := world.Quoted(text)
		for _, c := range [][2]string{{"read__echo", `{"path":` + value + `}`}, {"read__reflect", `{"` + keys[n%len(keys)] + `":` + value + `}`},
			{"read__reflect", `{"files":{` + value + `:1}}`}, {"write__rich", `{"zeta":"z1","x-s":` + value + `}`},
			{"kid__takes_path", `{"path":` + value + `}`}, {"files__read_text_file", `{"path":` + value + `}`}} {
			p.steps = append(p.steps, toolCall("corpus", c[0], c[1]))
		}
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			p.steps = append(p.steps, toolCall("corpus, as arguments", "read__echo", world.OneLine(text)), toolCall("corpus, as arguments", "write__reflect", world.OneLine(text)))
		}
		p.steps = append(p.steps, step{kind: "corpus, as a URI", method: "resources/read", name: text, params: `"uri":` + value})
	}
	p.steps = append(p.steps, edges...)
	return p
}

// dice draws steps.
type dice struct {
	*rand.Rand
	w      *world.World
	texts  []string
	places []string
	modern bool
	asks   bool // the policy has a person asked
	ids    int
}

func randomPlan(w *world.World, rng *rand.Rand, i, n int, texts []string) plan {
	p := plan{way: ways[i%len(ways)], config: hubJSON(w), steps: slices.Clone(edges)}
	r := replayIn(w, rng)
	if rng.IntN(3) > 0 {
		p.config["policy"] = r.policy()
	}
	if rng.IntN(2) > 0 {
		p.config["audit"] = obj{"arguments": true}
	}
	d := &dice{rng, w, texts, r.places, p.way.modern(), strings.Contains(world.Raw(w.T, p.config), "escalate"), 0}
	for len(p.steps) < len(edges)+n {
		p.steps = append(p.steps, d.step())
	}
	p.steps = append(p.steps, edges...)
	return p
}

func pick[T any](d *dice, all ...T) T { return all[d.IntN(len(all))] }

func (d *dice) path() string {
	switch d.IntN(10) {
	case 0:
		return world.Fill(d.w, pick(d, d.texts...))
	case 1, 2:
		return pick(d, "/etc/passwd", "../outside/secret.txt", "~/outside/secret.txt", "file:///etc/passwd", "hello.txt", "./sub/deep.txt", "link-out/secret.txt", "link-file",
			"link-dangling", "", ".", "%2e%2e/outside", "sub/../../outside/secret.txt", "file://"+d.w.Project+"/hello.txt", "https://example.com/a", d.w.Path("hub.json"), d.w.Path("home", "state"))
	}
	return pick(d, d.places...)
}

// call draws a call of a tool: the server, the tool, the arguments.
func (d *dice) call() (child, tool, args string) {
	p := func() string { return world.Quoted(d.path()) }
	own := pick(d, "read", "read", "write")
	switch d.IntN(22) {
	case 0, 1, 2, 3:
		return own, "echo", `{"path":` + p() + `}`
	case 4:
		return own, "echo", `{"text":` + p() + `,"path":` + p() + `,"other_path":` + p() + `,"paths":[` + p() + `,` + p() + `],"n":1.50}`
	case 5:
		return own, "echo", pick(d, `{"text":7}`, `{"paths":["a",{"b":1}]}`, `{"path":"a","path":"/etc/passwd"}`, `{"text":"\ud83d lone"}`, `[]`, `null`, `7`, ` { "text" : "x" } `, `{"n":1e999}`,
			`{"path":"x","p\u0061th":"/etc/passwd"}`, "{\"text\":\"\xff\"}", `{"deep":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}`, `{`, `{"a":1}{}`)
	case 6:
		return own, "reflect", `{` + world.Quoted(pick(d, "command", "sql", "content", "query", "url", "args", "cwd", "uri", "pattern")) + `:` + p() + `,"directory":` + p() + `,"n":9007199254740993}`
	case 7:
		return own, pick(d, "rich", "rich_draft07"), pick(d, `{"zeta":"z1","x-s":`+p()+`}`, `{"zeta":"z1","alpha":`+p()+`}`, `{"mode":"a","name":"com"}`, `{"name":"con"}`, `{"zeta":"z3"}`, `{}`)
	case 8:
		return own, "odd", `{"kind":` + world.Quoted(pick(d, "utf8", "order", "escaped", "error", "")) + `}`
	case 9:
		return own, "ask_roots", `{}`
	case 10:
		question := pick(d, `"method":"sampling/createMessage","params":{"messages":[],"maxTokens":9}`, `"method":"no/such","params":{"x":1.50}`, `"method":"ping"`,
			`"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`)
		d.ids++
		return own, "ask", `{"hex":"` + hex.EncodeToString(fmt.Appendf(nil, `"id":"ask%d",%s`, d.ids, question)) + `"}`
	case 11:
		said := pick(d, `"result":{"content":[],"x":9007199254740993}`, `"error":{"code":-32050,"message":"m","data":[1.0]}`, `"result":7`, `"result":{}`)
		return own, "say", `{"hex":"` + hex.EncodeToString([]byte(said)) + `","before":["` + hex.EncodeToString([]byte(`"progress":1,"total":2.50`)) + `"]}`
	case 12:
		return own, pick(d, "progress", "whoami", "big"), pick(d, `{"steps":3,"bytes":100}`, `{"steps":0,"bytes":70000}`)
	case 13:
		return "kid", "takes_path", `{"path":` + p() + `}`
	case 14, 15:
		return "kid", pick(d, "test_simple_text", "test_image_content", "test_embedded_resource", "test_multiple_content_types", "test_error_handling", "json_schema_2020_12_tool", "test_logging_tool",
			"test_missing_capability", "list_roots", "test_x_mcp_header"), pick(d, `{}`, `{"name":"x","region":"y"}`)
	case 16:
		return "kid", pick(d, "test_elicitation", "test_sampling", "elicit_url", "test_input_required_result_multi_round", "test_input_required_result_multiple_inputs",
			"test_input_required_result_elicitation", "test_elicitation_sep1034_defaults"), `{"message":"who?","prompt":"what?","url":"https://example.com/"}`
	case 17:
		return "files", pick(d, "read_text_file", "list_directory", "directory_tree", "get_file_info", "read_media_file", "no_such_tool"), `{"path":` + p() + `}`
	case 18:
		place := world.Quoted(pick(d, d.places...))
		return "files", pick(d, "write_file", "create_directory", "edit_file", "search_files"), pick(d, `{"path":`+place+`,"content":"x"}`, `{"path":`+place+`}`,
			`{"path":`+place+`,"edits":[{"oldText":"x","newText":"y"}]}`, `{"path":`+place+`,"pattern":"**/*"}`)
	case 19:
		return "files", pick(d, "read_multiple_files", "list_allowed_directories", "move_file"), pick(d, `{}`, `{"paths":[`+p()+`,`+p()+`]}`,
			`{"source":`+world.Quoted(pick(d, d.places...))+`,"destination":`+world.Quoted(pick(d, d.places...)+"-moved")+`}`)
	case 20:
		return own, pick(d, "nothing", "", "ECHO", "echo "), `{"path":` + p() + `}`
	}
	return pick(d, "nobody", "", "READ"), "echo", `{}`
}

func (d *dice) step() step {
	switch d.IntN(30) {
	case 0, 1:
		child, tool, args := d.call()
		return toolCall("call-tool", "call-tool", pick(d, `{"serverName":`+world.Quoted(child)+`,"toolName":`+world.Quoted(tool)+`,"toolArgs":`+args+`}`, `{"serverName":`+world.Quoted(child)+`,"toolName":`+world.Quoted(tool)+`}`,
			`{"toolName":`+world.Quoted(child+"__"+tool)+`,"toolArgs":`+args+`}`))
	case 2:
		return toolCall("get-roots", "get-roots", pick(d, `{}`, `{"x":1}`))
	case 3:
		return toolCall("list-tools", "list-tools", pick(d, `{}`, `{"serverName":"read"}`, `{"query":"echo"}`, `{"limit":2}`))
	case 4, 5:
		return d.prompt()
	case 6, 7, 8:
		return d.resource()
	case 9:
		value := hex.EncodeToString([]byte(`"result":{"completion":{"values":["` + strconv.Itoa(d.IntN(9)) + `"]}}`))
		ref := pick(d, `{"type":"ref/prompt","name":"read__made_up"}`, `{"type":"ref/resource","uri":"made:up:{hex}"}`, `{"type":"ref/prompt","name":"kid__test_prompt_with_arguments"}`, `{"type":"ref/prompt","name":"no"}`, `{}`)
		return step{kind: "completion/complete", method: "completion/complete", params: `"ref":` + ref + `,"argument":{"name":"hex","value":` + world.Quoted(pick(d, value, d.path())) + `}`}
	case 10:
		if d.modern {
			return step{kind: "subscriptions/listen", how: listens, method: "subscriptions/listen", params: `"notifications":` + pick(d, `{"toolsListChanged":true}`, `{"promptsListChanged":true,"resourcesListChanged":true}`,
				`{"resourceSubscriptions":["test://watched-resource"]}`, `{"resourceSubscriptions":[`+world.Quoted(d.path())+`]}`, `{}`)}
		}
		method := pick(d, "resources/subscribe", "resources/unsubscribe")
		return step{kind: method, method: method, params: `"uri":` + world.Quoted(pick(d, "test://watched-resource", "made:up", "file:///etc/passwd", d.path()))}
	case 11:
		method := pick(d, "tools/list", "prompts/list", "resources/list", "resources/templates/list", "ping", "server/discover", "logging/setLevel")
		return step{kind: "lists and the like", method: method, params: pick(d, ``, ``, `"cursor":"x"`, `"level":"info"`)}
	case 12:
		method := pick(d, "no/such/method", "", "tools/call2", "skills/get", "roots/list", "initialize", "sampling/createMessage", "tools/Call")
		return step{kind: "unknown methods", method: method, params: `"path":` + world.Quoted(d.path())}
	case 13:
		method := pick(d, "notifications/no/such", "notifications/cancelled", "notifications/progress", "notifications/initialized", "tools/call")
		return step{kind: "notifications", how: tells, method: method, params: pick(d, `"requestId":12345`, `"requestId":"x","reason":"y"`, `"path":`+world.Quoted(d.path()), `"progressToken":"t","progress":1`)}
	case 14, 15:
		s := toolCall("cancelled calls", "read__sleep", fmt.Sprintf(`{"ms":600000,"mark":"MARK","path":%s}`, world.Quoted(pick(d, "hello.txt", d.path()))))
		s.how = cancels
		return s
	case 16:
		return step{kind: "odd lines", how: says, params: pick(d, "this is not JSON", `{"jsonrpc":"2.0","id":1,"method":`, "{", "\x00\x01", "\xff\xfe", "[]", "null", "7", `"x"`, `{}`, `{"jsonrpc":"2.0"}`,
			`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","method":7}`, `{"jsonrpc":"1.0","id":"o","method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
			`{"jsonrpc":"2.0","id":"never asked","result":{}}`, `{"jsonrpc":"2.0","id":"o","method":"x","method":"y"}`, `{"jsonrpc":"2.0","id":"o","method":"tools/call","params":[]}`)}
	case 17, 18:
		return d.batch()
	case 19, 20:
		return d.task()
	}
	child, tool, args := d.call()
	s := toolCall("tools/call", child+"__"+tool, args)
	if d.IntN(3) == 0 {
		d.ids++
		s.meta = pick(d, fmt.Sprintf(`"progressToken":"t%d"`, d.ids), `"x":{"n":9007199254740993}`)
	}
	return s
}

func (d *dice) prompt() step {
	name := pick(d, "read__made_up", "kid__test_simple_prompt", "kid__test_prompt_with_arguments", "kid__test_prompt_with_embedded_resource", "kid__test_input_required_result_prompt", "nobody__x")
	args := pick(d, `{}`, `{"hex":"`+hex.EncodeToString([]byte(`"result":{"messages":[],"x":1.0}`))+`"}`, `{"arg1":`+world.Quoted(d.path())+`,"arg2":"x"}`, `{"resourceUri":`+world.Quoted(d.path())+`}`, `7`)
	return step{kind: "prompts/get", method: "prompts/get", name: name, params: `"name":` + world.Quoted(name) + `,"arguments":` + args}
}

func (d *dice) resource() step {
	said := hex.EncodeToString([]byte(`"result":{"contents":[{"uri":"made:up","text":"t"}]}`))
	uri := pick(d, "made:up:"+said, "made:up", "test://static-text", "test://static-binary", "test://template/7/data", "test://template/..%2f..%2fetc/data", "file:///etc/passwd", "file://"+d.w.Project+"/hello.txt", "no:such", d.path())
	return step{kind: "resources/read", method: "resources/read", name: uri, params: `"uri":` + world.Quoted(uri)}
}

// batch draws requests that come together. They are served in any order: so no two of them are for the same server, and there is
// one alone where a person may be asked.
func (d *dice) batch() step {
	var all []string
	for i, child := range []string{"read", "write", "kid"}[:1+d.IntN(3)] {
		if i > 0 && d.asks {
			break
		}
		d.ids++
		tool := map[string]string{"kid": "takes_path"}[child]
		if tool == "" {
			tool = "echo"
		}
		all = append(all, fmt.Sprintf(`{"jsonrpc":"2.0","id":"b%d","method":"tools/call","params":{"name":"%s__%s","arguments":{"path":%s}}}`, d.ids, child, tool, world.Quoted(d.path())))
	}
	if d.IntN(2) == 0 {
		all = append(all, pick(d, `{"jsonrpc":"2.0","method":"notifications/no/such"}`, `7`, `{"jsonrpc":"2.0","id":"bp","method":"ping"}`, `{"jsonrpc":"2.0","id":"bp","method":"no/such"}`))
	}
	return step{kind: "batches", how: batches, params: strings.Join(all, ",")}
}

// task draws a call that becomes a task, or asks for one that there may be.
func (d *dice) task() step {
	id := fmt.Sprint("task", d.IntN(3))
	if d.IntN(2) == 0 {
		s := toolCall("tasks", pick(d, "read__task", "write__task", "read__echo"), `{"name":"`+id+`","path":`+world.Quoted(d.path())+`}`)
		s.params += `,"task":{"ttl":60000}`
		return s
	}
	method := pick(d, "tasks/get", "tasks/result", "tasks/cancel", "tasks/list", "tasks/update")
	return step{kind: "tasks", method: method, name: id, params: `"taskId":"` + id + `"`}
}
