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
func (sse *sseConnection) openOnce() {
	sse.opening.Do(func() { sse.jobs.startJob(sse.readStream) })
}

// Run serves the stream until it ends or ctx does.
func (sse *sseConnection) Run(ctx context.Context) error {
	sse.openOnce()
	var err error
	select {
	case <-ctx.Done():
	case <-sse.ended:
		sse.mu.Lock()
		err = sse.err
		sse.mu.Unlock()
	}
	sse.endCalls(jsonrpc.ErrClosed)
	sse.supply.stopRenewal()
	sse.jobs.waitForJobs()
	sse.client.CloseIdleConnections()
	return err
}

// readStream takes in what the child says, until it says no more.
func (sse *sseConnection) readStream() {
	err := sse.readEvents()
	sse.mu.Lock()
	sse.err = fmt.Errorf("the stream of %s ended: %w", sse.url.Host, link.BareURL(err))
	sse.noteError(sse.err)
	sse.mu.Unlock()
	close(sse.ended)
}

func (sse *sseConnection) readEvents() error {
	req, err := sse.newRequest(sse.ctx, http.MethodGet, sse.url, nil)
	if err != nil {
		return err
	}
	resp, err := sse.openStream(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	events := newEventReader(resp.Body, sse.limit)
	for {
		ev, err := events.nextEvent()
		if err != nil {
			return err
		}
		switch {
		case ev.name == "endpoint":
			if err := sse.setEndpoint(string(ev.data)); err != nil {
				return err
			}
		case len(ev.data) > 0 && (ev.name == "" || ev.name == "message"):
			m, err := sse.takeMessage(sse.ctx, nil, oneLine(ev.data), sse.postMessage)
			if err != nil {
				sse.log.Warn().Err(err).Msg("an event is no message")
				continue
			}
			if m != nil && !sse.takeAnswer(m) {
				sse.skipped.Add(1)
			}
		}
	}
}

// setEndpoint takes in the address to POST to: only one on the host that the stream comes from,
// for the credentials go there too.
func (sse *sseConnection) setEndpoint(text string) error {
	to, err := sse.url.Parse(strings.TrimSpace(text))
	if err != nil || !mayGo(sse.url, to) {
		return fmt.Errorf("it names an endpoint on another host: %s", printable.Escape(text, 200))
	}
	sse.mu.Lock()
	defer sse.mu.Unlock()
	if sse.to == nil {
		sse.to = to
		close(sse.known)
	}
	return nil
}

// Call sends one request and waits for its answer on the stream.
func (sse *sseConnection) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	sse.openOnce()
	id := sse.lastID.Add(1)
	answer := sse.awaiting.addRequest(id)
	defer sse.awaiting.removeRequest(id)
	if err := sse.postMessage(ctx, jsonrpc.RequestParts(strconv.AppendUint(nil, id, 10), method, params)); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	select {
	case m := <-answer:
		return &jsonrpc.Response{Result: m.Result, Error: m.Error}, nil
	case <-sse.ended:
		return nil, sse.goneError()
	case <-ctx.Done():
		if method != methods.Initialize {
			sse.jobs.startJob(func() {
				late, cancel := context.WithTimeout(sse.ctx, answerTime)
				defer cancel()
				_ = sse.postMessage(late, cancellationOf(id, context.Cause(ctx)))
			})
		}
		return nil, context.Cause(ctx)
	}
}

// goneError returns the error of who uses a stream that has ended.
func (sse *sseConnection) goneError() error {
	sse.mu.Lock()
	defer sse.mu.Unlock()
	return &jsonrpc.ClosedError{Reason: sse.err}
}

// Notify sends a notification.
func (sse *sseConnection) Notify(ctx context.Context, method string, params ...[]byte) error {
	sse.openOnce()
	return sse.postMessage(ctx, jsonrpc.RequestParts(nil, method, params))
}

// postMessage sends one message to the address that the child named.
func (sse *sseConnection) postMessage(ctx context.Context, parts [][]byte) error {
	select {
	case <-sse.known:
	case <-sse.ended:
		return sse.goneError()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	sse.mu.Lock()
	to := sse.to
	sse.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errors.New("the server did not take the message in time"))
	defer cancel()
	req, err := sse.newRequest(ctx, http.MethodPost, to, parts)
	if err != nil {
		return err
	}
	return sse.deliverMessage(req)
}
