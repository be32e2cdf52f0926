package remote_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/link"
	"mcphub/children/remote"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
)

type handler struct {
	mu    sync.Mutex
	notes []string
	note  chan string
}

func (h *handler) ServeRequest(_ context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	return jsonrpc.ResultAnswer([]byte(`{"to":"` + m.Method + `"}`))
}

func (h *handler) ServeNotification(m *jsonrpc.Message) {
	h.mu.Lock()
	h.notes = append(h.notes, m.Method)
	h.mu.Unlock()
	h.note <- m.Method
}

// open connects to a server for the length of a test.
func open(t *testing.T, s remote.Server) (link.ChildConnection, *handler, func() error) {
	t.Helper()
	h := &handler{note: make(chan string, 100)}
	s.FrameLimit, s.IDLimit = cmp.Or(s.FrameLimit, 64<<20), jsonrpc.DefaultIDLimit
	l, err := remote.Open(s, h, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	stop := sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() })
	return l, h, stop
}

func greet(t *testing.T, l link.ChildConnection) {
	t.Helper()
	res, err := l.Call(t.Context(), "initialize", []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	if err != nil || res.Err() != nil {
		t.Fatalf("initialize: %v", err)
	}
	if err := l.Notify(t.Context(), "notifications/initialized"); err != nil {
		t.Fatal(err)
	}
}

func TestRemoteKeepsConnectionsForLargeAnswers(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	big := `{"text":"` + strings.Repeat("x", 1<<20) + `",` + "\r\n" + `"n":12345678901234567890}`
	s.On["tools/call"] = func(w http.ResponseWriter, r *http.Request, id string) {
		if r.Header.Get("Mcp-Session-Id") != "s1" || r.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || r.Header.Get("X-Key") != "k" {
			t.Errorf("headers: %v", r.Header)
		}
		childtest.Plain(w, id, big)
	}
	l, _, _ := open(t, remote.Server{URL: s.URL, Headers: map[string]string{"X-Key": "k"}})
	greet(t, l)
	s.Until("notifications/initialized", 1)
	before := s.Conns.Load()
	for range 50 {
		res, err := l.Call(t.Context(), "tools/call", []byte(`{"a":`), []byte(`1}`))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.ReplaceAll(big, "\r\n", "  "); string(res.Result) != want {
			t.Fatalf("%d bytes", len(res.Result))
		}
	}
	if n := s.Conns.Load() - before; n > 2 {
		t.Errorf("%d new connections for 50 calls", n)
	}
}

func TestRemoteAnswersWhatIsAskedOnTheStreamOfACall(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	s.On["tools/call"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		send := childtest.Events(w)
		send("", `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`)
		send("", `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}`)
		s.Until("answer", 1)
		told := s.Told(`"q"`)
		send("", `{"jsonrpc":"2.0","id":`+id+`,"result":`+told+`}`)
	}
	l, h, _ := open(t, remote.Server{URL: s.URL})
	greet(t, l)
	res, err := l.Call(t.Context(), "tools/call")
	if err != nil || string(res.Result) != `{"to":"elicitation/create"}` {
		t.Fatalf("%v %v", res, err)
	}
	if n := <-h.note; n != "notifications/progress" {
		t.Error(n)
	}
}

func TestRemoteTakesABrokenAnswerUpAgain(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	var again atomic.Int32
	s.On["tools/call"] = func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 7\nretry: 10\ndata:\n\n")
	}
	s.Get = func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-ID")
		switch {
		case last == "":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case again.Add(1) == 1: // again without an answer
			childtest.Events(w)("8", `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		case last != "8":
			t.Errorf("taken up behind %s", last)
		default:
			childtest.Events(w)("9", `{"jsonrpc":"2.0","id":2,"result":{"late":true}}`)
		}
	}
	l, _, _ := open(t, remote.Server{URL: s.URL})
	greet(t, l)
	res, err := l.Call(t.Context(), "tools/call")
	if err != nil || string(res.Result) != `{"late":true}` {
		t.Fatalf("%v %v", res, err)
	}
}

func TestRemoteOwnStreamIsOpenedAgain(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	var opened atomic.Int32
	s.Get = func(w http.ResponseWriter, r *http.Request) {
		n := opened.Add(1)
		if n == 2 && r.Header.Get("Last-Event-ID") != "a" {
			t.Errorf("opened again behind %q", r.Header.Get("Last-Event-ID"))
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "retry: 5\nid: a\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"n%d\"}\n\n", n)
		_ = http.NewResponseController(w).Flush()
		if n > 1 {
			<-r.Context().Done()
		}
	}
	l, h, stop := open(t, remote.Server{URL: s.URL})
	greet(t, l)
	for _, want := range []string{"n1", "n2"} {
		if got := <-h.note; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestRemoteOwnStreamIsOpenBeforeCalls: servers drop what belongs to no request
// while no stream is open that it could go on. The one that keeps the head of its
// stream to itself holds no one up for long; one that has none does not at all.
func TestRemoteOwnStreamIsOpenBeforeCalls(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	go1, there := make(chan struct{}), atomic.Bool{}
	s.On["notifications/initialized"] = func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(http.StatusAccepted)
		time.AfterFunc(50*time.Millisecond, func() { close(go1) })
	}
	s.Get = func(w http.ResponseWriter, r *http.Request) {
		<-go1
		w.Header().Set("Content-Type", "text/event-stream")
		there.Store(true)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	l, _, stop := open(t, remote.Server{URL: s.URL})
	greet(t, l)
	if !there.Load() {
		t.Error("the child counts as ready before its stream is open")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	greeted := func(get func(w http.ResponseWriter, r *http.Request)) time.Duration {
		s := childtest.NewServer(t)
		s.Get = get
		l, _, stop := open(t, remote.Server{URL: s.URL})
		defer func() { _ = stop() }()
		started := time.Now()
		greet(t, l)
		return time.Since(started)
	}
	held := greeted(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if held > bounds.Of(2*time.Second) {
		t.Errorf("no head: ready after %s", held)
	}
	free := greeted(nil)
	for range 5 { // a busy machine may hold one up, not each
		free = min(free, greeted(nil))
	}
	if free > held/2 {
		t.Errorf("no stream: ready after %s at the least, %s where its head is kept back", free, held)
	}
}

// TestRemoteTakesAnswersOnTheOwnStream: a server may accept a request, and answer it on its own stream, as older transports did: each answer goes to
// the request whose id it has. If that stream ends for good, or if there never was one, nothing is waited for.
func TestRemoteTakesAnswersOnTheOwnStream(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	asked, end := make(chan string, 2), make(chan struct{})
	s.On["tools/call"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		w.WriteHeader(http.StatusAccepted)
		_ = http.NewResponseController(w).Flush() // before the stream can end
		asked <- id
	}
	var opened atomic.Bool
	s.Get = func(w http.ResponseWriter, _ *http.Request) {
		if opened.Swap(true) {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for _, id := range []string{<-asked, <-asked} {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"of\":%s}}\n\n", id, id)
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"of\":\"again\"}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}\n\n", id)
			_ = http.NewResponseController(w).Flush()
		}
		<-end
	}
	l, _, _ := open(t, remote.Server{URL: s.URL})
	greet(t, l)
	call := func() string {
		res, err := l.Call(t.Context(), "tools/call")
		if err != nil {
			return err.Error()
		}
		return string(res.Result)
	}
	var calls sync.WaitGroup
	said := make([]string, 2)
	for i := range said {
		calls.Go(func() { said[i] = call() })
	}
	calls.Wait()
	if slices.Sort(said); !slices.Equal(said, []string{`{"of":2}`, `{"of":3}`}) {
		t.Errorf("the answers are %q", said)
	}
	calls.Go(func() { said[0] = call() })
	<-asked
	close(end)
	if calls.Wait(); !strings.Contains(said[0], "ended before the answer") {
		t.Errorf("after the end of the stream: %s", said[0])
	}
	if got := call(); !strings.Contains(got, "202") {
		t.Errorf("without a stream: %s", got)
	}
	if got := l.Facts().Skipped; got != 4 {
		t.Errorf("%d answers were skipped", got)
	}
}

func TestRemoteCancelledCallIsTold(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	s.On["tools/call"] = func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() }
	l, _, _ := open(t, remote.Server{URL: s.URL})
	greet(t, l)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		s.Until("tools/call", 1)
		cancel(errors.New("enough"))
	}()
	if _, err := l.Call(ctx, "tools/call"); err == nil || err.Error() != "enough" {
		t.Errorf("%v", err)
	}
	s.Until("notifications/cancelled", 1)
}

func TestRemoteSendsCredentialsToNoOtherHost(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host was sent %v", r.Header)
	}))
	defer other.Close()
	s := childtest.NewServer(t)
	s.On["initialize"] = func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}
	spec := remote.Server{URL: s.URL, Transport: remote.HTTP, Headers: map[string]string{"Authorization": "Bearer secret"}}
	l, _, _ := open(t, spec)
	if _, err := l.Call(t.Context(), "initialize", []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "redirects to") {
		t.Errorf("%v", err)
	}
	s.Get = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s/steal\n\n", other.URL)
	}
	spec.Transport = remote.SSE
	l, _, _ = open(t, spec)
	if _, err := l.Call(t.Context(), "initialize", []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("%v", err)
	}
	// The control: on its own host a redirect is followed, with the credentials.
	s.On["initialize"] = func(w http.ResponseWriter, r *http.Request, id string) {
		if r.URL.Path != "/moved" {
			http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
			return
		}
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Error("the credentials did not go with it")
		}
		childtest.Plain(w, id, `{}`)
	}
	spec.Transport = remote.HTTP
	l, _, _ = open(t, spec)
	if _, err := l.Call(t.Context(), "initialize", []byte(`{}`)); err != nil {
		t.Error(err)
	}
}

// A request that is redirected stays what it is, and keeps its session. What is not followed is said with the line to change.
func TestRemoteFollowsRedirects(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{301: "", 302: "", 303: `status 303 (See Other): it redirects to http://`, 307: "", 308: ""} {
		s := childtest.NewServer(t)
		moves := func(then func(http.ResponseWriter, *http.Request, string)) func(http.ResponseWriter, *http.Request, string) {
			return func(w http.ResponseWriter, r *http.Request, id string) {
				if strings.HasSuffix(r.URL.Path, "/") {
					then(w, r, id)
					return
				}
				http.Redirect(w, r, r.URL.Path+"/", code)
			}
		}
		s.On["initialize"] = moves(s.On["initialize"])
		s.On["tools/call"] = moves(func(w http.ResponseWriter, r *http.Request, id string) {
			if r.Method != http.MethodPost || r.Header.Get("Mcp-Session-Id") != "s1" {
				t.Errorf("%d: %s in the session %q", code, r.Method, r.Header.Get("Mcp-Session-Id"))
			}
			childtest.Plain(w, id, `{"moved":true}`)
		})
		l, _, _ := open(t, remote.Server{URL: s.URL + "/secret", Transport: remote.HTTP})
		if _, err := l.Call(t.Context(), "initialize", []byte(`{}`)); want != "" {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"url" of this server`) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%d: %v", code, err)
			}
			continue
		} else if err != nil {
			t.Errorf("%d: %v", code, err)
			continue
		}
		if err := l.Notify(t.Context(), "notifications/initialized"); err != nil {
			t.Errorf("%d: %v", code, err)
		}
		if res, err := l.Call(t.Context(), "tools/call"); err != nil || string(res.Result) != `{"moved":true}` {
			t.Errorf("%d: %+v, %v", code, res, err)
		}
	}
}

// A server that redirects in a circle is not followed for ever.
func TestRemoteRedirectsInACircle(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	n := 0
	s.On["initialize"] = func(w http.ResponseWriter, r *http.Request, _ string) {
		n++
		http.Redirect(w, r, "/again", http.StatusMovedPermanently)
	}
	l, _, _ := open(t, remote.Server{URL: s.URL, Transport: remote.HTTP})
	if _, err := l.Call(t.Context(), "initialize", []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "redirects too often") || n != 6 {
		t.Errorf("%v, after %d requests", err, n)
	}
}

func TestRemoteBoundsAnswers(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	long := `{"text":"` + strings.Repeat("x", 1<<17) + `"}`
	s.On["plain"] = func(w http.ResponseWriter, _ *http.Request, id string) { childtest.Plain(w, id, long) }
	s.On["events"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		childtest.Events(w)("", `{"jsonrpc":"2.0","id":`+id+`,"result":`+long+`}`)
	}
	s.On["other"] = func(w http.ResponseWriter, _ *http.Request, _ string) { childtest.Plain(w, `"x"`, `{}`) }
	s.On["broken"] = func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":`)
	}
	l, _, _ := open(t, remote.Server{URL: s.URL, FrameLimit: 1 << 16})
	greet(t, l)
	for _, method := range []string{"plain", "events", "other", "broken"} {
		var broken *jsonrpc.BrokenError
		if _, err := l.Call(t.Context(), method); !errors.As(err, &broken) {
			t.Errorf("%s: %v", method, err)
		}
	}
	s.On["fail"] = func(w http.ResponseWriter, _ *http.Request, _ string) {
		http.Error(w, "no \x1b[31mkey", http.StatusUnauthorized)
	}
	if _, err := l.Call(t.Context(), "fail"); err == nil || !strings.Contains(err.Error(), "401") || !strings.Contains(err.Error(), "headers") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%v", err)
	}
}

