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
func (streamable *httpConnection) Run(ctx context.Context) error {
	var err error
	select {
	case <-ctx.Done():
	case <-streamable.ready:
		if older := streamable.fallBack(); older != nil {
			err = older.Run(ctx)
		} else {
			listen, stop := context.WithCancel(streamable.ctx)
			streamable.jobs.startJob(func() { streamable.keepStream(listen) })
			<-ctx.Done()
			stop()
		}
	}
	if lost, ok := errors.AsType[*link.LostError](context.Cause(ctx)); ok {
		err = lost
	} else {
		streamable.leaveSession()
	}
	streamable.endCalls(jsonrpc.ErrClosed)
	streamable.supply.stopRenewal()
	streamable.jobs.waitForJobs()
	streamable.client.CloseIdleConnections()
	return err
}

// leaveSession ends the session at the server.
func (streamable *httpConnection) leaveSession() {
	streamable.mu.Lock()
	session := streamable.session
	streamable.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if req, err := streamable.sessionRequest(ctx, http.MethodDelete, nil); err == nil {
		if resp, err := streamable.client.Do(req); err == nil {
			drainRest(resp.Body)
		}
	}
}

func (streamable *httpConnection) fallBack() *sseConnection {
	streamable.mu.Lock()
	defer streamable.mu.Unlock()
	return streamable.older
}

