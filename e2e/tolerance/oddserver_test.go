package tolerance

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"

	"mcphub/e2e/world"
)

// An oddity is how a server is odd. The zero value is a healthy one, which does not tell about changes.
type oddity struct {
	Speaks  []string // the versions that it takes at initialize; nil: any
	Refusal obj      // the error object for others
	Status  int      // over HTTP the status for others, instead of Refusal; 0: none

	TextIDs  bool   // it repeats ids as strings
	Indexing int    // so many times tools/list is refused at first
	Hangs    string // a method that it never answers
	Swaps    bool   // once "old" was called, there is "new" in its place, and for "greet" there is "welcome"
	Tells    bool   // once "old" was called, there is "new" too: it says so before it answers, in the same write
}

// An oddServer is a server with an oddity.
type oddServer struct {
	oddity
	mu       sync.Mutex
	indexing int  // left to be refused
	called   bool // "old" was
}

// handle returns the messages by which one is answered, or an HTTP status.
func (s *oddServer) handle(raw []byte) (out []any, status int) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ ProtocolVersion, Name string }
	}
	if json.Unmarshal(raw, &m) != nil || m.ID == nil || m.Method == "" || m.Method == s.Hangs {
		return nil, 0
	}
	if m.Method == "initialize" && s.Speaks != nil && !slices.Contains(s.Speaks, m.Params.ProtocolVersion) && s.Status != 0 {
		return nil, s.Status
	}
	answer := obj{"jsonrpc": "2.0", "id": m.ID}
	if s.TextIDs {
		answer["id"] = string(m.ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(answer, s.answer(m.Method, m.Params.ProtocolVersion, m.Params.Name))
	if m.Method == "tools/call" && s.Tells {
		out = append(out, obj{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
	}
	return append(out, answer), 0
}

func (s *oddServer) answer(method, version, name string) obj {
	refuse := func(code int, text string) obj { return obj{"error": obj{"code": code, "message": text}} }
	result := func(r obj) obj { return obj{"result": r} }
	said := func(text string) []obj { return []obj{{"type": "text", "text": text}} }
	var tools []obj
	for _, tool := range s.tools() {
		tools = append(tools, obj{"name": tool, "inputSchema": obj{"type": "object"}})
	}
	prompt := "greet"
	if s.Swaps && s.called {
		prompt = "welcome"
	}
	switch method {
	case "initialize":
		if s.Speaks != nil && !slices.Contains(s.Speaks, version) {
			return obj{"error": s.Refusal}
		}
		return result(obj{"protocolVersion": version, "capabilities": obj{"tools": obj{"listChanged": s.Tells}, "prompts": obj{}}, "serverInfo": obj{"name": "odd", "version": "1"}})
	case "ping":
		return result(obj{})
	case "tools/list":
		if s.indexing > 0 {
			s.indexing--
			return refuse(-32000, "still indexing")
		}
		return result(obj{"tools": tools})
	case "prompts/list":
		return result(obj{"prompts": []obj{{"name": prompt}}})
	case "prompts/get":
		if name != prompt {
			return refuse(-32602, "Prompt "+name+" not found")
		}
		return result(obj{"messages": []obj{{"role": "user", "content": said("got " + name)[0]}}})
	case "tools/call":
		s.called = true
		if !slices.Contains(s.tools(), name) {
			return result(obj{"content": said("Unknown tool: " + name), "isError": true})
		}
		return result(obj{"content": said("called " + name)})
	}
	return refuse(-32601, "Method not found")
}

func (s *oddServer) tools() []string {
	switch {
	case s.called && s.Swaps:
		return []string{"new"}
	case s.called && s.Tells:
		return []string{"old", "new"}
	}
	return []string{"old"}
}

func newOddServer(o oddity) *oddServer { return &oddServer{oddity: o, indexing: o.Indexing} }

// ServeHTTP serves Streamable HTTP without a session and without a stream of its own.
func (s *oddServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	raw, _ := io.ReadAll(r.Body)
	out, status := s.handle(raw)
	switch {
	case status != 0:
		http.Error(w, "Bad Request: unsupported protocol version", status)
	case out != nil:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out[len(out)-1])
	case s.Hangs != "" && json.Valid(raw) && jsonMethod(raw) == s.Hangs:
		<-r.Context().Done()
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func jsonMethod(raw []byte) string {
	var m struct{ Method string }
	_ = json.Unmarshal(raw, &m)
	return m.Method
}

// oddVariable turns this program into the server on stdio that it describes.
const oddVariable = "MCPHUB_E2E_ODDITY"

// serveIfOdd serves on stdio if this process was started for that.
func serveIfOdd() {
	raw, is := os.LookupEnv(oddVariable)
	if !is {
		return
	}
	var o oddity
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		panic(err)
	}
	s := newOddServer(o)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		out, _ := s.handle(lines.Bytes())
		var text []byte
		for _, m := range out {
			b, err := json.Marshal(m)
			if err != nil {
				panic(err)
			}
			text = append(append(text, b...), '\n')
		}
		if _, err := os.Stdout.Write(text); err != nil {
			break
		}
	}
	os.Exit(0)
}

// start returns a server that was asked nothing yet: the way to it, for a client and for an entry of hub.json.
func (o oddity) start(t *testing.T, http bool) obj {
	t.Helper()
	if http {
		server := httptest.NewServer(newOddServer(o))
		t.Cleanup(func() {
			server.CloseClientConnections()
			server.Close()
		})
		return obj{"url": server.URL + "/mcp"}
	}
	self, err := os.Executable()
	world.Must(t, err)
	return obj{"command": self, "args": []string{}, "env": obj{oddVariable: world.Raw(t, o)}}
}
