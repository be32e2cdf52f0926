package jsonrpc

import (
	"context"
	"fmt"
	"sync"

	"mcphub/internal/jsonrpc/lines"
	"mcphub/internal/kept"
)

// This file is about messages that come together in one array (JSON-RPC 2.0,
// section 6), which one revision of MCP has: 2025-03-26. They are served like any
// others; the answers to the requests among them go back in one array, too.

// MaxBatch bounds how many messages a batch may have: each may cost an answer that
// is many times as long as itself.
const MaxBatch = 1000

// Messages returns the messages of a batch, as parts of frame, unread. The error
// is a *SyntaxError.
func Messages(frame []byte) ([][]byte, error) {
	var all [][]byte
	err := Elements(frame, func(v []byte) bool {
		all = append(all, v)
		return len(all) <= MaxBatch
	})
	switch {
	case err != nil:
		return nil, &SyntaxError{err.Error(), CodeParse}
	case len(all) == 0:
		return nil, shapeError("a batch must not be empty")
	case len(all) > MaxBatch:
		return nil, shapeError(fmt.Sprintf("a batch may have at most %d messages", MaxBatch))
	}
	return all, nil
}

// takeBatch deals with a line that is an array, on the read loop.
func (conn *Conn) takeBatch(reader *lines.Reader) {
	frame, _ := reader.Take() // the requests in it are served from there
	all, err := Messages(frame)
	if err != nil {
		conn.takeBadLine(frame, err, conn.refuseRequest)
		return
	}
	reply := &batchResponse{conn: conn, left: 1}
	entries := conn.openAll(all)
	reader.Commit()
	for i, raw := range all {
		if entries != nil {
			conn.keptEntry = entries[i]
		}
		conn.takeMember(raw, reply)
		conn.keptEntry = nil
	}
	reply.endOne(true)
}

// openAll enters the requests of a batch into kept memory; nil: there is none.
func (conn *Conn) openAll(all [][]byte) []*kept.Entry {
	if conn.options.Kept == nil {
		return nil
	}
	entries := make([]*kept.Entry, len(all))
	for i, raw := range all {
		m := &Message{}
		if Split(raw, conn.options.Strict, m) == nil && m.IsRequest() {
			entries[i] = conn.options.Kept.Open(m.ID)
		}
	}
	return entries
}

// takeMember deals with one message of a batch.
func (conn *Conn) takeMember(raw []byte, reply *batchResponse) {
	m := &Message{}
	if err := Split(raw, conn.options.Strict, m); err != nil {
		conn.takeBadLine(raw, err, reply.addError)
		return
	}
	switch {
	case conn.options.Strict && m.Method == "" && (m.ID == nil || (m.Result == nil) == (m.Error == nil)):
		reply.addError(m.ID, CodeInvalidRequest, "a message needs a method, or an id with either a result or an error")
	case !m.IsRequest():
		conn.dispatchMessage(nil, m)
	case m.LongID(conn.options.IDLimit) != "":
		reply.addError(m.ID, CodeInvalidRequest, m.LongID(conn.options.IDLimit))
	case conn.onReadLoop(m): // 2025-03-26, lifecycle: initialize, because its answer decides whether there may be batches
		reply.addError(m.ID, CodeInvalidRequest, m.Method+" must not be part of a batch")
	default:
		req, refusal := conn.enterRequest(m)
		if req == nil {
			reply.addError(m.ID, CodeInvalidRequest, refusal)
			return
		}
		req.message, req.response = m, reply
		reply.expectAnswer()
		conn.spawnRequest(req)
	}
}

// batchResponse gathers the answers to the requests of one batch. The last one sends them.
type batchResponse struct {
	conn *Conn
	mu   sync.Mutex
	left int    // answers that may still come
	body []byte // the array so far, without its end
	kept []*kept.Entry
}

func (reply *batchResponse) expectAnswer() {
	reply.mu.Lock()
	defer reply.mu.Unlock()
	reply.left++
}

// addError adds an error, on the read loop.
func (reply *batchResponse) addError(id []byte, code int64, text string) {
	reply.addAnswer(orNull(id), ErrorAnswer(code, text), reply.conn.openedEntry())
}

// replyTo takes the answer to one request, unless that was cancelled: then the
// peer expects none.
func (reply *batchResponse) replyTo(ctx context.Context, id string, answer Answer, entry *kept.Entry) {
	if isCancelled(context.Cause(ctx)) {
		entry.Void()
	} else {
		reply.addAnswer(id, answer, entry)
	}
	answer.Free()
	reply.endOne(false)
}

// addAnswer puts an answer into the array, unless that exceeds one frame: a batch must not
// make the hub hold more than single requests could.
func (reply *batchResponse) addAnswer(id string, answer Answer, entry *kept.Entry) {
	reply.mu.Lock()
	defer reply.mu.Unlock()
	reply.kept = append(reply.kept, entry.Marks()...)
	if _, body := answer.memberAndBody(); len(reply.body)+len(body) > reply.conn.options.FrameLimit {
		answer = ErrorAnswer(CodeInternal, fmt.Sprintf("the answers of this batch have more than %d bytes: send the request by itself", reply.conn.options.FrameLimit))
	}
	between := byte(',')
	if reply.body == nil {
		between = '['
	}
	f := newFrame()
	defer f.freeFrame()
	f.makeAnswer(id, answer)
	reply.body = AppendAll(append(reply.body, between), f.parts)
}

// endOne counts down, and sends what there is when nothing more comes. The read loop
// must not block.
func (reply *batchResponse) endOne(onReadLoop bool) {
	reply.mu.Lock()
	reply.left--
	last, body := reply.left == 0, reply.body
	reply.mu.Unlock()
	if !last || body == nil {
		return
	}
	send := func() {
		if _, err := reply.conn.writer.Send(reply.conn.ctx, [][]byte{append(body, ']')}, reply.kept...); err != nil {
			reply.conn.options.Log.Debug().Err(err).Msg("the answers of a batch could not be written")
		}
	}
	if !onReadLoop {
		send()
		return
	}
	reply.conn.busy.Add(1)
	reply.conn.wg.Go(func() {
		defer reply.conn.busy.Done()
		send()
	})
}
