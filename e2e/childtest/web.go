package childtest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"mcphub/children/remote"
	"mcphub/children/spec"
)

// Web plays a Script as a server reached by Streamable HTTP, in the eras that the
// Script says. What it says is events.
type Web struct {
	act  *act
	over chan struct{}
	once sync.Once

	mu  sync.Mutex
	own *player // of what the child says by itself: the stream by GET
	got chan struct{}
}

// NewWeb returns a handler that plays s. Close ends its streams.
func NewWeb(s Script) *Web {
	return &Web{act: newAct(s, nil), over: make(chan struct{}), got: make(chan struct{})}
}

// Close ends what is open.
func (h *Web) Close() {
	h.once.Do(func() {
		close(h.over)
		h.act.endAct()
	})
}

// Spec returns the spec of a child at this address.
func (h *Web) Spec(name, url string) spec.Spec {
	return spec.Spec{Name: name, URL: url, Transport: remote.HTTP}
}

// hangsOn reports whether the tool "hang" was called: then nothing is answered any
// more, until someone begins another session.
func (h *Web) hangsOn(m message) bool {
	h.act.mu.Lock()
	defer h.act.mu.Unlock()
	h.act.stuck = m.Method != "initialize" && (h.act.stuck || m.callsHang())
	return h.act.stuck
}

// ServeHTTP plays one request.
func (h *Web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.act.s.Exit != 0 {
		panic(http.ErrAbortHandler) // as near as a server comes to dying
	}
	if h.act.s.Mute {
		select {
		case <-r.Context().Done():
		case <-h.over:
		}
		return
	}
	switch {
	case r.Method == http.MethodDelete && h.act.s.Era != "modern":
		return
	case r.Method == http.MethodGet && h.act.s.Era != "modern":
		h.serveStream(w, r)
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	raw, err := io.ReadAll(r.Body)
	var m message
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if h.hangsOn(m) {
		select {
		case <-r.Context().Done():
		case <-h.over:
		}
		return
	}
	if m.ID == nil || m.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		go func() { // what it says about it goes on its own stream
			if p := h.awaitStream(); p != nil {
				p.handleMessage(m)
			}
		}()
		return
	}
	if wrong := h.headerMismatch(r, m); wrong != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32020,"message":"header mismatch: `+wrong+`"}}`)
		return
	}
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "the-session")
	}
	if m.Method == "resources/subscribe" || m.Method == "tools/call" && h.act.s.Era == "" {
		h.awaitStream() // it is there soon, and what is said aside goes there
	}
	p := h.newPlayer(w)
	done := make(chan struct{})
	go func() {
		select {
		case <-r.Context().Done():
		case <-done:
			return
		}
		h.act.mu.Lock() // the end of the stream is the end of the request
		if c := h.act.cancel[string(m.ID)]; c != nil {
			h.act.notes = append(h.act.notes, "closed")
			close(c)
			delete(h.act.cancel, string(m.ID))
		}
		h.act.mu.Unlock()
	}()
	p.handleMessage(m)
	p.wg.Wait()
	close(done)
}

// headerMismatch returns how the headers of a request without a handshake differ from
// its body; "" if they do not.
func (h *Web) headerMismatch(r *http.Request, m message) string {
	var params struct {
		Name, URI, TaskID string
		Arguments         map[string]json.RawMessage
		Meta              map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params)
	var version string
	_ = json.Unmarshal(params.Meta["io.modelcontextprotocol/protocolVersion"], &version)
	if version == "" {
		return ""
	}
	name := params.Name
	if m.Method == "resources/read" {
		name = params.URI
	}
	switch {
	case r.Header.Get("MCP-Protocol-Version") != version:
		return "version"
	case r.Header.Get("Mcp-Method") != m.Method:
		return "method"
	case (m.Method == "tools/call" || m.Method == "prompts/get" || m.Method == "resources/read") && plainHeader(r.Header.Get("Mcp-Name")) != name:
		return "name"
	case r.Header.Get("Mcp-Session-Id") != "":
		return "a session"
	}
	if m.Method == "tools/call" && params.Name == "echo" { // its definition may have marks: see Script.Defs
		want := ""
		if v, ok := params.Arguments["region"]; ok {
			_ = json.Unmarshal(v, &want)
		}
		if got := plainHeader(r.Header.Get("Mcp-Param-Region")); h.act.s.Defs != "" && got != want {
			return "region"
		}
	}
	return ""
}

func plainHeader(s string) string {
	if rest, ok := strings.CutPrefix(s, "=?base64?"); ok {
		if raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(rest, "?=")); err == nil {
			return string(raw)
		}
	}
	return s
}

// newPlayer makes a player whose lines are events of a response.
func (h *Web) newPlayer(w http.ResponseWriter) *player {
	e := &eventWriter{w: w, s: h.act.s}
	return &player{act: h.act, w: bufio.NewWriterSize(e, 64<<10), out: e}
}

// awaitStream waits for the stream by GET.
func (h *Web) awaitStream() *player {
	if h.act.s.Era == "modern" {
		return h.newPlayer(discard{})
	}
	select {
	case <-h.got:
	case <-h.over:
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.own
}

// serveStream serves a stream by GET until it is closed.
func (h *Web) serveStream(w http.ResponseWriter, r *http.Request) {
	p := h.newPlayer(w)
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	h.mu.Lock()
	if h.own == nil {
		close(h.got)
	}
	h.own = p
	h.mu.Unlock()
	h.act.mu.Lock()
	h.act.aside = p
	h.act.mu.Unlock()
	select {
	case <-r.Context().Done():
	case <-h.over:
	}
	p.wmu.Lock()
	p.w.Reset(io.Discard)
	p.wmu.Unlock()
}

type discard struct{ http.ResponseWriter }

func (discard) Header() http.Header         { return http.Header{} }
func (discard) WriteHeader(int)             {}
func (discard) Write(b []byte) (int, error) { return len(b), nil }

// eventWriter makes each line an event; what it is given ends with a line's end.
type eventWriter struct {
	w       http.ResponseWriter
	s       Script
	started bool
}

func (e *eventWriter) Write(b []byte) (int, error) {
	if !e.started {
		e.started = true
		e.w.Header().Set("Content-Type", "text/event-stream")
	}
	for line := range bytes.Lines(b) {
		if _, err := e.w.Write(append(append([]byte("data: "), bytes.TrimSuffix(line, []byte("\n"))...), "\n\n"...)); err != nil {
			return 0, err
		}
	}
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
	return len(b), nil
}
