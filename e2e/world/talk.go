package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"mcphub/internal/spectest"
)

// talk is what was said over one pipe or to one endpoint, held against the specification of its version.
type talk struct {
	mu       sync.Mutex
	first    *spectest.Conversation
	sessions map[string]*spectest.Conversation // by Mcp-Session-Id, or by the process that spoke
	all      []*spectest.Conversation
	headers  []string // what was wrong with the headers of the client
	posts    []post
}

// post is one request of a client over HTTP.
type post struct {
	header http.Header
	body   string
}

func newTalk() *talk {
	t := &talk{sessions: map[string]*spectest.Conversation{}}
	t.first = t.begin()
	return t
}

// begin must be called with mu held, or before anybody else knows t.
func (k *talk) begin() *spectest.Conversation {
	c := spectest.NewConversation()
	k.all = append(k.all, c)
	return c
}

// saw takes a line of a pipe.
func (k *talk) saw(fromServer bool, line []byte) {
	if line = bytes.TrimSpace(line); len(line) > 0 {
		k.first.Saw(map[bool]spectest.Party{true: spectest.Server, false: spectest.Client}[fromServer], line)
	}
}

// judge fails the test for each thing that a party should not have said.
func (k *talk) judge(t testing.TB, who string, party spectest.Party) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.all {
		for _, f := range c.Faults(party) {
			t.Errorf("%s breaks the specification, %s", who, f)
		}
	}
	if party == spectest.Client {
		for _, f := range k.headers {
			t.Errorf("%s breaks the specification, %s", who, f)
		}
	}
}

// judged counts what was held against a schema: "version method", "version result of method".
func (k *talk) judged() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	sum := map[string]int{}
	for _, c := range k.all {
		for what, n := range c.Judged() {
			sum[what] += n
		}
	}
	return sum
}

// tapped is the entry of a child on stdio with a witness in front of it, and what will have been said when the test has ended.
// Both sides are judged then: the hub and the child.
func (w *world) tapped(name, command string, args ...string) obj {
	w.t.Helper()
	file := w.path("records", name+".tap")
	w.t.Cleanup(func() {
		k := readTap(w.t, file)
		if name != "hub" { // before which stands a client of somebody else
			k.judge(w.t, "the hub towards "+name, spectest.Client)
		}
		k.judge(w.t, name, spectest.Server)
		if b, err := os.ReadFile(file); err == nil && w.t.Failed() {
			w.t.Logf("what the hub and %s have said in the end:\n%s", name, b[max(0, len(b)-4000):])
		}
	})
	return obj{"command": bin.recorder, "args": append([]string{}, args...), "sandbox": w.recording(behind([]string{command})...),
		"env": obj{"RECORDER_TAP": file, "RECORDER_FILE": w.record(name), "RECORDER_WRAP": raw(w.t, []string{command})}}
}

// readTap gives what a tapped child and its client have said so far.
func readTap(t testing.TB, file string) *talk {
	t.Helper()
	k := newTalk()
	b, err := os.ReadFile(file)
	if !os.IsNotExist(err) {
		must(t, err)
	}
	for line := range strings.Lines(string(b)) {
		mark, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		process, text, ok := strings.Cut(rest, " ")
		if !ok {
			t.Fatalf("%s: %q", file, line)
		}
		c := k.sessions[process]
		if c == nil {
			c = k.begin()
			k.sessions[process] = c
		}
		c.Saw(map[string]spectest.Party{">": spectest.Client, "<": spectest.Server}[mark], []byte(text))
	}
	return k
}

// web is a witness between a client and a server over Streamable HTTP.
type web struct {
	*talk
	url    string
	target string
	client *http.Client
	t      testing.TB
	said   []string // what passed, guarded by the lock of talk
}

// saw takes a message, or what went before it.
func (h *web) saw(c *spectest.Conversation, from spectest.Party, text []byte) {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return
	}
	c.Saw(from, text)
	h.note(string(from), string(text))
}

func (h *web) note(who, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, who+": "+what[:min(len(what), 600)])
}

// tapWeb stands in front of an endpoint until the test ends, and then judges these parties by name.
func (w *world) tapWeb(target string, who map[spectest.Party]string) *web {
	w.t.Helper()
	h := &web{talk: newTalk(), target: target, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}, t: w.t}
	server := httptest.NewServer(h)
	h.url = server.URL + "/mcp"
	if token := tokenOf(w.t, target); token != "" {
		tokens.Store(hostOf(w.t, h.url), token) // what its client shows is passed on
	}
	w.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		h.client.CloseIdleConnections()
		for party, name := range who {
			h.judge(w.t, name, party)
		}
		if w.t.Failed() {
			h.mu.Lock()
			defer h.mu.Unlock()
			w.t.Logf("what was said to %s in the end:\n%s", target, strings.Join(h.said[max(0, len(h.said)-12):], "\n"))
		}
	})
	return h
}

// ServeHTTP passes on what comes, and what comes back, message by message.
func (h *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	c := h.conversation(r, body)
	h.note("client", r.Method)
	h.saw(c, spectest.Client, body)
	req, err := http.NewRequestWithContext(r.Context(), r.Method, h.target, bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	req.Header = r.Header.Clone()
	req.Header.Del("Accept-Encoding")
	resp, err := h.client.Do(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		h.mu.Lock()
		h.sessions[id] = c
		h.mu.Unlock()
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	h.note("server", resp.Status+" "+resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_ = http.NewResponseController(w).Flush()
	h.relay(c, w, resp)
}

func (h *web) relay(c *spectest.Conversation, w http.ResponseWriter, resp *http.Response) {
	kind := resp.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "text/event-stream") {
		body, err := io.ReadAll(resp.Body)
		if err == nil && strings.HasPrefix(kind, "application/json") {
			h.saw(c, spectest.Server, body)
		}
		_, _ = w.Write(body)
		return
	}
	in := bufio.NewReader(resp.Body)
	for {
		line, err := in.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			h.saw(c, spectest.Server, data)
		}
		if _, werr := w.Write(line); werr != nil || err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
}

// conversation finds out where a request belongs: those without a handshake are one each.
func (h *web) conversation(r *http.Request, body []byte) *spectest.Conversation {
	var m struct {
		Method string
		Params struct {
			Name, URI, TaskID string
			Meta              map[string]json.RawMessage `json:"_meta"`
		}
	}
	_ = json.Unmarshal(body, &m) // the conversation complains
	h.mu.Lock()
	defer h.mu.Unlock()
	h.posts = append(h.posts, post{r.Header.Clone(), string(body)})
	var version string
	_ = json.Unmarshal(m.Params.Meta["io.modelcontextprotocol/protocolVersion"], &version)
	if version != "" {
		name := m.Params.Name + m.Params.URI + m.Params.TaskID
		for header, want := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": m.Method, "Mcp-Name": name} {
			if got := r.Header.Get(header); got != want && !strings.HasPrefix(got, "=?base64?") {
				h.headers = append(h.headers, fmt.Sprintf("%s: %q beside %s", header, got, body))
			}
		}
	}
	c := h.sessions[r.Header.Get("Mcp-Session-Id")]
	if version != "" || c == nil {
		c = h.begin()
	}
	return c
}
