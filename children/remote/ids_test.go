package remote_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"mcphub/children/link"
	"mcphub/children/remote"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// TestIDsAsStrings: an answer whose id is the string of the number that the request has is
// its answer, in whatever form it comes, and it is counted. That of another number is not.
func TestIDsAsStrings(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	text := func(id string) string { return `"` + id + `"` }
	s.On["plain"] = func(w http.ResponseWriter, _ *http.Request, id string) { childtest.Plain(w, text(id), `{"ok":1}`) }
	s.On["events"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		send := childtest.Events(w)
		send("", `{"jsonrpc":"2.0","id":"1`+id+`","result":{"of":"another"}}`)
		send("", `{"jsonrpc":"2.0","id":`+id+`}`) // which is none
		send("", `{"jsonrpc":"2.0","id":`+text(id)+`,"result":{"ok":1}}`)
	}
	s.On["refused"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no","data":7}}`, text(id))
	}
	s.On["other"] = func(w http.ResponseWriter, _ *http.Request, id string) { childtest.Plain(w, text("1"+id), `{"ok":1}`) }
	s.On["zero"] = func(w http.ResponseWriter, _ *http.Request, id string) { childtest.Plain(w, text("0"+id), `{"ok":1}`) }
	l, _, _ := open(t, remote.Server{URL: s.URL})
	greet(t, l)
	for name, way := range map[string]link.ChildConnection{"with a session": l, "without": l.(link.StatelessConnection).Stateless()} {
		before := l.Facts().TextIDs
		for _, method := range []string{"plain", "events"} {
			if res, err := way.Call(t.Context(), method); err != nil || string(res.Result) != `{"ok":1}` {
				t.Errorf("%s: %s: %v, %+v", name, method, err, res)
			}
		}
		if res, err := way.Call(t.Context(), "refused"); err != nil || res.Err() == nil || string(res.Err().Data) != "7" {
			t.Errorf("%s: refused: %v, %+v", name, err, res)
		}
		for _, method := range []string{"other", "zero"} {
			if _, err := way.Call(t.Context(), method); !errors.As(err, new(*jsonrpc.BrokenError)) {
				t.Errorf("%s: %s: %v", name, method, err)
			}
		}
		if n := l.Facts().TextIDs - before; n != 3 {
			t.Errorf("%s: %d were counted, want 3", name, n)
		}
	}
}

// TestIDsAsStringsBySSE is the same for the older transport, where all answers come on one stream.
func TestIDsAsStringsBySSE(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	out := make(chan string, 10)
	s.Get = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: /messages\n\n")
		_ = http.NewResponseController(w).Flush()
		send := childtest.Events(w)
		for {
			select {
			case data := <-out:
				send("", data)
			case <-r.Context().Done():
				return
			}
		}
	}
	s.On["initialize"] = nil
	s.On["call"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		w.WriteHeader(http.StatusAccepted)
		out <- `{"jsonrpc":"2.0","id":"1` + id + `","result":{"of":"another"}}`
		out <- `{"jsonrpc":"2.0","id":"` + id + `","result":{"ok":1}}`
		out <- `{"jsonrpc":"2.0","id":"` + id + `","result":{"ok":2}}`
		out <- `{"jsonrpc":"2.0","id":"x","result":{}}`
	}
	l, _, _ := open(t, remote.Server{URL: s.URL, Transport: remote.SSE})
	for range 2 {
		if res, err := l.Call(t.Context(), "call"); err != nil || string(res.Result) != `{"ok":1}` {
			t.Errorf("%v, %+v", err, res)
		}
	}
	if n := l.Facts().TextIDs; n != 2 {
		t.Errorf("%d were counted, want 2", n)
	}
}
