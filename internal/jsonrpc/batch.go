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
func (c *Conn) takeBatch(rd *lines.Reader) {
	frame, _ := rd.Take() // the requests in it are served from there
	all, err := Messages(frame)
	if err != nil {
		c.takeBadLine(frame, err, c.refuseRequest)
		return
	}
	g := &batchReply{c: c, left: 1}
	entries := c.openAll(all)
	rd.Commit()
	for i, raw := range all {
		if entries != nil {
			c.keptEntry = entries[i]
		}
		c.takeMember(raw, g)
		c.keptEntry = nil
	}
	g.endOne(true)
}

// openAll enters the requests of a batch into kept memory; nil: there is none.
func (c *Conn) openAll(all [][]byte) []*kept.Entry {
	if c.options.Kept == nil {
		return nil
	}
	entries := make([]*kept.Entry, len(all))
	for i, raw := range all {
		m := &Message{}
		if Split(raw, c.options.Strict, m) == nil && m.IsRequest() {
			entries[i] = c.options.Kept.Open(m.ID)
		}
	}
	return entries
}

// takeMember deals with one message of a batch.
func (c *Conn) takeMember(raw []byte, g *batchReply) {
	m := &Message{}
	if err := Split(raw, c.options.Strict, m); err != nil {
		c.takeBadLine(raw, err, g.addError)
		return
	}
	switch {
	case c.options.Strict && m.Method == "" && (m.ID == nil || (m.Result == nil) == (m.Error == nil)):
		g.addError(m.ID, CodeInvalidRequest, "a message needs a method, or an id with either a result or an error")
	case !m.IsRequest():
		c.dispatchMessage(nil, m)
	case m.LongID(c.options.IDLimit) != "":
		g.addError(m.ID, CodeInvalidRequest, m.LongID(c.options.IDLimit))
	case c.onReadLoop(m): // 2025-03-26, lifecycle: initialize, because its answer decides whether there may be batches
		g.addError(m.ID, CodeInvalidRequest, m.Method+" must not be part of a batch")
	default:
		req, refusal := c.enterRequest(m)
		if req == nil {
			g.addError(m.ID, CodeInvalidRequest, refusal)
			return
		}
		req.message, req.batch = m, g
		g.expectAnswer()
		c.spawnRequest(req)
	}
}

// batchReply gathers the answers to the requests of one batch. The last one sends them.
type batchReply struct {
	c    *Conn
	mu   sync.Mutex
	left int    // answers that may still come
	body []byte // the array so far, without its end
	kept []*kept.Entry
}

func (g *batchReply) expectAnswer() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left++
}

// addError adds an error, on the read loop.
func (g *batchReply) addError(id []byte, code int64, text string) {
	g.addAnswer(orNull(id), ErrorAnswer(code, text), g.c.openedEntry())
}

// replyTo takes the answer to one request, unless that was cancelled: then the
// peer expects none.
func (g *batchReply) replyTo(ctx context.Context, id string, a Answer, e *kept.Entry) {
	if isCancelled(context.Cause(ctx)) {
		e.Void()
	} else {
		g.addAnswer(id, a, e)
	}
	a.Free()
	g.endOne(false)
}

// addAnswer puts an answer into the array, unless that exceeds one frame: a batch must not
// make the hub hold more than single requests could.
func (g *batchReply) addAnswer(id string, a Answer, e *kept.Entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept = append(g.kept, e.Marks()...)
	if _, body := a.memberAndBody(); len(g.body)+len(body) > g.c.options.FrameLimit {
		a = ErrorAnswer(CodeInternal, fmt.Sprintf("the answers of this batch have more than %d bytes: send the request by itself", g.c.options.FrameLimit))
	}
	between := byte(',')
	if g.body == nil {
		between = '['
	}
	f := newFrame()
	defer f.freeFrame()
	f.makeAnswer(id, a)
	g.body = AppendAll(append(g.body, between), f.parts)
}

// endOne counts down, and sends what there is when nothing more comes. The read loop
// must not block.
func (g *batchReply) endOne(onReadLoop bool) {
	g.mu.Lock()
	g.left--
	last, body := g.left == 0, g.body
	g.mu.Unlock()
	if !last || body == nil {
		return
	}
	send := func() {
		if _, err := g.c.writer.Send(g.c.ctx, [][]byte{append(body, ']')}, g.kept...); err != nil {
			g.c.options.Log.Debug().Err(err).Msg("the answers of a batch could not be written")
		}
	}
	if !onReadLoop {
		send()
		return
	}
	g.c.busy.Add(1)
	g.c.wg.Go(func() {
		defer g.c.busy.Done()
		send()
	})
}
