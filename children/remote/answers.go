package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

// This file reads what comes as the answer to a POST of an httpConnection.

// readAnswer reads the answer to the request id: as JSON, or at the end of events. If the server has only accepted the request, the
// answer comes by elsewhere.
func (streamable *httpConnection) readAnswer(ctx context.Context, stop context.CancelCauseFunc, method string, id uint64, resp *http.Response, elsewhere <-chan *jsonrpc.Message) (*jsonrpc.Message, error) {
	switch {
	case hasAnswer(resp):
	case resp.StatusCode == http.StatusAccepted && streamable.hearsStream():
		drainRest(resp.Body)
		select {
		case m := <-elsewhere:
			stop(errAnswered)
			return m, nil
		case <-streamable.deaf:
			return nil, errors.New("the server accepted the request, and its stream ended before the answer")
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	default:
		defer stop(errAnswered)
		defer drainRest(resp.Body)
		return streamable.readRefusal(resp, id)
	}
	if method == methods.Initialize {
		streamable.mu.Lock()
		streamable.session = resp.Header.Get(headerSession)
		streamable.mu.Unlock()
	}
	if isEvents(resp) {
		return streamable.awaitAnswer(ctx, stop, id, resp)
	}
	defer stop(errAnswered)
	defer drainRest(resp.Body)
	raw, err := streamable.readWhole(resp)
	if err != nil {
		return nil, err
	}
	var answer *jsonrpc.Message
	for _, raw := range messagesOf(raw) {
		m, err := streamable.takeMessage(streamable.ctx, ctx, raw, streamable.postMessage)
		if err != nil {
			return nil, &jsonrpc.BrokenError{Reason: err.Error() + foreignHint(resp)}
		}
		if m != nil && streamable.isAnswer(m, id) {
			answer = m
		}
	}
	if answer == nil {
		return nil, &jsonrpc.BrokenError{Reason: "the server answered with something that is no answer to this request"}
	}
	return answer, nil
}

// hasAnswer reports whether a response to a request has its answer. Some servers say 201.
func hasAnswer(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated
}

// foreignHint reports what an answer that cannot be read is instead of JSON.
func foreignHint(resp *http.Response) string {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if kind == "" || strings.Contains(strings.ToLower(kind), "json") {
		return ""
	}
	return fmt.Sprintf("; it is %s and no JSON: check that \"url\" of this server in hub.json is where it speaks MCP", printable.Escape(kind, 100))
}

// readRefusal reads an answer that is no success. An error under the id of the
// request is its answer like any other, code and data kept, unless it is about
// the connection and not about the request.
func (w *wire) readRefusal(resp *http.Response, id uint64) (*jsonrpc.Message, error) {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, drainBody))
	resp.Body = io.NopCloser(bytes.NewReader(text))
	err := statusError(resp)
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return nil, err
	}
	var bad *link.StatusError
	if m := errorIn(text); m != nil && errors.As(err, &bad) && !bad.SessionForgotten() && w.isAnswer(m, id) {
		return m, nil
	}
	return nil, err
}

// awaitAnswer reads events until the answer to the request id is among them. A
// stream that breaks, or that the server ends before, is taken up again where
// it was, if it gave an id to do so (2025-11-25, Resumability).
func (streamable *httpConnection) awaitAnswer(ctx context.Context, stop context.CancelCauseFunc, id uint64, resp *http.Response) (*jsonrpc.Message, error) {
	last, told, pause := "", time.Duration(0), firstRetry
	for {
		events := newEventReader(resp.Body, streamable.limit)
		for {
			ev, err := events.nextEvent()
			if err != nil {
				last, told = cmp.Or(events.id, last), max(events.retry, told)
				_ = resp.Body.Close()
				if errors.Is(err, errLongEvent) {
					return nil, &jsonrpc.BrokenError{Reason: err.Error()}
				}
				if last == "" || ctx.Err() != nil {
					return nil, fmt.Errorf("the stream ended before the answer: %w", err)
				}
				break
			}
			pause = firstRetry
			if len(ev.data) == 0 {
				continue
			}
			m, err := streamable.takeMessage(streamable.ctx, ctx, oneLine(ev.data), streamable.postMessage)
			switch {
			case err != nil:
				streamable.log.Warn().Err(err).Msg("an event is no message")
			case m != nil && streamable.isAnswer(m, id):
				streamable.finishStream(resp, stop)
				return m, nil
			case m != nil && !streamable.takeAnswer(m):
				streamable.skipped.Add(1)
			}
		}
		for {
			if !retryAfter(ctx, told, pause) {
				return nil, context.Cause(ctx)
			}
			next, err := streamable.resumeStream(ctx, last)
			if err == nil {
				resp = next
				break
			}
			var bad *link.StatusError
			if pause *= 2; errors.As(err, &bad) || pause > lastRetry {
				return nil, fmt.Errorf("the stream broke before the answer and could not be taken up again: %w", err)
			}
		}
	}
}

// hearsStream reports whether the child's own stream is read.
func (streamable *httpConnection) hearsStream() bool {
	select {
	case <-streamable.open:
	default:
		return false
	}
	select {
	case <-streamable.deaf:
		return false
	default:
		return true
	}
}

// awaiting are the requests under way, by id. Servers of the older transport answer on their one stream, and some of the newer one on a stream that is not the one of the POST.
type awaiting struct {
	mu sync.Mutex
	by map[uint64]chan *jsonrpc.Message
}

// addRequest returns a channel for the answer to a request, if that comes on another stream.
func (a *awaiting) addRequest(id uint64) <-chan *jsonrpc.Message {
	elsewhere := make(chan *jsonrpc.Message, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[uint64]chan *jsonrpc.Message{}
	}
	a.by[id] = elsewhere
	return elsewhere
}

func (a *awaiting) removeRequest(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.by, id)
}

// takeAnswer hands an answer to the request that it belongs to; false if that does not wait for it.
func (w *wire) takeAnswer(m *jsonrpc.Message) bool {
	id, _ := jsonrpc.OwnID(string(m.ID))
	w.awaiting.mu.Lock()
	defer w.awaiting.mu.Unlock()
	elsewhere := w.awaiting.by[id]
	if elsewhere == nil || !w.isAnswer(m, id) {
		return false
	}
	delete(w.awaiting.by, id)
	elsewhere <- m
	return true
}

// resumeStream opens a stream of events by GET, behind the event last ("": the
// child's own).
func (streamable *httpConnection) resumeStream(ctx context.Context, last string) (*http.Response, error) {
	req, err := streamable.sessionRequest(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	return streamable.openStream(req)
}

// openStream asks for a stream of events; a server that answers with something else has none.
func (w *wire) openStream(req *http.Request) (*http.Response, error) {
	req.Header.Set("Accept", "text/event-stream")
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || !isEvents(resp) {
		defer resp.Body.Close() // which may never end
		return nil, statusError(resp)
	}
	return resp, nil
}

// counting counts answers: a server that answers anything is there.
type counting struct {
	heard *atomic.Uint64
	*http.Transport
}

func (h *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.Transport.RoundTrip(r)
	if err == nil {
		h.heard.Add(1)
		unpackBody(resp)
	}
	return resp, err
}
