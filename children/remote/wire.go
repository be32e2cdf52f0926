package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
	"mcphub/internal/trust"
	"mcphub/internal/worker"
)

// Bounds of one remote connection.
const (
	dialTime       = 10 * time.Second
	answerTime     = 30 * time.Second // for the answer to what needs no work: notifications, our answers, DELETE
	guessTime      = 10 * time.Second // for a server that refuses to speak the older transport
	endTime        = 2 * time.Second  // for the end of a stream behind its answer
	openTime       = time.Second      // for the child's own stream to open before it is called
	maxServed      = 64               // requests of the child at a time
	firstRetry     = time.Second      // before a broken stream is opened again; doubles
	lastRetry      = 30 * time.Second
	drainBody      = 256 << 10 // read to the end of an answer, so that its connection can be used again
	maxErrorText   = 2 << 10
	headerSession  = "Mcp-Session-Id"
	headerProtocol = "MCP-Protocol-Version"
)

// wire is what both transports over HTTP share.
type wire struct {
	url     *url.URL
	headers map[string]string
	limit   int
	idLimit int     // bytes of the id of a request of the child
	supply  *supply // of more headers; nil: there is none
	client  *http.Client
	log     zerolog.Logger
	served  chan struct{} // a token for each request of the child being served
	skipped atomic.Uint64
	textIDs atomic.Uint64 // answers that repeat the number of their request as a string
	answers atomic.Uint64
	lastID  atomic.Uint64
	jobs    jobs

	hmu  sync.Mutex // notifications are handed on one at a time
	h    jsonrpc.Handler
	asks asks

	awaiting awaiting

	words atomic.Pointer[string] // what went wrong last
}

func newWire(u *url.URL, s Server, secured *tls.Config, h jsonrpc.Handler, log zerolog.Logger) *wire {
	proxy := http.ProxyFromEnvironment
	if secured != nil {
		proxy = trust.Proxy
	}
	w := &wire{
		url: u, headers: s.Headers, limit: s.FrameLimit, idLimit: s.IDLimit, h: h, log: log, served: make(chan struct{}, maxServed),
	}
	w.client = &http.Client{
		// Its own: idle connections end with it, and its pool is as wide as calls are many.
		Transport: &counting{&w.answers, &http.Transport{
			Proxy: proxy, TLSClientConfig: secured,
			DialContext: (&net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}).DialContext, TLSHandshakeTimeout: dialTime,
			ForceAttemptHTTP2: true, DisableCompression: true,
			MaxIdleConns: 256, MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second,
			ReadBufferSize: 32 << 10, WriteBufferSize: 32 << 10,
		}},
	}
	if s.Login != nil {
		w.client.Transport = &loggedIn{s.Login, w.client.Transport}
	}
	if s.Supply.Headers != nil {
		w.supply = &supply{from: s.Supply, jobs: &w.jobs}
		w.client.Transport = &resupplied{w.supply, s.Headers, w.client.Transport}
	}
	w.client.Transport = redirected{w.client.Transport}
	return w
}

// newRequest makes a request with the child's headers.
func (w *wire) newRequest(ctx context.Context, method string, to *url.URL, body [][]byte) (*http.Request, error) {
	var more *supplied
	if w.supply != nil {
		var err error
		if more, err = w.supply.getHeaders(ctx); err != nil {
			return nil, err
		}
		ctx = context.WithValue(ctx, suppliedKey{}, more)
	}
	var r io.Reader = http.NoBody
	if body != nil {
		r = &pieces{parts: body}
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), r)
	if err != nil {
		return nil, err
	}
	for name, value := range w.headers {
		setHeader(req, name, value)
	}
	if more != nil {
		for name, value := range more.headers {
			setHeader(req, name, value)
		}
	}
	if body != nil {
		size := 0
		for _, p := range body {
			size += len(p)
		}
		req.ContentLength = int64(size)
		req.GetBody = func() (io.ReadCloser, error) { return &pieces{parts: body}, nil }
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// cancellationOf returns the notification that a request is cancelled.
func cancellationOf(id uint64, cause error) [][]byte {
	return jsonrpc.RequestParts(nil, methods.Cancelled, [][]byte{jsonrpc.CancelParams(strconv.AppendUint(nil, id, 10), cause)})
}

// pieces reads byte slices one after the other.
type pieces struct {
	parts [][]byte
	off   int
}

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.parts) > 0 {
		if part := p.parts[0][p.off:]; len(part) > 0 {
			n := copy(b, part)
			p.off += n
			return n, nil
		}
		p.parts, p.off = p.parts[1:], 0
	}
	return 0, io.EOF
}

func (p *pieces) Close() error { return nil }

