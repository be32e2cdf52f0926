package children_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

const discovery = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`

// modernRemote returns a server under the test's control that speaks
// without a handshake.
func modernRemote(t *testing.T) *childtest.Server {
	s := childtest.NewServer(t)
	delete(s.On, "initialize")
	s.On["server/discover"] = func(w http.ResponseWriter, _ *http.Request, id string) { childtest.Plain(w, id, discovery) }
	s.On["tools/list"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		childtest.Plain(w, id, `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":60000,"cacheScope":"public"}`)
	}
	return s
}

// leaseOf runs a Supervisor over one server and returns the right to call it.
func leaseOf(t *testing.T, child spec.Spec) (*children.Lease, *watcher) {
	t.Helper()
	child.Name = "kid"
	w := newWatcher()
	s := start(t, w, children.SupervisorOptions{Specs: []spec.Spec{child}, Version: "v"})
	s.Ensure(modernOne, nil)
	l := acquire(t, s, modernOne)
	t.Cleanup(l.Release)
	return l, w
}

func TestStatelessIsFoundOut(t *testing.T) {
	refuse := func(code int, body string) func(w http.ResponseWriter, r *http.Request, id string) {
		return func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, strings.ReplaceAll(body, "ID", id))
		}
	}
	for name, test := range map[string]struct {
		do   func(w http.ResponseWriter, r *http.Request, id string)
		want string // protocol, or what the error says
	}{
		"modern":                 {func(w http.ResponseWriter, _ *http.Request, id string) { childtest.Plain(w, id, discovery) }, "2026-07-28"},
		"400 without a body":     {refuse(400, ""), "2025-11-25"},
		"400 with a page":        {refuse(400, "<html>no</html>"), "2025-11-25"},
		"400, another error":     {refuse(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`), "2025-11-25"},
		"404":                    {refuse(404, "not found"), "2025-11-25"},
		"404, unknown method":    {refuse(404, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`), "2025-11-25"},
		"405":                    {refuse(405, ""), "2025-11-25"},
		"500":                    {refuse(500, "oops"), "2025-11-25"},
		"200, an error":          {refuse(200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`), "2025-11-25"},
		"200, garbage":           {refuse(200, `garbage`), "2025-11-25"},
		"202, nothing":           {refuse(202, ``), "2025-11-25"},
		"400, another version":   {refuse(400, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"x","data":{"supported":["2025-06-18","2031-01-01"],"requested":"2026-07-28"}}}`), "2025-11-25"},
		"400, no common version": {refuse(400, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"x","data":{"supported":["2031-01-01"],"requested":"2026-07-28"}}}`), "none of the protocol versions"},
		"400, header mismatch":   {refuse(400, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32020,"message":"x"}}`), "refuses server/discover"},
		"a stream without an end": {func(w http.ResponseWriter, r *http.Request, _ string) {
			childtest.Events(w)("", "")
			<-r.Context().Done()
		}, "2025-11-25"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := modernRemote(t)
			s.On["server/discover"] = test.do
			s.On["initialize"] = func(w http.ResponseWriter, r *http.Request, id string) {
				for _, h := range []string{"Mcp-Method", "Mcp-Name", "MCP-Protocol-Version"} {
					if v := r.Header.Get(h); v != "" {
						t.Errorf("initialize has %s: %s", h, v)
					}
				}
				childtest.Plain(w, id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}`)
			}
			child := spec.Spec{Name: "kid", URL: s.URL}
			w := newWatcher()
			sup := start(t, w, children.SupervisorOptions{Specs: []spec.Spec{child}})
			sup.Ensure(modernOne, nil)
			<-sup.Settled(modernOne)
			st := statusOf(t, sup, "kid")
			if !strings.HasPrefix(test.want, "20") {
				if !strings.Contains(st.Err, test.want) {
					t.Errorf("%s", st)
				}
				return
			}
			l := acquire(t, sup, modernOne)
			defer l.Release()
			if o := l.Offer(); o.Protocol != test.want || len(o.Entries[offers.Tools]) != 1 || l.IsModern() != (test.want == "2026-07-28") {
				t.Errorf("offer: %s, %d tools", o.Protocol, len(o.Entries[offers.Tools]))
			}
		})
	}
}

// TestStatelessHeaders holds what is sent against the rules: mirrored headers, no
// session, no GET and no DELETE.
func TestStatelessHeaders(t *testing.T) {
	t.Parallel()
	s := modernRemote(t)
	var gone atomic.Int32
	s.Get = func(w http.ResponseWriter, _ *http.Request) {
		gone.Add(1)
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
	s.On["tools/list"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Mcp-Session-Id", "minted")
		childtest.Plain(w, id, `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}},{"name":"bad","inputSchema":{"properties":{"n":{"type":"number","x-mcp-header":"N"}}}}]}`)
	}
	got := make(chan http.Header, 1)
	s.On["tools/call"] = func(w http.ResponseWriter, r *http.Request, id string) {
		got <- r.Header
		childtest.Plain(w, id, `{"content":[]}`)
	}
	l, _ := leaseOf(t, spec.Spec{URL: s.URL, Headers: map[string]string{"Authorization": "Bearer x", "mcp-name": "forged"}})
	if n := len(l.Offer().Entries[offers.Tools]); n != 1 {
		t.Errorf("%d tools", n)
	}
	if _, err := l.Call(t.Context(), "tools/call", []byte(`{"name":"t","arguments":{"region":"a\r\nX-Evil: 1"}}`)); err != nil {
		t.Fatal(err)
	}
	h := <-got
	for name, want := range map[string]string{
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "t", "Mcp-Param-Region": "=?base64?YQ0KWC1FdmlsOiAx?=",
		"Accept": "application/json, text/event-stream", "Content-Type": "application/json", "Authorization": "Bearer x", "Mcp-Session-Id": "", "X-Evil": "",
	} {
		if v := strings.Join(h.Values(name), "|"); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if n := gone.Load(); n != 0 {
		t.Errorf("%d streams were opened by GET", n)
	}
	if !l.Offer().Private {
		t.Error("what is private is not known to be")
	}
}

// TestStatelessMirrorsOverTheWire lets a server that checks headers have the
// last word, and shows that it would refuse one that is wrong.
func TestStatelessMirrorsOverTheWire(t *testing.T) {
	t.Parallel()
	defs := filepath.Join(t.TempDir(), "defs")
	if err := os.WriteFile(defs, []byte(`{"name":"echo","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	web := childtest.NewWeb(childtest.Script{Era: "modern", Defs: defs})
	server := httptest.NewServer(web)
	t.Cleanup(func() {
		web.Close()
		server.Close()
	})
	l, w := leaseOf(t, web.Spec("kid", server.URL))
	for _, args := range []string{`{"region":"eu"}`, `{"region":"Grüße"}`, `{"region":" x "}`, `{"region":"=?base64?eA==?="}`, `{"region":null}`, `{}`} {
		if got, err := callErr(t.Context(), l, "echo", args); err != nil || !strings.Contains(got, args) {
			t.Errorf("%s: %s, %v", args, got, err)
		}
	}
	// The server changes its mind about what is mirrored, and says nothing: the first
	// call is refused, and has the tools listed again.
	if err := os.WriteFile(defs, []byte(`{"name":"echo","inputSchema":{"type":"object"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := callErr(t.Context(), l, "change", `{"Name":"x"}`); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the tools are listed anew", func() bool {
		return !strings.Contains(string(w.offers[modernOne.String()].Entries[offers.Tools][0]), "x-mcp-header")
	})
	if _, err := callErr(t.Context(), l, "echo", `{"region":"eu"}`); err == nil {
		t.Fatal("the control: the server takes a call without its header")
	}
	if err := os.WriteFile(defs, []byte(`{"name":"echo","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := callErr(t.Context(), l, "echo", `{"region":"eu"}`); err == nil {
		t.Fatal("the control: the server takes a call without its header")
	}
	w.until(t, "a refusal has had the tools listed anew", func() bool {
		return strings.Contains(string(w.offers[modernOne.String()].Entries[offers.Tools][0]), "x-mcp-header")
	})
	if _, err := callErr(t.Context(), l, "echo", `{"region":"eu"}`); err != nil {
		t.Error(err)
	}
}

// TestStatelessAnswers plays what a server may answer a call with.
func TestStatelessAnswers(t *testing.T) {
	t.Parallel()
	s := modernRemote(t)
	l, _ := leaseOf(t, spec.Spec{URL: s.URL})
	for name, test := range map[string]struct {
		do   func(w http.ResponseWriter, r *http.Request, id string)
		want string // the result, or a part of the error
	}{
		"json": {func(w http.ResponseWriter, _ *http.Request, id string) { childtest.Plain(w, id, `{"a":1.0}`) }, `{"a":1.0}`},
		"events": {func(w http.ResponseWriter, _ *http.Request, id string) {
			childtest.Events(w)("", `{"jsonrpc":"2.0","id":`+id+`,"result":{"a":1.0}}`)
		}, `{"a":1.0}`},
		"an error with its status": {func(w http.ResponseWriter, _ *http.Request, id string) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method","data":{"n":1.0}}}`, id)
		}, `error {"code":-32601,"message":"no such method","data":{"n":1.0}}`},
		"a status": {func(w http.ResponseWriter, _ *http.Request, _ string) {
			http.Error(w, "too much", http.StatusTooManyRequests)
		}, "HTTP status 429"},
		"another's answer":   {func(w http.ResponseWriter, _ *http.Request, _ string) { childtest.Plain(w, "999999", `{}`) }, "no answer to this request"},
		"no JSON":            {func(w http.ResponseWriter, _ *http.Request, _ string) { _, _ = fmt.Fprint(w, "hello") }, "could not be read"},
		"a stream that ends": {func(w http.ResponseWriter, _ *http.Request, _ string) { childtest.Events(w)("7", "") }, "ended before the answer"},
		"a stream that breaks": {func(w http.ResponseWriter, _ *http.Request, _ string) {
			childtest.Events(w)("7", "")
			panic(http.ErrAbortHandler)
		}, "ended before the answer"},
		"questions and noise first": {func(w http.ResponseWriter, _ *http.Request, id string) {
			send := childtest.Events(w)
			send("", `{"jsonrpc":"2.0","id":"q","method":"roots/list"}`)
			send("", `garbage`)
			send("", `{"jsonrpc":"2.0","id":424242,"result":{}}`)
			send("", `{"jsonrpc":"2.0","id":`+id+`,"result":{"a":2}}`)
		}, `{"a":2}`},
		"a type that is unknown": {func(w http.ResponseWriter, _ *http.Request, id string) {
			childtest.Plain(w, id, `{"resultType":"odd"}`)
		}, "does not know"},
		"no object": {func(w http.ResponseWriter, _ *http.Request, id string) { childtest.Plain(w, id, `[]`) }, "no object"},
	} {
		s.On["tools/call"] = test.do
		res, err := l.Call(t.Context(), "tools/call", []byte(`{"name":"t"}`))
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case res.Error != nil:
			got = "error " + string(res.Error)
		default:
			got = string(res.Result)
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
		if l.HasEnded() {
			t.Fatalf("%s: the run has ended", name)
		}
	}
	for _, kind := range s.Seen() {
		if kind == "answer" || kind == "initialize" || strings.HasPrefix(kind, "notifications/") {
			t.Errorf("the server was sent %s", kind)
		}
	}
}

// TestStatelessCancelIsTheEndOfTheStream: nothing else is sent.
func TestStatelessCancelIsTheEndOfTheStream(t *testing.T) {
	t.Parallel()
	s := modernRemote(t)
	there, closed := make(chan struct{}), make(chan struct{})
	s.On["tools/call"] = func(w http.ResponseWriter, r *http.Request, _ string) {
		childtest.Events(w)("", "")
		close(there)
		<-r.Context().Done()
		close(closed)
	}
	l, _ := leaseOf(t, spec.Spec{URL: s.URL})
	ctx, cancel := context.WithCancelCause(t.Context())
	why, ended := errors.New("enough"), make(chan error, 1)
	go func() {
		_, err := l.Call(ctx, "tools/call", []byte(`{"name":"t"}`))
		ended <- err
	}()
	<-there
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Error(err)
	}
	<-closed
	if got := strings.Join(s.Seen(), " "); got != "server/discover tools/list tools/call" {
		t.Errorf("the server was sent %s", got)
	}
}

