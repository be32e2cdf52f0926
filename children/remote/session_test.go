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

	"mcphub/children/remote"
	"mcphub/e2e/childtest"
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
			questionCame := make(chan struct{})
			s.On["tools/call"] = func(w http.ResponseWriter, r *http.Request, id string) {
				send := childtest.Events(w)
				send("", `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}`)
				<-questionCame
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
			close(questionCame)
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

// TestRemoteSessionLostByDoubtfulWords: what may as well be about the request is about the session if a ping is refused in the same way. A
// request that may have been executed is not sent again. Words that are about the session need no ping: many servers answer 400 in one that
// they do not know, as the examples of the TypeScript SDK do.
func TestRemoteSessionLostByDoubtfulWords(t *testing.T) {
	t.Parallel()
	const lost = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"Session not found"}}`
	const other = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no such method"}}`
	const known = `{"jsonrpc":"2.0","id":$ID,"result":{}}`
	for name, c := range map[string]struct {
		code, ping       int
		body, pinged     string
		header           string
		sessions, served int    // how many were started, and how often the call came
		fails            string // of the first call; "": it has its result
	}{
		"200":                                {200, 200, lost, lost, "", 2, 2, ""},
		"200, of another session":            {200, 200, lost, known, "", 1, 1, "Session not found"},
		"200, and pings are unknown":         {200, 200, lost, other, "", 1, 1, "Session not found"},
		"200, of something else":             {200, 200, other, lost, "", 1, 1, "no such method"},
		"401":                                {401, 401, "Unauthorized", "Unauthorized", "", 2, 2, ""},
		"401, of the call alone":             {401, 200, "Unauthorized", other, "", 1, 1, "401"},
		"401, with how one authenticates":    {401, 401, "Unauthorized", "Unauthorized", "Bearer", 1, 1, "401"},
		"403":                                {403, 403, lost, lost, "", 2, 2, ""},
		"403, of the call alone":             {403, 200, "Forbidden", other, "", 1, 1, "403"},
		"403, and a ping is refused by 400":  {403, 400, "Forbidden", "what is that", "", 1, 1, "403"},
		"403, and a ping says it clearly":    {403, 404, "Forbidden", "", "", 2, 2, ""},
		"500, and it may have been executed": {500, 500, "oops", "oops", "", 2, 1, "500"},
		"500, in words":                      {500, 500, "unknown session", "unknown session", "", 2, 2, ""},
		"500, an error under the id":         {500, 500, lost, lost, "", 2, 2, ""},
		"500, of the call alone":             {500, 200, "oops", other, "", 1, 1, "500"},
		"404":                                {404, 200, "", known, "", 2, 2, ""},
		"410":                                {410, 200, "", known, "", 2, 2, ""},
		"400, no session":                    {400, 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`, known, "", 2, 2, ""},
		"400, no session, under the id":      {400, 200, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`, known, "", 2, 2, ""},
		"400, not initialized":               {400, 200, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`, known, "", 2, 2, ""},
		"400, in words":                      {400, 200, "Invalid or missing session ID", known, "", 2, 2, ""},
		"400, in other words":                {400, 200, "what is that", known, "", 1, 1, "what is that"},
		"503":                                {503, 503, "session lost", "session lost", "", 1, 1, "503"},
	} {
		t.Run(name, func(t *testing.T) {
			s := childtest.NewServer(t)
			started, called := 0, 0
			s.On["initialize"] = func(w http.ResponseWriter, _ *http.Request, id string) {
				started++
				w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", started))
				childtest.Plain(w, id, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
			}
			answers := func(code int, body string, count *int) func(http.ResponseWriter, *http.Request, string) {
				return func(w http.ResponseWriter, r *http.Request, id string) {
					*count++
					if r.Header.Get("Mcp-Session-Id") != "s1" {
						childtest.Plain(w, id, `{}`)
						return
					}
					if c.header != "" {
						w.Header().Set("WWW-Authenticate", c.header)
					}
					if code == http.StatusOK {
						w.Header().Set("Content-Type", "application/json")
					}
					w.WriteHeader(code)
					_, _ = io.WriteString(w, strings.ReplaceAll(body, "$ID", id))
				}
			}
			pings := 0
			s.On["tools/call"], s.On["ping"] = answers(c.code, c.body, &called), answers(c.ping, c.pinged, &pings)
			l, _, _ := open(t, remote.Server{URL: s.URL, Transport: remote.HTTP})
			greet(t, l)
			res, err := l.Call(t.Context(), "tools/call")
			if err == nil && res.Error != nil {
				err = res.Err()
			}
			if started != c.sessions || called != c.served || pings > 1 {
				t.Errorf("%d sessions were started, it was called %d times, and asked by %d pings", started, called, pings)
			}
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%v", err)
			}
			if c.sessions == 1 {
				return
			}
			if res, err := l.Call(t.Context(), "tools/call"); err != nil || res.Error != nil || started != c.sessions {
				t.Errorf("the next call: %+v, %v", res, err)
			}
		})
	}
}

// TestRemoteSessionsThatAreOfNoUse: a server that begins sessions for everybody and refuses all that is asked in them is not asked for a
// new one with each call.
func TestRemoteSessionsThatAreOfNoUse(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	var started atomic.Int32
	s.On["initialize"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", started.Add(1)))
		childtest.Plain(w, id, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
	}
	refuse := func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusUnauthorized) }
	s.On["tools/call"], s.On["ping"] = refuse, refuse
	l, _, _ := open(t, remote.Server{URL: s.URL, Transport: remote.HTTP})
	greet(t, l)
	for range 50 {
		if _, err := l.Call(t.Context(), "tools/call"); err == nil || !strings.Contains(err.Error(), "401") {
			t.Fatal(err)
		}
	}
	if n := started.Load(); n < 2 || n > 8 { // the pauses before the eighth are two minutes together
		t.Errorf("%d sessions were started", n)
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
