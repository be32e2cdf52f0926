package httpfront

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/e2e/fronttest"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/headers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
)

// TestHTTPSessionsEnd: by being idle, by making room, and not while someone
// listens.
func TestHTTPSessionsEnd(t *testing.T) {
	t.Parallel()
	hostile(t, FrontOptions{Sessions: 2, Idle: 10 * time.Minute}, func(t *testing.T, h *fakeHub, w *web, _ *fronttest.Memory) {
		idle, listens := w.initialize(`{}`).initialized(), w.initialize(`{}`).initialized()
		r := listens.do("GET", "", headers.Session, listens.session)
		go func() { _, _ = io.Copy(io.Discard, r.Body) }()
		if r := w.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
			t.Errorf("a third one: %d", r.StatusCode)
		}
		time.Sleep(2 * time.Minute)
		third := w.initialize(`{}`).initialized() // instead of the one that is idle
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

// stopping is a front in a bubble whose end was asked for.
type stopping struct {
	*web
	h     *fakeHub
	m     *fronttest.Memory
	began time.Time
	hurry chan struct{}
	ended chan time.Duration // how long it took
}

// stopped makes a front with the times of the defaults.
func stopped(t *testing.T, test func(t *testing.T, s *stopping, stop func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stopping{h: newFakeHub(), hurry: make(chan struct{}), ended: make(chan time.Duration, 1)}
		w, m, stop := bubbleWeb(t, s.h, FrontOptions{Drain: 5 * time.Second, Grace: 20 * time.Second, Hurry: s.hurry})
		s.web, s.m = w, m
		test(t, s, func() {
			s.began = time.Now()
			go func() { stop(); s.ended <- time.Since(s.began) }()
			synctest.Wait()
		})
	})
}

// ready asks /readyz on a connection of its own.
func (s *stopping) ready() int {
	s.t.Helper()
	r := fronttest.Do(s.t, s.c, "GET", strings.TrimSuffix(s.url, "/mcp")+"/readyz", "")
	return r.StatusCode
}

func (s *stopping) open(version string) *http.Response {
	s.t.Helper()
	return s.do("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{}}}`, version))
}

// later makes a call that takes so long, and gives what came of it.
func (c *webClient) later(took time.Duration) <-chan string {
	got := make(chan string, 1)
	go func() {
		got <- body(c.t, c.request("tools/call", call("progress", fmt.Sprintf(`{"steps":1,"every":%d}`, took))))
	}()
	return got
}

// While it drains, /readyz says so, no session opens, and all else goes on. Then sessions end
// with their last call, which is answered.
func TestStopLosesNoCall(t *testing.T) {
	t.Parallel()
	stopped(t, func(t *testing.T, s *stopping, stop func()) {
		idle, busy := s.initialize(`{}`).initialized(), s.initialize(`{}`).initialized()
		heard := make(chan string, 1)
		listens := idle.do("GET", "", headers.Session, idle.session)
		go func() { heard <- body(t, listens) }()
		long := busy.later(12 * time.Second)
		if got := s.ready(); got != http.StatusOK {
			t.Fatal(got)
		}
		stop()
		if got := s.ready(); got != http.StatusServiceUnavailable {
			t.Errorf("/readyz: %d", got)
		}
		r := s.open("2025-11-25")
		if got := body(t, r); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || !strings.Contains(got, "this hub is stopping") {
			t.Errorf("a new session: %d %s", r.StatusCode, got)
		}
		time.Sleep(4 * time.Second)
		short := busy.later(3 * time.Second)
		if r := idle.request("ping", `{}`); r.StatusCode != http.StatusOK || !r.Close {
			t.Errorf("a session while it drains: %d, the connection stays: %t", r.StatusCode, !r.Close)
		}
		select {
		case got := <-heard:
			t.Errorf("the stream has ended: %s", got)
		default:
		}
		time.Sleep(2 * time.Second) // it has drained
		if got := <-heard; strings.Contains(got, "jsonrpc") {
			t.Errorf("the stream: %s", got)
		}
		for _, c := range []*webClient{idle, busy} {
			if r := c.request("ping", `{}`); r.StatusCode != http.StatusNotFound {
				t.Errorf("a session after that: %d", r.StatusCode)
			}
		}
		for _, call := range []<-chan string{short, long} {
			if got := <-call; !strings.Contains(got, `"done":true`) {
				t.Errorf("a call under way: %s", got)
			}
		}
		if took := <-s.ended; took < 12*time.Second || took > 13*time.Second {
			t.Errorf("it took %s, and the last call 12 s", took)
		}
		if _, err := s.m.Dial(t.Context(), "", ""); err == nil {
			t.Error("somebody listens still")
		}
		if n := len(s.h.open()); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

// A front that no one uses ends when it has drained.
func TestStopOfAnIdleFront(t *testing.T) {
	t.Parallel()
	stopped(t, func(t *testing.T, s *stopping, stop func()) {
		s.initialize(`{}`).initialized()
		stop()
		if took := <-s.ended; took < 5*time.Second || took > 6*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// What is under way when the time is over, or someone is in a hurry, is answered: with why.
func TestStopTellsWhatIsCut(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]struct {
		hurry time.Duration
		took  time.Duration
	}{"the time is over": {took: 25 * time.Second}, "hurry while it drains": {2 * time.Second, 2 * time.Second}, "hurry later": {9 * time.Second, 9 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			stopped(t, func(t *testing.T, s *stopping, stop func()) {
				c := s.initialize(`{}`).initialized()
				plain, streamed := make(chan string, 1), make(chan string, 1)
				go func() {
					plain <- body(t, c.request("tools/call", call("sleep", `{}`), "Accept", "application/json"))
				}()
				go func() { streamed <- body(t, c.request("tools/call", call("sleep", `{}`))) }() // a stream after 5 s
				synctest.Wait()
				stop()
				if in.hurry > 0 {
					time.Sleep(in.hurry)
					close(s.hurry)
				}
				for _, got := range []string{<-plain, <-streamed} {
					if !strings.Contains(got, "this hub is stopping") {
						t.Errorf("a call that is cut: %s", got)
					}
				}
				if took := <-s.ended; took < in.took || took > in.took+time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// A client whose connection broke fetches the answer to its last call, by Last-Event-ID, before
// the session ends.
func TestStopAwaitsWhoComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, ended := newFakeHub(), make(chan time.Duration, 1)
		w, _, stop := bubbleWeb(t, h, FrontOptions{Drain: 5 * time.Second, Grace: 20 * time.Second, Poll: time.Second})
		c := w.initialize(`{}`).initialized()
		r := c.request("tools/call", call("progress", `{"steps":1,"every":8000000000}`))
		last := ""
		for _, line := range strings.Split(body(t, r), "\n") { // its connection lasts a second
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				last = id
			}
		}
		began := time.Now()
		go func() { stop(); ended <- time.Since(began) }()
		time.Sleep(10 * time.Second)
		r = c.do("GET", "", headers.Session, c.session, headers.Protocol, "2025-11-25", headers.LastEvent, last)
		if got := body(t, r); !strings.Contains(got, `"done":true`) {
			t.Errorf("%d %s", r.StatusCode, got)
		}
		if took := <-ended; took < 10*time.Second || took > 11*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// What a call under way asks is answered, by a request of its own, until the end.
func TestStopTakesAnswers(t *testing.T) {
	t.Parallel()
	stopped(t, func(t *testing.T, s *stopping, stop func()) {
		c := s.initialize(`{"sampling":{}}`).initialized()
		stop()
		done := make(chan *jsonrpc.Message, 1)
		go func() {
			done <- c.frames(c.request("tools/call", call("ask", `{}`)), func(m *jsonrpc.Message, _ string) {
				time.Sleep(8 * time.Second)
				if r := c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"said":"yes"}}`, m.ID)); r.StatusCode != http.StatusAccepted {
					t.Errorf("the answer: %d", r.StatusCode)
				}
			})
		}()
		if m := <-done; m == nil || !strings.Contains(string(m.Result), "yes") {
			t.Errorf("%v", m)
		}
		<-s.ended
	})
}

// A request without a session is served while the front drains, also the first of its token, and
// after that refused so that its client comes again.
func TestStopOfRequestsWithoutSession(t *testing.T) {
	t.Parallel()
	stopped(t, func(t *testing.T, s *stopping, stop func()) {
		s.h.modern = fakeRequest{hasMethod: true, serve: serveFor(8 * time.Second)}
		ask := func() *http.Response {
			return s.do("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"`+mcp.MetaKeyProtocolVersion+`":"2026-07-28"}}}`,
				headers.Protocol, "2026-07-28", mcp.HeaderMethod, "tools/call", mcp.HeaderName, "x")
		}
		stop()
		got := make(chan string, 1)
		go func() { got <- body(t, ask()) }()
		time.Sleep(6 * time.Second)
		if r := ask(); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
			t.Errorf("after it has drained: %d", r.StatusCode)
		}
		if text := <-got; !strings.Contains(text, `"done":true`) {
			t.Errorf("under way: %s", text)
		}
		if took := <-s.ended; took < 8*time.Second || took > 9*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// A request that came in before the end, and is looked at after it, opens nothing that no one would end.
func TestStopOpensNothing(t *testing.T) {
	t.Parallel()
	f, err := New(newFakeHub(), FrontOptions{LocalToken: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	f.setStage(closed)
	if session, err := f.enterModernSession(admission.Caller{Principal: principal.User(), Basis: admission.Basis("secret")}, &http.Request{}); err != refusedStopping || session != nil || len(f.modernSessions) > 0 {
		t.Errorf("%v, %v", session, err)
	}
}

// /readyz tells everybody that no call is served, and that calls are again.
func TestReadyAsksTheHub(t *testing.T) {
	t.Parallel()
	hostile(t, FrontOptions{}, func(t *testing.T, h *fakeHub, w *web, _ *fronttest.Memory) {
		s := &stopping{web: w}
		for _, ill := range []error{nil, errors.New("no room"), nil} {
			h.ill = ill
			if got, want := s.ready(), map[bool]int{true: 200, false: 503}[ill == nil]; got != want {
				t.Errorf("%v: %d", ill, got)
			}
		}
	})
}

// serveFor serves a request without a session for so long.
func serveFor(long time.Duration) func(context.Context, *ModernExchange) jsonrpc.Answer {
	return func(ctx context.Context, _ *ModernExchange) jsonrpc.Answer {
		select {
		case <-time.After(long):
			return jsonrpc.ResultAnswer([]byte(`{"done":true}`))
		case <-ctx.Done():
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, context.Cause(ctx).Error())
		}
	}
}
