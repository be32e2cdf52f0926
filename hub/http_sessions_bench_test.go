package hub

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"mcphub/children/childtest"
	"mcphub/children/spec"
)

// BenchmarkHTTPOpen opens sessions beside as many others that are idle: what
// one takes must not depend on how many there are. held/session is what an idle
// session keeps, stacks included.
func BenchmarkHTTPOpen(b *testing.B) {
	for _, c := range []struct {
		share  spec.Share
		others int
	}{
		{spec.ShareSession, 0}, {spec.ShareSession, 2000}, {spec.ShareSession, 10000},
		{spec.ShareRoots, 0}, {spec.ShareRoots, 10000}, {spec.ShareAll, 0}, {spec.ShareAll, 10000},
	} {
		others := c.others
		b.Run(fmt.Sprintf("%v-beside-%d", c.share, others), func(b *testing.B) {
			spec := scripted("kid", childtest.Script{})
			spec.Share = c.share
			w := serveWeb(b, newTestHub(b, spec), HTTPOptions{Sessions: 1 << 20})
			open := func() { w.open(b, `{}`) }
			open()
			before := held()
			for range others {
				open()
			}
			each := float64(held()-before) / float64(max(others, 1))
			for b.Loop() {
				open()
			}
			if others > 0 {
				b.ReportMetric(each, "held-B/session")
			}
		})
	}
}

// held is what the program keeps: heap and stacks.
func held() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// open begins a session, and says that the client is there.
func (w *web) open(b *testing.B, caps string) (session string) {
	b.Helper()
	for i, frame := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + caps + `,"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	} {
		req, _ := http.NewRequest("POST", w.url, strings.NewReader(frame))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set(headerSession, session)
		}
		r, err := w.c.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if want := []int{200, 202}[i]; r.StatusCode != want {
			b.Fatal(r.Status)
		}
		if session == "" {
			session = r.Header.Get(headerSession)
		}
	}
	return session
}
