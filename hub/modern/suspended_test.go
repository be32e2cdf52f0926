package modern

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/hub/declaration"
	"mcphub/hub/seal"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// testHost is a Host of clients that give no roots.
type testHost struct{ t *testing.T }

func (testHost) Guard(_ *jsonrpc.Message, serve func() jsonrpc.Answer) (answer jsonrpc.Answer) {
	defer func() {
		if recover() != nil {
			answer = jsonrpc.PanicAnswer()
		}
	}()
	return serve()
}

func (h testHost) Roots() *rootsmgr.Manager                            { h.t.Error("roots are asked for"); return nil }
func (testHost) RootsTimeout() time.Duration                           { return time.Second }
func (testHost) FS() guard.FS                                          { return guard.OS{} }
func (testHost) DeclaredRoots() bool                                   { return false }
func (testHost) BeforeWait(context.Context)                            {}
func (testHost) AwaitServed(context.Context, rootsmgr.RootsView) error { return nil }
func (testHost) Served(string) (set string, rootsView rootsmgr.RootsView) {
	return "", rootsmgr.RootsView{}
}
func (testHost) ServeRoots(context.Context, string, string, rootsmgr.RootsView) error { return nil }

// quiet is a RequestNotifier that no one reads.
type quiet struct{}

func (quiet) Notify(context.Context, string, ...[]byte) error { return nil }
func (quiet) TryNotify(string, ...[]byte) bool                { return true }
func (quiet) TryNotifyLeavingRoom(string, ...[]byte) bool     { return true }

func testServer(t *testing.T) *Server {
	return NewServer(ServerOptions{Host: testHost{t}, Info: []byte(`{}`), Seal: seal.NewRandom(), Bearer: "t", Suspended: new(atomic.Int64)})
}

// A client whose token expires during a call learns whether the call may have run, and nothing of what the server answered.
func TestAClientWhoseTimeIsOverIsToldWhetherItRan(t *testing.T) {
	t.Parallel()
	over := errors.New("the token has expired")
	for answer, want := range map[string]string{
		over.Error() + ". " + texts.MayHaveRun: over.Error() + ". " + texts.MayHaveRun,
		over.Error() + ". " + texts.NotSent:    over.Error(), // an earlier round of it may have been
		over.Error() + ". secret":              over.Error(),
		"secret":                               over.Error(),
		"":                                     over.Error(), // a result
	} {
		v := testServer(t)
		ctx, end := context.WithCancelCause(t.Context())
		m := &jsonrpc.Message{ID: []byte("1"), Method: methods.CallTool, Params: []byte(`{}`)}
		got := v.Serve(ctx, IncomingRequest{Message: m, Notifier: quiet{}, Asks: true}, func(_ *Client, work *jsonrpc.Cancellation, _ *jsonrpc.Message) jsonrpc.Answer {
			end(over)
			<-work.Context().Done()
			if answer == "" {
				return jsonrpc.ResultAnswer([]byte(`{"content":[]}`))
			}
			return jsonrpc.AnswerFailure(answer)
		})
		if told := jsonrpc.ParseError(got.Error).Message; got.Result != nil || told != want {
			t.Errorf("work that ends with %q: the client is told %q and %s, want %q", answer, told, got.Result, want)
		}
		v.Close()
	}
}

// serve has a request served whose params, but for _meta, are members.
func serve(t *testing.T, v *Server, members string, do func(ctx context.Context, c *Client) jsonrpc.Answer) jsonrpc.Answer {
	t.Helper()
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+members+`}}`), true, m); err != nil {
		t.Fatal(err)
	}
	meta := Meta{Claims: declaration.Claims{Known: true, Can: declaration.Abilities{Form: true}}}
	return v.Serve(t.Context(), IncomingRequest{Message: m, Meta: meta, Notifier: quiet{}, Asks: true}, func(c *Client, end *jsonrpc.Cancellation, _ *jsonrpc.Message) jsonrpc.Answer {
		return do(end.Context(), c)
	})
}

// asks is work that asks its client for a form, and answers with what it got.
func asks(ctx context.Context, c *Client) jsonrpc.Answer {
	resp, err := c.Call(ctx, methods.Elicit, []byte(`{"message":"sure?"}`))
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, err.Error())
	}
	return resp.Answer()
}

