package httpfront

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/hub/httpfront/fronttest"
)

// TestHTTPSessionsEnd: by being idle, by making room, and not while somebody
// listens.
func TestHTTPSessionsEnd(t *testing.T) {
	hostile(t, Options{Sessions: 2, Idle: 10 * time.Minute}, func(t *testing.T, h *fakeHub, w *web, _ *fronttest.Memory) {
		idle, listens := w.initialize(`{}`).initialized(), w.initialize(`{}`).initialized()
		r := listens.do("GET", "", headerSession, listens.session)
		go func() { _, _ = io.Copy(io.Discard, r.Body) }()
		if r := w.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
			t.Errorf("a third one: %d", r.StatusCode)
		}
		time.Sleep(2 * time.Minute)
		third := w.initialize(`{}`).initialized() // in the place of the one that is idle
		for c, want := range map[*webClient]int{idle: 404, listens: 200, third: 200} {
			if r := c.request("ping", `{}`); r.StatusCode != want {
				t.Errorf("%d, want %d", r.StatusCode, want)
			}
		}
		time.Sleep(12 * time.Minute)
		for c, want := range map[*webClient]int{listens: 200, third: 404} {
			if r := c.request("ping", `{}`); r.StatusCode != want {
				t.Errorf("after ten minutes: %d, want %d", r.StatusCode, want)
			}
		}
		_ = r.Body.Close()
		time.Sleep(12 * time.Minute)
		synctest.Wait()
		if n := len(h.open()); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

// TestHTTPDrains: calls under way are answered, streams end, nothing begins.
func TestHTTPDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub()
		w, m, stop := bubbleWeb(t, h, Options{})
		s := w.initialize(`{}`).initialized()
		s.frames(s.request("tools/list", `{}`), nil)
		listens := s.do("GET", "", headerSession, s.session)
		inTime, late, heard := make(chan string, 1), make(chan error, 1), make(chan string, 1)
		go func() { heard <- body(t, listens) }()
		go func() {
			inTime <- body(t, s.request("tools/call", `{"name":"progress","arguments":{"steps":1,"every":500000000},"_meta":{"progressToken":1}}`))
		}()
		go func() {
			req, _ := http.NewRequest("POST", w.url, strings.NewReader(`{"jsonrpc":"2.0","id":"late","method":"tools/call","params":`+call("sleep", `{}`)+`}`))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set(headerSession, s.session)
			r, err := w.c.Do(req)
			if err == nil {
				_ = r.Body.Close()
			}
			late <- err
		}()
		synctest.Wait()
		began := time.Now()
		stop()
		if took := time.Since(began); took > h.limits.Grace+time.Second {
			t.Errorf("it took %s", took)
		}
		if got := <-inTime; !strings.Contains(got, `"result"`) {
			t.Errorf("a call under way: %s", got)
		}
		<-late // whatever it got, it ended
		if got := <-heard; strings.Contains(got, "jsonrpc") {
			t.Errorf("the stream: %s", got)
		}
		if _, err := m.Dial(t.Context(), "", ""); err == nil {
			t.Error("somebody listens still")
		}
		if n := len(h.open()); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}