// drainRest reads what little is left of an answer, so that its connection can be
// used again.
func drainRest(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, drainBody)
	_ = body.Close()
}

// finishStream is for a stream whose answer has come: the end of it comes soon, or the
// connection is given up.
func (w *wire) finishStream(resp *http.Response, stop context.CancelCauseFunc) {
	w.jobs.startJob(func() {
		late := time.AfterFunc(endTime, func() { stop(errAnswered) })
		drainRest(resp.Body)
		late.Stop()
		stop(errAnswered)
	})
}

// readWhole reads an answer to its end.
func (w *wire) readWhole(resp *http.Response) ([]byte, error) {
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 {
		b.Grow(int(min(n, int64(w.limit))) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(resp.Body, int64(w.limit)+1))
	switch {
	case err != nil:
		return nil, err
	case n > int64(w.limit):
		return nil, &jsonrpc.BrokenError{Reason: fmt.Sprintf("the answer has more than %d bytes", w.limit)}
	}
	return oneLine(withoutMark(b.Bytes())), nil
}

// oneLine makes line ends between the tokens of a frame blanks: further up it
// has to be one line.
func oneLine(b []byte) []byte {
	for i := bytes.IndexAny(b, "\r\n"); i >= 0; {
		b[i] = ' '
		next := bytes.IndexAny(b[i:], "\r\n")
		if next < 0 {
			break
		}
		i += next
	}
	return b
}

// deliverMessage sends what is not answered.
func (w *wire) deliverMessage(req *http.Request) error {
	resp, err := w.client.Do(req)
	if err != nil {
		return &link.LostError{Host: w.url.Host, Err: err}
	}
	defer drainRest(resp.Body)
	if resp.StatusCode >= 300 {
		return statusError(resp)
	}
	return nil
}

// statusError turns an answer that is no success into an error.
func statusError(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorText))
	said := adviceOn(resp)
	e := &link.StatusError{Code: resp.StatusCode, Advice: said.text, LogIn: said.logIn, Unsent: said.unsent, Text: strings.Join(strings.Fields(printable.Clean(string(text))), " ")}
	e.Challenge = resp.Header.Get("WWW-Authenticate") != ""
	if m := errorIn(text); m != nil {
		e.Text = jsonrpc.ParseError(m.Error).Error()
	}
	e.Text = hideSecrets(e.Text, resp.Request)
	if hint := hintOn(resp); hint != "" {
		e.Text = hint
	}
	return e
}

// errorIn reads the JSON-RPC error in the body of an answer that is no success;
// nil if there is none. OAuth has an "error" too, which is a string; an error
// that is about no request has null for an id, or none.
func errorIn(body []byte) *jsonrpc.Message {
	m := &jsonrpc.Message{}
	err := jsonrpc.Members(bytes.TrimSpace(oneLine(withoutMark(body))), func(name string, value []byte) bool {
		switch name {
		case "id":
			m.ID = value
		case "error":
			m.Error = value
		}
		return true
	})
	if err != nil || len(m.Error) == 0 || m.Error[0] != '{' {
		return nil
	}
	return m
}

// isAnswer reports whether m is the answer to the request id. One with neither a result nor an error is none.
func (w *wire) isAnswer(m *jsonrpc.Message, id uint64) bool {
	if m.Result == nil && m.Error == nil {
		return false
	}
	n, text := jsonrpc.OwnID(string(m.ID))
	if n == id && text {
		w.textIDs.Add(1)
	}
	return n == id
}

// errAnswered ends the stream of a call that was answered.
var errAnswered = errors.New("the call was answered")

// asks are the child's requests being served, by raw id, for cancellation.
type asks struct {
	mu sync.Mutex
	by map[string]context.CancelCauseFunc
}

// startRequest registers a request; false: one with that id is being served.
func (a *asks) startRequest(ctx context.Context, id []byte) (context.Context, context.CancelCauseFunc, bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[string]context.CancelCauseFunc{}
	}
	if a.by[string(id)] != nil {
		cancel(nil)
		return nil, nil, false
	}
	a.by[string(id)] = cancel
	return ctx, cancel, true
}

func (a *asks) endRequest(id []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.by, string(id))
}

// cancelRequest ends a request that the child no longer wants.
func (a *asks) cancelRequest(m *jsonrpc.Message) {
	reason, _ := jsonrpc.String(m.Param("reason"))
	a.mu.Lock()
	cancel := a.by[string(m.Param("requestId"))]
	a.mu.Unlock()
	if cancel != nil {
		cancel(&jsonrpc.CancelledError{Reason: reason})
	}
}

