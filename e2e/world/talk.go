package world

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

	"mcphub/e2e/spectest"
)

// Talk is what was said over one pipe or to one endpoint, held against the specification of its version.
type Talk struct {
	Mu       sync.Mutex
	first    *spectest.Conversation
	sessions map[string]*spectest.Conversation // by Mcp-Session-Id, or by the process that spoke
	all      []*spectest.Conversation
	headers  []string // what was wrong with the headers of the client
	Posts    []post
}

// post is one request of a client over HTTP.
type post struct {
	header http.Header
	Body   string
}

func newTalk() *Talk {
	t := &Talk{sessions: map[string]*spectest.Conversation{}}
	t.first = t.begin()
	return t
}

// begin must be called with mu held, or before anybody else knows k.
func (k *Talk) begin() *spectest.Conversation {
	c := spectest.NewConversation()
	k.all = append(k.all, c)
	return c
}

// saw takes a line of a pipe.
func (k *Talk) saw(fromServer bool, line []byte) {
	if line = bytes.TrimSpace(line); len(line) > 0 {
		k.first.Saw(map[bool]spectest.Party{true: spectest.Server, false: spectest.Client}[fromServer], line)
	}
}

// Judge fails the test for each thing that a party should not have said.
func (k *Talk) Judge(t testing.TB, who string, party spectest.Party) {
	t.Helper()
	k.Mu.Lock()
	defer k.Mu.Unlock()
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

// Judged counts what was held against a schema: "version method", "version result of method".
func (k *Talk) Judged() map[string]int {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	sum := map[string]int{}
	for _, c := range k.all {
		for what, n := range c.Judged() {
			sum[what] += n
		}
	}
	return sum
}

// Tapped returns the entry of a child on stdio with a witness in front of it, and what will have been said when the test has
// ended. Both sides are judged then: the hub and the child.
func (w *World) Tapped(name, command string, args ...string) obj {
	w.T.Helper()
	file := w.Path("records", name+".tap")
	w.T.Cleanup(func() {
		k := ReadTap(w.T, file)
		if name != "hub" { // before which stands a client of someone else
			k.Judge(w.T, "the hub towards "+name, spectest.Client)
		}
		k.Judge(w.T, name, spectest.Server)
		if b, err := os.ReadFile(file); err == nil && w.T.Failed() {
			w.T.Logf("what the hub and %s have said in the end:\n%s", name, b[max(0, len(b)-4000):])
		}
	})
	return obj{"command": Bin.Recorder, "args": append([]string{}, args...), "sandbox": w.recording(behind([]string{command})...),
		"env": obj{"RECORDER_TAP": file, "RECORDER_FILE": w.Record(name), "RECORDER_WRAP": Raw(w.T, []string{command})}}
}

// ReadTap gives what a tapped child and its client have said so far.
func ReadTap(t testing.TB, file string) *Talk {
	t.Helper()
	k := newTalk()
	b, err := os.ReadFile(file)
	if !os.IsNotExist(err) {
		Must(t, err)
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
	*Talk
	URL    string
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
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.said = append(h.said, who+": "+what[:min(len(what), 600)])
}

// TapWeb stands in front of an endpoint until the test ends, and then judges these parties by name.
func (w *World) TapWeb(target string, who map[spectest.Party]string) *web {
	w.T.Helper()
	h := &web{Talk: newTalk(), target: target, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}, t: w.T}
	server := httptest.NewServer(h)
	h.URL = server.URL + "/mcp"
	if token := TokenOf(w.T, target); token != "" {
		tokens.Store(HostOf(w.T, h.URL), token) // what its client shows is passed on
	}
	w.T.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		h.client.CloseIdleConnections()
		for party, name := range who {
			h.Judge(w.T, name, party)
		}
		if w.T.Failed() {
			h.Mu.Lock()
			defer h.Mu.Unlock()
			w.T.Logf("what was said to %s in the end:\n%s", target, strings.Join(h.said[max(0, len(h.said)-12):], "\n"))
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
		h.Mu.Lock()
		h.sessions[id] = c
		h.Mu.Unlock()
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
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.Posts = append(h.Posts, post{r.Header.Clone(), string(body)})
	var version string
	_ = json.Unmarshal(m.Params.Meta["io.modelcontextprotocol/protocolVersion"], &version)
	if version != "" {
		name := m.Params.Name + m.Params.URI + m.Params.TaskID
		for _, header := range [][2]string{{"Mcp-Protocol-Version", version}, {"Mcp-Method", m.Method}, {"Mcp-Name", name}} {
			if got := r.Header.Get(header[0]); got != header[1] && !strings.HasPrefix(got, "=?base64?") {
				h.headers = append(h.headers, fmt.Sprintf("%s: %q beside %s", header[0], got, body))
			}
		}
	}
	c := h.sessions[r.Header.Get("Mcp-Session-Id")]
	if version != "" || c == nil {
		c = h.begin()
	}
	return c
}
