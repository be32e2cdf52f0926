package jsonrpc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/rs/zerolog"

	"mcphub/internal/jsonrpc/broken"
	"mcphub/internal/jsonrpc/lines"
	"mcphub/internal/kept"
	"mcphub/internal/printable"
)

func (conn *Conn) readLoop() error {
	reader := conn.newReader()
	conn.reader = reader
	reader.Heard = &conn.heard
	defer conn.batch.Flush()
	var m Message
	for {
		line, err := reader.Next()
		holding := conn.batch.Hold(len(line) <= FastFrame && reader.More())
		if len(line) > FastFrame {
			conn.batch.Flush() // reading it takes a while
		}
		switch {
		case err != nil:
			var long *lines.TooLongError
			if !errors.As(err, &long) {
				return err
			}
			conn.takeTooLong(long)
		case !isBlank(line):
			conn.takeLine(reader, line, &m)
		}
		if !holding {
			conn.batch.Flush()
		}
	}
}

func (conn *Conn) newReader() *lines.Reader {
	if conn.options.Kept != nil {
		return lines.NewKeptReader(conn.in, conn.options.FrameLimit, conn.options.Kept)
	}
	return lines.NewReader(conn.in, conn.options.FrameLimit)
}

// openRequest enters a request into kept memory, before its line is committed.
func (conn *Conn) openRequest(id []byte) { conn.keptEntry = conn.options.Kept.Open(id) }

// openedEntry returns the entry of the request that the read loop takes. Its answer is the caller's.
func (conn *Conn) openedEntry() *kept.Entry {
	entry := conn.keptEntry
	conn.keptEntry = nil
	return entry
}

// takeLine deals with one line.
func (conn *Conn) takeLine(reader *lines.Reader, line []byte, m *Message) {
	err := Split(line, conn.options.Strict, m)
	if err == nil {
		if m.IsRequest() {
			conn.openRequest(m.ID)
		}
		if conn.options.Taking != nil {
			conn.options.Taking(m)
		}
		reader.Commit()
	}
	switch {
	case err == nil && m.LongID(conn.options.IDLimit) != "":
		conn.batch.Flush()
		conn.refuseRequest(m.ID, CodeInvalidRequest, m.LongID(conn.options.IDLimit))
	case err == nil:
		conn.dispatchMessage(reader, m)
	case errors.Is(err, ErrBatch) && conn.options.Batches != nil && conn.options.Batches():
		conn.batch.Flush()
		conn.takeBatch(reader)
	default:
		conn.batch.Flush()
		conn.takeBadLine(line, err, conn.refuseRequest)
	}
	m.forgetFrame()
}

func isBlank(line []byte) bool {
	return len(bytes.TrimLeft(line, " \t\r")) == 0
}

func (conn *Conn) dispatchMessage(reader *lines.Reader, m *Message) {
	switch {
	case m.IsRequest() && !conn.onReadLoop(m) && conn.offerFast(m):
		return
	case m.IsResponse():
		conn.takeResponse(reader, m)
		return
	}
	conn.batch.Flush() // what follows may take a while
	switch {
	case m.IsRequest():
		conn.startRequest(reader, m)
	case m.Method == methodCancelled:
		conn.takeCancellation(m)
	case m.IsNotification():
		conn.takeNotification(m)
	case m.Result != nil || m.Error != nil:
		conn.skipLine("an answer without an id", m.Frame)
	case conn.options.Strict:
		conn.refuseRequest(nil, CodeInvalidRequest, "a message needs a method, or an id with a result or an error")
	default:
		conn.skipLine("neither a method nor an id", m.Frame)
	}
}

// startRequest registers one request of the peer, so that a cancellation that
// comes next finds it, and serves it off the read loop.
func (conn *Conn) startRequest(reader *lines.Reader, m *Message) {
	if conn.onReadLoop(m) {
		frame, _ := reader.Take()
		own := m.rebaseOn(frame)
		conn.replyOnReadLoop(string(own.ID), conn.callHandler(conn.ctx, own))
		return
	}
	req, refusal := conn.enterRequest(m)
	if req == nil {
		conn.refuseRequest(m.ID, CodeInvalidRequest, refusal)
		return
	}
	// The buffer of a large request is left to the collector: a call to a child that
	// was cancelled may still be writing from it.
	frame, _ := reader.Take()
	req.message = m.rebaseOn(frame)
	conn.spawnRequest(req)
}