// takeMessage hands on one message of the child. It returns m if that answers a
// request of ours; send is how the child's own requests are answered. They live as
// long as ctx, that of the whole connection: one may outlive the call on whose
// stream, on, it came, but not one that was given up. on is nil if one stream
// carries everything.
func (w *wire) takeMessage(ctx, on context.Context, raw []byte, send func(ctx context.Context, parts [][]byte) error) (*jsonrpc.Message, error) {
	w.answers.Add(1)
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split(raw, false, m); err != nil {
		w.skipped.Add(1)
		return nil, err
	}
	switch {
	case m.LongID(w.idLimit) != "":
		w.skipped.Add(1)
		return nil, errors.New(m.LongID(w.idLimit))
	case m.IsRequest():
		select {
		case w.served <- struct{}{}:
		default:
			w.jobs.startJob(func() {
				parts := jsonrpc.AnswerParts(m.ID, jsonrpc.AnswerFailure("too many requests at once"))
				_ = send(ctx, parts[:])
			})
			return nil, nil
		}
		if on == nil {
			on = ctx
		}
		asked, stop, fresh := w.asks.startRequest(carried{ctx, on}, m.ID)
		if !fresh {
			<-w.served
			w.skipped.Add(1)
			return nil, nil
		}
		w.jobs.startJob(func() {
			defer func() { <-w.served }()
			defer context.AfterFunc(on, func() {
				if cause := context.Cause(on); !errors.Is(cause, errAnswered) {
					stop(errors.New(cause.Error())) // not the child's own cancellation
				}
			})()
			a := w.h.ServeRequest(asked, m)
			defer a.Free()
			var unwanted *jsonrpc.CancelledError
			ended := ctx.Err() != nil || errors.As(context.Cause(asked), &unwanted)
			w.asks.endRequest(m.ID)
			stop(nil)
			if ended { // no caller waits for the answer
				return
			}
			late, cancel := context.WithTimeout(ctx, answerTime)
			defer cancel()
			parts := jsonrpc.AnswerParts(m.ID, a)
			if err := send(late, parts[:]); err != nil && ctx.Err() == nil {
				w.log.Warn().Err(err).Str("method", printable.Escape(m.Method, 100)).Msg("an answer did not reach the child")
			}
		})
	case m.Method == methods.Cancelled:
		w.asks.cancelRequest(m)
	case m.IsNotification():
		w.hearNotification(on, m)
	case m.IsResponse():
		return m, nil
	default:
		w.skipped.Add(1)
	}
	return nil, nil
}

// An originHandler is a Handler that is told on which of the calls under way a
// notification came: that whose context on has the values of.
type originHandler interface {
	ServeNotificationOn(on context.Context, m *jsonrpc.Message)
}

// A renewalHandler is a Handler that is told when the server has forgotten the
// session, and another was started.
type renewalHandler interface{ SessionRenewed() }

// hearNotification hands on a notification; on is nil if the transport does not report what
// it belongs to.
func (w *wire) hearNotification(on context.Context, m *jsonrpc.Message) {
	w.hmu.Lock()
	defer w.hmu.Unlock()
	if h, ok := w.h.(originHandler); ok && on != nil {
		h.ServeNotificationOn(on, m)
		return
	}
	w.h.ServeNotification(m)
}

// Facts returns what can be seen from outside.
func (w *wire) Facts() link.ConnectionFacts {
	f := link.ConnectionFacts{Skipped: w.skipped.Load(), TextIDs: w.textIDs.Load(), Heard: w.answers.Load()}
	if s := w.words.Load(); s != nil {
		f.Stderr = *s
	}
	return f
}

func (w *wire) noteError(err error) {
	s := err.Error()
	w.words.Store(&s)
}

// isEvents reports whether an answer is a stream of events.
func isEvents(resp *http.Response) bool {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// Bounds of the pause that a server may ask for before a broken stream is
// opened again.
const (
	leastPause = 20 * time.Millisecond
	maxPause   = 5 * time.Minute
)

// retryAfter is the pause before a broken stream is opened again: the server's,
// if it named one, else ours.
func retryAfter(ctx context.Context, told, own time.Duration) bool {
	if told > 0 {
		own = min(max(told, leastPause), maxPause)
	}
	return worker.Sleep(ctx, own)
}

// jobs are the goroutines of a connection. None starts once they were waited
// for.
type jobs struct {
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

// startJob reports whether f is called.
func (j *jobs) startJob(f func()) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.wg.Go(f)
	}
	return !j.closed
}

func (j *jobs) waitForJobs() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.wg.Wait()
}

// carried ends as the first context does, and has the values of both. So what
// comes on the answer to a call can be told to belong to it, although the
// connection does not end with the call.
type carried struct {
	context.Context
	call context.Context
}

func (c carried) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.call.Value(key)
}
