package hub

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

// BenchmarkHTTPCall is a small call through the front to a child process, with
// the client in the same process, on the fast path and on the slow one.
func BenchmarkHTTPCall(b *testing.B) {
	for name, params := range map[string]string{
		"short": `{"name":"kid__echo","arguments":{"text":"hello hello hello"}}`,
		"long":  `{"name":"\u006bid__echo","arguments":{"text":"hello hello hello"}}`, // an escape in the name
	} {
		b.Run(name, func(b *testing.B) {
			w := benchFront(b)
			s := w.initialize(`{}`).initialized()
			s.frames(s.request("tools/list", `{}`), nil)
			b.ReportAllocs()
			for b.Loop() {
				w.post(b, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`, []string{headerSession, s.session})
			}
		})
	}
	b.Run("modern", func(b *testing.B) {
		w := benchFront(b)
		c := w.modern("")
		c.call("kid__echo", `{"text":"hello"}`)
		frame := c.frame("tools/call", toolCall("kid__echo", `{"text":"hello hello hello"}`))
		header := c.headersOf(frame)
		b.ReportAllocs()
		for b.Loop() {
			w.post(b, frame, header)
		}
	})
}

func benchFront(b *testing.B) *web {
	w := serveWeb(b, newTestHub(b, scripted("kid", childtest.Script{})), HTTPOptions{})
	w.c.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	return w
}

// post makes a call that is to succeed.
func (w *web) post(b *testing.B, frame string, header []string) []byte {
	b.Helper()
	req, _ := http.NewRequest("POST", w.url, strings.NewReader(frame))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for h := header; len(h) > 1; h = h[2:] {
		req.Header.Set(h[0], h[1])
	}
	r, err := w.c.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	raw, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil || r.StatusCode != 200 || bytes.Contains(raw, []byte(`"isError":true`)) {
		b.Fatal(r.StatusCode, err, string(raw))
	}
	return raw
}

// BenchmarkHTTPModernRoots is what roots for each call cost: the same call with a path, by a
// client that gave its roots once after its handshake, by a modern one that
// cannot give roots, and by one that gives them with each call, in a second
// request.
func BenchmarkHTTPModernRoots(b *testing.B) {
	dir := b.TempDir()
	params := toolCall("kid__echo", fmt.Sprintf(`{"path":%q}`, dir))
	b.Run("handshake", func(b *testing.B) {
		w := benchFront(b)
		s := w.initialize(`{"roots":{}}`).initialized()
		s.frames(s.request("tools/call", params), s.answering(dir))
		for b.Loop() {
			w.post(b, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":`+params+`}`, []string{headerSession, s.session})
		}
	})
	b.Run("without", func(b *testing.B) {
		w := benchFront(b)
		c := w.modern("")
		c.call("kid__echo", fmt.Sprintf(`{"path":%q}`, dir))
		frame := c.frame("tools/call", params)
		header := c.headersOf(frame)
		for b.Loop() {
			w.post(b, frame, header)
		}
	})
	b.Run("modern", func(b *testing.B) {
		w := benchFront(b)
		c := w.modern("", dir)
		c.call("kid__echo", fmt.Sprintf(`{"path":%q}`, dir))
		frame := c.frame("tools/call", params)
		header := c.headersOf(frame)
		roots := `{"mcphub-roots":` + string(split(b, rootsAnswer([]byte("1"), dir)).Result) + `}`
		for b.Loop() {
			asked := jsonrpc.Get(w.post(b, frame, header), "result")
			retry := strings.TrimSuffix(frame, "}}") + `,"inputResponses":` + roots + `,"requestState":` + string(jsonrpc.Get(asked, "requestState")) + "}}"
			w.post(b, retry, header)
		}
	})
}
