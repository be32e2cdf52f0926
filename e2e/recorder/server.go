package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// message is one line of JSON-RPC, each member as it was sent. A map, not a struct: encoding/json would match the names of a
// struct whatever their case.
type message map[string]json.RawMessage

func (m message) str(name string) string {
	var s string
	_ = json.Unmarshal(m[name], &s)
	return s
}

// server answers one client on one stream.
type server struct {
	habits habits
	out    output

	mu    sync.Mutex                      // guards all below
	asked int                             // questions to the client so far; the next id
	asks  map[string]chan json.RawMessage // answers to come, by our id; the whole message
	calls map[string]chan struct{}        // calls under way, by their raw id; closed when cancelled
	added []string                        // tools that add_tool added
	set   string                          // entries that set_tools set, raw
}

// output orders what is written: one whole line at a time.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *output) line(parts ...[]byte) {
	b := append(bytes.Join(parts, nil), '\n')
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.w.Write(b) // no one left to tell when stdout is gone
}

func newServer(h habits, w io.Writer) *server {
	return &server{habits: h, out: output{w: w}, asks: map[string]chan json.RawMessage{}, calls: map[string]chan struct{}{}}
}

func (s *server) send(parts ...[]byte) {
	s.out.line(parts...)
}

func (s *server) result(id json.RawMessage, result []byte) {
	s.send([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"result":`), result, []byte(`}`))
}

func (s *server) fail(id json.RawMessage, code int, text string) {
	s.send([]byte(`{"jsonrpc":"2.0","id":`), id, fmt.Appendf(nil, `,"error":{"code":%d,"message":%q}}`, code, text))
}

func (s *server) notify(method, params string) {
	s.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// line takes one line from the client. Only tools/call leaves the reading goroutine.
func (s *server) line(raw []byte) {
	var m message
	if json.Unmarshal(raw, &m) != nil {
		s.fail(json.RawMessage("null"), -32700, "not JSON")
		return
	}
	id, hasID := m["id"]
	switch method := m.str("method"); {
	case method == "" && hasID:
		s.answered(string(id), raw)
	case method == "":
	case !hasID:
		s.notified(method, m)
	case method == "tools/call":
		done := s.startCall(string(id))
		go func() {
			defer s.end(string(id))
			s.call(id, m["params"], done)
		}()
	default:
		s.request(id, method, m)
	}
}

func (s *server) request(id json.RawMessage, method string, m message) {
	switch method {
	case "initialize":
		s.initialize(id, m)
	case "ping":
		s.result(id, []byte(`{}`))
	case "tools/list":
		s.listTools(id, m)
	default:
		offered := s.habits.offers && s.offered(id, method, m["params"])
		if !offered && !(s.habits.tasks && s.tasked(id, method, m["params"])) {
			s.fail(id, -32601, "method not found: "+method)
		}
	}
}

func (s *server) initialize(id json.RawMessage, m message) {
	var params message
	_ = json.Unmarshal(m["params"], &params)
	version := params.str("protocolVersion")
	switch version {
	case "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05":
	default:
		version = "2025-11-25"
	}
	more := ""
	if s.habits.offers {
		more = offersCapabilities
	}
	if s.habits.tasks {
		more += tasksCapabilities
	}
	name, _ := json.Marshal("recorder" + string(unhex(s.habits.hostile))) // a text: it cannot fail
	s.result(id, fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}%s},`+
		`"serverInfo":{"name":%s,"version":"1"},"instructions":"Say what you like: it is written down."}`, version, more, name))
}

func (s *server) notified(method string, m message) {
	if method == "notifications/cancelled" {
		var params message
		_ = json.Unmarshal(m["params"], &params)
		s.cancel(string(params["requestId"]))
	}
}

func (s *server) listTools(id json.RawMessage, m message) {
	entries := s.tools()
	var params message
	_ = json.Unmarshal(m["params"], &params)
	page, _ := strconv.Atoi(params.str("cursor"))
	pages := max(s.habits.pages, 1)
	if page < 0 || page >= pages {
		s.fail(id, -32602, "no such cursor")
		return
	}
	size := (len(entries) + pages - 1) / pages
	from, to := min(page*size, len(entries)), min((page+1)*size, len(entries))
	next := ""
	if page+1 < pages {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, page+1)
	}
	s.result(id, []byte(`{"tools":[`+join(entries[from:to])+`]`+next+`}`))
}

// ask sends a request to the client and waits for its answer: the whole message, or nil when done closes first.
func (s *server) ask(method string, done <-chan struct{}) json.RawMessage {
	answer := make(chan json.RawMessage, 1)
	s.mu.Lock()
	s.asked++
	id := strconv.Quote("ask-" + strconv.Itoa(s.asked))
	s.asks[id] = answer
	s.mu.Unlock()
	s.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method))
	select {
	case raw := <-answer:
		return raw
	case <-done:
		return nil
	}
}

// askAs sends the members of a request that the test has made up, id among them, and waits for the answer as ask does.
func (s *server) askAs(members string, done <-chan struct{}) json.RawMessage {
	var m message
	if json.Unmarshal([]byte("{"+members+"}"), &m) != nil {
		return json.RawMessage(`"no request"`)
	}
	answer := make(chan json.RawMessage, 1)
	s.mu.Lock()
	s.asks[string(m["id"])] = answer
	s.mu.Unlock()
	s.send([]byte(`{"jsonrpc":"2.0",` + members + `}`))
	select {
	case raw := <-answer:
		return raw
	case <-done:
		return nil
	}
}

func (s *server) answered(id string, raw []byte) {
	s.mu.Lock()
	answer := s.asks[id]
	delete(s.asks, id)
	s.mu.Unlock()
	if answer != nil {
		answer <- bytes.TrimSpace(raw)
	}
}

func (s *server) startCall(id string) <-chan struct{} {
	done := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[id] = done
	return done
}

func (s *server) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

func (s *server) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done := s.calls[id]; done != nil {
		close(done)
		delete(s.calls, id)
	}
}
