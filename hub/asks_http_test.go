package hub

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/children/remote"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// askingServer is a server over Streamable HTTP whose one tool asks its client
// {tag} on the stream of the call, and answers with what it was answered.
type askingServer struct {
	mu        sync.Mutex
	asked     map[string]chan string
	answered  chan string                                     // what its questions were answered with
	cancelled chan string                                     // params of notifications/cancelled
	hold      bool                                            // never answers a call
	play      func(w http.ResponseWriter, m *jsonrpc.Message) // answers calls instead of asking; set before the first
}

func serveAsking(t *testing.T) (*askingServer, spec.Spec) {
	a := &askingServer{asked: map[string]chan string{}, answered: make(chan string, 100), cancelled: make(chan string, 100)}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, spec.Spec{Name: "far", URL: server.URL, Transport: remote.HTTP, StartTimeout: 20 * time.Second}
}

func (a *askingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	raw, _ := io.ReadAll(r.Body)
	var m jsonrpc.Message
	if jsonrpc.Split(raw, false, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
	switch {
	case m.Method == "initialize":
		answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"1"}}`)
	case m.Method == "tools/list":
		answer(`{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}`)
	case m.Method == "tools/call":
		a.call(w, r, &m)
	case m.IsResponse():
		a.mu.Lock()
		c := a.asked[string(m.ID)]
		delete(a.asked, string(m.ID))
		a.mu.Unlock()
		a.answered <- string(m.Result) + string(m.Error)
		if c != nil {
			c <- string(m.Result) + string(m.Error)
		}
		w.WriteHeader(http.StatusAccepted)
	default:
		if m.Method == "notifications/cancelled" {
			a.cancelled <- string(m.Params)
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

func (a *askingServer) call(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	if a.play != nil {
		a.play(w, m)
		return
	}
	tag := jsonrpc.Get(m.Param("arguments"), "tag")
	c := make(chan string, 1)
	a.mu.Lock()
	a.asked[string(tag)] = c
	a.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"elicitation/create\",\"params\":{\"message\":%s}}\n\n", tag, tag)
	_ = http.NewResponseController(w).Flush()
	select {
	case got := <-c:
		if a.hold {
			<-r.Context().Done()
			return
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[],\"structuredContent\":{\"answer\":%s}}}\n\n", m.ID, got)
	case <-r.Context().Done():
	}
}

// TestQuestionsGoOnThePOSTOfTheirOwnCall: with many calls at a time, each sees
// its own question and no other, and the answers find their way back.
func TestQuestionsGoOnThePOSTOfTheirOwnCall(t *testing.T) {
	_, spec := serveAsking(t)
	w := serveWeb(t, newTestHub(t, spec), HTTPOptions{})
	const sessions, calls = 2, 25
	var all sync.WaitGroup
	for n := range sessions {
		c := w.initialize(`{"elicitation":{}}`).initialized()
		c.frames(c.request("tools/list", `{}`), nil)
		for i := range calls {
			all.Go(func() {
				tag := fmt.Sprintf(`"%d-%d"`, n, i)
				var seen []string
				got := c.frames(c.request("tools/call", toolCall("far__ask", `{"tag":`+tag+`}`)), func(m *jsonrpc.Message, _ string) {
					seen = append(seen, m.Method+" "+string(m.Params))
					c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","of":%s}}`, m.ID, tag))
				})
				if len(seen) != 1 || seen[0] != `elicitation/create {"message":`+tag+`}` {
					t.Errorf("%s: on its stream: %q", tag, seen)
				}
				if got == nil || answerOf(string(got.Result)) != `{"action":"accept","of":`+tag+`}` {
					t.Errorf("%s: %+v", tag, got)
				}
			})
		}
	}
	all.Wait()
}

// TestHTTPQuestionEndsWithItsCall: the client cancels the call; the question
// ends, with the client's reason for the server and an error for its question.
func TestHTTPQuestionEndsWithItsCall(t *testing.T) {
	far, spec := serveAsking(t)
	far.hold = true // else its answer may come before it can be told
	w := serveWeb(t, newTestHub(t, spec), HTTPOptions{})
	c := w.initialize(`{"elicitation":{}}`).initialized()
	c.frames(c.request("tools/list", `{}`), nil)
	var seen []string
	c.frames(c.request("tools/call", toolCall("far__ask", `{"tag":"x"}`)), func(m *jsonrpc.Message, _ string) {
		seen = append(seen, m.Method)
		if m.Method == "elicitation/create" {
			c.mu.Lock()
			id := c.id
			c.mu.Unlock()
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"never mind"}}`, id))
			if got := <-far.answered; !strings.Contains(got, `"code":-32603`) {
				t.Errorf("the server's question was answered with %s", got)
			}
		}
	})
	if got := <-far.cancelled; !strings.Contains(got, `"reason":"never mind"`) {
		t.Errorf("the server was told %s", got)
	}
	if len(seen) != 2 || seen[1] != "notifications/cancelled" {
		t.Errorf("on the stream: %q", seen)
	}
}

// TestHTTPQuestionOfAProcess: one call under way: the question is on its POST.
func TestHTTPQuestionOfAProcess(t *testing.T) {
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{Asks: true})), HTTPOptions{})
	c := w.initialize(everything).initialized()
	var seen []string
	got := c.frames(c.request("tools/call", asking("kid", "sampling/createMessage", `{"n":12345678901234567890}`)), func(m *jsonrpc.Message, _ string) {
		if m.Method == "roots/list" {
			c.answering()(m, "")
			return
		}
		seen = append(seen, m.Method+" "+string(m.Params))
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"user rejected","data":{"z":1.0}}}`, m.ID))
	})
	if len(seen) != 1 || seen[0] != `sampling/createMessage {"n":12345678901234567890}` {
		t.Errorf("on its stream: %q", seen)
	}
	if answer := answerOf(string(got.Result)); answer != `{"error":{"code":-1,"message":"user rejected","data":{"z":1.0}}}` {
		t.Errorf("answered %s", answer)
	}
	// What is said in a call comes before its answer, on its stream.
	notes := 0
	c.frames(c.request("tools/call", say("kid", "notifications/message", `{"level":"info","data":"#"}`, 5000)), func(m *jsonrpc.Message, _ string) {
		if m.Method == "notifications/message" && string(m.Params) == fmt.Sprintf(`{"level":"info","data":%d}`, notes) {
			notes++
		}
	})
	if notes != 5000 {
		t.Errorf("%d of 5000 messages came in order", notes)
	}
}
