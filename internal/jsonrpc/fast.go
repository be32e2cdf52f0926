package jsonrpc

import (
	"maps"
	"slices"
	"strconv"

	"mcphub/internal/jsonrpc/lines"
	"mcphub/internal/kept"
)

// This file is the fast path of a small request: taken on the read loop of one Conn,
// sent on by another without waiting, answered on the read loop of the other. No
// goroutine is woken for it: besides the line of the record, a relayed request is
// four system calls. Whatever would have to wait takes the waiting path instead: a
// goroutine of its own and Call.

// FastFrame is the longest request, in bytes, that is offered the fast path: serving
// it delays what follows on the stream, and it is copied into the pipe of another peer.
const FastFrame = 16 << 10

// A Responder answers, once, a request that ConnOptions.Fast has taken.
type Responder struct {
	conn *Conn
	id   string
	size int

	entry *kept.Entry
	interest
	claimed bool // answered, or left to the waiting path; guarded by mu
}

// claimAnswer gives the caller the right to answer, once: first is false if another caller has it. cause is why the
// answer is not wanted any more; nil: it is wanted.
func (r *Responder) claimAnswer() (cause error, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = !r.claimed
	r.claimed = true
	return r.cause, first
}

// Answer sends the answer and never blocks. A goroutine sends it if the queue is full,
// or if it is large and the peer does not take it at once. A cancelled request is not
// answered, but Answer must be called nevertheless. A second answer is dropped.
func (r *Responder) Answer(answer Answer) {
	cause, first := r.claimAnswer()
	if !first {
		answer.Free()
		return
	}
	conn := r.conn
	conn.freeID(r.id)
	if isCancelled(cause) {
		answer.Free()
		r.entry.Void()
		r.freePlace()
		return
	}
	f := newFrame()
	sent, pending := false, (*lines.Completion)(nil)
	if f.makeAnswer(r.id, answer) <= lines.CopyLimit {
		sent = answer.batch.Send(conn.writer, f.parts, r.entry.Marks()...)
	} else {
		pending, sent = conn.writer.Offer(f.parts, r.entry.Marks()...)
	}
	if sent && pending == nil {
		f.freeFrame()
		answer.Free()
		r.freePlace()
		return
	}
	if pending == nil {
		answer.Detach()
	}
	go r.answerLater(f, pending, answer)
}

// answerLater sends an answer for which the queue was full, or waits until an answer that
// the peer took in part has left.
func (r *Responder) answerLater(f *frame, s *lines.Completion, answer Answer) {
	defer r.freePlace()
	if s == nil {
		r.conn.replyTo(r.conn.ctx, r.id, answer, r.entry)
	} else if s.Wait(r.conn.ctx) == nil {
		f.freeFrame()
		answer.Free()
	}
}

// Batch returns what gathers frames sent by ConnOptions.Fast, for PreparedCall.Start
// before ConnOptions.Fast returns.
func (r *Responder) Batch() *lines.Batch { return &r.conn.batch }

// freePlace frees the request's place among the ones that are served.
func (r *Responder) freePlace() {
	r.conn.freePlace(r.size)
	r.conn.busy.Done()
}

// offerFast offers a request to ConnOptions.Fast. false: it takes the waiting path.
func (conn *Conn) offerFast(m *Message) bool {
	if conn.options.Fast == nil || len(m.Frame) > FastFrame {
		return false
	}
	r := &Responder{conn: conn, id: string(m.ID), size: len(m.Frame), entry: conn.keptEntry}
	if conn.admitRequest(r.id, r, r.size, cap(conn.servingSlots)) != "" {
		return false
	}
	conn.busy.Add(1)
	if conn.callFast(m, r) {
		conn.keptEntry = nil
		return true
	}
	if _, first := r.claimAnswer(); !first {
		conn.keptEntry = nil
		return true // the handler returned false although it has answered
	}
	conn.freeID(r.id)
	r.freePlace()
	return false
}

// callFast calls ConnOptions.Fast. If that panics, the request counts as taken.
func (conn *Conn) callFast(m *Message, r *Responder) (ok bool) {
	if !Guard(conn.options.Log, m, func() { ok = conn.options.Fast(m, r) }) {
		r.Answer(PanicAnswer())
		return true
	}
	return ok
}

// cancelServed cancels every request that is being served: those on the fast path
// have no context.
func (conn *Conn) cancelServed(cause error) {
	conn.cancel(cause)
	conn.mu.Lock()
	all := slices.Collect(maps.Values(conn.tables.serving))
	conn.mu.Unlock()
	for _, request := range all {
		request.endWith(cause)
	}
}

// A ResponseHandler learns what became of its request: on the read loop with an
// answer, which it must not hold up, or with an error on whichever goroutine
// ended the request. res and its parts are valid only until OnResponse returns.
type ResponseHandler interface {
	OnResponse(res *Response, err error)
}

// A PreparedCall is a request that no goroutine waits for. The zero PreparedCall can be
// prepared, once.
type PreparedCall struct {
	conn *Conn
	id   uint64
	call openCall
}

// Prepare makes prepared a request that Start will send. handler is told about its
// outcome once, if Start returns true.
func (conn *Conn) Prepare(prepared *PreparedCall, handler ResponseHandler) {
	prepared.conn, prepared.id, prepared.call.handler = conn, conn.lastID.Add(1), handler
}

// Start sends the request if that takes no waiting, with others if the caller is
// on a read loop and gives its Batch; false: nothing was sent, and its
// ResponseHandler will not be told. params may be used again when it returns.
func (prepared *PreparedCall) Start(b *lines.Batch, method string, params ...[]byte) bool {
	conn := prepared.conn
	conn.mu.Lock()
	if conn.tables.closed != nil || conn.options.Kept != nil { // a question that is kept has an entry, and waits for it
		conn.mu.Unlock()
		return false
	}
	conn.tables.pending[prepared.id] = &prepared.call
	conn.mu.Unlock()
	f := newFrame()
	defer f.freeFrame()
	f.makeRequest(prepared.id, method, params)
	if b.Send(conn.writer, f.parts) {
		return true
	}
	if conn.forgetCall(prepared.id) == nil {
		return true // the Conn ended meanwhile, and has told the handler
	}
	return false
}

// Abandon ends the request with a cause, which the peer is told, unless it has
// been answered.
func (prepared *PreparedCall) Abandon(cause error) {
	waiting := prepared.conn.forgetCall(prepared.id)
	if waiting == nil {
		return
	}
	prepared.conn.cancelled.Add(1)
	prepared.conn.cancelPeer(strconv.AppendUint(nil, prepared.id, 10), cause)
	waiting.finishWith(callOutcome{err: cause})
}

// finishWith hands the outcome to the one who waits for it.
func (call *openCall) finishWith(outcome callOutcome) {
	if call.handler != nil {
		call.handler.OnResponse(outcome.resp, outcome.err)
		return
	}
	call.ch <- outcome
}