// enterRequest registers a request; refusal reports why there is none.
func (conn *Conn) enterRequest(m *Message) (req *peerRequest, refusal string) {
	req = &peerRequest{}
	req.ctx, req.cancel = context.WithCancelCause(conn.ctx)
	if refusal = conn.admitRequest(string(m.ID), req, len(m.Frame), cap(conn.servingSlots)*(1+waitingRequests)); refusal != "" {
		req.cancel(nil)
		return nil, refusal
	}
	req.entry = conn.openedEntry()
	return req, ""
}

// spawnRequest has a request served off the read loop.
func (conn *Conn) spawnRequest(req *peerRequest) {
	conn.busy.Add(1)
	conn.workers.Go(&conn.wg, req)
}

func (conn *Conn) onReadLoop(m *Message) bool {
	return conn.options.OnReadLoop != nil && conn.options.OnReadLoop(m.Method)
}

// peerRequest is one request of the peer under way.
type peerRequest struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	message *Message
	entry   *kept.Entry

	response *batchResponse // where it came in a batch
}

func (req *peerRequest) endWith(cause error) { req.cancel(cause) }

// admitRequest enters a request of size bytes into the table, if there are fewer than most;
// the text states why it is refused.
func (conn *Conn) admitRequest(id string, r incoming, size, most int) string {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if _, twice := conn.tables.serving[id]; twice {
		return "a request with this id is still being served"
	}
	if conn.tables.active >= most {
		return fmt.Sprintf("too many requests at once (%d): send again when some have been answered", most)
	}
	if conn.tables.active > 0 && conn.tables.heldBytes+size > heldFrames*conn.options.FrameLimit {
		return fmt.Sprintf("the requests that wait hold %d bytes: send again when some have been answered", conn.tables.heldBytes)
	}
	conn.tables.serving[id] = r
	conn.tables.active++
	conn.tables.heldBytes += size
	return ""
}

// freeID gives back the id of a request, before its answer can be seen.
func (conn *Conn) freeID(id string) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	delete(conn.tables.serving, id)
}

// freePlace gives back the place of a request, once the Writer has taken its answer.
func (conn *Conn) freePlace(size int) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	conn.tables.active--
	conn.tables.heldBytes -= size
}

// Serving returns how many requests of the peer are being served, those
// included whose answer the peer has not yet taken.
func (conn *Conn) Serving() int {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	return conn.tables.active
}

// serveRequest answers one request. The request keeps its place until the Writer has taken
// the answer, so a peer that asks and does not read cannot fill the memory.
func (conn *Conn) serveRequest(req *peerRequest) {
	ctx, m := req.ctx, req.message
	defer conn.busy.Done()
	defer req.cancel(nil)
	var answer Answer
	hasSlot := false
	select {
	case conn.servingSlots <- struct{}{}:
		hasSlot = true
	case <-ctx.Done():
	}
	if conn.ctx.Err() == nil && ctx.Err() == nil { // conn.ctx may end before ctx does, which is made of it
		answer = conn.callHandler(ctx, m)
	} else {
		answer = ErrorAnswer(CodeInternal, fmt.Sprintf("%s. The request was not served, so nothing was done", cmp.Or(context.Cause(conn.ctx), context.Cause(ctx))))
	}
	conn.freeID(string(m.ID))
	if req.response != nil {
		req.response.replyTo(ctx, string(m.ID), answer, req.entry)
	} else {
		conn.replyTo(ctx, string(m.ID), answer, req.entry)
	}
	conn.freePlace(len(m.Frame))
	if hasSlot {
		<-conn.servingSlots
	}
}

// callHandler calls the handler.
func (conn *Conn) callHandler(ctx context.Context, m *Message) (answer Answer) {
	if !Guard(conn.options.Log, m, func() { answer = conn.handler.ServeRequest(ctx, m) }) {
		return PanicAnswer()
	}
	return answer
}

func (conn *Conn) takeNotification(m *Message) {
	Guard(conn.options.Log, m, func() { conn.handler.ServeNotification(m) })
}

