package hub

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/e2e/seeds"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/principal"
)

// modernStage is a front in a bubble, before one child that asks its client.
func modernStage(t *testing.T, o HTTPOptions, script childtest.Script, test func(t *testing.T, h *Hub, w *web, stop func())) {
	t.Helper()
	play(t, []spec.Spec{played("kid", spec.ShareSession, script)}, func(t *testing.T, h *Hub, _ *stage) {
		w, _, stop := bubbleWeb(t, h, o)
		test(t, h, w, stop)
	})
}

func elicitor(w *web) *modernWeb {
	c := w.modern("")
	c.caps = `{"elicitation":{}}`
	c.answer = func(string, []byte) string { return `{"action":"accept","content":{}}` }
	return c
}

// TestModernHTTPSuspendedCallEnds: one whose client does not come again ends at the
// child when its time is over, and its state with it; one whose client comes in
// time is the control. The session lasts that long.
func TestModernHTTPSuspendedCallEnds(t *testing.T) {
	modernStage(t, HTTPOptions{Idle: time.Minute}, childtest.Script{Asks: true}, func(t *testing.T, h *Hub, w *web, _ func()) {
		c := elicitor(w)
		params := toolCall("kid__ask", elicits)
		late, inTime := c.suspendCall("kid__ask", elicits), c.suspendCall("kid__ask", elicits)
		w.c.CloseIdleConnections() // it goes while its call is suspended
		time.Sleep(modern.StateTime - time.Second)
		if m, _ := c.outcome(c.once("tools/call", c.again(params, inTime.Result)), nil); m.Error != nil || !strings.Contains(string(m.Result), `"accept"`) {
			t.Fatalf("in time: %s%s", m.Result, m.Error)
		}
		if got := c.noticed("kid"); strings.Contains(got, "notifications/cancelled") {
			t.Fatalf("before: %s", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := c.noticed("kid"); strings.Count(got, "notifications/cancelled") != 1 {
			t.Errorf("the child was told %s", got)
		}
		if m, _ := c.outcome(c.once("tools/call", c.again(params, late.Result)), nil); codeOf(m) != -32602 {
			t.Errorf("too late: %s%s", m.Result, m.Error)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := len(h.Status().Sessions); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
		if got := c.noticed("kid"); strings.Contains(got, "cancelled") {
			t.Errorf("a new session has the old child: %s", got)
		}
	})
}

// TestModernHTTPAbandonedCallsAreBounded: a client that asks and never answers
// holds so many calls and no more; the child is told about those given up, and
// the one who answers is served.
func TestModernHTTPAbandonedCallsAreBounded(t *testing.T) {
	modernStage(t, HTTPOptions{}, childtest.Script{Asks: true}, func(t *testing.T, h *Hub, w *web, _ func()) {
		c := elicitor(w)
		calls := 3 * modern.MaxSuspended
		if seeds.Long() {
			calls = 1000
		}
		heap := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		var before uint64
		var last *jsonrpc.Message
		for i := range calls {
			last = c.suspendCall("kid__ask", elicits)
			if i == 2*modern.MaxSuspended {
				synctest.Wait()
				before = heap()
			}
		}
		synctest.Wait()
		if n := h.suspended.Load(); n != modern.MaxSuspended {
			t.Errorf("%d are suspended, want %d", n, modern.MaxSuspended)
		}
		if after := heap(); after > before+8<<20 {
			t.Errorf("%d bytes after %d calls, %d after the first", after, calls, before)
		}
		if got := strings.Count(c.noticed("kid"), "notifications/cancelled"); got != calls-modern.MaxSuspended {
			t.Errorf("the child was told of %d, want %d", got, calls-modern.MaxSuspended)
		}
		if m, _ := c.outcome(c.once("tools/call", c.again(toolCall("kid__ask", elicits), last.Result)), nil); m.Error != nil {
			t.Errorf("the newest: %s", m.Error)
		}
	})
}

// TestModernHTTPSuspendedBytesAreBounded: large calls are given up sooner.
func TestModernHTTPSuspendedBytesAreBounded(t *testing.T) {
	modernStage(t, HTTPOptions{}, childtest.Script{Asks: true}, func(t *testing.T, h *Hub, w *web, _ func()) {
		c := elicitor(w)
		const size = 5 << 20
		large := strings.Replace(elicits, `"sure?"`, `"sure?","x":"`+strings.Repeat("x", size)+`"`, 1)
		for range 3 {
			c.suspendCall("kid__ask", large)
		}
		synctest.Wait()
		if n := h.suspended.Load(); n != 1 {
			t.Errorf("%d are suspended", n)
		}
	})
}

// ear is one stream that a client listens to.
type ear struct {
	status int
	r      *http.Response
	cancel context.CancelFunc
	notes  chan *jsonrpc.Message // closed at the end
	end    *jsonrpc.Message      // the answer, set before notes is closed
}

func (c *modernWeb) listen(filter string) *ear {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	r, err := c.postWhile(ctx, c.frame("subscriptions/listen", `{"notifications":`+filter+`}`))
	if err != nil {
		c.t.Fatal(err)
	}
	e := &ear{status: r.StatusCode, r: r, cancel: cancel, notes: make(chan *jsonrpc.Message, 1000)}
	c.t.Cleanup(func() { cancel(); _ = r.Body.Close() })
	if r.StatusCode != 200 {
		return e
	}
	go func() {
		defer close(e.notes)
		reader := &webClient{web: c.web}
		e.end = reader.frames(r, func(m *jsonrpc.Message, _ string) { e.notes <- m })
	}()
	return e
}

// TestModernHTTPListens: acknowledged first, told about what it asked for and
// of nothing else, with the id of its request; many changes at once are one.
func TestModernHTTPListens(t *testing.T) {
	modernStage(t, HTTPOptions{}, childtest.Script{Library: true}, func(t *testing.T, h *Hub, w *web, stop func()) {
		c := w.modern("")
		c.outcome(c.once("tools/list", `{}`), nil)
		all, prompts := c.listen(`{"toolsListChanged":true,"resourceSubscriptions":["note://1"]}`), c.listen(`{"promptsListChanged":true}`)
		for want, e := range map[string]*ear{`"toolsListChanged":true`: all, `"promptsListChanged":true`: prompts} {
			first := <-e.notes
			id := jsonrpc.Get(first.Param("_meta"), modern.MetaSubscription)
			if first.Method != "notifications/subscriptions/acknowledged" || !strings.Contains(string(first.Param("notifications")), want) || id == nil {
				t.Errorf("%s %s", first.Method, first.Params)
			}
			if e.r.Header.Get("X-Accel-Buffering") != "no" {
				t.Errorf("%v", e.r.Header)
			}
		}
		if r := c.once("subscriptions/listen", `{"notifications":{}}`, "Accept", "application/json"); r.StatusCode != http.StatusNotAcceptable {
			t.Errorf("without a stream: %d", r.StatusCode)
		}
		c.call("kid__change", `{"name":"later"}`)
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		heard := map[string]int{}
		for len(all.notes) > 0 {
			n := <-all.notes
			heard[n.Method+string(n.Param("uri"))]++
			if jsonrpc.Get(n.Param("_meta"), modern.MetaSubscription) == nil {
				t.Errorf("%s %s", n.Method, n.Params)
			}
		}
		if len(heard) != 2 || heard["notifications/tools/list_changed"] != 1 || heard[`notifications/resources/updated"note://1"`] == 0 || len(prompts.notes) != 0 {
			t.Errorf("heard %v, and %d of prompts", heard, len(prompts.notes))
		}
		// The end of the connection is the end of it.
		prompts.cancel()
		for range prompts.notes {
		}
		synctest.Wait()
		if n := listening(h); n != 1 {
			t.Errorf("%d listen", n)
		}
		// A hub that stops says so.
		stop()
		for range all.notes {
		}
		if all.end == nil || string(jsonrpc.Get(all.end.Result, "resultType")) != `"complete"` || jsonrpc.Get(jsonrpc.Get(all.end.Result, "_meta"), modern.MetaSubscription) == nil {
			t.Errorf("the end: %+v", all.end)
		}
	})
}

// listening counts the streams of all sessions.
func listening(h *Hub) (n int) {
	for _, s := range h.sessions.Sessions() {
		n += s.notifier.Streams()
	}
	return n
}

// TestModernHTTPListensAreBounded: beyond the bound they are refused, requests
// are served all the same, and what has ended makes room.
func TestModernHTTPListensAreBounded(t *testing.T) {
	modernStage(t, HTTPOptions{Sessions: 100}, childtest.Script{}, func(t *testing.T, h *Hub, w *web, _ func()) {
		c := w.modern("")
		c.outcome(c.once("tools/list", `{}`), nil)
		var mu sync.Mutex
		var open []*ear
		refused := 0
		each := 10
		if seeds.Long() {
			each = 100
		}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for range each {
					e := c.listen(`{"toolsListChanged":true}`)
					mu.Lock()
					if e.status == http.StatusTooManyRequests {
						refused++
						_, _ = io.Copy(io.Discard, e.r.Body)
					} else {
						open = append(open, e)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if len(open) != 100 || refused != 50*each-100 || listening(h) != 100 {
			t.Errorf("%d open, %d refused, %d listen", len(open), refused, listening(h))
		}
		if _, bad := c.call("kid__echo", `{}`); bad {
			t.Error("a call is not served")
		}
		open[0].cancel()
		for range open[0].notes {
		}
		synctest.Wait()
		if e := c.listen(`{"toolsListChanged":true}`); e.status != 200 {
			t.Errorf("in its place: %d", e.status)
		}
	})
}

// TestModernHTTPGatesHaveTheirTime: calls with other roots wait so long and no
// longer for one that holds the child; those with the same do not wait.
func TestModernHTTPGatesHaveTheirTime(t *testing.T) {
	modernStage(t, HTTPOptions{}, childtest.Script{Asks: true}, func(t *testing.T, h *Hub, w *web, _ func()) {
		mine, other := t.TempDir(), t.TempDir()
		holder, same, waits := w.modern("", mine), w.modern("", mine), w.modern("", other)
		ctx, cancel := context.WithCancel(t.Context())
		retry := func(c *modernWeb, tool, dir string) string {
			params := toolCall(tool, fmt.Sprintf(`{"path":%q}`, dir))
			m, _ := c.outcome(c.once("tools/call", params), nil)
			return c.again(params, m.Result)
		}
		held := make(chan error, 1)
		sleep := retry(holder, "kid__sleep", mine)
		go func() { held <- holder.aborted(ctx, "tools/call", sleep) }()
		synctest.Wait()
		if msg, bad := same.call("kid__echo", fmt.Sprintf(`{"path":%q}`, mine)); bad {
			t.Errorf("the same roots: %s", msg)
		}
		began := time.Now()
		msg, bad := waits.call("kid__echo", fmt.Sprintf(`{"path":%q}`, other))
		if took := time.Since(began); !bad || !strings.Contains(msg, "other roots") || took < modern.GateTime || took > modern.GateTime+time.Second {
			t.Errorf("after %s: %s", took, msg)
		}
		if _, bad := w.modern("").call("kid__noticed", `{}`); bad {
			t.Error("a call without a path has waited")
		}
		done := make(chan bool, 1)
		go func() {
			_, bad := waits.call("kid__echo", fmt.Sprintf(`{"path":%q}`, other))
			done <- bad
		}()
		synctest.Wait()
		cancel()
		if <-held == nil {
			t.Error("it was answered")
		}
		if <-done {
			t.Error("its turn did not come")
		}
	})
}

// TestModernHTTPTokenExpiresDuringACall: the answer includes whether the call may have run.
func TestModernHTTPTokenExpiresDuringACall(t *testing.T) {
	const issuer = "https://login.example"
	o := HTTPOptions{Resource: &Resource{URL: "https://hub.example/mcp", Issuers: []string{issuer}, Verify: func(context.Context, string) (admission.Caller, error) {
		return admission.Caller{Principal: principal.Principal{Name: "dave", Issuer: issuer}, Expires: time.Now().Add(10 * time.Second)}, nil
	}, Basis: func(admission.Caller) string { return "dave" }}}
	modernStage(t, o, childtest.Script{}, func(t *testing.T, h *Hub, w *web, _ func()) {
		c := w.modern("a token", "/a")
		c.caps = `{"roots":{},"elicitation":{}}` // it may be asked
		const want = "the token of the session has expired. It was sent to its server and may have run."
		if m, _ := c.outcome(c.once("tools/call", toolCall("kid__sleep", `{}`)), nil); m.Result != nil || jsonrpc.ParseError(m.Error).Message != want {
			t.Errorf("%s%s", m.Result, m.Error)
		}
	})
}
