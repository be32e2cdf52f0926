package remote

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// httpConnection speaks Streamable HTTP (2025-03-26 to 2025-11-25). Each request is
// a POST; what the child says on its account comes on the answer to it, what
// belongs to none on a GET. A session that the server has forgotten is started
// again with the same words, and the request that found that out is sent again:
// it was refused, not executed.
type httpConnection struct {
	*wire
	guess bool // the server may speak the older transport instead; owned by the sender of initialize

	ready    chan struct{} // closed after notifications/initialized
	once     sync.Once
	open     chan struct{} // closed when the child has said whether it has a stream of its own
	deaf     chan struct{} // closed when that stream is no longer read
	endCalls context.CancelCauseFunc
	ctx      context.Context // of everything under way

	mu       sync.Mutex
	session  string
	protocol string
	hello    []byte // params of initialize
	older    *sseConnection
	renewing chan struct{} // a token: one at a time starts a new session
	doubts   doubts        // of who has the token
}

func newHTTPConnection(w *wire, guess bool) *httpConnection {
	l := &httpConnection{wire: w, guess: guess, ready: make(chan struct{}), open: make(chan struct{}), deaf: make(chan struct{}), renewing: make(chan struct{}, 1)}
	l.ctx, l.endCalls = context.WithCancelCause(context.Background())
	return l
}

// Run keeps the child's own stream open until ctx ends, and then the session.
func (l *httpConnection) Run(ctx context.Context) error {
	var err error
	select {
	case <-ctx.Done():
	case <-l.ready:
		if older := l.fallBack(); older != nil {
			err = older.Run(ctx)
		} else {
			listen, stop := context.WithCancel(l.ctx)
			l.jobs.startJob(func() { l.keepStream(listen) })
			<-ctx.Done()
			stop()
		}
	}
	if lost, ok := errors.AsType[*link.LostError](context.Cause(ctx)); ok {
		err = lost
	} else {
		l.leaveSession()
	}
	l.endCalls(jsonrpc.ErrClosed)
	l.supply.stopRenewal()
	l.jobs.waitForJobs()
	l.client.CloseIdleConnections()
	return err
}

// leaveSession ends the session at the server.
func (l *httpConnection) leaveSession() {
	l.mu.Lock()
	session := l.session
	l.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if req, err := l.sessionRequest(ctx, http.MethodDelete, nil); err == nil {
		if resp, err := l.client.Do(req); err == nil {
			drainRest(resp.Body)
		}
	}
}

func (l *httpConnection) fallBack() *sseConnection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.older
}

// sessionRequest makes a request of the session.
func (l *httpConnection) sessionRequest(ctx context.Context, method string, body [][]byte) (*http.Request, error) {
	req, err := l.newRequest(ctx, method, l.url, body)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != "" {
		req.Header.Set(headerSession, l.session)
	}
	if l.protocol != "" {
		req.Header.Set(headerProtocol, l.protocol)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	return req, nil
}

// Call sends one request. The end of ctx is told to the child.
func (l *httpConnection) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if older := l.fallBack(); older != nil {
		return older.Call(ctx, method, params...)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(&jsonrpc.ClosedError{Reason: errors.New("the connection was ended")}) })()
	if method == methods.Initialize {
		return l.startSession(ctx, params)
	}
	l.mu.Lock()
	used := l.session
	l.mu.Unlock()
	res, err := l.exchangeRequest(ctx, method, params)
	if again, failed := l.renewSession(ctx, used, signOf(res, err)); again {
		res, err = l.exchangeRequest(ctx, method, params)
	} else if failed != nil {
		err = failed
	}
	if err != nil && ctx.Err() == nil {
		l.noteError(err)
	}
	return res, err
}

