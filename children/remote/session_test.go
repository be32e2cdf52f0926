package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children/childtest"
	"mcphub/children/remote"
	"mcphub/internal/jsonrpc"
)

// TestRemoteSessionIsStartedAgainOnce: many calls find out at once that the server
// has forgotten the session; one of them begins another, all are answered in it.
func TestRemoteSessionIsStartedAgainOnce(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	var started atomic.Int32
	s.On["initialize"] = func(w http.ResponseWriter, r *http.Request, id string) {
		if h := r.Header.Get("Mcp-Session-Id"); h != "" {
			t.Errorf("initialize in the session %s", h)
		}
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", started.Add(1)))
		childtest.Plain(w, id, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
	}
	const calls = 20
	var all sync.WaitGroup
	all.Add(calls) // no call is refused before every one has arrived
	s.On["tools/call"] = func(w http.ResponseWriter, r *http.Request, id string) {
		switch h := r.Header.Get("Mcp-Session-Id"); h {
		case "s1":
			all.Done()
			all.Wait()
			w.WriteHeader(http.StatusNotFound)
		case "s2":
			childtest.Plain(w, id, `{}`)
		default:
			t.Errorf("a call in the session %q", h)
			w.WriteHeader(http.StatusBadRequest)
		}
	}
	l, _, _ := open(t, remote.Server{URL: s.URL, Transport: remote.HTTP})
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
	if n := started.Load(); n != 2 {
		t.Errorf("%d sessions were started", n)
	}
}

// asking is a Handler that answers when it is told to, or its time is over.
type asking struct {
	started chan struct{}
	ended   chan error
	answer  chan struct{}
}

func (h *asking) ServeRequest(ctx context.Context, _ *jsonrpc.Message) jsonrpc.Answer {
	h.started <- struct{}{}
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
	t.Parallel()
	for _, how := range []string{"taken back", "given up", "answered"} {
		t.Run(how, func(t *testing.T) {
			s := childtest.NewServer(t)
			h := &asking{started: make(chan struct{}, 1), ended: make(chan error, 1), answer: make(chan struct{})}
			over := make(chan struct{})
			s.On["tools/call"] = func(w http.ResponseWriter, r *http.Request, id string) {
				send := childtest.Events(w)
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
			l, err := remote.Open(remote.Server{URL: s.URL, Transport: remote.HTTP, FrameLimit: 64 << 20, IDLimit: jsonrpc.DefaultIDLimit}, h, zerolog.Nop())
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
			<-h.started
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
				s.Until("answer", 1)
				return
			}
			cancel(nil)
			<-called
		})
	}
}

// TestRemoteSessionForgottenWhileNothingIsCalled: the child's own stream finds
// out, and a new session is started before anybody calls.
func TestRemoteSessionForgottenWhileNothingIsCalled(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	var started atomic.Int32
	s.On["initialize"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", started.Add(1)))
		childtest.Plain(w, id, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
	}
	listened := make(chan struct{})
	var asked atomic.Int32
	s.Get = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "s1" {
			if asked.Add(1) == 1 {
				send := childtest.Events(w) // and the server ends, with the session
				_, _ = io.WriteString(w, "retry: 1\n")
				send("7", "")
				return
			}
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if last := r.Header.Get("Last-Event-ID"); last != "" {
			t.Errorf("it asks for event %s of the old session", last)
		}
		childtest.Events(w)("", "")
		close(listened)
		<-r.Context().Done()
	}
	l, _, stop := open(t, remote.Server{URL: s.URL, Transport: remote.HTTP})
	greet(t, l)
	<-listened
	s.Until("initialize", 2)
	s.Until("notifications/initialized", 2)
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestRemoteSessionForgottenInOtherWords: many servers answer 400 in a session
// that they do not know, as the examples of the TypeScript SDK do.
func TestRemoteSessionForgottenInOtherWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code  int
		body  string
		again bool
	}{
		{404, ``, true},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`, true},
		{400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`, true},
		{400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`, true},
		{400, "Invalid or missing session ID", true},
		{400, "what is that", false},
		{500, "no session", false},
	} {
		t.Run(c.body, func(t *testing.T) {
			s := childtest.NewServer(t)
			started := 0
			s.On["initialize"] = func(w http.ResponseWriter, _ *http.Request, id string) {
				started++
				w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", started))
				childtest.Plain(w, id, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
			}
			s.On["tools/call"] = func(w http.ResponseWriter, r *http.Request, id string) {
				if r.Header.Get("Mcp-Session-Id") != "s1" {
					childtest.Plain(w, id, `{}`)
					return
				}
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, strings.ReplaceAll(c.body, "$ID", id))
			}
			l, _, _ := open(t, remote.Server{URL: s.URL, Transport: remote.HTTP})
			greet(t, l)
			_, err := l.Call(t.Context(), "tools/call")
			if again := err == nil && started == 2; again != c.again || err != nil && started != 1 {
				t.Errorf("%d sessions were started: %v", started, err)
			}
		})
	}
}

// TestRemoteWithoutAStreamOfItsOwn: a server that has no GET at its address says
// 404 there, as for any other; that is no reason to begin its session again, and
// again.
func TestRemoteWithoutAStreamOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		had  bool // such a stream, before it lost the session
		want int32
	}{{"never had one", false, 1}, {"had one", true, 2}} {
		t.Run(c.name, func(t *testing.T) {
			s := childtest.NewServer(t)
			var started, asked atomic.Int32
			s.On["initialize"] = func(w http.ResponseWriter, _ *http.Request, id string) {
				w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", started.Add(1)))
				childtest.Plain(w, id, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
			}
			s.On["tools/call"] = func(w http.ResponseWriter, _ *http.Request, id string) { childtest.Plain(w, id, `{}`) }
			s.Get = func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) == 1 && c.had {
					send := childtest.Events(w)
					_, _ = io.WriteString(w, "retry: 1\n")
					send("7", "")
					return
				}
				w.WriteHeader(http.StatusNotFound)
			}
			l, _, stop := open(t, remote.Server{URL: s.URL, Transport: remote.HTTP})
			greet(t, l)
			if c.had {
				s.Until("notifications/initialized", 2)
			}
			for range 50 {
				if _, err := l.Call(t.Context(), "tools/call"); err != nil {
					t.Error(err)
				}
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if n := started.Load(); n != c.want {
				t.Errorf("%d sessions were started", n)
			}
		})
	}
}

// TestRemoteErrorUnderAStatusOfItsOwn: an error that is about a request is its
// answer, whatever the status says; what is none is quoted as it is.
func TestRemoteErrorUnderAStatusOfItsOwn(t *testing.T) {
	t.Parallel()
	const odd = `{"code":-32050,"message":"quota","data":{"n":9007199254740993},"more":1.0}`
	for _, c := range []struct {
		code        int
		body        string
		answer, err string
	}{
		{400, `{"jsonrpc":"2.0","id":$ID,"error":` + odd + `}`, odd, ""},
		{422, "{\n\"id\":$ID,\n\"error\":" + odd + "}\n", odd, ""},
		{400, `{"jsonrpc":"2.0","id":null,"error":` + odd + `}`, "", "400 (Bad Request): quota (code -32050)"},
		{401, `{"error":"invalid_token"}`, "", `headers" of this server in hub.json: {"error":"invalid_token"}`},
		{403, `{"jsonrpc":"2.0","id":$ID,"error":` + odd + `}`, "", `hub.json: quota (code -32050)`},
		{500, "Internal oops", "", "Internal oops"},
	} {
		t.Run(c.body, func(t *testing.T) {
			s := childtest.NewServer(t)
			s.On["tools/call"] = func(w http.ResponseWriter, _ *http.Request, id string) {
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, strings.ReplaceAll(c.body, "$ID", id))
			}
			l, _, _ := open(t, remote.Server{URL: s.URL, Transport: remote.HTTP})
			greet(t, l)
			res, err := l.Call(t.Context(), "tools/call")
			switch {
			case c.answer != "" && (err != nil || string(res.Error) != c.answer):
				t.Errorf("%+v, %v", res, err)
			case c.answer == "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}