// Guard calls serve, which serves m, and reports whether it returned. A panic is
// logged, and does not end the program: other messages go on.
func Guard(log zerolog.Logger, m *Message, serve func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
			what := "a notification"
			if m.IsRequest() {
				what = "a request"
			}
			log.Error().Str("method", printable.Clip(m.Method, 100)).Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg(what + " made its handler panic")
		}
	}()
	serve()
	return true
}

// PanicAnswer returns the answer to a request whose handler panicked.
func PanicAnswer() Answer {
	return ErrorAnswer(CodeInternal, "internal error: this request made its handler panic; the log has the details")
}

// replyTo sends an answer, unless its request was cancelled: then the peer
// expects none.
func (conn *Conn) replyTo(ctx context.Context, id string, answer Answer, entry *kept.Entry) {
	if isCancelled(context.Cause(ctx)) {
		answer.Free()
		entry.Void()
		return
	}
	f := newFrame()
	f.makeAnswer(id, answer)
	queued, err := conn.writer.Send(conn.ctx, f.parts, entry.Marks()...)
	if errors.Is(err, lines.ErrLong) {
		f.freeFrame()
		answer.Free()
		conn.replyTo(ctx, id, ErrorAnswer(CodeInternal, "the request may have run, and its answer was dropped: "+err.Error()), entry)
		return
	}
	if err != nil {
		conn.options.Log.Debug().Err(err).Msg("an answer could not be written")
		if queued {
			return // the Writer may still use it
		}
	}
	f.freeFrame()
	answer.Free()
}

// replyOnReadLoop works like replyTo for the read loop, which must not block.
func (conn *Conn) replyOnReadLoop(id string, answer Answer) {
	f := newFrame()
	defer f.freeFrame()
	f.makeAnswer(id, answer)
	entry := conn.openedEntry()
	if conn.writer.TrySend(controlGap, f.parts, entry.Marks()...) {
		answer.Free()
		return
	}
	conn.busy.Add(1)
	conn.wg.Go(func() {
		defer conn.busy.Done()
		conn.replyTo(conn.ctx, id, answer, entry)
	})
}

// refuseRequest answers with an error from the read loop, which must not block. A peer that
// sends many bad messages and does not read loses answers.
func (conn *Conn) refuseRequest(id []byte, code int64, text string) {
	f := newFrame()
	defer f.freeFrame()
	f.makeAnswer(orNull(id), ErrorAnswer(code, text))
	if conn.keptEntry == nil && id != nil { // of a line that is no message
		conn.openRequest(id)
	}
	conn.reader.Commit()
	entry := conn.openedEntry()
	if !conn.writer.TrySend(controlGap, f.parts, entry.Marks()...) {
		conn.dropped.Add(1)
		entry.Void()
	}
}

// orNull returns the id of what is refused: null where none could be read.
func orNull(id []byte) string {
	if id == nil {
		return "null"
	}
	return string(id)
}

func isCancelled(cause error) bool {
	return cause != nil && errors.As(cause, new(*CancelledError))
}

func (conn *Conn) takeCancellation(m *Message) {
	id := m.Param("requestId")
	text, _ := String(m.Param("reason"))
	conn.mu.Lock()
	request := conn.tables.serving[string(id)]
	conn.mu.Unlock()
	if request != nil {
		request.endWith(&CancelledError{Reason: text})
	}
}

// takeResponse takes an answer of the peer. Without a reader the frame of m is its own.
func (conn *Conn) takeResponse(reader *lines.Reader, m *Message) {
	if !conn.options.Strict && m.Result == nil && m.Error == nil {
		conn.skipLine("a line that is no answer, such as one of a log", m.Frame) // it may bear the id of a call, which goes on
		return
	}
	call := conn.forgetRaw(string(m.ID))
	if call == nil && conn.options.Strict && m.Result == nil && m.Error == nil {
		conn.refuseRequest(m.ID, CodeInvalidRequest, "a message needs a method, a result or an error")
		return
	}
	if call == nil {
		conn.skipLine("an answer that nobody waits for", m.Frame)
		return
	}
	if (m.Result == nil) == (m.Error == nil) {
		conn.broken.Add(1)
		call.finishWith(callOutcome{err: &BrokenError{"it has neither a result nor an error, or both"}})
		return
	}
	if call.handler != nil && len(m.Frame) <= lines.CopyLimit {
		conn.lentResponse = Response{Result: m.Result, Error: m.Error, batch: &conn.batch, lent: true}
		call.finishWith(callOutcome{resp: &conn.lentResponse})
		return
	}
	frame, buf := m.Frame, (*lines.Buffer)(nil)
	if reader != nil {
		frame, buf = reader.Take()
	}
	res := &Response{Result: m.movedPart(frame, m.Result), Error: m.movedPart(frame, m.Error), buf: buf}
	call.finishWith(callOutcome{resp: res})
}

