package hub

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"mcphub/children/childtest"
)

// BenchmarkHTTPCall is a small call through the front to a child process, with
// the client in the same process.
func BenchmarkHTTPCall(b *testing.B) {
	w := serveWeb(b, newTestHub(b, scripted("kid", childtest.Script{})), HTTPOptions{})
	w.c.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	s := w.initialize(`{}`).initialized()
	s.frames(s.request("tools/list", `{}`), nil)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		req, _ := http.NewRequest("POST", w.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"kid__echo","arguments":{"text":"hello hello hello"}}}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set(headerSession, s.session)
		r, err := w.c.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if r.StatusCode != 200 {
			b.Fatal(r.StatusCode)
		}
	}
}
