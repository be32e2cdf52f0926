//go:build unix

package hub

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/e2e/childtest"
	"mcphub/hub/audit"
)

// BenchmarkRecord is what the record adds to a call: cpu-ns of hub and client,
// the child not counted, with it and without.
func BenchmarkRecord(b *testing.B) {
	params := []byte(`{"name":"kid__echo","arguments":{"text":"The quick brown fox jumps over the lazy dog 0123456789"}}`)
	for _, callers := range []int{1, 8, 64} {
		for _, kept := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/%t", callers, kept), func(b *testing.B) {
				cfg := testConfig(b, scripted("kid", childtest.Script{}))
				if kept {
					r := audit.NewRecorder(audit.Options{Dir: b.TempDir()}, nil)
					if err := r.Open(); err != nil {
						b.Fatal(err)
					}
					ctx, stop := context.WithCancel(context.Background())
					done := make(chan error, 1)
					go func() { done <- r.Run(ctx) }()
					b.Cleanup(func() {
						stop()
						if err := <-done; err != nil {
							b.Error(err)
						}
					})
					cfg.Audit.Recorder = r
				}
				c := connect(b, runHub(b, cfg), b.TempDir())
				c.handshake(`{"roots":{}}`)
				c.raw("tools/call", string(params))
				b.ReportAllocs()
				b.ResetTimer()
				before := spent(b)
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
				b.ReportMetric(float64(spent(b)-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

func spent(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
