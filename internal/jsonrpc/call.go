package jsonrpc

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"mcphub/internal/kept"
)

// openCall is one request of ours that waits for its answer. The one who takes it out of
// the table sends to ch, once; if that is the caller itself, no one does.
// Either way it can be used again when Call returns.
type openCall struct {
	ch      chan callOutcome
	handler ResponseHandler // of a PreparedCall: instead of ch
}

type callOutcome struct {
	resp *Response
	err  error
}

// Call sends a request and waits for its answer. params are the parts of one
// raw JSON value, written one after the other without a copy of the large
// ones; nothing, or nothing but empty parts, means no params member. When ctx
// ends first, the peer is sent notifications/cancelled (except for initialize,
// which must not be cancelled) and the error is the cause of ctx; large params
// may then still be in use and must not be written to. Other errors match ErrClosed, or are a *BrokenError.
// An error object of the peer is not an error of Call.
func (conn *Conn) Call(ctx context.Context, method string, params ...[]byte) (*Response, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	id := conn.lastID.Add(1)
	call, ok := conn.freeCalls.Get().(*openCall)
	if !ok {
		call = &openCall{ch: make(chan callOutcome, 1)}
	}
	conn.mu.Lock()
	if closed := conn.tables.closed; closed != nil {
		conn.mu.Unlock()
		conn.freeCalls.Put(call)
		return nil, &ClosedError{Reason: closed.Reason, Unsent: true}
	}
	conn.tables.pending[id] = call
	conn.mu.Unlock()

	f := newFrame()
	f.makeRequest(id, method, params)
	entry := conn.enterAsked(id)
	defer entry.Void()
	queued, err := conn.writer.Send(ctx, f.parts, entry.Marks()...)
	if err == nil {
		f.freeFrame()
		select {
		case outcome := <-call.ch:
			conn.freeCalls.Put(call)
			return outcome.resp, outcome.err
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if conn.forgetCall(id) == nil {
		outcome := <-call.ch // the answer, or the end of the Conn, came at the same moment
		conn.freeCalls.Put(call)
		return outcome.resp, outcome.err
	}
	conn.freeCalls.Put(call)
	if ctx.Err() == nil {
		return nil, closedBy(err)
	}
	conn.cancelled.Add(1)
	err = context.Cause(ctx)
	if queued && method != "initialize" {
		conn.cancelPeer(strconv.AppendUint(nil, id, 10), err)
	}
	return nil, err
}

// enterAsked enters a request of our own into kept memory.
func (conn *Conn) enterAsked(n uint64) *kept.Entry {
	if conn.options.Kept == nil {
		return nil
	}
	return conn.options.Kept.Ask(strconv.AppendUint(nil, n, 10))
}

// closedBy makes an error of the Writer one that matches ErrClosed. Part of the message may have been written.
func closedBy(err error) error {
	if err == nil || errors.Is(err, ErrClosed) {
		return err
	}
	return &ClosedError{Reason: err}
}

// cancelPeer informs the peer that no caller waits for its answer any more.
func (conn *Conn) cancelPeer(id []byte, cause error) {
	f := newFrame()
	defer f.freeFrame()
	f.makeNotification(methodCancelled, [][]byte{CancelParams(id, cause)})
	if !conn.writer.TrySend(controlGap, f.parts) {
		conn.dropped.Add(1)
	}
}

// CancelParams returns the params of notifications/cancelled for the request
// with a raw id. The reason is the one that came with the cancellation where
// cause is one, else the cause itself.
func CancelParams(id []byte, cause error) []byte {
	text := cause.Error()
	if asked, ok := errors.AsType[*CancelledError](cause); ok {
		text = asked.Reason
	}
	b := append([]byte(`{"requestId":`), id...)
	if text != "" {
		b = AppendString(append(b, `,"reason":`...), text)
	}
	return append(b, '}')
}

// forgetCall takes a pending call out of the table; nil when there is none.
func (conn *Conn) forgetCall(n uint64) *openCall {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	call := conn.tables.pending[n]
	delete(conn.tables.pending, n)
	return call
}

// forgetRaw works like forgetCall for the id of an answer. Our ids are whole numbers. A strict peer
// must return them as they were, because its answers may be decisions of people. A
// lenient peer may spell them otherwise.
func (conn *Conn) forgetRaw(id string) *openCall {
	if conn.options.Strict {
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			return nil
		}
		return conn.forgetCall(n)
	}
	n, text := OwnID(id)
	call := conn.forgetCall(n)
	if call != nil && text {
		conn.textIDs.Add(1)
	}
	return call
}

// OwnID reads the id of a lenient peer's answer. Our ids are whole numbers from 1 on. A
// peer may write them as floating point, or as the string of their decimal digits; text
// is whether it did the latter. n is 0 if it is no id of ours.
func OwnID(raw string) (n uint64, text bool) {
	digits := raw
	if len(raw) > 2 && raw[0] == '"' && raw[1] != '0' {
		digits, text = raw[1:len(raw)-1], true
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case err == nil:
		return n, text
	case text || !strings.ContainsAny(raw, ".eE"):
		return 0, false
	}
	x, err := strconv.ParseFloat(raw, 64)
	if err != nil || x < 1 || x >= 1<<53 || x != float64(uint64(x)) {
		return 0, false
	}
	return uint64(x), false
}

// Notify sends a notification, waiting for room as long as ctx lasts.
func (conn *Conn) Notify(ctx context.Context, method string, params ...[]byte) error {
	f := newFrame()
	f.makeNotification(method, params)
	if _, err := conn.writer.Send(ctx, f.parts); err != nil {
		if ctx.Err() == nil {
			err = closedBy(err)
		}
		return err
	}
	f.freeFrame()
	return nil
}

// TryNotify sends a notification if there is room for it, and never blocks;
// false means that it was dropped and counted.
func (conn *Conn) TryNotify(method string, params ...[]byte) bool {
	return conn.tryNotify(0, method, params)
}

// TryNotifyLeavingRoom works like TryNotify, but leaves half of the room to whatever else
// there is to send.
func (conn *Conn) TryNotifyLeavingRoom(method string, params ...[]byte) bool {
	return conn.tryNotify(-conn.options.QueueBytes/2, method, params)
}

func (conn *Conn) tryNotify(beyond int, method string, params [][]byte) bool {
	f := newFrame()
	defer f.freeFrame()
	f.makeNotification(method, params)
	if conn.writer.TrySend(beyond, f.parts) {
		return true
	}
	conn.dropped.Add(1)
	return false
}
