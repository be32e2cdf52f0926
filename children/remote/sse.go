package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

// sseConnection speaks HTTP with SSE (2024-11-05): one stream of events for all that
// the child says, whose first event names where to POST to. When the stream
// ends so does the run: nothing shows where to go on.
type sseConnection struct {
	*wire
	ctx      context.Context
	endCalls context.CancelCauseFunc
	opening  sync.Once
	known    chan struct{} // closed once to is known
	ended    chan struct{} // closed when the stream has ended

	mu  sync.Mutex
	to  *url.URL
	err error // why the stream ended
}

func newSSEConnection(w *wire) *sseConnection {
	l := &sseConnection{wire: w, known: make(chan struct{}), ended: make(chan struct{})}
	l.ctx, l.endCalls = context.WithCancelCause(context.Background())
	return l
}

// openOnce starts to read the stream. The first to need it does.
func (l *sseConnection) openOnce() {
	l.opening.Do(func() { l.jobs.startJob(l.readStream) })
}

// Run serves the stream until it ends or ctx does.
func (l *sseConnection) Run(ctx context.Context) error {
	l.openOnce()
	var err error
	select {
	case <-ctx.Done():
	case <-l.ended:
		l.mu.Lock()
		err = l.err
		l.mu.Unlock()
	}
	l.endCalls(jsonrpc.ErrClosed)
	l.supply.stopRenewal()
	l.jobs.waitForJobs()
	l.client.CloseIdleConnections()
	return err
}

// readStream takes in what the child says, until it says no more.
func (l *sseConnection) readStream() {
	err := l.readEvents()
	l.mu.Lock()
	l.err = fmt.Errorf("the stream of %s ended: %w", l.url.Host, link.BareURL(err))
	l.noteError(l.err)
	l.mu.Unlock()
	close(l.ended)
}

func (l *sseConnection) readEvents() error {
	req, err := l.newRequest(l.ctx, http.MethodGet, l.url, nil)
	if err != nil {
		return err
	}
	resp, err := l.openStream(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	events := newEventReader(resp.Body, l.limit)
	for {
		ev, err := events.nextEvent()
		if err != nil {
			return err
		}
		switch {
		case ev.name == "endpoint":
			if err := l.setEndpoint(string(ev.data)); err != nil {
				return err
			}
		case len(ev.data) > 0 && (ev.name == "" || ev.name == "message"):
			m, err := l.takeMessage(l.ctx, nil, oneLine(ev.data), l.postMessage)
			if err != nil {
				l.log.Warn().Err(err).Msg("an event is no message")
				continue
			}
			if m != nil && !l.takeAnswer(m) {
				l.skipped.Add(1)
			}
		}
	}
}

// setEndpoint takes in the address to POST to: only one on the host that the stream comes from,
// for the credentials go there too.
func (l *sseConnection) setEndpoint(text string) error {
	to, err := l.url.Parse(strings.TrimSpace(text))
	if err != nil || !mayGo(l.url, to) {
		return fmt.Errorf("it names an endpoint on another host: %s", printable.Escape(text, 200))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to == nil {
		l.to = to
		close(l.known)
	}
	return nil
}

// Call sends one request and waits for its answer on the stream.
func (l *sseConnection) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	l.openOnce()
	id := l.lastID.Add(1)
	answer := l.awaiting.addRequest(id)
	defer l.awaiting.removeRequest(id)
	if err := l.postMessage(ctx, jsonrpc.RequestParts(strconv.AppendUint(nil, id, 10), method, params)); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	select {
	case m := <-answer:
		return &jsonrpc.Response{Result: m.Result, Error: m.Error}, nil
	case <-l.ended:
		return nil, l.goneError()
	case <-ctx.Done():
		if method != methods.Initialize {
			l.jobs.startJob(func() {
				late, cancel := context.WithTimeout(l.ctx, answerTime)
				defer cancel()
				_ = l.postMessage(late, cancellationOf(id, context.Cause(ctx)))
			})
		}
		return nil, context.Cause(ctx)
	}
}

// goneError returns the error of who uses a stream that has ended.
func (l *sseConnection) goneError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &jsonrpc.ClosedError{Reason: l.err}
}

// Notify sends a notification.
func (l *sseConnection) Notify(ctx context.Context, method string, params ...[]byte) error {
	l.openOnce()
	return l.postMessage(ctx, jsonrpc.RequestParts(nil, method, params))
}

// postMessage sends one message to the address that the child named.
func (l *sseConnection) postMessage(ctx context.Context, parts [][]byte) error {
	select {
	case <-l.known:
	case <-l.ended:
		return l.goneError()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	l.mu.Lock()
	to := l.to
	l.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errors.New("the server did not take the message in time"))
	defer cancel()
	req, err := l.newRequest(ctx, http.MethodPost, to, parts)
	if err != nil {
		return err
	}
	return l.deliverMessage(req)
}
