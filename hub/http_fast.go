package hub

import (
	"bytes"
	"context"
	"sync"

	"mcphub/children"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// This file is serveFast for the HTTP front: a small call that needs no waiting
// until its child answers is judged as any other, but goes without the contexts
// and the tables of the long way. The goroutine of the POST sends it and waits;
// the child's read loop puts the answer together and wakes it.

// quickFrame is the longest request, in bytes, that goes the short way: it is
// copied into the child's pipe.
const quickFrame = 16 << 10

// framed is an answer, and the whole frame of it where that is put together
// already.
type framed struct {
	jsonrpc.Answer
	frame []byte
}

// A quickCall is one call on the short way.
type quickCall struct {
	s      *Session
	id     []byte // raw
	lease  *children.Lease
	own    []byte // the hub's progress token; nil for none
	params [][]byte
	line   audit.Call // no Form: it is not recorded
	ticket audit.Ticket
	call   children.Call
	trip   trip
	done   chan struct{} // gets a token when the call was answered, or will not be
	answer framed
	err    error
	full   bool // it could not be sent without waiting

	// The mutex is held while the call is sent.
	mu   sync.Mutex
	sent bool
	gone error // nobody waits for it any more
}

// dones are channels that can be used again: each has had its token taken.
var dones = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

// Answered takes the answer of the child, on its read loop.
func (c *quickCall) Answered(res *jsonrpc.Response, err error) {
	switch {
	case err != nil:
		c.err = err
	case res.Lent():
		c.answer = frameAnswer(c.id, res)
	default:
		c.answer.Answer = res.Answer()
	}
	c.done <- struct{}{}
}

// frameAnswer is a copy of an answer, as the frame that is sent.
func frameAnswer(id []byte, res *jsonrpc.Response) framed {
	member, body := `,"result":`, res.Result
	if body == nil {
		member, body = `,"error":`, res.Error
	}
	const head = `{"jsonrpc":"2.0","id":`
	b := make([]byte, 0, len(head)+len(id)+len(member)+len(body)+1)
	b = append(append(append(b, head...), id...), member...)
	from := len(b)
	b = append(append(b, body...), '}')
	a := framed{frame: b}
	if part := b[from : len(b)-1 : len(b)-1]; res.Result != nil {
		a.Result = part
	} else {
		a.Error = part
	}
	return a
}

// quick answers a call that can go the short way; false: nothing was done for
// it. What is broken in one request must not end the others.
func (f *httpFront) quick(s *Session, x *exchange, u *underway, m *jsonrpc.Message) (a framed, ok bool) {
	if !jsonrpc.Guard(f.log, m, func() { a, ok = s.serveQuick(x, u, m) }) {
		return framed{Answer: jsonrpc.Panicked()}, true
	}
	return a, ok
}

// serveQuick serves a call whose tool is known, which holds no path and which no
// rule is about, by a child of the handshake's era that is ready. x is the peer
// of what the call causes.
func (s *Session) serveQuick(x peer, u *underway, m *jsonrpc.Message) (framed, bool) {
	if len(m.Frame) > quickFrame {
		return framed{}, false
	}
	s.begin()
	e, ok := s.easy(m, func(tool *offered) bool {
		p, modern := x.(*parley)
		return !modern || p.suits(tool)
	})
	if !ok {
		return framed{}, false
	}
	tool, lease := e.tool, e.lease
	defer lease.Release()
	if lease.Modern() || !lease.CanStart() {
		return framed{}, false
	}
	kept := &tool.gen.cfg.Audit
	if kept.To == nil && kept.forbids(errNoLog) != nil {
		return framed{}, false
	}
	c := &quickCall{s: s, id: m.ID, lease: lease}
	token := jsonrpc.Get(m.Param("_meta"), "progressToken")
	if token != nil {
		c.own = s.hub.progress.add(lease.Key(), x, bytes.Clone(token))
		defer s.hub.progress.remove(c.own)
	}
	if kept.To != nil {
		c.line = kept.line(tool, m)
	}
	s.sendQuick(x, u, c, m, edit{e.quoted, nil}, edit{token, c.own}, tool.remote)
	if c.err != nil {
		c.ticket.Outcome(failureOf(c.err))
		return framed{Answer: refuse(u.context(), tool, c.err)}, true
	}
	c.ticket.Outcome(resultOf(c.answer.Result, c.answer.Error))
	return c.answer, true
}

// suits reports whether nothing has to be asked, or waited for, on account of
// roots before a tool is called, and nothing compared with headers.
func (p *parley) suits(tool *offered) bool {
	return (!p.given.meta.caps.roots || tool.gen.byName[tool.child].Spec.Share == children.ShareAll) && len(tool.mirrors) == 0
}

// sendQuick sends a call, with the name and the progress token replaced, and waits
// for what becomes of it.
func (s *Session) sendQuick(x peer, u *underway, c *quickCall, m *jsonrpc.Message, name, token edit, remote string) {
	room := rooms.Get().(*room)
	room.name = jsonrpc.AppendString(room.name[:0], remote)
	name.with = room.name
	edits := room.edits[:]
	edits[0] = name
	if c.own != nil {
		edits[1] = token
	}
	c.params = appendSplice(room.parts[:0], m.Params, edits)
	c.trip.key, c.trip.to = c.lease.Key(), x
	s.trips.begin(&c.trip)
	defer func() {
		for _, q := range s.trips.end(&c.trip, c.err != nil) {
			<-q.over // its end has to be told before the request is answered
		}
	}()
	c.done = dones.Get().(chan struct{})
	if c.line.Form != nil {
		u.onEnd(c)
		s.group.Add(c.line, c)
		s.group.Flush()
	} else if c.lease.Start(&c.call, c, nil, methodCall, c.own, c.params...) {
		u.onEnd(&c.call)
	} else {
		c.full = true
		c.done <- struct{}{}
	}
	<-c.done
	c.mu.Lock() // whoever sent it is done with it
	full := c.full
	c.mu.Unlock()
	dones.Put(c.done)
	if full { // there is no room for it in the child's pipe
		ctx := children.WithProgressToken(context.WithValue(u.context(), tripKey{}, &c.trip), c.own)
		res, err := c.lease.Call(ctx, methodCall, join(c.params))
		if c.err = err; err == nil {
			c.answer.Answer = res.Answer()
		}
	}
	c.params = nil
	room.free()
}

// Recorded sends a call, unless nobody waits for it any more or it may not be.
// Where that cannot be done at once c is told.
func (c *quickCall) Recorded(t audit.Ticket, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch err = c.s.hub.now().cfg.Audit.forbids(err); {
	case err != nil:
		t.Outcome(audit.ResultNotSent)
		c.err = err
	case c.gone != nil:
		t.Outcome(audit.ResultCancelled)
		c.err = c.gone
	default:
		c.ticket = t
		if c.lease.Start(&c.call, c, &c.s.group.batch, methodCall, c.own, c.params...) {
			c.sent = true
			return
		}
		c.full = true
	}
	c.done <- struct{}{}
}

// Abandon gives the call up, whether it was sent or not.
func (c *quickCall) Abandon(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == nil {
		c.gone = cause
	}
	if c.sent {
		c.call.Abandon(cause)
	}
}

// plainForm is what the lines of all calls of a tool have alike that hold no path
// and are let through.
func plainForm(child, remote string, tool *validate.Tool) audit.Form {
	rec := audit.Record{Child: child, Tool: remote, Rule: ruleNoPath, Decision: decisionAllow}
	if r := tool.CallRule(); r != nil {
		rec.Rule = r.Name
	}
	return audit.NewForm(&rec)
}
