package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
)

// postConnection speaks Streamable HTTP of 2026-07-28 over the connection of an
// httpConnection, whose Run is its own: each request is a POST, what belongs to it
// comes on the answer, and closing that is how it is cancelled. There is no
// session, no stream by GET, and nothing is taken up again.
type postConnection struct {
	*wire
	life   context.Context // of everything under way
	mirror marked
}

// Stateless returns the way to the same server without a handshake.
func (streamable *httpConnection) Stateless() link.ChildConnection {
	return &postConnection{wire: streamable.wire, life: streamable.ctx}
}

// Stateless reports that the older transport has no such way.
func (sse *sseConnection) Stateless() link.ChildConnection { return nil }

// LearnTools takes in which arguments of which tool go into headers.
func (post *postConnection) LearnTools(tools [][]byte) (good [][]byte, odd []string) {
	return post.mirror.learnTools(tools)
}

// Run returns when the connection has ended.
func (post *postConnection) Run(ctx context.Context) error {
	select {
	case <-post.life.Done():
	case <-ctx.Done():
	}
	return nil
}

// Call sends one request. The end of ctx closes its stream, which tells the
// child.
func (post *postConnection) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	conn, stop := context.WithCancelCause(carried{post.life, ctx})
	defer context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })()
	res, err := post.exchangeRequest(conn, stop, method, params)
	if err == nil {
		return res, nil
	}
	stop(nil)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case post.life.Err() != nil:
		return nil, &jsonrpc.ClosedError{Reason: errors.New("the connection was ended")}
	}
	post.noteError(err)
	return nil, err
}

// exchangeRequest POSTs a request and reads until its answer is there. What is left to
// read of that keeps the connection, and ends it by stop.
func (post *postConnection) exchangeRequest(ctx context.Context, stop context.CancelCauseFunc, method string, params [][]byte) (*jsonrpc.Response, error) {
	id := post.lastID.Add(1)
	req, err := post.newPost(ctx, method, params, jsonrpc.RequestParts(strconv.AppendUint(nil, id, 10), method, params))
	if err != nil {
		return nil, err
	}
	resp, err := post.client.Do(req)
	if err != nil {
		return nil, &link.LostError{Host: post.url.Host, Err: err}
	}
	if !hasAnswer(resp) {
		defer stop(errAnswered)
		defer drainRest(resp.Body)
		return post.readRefused(resp, id)
	}
	if isEvents(resp) {
		m, err := post.awaitAnswer(ctx, id, resp)
		if err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
		post.finishStream(resp, stop)
		return &jsonrpc.Response{Result: m.Result, Error: m.Error}, nil
	}
	defer stop(errAnswered)
	defer drainRest(resp.Body)
	raw, err := post.readWhole(resp)
	if err != nil {
		return nil, post.cutError(err)
	}
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split(raw, false, m); err != nil {
		return nil, &jsonrpc.BrokenError{Reason: err.Error()}
	}
	if !m.IsResponse() || !post.isAnswer(m, id) || (m.Result == nil) == (m.Error == nil) {
		return nil, &jsonrpc.BrokenError{Reason: "the server answered with something that is no answer to this request"}
	}
	return &jsonrpc.Response{Result: m.Result, Error: m.Error}, nil
}

// newPost makes the request of one message, with the headers that mirror it.
func (post *postConnection) newPost(ctx context.Context, method string, params, body [][]byte) (*http.Request, error) {
	req, err := post.newRequest(ctx, http.MethodPost, post.url, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(headerProtocol, mcp.ProtocolVersion20260728)
	for name, value := range post.mirror.headersOf(method, bytes.Join(params, nil)) {
		req.Header.Set(name, value)
	}
	return req, nil
}

// readRefused reads an answer that is no success: an error object that is about this
// request is its answer like any other.
func (post *postConnection) readRefused(resp *http.Response, id uint64) (*jsonrpc.Response, error) {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, drainBody))
	if m := errorIn(text); m != nil && (m.ID == nil || string(m.ID) == "null" || post.isAnswer(m, id)) {
		return &jsonrpc.Response{Error: m.Error}, nil
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return nil, statusError(resp)
}

// awaitAnswer reads events until the answer to this request is among them.
func (post *postConnection) awaitAnswer(ctx context.Context, id uint64, resp *http.Response) (*jsonrpc.Message, error) {
	events := newEventReader(resp.Body, post.limit)
	for {
		ev, err := events.nextEvent()
		if err != nil {
			return nil, post.cutError(err)
		}
		if len(ev.data) == 0 {
			continue
		}
		m := &jsonrpc.Message{}
		if err := jsonrpc.Split(oneLine(ev.data), false, m); err != nil {
			post.skipped.Add(1)
			post.log.Warn().Err(err).Msg("an event is no message")
			continue
		}
		switch {
		case m.IsNotification():
			post.hearNotification(ctx, m)
		case m.IsResponse() && post.isAnswer(m, id):
			if (m.Result == nil) == (m.Error == nil) {
				return nil, &jsonrpc.BrokenError{Reason: "it has neither a result nor an error, or both"}
			}
			return m, nil
		default: // a server of this version asks nothing by itself
			post.skipped.Add(1)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// cutError returns the error of a call whose answer broke off. The request is
// lost, and no one knows whether it was done: it is not sent again, and the others
// go on.
func (post *postConnection) cutError(err error) error {
	if _, ok := errors.AsType[*jsonrpc.BrokenError](err); ok {
		return err
	}
	return &jsonrpc.BrokenError{Reason: fmt.Sprintf("the stream of %s ended before the answer: %s", post.url.Host, link.BareURL(err))}
}

// Notify sends a notification.
func (post *postConnection) Notify(ctx context.Context, method string, params ...[]byte) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req, err := post.newPost(ctx, method, params, jsonrpc.RequestParts(nil, method, params))
	if err != nil {
		return err
	}
	return post.deliverMessage(req)
}
