package hub

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mcphub/children/remote"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// openStream opens the client's own stream and hands over what comes on it.
func (c *webClient) openStream() <-chan string {
	c.t.Helper()
	r := c.do("GET", "", append([]string{headerSession, c.session, headerProtocol, "2025-11-25"}, c.header...)...)
	if r.StatusCode != 200 {
		c.t.Fatalf("GET: %d", r.StatusCode)
	}
	heard := make(chan string, 100)
	go c.frames(r, func(m *jsonrpc.Message, _ string) { heard <- m.Method + " " + string(m.Params) })
	return heard
}

// What a process says about its own while a call is under way goes on the
// client's stream, if there is one: only a log message may belong to the call.
func TestHTTPWhatAProcessSaysBeside(t *testing.T) {
	w := serveWeb(t, newTestHub(t, scripted("kid", childtest.Script{Asks: true})), HTTPOptions{})
	for _, own := range []bool{true, false} {
		c := w.initialize(`{"experimental":{"odd":{}}}`).initialized()
		var heard <-chan string
		if own {
			heard = c.openStream()
		}
		for _, method := range []string{"notifications/message", "notifications/odd"} {
			var post []string
			c.frames(c.request("tools/call", say("kid", method, `{"level":"info","data":1.0}`, 1)), func(m *jsonrpc.Message, _ string) {
				post = append(post, m.Method+" "+string(m.Params))
			})
			want := method + ` {"level":"info","data":1.0}`
			if own && method == "notifications/odd" {
				if got := <-heard; got != want || len(post) != 0 {
					t.Errorf("on its own stream %s, on the call's POST %q", got, post)
				}
			} else if len(post) != 1 || post[0] != want {
				t.Errorf("own stream %t: on the call's POST %q, want %s", own, post, want)
			}
		}
	}
}

// A server over HTTP tells by the stream what belongs to which call: the client is
// told likewise.
func TestHTTPWhatAServerSaysBeside(t *testing.T) {
	beside := make(chan string)
	var both sync.WaitGroup // both calls are under way
	both.Add(2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note := func(data string) {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":%q}}\n\n", data)
			_ = http.NewResponseController(w).Flush()
		}
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			for {
				select {
				case data := <-beside:
					note(data)
				case <-r.Context().Done():
					return
				}
			}
		}
		raw, _ := io.ReadAll(r.Body)
		var m jsonrpc.Message
		if jsonrpc.Split(raw, false, &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		switch m.Method {
		case "initialize":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"far","version":"1"}}}`, m.ID)
		case "tools/list":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}}`, m.ID)
		case "tools/call":
			tag, _ := jsonrpc.String(jsonrpc.Get(m.Param("arguments"), "tag"))
			w.Header().Set("Content-Type", "text/event-stream")
			both.Done()
			both.Wait()
			beside <- "beside " + tag
			note("of " + tag)
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		}
	}))
	t.Cleanup(server.Close)
	w := serveWeb(t, newTestHub(t, spec.Spec{Name: "far", URL: server.URL, Transport: remote.HTTP}), HTTPOptions{})
	c := w.initialize(`{}`).initialized()
	heard := c.openStream()
	posts := make(chan []string, 2)
	for _, tag := range []string{"one", "two"} {
		go func() {
			var post []string
			c.frames(c.request("tools/call", toolCall("far__go", `{"tag":"`+tag+`"}`)), func(m *jsonrpc.Message, _ string) {
				text, _ := jsonrpc.String(m.Param("data"))
				post = append(post, text)
			})
			posts <- append(post, tag)
		}()
	}
	for range 2 {
		if got := <-heard; !strings.Contains(got, `"data":"beside `) {
			t.Errorf("on its own stream %s", got)
		}
		if post := <-posts; len(post) != 2 || post[0] != "of "+post[1] {
			t.Errorf("on the call's POST %q", post)
		}
	}
}
