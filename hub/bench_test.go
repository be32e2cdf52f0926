package hub

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"mcphub/e2e/childtest"
)

// BenchmarkRelay is one call of a child's tool through a session, by as many
// callers at a time: a client in this process, a child in another.
func BenchmarkRelay(b *testing.B) {
	params := []byte(`{"name":"kid__echo","arguments":{"text":"The quick brown fox jumps over the lazy dog 0123456789"}}`)
	for _, callers := range []int{1, 64} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			c := connect(b, newTestHub(b, scripted("kid", childtest.Script{})), b.TempDir())
			c.handshake(`{"roots":{}}`)
			c.raw("tools/call", string(params))
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					for range (b.N + i) / callers {
						r, err := c.conn.Call(context.Background(), "tools/call", params)
						if err != nil || r.Err() != nil {
							b.Error(err, r)
							return
						}
						r.Release()
					}
				})
			}
			wg.Wait()
			b.StopTimer()
		})
	}
}