// startSession sends initialize, keeps what is needed to do so again, and finds
// out which of the two transports the server speaks.
func (l *httpConnection) startSession(ctx context.Context, params [][]byte) (*jsonrpc.Response, error) {
	l.mu.Lock()
	l.hello = nil
	for _, p := range params {
		l.hello = append(l.hello, p...)
	}
	l.mu.Unlock()
	res, err := l.exchangeRequest(ctx, methods.Initialize, params)
	var bad *link.StatusError
	if l.guess && errors.As(err, &bad) && (bad.Code == http.StatusBadRequest || bad.Code == http.StatusNotFound || bad.Code == http.StatusMethodNotAllowed) {
		if again := l.tryOlder(ctx, params); again != nil {
			return again, nil
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			l.noteError(err)
		}
		return nil, err
	}
	if v, ok := jsonrpc.GetString(res.Result, "protocolVersion"); ok {
		l.mu.Lock()
		l.protocol = v
		l.mu.Unlock()
	}
	return res, nil
}

// tryOlder sends initialize by the older transport. If the server answers, that is what it
// speaks; otherwise nothing is left of the attempt, and it is not made again: the refusal
// may be of the version, and the next one comes the same way.
func (l *httpConnection) tryOlder(ctx context.Context, params [][]byte) *jsonrpc.Response {
	l.guess = false
	ctx, cancel := context.WithTimeout(ctx, guessTime)
	defer cancel()
	older := newSSEConnection(l.wire)
	res, err := older.Call(ctx, methods.Initialize, params...)
	if err != nil {
		older.endCalls(jsonrpc.ErrClosed)
		return nil
	}
	l.mu.Lock()
	l.older = older
	l.mu.Unlock()
	l.once.Do(func() { close(l.ready) })
	return res
}

// restartSession starts a new session instead of one that the server does not know any more, unless
// another call has done so. A call that comes meanwhile waits for that. s is the sign of it.
func (l *httpConnection) restartSession(ctx context.Context, old string, s sign) error {
	select {
	case l.renewing <- struct{}{}:
		defer func() { <-l.renewing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	l.mu.Lock()
	if l.session != old {
		l.mu.Unlock()
		return nil
	}
	hello := l.hello
	l.mu.Unlock()
	if !s.certain {
		if err := l.confirmLost(ctx, s); err != nil {
			return err
		}
	}
	l.log.Info().Msg("the server has forgotten the session; a new one is started")
	res, err := l.startSession(ctx, [][]byte{hello})
	if err == nil {
		if e := res.Err(); e != nil {
			err = e
		}
	}
	if err == nil {
		err = l.Notify(ctx, methods.Initialized)
	}
	if err != nil { // who comes next finds the old session, and tries again
		l.mu.Lock()
		l.session = old
		l.mu.Unlock()
		return err
	}
	if h, ok := l.h.(renewalHandler); ok {
		h.SessionRenewed()
	}
	return nil
}

// exchangeRequest POSTs one request and reads until its answer is there.
func (l *httpConnection) exchangeRequest(ctx context.Context, method string, params [][]byte) (*jsonrpc.Response, error) {
	id := l.lastID.Add(1)
	elsewhere := l.awaiting.addRequest(id)
	defer l.awaiting.removeRequest(id)
	// The connection outlives the call by what is left to read of the answer.
	conn, stop := context.WithCancelCause(carried{l.ctx, ctx})
	defer context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })()
	req, err := l.sessionRequest(conn, http.MethodPost, jsonrpc.RequestParts(strconv.AppendUint(nil, id, 10), method, params))
	if err != nil {
		stop(nil)
		return nil, err
	}
	if method == methods.Initialize { // of a new session, even instead of another
		req.Header.Del(headerSession)
		req.Header.Del(headerProtocol)
	}
	resp, err := l.client.Do(req)
	if err == nil {
		var m *jsonrpc.Message
		if m, err = l.readAnswer(conn, stop, method, id, resp, elsewhere); err == nil {
			return &jsonrpc.Response{Result: m.Result, Error: m.Error}, nil
		}
	}
	stop(nil)
	if ctx.Err() == nil {
		return nil, l.sortError(err)
	}
	if method != methods.Initialize {
		l.jobs.startJob(func() { l.tellCancelled(id, context.Cause(ctx)) })
	}
	return nil, context.Cause(ctx)
}

