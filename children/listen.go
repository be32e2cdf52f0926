package children

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"mcphub/internal/jsonrpc"
)

// This file keeps the subscriptions of a child without a handshake open
// (2026-07-28, basic/patterns/subscriptions), so that changes are told as they
// are in the handshake's era.

const (
	methodListen       = "subscriptions/listen"
	methodAcknowledged = "notifications/subscriptions/acknowledged"
	methodUpdated      = "notifications/resources/updated"

	// ackWait bounds how long a stream may take to be acknowledged; one that is not
	// counts as open, for what comes on it is what matters.
	ackWait = 5 * time.Second
	// firstAckWait bounds how long the first lists wait for that, so that no change
	// falls between them and the stream.
	firstAckWait = time.Second
	// mostStreams is how many streams there may be before they are made one.
	mostStreams = 16
	// mostWatched bounds the resources that one run is asked to watch.
	mostWatched = 20_000
)

// A listener owns the streams of one run. Each is kept by a goroutine of its
// own, which opens it again when it breaks. One is opened at a time, so that an
// acknowledgement tells whose it is.
type listener struct {
	m       *modern
	r       *run
	opening chan struct{} // holds a token while none is being opened

	mu      sync.Mutex
	ctx     context.Context // of all streams
	stop    context.CancelFunc
	flags   []byte              // members of the filter for lists, raw; none: nil
	can     bool                // the child watches resources
	wanted  map[string]struct{} // URIs
	streams []*stream
	fresh   *stream // the one being opened
	over    bool
	wg      sync.WaitGroup
}

// A stream is one subscriptions/listen that is kept open.
type stream struct {
	uris   []string
	cancel context.CancelFunc
	acked  chan struct{} // closed once it was acknowledged, or failed, the first time
	once   sync.Once

	// Under listener.mu.
	id      string        // of the request that is open, raw; "" while not known
	ack     chan struct{} // closed when this opening is acknowledged
	honours []byte        // raw filter of the last acknowledgement; nil: none came
	failed  error         // why it is not opened again
	reset   context.CancelCauseFunc
}

func newListener(m *modern, r *run) *listener {
	l := &listener{m: m, r: r, opening: make(chan struct{}, 1), wanted: map[string]struct{}{}}
	l.opening <- struct{}{}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// begin notes what the child can tell, and opens a stream for its lists.
func (l *listener) begin(o *Offer) {
	var flags []string
	for _, f := range []struct{ capability, flag string }{{"tools", "toolsListChanged"}, {"prompts", "promptsListChanged"}, {"resources", "resourcesListChanged"}} {
		if string(jsonrpc.Get(jsonrpc.Get(o.Capabilities, f.capability), "listChanged")) == "true" {
			flags = append(flags, `"`+f.flag+`":true`)
		}
	}
	l.mu.Lock()
	l.can = string(jsonrpc.Get(jsonrpc.Get(o.Capabilities, "resources"), "subscribe")) == "true"
	for i, f := range flags {
		if i > 0 {
			l.flags = append(l.flags, ',')
		}
		l.flags = append(l.flags, f...)
	}
	l.mu.Unlock()
	if flags != nil {
		l.open(nil)
	}
}

// settled waits, for a moment, until the child has acknowledged what was opened
// first.
func (l *listener) settled(ctx context.Context) {
	l.mu.Lock()
	var acked chan struct{}
	if len(l.streams) > 0 {
		acked = l.streams[0].acked
	}
	l.mu.Unlock()
	if acked == nil {
		return
	}
	t := time.NewTimer(firstAckWait)
	defer t.Stop()
	select {
	case <-acked:
	case <-t.C:
	case <-ctx.Done():
	}
}

// open keeps one more stream; nil where the run has ended.
func (l *listener) open(uris []string) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil
	}
	s := &stream{uris: uris, acked: make(chan struct{})}
	ctx, cancel := context.WithCancel(l.ctx)
	s.cancel = cancel
	l.streams = append(l.streams, s)
	l.wg.Go(func() { l.keep(ctx, s) })
	return s
}

// end closes all streams, and returns when nothing is left of them.
func (l *listener) end() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.stop()
	l.wg.Wait()
}