// TestNoStreamThatNeverEnds: a server that answers with something else than a stream of events, and never ends that, is given up at once.
func TestNoStreamThatNeverEnds(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(bytes.Repeat([]byte("x"), 4096))
		_ = http.NewResponseController(w).Flush()
		<-over
	}))
	t.Cleanup(func() { close(over); s.Close() })
	l, _, _ := open(t, remote.Server{URL: s.URL, Transport: remote.SSE})
	ctx, cancel := context.WithTimeout(t.Context(), bounds.Patience)
	defer cancel()
	if _, err := l.Call(ctx, "initialize", []byte("{}")); err == nil || !strings.Contains(err.Error(), "HTTP status 200") {
		t.Error(err)
	}
}

// TestRemoteFallsBackToSSE: a server of 2024-11-05 refuses the POST, and
// answers on the stream that a GET opens.
func TestRemoteFallsBackToSSE(t *testing.T) {
	t.Parallel()
	for _, transport := range []remote.Transport{"", remote.SSE} { // a server for each: the stream of one takes nothing of the other
		answersBySSE(t, transport)
	}
}

func answersBySSE(t *testing.T, transport remote.Transport) {
	out := make(chan string, 10)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sse", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: /messages?id=1\n\n")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case data := <-out:
				_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", data)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("POST /messages", func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.WriteHeader(http.StatusAccepted)
		switch {
		case m.Method == "tools/call":
			// A request of the server with the id that our call has: it is no answer to it.
			out <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"method":"roots/list"}`
			out <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"ok":1}}`
		case m.ID != nil && m.Method != "":
			out <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`
		}
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	l, _, stop := open(t, remote.Server{URL: s.URL + "/sse", Transport: transport})
	greet(t, l)
	res, err := l.Call(t.Context(), "tools/call")
	if err != nil || string(res.Result) != `{"ok":1}` {
		t.Errorf("%q: %v %v", transport, res, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
