package hub

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

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
	id     []byte // raw
	call   children.Call
	trip   trip
	done   chan struct{} // gets a token when the call was answered
	answer framed
	err    error
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
	defer func() {
		if p := recover(); p != nil {
			f.log.Error().Str("method", shown(m.Method, 100)).Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("a request made its handler panic")
			a, ok = framed{Answer: jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "internal error: this request made its handler panic; the log has the details")}, true
		}
	}()
	return s.serveQuick(x, u, m)
}

// serveQuick serves a call of the handshake's era whose tool is known, which
// holds no path and which no rule is about, by a child that is ready.
func (s *Session) serveQuick(x *exchange, u *underway, m *jsonrpc.Message) (framed, bool) {
	if m.Method != string(mcp.MethodToolsCall) || len(m.Frame) > quickFrame || isNearlyModern(m) || checkMembers(m.Members) != nil {
		return framed{}, false
	}
	quoted := m.Param("name")
	if len(quoted) < 2 || quoted[0] != '"' || bytes.IndexByte(quoted, '\\') >= 0 {
		return framed{}, false
	}
	s.begin()
	tool := s.tools().byName[string(quoted[1:len(quoted)-1])]
	if tool == nil || tool.child == "" || m.Param("task") != nil {
		return framed{}, false
	}
	scan, err := tool.gen.cfg.Checker.Scan(tool.tool, m.Param("arguments"))
	if err != nil {
		return framed{}, false
	}
	if scan.NeedsJudge() || s.byRoots(tool.gen, tool.child) {
		m.Prepared = &scanned{tool.tool, scan}
		return framed{}, false
	}
	lease, ok := s.hub.sup.TryAcquire(s.seats.Load().by[tool.child].key)
	if !ok {
		return framed{}, false
	}
	defer lease.Release()
	if lease.Offer() != tool.from || lease.Revision() != tool.gen.byName[tool.child].Spec.Revision || s.hub.now() != tool.gen || lease.Modern() || !lease.CanStart() {
		return framed{}, false // another definition, perhaps: the long way looks closer
	}
	ticket, err := s.recordQuick(u, m, tool)
	if err != nil {
		return framed{Answer: refuse(u.context(), tool, err)}, true
	}
	c := &quickCall{id: m.ID}
	token := jsonrpc.Get(m.Param("_meta"), "progressToken")
	if token != nil {
		token = s.hub.progress.add(lease.Key(), x, bytes.Clone(token))
		defer s.hub.progress.remove(token)
	}
	s.sendQuick(x, u, c, lease, m, quoted, tool.remote, token)
	if c.err != nil {
		ticket.Outcome(failureOf(c.err))
		return framed{Answer: refuse(u.context(), tool, c.err)}, true
	}
	ticket.Outcome(resultOf(c.answer.Result, c.answer.Error))
	return c.answer, true
}

// sendQuick sends a call and waits for what becomes of it. own is the hub's
// progress token, nil for none.
func (s *Session) sendQuick(x *exchange, u *underway, c *quickCall, lease *children.Lease, m *jsonrpc.Message, quoted []byte, remote string, own []byte) {
	room := rooms.Get().(*room)
	room.name = jsonrpc.AppendString(room.name[:0], remote)
	edits := room.edits[:]
	edits[0] = edit{quoted, room.name}
	if own != nil {
		edits[1] = edit{jsonrpc.Get(m.Param("_meta"), "progressToken"), own}
	}
	params := appendSplice(room.parts[:0], m.Params, edits)
	c.trip.key, c.trip.to = lease.Key(), x
	s.trips.begin(&c.trip)
	defer func() {
		for _, q := range s.trips.end(&c.trip, c.err != nil) {
			<-q.over // its end has to be told before the request is answered
		}
	}()
	c.done = dones.Get().(chan struct{})
	if lease.Start(&c.call, c, nil, methodCall, own, params...) {
		room.free()
		u.onEnd(&c.call)
		<-c.done
		dones.Put(c.done)
		return
	}
	// There is no room for it in the child's pipe.
	dones.Put(c.done)
	ctx := children.WithProgressToken(context.WithValue(u.context(), tripKey{}, &c.trip), own)
	res, err := lease.Call(ctx, methodCall, join(params))
	room.free()
	if err != nil {
		c.err = err
		return
	}
	c.answer.Answer = res.Answer()
}

// recordQuick writes the line of a call that is let through; an error: it must
// not be sent.
func (s *Session) recordQuick(u *underway, m *jsonrpc.Message, tool *offered) (audit.Ticket, error) {
	cfg := &s.hub.now().cfg.Audit
	if cfg.To == nil {
		if cfg.Required {
			return audit.Ticket{}, &unrecordedError{errNoLog}
		}
		return audit.Ticket{}, nil
	}
	call := audit.Call{Request: m.ID, Form: tool.lines()}
	if cfg.Arguments {
		call.Arguments = m.Param("arguments")
	}
	ctx := onDemand{u}
	var room [1]audit.Ticket
	tickets, err := cfg.To.AppendCalls(ctx, room[:0], s.id, []audit.Call{call}, time.Now())
	var t audit.Ticket
	if len(tickets) > 0 {
		t = tickets[0]
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		t.Outcome(audit.ResultCancelled) // nobody waits for it any more, so it is not sent
		return t, context.Cause(ctx)
	case cfg.Required:
		t.Outcome(audit.ResultNotSent)
		return t, &unrecordedError{err}
	}
	return t, nil
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
