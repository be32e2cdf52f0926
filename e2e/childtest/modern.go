package childtest

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// modernTools are the tools of a child with Script.Era: "meta" tells the _meta
// of its call, "input" asks for input (see modernTool), "kind" answers with the
// resultType that it is given, "touch" reports that a resource has changed,
// "news" what has become of a task, and "hangup" ends every subscription.
var modernTools = []string{"meta", "input", "kind", "touch", "news", "hangup"}

const modernVersion = "2026-07-28"

// A listen is one subscriptions/listen that is open.
type listen struct {
	p      *player
	id     json.RawMessage
	filter struct {
		ToolsListChanged      bool
		PromptsListChanged    bool
		ResourcesListChanged  bool
		ResourceSubscriptions []string
		TaskIDs               []string
	}
	over chan struct{}
}

// handleStateless takes in a message of a child that serves requests without a
// handshake. false: it goes the way of the others.
func (p *player) handleStateless(m message) bool {
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params)
	version := string(params.Meta["io.modelcontextprotocol/protocolVersion"])
	switch {
	case m.ID == nil || m.Method == "":
		return false
	case m.Method == "initialize" && p.s.DieAtInit:
		p.dead = true
		return true
	case p.s.Locks && !p.locksEra(version == ""):
		p.sendError(m.ID, -32600, "this connection is of the other era")
		return true
	case m.Method == "initialize" && p.s.Era == "modern":
		p.sendError(m.ID, -32602, "this server speaks 2026-07-28 only")
		return true
	case version == "":
		return false
	case version != `"`+modernVersion+`"`:
		p.sendLine(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"unsupported","data":{"supported":[%q],"requested":%s}}}`, m.ID, modernVersion, version)
		return true
	case params.Meta["io.modelcontextprotocol/clientCapabilities"] == nil:
		p.sendError(m.ID, -32602, "no capabilities")
		return true
	}
	p.mu.Lock()
	p.modern[string(m.ID)] = true
	p.mu.Unlock()
	switch m.Method {
	case "server/discover":
		if p.s.Discover == "" || !p.answerDiscover(m) {
			p.handleDiscovery(m)
		}
	case "subscriptions/listen":
		p.openSubscription(m)
	case "resources/subscribe", "resources/unsubscribe", "logging/setLevel", "ping":
		p.sendError(m.ID, -32601, "no such method in this version")
	case "prompts/get", "resources/read":
		return p.s.Library && p.askForInput(m, "")
	default:
		return false
	}
	return true
}

// locksEra has the first request on a connection decide its era; false: this one is
// of the other.
func (p *player) locksEra(handshake bool) bool {
	era := "modern"
	if handshake {
		era = "handshake"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.locked == "" {
		p.locked = era
	}
	return p.locked == era
}

func (p *player) handleDiscovery(m message) {
	caps, _ := json.Marshal(p.listCapabilities())
	p.answerRaw(m.ID, fmt.Sprintf(`{"resultType":"complete","supportedVersions":[%q],"capabilities":%s,"instructions":"Be kind.","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","version":"1.2.3"}}}`, modernVersion, caps))
}

// answerDiscover goes wrong as Script.Discover says: "silent", "die", "broken" (a line
// that is no JSON), "late" (right, after Script.Delay), or what is answered, raw: an
// error if it has a code, else a result.
func (p *player) answerDiscover(m message) bool {
	switch p.s.Discover {
	case "silent":
	case "die":
		fmt.Fprintln(os.Stderr, "unknown method: giving up")
		p.dead = true
	case "broken":
		p.sendLine(`no such method`)
	case "late":
		p.wg.Go(func() {
			time.Sleep(p.s.Delay)
			p.handleDiscovery(m)
		})
	default:
		if strings.Contains(p.s.Discover, `"code"`) {
			p.sendLine(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, p.s.Discover)
		} else {
			p.sendLine(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, p.s.Discover)
		}
	}
	return true
}

// openSubscription opens a subscription, which lasts until it is cancelled.
func (p *player) openSubscription(m message) {
	l := &listen{p: p, id: m.ID, over: make(chan struct{})}
	var params struct{ Notifications json.RawMessage }
	_ = json.Unmarshal(m.Params, &params)
	_ = json.Unmarshal(params.Notifications, &l.filter)
	if l.filter.TaskIDs != nil && !strings.Contains(string(m.Params), `"io.modelcontextprotocol/tasks":{}`) {
		p.sendError(m.ID, -32021, "news of tasks are for who declares the extension")
		return
	}
	p.mu.Lock()
	p.notes = append(p.notes, "listen "+string(params.Notifications))
	// Under the lock: what is told comes after this, and nothing falls in between.
	p.sendLine(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}}`,
		m.ID, strings.ReplaceAll(string(params.Notifications), `"taskIds":["quiet"]`, `"taskIds":[]`)) // of that task it tells nothing
	p.listens[string(m.ID)] = l
	c := make(chan struct{})
	p.cancel[string(m.ID)] = c
	p.mu.Unlock()
	p.wg.Go(func() {
		ended := false
		select {
		case <-c:
		case <-l.over:
			ended = true
		}
		p.mu.Lock()
		delete(p.listens, string(m.ID))
		delete(p.cancel, string(m.ID))
		over := p.over
		p.mu.Unlock()
		if ended && !over {
			p.answerRaw(m.ID, fmt.Sprintf(`{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":%s}}`, m.ID))
		}
	})
}