// sortError sorts what went wrong with the connection from what the server said.
func (l *httpConnection) sortError(err error) error {
	var bad *link.StatusError
	var broken *jsonrpc.BrokenError
	if errors.As(err, &bad) || errors.As(err, &broken) {
		return err
	}
	return &link.LostError{Host: l.url.Host, Err: err}
}

// tellCancelled informs the child that a request is not wanted any more. A
// connection that ends does not wait long for it: the server may be hung.
func (l *httpConnection) tellCancelled(id uint64, cause error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	defer context.AfterFunc(l.ctx, func() { time.AfterFunc(endTime, cancel) })()
	_ = l.postMessage(ctx, cancellationOf(id, cause))
}

// keepStream keeps the child's own stream open, if the server has one.
func (l *httpConnection) keepStream(ctx context.Context) {
	defer close(l.deaf)
	last, pause := "", time.Duration(0)
	had := false // such a stream, in the session as it is
	var first sync.Once
	for ctx.Err() == nil {
		l.mu.Lock()
		used := l.session
		l.mu.Unlock()
		resp, err := l.resumeStream(ctx, last)
		first.Do(func() { close(l.open) })
		var bad *link.StatusError
		told, said, began := time.Duration(0), false, time.Now()
		switch {
		case errors.As(err, &bad):
			// A server without such a stream may well say 404, as for any address that it
			// does not know: that the session is forgotten is believed if the stream was
			// there before.
			sign := signOf(nil, err)
			if lost := had && used != "" && (sign.certain || sign.code != 0 && !sign.served); lost {
				if l.restartSession(ctx, used, sign) == nil {
					last, had = "", false // an event of a session that is no more
					continue
				}
			} else if bad.Code < 500 && bad.Code != http.StatusTooManyRequests && !bad.Unsent {
				return // there is no such stream, which it may well not have
			}
		case err == nil:
			had = true
			last, told, said = l.readEvents(ctx, resp, last)
		}
		if pause = nextPause(pause, time.Since(began), said); !retryAfter(ctx, told, pause) {
			return
		}
	}
}

// nextPause returns the pause after a stream that was open for so long, and said something or not; the pause before it was former.
// What ends at once in silence is opened less and less often.
func nextPause(former, open time.Duration, said bool) time.Duration {
	if said || open > lastRetry {
		former = 0
	}
	return min(max(2*former, firstRetry), lastRetry)
}

// readEvents reads one stream of events to its end.
func (l *httpConnection) readEvents(ctx context.Context, resp *http.Response, last string) (id string, retry time.Duration, said bool) {
	defer resp.Body.Close()
	events := newEventReader(resp.Body, l.limit)
	events.id = last
	for {
		ev, err := events.nextEvent()
		if err != nil {
			return events.id, events.retry, said
		}
		if len(ev.data) == 0 {
			continue
		}
		said = true
		if m, err := l.takeMessage(l.ctx, ctx, oneLine(ev.data), l.postMessage); err != nil || m != nil && !l.takeAnswer(m) {
			l.skipped.Add(1)
		}
	}
}

// Notify sends a notification.
func (l *httpConnection) Notify(ctx context.Context, method string, params ...[]byte) error {
	if older := l.fallBack(); older != nil {
		return older.Notify(ctx, method, params...)
	}
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := l.postMessage(limited, jsonrpc.RequestParts(nil, method, params))
	if err == nil && method == methods.Initialized {
		l.once.Do(func() { close(l.ready) })
		l.awaitOpened(ctx)
	}
	return err
}

// awaitOpened waits, but not for long, until the child's own stream is open: servers
// drop what belongs to no request while there is none.
func (l *httpConnection) awaitOpened(ctx context.Context) {
	late := time.NewTimer(openTime)
	defer late.Stop()
	select {
	case <-l.open:
	case <-late.C: // a server may keep even the head until there is something to say
	case <-ctx.Done():
	case <-l.ctx.Done():
	}
}

// postMessage sends what is not answered.
func (l *httpConnection) postMessage(ctx context.Context, parts [][]byte) error {
	req, err := l.sessionRequest(ctx, http.MethodPost, parts)
	if err != nil {
		return err
	}
	return l.deliverMessage(req)
}
