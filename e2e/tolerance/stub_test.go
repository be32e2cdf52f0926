package tolerance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/world"
)

// A quirk is how a stub is bent. The zero value is a healthy one. In raw texts KEY is the stub's name.
type quirk struct {
	on      string            // the transport that it is of alone; "": either
	results map[string]string // by method: the result instead of the usual
	errors  map[string]string // by method: an error instead of the result

	speak    func(c *conn, r request)                                             // what is said instead of the answer
	opens    func(c *conn)                                                        // on stdio, before anything was read
	write    func(w io.Writer, message string)                                    // on stdio, instead of the message and a line feed
	answer   func(w http.ResponseWriter, r *http.Request, message string)         // over HTTP, instead of JSON with status 200
	notified func(w http.ResponseWriter)                                          // over HTTP, instead of status 202
	posted   func(c *conn, w http.ResponseWriter, r *http.Request, b []byte) bool // over HTTP, before all else; whether it has answered
	get, end func(c *conn, w http.ResponseWriter, r *http.Request)                // over HTTP, instead of status 405
	headers  func(c *conn, w http.ResponseWriter, r *http.Request)                // over HTTP, instead of the session's id
}

// A request is one that a stub got, with its usual answer.
type request struct {
	id      string // raw
	method  string
	params  json.RawMessage
	body    string // the member of the answer after the id, raw: "result":... or "error":...
	pending bool   // it waits for an answer, and no notification
}

// with returns the answer to it, with this id.
func (r request) with(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,` + r.body + `}`
}

func (r request) answer() string { return r.with(r.id) }

// A stub is a server with a quirk, under a name that no other has.
type stub struct {
	quirk
	key string

	table    sync.Mutex
	sessions map[string]*session // over HTTP
}

// A session is what a stub knows of one client.
type session struct {
	name string

	mu    sync.Mutex
	asked map[string]*question // what it asked the client, by the raw id
	notes int                  // how often it was counted
	ready bool                 // notifications/initialized has come
	told  chan string          // for the stream of GET
}

// A question is one that a stub asks its client.
type question struct {
	answer chan string
	over   chan struct{} // closed when it is answered, or no client listens
}

func newSession(name string) *session {
	return &session{name: name, asked: map[string]*question{}, told: make(chan string, 100)}
}

// A conn is what one connection, or one POST, is answered on.
type conn struct {
	*stub
	*session
	send func(message string)
	out  io.Writer       // on stdio
	gone <-chan struct{} // closed when no client listens
}

// ask asks the client something and gives the whole answer. What is asked under one id is asked in turn.
func (c *conn) ask(id, method, params string) string {
	q := &question{make(chan string, 1), make(chan struct{})}
	for !c.begin(id, q) {
		c.mu.Lock()
		earlier := c.asked[id]
		c.mu.Unlock()
		if earlier != nil {
			<-earlier.over
		}
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	select {
	case answer := <-q.answer:
		return answer
	case <-c.gone:
		c.end(id, q)
		return ""
	}
}

// begin enters a question; false if another one has its id.
func (c *conn) begin(id string, q *question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked[id] != nil {
		return false
	}
	c.asked[id] = q
	return true
}

// end takes a question out: the one that is asked under this id, if it is only, or if only is nil. nil: there is none.
func (c *conn) end(id string, only *question) *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.asked[id]
	if q == nil || only != nil && q != only {
		return nil
	}
	delete(c.asked, id)
	close(q.over)
	return q
}

// count returns how often it was called before.
func (c *conn) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes++
	return c.notes - 1
}

// usual are the results of a healthy stub, by method. VERSION is the version that was proposed, and ARGUMENTS a JSON string with the
// arguments.
var usual = map[string]string{
	"initialize": `{"protocolVersion":"VERSION","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"odd","version":"1"}}`,
	"ping":       `{}`,
	"tools/list": `{"tools":[{"name":"say","description":"Says it again","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`,
	"tools/call": `{"content":[{"type":"text","text":ARGUMENTS}]}`,

	"prompts/list":             `{"prompts":[{"name":"greet","description":"Greets","arguments":[{"name":"who","required":true}]}]}`,
	"prompts/get":              `{"description":"A greeting","messages":[{"role":"user","content":{"type":"text","text":ARGUMENTS}}]}`,
	"resources/list":           `{"resources":[{"uri":"odd://KEY/note","name":"note","mimeType":"text/plain"}]}`,
	"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"odd://KEY/{a}","name":"any"}]}`,
	"resources/read":           `{"contents":[{"uri":"odd://KEY/note","mimeType":"text/plain","text":"noted"}]}`,
}

// read returns the request, notification or answer in a message. The answers are handed to whom they are for.
func (c *conn) read(raw []byte) (r request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if json.Unmarshal(raw, &m) != nil {
		return request{}
	}
	if m.Method == "" {
		if q := c.end(string(m.ID), nil); q != nil {
			q.answer <- string(raw)
		}
		return request{}
	}
	r = request{id: string(m.ID), method: m.Method, params: m.Params, pending: m.ID != nil}
	if r.method == "notifications/initialized" {
		c.mu.Lock()
		c.ready = true
		c.mu.Unlock()
	}
	var p struct {
		ProtocolVersion, URI string
		Arguments            json.RawMessage
	}
	_ = json.Unmarshal(m.Params, &p)
	fill := strings.NewReplacer("KEY", c.key, "VERSION", p.ProtocolVersion, "ARGUMENTS", quoted(p.Arguments))
	result, own := c.results[r.method]
	if !own {
		result = usual[r.method]
	}
	refusal := c.errors[r.method]
	switch {
	case result == "":
		refusal = `{"code":-32601,"message":"Method not found"}`
	case r.method == "resources/read" && !strings.HasPrefix(p.URI, "odd://"+c.key+"/"):
		refusal = `{"code":-32002,"message":"Resource not found"}`
	}
	if r.body = `"result":` + fill.Replace(result); refusal != "" {
		r.body = `"error":` + fill.Replace(refusal)
	}
	return r
}