// keep opens a stream, again and again, until ctx ends or the child says that it
// has none.
func (l *listener) keep(ctx context.Context, s *stream) {
	defer s.ready()
	for pause, again := firstRetry, false; ; again = true {
		began := time.Now()
		err := l.listen(ctx, s, again)
		if ctx.Err() != nil {
			return
		}
		if err = l.final(s, err); err != nil {
			l.mu.Lock()
			s.failed = err
			l.mu.Unlock()
			if !errors.Is(err, jsonrpc.ErrClosed) {
				l.r.c.log.Warn().Err(err).Msg("changes that the child announces cannot be listened for")
			}
			return
		}
		if time.Since(began) > lastRetry {
			pause = firstRetry
		}
		if !retryAfter(ctx, 0, pause) {
			return
		}
		pause = min(2*pause, lastRetry)
	}
}

var errNothing = errors.New("the child honours nothing of what it was asked to tell")

// final returns why a stream is not opened again; nil where it is.
func (l *listener) final(s *stream, err error) error {
	var refused *jsonrpc.Error
	var status *StatusError
	switch {
	case errors.As(err, &refused), errors.Is(err, jsonrpc.ErrClosed):
		return err
	case errors.As(err, &status) && status.Code < 500 && status.Code != http.StatusTooManyRequests && status.Code != http.StatusRequestTimeout:
		return err
	case err != nil:
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	any := s.honours == nil
	_ = jsonrpc.Members(s.honours, func(_ string, v []byte) bool {
		any = any || string(v) != "false" && string(v) != "[]"
		return !any
	})
	if !any {
		return errNothing
	}
	return nil
}

// ready lets go who waits for a stream to open the first time.
func (s *stream) ready() { s.once.Do(func() { close(s.acked) }) }

// listen opens a stream once and returns when it has ended: nil where the child
// has ended it in order. again: changes may have been missed before.
func (l *listener) listen(ctx context.Context, s *stream, again bool) error {
	select {
	case <-l.opening:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, reset := context.WithCancelCause(ctx)
	defer reset(nil)
	ack, over := make(chan struct{}), make(chan struct{})
	l.mu.Lock()
	s.id, s.honours, s.reset, s.ack = "", nil, reset, ack
	l.fresh = s
	filter := l.filter(s)
	l.mu.Unlock()
	var opened sync.WaitGroup
	opened.Go(func() {
		late := time.NewTimer(ackWait)
		defer late.Stop()
		missed := again
		select {
		case <-ack:
		case <-late.C:
		case <-over:
			missed = false
		}
		l.mu.Lock()
		l.fresh = nil
		l.mu.Unlock()
		l.opening <- struct{}{}
		if missed {
			l.missed(s)
		}
		select {
		case <-over:
		default:
			s.ready()
		}
	})
	res, err := l.m.Call(ctx, methodListen, filter)
	close(over)
	opened.Wait()
	if err != nil {
		return err
	}
	defer res.Release()
	if e := res.Err(); e != nil {
		return e
	}
	return nil
}

// filter is the raw params of a stream. It is called with mu held.
func (l *listener) filter(s *stream) []byte {
	b := append([]byte(`{"notifications":{`), l.flags...)
	n := 0
	for _, uri := range s.uris {
		if _, ok := l.wanted[uri]; !ok {
			continue
		}
		switch {
		case n > 0:
			b = append(b, ',')
		case len(l.flags) > 0:
			b = append(b, `,"resourceSubscriptions":[`...)
		default:
			b = append(b, `"resourceSubscriptions":[`...)
		}
		b = jsonrpc.AppendString(b, uri)
		n++
	}
	if n > 0 {
		b = append(b, ']')
	}
	return append(b, `}}`...)
}

// acknowledged takes in that the child has opened a stream. It is called on the
// read loop.
func (l *listener) acknowledged(n *jsonrpc.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.fresh
	if s == nil {
		return
	}
	l.fresh = nil
	s.id = string(jsonrpc.Get(n.Param("_meta"), metaSubscription))
	s.honours = bytes.Clone(n.Param("notifications"))
	close(s.ack)
}

// cancelled takes in that the child has ended a stream (over stdio).
func (l *listener) cancelled(n *jsonrpc.Message) {
	id := string(n.Param("requestId"))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.streams {
		if id != "" && s.id == id && s.reset != nil {
			s.reset(errEndedByChild)
		}
	}
}

var errEndedByChild = errors.New("the child has ended the subscription")

// missed sees to it that what may have changed while a stream was not open is
// looked at.
func (l *listener) missed(s *stream) {
	l.r.relistAll()
	l.mu.Lock()
	var uris []string
	for _, uri := range s.uris {
		if _, ok := l.wanted[uri]; ok {
			uris = append(uris, uri)
		}
	}
	l.mu.Unlock()
	for _, uri := range uris {
		params := append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}')
		l.r.c.host.observer.ChildNotification(l.r.c.key, &jsonrpc.Message{
			Method: methodUpdated, Params: params, Members: []jsonrpc.Member{{Name: "uri", Value: jsonrpc.Get(params, "uri")}},
		})
	}
}

func (l *listener) wants(uri string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.wanted[uri]
	return ok
}

func refused(code int64, text string) (*jsonrpc.Response, error) {
	return &jsonrpc.Response{Error: (&jsonrpc.Error{Code: code, Message: text}).Raw()}, nil
}

// subscribe answers resources/subscribe in the child's place: the resource is
// watched on a stream of its own, and all on one where they have become many.
func (l *listener) subscribe(ctx context.Context, params [][]byte) (*jsonrpc.Response, error) {
	uri, ok := jsonrpc.String(jsonrpc.Get(bytes.Join(params, nil), "uri"))
	if !ok {
		return refused(jsonrpc.CodeInvalidParams, "resources/subscribe needs a URI (a string) at /params/uri")
	}
	l.mu.Lock()
	_, had := l.wanted[uri]
	switch {
	case !l.can:
		l.mu.Unlock()
		return refused(jsonrpc.CodeMethodNotFound, "the server does not tell of changes of resources")
	case had:
		l.mu.Unlock()
		return &jsonrpc.Response{Result: []byte(`{}`)}, nil
	case len(l.wanted) >= mostWatched:
		l.mu.Unlock()
		return refused(jsonrpc.CodeInternal, fmt.Sprintf("more than %d resources of one server cannot be watched", mostWatched))
	}
	l.wanted[uri] = struct{}{}
	uris := []string{uri}
	var old []*stream
	if len(l.streams) >= mostStreams {
		old, l.streams, uris = l.streams, nil, nil
		for u := range l.wanted {
			uris = append(uris, u)
		}
		slices.Sort(uris)
	}
	l.mu.Unlock()
	s := l.open(uris)
	if s == nil {
		return nil, &jsonrpc.ClosedError{Reason: jsonrpc.ErrClosed}
	}
	var err error
	select {
	case <-s.acked:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	l.mu.Lock()
	if err == nil {
		err = s.failed
	}
	honours := s.honours
	if err != nil {
		l.streams, old = append(l.streams, old...), nil
	}
	l.mu.Unlock()
	for _, o := range old {
		o.cancel()
	}
	if err == nil && (honours == nil || watches(honours, uri)) {
		return &jsonrpc.Response{Result: []byte(`{}`)}, nil
	}
	l.drop(uri)
	var no *jsonrpc.Error
	switch {
	case errors.As(err, &no):
		return &jsonrpc.Response{Error: no.Raw()}, nil
	case err != nil:
		return nil, err
	}
	return refused(jsonrpc.CodeInvalidParams, "the server does not tell of changes of this resource")
}

// watches reports whether an acknowledged filter has a URI.
func watches(filter []byte, uri string) bool {
	return slices.Contains(stringsIn(jsonrpc.Get(filter, "resourceSubscriptions")), uri)
}

// unsubscribe answers resources/unsubscribe in the child's place.
func (l *listener) unsubscribe(params [][]byte) (*jsonrpc.Response, error) {
	uri, _ := jsonrpc.String(jsonrpc.Get(bytes.Join(params, nil), "uri"))
	l.drop(uri)
	return &jsonrpc.Response{Result: []byte(`{}`)}, nil
}

// drop forgets a resource, and ends the streams that watched nothing else.
func (l *listener) drop(uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.wanted, uri)
	l.streams = slices.DeleteFunc(l.streams, func(s *stream) bool {
		if len(s.uris) == 0 || slices.ContainsFunc(s.uris, func(u string) bool { _, ok := l.wanted[u]; return ok }) {
			return false
		}
		s.cancel()
		return true
	})
}
