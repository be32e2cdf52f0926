package children_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
)

// TestRemoteSessionIsBegunAgainOnce: many calls find out at once that the server
// has forgotten the session; one of them begins another, all are answered in it.
func TestRemoteSessionIsBegunAgainOnce(t *testing.T) {
	s := newRemote(t)
	var began atomic.Int32
	s.on["initialize"] = func(w http.ResponseWriter, r *http.Request, id string) {
		if h := r.Header.Get("Mcp-Session-Id"); h != "" {
			t.Errorf("initialize in the session %s", h)
		}
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", began.Add(1)))
		plain(w, id, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
	}
	const calls = 20
	var all sync.WaitGroup
	all.Add(calls) // no call is refused before every one has arrived
	s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, id string) {
		switch h := r.Header.Get("Mcp-Session-Id"); h {
		case "s1":
			all.Done()
			all.Wait()
			w.WriteHeader(http.StatusNotFound)
		case "s2":
			plain(w, id, `{}`)
		default:
			t.Errorf("a call in the session %q", h)
			w.WriteHeader(http.StatusBadRequest)
		}
	}
	l, _, _ := link(t, children.Spec{URL: s.URL, Transport: children.TransportHTTP})
	greet(t, l)
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			if _, err := l.Call(t.Context(), "tools/call"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := began.Load(); n != 2 {
		t.Errorf("%d sessions were begun", n)
	}
}

// asking is a Handler that answers when it is told to, or its time is over.
type asking struct {
	begun  chan struct{}
	ended  chan error
	answer chan struct{}
}

func (h *asking) ServeRequest(ctx context.Context, _ *jsonrpc.Message) jsonrpc.Answer {
	h.begun <- struct{}{}
	select {
	case <-h.answer:
		h.ended <- nil
	case <-ctx.Done():
		h.ended <- context.Cause(ctx)
	}
	return jsonrpc.ResultAnswer([]byte(`{}`))
}

func (h *asking) ServeNotification(*jsonrpc.Message) {}

// TestRemoteQuestionOfACall: one that the child takes back, or whose call is
// given up, ends; one whose call was answered goes on.
func TestRemoteQuestionOfACall(t *testing.T) {
	for _, how := range []string{"taken back", "given up", "answered"} {
		t.Run(how, func(t *testing.T) {
			s := newRemote(t)
			h := &asking{begun: make(chan struct{}, 1), ended: make(chan error, 1), answer: make(chan struct{})}
			over := make(chan struct{})
			s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, id string) {
				send := events(w)
				send("", `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}`)
				<-over
				switch how {
				case "taken back":
					send("", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q","reason":"never mind"}}`)
					<-r.Context().Done()
				case "given up":
					<-r.Context().Done()
				case "answered":
					send("", `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
				}
			}
			l, err := children.Remote{}.Launch(children.Launch{}, children.Spec{Name: "r", URL: s.URL, Transport: children.TransportHTTP}, h, zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			run, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- l.Run(run) }()
			defer func() { stop(); <-ended }()
			greet(t, l)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			called := make(chan error, 1)
			go func() {
				_, err := l.Call(ctx, "tools/call")
				called <- err
			}()
			<-h.begun
			close(over)
			switch how {
			case "taken back":
				var gone *jsonrpc.CancelledError
				if err := <-h.ended; !errors.As(err, &gone) || gone.Reason != "never mind" {
					t.Errorf("%v", err)
				}
			case "given up":
				cancel(errors.New("enough"))
				if err := <-h.ended; err == nil || err.Error() != "enough" {
					t.Errorf("%v", err)
				}
			case "answered":
				if err := <-called; err != nil {
					t.Fatal(err)
				}
				close(h.answer)
				if err := <-h.ended; err != nil {
					t.Errorf("it ended with the call: %v", err)
				}
				s.until("answer", 1)
				return
			}
			cancel(nil)
			<-called
		})
	}
}

// TestRemoteSessionForgottenWhileNothingIsCalled: the child's own stream finds
// out, and a new session is begun before anybody calls.
func TestRemoteSessionForgottenWhileNothingIsCalled(t *testing.T) {
	s := newRemote(t)
	var began atomic.Int32
	s.on["initialize"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", began.Add(1)))
		plain(w, id, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
	}
	listened := make(chan struct{})
	s.get = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "s1" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if last := r.Header.Get("Last-Event-ID"); last != "" {
			t.Errorf("it asks for event %s of the old session", last)
		}
		events(w)("", "")
		close(listened)
		<-r.Context().Done()
	}
	l, _, stop := link(t, children.Spec{URL: s.URL, Transport: children.TransportHTTP})
	greet(t, l)
	<-listened
	s.until("initialize", 2)
	s.until("notifications/initialized", 2)
	if err := stop(); err != nil {
		t.Error(err)
	}
}
