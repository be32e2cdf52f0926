package httpfront

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/hub/httpfront/headers"
	"mcphub/internal/jsonrpc"
)

// Proxies end a connection that is silent for ten seconds. An answer that takes longer, and may be a stream, is not: whatever the
// version, and also while the request waits for its turn. One that has to be JSON stays that.
func TestAnAnswerThatTakesLongIsNotSilent(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"steps":1,"every":30000000000}`
	handshake := func(version string) func(w *web) *http.Response {
		return func(w *web) *http.Response {
			r := w.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
			return w.do("POST", call+`}}`, headers.Session, r.Header.Get(headers.Session), headers.Protocol, version)
		}
	}
	modern := func(accept string) func(w *web) *http.Response {
		return func(w *web) *http.Response {
			return w.do("POST", call+`,"_meta":{"`+mcp.MetaKeyProtocolVersion+`":"2026-07-28"}}}`,
				headers.Protocol, "2026-07-28", mcp.HeaderMethod, "tools/call", mcp.HeaderName, "progress", "Accept", accept)
		}
	}
	for name, tc := range map[string]struct {
		ask    func(w *web) *http.Response
		before int // calls that are under way, of which there may be one
		json   bool
	}{
		"2025-03-26":           {handshake("2025-03-26"), 0, false},
		"2025-06-18":           {handshake("2025-06-18"), 0, false},
		"2025-11-25":           {handshake("2025-11-25"), 0, false},
		"2026-07-28":           {modern("application/json, text/event-stream"), 0, false},
		"2026-07-28, its turn": {modern("application/json, text/event-stream"), 1, false},
		"2026-07-28 as JSON":   {modern("application/json"), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFakeHub()
				h.limits.Calls = 1
				h.modern = fakeRequest{hasMethod: true, serve: func(context.Context, *ModernExchange) jsonrpc.Answer {
					time.Sleep(30 * time.Second)
					return jsonrpc.ResultAnswer([]byte(`{}`))
				}}
				w, _, _ := bubbleWeb(t, h, FrontOptions{})
				for range tc.before {
					go func() { body(t, tc.ask(w)) }()
					synctest.Wait()
				}
				last, most := time.Now(), time.Duration(0)
				r := tc.ask(w)
				var got []byte
				for b := make([]byte, 1000); ; {
					n, err := r.Body.Read(b)
					most = max(most, time.Since(last))
					last, got = time.Now(), append(got, b[:n]...)
					if err == io.EOF {
						break
					} else if err != nil {
						t.Fatal(err)
					}
				}
				if (most < 10*time.Second) == tc.json || (r.Header.Get("Content-Type") == "application/json") != tc.json || r.StatusCode != http.StatusOK {
					t.Errorf("silent for %s: %s %s", most, r.Status, got)
				}
				synctest.Wait()
			})
		})
	}
}