// quoted is JSON in a string of JSON.
func quoted(raw []byte) string {
	b, err := json.Marshal(string(raw))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// serve does what a request asks for.
func (c *conn) serve(r request) {
	switch {
	case c.speak != nil:
		c.speak(c, r)
	case r.pending:
		c.send(r.answer())
	}
}

// serveStdio speaks over a connection as over stdin and stdout.
func (s *stub) serveStdio(in *bufio.Reader, out io.WriteCloser) {
	gone := make(chan struct{})
	c := &conn{stub: s, session: newSession(""), out: out, gone: gone}
	var writing sync.Mutex
	c.send = func(message string) {
		writing.Lock()
		defer writing.Unlock()
		if s.write != nil {
			s.write(out, message)
		} else {
			_, _ = io.WriteString(out, message+"\n")
		}
	}
	todo := make(chan request, 100)
	var served sync.WaitGroup
	served.Go(func() {
		for r := range todo {
			c.serve(r)
		}
		_ = out.Close()
	})
	if s.opens != nil {
		s.opens(c)
	}
	for {
		line, err := in.ReadBytes('\n')
		if r := c.read(line); r.method != "" {
			todo <- r
		}
		if err != nil {
			break
		}
	}
	close(gone)
	close(todo)
	served.Wait()
}

// ServeHTTP serves Streamable HTTP with sessions.
func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.table.Lock()
	name := r.Header.Get("Mcp-Session-Id")
	if name == "" {
		name = fmt.Sprintf("session-%d", len(s.sessions)+1)
	}
	if s.sessions[name] == nil {
		s.sessions[name] = newSession(name)
	}
	c := &conn{stub: s, session: s.sessions[name], gone: r.Context().Done()}
	s.table.Unlock()
	if handler := map[string]func(*conn, http.ResponseWriter, *http.Request){http.MethodGet: s.get, http.MethodDelete: s.end}[r.Method]; handler != nil {
		handler(c, w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	raw, _ := io.ReadAll(r.Body)
	if s.posted != nil && s.posted(c, w, r, raw) {
		return
	}
	got := c.read(raw)
	if s.headers != nil {
		s.headers(c, w, r)
	} else if got.method == "initialize" {
		w.Header().Set("Mcp-Session-Id", name)
	}
	switch {
	case !got.pending && s.notified != nil:
		s.notified(w)
	case !got.pending:
		w.WriteHeader(http.StatusAccepted)
	case s.speak != nil:
		w.Header().Set("Content-Type", "text/event-stream")
		c.send = func(message string) {
			_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", message)
			w.(http.Flusher).Flush()
		}
		s.speak(c, got)
	case s.answer != nil:
		s.answer(w, r, got.answer())
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, got.answer())
	}
}

// Stubs are servers in this process: each over HTTP, and over stdio by way of a relay.
type stubs struct {
	t        testing.TB
	listener net.Listener
	mu       sync.Mutex
	byKey    map[string]*stub
}

func newStubs(t testing.TB) *stubs {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	world.Must(t, err)
	all := &stubs{t: t, listener: listener, byKey: map[string]*stub{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				in := bufio.NewReader(c)
				name, _ := in.ReadString('\n')
				all.mu.Lock()
				s := all.byKey[strings.TrimSpace(name)]
				all.mu.Unlock()
				if s != nil {
					s.serveStdio(in, c)
				}
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return all
}

// add makes a stub, and gives its entry.
func (all *stubs) add(q quirk, key string) *stub {
	s := &stub{quirk: q, key: key, sessions: map[string]*session{}}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.byKey[key] = s
	return s
}

// stdio returns the entry of hub.json of a stub on stdio.
func (all *stubs) stdio(s *stub) obj {
	return world.Free(obj{"command": world.Bin.Recorder, "args": []string{"-relay", all.listener.Addr().String() + "/" + s.key}})
}

// dial returns a connection to a stub, as to its stdin and stdout.
func (all *stubs) dial(s *stub) net.Conn {
	c, err := net.Dial("tcp", all.listener.Addr().String())
	world.Must(all.t, err)
	_, err = io.WriteString(c, s.key+"\n")
	world.Must(all.t, err)
	return c
}

// web returns the entry of hub.json of a stub over HTTP.
func (all *stubs) web(s *stub) obj {
	server := httptest.NewServer(s)
	all.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return obj{"url": server.URL + "/mcp"}
}

// isMethod reports whether a message of a client is this.
func isMethod(raw []byte, methods ...string) bool {
	for _, m := range methods {
		if bytes.Contains(raw, []byte(`"`+m+`"`)) {
			return true
		}
	}
	return false
}
