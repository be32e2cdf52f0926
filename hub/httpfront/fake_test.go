package httpfront

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/e2e/fronttest"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/seal"
	"mcphub/internal/callertoken"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/mirror"
)

// A fakeHub serves sessions whose tools do what the tests of the front need.
type fakeHub struct {
	limits RequestLimits
	front  atomic.Pointer[Front]
	ill    error         // why it serves no call
	modern ModernRequest // what every modern request is; nil: each is refused

	mu       sync.Mutex
	clients  []*FrontSession // whose sessions run
	sleeping int             // calls of sleep so far
}

func newFakeHub() *fakeHub {
	return &fakeHub{limits: RequestLimits{Frame: 64 << 20, ID: 1 << 10, Calls: 256}}
}

func (h *fakeHub) Limits() RequestLimits { return h.limits }

func (h *fakeHub) Ready(context.Context) error { return h.ill }

func (h *fakeHub) IsModern(m *jsonrpc.Message) bool {
	return jsonrpc.Get(m.Param("_meta"), mcp.MetaKeyProtocolVersion) != nil
}

func (h *fakeHub) CheckToolsets(admission.Caller) error { return nil }

func (h *fakeHub) WithClient(caller admission.Caller, _ *jsonrpc.Message) admission.Caller {
	return caller
}

func (h *fakeHub) NewID(admission.Caller) string { return rand.Text() }

func (h *fakeHub) Elsewhere(_ admission.Caller, id string) string {
	node, _ := strings.CutPrefix(id, "of ")
	return node
}

func (h *fakeHub) Seal() *seal.Sealer { return nil }

func (h *fakeHub) Open(_ admission.Caller, session *FrontSession) HubSession {
	return &fakeSession{hub: h, c: session}
}

func (h *fakeHub) OpenModern(admission.Caller, *FrontSession, int) ModernSession {
	return fakeModern{h}
}

// open returns the clients whose sessions run.
func (h *fakeHub) open() []*FrontSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.clients)
}

type fakeSession struct {
	hub *fakeHub
	c   *FrontSession

	mu       sync.Mutex
	protocol string
}

func (s *fakeSession) Run(ctx context.Context) {
	s.hub.mu.Lock()
	s.hub.clients = append(s.hub.clients, s.c)
	s.hub.mu.Unlock()
	<-ctx.Done()
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.clients = slices.DeleteFunc(s.hub.clients, func(session *FrontSession) bool { return session == s.c })
}

func (s *fakeSession) Initialize(_ context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.protocol, _ = jsonrpc.String(m.Param("protocolVersion"))
	return jsonrpc.ResultAnswer([]byte(`{"serverInfo":{}}`))
}

func (s *fakeSession) Protocol() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.protocol
}

func (s *fakeSession) Notify(*jsonrpc.Message) {}

func (s *fakeSession) Serve(r *PostExchange, end *jsonrpc.Cancellation, m *jsonrpc.Message) jsonrpc.Answer {
	switch m.Method {
	case "ping":
		return jsonrpc.ResultAnswer([]byte(`{}`))
	case "tools/list":
		return jsonrpc.ResultAnswer([]byte(`{"tools":[]}`))
	}
	args := m.Param("arguments")
	switch name, _ := jsonrpc.String(m.Param("name")); name {
	case "token": // that its context has
		return jsonrpc.ResultAnswer([]byte(tokenIn(end.Context())))
	case "echo":
		return jsonrpc.ResultAnswer(slices.Concat([]byte(`{"echo":`), args, []byte(`}`)))
	case "large":
		return jsonrpc.ResultAnswer([]byte(`"` + strings.Repeat("x", 1<<20) + `"`))
	case "sleep":
		s.hub.mu.Lock()
		s.hub.sleeping++
		s.hub.mu.Unlock()
		<-end.Context().Done()
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, context.Cause(end.Context()).Error())
	case "ask":
		resp, err := r.Call(end.Context(), "sampling/createMessage", []byte(`{"n":1}`))
		if err != nil {
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
		}
		return resp.Answer()
	case "progress":
		return progress(r, end, m, args)
	}
	return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "no such tool")
}

// progress says so many steps, one every so many nanoseconds.
func progress(r *PostExchange, end *jsonrpc.Cancellation, m *jsonrpc.Message, args []byte) jsonrpc.Answer {
	var steps, every int
	_, _ = fmt.Sscan(string(jsonrpc.Get(args, "steps")), &steps)
	_, _ = fmt.Sscan(string(jsonrpc.Get(args, "every")), &every)
	for n := range steps {
		wait := time.NewTimer(time.Duration(every))
		select {
		case <-wait.C:
		case <-end.Context().Done():
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "cancelled")
		}
		r.TryNotify("notifications/progress", fmt.Appendf(nil, `{"progressToken":%s,"progress":%d}`, jsonrpc.Get(m.Param("_meta"), "progressToken"), n))
	}
	return jsonrpc.ResultAnswer([]byte(`{"done":true}`))
}

type fakeModern struct{ hub *fakeHub }

func (fakeModern) Run(ctx context.Context) { <-ctx.Done() }
func (s fakeModern) Read(*jsonrpc.Message) (ModernRequest, jsonrpc.Answer, bool) {
	return s.hub.modern, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "fake"), s.hub.modern != nil
}
func (fakeModern) Notify(*jsonrpc.Message) {}
func (fakeModern) Busy() bool              { return false }
func (fakeModern) HangUp()                 {}

// fakeRequest is a ModernRequest.
type fakeRequest struct {
	mirrors   []mirror.Mark
	hasMethod bool
	serve     func(ctx context.Context, r *ModernExchange) jsonrpc.Answer
}

func (r fakeRequest) Mirrors() []mirror.Mark { return r.mirrors }
func (r fakeRequest) HasMethod() bool        { return r.hasMethod }

// tokenIn returns the text of the token that a context has, and whether it has one, as JSON.
func tokenIn(ctx context.Context) string {
	token, ok := callertoken.OfContext(ctx)
	return fmt.Sprintf(`{"token":%q,"has":%t}`, token.Reveal(), ok)
}

func (r fakeRequest) Elsewhere() (string, jsonrpc.Answer) { return "", jsonrpc.Answer{} }

func (r fakeRequest) Serve(ctx context.Context, to *ModernExchange) jsonrpc.Answer {
	return r.serve(ctx, to)
}

// call returns the params of a call of a tool.
func call(name, args string) string { return fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args) }

// hostile runs a test in a bubble, against a front of a fakeHub.
func hostile(t *testing.T, options FrontOptions, test func(t *testing.T, h *fakeHub, w *web, m *fronttest.Memory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHub()
		w, m, _ := bubbleWeb(t, h, options)
		test(t, h, w, m)
	})
}