// Whatever was taken in is done, by goroutines that are idle in between, and none is
// left when the calls were closed.
func TestCallsDoAllWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l callRegistry
		var mu sync.Mutex
		taken, done := 0, 0
		start := func(wait <-chan struct{}) bool {
			return l.startWork(&Client{}, func() {
				if wait != nil {
					<-wait
				}
				mu.Lock()
				done++
				mu.Unlock()
			})
		}
		gate := make(chan struct{})
		for range 3 * maxIdle {
			if !start(gate) {
				t.Fatal("not taken")
			}
			taken++
		}
		close(gate)
		synctest.Wait()
		for range maxIdle + 3 { // as many as are idle, and more
			if start(nil) {
				taken++
			}
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if start(nil) {
					mu.Lock()
					taken++
					mu.Unlock()
				}
			})
		}
		l.closeRegistry()
		all.Wait()
		if start(nil) {
			t.Error("taken after the end")
		}
		if l.all.Wait(); taken != done {
			t.Errorf("%d taken, %d done", taken, done)
		}
	})
}

// A panic is the end of one request alone.
func TestPanicOfOneRequest(t *testing.T) {
	t.Parallel()
	v := testServer(t)
	defer v.Close()
	if answer := serve(t, v, "", func(context.Context, *Client) jsonrpc.Answer { panic(errors.New("broken")) }); !strings.Contains(string(answer.Error), "internal error") {
		t.Errorf("%s %s", answer.Result, answer.Error)
	}
	if answer := serve(t, v, "", func(context.Context, *Client) jsonrpc.Answer { return jsonrpc.ResultAnswer([]byte(`{}`)) }); answer.Result == nil {
		t.Errorf("%s", answer.Error)
	}
}

// Beyond the bound the oldest that gave way is forgotten: its retry is refused.
func TestWhoGaveWayIsRememberedWithinABound(t *testing.T) {
	t.Parallel()
	l := &callRegistry{}
	for i := range MaxSuspended + 5 {
		l.mu.Lock()
		l.noteLapsed(fmt.Sprint(i))
		l.mu.Unlock()
	}
	if len(l.lapsed) != MaxSuspended || l.takeLapsed("4") || !l.takeLapsed("5") || l.takeLapsed("5") {
		t.Errorf("%q", l.lapsed)
	}
}

// What the work ends with is let go of when its client does not come again, whichever comes first.
func TestAnAbandonedAnswerIsReleased(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"answered, then abandoned": "answer", "abandoned, then answered": "abandon", "at once": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &Client{done: make(chan jsonrpc.Answer, 1)}
				ctx := c.end.Context()
				defer c.end.Free()
				var released atomic.Int32
				answer := func() {
					c.deliverAnswer(jsonrpc.Answer{Result: []byte(`{}`), Release: func() { released.Add(1) }})
				}
				abandon := func() { c.abandonWork(errAbandoned) }
				switch first {
				case "answer":
					answer()
					abandon()
				case "abandon":
					abandon()
					answer()
				default:
					go answer()
					go abandon()
				}
				synctest.Wait()
				if n := released.Load(); n != 1 || !errors.Is(context.Cause(ctx), errAbandoned) || len(c.done) != 0 {
					t.Errorf("released %d times, %v", n, context.Cause(ctx))
				}
			})
		})
	}
}

// A suspended request goes on once with the answer to its question. Whether it is taken up or given up, it leaves no timer
// behind, which would hold it for ten minutes more.
func TestSuspendedRequestsLeaveNoTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := testServer(t)
		defer v.Close()
		var suspended []*suspendedCall
		ask := func(n int) (state string) {
			answer := serve(t, v, fmt.Sprintf(`"n":%d`, n), asks)
			state, ok := jsonrpc.String(jsonrpc.Get(answer.Result, MemberState))
			if !ok || jsonrpc.Get(jsonrpc.Get(answer.Result, MemberRequests), "mcphub-1") == nil {
				t.Fatalf("%s %s", answer.Result, answer.Error)
			}
			return state
		}
		note := func() {
			v.calls.mu.Lock()
			defer v.calls.mu.Unlock()
			for _, s := range v.calls.suspended {
				suspended = append(suspended, s)
			}
		}
		state := ask(-1)
		note()
		retry := fmt.Sprintf(`"n":-1,"requestState":%q,"inputResponses":{"mcphub-1":{"action":"accept"}}`, state)
		if answer := serve(t, v, retry, asks); !strings.Contains(string(answer.Result), `"accept"`) {
			t.Errorf("%s %s", answer.Result, answer.Error)
		}
		if answer := serve(t, v, retry, asks); answer.Error == nil || !strings.Contains(string(answer.Error), "answered already") {
			t.Errorf("a second time: %s %s", answer.Result, answer.Error)
		}
		for i := range MaxSuspended + 1 {
			ask(i)
			if i == 0 {
				note() // the oldest, which is given up
			}
		}
		if len(suspended) != 2 {
			t.Fatalf("%d suspended", len(suspended))
		}
		for i, s := range suspended {
			if s.expire.Stop() {
				t.Errorf("%d: its timer still ran", i)
			}
		}
		if n := v.options.Suspended.Load(); n != MaxSuspended {
			t.Errorf("%d are counted", n)
		}
	})
}