// TestStatelessServerChangesItsEra: one that is asked again after it has said
// that it no longer serves the version is spoken to as it wants it.
func TestStatelessServerChangesItsEra(t *testing.T) {
	t.Parallel()
	s := modernRemote(t)
	var old atomic.Bool
	refused := func(w http.ResponseWriter, id string) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"x","data":{"supported":["2025-11-25"],"requested":"2026-07-28"}}}`, id)
	}
	s.On["server/discover"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		if old.Load() {
			refused(w, id)
			return
		}
		childtest.Plain(w, id, discovery)
	}
	s.On["initialize"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		childtest.Plain(w, id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}`)
	}
	s.On["tools/call"] = func(w http.ResponseWriter, r *http.Request, id string) {
		if old.Load() && r.Header.Get("Mcp-Method") != "" {
			refused(w, id)
			return
		}
		childtest.Plain(w, id, `{"content":[]}`)
	}
	w := newWatcher()
	sup := start(t, w, children.SupervisorOptions{Specs: []spec.Spec{{Name: "kid", URL: s.URL}}})
	sup.Ensure(modernOne, nil)
	l := acquire(t, sup, modernOne)
	if _, err := callErr(t.Context(), l, "t", `{}`); err != nil || !l.IsModern() {
		t.Fatal(err)
	}
	old.Store(true)
	if _, err := callErr(t.Context(), l, "t", `{}`); err == nil || !strings.Contains(err.Error(), "-32022") {
		t.Errorf("%v", err)
	}
	l.Release()
	w.until(t, "the run has ended", func() bool {
		s := w.states[modernOne.String()]
		return slices.Contains(s, children.Ready) && s[len(s)-1] != children.Ready
	})
	l = acquire(t, sup, modernOne)
	defer l.Release()
	if _, err := callErr(t.Context(), l, "t", `{}`); err != nil || l.IsModern() {
		t.Errorf("modern %t, %v", l.IsModern(), err)
	}
}