// takeBadLine deals with a line that is no message. A line that is known to be an answer is
// never answered, because two peers that cannot read each other would go on for ever.
// Other lines are refused by refuse.
func (conn *Conn) takeBadLine(line []byte, err error, refuse func(id []byte, code int64, text string)) {
	code, reason := int64(CodeParse), err.Error()
	if se, ok := errors.AsType[*SyntaxError](err); ok {
		code = se.Code
	}
	if code == CodeParse || !wellFormed(line) {
		conn.takeNotJSON(line, code, reason, refuse)
		return
	}
	e, object := envelopeOf(line)
	var id []byte
	if text := e.ID(); text != "" {
		id = []byte(text)
	}
	switch {
	case !object && conn.options.Strict:
		conn.skipped.Add(1)
		refuse(nil, code, "refused: "+reason)
	case !object:
		conn.endBroken(broken.Scan(line).Answers, reason, line)
	case e.Answer && !e.Method:
		conn.endBroken(e.IDs, reason, line)
	case e.Method && !e.HasID:
		conn.skipLine(reason, line)
	case e.Method || conn.options.Strict:
		conn.skipped.Add(1)
		refuse(id, code, "refused: "+reason)
	default:
		conn.endBroken(e.IDs, reason, line)
	}
}

// takeNotJSON deals with a line that is no JSON, or too deep to be sure of that.
func (conn *Conn) takeNotJSON(line []byte, code int64, reason string, refuse func(id []byte, code int64, text string)) {
	f := broken.Scan(line)
	conn.endBroken(f.Answers, reason, line)
	id := f.Request()
	switch {
	case conn.options.Strict && code == CodeParse:
		refuse(nil, code, "not JSON: "+reason) // the id must be null then
	case id != "":
		refuse([]byte(id), code, "refused: "+reason)
	case conn.options.Strict:
		refuse(nil, code, "refused: "+reason)
	}
}

// envelopeOf reads the members of a well-formed line; object reports whether
// it is one.
func envelopeOf(line []byte) (e broken.Envelope, object bool) {
	err := Members(line, func(name string, v []byte) bool {
		e.See(name)
		if name == "id" {
			e.AddID(string(v))
		}
		return true
	})
	return e, err == nil
}

func (conn *Conn) takeTooLong(e *lines.TooLongError) {
	switch {
	case len(e.Found.Answers) > 0:
		conn.endBroken(e.Found.Answers, e.Error(), nil)
	case e.Found.Request() != "":
		conn.skipped.Add(1)
		conn.refuseRequest([]byte(e.Found.Request()), CodeInvalidParams, "refused: "+e.Error())
	case conn.options.Strict && !e.Found.Asks:
		conn.refuseRequest(nil, CodeInvalidRequest, "refused: "+e.Error())
	default:
		conn.skipLine(e.Error(), nil)
	}
}

// endBroken ends the calls that a broken line may have answered.
func (conn *Conn) endBroken(ids []string, reason string, line []byte) {
	ended := false
	for _, id := range ids {
		if call := conn.forgetRaw(id); call != nil {
			conn.broken.Add(1)
			ended = true
			call.finishWith(callOutcome{err: &BrokenError{reason}})
		}
	}
	if !ended {
		conn.skipLine(reason, line)
	}
}

func (conn *Conn) skipLine(reason string, line []byte) {
	conn.skipped.Add(1)
	if conn.options.OnSkip != nil {
		conn.batch.Flush() // it may write a log
		conn.options.OnSkip(reason, line)
	}
}
