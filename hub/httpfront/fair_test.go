package httpfront

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"mcphub/hub/httpfront/headers"
)

// TestHTTPBodiesOfManySessionsAreBounded: what many sessions send at once, none
// of them too much for one, is bounded too; small requests go on being taken.
func TestHTTPBodiesOfManySessionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub()
		h.limits.Frame = 2 << 20
		w, m, _ := bubbleWeb(t, h, FrontOptions{})
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