// TestStatelessStreamIsOpenedAgain: subscriptions outlive a stream that breaks,
// and what may have been missed is looked at.
func TestStatelessStreamIsOpenedAgain(t *testing.T) {
	t.Parallel()
	s := modernRemote(t)
	s.On["server/discover"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		childtest.Plain(w, id, strings.Replace(discovery, `"tools":{}`, `"tools":{"listChanged":true}`, 1))
	}
	var mu sync.Mutex
	var tools []string
	s.On["tools/list"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		mu.Lock()
		defer mu.Unlock()
		childtest.Plain(w, id, `{"resultType":"complete","tools":[`+strings.Join(tools, ",")+`]}`)
	}
	var opened atomic.Int32
	breaks := make(chan struct{})
	s.On["subscriptions/listen"] = func(w http.ResponseWriter, r *http.Request, id string) {
		n := opened.Add(1)
		send := childtest.Events(w)
		send("", `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`},"notifications":{"toolsListChanged":true}}}`)
		if n == 1 {
			<-breaks
			mu.Lock()
			tools = append(tools, `{"name":"new"}`) // no one is told
			mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		<-r.Context().Done()
	}
	l, w := leaseOf(t, spec.Spec{URL: s.URL})
	w.until(t, "the stream is open", func() bool { return opened.Load() > 0 })
	if n := len(l.Offer().Entries[offers.Tools]); n != 0 || opened.Load() != 1 {
		t.Errorf("%d tools, %d streams", n, opened.Load())
	}
	started := time.Now()
	close(breaks)
	w.until(t, "what was missed is there", func() bool { return len(w.offers[modernOne.String()].Entries[offers.Tools]) == 1 })
	if took := time.Since(started); took < 900*time.Millisecond {
		t.Errorf("it was opened again after %s", took)
	}
}
