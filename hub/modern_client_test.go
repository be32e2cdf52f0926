package hub

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/spectest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/platform"
)

// modernClient is a client of the modern era over pipes in memory. What the
// hub says to it is held against the schema of the specification when the test
// ends.
type modernClient struct {
	*testClient
	caps  string // declared with each request
	roots string // the answer to roots/list
	extra string // more of _meta, with a comma before it
	talk  *spectest.Conversation
	asks  func(c *modernClient, m *jsonrpc.Message) jsonrpc.Answer // of a handshake on the same connection
	notes chan string                                              // method and params of notifications
}

// tap notes the lines that go through it.
type tap struct {
	io.WriteCloser
	who  spectest.Party
	talk *spectest.Conversation
	mu   sync.Mutex
	rest []byte
}

func (w *tap) Write(b []byte) (int, error) {
	w.mu.Lock()
	w.rest = append(w.rest, b...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			break
		}
		w.talk.Saw(w.who, bytes.Clone(w.rest[:i]))
		w.rest = w.rest[i+1:]
	}
	w.mu.Unlock()
	return w.WriteCloser.Write(b)
}

// enterModern opens a connection of a modern client; leave ends it and returns
// when none of it is left.
func enterModern(t *testing.T, h *Hub, caps string, dirs ...string) (c *modernClient, leave func()) {
	t.Helper()
	toHub, fromClient := io.Pipe()
	toClient, fromHub := io.Pipe()
	talk := spectest.NewConversation()
	c = &modernClient{testClient: &testClient{t: t, hub: h}, caps: caps, talk: talk, notes: make(chan string, 1000)}
	c.testClient.hears = func(m *jsonrpc.Message) { c.notes <- m.Method + " " + string(m.Params) }
	c.testClient.asks = func(_ context.Context, _ *testClient, m *jsonrpc.Message) jsonrpc.Answer {
		if c.asks != nil {
			return c.asks(c, m)
		}
		t.Errorf("a modern client was sent the request %s", m.Method)
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, m.Method)
	}
	c.setRoots(dirs...)
	c.conn = jsonrpc.NewConn(toClient, &tap{WriteCloser: fromClient, who: spectest.Client, talk: talk}, c, jsonrpc.ConnOptions{})
	gone := c.join(func() {
		_ = h.ServeStdio(context.Background(), toHub, &tap{WriteCloser: fromHub, who: spectest.Server, talk: talk}, Surroundings{})
	})
	leave = sync.OnceFunc(func() {
		gone()
		for _, fault := range talk.Faults(spectest.Server) {
			t.Errorf("against the specification: %s", fault)
		}
	})
	t.Cleanup(leave)
	return c, leave
}

// ServeRequest answers what no modern client is asked.
func (c *modernClient) ServeRequest(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	return c.testClient.asks(ctx, c.testClient, m)
}

func (c *modernClient) setRoots(dirs ...string) {
	var all []string
	for _, d := range dirs {
		all = append(all, fmt.Sprintf(`{"uri":%q}`, platform.Host().FormatURI(d)))
	}
	c.roots = `{"roots":[` + strings.Join(all, ",") + `]}`
}

// with adds members to params, which are an object or nothing.
func with(params string, members ...string) string {
	all := strings.TrimSuffix(strings.TrimPrefix(params, "{"), "}")
	for _, m := range members {
		if all != "" && m != "" {
			all += ","
		}
		all += m
	}
	return "{" + all + "}"
}

func (c *modernClient) meta() string {
	return fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s%s}`, c.caps, c.extra)
}

// once makes one request, as it is.
func (c *modernClient) once(method, params string) *jsonrpc.Response {
	c.t.Helper()
	resp, err := c.conn.Call(context.Background(), method, []byte(with(params, c.meta())))
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return resp
}

// raw makes one request that must have a result.
func (c *modernClient) raw(method, params string) string {
	c.t.Helper()
	resp := c.once(method, params)
	if e := resp.Err(); e != nil {
		c.t.Fatalf("%s %s: %v", method, params, e)
	}
	return string(resp.Result)
}

// refused makes one request that must be answered with an error.
func (c *modernClient) refused(method, params string) *jsonrpc.Error {
	c.t.Helper()
	resp := c.once(method, params)
	e := resp.Err()
	if e == nil {
		c.t.Fatalf("%s %s: answered with %s", method, params, resp.Result)
	}
	return e
}

// asked is what a result asks the client, by key, and its requestState.
type asked struct {
	keys    []string
	methods map[string]string // by key
	params  map[string]string
	state   string // raw; "" for none
}

// askedBy reads a result that asks something; ok is false for another one.
func askedBy(result string) (a asked, ok bool) {
	raw := []byte(result)
	if string(jsonrpc.Get(raw, "resultType")) != `"input_required"` {
		return asked{}, false
	}
	a = asked{methods: map[string]string{}, params: map[string]string{}, state: string(jsonrpc.Get(raw, "requestState"))}
	_ = jsonrpc.Members(jsonrpc.Get(raw, "inputRequests"), func(key string, q []byte) bool {
		a.keys = append(a.keys, key)
		a.methods[key], _ = jsonrpc.String(jsonrpc.Get(q, "method"))
		a.params[key] = string(jsonrpc.Get(q, "params"))
		return true
	})
	return a, true
}

// mustAsk makes a request that must be answered with a question.
func (c *modernClient) mustAsk(method, params string) asked {
	c.t.Helper()
	result := c.raw(method, params)
	a, ok := askedBy(result)
	if !ok {
		c.t.Fatalf("%s %s: nothing was asked: %s", method, params, result)
	}
	return a
}

// retry returns params with what a client adds to it; answers are raw, by key.
func (a asked) retry(params string, answers map[string]string) string {
	var all []string
	for _, key := range a.keys {
		if v := answers[key]; v != "" {
			all = append(all, fmt.Sprintf(`%q:%s`, key, v))
		}
	}
	return with(params, `"inputResponses":{`+strings.Join(all, ",")+`}`, `"requestState":`+a.state)
}

// full makes a request and answers what it is asked: the roots as they are,
// other things by answers, by method. It returns the last result and how often it had
// to send the request.
func (c *modernClient) full(method, params string, answers map[string]string) (result string, sent int) {
	c.t.Helper()
	next := params
	for sent = 1; sent < 10; sent++ {
		result = c.raw(method, next)
		a, ok := askedBy(result)
		if !ok {
			return result, sent
		}
		given := map[string]string{}
		for key, of := range a.methods {
			if given[key] = answers[of]; of == "roots/list" && given[key] == "" {
				given[key] = c.roots
			}
		}
		next = a.retry(params, given)
	}
	c.t.Fatalf("%s: asked again and again: %s", method, result)
	return "", 0
}
