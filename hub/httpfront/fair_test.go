package httpfront

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/fronttest"
	"mcphub/hub/httpfront/headers"
)

// TestHTTPBodiesOfManySessionsAreBounded: what many sessions send at once, none
// of them too much for one, is bounded too; small requests go on being taken.
func TestHTTPBodiesOfManySessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub()
		h.limits.Frame = 2 << 20
		w, m, _ := bubbleWeb(t, h, Options{})
		const size = 2<<20 - 10
		chunk := fmt.Sprintf("%x\r\n%s\r\n", size, strings.Repeat(" ", size))
		var taken []net.Conn
		for range allBodies {
			s := w.initialize(`{}`).initialized()
			taken = append(taken, raw(t, m, plainHead+"Content-Type: application/json\r\n"+headers.Session+": "+s.session+"\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk))
		}
		synctest.Wait()
		other := w.initialize(`{}`).initialized()
		large := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`
		if r := other.send(large); r.StatusCode != http.StatusTooManyRequests {
			t.Errorf("a large one more: %d", r.StatusCode)
		}
		if r := other.request("ping", `{}`); r.StatusCode != 200 {
			t.Errorf("a small one: %d", r.StatusCode)
		}
		_ = taken[0].Close()
		synctest.Wait()
		if r := other.send(large); r.StatusCode != 200 {
			t.Errorf("afterwards: %d %s", r.StatusCode, body(t, r))
		}
	})
}

// TestHTTPNoTokenTakesAllSessions: one client that begins sessions without end
// leaves room for the other. Where there is one token it may have them all.
func TestHTTPNoTokenTakesAllSessions(t *testing.T) {
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}}`
	greedy, modest := []string{"Authorization", "Bearer a"}, []string{"Authorization", "Bearer b"}
	for _, tokens := range [][]admission.Token{{{Name: "greedy", Secret: "a"}, {Name: "modest", Secret: "b"}}, {{Name: "greedy", Secret: "a"}}} {
		hostile(t, Options{Sessions: 8, Tokens: tokens}, func(t *testing.T, _ *fakeHub, w *web, _ *fronttest.Memory) {
			got := 0
			for range 20 {
				if w.do("POST", hello, greedy...).StatusCode == http.StatusOK {
					got++
				}
			}
			if want := map[int]int{1: 8, 2: 6}[len(tokens)]; got != want {
				t.Errorf("%d of 8 with %d tokens", got, len(tokens))
			}
			if len(tokens) == 2 {
				w.initialize(`{}`, modest...)
			}
		})
	}
}
