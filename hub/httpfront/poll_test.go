package httpfront

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcphub/hub/httpfront/headers"
	"mcphub/internal/jsonrpc"
)

// eventsOf reads a stream to its end: the ids, the retry field, the messages.
func eventsOf(t testing.TB, r *http.Response) (last, retry string, messages []string) {
	t.Helper()
	for sc := bufio.NewScanner(r.Body); sc.Scan(); {
		name, value, _ := strings.Cut(sc.Text(), ": ")
		switch name {
		case "id":
			last = value
		case "retry":
			retry = value
		case "data":
			if value != "" {
				messages = append(messages, value)
			}
		}
	}
	return last, retry, messages
}

// TestHTTPStreamForWhoPrefersOne: the control is the client that names JSON first.
func TestHTTPStreamForWhoPrefersOne(t *testing.T) {
	t.Parallel()
	w := serveWeb(t, newFakeHub(), FrontOptions{})
	c := w.initialize(`{}`).initialized()
	if r := c.request("tools/call", call("echo", `{"n":1}`)); r.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("the control: %s", r.Header.Get("Content-Type"))
	}
	r := c.request("tools/call", call("echo", `{"n":1}`), "Accept", "text/event-stream, application/json")
	if got := r.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("%s", got)
	}
	if last, retry, messages := eventsOf(t, r); last == "" || retry == "" || len(messages) != 1 || !strings.Contains(messages[0], `"id":2`) {
		t.Errorf("id %q, retry %q, %q", last, retry, messages)
	}
}

// TestHTTPPolling: the connection of a call ends long before the call does, and
// so does each that goes on with it; the client gets everything once. One of an
// older protocol, which is told about no event to go on from, keeps its
// connection.
func TestHTTPPolling(t *testing.T) {
	t.Parallel()
	w := serveWeb(t, newFakeHub(), FrontOptions{Poll: 20 * time.Millisecond})
	c := w.initialize(`{"sampling":{}}`).initialized()
	c.frames(c.request("tools/list", `{}`), nil)
	last, retry, messages := eventsOf(t, c.request("tools/call", call("ask", `{}`)))
	for polls := 1; retry != "" && !strings.Contains(strings.Join(messages, ""), `"result"`); polls++ {
		if polls == 5 { // only now is the question answered
			var question jsonrpc.Message
			if len(messages) != 1 || jsonrpc.Split([]byte(messages[0]), false, &question) != nil {
				t.Fatalf("the question: %q", messages)
			}
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"said":12}}`, question.ID))
		}
		id, again, more := eventsOf(t, c.do("GET", "", headers.Session, c.session, headers.Protocol, "2025-11-25", headers.LastEvent, last))
		last, retry, messages = id, again, append(messages, more...)
	}
	if len(messages) != 2 || !strings.Contains(messages[1], `"said":12`) {
		t.Errorf("%q", messages)
	}
	patient := serveWeb(t, newFakeHub(), FrontOptions{Poll: time.Minute}).initialize(`{}`).initialized()
	if r := patient.request("tools/call", call("echo", `{"n":1}`)); r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("what ends at once: %s", r.Header.Get("Content-Type"))
	}

	old := &webClient{web: w}
	r := w.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{}},"clientInfo":{"name":"t","version":"1"}}}`)
	body(t, r)
	old.session = r.Header.Get(headers.Session)
	old.initialized()
	got := old.frames(old.request("tools/call", call("ask", `{}`)), func(m *jsonrpc.Message, _ string) {
		time.AfterFunc(100*time.Millisecond, func() { old.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"said":12}}`, m.ID)) })
	})
	if got == nil || string(got.Result) != `{"said":12}` {
		t.Errorf("2025-06-18: %+v", got)
	}
}