// sessionRequest makes a request of the session.
func (streamable *httpConnection) sessionRequest(ctx context.Context, method string, body [][]byte) (*http.Request, error) {
	req, err := streamable.newRequest(ctx, method, streamable.url, body)
	if err != nil {
		return nil, err
	}
	streamable.mu.Lock()
	defer streamable.mu.Unlock()
	if streamable.session != "" {
		req.Header.Set(headerSession, streamable.session)
	}
	if streamable.protocol != "" {
		req.Header.Set(headerProtocol, streamable.protocol)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	return req, nil
}

// Call sends one request. The end of ctx is told to the child.
func (streamable *httpConnection) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if older := streamable.fallBack(); older != nil {
		return older.Call(ctx, method, params...)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(streamable.ctx, func() { cancel(&jsonrpc.ClosedError{Reason: errors.New("the connection was ended")}) })()
	if method == methods.Initialize {
		return streamable.startSession(ctx, params)
	}
	streamable.mu.Lock()
	used := streamable.session
	streamable.mu.Unlock()
	res, err := streamable.exchangeRequest(ctx, method, params)
	if again, failed := streamable.renewSession(ctx, used, signOf(res, err)); again {
		res, err = streamable.exchangeRequest(ctx, method, params)
	} else if failed != nil {
		err = failed
	}
	if err != nil && ctx.Err() == nil {
		streamable.noteError(err)
	}
	return res, err
}

// startSession sends initialize, keeps what is needed to do so again, and finds
// out which of the two transports the server speaks.
func (streamable *httpConnection) startSession(ctx context.Context, params [][]byte) (*jsonrpc.Response, error) {
	streamable.mu.Lock()
	streamable.hello = nil
	for _, p := range params {
		streamable.hello = append(streamable.hello, p...)
	}
	streamable.mu.Unlock()
	res, err := streamable.exchangeRequest(ctx, methods.Initialize, params)
	var bad *link.StatusError
	if streamable.guess && errors.As(err, &bad) && (bad.Code == http.StatusBadRequest || bad.Code == http.StatusNotFound || bad.Code == http.StatusMethodNotAllowed) {
		if again := streamable.tryOlder(ctx, params); again != nil {
			return again, nil
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			streamable.noteError(err)
		}
		return nil, err
	}
	if v, ok := jsonrpc.GetString(res.Result, "protocolVersion"); ok {
		streamable.mu.Lock()
		streamable.protocol = v
		streamable.mu.Unlock()
	}
	return res, nil
}

// tryOlder sends initialize by the older transport. If the server answers, that is what it
// speaks; otherwise nothing is left of the attempt, and it is not made again: the refusal
// may be of the version, and the next one comes the same way.
func (streamable *httpConnection) tryOlder(ctx context.Context, params [][]byte) *jsonrpc.Response {
	streamable.guess = false
	ctx, cancel := context.WithTimeout(ctx, guessTime)
	defer cancel()
	older := newSSEConnection(streamable.wire)
	res, err := older.Call(ctx, methods.Initialize, params...)
	if err != nil {
		older.endCalls(jsonrpc.ErrClosed)
		return nil
	}
	streamable.mu.Lock()
	streamable.older = older
	streamable.mu.Unlock()
	streamable.once.Do(func() { close(streamable.ready) })
	return res
}

// restartSession starts a new session instead of one that the server does not know any more, unless
// another call has done so. A call that comes meanwhile waits for that. s is the sign of it.
func (streamable *httpConnection) restartSession(ctx context.Context, old string, s sign) error {
	select {
	case streamable.renewing <- struct{}{}:
		defer func() { <-streamable.renewing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	streamable.mu.Lock()
	if streamable.session != old {
		streamable.mu.Unlock()
		return nil
	}
	hello := streamable.hello
	streamable.mu.Unlock()
	if !s.certain {
		if err := streamable.confirmLost(ctx, s); err != nil {
			return err
		}
	}
	streamable.log.Info().Msg("the server has forgotten the session; a new one is started")
	res, err := streamable.startSession(ctx, [][]byte{hello})
	if err == nil {
		if e := res.Err(); e != nil {
			err = e
		}
	}
	if err == nil {
		err = streamable.Notify(ctx, methods.Initialized)
	}
	if err != nil { // who comes next finds the old session, and tries again
		streamable.mu.Lock()
		streamable.session = old
		streamable.mu.Unlock()
		return err
	}
	if h, ok := streamable.h.(renewalHandler); ok {
		h.SessionRenewed()
	}
	return nil
}

// exchangeRequest POSTs one request and reads until its answer is there.
func (streamable *httpConnection) exchangeRequest(ctx context.Context, method string, params [][]byte) (*jsonrpc.Response, error) {
	id := streamable.lastID.Add(1)
	elsewhere := streamable.awaiting.addRequest(id)
	defer streamable.awaiting.removeRequest(id)
	// The connection outlives the call by what is left to read of the answer.
	conn, stop := context.WithCancelCause(carried{streamable.ctx, ctx})
	defer context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })()
	req, err := streamable.sessionRequest(conn, http.MethodPost, jsonrpc.RequestParts(strconv.AppendUint(nil, id, 10), method, params))
	if err != nil {
		stop(nil)
		return nil, err
	}
	if method == methods.Initialize { // of a new session, even instead of another
		req.Header.Del(headerSession)
		req.Header.Del(headerProtocol)
	}
	resp, err := streamable.client.Do(req)
	if err == nil {
		var m *jsonrpc.Message
		if m, err = streamable.readAnswer(conn, stop, method, id, resp, elsewhere); err == nil {
			return &jsonrpc.Response{Result: m.Result, Error: m.Error}, nil
		}
	}
	stop(nil)
	if ctx.Err() == nil {
		return nil, streamable.sortError(err)
	}
	if method != methods.Initialize {
		streamable.jobs.startJob(func() { streamable.tellCancelled(id, context.Cause(ctx)) })
	}
	return nil, context.Cause(ctx)
}

// sortError sorts what went wrong with the connection from what the server said.
func (streamable *httpConnection) sortError(err error) error {
	var bad *link.StatusError
	var broken *jsonrpc.BrokenError
	if errors.As(err, &bad) || errors.As(err, &broken) {
		return err
	}
	return &link.LostError{Host: streamable.url.Host, Err: err}
}

// tellCancelled informs the child that a request is not wanted any more. A
// connection that ends does not wait long for it: the server may be hung.
func (streamable *httpConnection) tellCancelled(id uint64, cause error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	defer context.AfterFunc(streamable.ctx, func() { time.AfterFunc(endTime, cancel) })()
	_ = streamable.postMessage(ctx, cancellationOf(id, cause))
}

// keepStream keeps the child's own stream open, if the server has one.
func (streamable *httpConnection) keepStream(ctx context.Context) {
	defer close(streamable.deaf)
	last, pause := "", time.Duration(0)
	had := false // such a stream, in the session as it is
	var first sync.Once
	for ctx.Err() == nil {
		streamable.mu.Lock()
		used := streamable.session
		streamable.mu.Unlock()
		resp, err := streamable.resumeStream(ctx, last)
		first.Do(func() { close(streamable.open) })
		var bad *link.StatusError
		told, said, began := time.Duration(0), false, time.Now()
		switch {
		case errors.As(err, &bad):
			// A server without such a stream may well say 404, as for any address that it
			// does not know: that the session is forgotten is believed if the stream was
			// there before.
			sign := signOf(nil, err)
			if lost := had && used != "" && (sign.certain || sign.code != 0 && !sign.served); lost {
				if streamable.restartSession(ctx, used, sign) == nil {
					last, had = "", false // an event of a session that is no more
					continue
				}
			} else if bad.Code < 500 && bad.Code != http.StatusTooManyRequests && !bad.Unsent {
				return // there is no such stream, which it may well not have
			}
		case err == nil:
			had = true
			last, told, said = streamable.readEvents(ctx, resp, last)
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
func (streamable *httpConnection) readEvents(ctx context.Context, resp *http.Response, last string) (id string, retry time.Duration, said bool) {
	defer resp.Body.Close()
	events := newEventReader(resp.Body, streamable.limit)
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
		if m, err := streamable.takeMessage(streamable.ctx, ctx, oneLine(ev.data), streamable.postMessage); err != nil || m != nil && !streamable.takeAnswer(m) {
			streamable.skipped.Add(1)
		}
	}
}

// Notify sends a notification.
func (streamable *httpConnection) Notify(ctx context.Context, method string, params ...[]byte) error {
	if older := streamable.fallBack(); older != nil {
		return older.Notify(ctx, method, params...)
	}
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := streamable.postMessage(limited, jsonrpc.RequestParts(nil, method, params))
	if err == nil && method == methods.Initialized {
		streamable.once.Do(func() { close(streamable.ready) })
		streamable.awaitOpened(ctx)
	}
	return err
}

// awaitOpened waits, but not for long, until the child's own stream is open: servers
// drop what belongs to no request while there is none.
func (streamable *httpConnection) awaitOpened(ctx context.Context) {
	late := time.NewTimer(openTime)
	defer late.Stop()
	select {
	case <-streamable.open:
	case <-late.C: // a server may keep even the head until there is something to say
	case <-ctx.Done():
	case <-streamable.ctx.Done():
	}
}

// postMessage sends what is not answered.
func (streamable *httpConnection) postMessage(ctx context.Context, parts [][]byte) error {
	req, err := streamable.sessionRequest(ctx, http.MethodPost, parts)
	if err != nil {
		return err
	}
	return streamable.deliverMessage(req)
}