// notifySubscribers sends a notification on each subscription that asks for it, by a flag, the
// URI of a resource or the id of a task; false if there is none. begin is how its params
// begin.
func (p *player) notifySubscribers(flag, uri, method, begin string) bool {
	p.mu.Lock()
	var to []*listen
	for _, l := range p.listens {
		if flag == "toolsListChanged" && l.filter.ToolsListChanged || uri != "" && (slices.Contains(l.filter.ResourceSubscriptions, uri) || slices.Contains(l.filter.TaskIDs, uri)) {
			to = append(to, l)
		}
	}
	p.mu.Unlock()
	for _, l := range to {
		l.p.sendLine(`{"jsonrpc":"2.0","method":%q,"params":%s"_meta":{"io.modelcontextprotocol/subscriptionId":%s,"x":1.0}}}`, method, begin, l.id)
	}
	return len(to) > 0
}

// modernTool plays one of modernTools.
func (p *player) modernTool(m message, name string, arguments json.RawMessage, cancelled chan struct{}) bool {
	var args struct {
		Type, URI, TaskID, Status string
		Result                    json.RawMessage
	}
	_ = json.Unmarshal(arguments, &args)
	switch name {
	case "meta":
		var params struct {
			Meta json.RawMessage `json:"_meta"`
		}
		_ = json.Unmarshal(m.Params, &params)
		p.answerRaw(m.ID, fmt.Sprintf(`{"resultType":"complete","content":[],"structuredContent":{"meta":%s,"params":%s}}`, params.Meta, m.Params))
	case "input":
		return p.askForInput(m, string(arguments))
	case "kind":
		if args.Result != nil {
			p.sendLine(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, args.Result)
			return true
		}
		p.answerRaw(m.ID, fmt.Sprintf(`{"content":[],"resultType":%s}`, args.Type))
	case "touch":
		told := p.notifySubscribers("", args.URI, "notifications/resources/updated", fmt.Sprintf(`{"uri":%q,`, args.URI))
		p.answerRaw(m.ID, fmt.Sprintf(`{"content":[],"structuredContent":{"told":%t}}`, told))
	case "news":
		told := p.notifySubscribers("", args.TaskID, "notifications/tasks", fmt.Sprintf(`{"taskId":%q,"status":%q,"n":1.0,`, args.TaskID, args.Status))
		p.answerRaw(m.ID, fmt.Sprintf(`{"content":[],"structuredContent":{"told":%t}}`, told))
	case "hangup":
		p.mu.Lock()
		for id, l := range p.listens {
			close(l.over)
			delete(p.listens, id)
		}
		p.mu.Unlock()
		p.answerRaw(m.ID, `{"content":[]}`)
	default:
		return false
	}
	return true
}

// askForInput asks for input: {"ask": {key: request}, "state": text, "rounds": n} are
// what it asks for, its state, which grows by a mark in each round, and how often (1
// unless said, -1: without end). Then it reports what it was given last. A prompt and
// a resource ask once, for what their argument, or what follows "ask:" in the URI,
// says; false if they ask for nothing.
func (p *player) askForInput(m message, arguments string) bool {
	var params struct {
		URI            string
		Arguments      map[string]json.RawMessage
		InputResponses json.RawMessage
		RequestState   *string
		Meta           map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params)
	if arguments == "" {
		if text, ok := params.Arguments["path"]; ok {
			_ = json.Unmarshal(text, &arguments)
		}
		if rest, ok := strings.CutPrefix(params.URI, "ask:"); ok {
			arguments = rest
		}
		if !strings.HasPrefix(arguments, "{") {
			return false
		}
	}
	var args struct {
		Ask     json.RawMessage
		State   *string
		Rounds  *int
		Instead string // the result, raw, instead of one that asks
	}
	_ = json.Unmarshal([]byte(arguments), &args)
	rounds, started := 1, 0
	if args.Rounds != nil {
		rounds = *args.Rounds
	}
	state := ""
	if args.State != nil {
		state = *args.State
	}
	if params.RequestState != nil {
		started = len(*params.RequestState) - len(state)
	} else if params.InputResponses != nil {
		started = rounds // nothing shows which it is
	}
	p.mu.Lock()
	p.notes = append(p.notes, "round "+string(m.Params))
	p.mu.Unlock()
	if args.Instead != "" && started == 0 {
		p.sendLine(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, args.Instead)
		return true
	}
	if rounds >= 0 && started >= rounds {
		given := "null"
		if params.InputResponses != nil {
			given = string(params.InputResponses)
		}
		shown, _ := json.Marshal(params.RequestState)
		p.answerRaw(m.ID, fmt.Sprintf(`{"resultType":"complete","content":[],"messages":[],"contents":[],"structuredContent":{"given":%s,"state":%s,"caps":%s,"pid":%d}}`,
			given, shown, params.Meta["io.modelcontextprotocol/clientCapabilities"], os.Getpid()))
		return true
	}
	b := `{"resultType":"input_required"`
	if args.Ask != nil {
		b += `,"inputRequests":` + string(args.Ask)
	}
	if args.State != nil {
		text, _ := json.Marshal(state + strings.Repeat("+", started+1))
		b += `,"requestState":` + string(text)
	}
	p.answerRaw(m.ID, b+"}")
	return true
}
