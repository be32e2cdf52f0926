package protocol

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaInfo         = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// party is a raw client of either era over either transport. It answers every question that a server may ask, and knows no more
// of the protocol than it must.
type party struct {
	t      testing.TB
	modern bool
	legacy string   // the version of a handshake
	web    *posting // one of these two
	pipe   *world.Session

	capabilities obj
	info         obj // nil leaves it out
	ids          atomic.Int64
	answerer     answerer
}

// answerer says what a client says to a question.
type answerer struct {
	mu    sync.Mutex
	roots []string
	asked []question
}

// question is one that a server has asked, in either era.
type question struct {
	method string
	params json.RawMessage
}

func (a *answerer) answer(method string, params []byte) *ide.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, question{method, params})
	switch method {
	case "roots/list":
		return ide.Folders(a.roots...)(context.Background(), 1)
	case "sampling/createMessage":
		return &ide.Answer{Result: `{"role":"assistant","content":{"type":"text","text":"forty-two"},"model":"m","stopReason":"endTurn"}`}
	case "elicitation/create":
		return &ide.Answer{Result: fillIn(params)}
	}
	return &ide.Answer{Error: `{"code":-32601,"message":"Method not found"}`}
}

// fillIn accepts a form with what it asks for, of a choice now this and now that, or a page.
func fillIn(params []byte) string {
	var form struct {
		RequestedSchema *struct {
			Properties map[string]struct{ Enum []any }
		}
	}
	if json.Unmarshal(params, &form) != nil || form.RequestedSchema == nil {
		return `{"action":"accept"}`
	}
	content := obj{"username": "Ada", "email": "ada@example.org", "name": "Ada", "color": "blue", "ok": true, "context": "a test"}
	maps.DeleteFunc(content, func(name string, _ any) bool { _, ok := form.RequestedSchema.Properties[name]; return !ok })
	for name, property := range form.RequestedSchema.Properties {
		if n := len(property.Enum); n > 0 {
			content[name] = property.Enum[len(params)%n]
		}
	}
	b, err := json.Marshal(obj{"action": "accept", "content": content})
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// took gives the questions of a method so far and forgets them.
func (p *party) took(method string) []question {
	p.answerer.mu.Lock()
	defer p.answerer.mu.Unlock()
	var those, rest []question
	for _, q := range p.answerer.asked {
		if q.method == method {
			those = append(those, q)
		} else {
			rest = append(rest, q)
		}
	}
	p.answerer.asked = rest
	return those
}

func newParty(t testing.TB, modern bool, roots ...string) *party {
	return &party{t: t, modern: modern, legacy: "2025-11-25", answerer: answerer{roots: roots}, info: obj{"name": "party", "version": "1"},
		capabilities: obj{"roots": obj{"listChanged": true}, "sampling": obj{}, "elicitation": obj{"form": obj{}, "url": obj{}}}}
}

// overPipe connects a party to a program.
func (p *party) overPipe(w *world.World, command string, args ...string) *party {
	p.t.Helper()
	return p.overPipeIn(w, w.Env(), command, args...)
}

// overPipeIn is overPipe with an environment.
func (p *party) overPipeIn(w *world.World, env []string, command string, args ...string) *party {
	p.t.Helper()
	if p.modern {
		delete(p.capabilities["roots"].(obj), "listChanged")
	}
	p.pipe = w.Start(ide.Options{Command: command, Args: args, Env: env, Protocol: p.legacy, Answer: p.answerer.answer, Capabilities: world.Raw(p.t, p.capabilities)})
	p.open()
	return p
}

// overWeb connects a party to an endpoint.
func (p *party) overWeb(url string) *party {
	p.t.Helper()
	if p.modern {
		delete(p.capabilities["roots"].(obj), "listChanged")
	}
	p.web = &posting{url: url, version: p.legacy, answerer: &p.answerer, client: &http.Client{Transport: world.Given{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}, changed: make(chan struct{})}
	p.web.ctx, p.web.cancel = context.WithCancel(context.Background())
	p.t.Cleanup(p.web.close)
	p.open()
	return p
}

// open does what comes first in an era.
func (p *party) open() {
	p.t.Helper()
	switch {
	case p.modern:
		m := p.call("server/discover", obj{})
		var d struct{ SupportedVersions []string }
		world.Must(p.t, json.Unmarshal(m.Result, &d))
		if !strings.Contains(fmt.Sprint(d.SupportedVersions), world.ModernVersion) {
			p.t.Fatalf("server/discover: %s", m.Raw)
		}
	case p.pipe != nil:
		p.pipe.Handshake()
	default:
		p.call("initialize", obj{"protocolVersion": p.legacy, "capabilities": p.capabilities, "clientInfo": p.info})
		world.Must(p.t, p.web.tell(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		p.web.listen()
	}
}

// request gives a line, its id, and the headers that belong to it.
func (p *party) request(method string, params obj) (id, line string, header http.Header) {
	p.t.Helper()
	id = strconv.Quote(fmt.Sprint("p", p.ids.Add(1)))
	header = http.Header{}
	params = maps.Clone(params)
	if p.modern {
		meta := obj{metaVersion: world.ModernVersion, metaCapabilities: p.capabilities}
		if p.info != nil {
			meta[metaInfo] = p.info
		}
		if given, ok := params["_meta"].(obj); ok {
			maps.Copy(meta, given)
		}
		params["_meta"] = meta
		header.Set("Mcp-Protocol-Version", fmt.Sprint(meta[metaVersion]))
		header.Set("Mcp-Method", method)
		for _, member := range []string{"name", "uri"} {
			if name, ok := params[member].(string); ok {
				header.Set("Mcp-Name", name)
			}
		}
	}
	return id, `{"jsonrpc":"2.0","id":` + id + `,"method":` + strconv.Quote(method) + `,"params":` + world.Raw(p.t, params) + `}`, header
}

// exchange sends one request and waits for its answer. When ctx ends it is cancelled, as the era and the transport have it.
func (p *party) exchange(ctx context.Context, method string, params obj) (ide.Message, error) {
	p.t.Helper()
	id, line, header := p.request(method, params)
	if p.web != nil {
		return p.web.exchange(ctx, id, line, header, p.modern)
	}
	p.pipe.Expect(id)
	if err := p.pipe.Send(line); err != nil {
		return ide.Message{}, err
	}
	m, err := p.pipe.Answer(ctx, id)
	if err != nil && ctx.Err() != nil {
		return m, errors.Join(err, p.pipe.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`))
	}
	return m, err
}

// tried goes through the rounds of a request until it is answered, with an error too.
func (p *party) tried(ctx context.Context, method string, params obj) (ide.Message, error) {
	p.t.Helper()
	for range 10 {
		m, err := p.exchange(ctx, method, params)
		if err != nil {
			return m, err
		}
		var r struct {
			ResultType    string
			InputRequests map[string]struct {
				Method string
				Params json.RawMessage
			}
			RequestState *string
		}
		if !p.modern || m.Result == nil || json.Unmarshal(m.Result, &r) != nil || r.ResultType != "input_required" {
			return m, nil
		}
		params = maps.Clone(params)
		delete(params, "requestState")
		answers := obj{}
		for key, q := range r.InputRequests {
			answers[key] = json.RawMessage(p.answerer.answer(q.Method, q.Params).Result)
		}
		params["inputResponses"] = answers
		if r.RequestState != nil {
			params["requestState"] = *r.RequestState
		}
	}
	return ide.Message{}, errors.New("asked and asked and did not answer")
}

// call is tried, and wants a result.
func (p *party) call(method string, params obj) ide.Message {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	defer cancel()
	m, err := p.tried(ctx, method, params)
	world.Must(p.t, err)
	if m.Result == nil {
		p.t.Fatalf("%s %v: %s", method, params, m.Raw)
	}
	return m
}

// tool calls a tool and gives its texts.
func (p *party) tool(name string, arguments obj, meta ...obj) (text string, failed bool) {
	p.t.Helper()
	params := obj{"name": name, "arguments": arguments}
	for _, m := range meta {
		params["_meta"] = m
	}
	m := p.call("tools/call", params)
	var r struct {
		IsError bool
		Content []struct{ Text string }
	}
	world.Must(p.t, json.Unmarshal(m.Result, &r))
	for _, part := range r.Content {
		text += part.Text
	}
	return text, r.IsError
}

// works is tool, and wants this in the text.
func (p *party) works(name string, arguments obj, want string, meta ...obj) {
	p.t.Helper()
	if text, failed := p.tool(name, arguments, meta...); failed || !strings.Contains(text, want) {
		p.t.Errorf("%s %v: %q (failed: %v), want %q", name, arguments, text, failed, want)
	}
}

// await waits for the first message since the start that match accepts.
func (p *party) await(what string, match func(ide.Message) bool) ide.Message {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	defer cancel()
	get := p.pipeAwait
	if p.web != nil {
		get = p.web.await
	}
	m, err := get(ctx, what, match)
	world.Must(p.t, err)
	return m
}

func (p *party) pipeAwait(ctx context.Context, what string, match func(ide.Message) bool) (ide.Message, error) {
	return p.pipe.Await(ctx, what, match)
}

// follow subscribes to changes of the lists of tools and prompts and to this resource, until the test ends.
func (p *party) follow(uri string) {
	p.t.Helper()
	if !p.modern {
		p.call("resources/subscribe", obj{"uri": uri})
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = p.exchange(ctx, "subscriptions/listen", obj{"notifications": obj{"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": []string{uri}}})
	}()
	p.t.Cleanup(func() { cancel(); <-ended })
	p.await("acknowledged", func(m ide.Message) bool { return m.Method == "notifications/subscriptions/acknowledged" })
}

// posting is Streamable HTTP, the client's side.
type posting struct {
	url      string
	version  string // of the handshake
	client   *http.Client
	answerer *answerer
	ctx      context.Context // of what goes on beside the requests
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex // guards all below
	session  string
	messages []ide.Message
	changed  chan struct{}
}

func (h *posting) close() {
	h.cancel()
	h.running.Wait()
	if h.session != "" {
		if req, err := http.NewRequest(http.MethodDelete, h.url, nil); err == nil {
			req.Header.Set("Mcp-Session-Id", h.session)
			if resp, err := h.client.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}
	}
	h.client.CloseIdleConnections()
}

func (h *posting) do(ctx context.Context, method, line string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, h.url, strings.NewReader(line))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	h.mu.Lock()
	if h.session != "" {
		req.Header.Set("Mcp-Session-Id", h.session)
		req.Header.Set("Mcp-Protocol-Version", h.version)
	}
	h.mu.Unlock()
	resp, err := h.client.Do(req)
	if err == nil {
		h.mu.Lock()
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			h.session = id
		}
		h.mu.Unlock()
	}
	return resp, err
}

// tell sends what is not answered.
func (h *posting) tell(line string) error {
	resp, err := h.do(h.ctx, http.MethodPost, line, nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// listen follows the stream of a session.
func (h *posting) listen() {
	h.running.Go(func() {
		resp, err := h.do(h.ctx, http.MethodGet, "", nil)
		if err != nil {
			return
		}
		defer func() { _ = resp.Body.Close() }()
		h.events(resp.Body, func(ide.Message) bool { return false })
	})
}

func (h *posting) exchange(ctx context.Context, id, line string, header http.Header, modern bool) (ide.Message, error) {
	post, end := context.WithCancel(h.ctx)
	defer end()
	ended := make(chan struct{})
	defer close(ended)
	h.running.Go(func() {
		select {
		case <-ended:
		case <-ctx.Done():
			if !modern {
				_ = h.tell(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
			}
			end()
		}
	})
	resp, err := h.do(post, http.MethodPost, line, header)
	if err != nil {
		return ide.Message{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var last ide.Message
	isIt := func(m ide.Message) bool {
		if m.IsAnswer() && string(m.ID) == id {
			last = m
		}
		return last.Raw != nil
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		h.events(resp.Body, isIt)
	} else {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return last, err
		}
		h.take(bytes.TrimSpace(body), isIt)
	}
	if last.Raw == nil {
		return last, errors.Join(fmt.Errorf("status %d and no answer to %s", resp.StatusCode, line), ctx.Err())
	}
	return last, nil
}

// events takes each message of a stream until one is what is waited for.
func (h *posting) events(body io.Reader, isIt func(ide.Message) bool) {
	in := bufio.NewReader(body)
	for {
		line, err := in.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); ok && h.take(bytes.TrimSpace(data), isIt) || err != nil {
			return
		}
	}
}

func (h *posting) take(text []byte, isIt func(ide.Message) bool) bool {
	if len(text) == 0 {
		return false
	}
	m := ide.Parse(text)
	h.mu.Lock()
	h.messages = append(h.messages, m)
	close(h.changed)
	h.changed = make(chan struct{})
	h.mu.Unlock()
	if m.IsRequest() {
		h.running.Go(func() {
			a := h.answerer.answer(m.Method, m.Params)
			member, value := "result", a.Result
			if a.Error != "" {
				member, value = "error", a.Error
			}
			_ = h.tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, m.ID, member, value))
		})
	}
	return isIt(m)
}

func (h *posting) await(ctx context.Context, what string, match func(ide.Message) bool) (ide.Message, error) {
	for next := 0; ; {
		h.mu.Lock()
		those, changed := h.messages[next:len(h.messages):len(h.messages)], h.changed
		h.mu.Unlock()
		for _, m := range those {
			if match(m) {
				return m, nil
			}
		}
		next += len(those)
		select {
		case <-changed:
		case <-ctx.Done():
			return ide.Message{}, fmt.Errorf("%s did not come: %w", what, ctx.Err())
		}
	}
}
