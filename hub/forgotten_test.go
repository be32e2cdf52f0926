package hub

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"mcphub/children/remote"
	"mcphub/children/spec"
)

// forgetful is a server over HTTP that can be made to forget its session.
type forgetful struct {
	mu       sync.Mutex
	session  int
	heard    chan string
	grown    bool
	sessions map[string]bool
}

func (f *forgetful) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions, f.grown = map[string]bool{}, true
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID, Params json.RawMessage
		Method     string
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	f.mu.Lock()
	defer f.mu.Unlock()
	session := r.Header.Get("Mcp-Session-Id")
	result := `{}`
	switch {
	case m.Method == "initialize":
		f.session++
		session = fmt.Sprintf("s%d", f.session)
		f.sessions[session] = true
		w.Header().Set("Mcp-Session-Id", session)
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{},"resources":{"subscribe":true}},"serverInfo":{"name":"f","version":"1"}}`
	case !f.sessions[session]:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case m.Method == "tools/list" && f.grown:
		result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}},{"name":"new","inputSchema":{"type":"object"}}]}`
	case m.Method == "tools/list":
		result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	case m.Method == "resources/list":
		result = `{"resources":[{"uri":"note://1","name":"n"}]}`
	case m.Method == "resources/templates/list":
		result = `{"resourceTemplates":[]}`
	case m.Method == "tools/call":
		result = `{"content":[]}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	f.heard <- session + " " + m.Method + " " + string(m.Params)
}

func (f *forgetful) await(what string) {
	for got := range f.heard {
		if got == what {
			return
		}
	}
}

// TestWhatAForgottenSessionKnewIsSaidAgain: a server that was restarted has
// forgotten its session and all that was said in it. Another is begun by the next
// call, and it is told the level and the subscriptions, and asked what it offers.
func TestWhatAForgottenSessionKnewIsSaidAgain(t *testing.T) {
	f := &forgetful{heard: make(chan string, 1000), sessions: map[string]bool{}}
	at := httptest.NewServer(f)
	defer at.Close()
	h := newTestHub(t, spec.Spec{Name: "kid", URL: at.URL, Transport: remote.HTTP, Era: spec.EraLegacy})
	c := connect(t, h)
	c.handshake(`{}`)
	c.raw("tools/list", `{}`)
	c.raw("logging/setLevel", `{"level":"debug"}`)
	c.raw("resources/subscribe", `{"uri":"note://1"}`)
	f.await(`s1 resources/subscribe {"uri":"note://1"}`)
	f.forget()
	if msg, bad := text(c.raw("tools/call", toolCall("kid__t", `{}`))); bad {
		t.Fatal(msg)
	}
	f.await(`s2 logging/setLevel {"level":"debug"}`)
	f.await(`s2 resources/subscribe {"uri":"note://1"}`)
	c.awaitNote(listChanged)
	if !c.listed("kid__new") {
		t.Error("what the server offers since its restart is not listed")
	}
}
