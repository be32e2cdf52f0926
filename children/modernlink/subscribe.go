package modernlink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/worker"
)

// This file keeps the subscriptions of a child without a handshake open
// (2026-07-28, basic/patterns/subscriptions), so that changes are told as they
// are in the handshake's era.

const (
	// ackWait bounds how long a stream may take to be acknowledged; one that is not
	// counts as open, for what comes on it is what matters.
	ackWait = 5 * time.Second
	// firstAckWait bounds how long the first lists wait for that, so that no change
	// falls between them and the stream.
	firstAckWait = time.Second
	// firstReopen is the pause before a broken stream is opened again; it doubles up
	// to lastReopen.
	firstReopen = time.Second
	lastReopen  = 30 * time.Second
	// maxStreams is how many streams there may be before they are made one.
	maxStreams = 16
	// maxWatched bounds the resources that a single run is asked to watch.
	maxWatched = 20_000
)

// A listener owns the streams of one run. Each is kept by a goroutine of its
// own, which opens it again when it breaks. One is opened at a time, so that an
// acknowledgement tells whose it is.
type listener struct {
	m       *ModernConnection
	opening chan struct{} // holds a token while none is being opened

	mu      sync.Mutex
	ctx     context.Context // of all streams
	stop    context.CancelFunc
	flags   []byte        // members of the filter for lists, raw
	can     bool          // the child watches resources
	tasks   bool          // the child knows the extension for tasks
	wanted  map[topic]int // how many watch it
	streams []*stream
	fresh   *stream // the one being opened
	ended   bool
	wg      sync.WaitGroup
}

// A topic is what a child is to tell about beside its lists: a resource, by its
// URI, or a task of the extension, by its id.
type topic struct {
	task bool
	name string
}

// A stream is one subscriptions/listen that is kept open.
type stream struct {
	topics []topic
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

func newListener(m *ModernConnection) *listener {
	l := &listener{m: m, opening: make(chan struct{}, 1), wanted: map[topic]int{}}
	l.opening <- struct{}{}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// startTopics remembers what the child can tell, and opens a stream for its lists.
func (l *listener) startTopics(o *offers.RawOffer) {
	var flags []string
	for k := range offers.Kinds {
		if l := k.List(); l.Flag != "" && l.IsAnnounced(o.Capabilities) {
			flags = append(flags, `"`+l.Flag+`":true`)
		}
	}
	l.mu.Lock()
	l.can = string(jsonrpc.Get(jsonrpc.Get(o.Capabilities, "resources"), "subscribe")) == "true"
	l.tasks = jsonrpc.Get(jsonrpc.Get(o.Capabilities, "extensions"), methods.ExtensionTasks) != nil
	l.flags = []byte(strings.Join(flags, ","))
	l.mu.Unlock()
	if flags != nil {
		l.openStream(nil)
	}
}

// awaitSettled waits, for a moment, until the child has acknowledged what was opened
// first.
func (l *listener) awaitSettled(ctx context.Context) {
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

// openStream keeps one more stream; nil if the run has ended.
func (l *listener) openStream(topics []topic) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	s := &stream{topics: topics, acked: make(chan struct{})}
	ctx, cancel := context.WithCancel(l.ctx)
	if slices.ContainsFunc(topics, func(t topic) bool { return t.task }) {
		ctx = link.WithClient(ctx, taskWatcher)
	}
	s.cancel = cancel
	l.streams = append(l.streams, s)
	l.wg.Go(func() { l.keepStream(ctx, s) })
	return s
}

// endStreams closes all streams, and returns when nothing is left of them.
func (l *listener) endStreams() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.stop()
	l.wg.Wait()
}

// keepStream opens a stream, again and again, until ctx ends or the child states that
// it has none.
func (l *listener) keepStream(ctx context.Context, s *stream) {
	defer s.releaseWaiters()
	for pause, again := firstReopen, false; ; again = true {
		started := time.Now()
		err := l.listenOnce(ctx, s, again)
		if ctx.Err() != nil {
			return
		}
		if err = l.finalError(s, err); err != nil {
			l.mu.Lock()
			s.failed = err
			l.mu.Unlock()
			if !errors.Is(err, jsonrpc.ErrClosed) {
				l.m.o.Log.Warn().Err(err).Msg("changes that the child announces cannot be listened for")
			}
			return
		}
		if time.Since(started) > lastReopen {
			pause = firstReopen
		}
		if !worker.Sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, lastReopen)
	}
}

