package remote_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"mcphub/children/link"
	"mcphub/children/remote"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// TestPackedAnswers: what a server packs unasked is read, each event when it comes. What comes out is bounded, and what is not packed
// as it says is no answer. Status 201 is as good as 200.
func TestPackedAnswers(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	packed := func(w http.ResponseWriter, kind, text string) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
	}
	s.On["plain"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		packed(w, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"result":{"ok":1}}`)
	}
	s.On["events"] = func(w http.ResponseWriter, r *http.Request, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = fmt.Fprintf(z, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"ok\":1}}\n\n", id)
		_ = z.Flush()
		w.(http.Flusher).Flush()
		<-r.Context().Done() // it stays open
	}
	s.On["created"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"ok":1}}`)
	}
	s.On["bomb"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		packed(w, "application/json", `{"jsonrpc":"2.0","id":`+id+`,"result":"`+strings.Repeat("x", 1<<20)+`"}`)
	}
	s.On["lies"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Encoding", "gzip")
		childtest.Plain(w, id, `{"ok":1}`)
	}
	l, _, _ := open(t, remote.Server{URL: s.URL, FrameLimit: 1 << 16})
	greet(t, l)
	for name, way := range map[string]link.ChildConnection{"with a session": l, "without": l.(link.StatelessConnection).Stateless()} {
		for _, method := range []string{"plain", "events", "created"} {
			if res, err := way.Call(t.Context(), method); err != nil || string(res.Result) != `{"ok":1}` {
				t.Errorf("%s: %s: %v, %+v", name, method, err, res)
			}
		}
		if _, err := way.Call(t.Context(), "bomb"); !errors.As(err, new(*jsonrpc.BrokenError)) {
			t.Errorf("%s: more than may come out: %v", name, err)
		}
		if res, err := way.Call(t.Context(), "lies"); err == nil {
			t.Errorf("%s: what is not packed: %s", name, res.Result)
		}
	}
}
