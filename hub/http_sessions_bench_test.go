package hub

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// BenchmarkHTTPBesideCallers has one principal call alone, and then beside 300 callers of
// another one with 20 sessions, who call without a pause. They are in the same process, and so have a part in its processors.
func BenchmarkHTTPBesideCallers(b *testing.B) {
	for _, share := range []spec.Share{spec.ShareSession, spec.ShareAll} {
		b.Run(share.String(), func(b *testing.B) {
			kid := scripted("kid", childtest.Script{})
			kid.Share = share
			w := serveWeb(b, newTestHub(b, kid), HTTPOptions{Tokens: []Token{{Name: "greedy", Secret: "a"}, {Name: "modest", Secret: "b"}}})
			w.c.Transport.(*http.Transport).MaxIdleConnsPerHost = 400
			greedy, modest := []string{"Authorization", "Bearer a"}, []string{"Authorization", "Bearer b"}
			session := func(who []string) []string {
				return append([]string{headerSession, w.initialize(`{}`, who...).initialized().session}, who...)
			}
			call := func(id int, header []string) time.Duration {
				start := time.Now()
				w.post(b, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, id, toolCall("kid__echo", `{"a":1}`)), header)
				return time.Since(start)
			}
			own, id := session(modest), 0
			measure := func(of int) (p50, p99 float64) {
				all := make([]time.Duration, of)
				for i := range all {
					id++
					all[i] = call(id, own)
				}
				slices.Sort(all)
				return float64(all[of/2].Microseconds()), float64(all[of*99/100].Microseconds())
			}
			measure(200)
			alone50, alone99 := measure(b.N + 1000)
			var others [][]string
			for range 20 {
				others = append(others, session(greedy))
			}
			var over atomic.Bool
			var made atomic.Int64
			var callers sync.WaitGroup
			for n := range 300 {
				callers.Go(func() {
					for i := 1; !over.Load(); i++ {
						call(n*1_000_000+i, others[n%20])
						made.Add(1)
					}
				})
			}
			for made.Load() < 3000 { // all of its servers have started
				call(int(made.Load())+1<<40, own)
			}
			made.Store(0)
			start := time.Now()
			p50, p99 := measure(b.N + 1000)
			b.ReportMetric(float64(made.Load())/time.Since(start).Seconds(), "others-calls/s")
			over.Store(true)
			callers.Wait()
			b.ReportMetric(alone50, "alone-p50-µs")
			b.ReportMetric(alone99, "alone-p99-µs")
			b.ReportMetric(p50, "p50-µs")
			b.ReportMetric(p99, "p99-µs")
		})
	}
}