var errNothing = errors.New("the child honours nothing of what it was asked to tell")

// finalError returns why a stream is not opened again; nil if it is.
func (l *listener) finalError(s *stream, err error) error {
	var refused *jsonrpc.Error
	var status *link.StatusError
	switch {
	case errors.As(err, &refused), errors.Is(err, jsonrpc.ErrClosed):
		return err
	case errors.As(err, &status) && !status.Unsent && status.Code < 500 && status.Code != http.StatusTooManyRequests && status.Code != http.StatusRequestTimeout:
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

// releaseWaiters lets go who waits for a stream to open the first time.
func (s *stream) releaseWaiters() { s.once.Do(func() { close(s.acked) }) }

// listenOnce opens a stream once and returns when it has ended: nil if the child
// has ended it in order. again: changes may have been missed before.
func (l *listener) listenOnce(ctx context.Context, s *stream, again bool) error {
	select {
	case <-l.opening:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, reset := context.WithCancelCause(ctx)
	defer reset(nil)
	ack, callEnded := make(chan struct{}), make(chan struct{})
	l.mu.Lock()
	s.id, s.honours, s.reset, s.ack = "", nil, reset, ack
	l.fresh = s
	filter := l.streamParams(s)
	l.mu.Unlock()
	var opened sync.WaitGroup
	opened.Go(func() {
		late := time.NewTimer(ackWait)
		defer late.Stop()
		missed := again
		select {
		case <-ack:
		case <-late.C:
		case <-callEnded:
			missed = false
		}
		l.mu.Lock()
		l.fresh = nil
		l.mu.Unlock()
		l.opening <- struct{}{}
		if missed {
			l.checkMissed(s)
		}
		select {
		case <-callEnded:
		default:
			s.releaseWaiters()
		}
	})
	res, err := l.m.Call(ctx, methods.Listen, filter)
	close(callEnded)
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

// taskWatcher is who asks for news of tasks: that has to be declared with the request.
var taskWatcher = link.ClientProfile{Capabilities: []byte(`{"extensions":{"` + methods.ExtensionTasks + `":{}}}`)}

// streamParams returns the raw params of a stream. It is called with mu held.
func (l *listener) streamParams(s *stream) []byte {
	b := append([]byte(`{"notifications":{`), l.flags...)
	for _, of := range []struct {
		member string
		task   bool
	}{{"resourceSubscriptions", false}, {"taskIds", true}} {
		n := 0
		for _, t := range s.topics {
			if l.wanted[t] == 0 || t.task != of.task {
				continue
			}
			if n++; n > 1 {
				b = append(b, ',')
			} else {
				if b[len(b)-1] != '{' {
					b = append(b, ',')
				}
				b = append(jsonrpc.AppendString(b, of.member), `:[`...)
			}
			b = jsonrpc.AppendString(b, t.name)
		}
		if n > 0 {
			b = append(b, ']')
		}
	}
	return append(b, `}}`...)
}

// noteAcknowledged takes in that the child has opened a stream. It is called on the
// read loop.
func (l *listener) noteAcknowledged(n *jsonrpc.Message) {
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

// noteCancelled takes in that the child has ended a stream (over stdio).
func (l *listener) noteCancelled(n *jsonrpc.Message) {
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

// checkMissed sees to it that what may have changed while a stream was not open is
// looked at.
func (l *listener) checkMissed(s *stream) {
	l.m.own.Relist()
	l.mu.Lock()
	var uris []string
	for _, t := range s.topics {
		if l.wanted[t] > 0 && !t.task { // a task is polled all the same
			uris = append(uris, t.name)
		}
	}
	l.mu.Unlock()
	for _, uri := range uris {
		params := append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}')
		l.m.own.Missed(l.ctx, &jsonrpc.Message{
			Method: methods.ResourceUpdated, Params: params, Members: []jsonrpc.Member{{Name: "uri", Value: jsonrpc.Get(params, "uri")}},
		})
	}
}

func (l *listener) wantsTopic(t topic) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wanted[t] > 0
}

// answerSubscribe answers resources/subscribe in the child's place.
func (l *listener) answerSubscribe(ctx context.Context, params [][]byte) (*jsonrpc.Response, error) {
	uri, ok := jsonrpc.GetString(bytes.Join(params, nil), "uri")
	if !ok {
		e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "resources/subscribe needs a URI (a string) at /params/uri"}
		return &jsonrpc.Response{Error: e.Raw()}, nil
	}
	var no *jsonrpc.Error
	switch err := l.watchTopic(ctx, topic{name: uri}); {
	case errors.As(err, &no):
		return &jsonrpc.Response{Error: no.Raw()}, nil
	case err != nil:
		return nil, err
	}
	return &jsonrpc.Response{Result: []byte(`{}`)}, nil
}

// watchTopic has the child tell about a topic, on a stream of its own, and of all on
// one if they have become many. nil: the child does. A resource is watched once, a
// task once for each time that it is watched. A [jsonrpc.Error] reports why it is
// not.
func (l *listener) watchTopic(ctx context.Context, t topic) error {
	kind := map[bool]string{false: "resource", true: "task"}[t.task]
	l.mu.Lock()
	n := l.wanted[t]
	switch {
	case t.task && !l.tasks || !t.task && !l.can:
		l.mu.Unlock()
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the server does not tell of changes of " + kind + "s"}
	case n > 0 && !t.task:
		l.mu.Unlock()
		return nil
	case n == 0 && len(l.wanted) >= maxWatched:
		l.mu.Unlock()
		return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: fmt.Sprintf("more than %d resources and tasks of one server cannot be watched", maxWatched)}
	}
	l.wanted[t]++
	topics := []topic{t}
	var s *stream
	var old []*stream
	if i := slices.IndexFunc(l.streams, func(s *stream) bool { return slices.Contains(s.topics, t) }); n > 0 && i >= 0 {
		s = l.streams[i]
	} else if len(l.streams) >= maxStreams {
		old, l.streams, topics = l.streams, nil, nil
		for t := range l.wanted {
			topics = append(topics, t)
		}
		slices.SortFunc(topics, func(a, b topic) int { return strings.Compare(a.name, b.name) })
	}
	l.mu.Unlock()
	if s == nil {
		s = l.openStream(topics)
	}
	if s == nil {
		return &jsonrpc.ClosedError{Reason: jsonrpc.ErrClosed}
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
	switch {
	case err != nil:
	case honours == nil || filterHasTopic(honours, t):
		return nil
	default:
		err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the server does not tell of changes of this " + kind}
	}
	l.dropTopic(t)
	return err
}

// filterHasTopic reports whether an acknowledged filter has a topic.
func filterHasTopic(filter []byte, t topic) bool {
	member := "resourceSubscriptions"
	if t.task {
		member = "taskIds"
	}
	return slices.Contains(stringsIn(jsonrpc.Get(filter, member)), t.name)
}

// answerUnsubscribe answers resources/unsubscribe in the child's place.
func (l *listener) answerUnsubscribe(params [][]byte) (*jsonrpc.Response, error) {
	uri, _ := jsonrpc.GetString(bytes.Join(params, nil), "uri")
	l.dropTopic(topic{name: uri})
	return &jsonrpc.Response{Result: []byte(`{}`)}, nil
}

// dropTopic forgets that a topic was watched; the last time it ends the streams that
// watched nothing else.
func (l *listener) dropTopic(t topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted[t]--; l.wanted[t] > 0 {
		return
	}
	delete(l.wanted, t)
	l.streams = slices.DeleteFunc(l.streams, func(s *stream) bool {
		if len(s.topics) == 0 || slices.ContainsFunc(s.topics, func(t topic) bool { return l.wanted[t] > 0 }) {
			return false
		}
		s.cancel()
		return true
	})
}
