package hub

import (
	"bytes"
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// serveFast takes a call that needs no waiting at all: small, of a tool whose
// schema costs little to check, without a path in it, to a child that is ready.
// It is judged by the same Scan as any other and goes the same way, only on the
// read loops instead of on a goroutine of its own. Everything else, every
// refusal included, is left to ServeRequest.
func (s *Session) serveFast(m *jsonrpc.Message, r *jsonrpc.Reply) bool {
	if isModern(m) {
		return false
	}
	e, ok := s.easy(m, func(tool *offered) bool { return !tool.costly })
	if !ok {
		return false
	}
	tool, lease, quoted, key := e.tool, e.lease, e.quoted, e.lease.Key()
	if lease.Modern() && (m.Param(memberResponses) != nil || m.Param(memberState) != nil) {
		lease.Release()
		return false // refused there
	}
	c := &fastCall{s: s, tool: tool, lease: lease, reply: r}
	kept := &tool.gen.cfg.Audit
	if !lease.CanStart() || kept.To == nil && kept.forbids(errNoLog) != nil {
		lease.Release()
		return false
	}
	room := rooms.Get().(*room)
	room.name = jsonrpc.AppendString(room.name[:0], tool.remote)
	edits := room.edits[:]
	edits[0] = edit{quoted, room.name}
	if token := jsonrpc.Get(m.Param("_meta"), "progressToken"); token != nil {
		c.token = s.hub.progress.add(key, s.client, bytes.Clone(token))
		edits[1] = edit{token, c.token}
	}
	c.trip.key, c.trip.to = key, s.client
	s.trips.begin(&c.trip)
	params := appendSplice(room.parts[:0], m.Params, edits)
	if lease.Modern() {
		c.talk = &talk{judged: join(params), scan: e.scan}
		params = append(room.parts[:0], c.talk.judged)
		c.call.For(s.onBehalf(context.Background()))
		c.talk.ctx, c.talk.cancel = context.WithCancelCause(context.WithValue(context.Background(), tripKey{}, &c.trip))
	}
	if kept.To != nil {
		room.held = appendAll(room.held[:0], params)
		room.parts[0], c.room = room.held, room
		size := len(room.held)
		s.group.Add(kept.line(tool, m), c)
		r.Batch().Defer(&s.group, size)
		return true
	}
	defer room.free()
	if !lease.Start(&c.call, c, r.Batch(), m.Method, c.token, params...) {
		c.over(nil)
		return false
	}
	r.OnCancel(c)
	return true
}

// Recorded sends the call, unless it may not be.
func (c *fastCall) Recorded(t audit.Ticket, err error) {
	defer c.room.free()
	c.ticket = t
	if err = c.s.hub.now().cfg.Audit.forbids(err); err != nil {
		t.Outcome(audit.ResultNotSent)
		c.over(nil)
		c.reply.Answer(refuse(context.Background(), c.tool, err))
		return
	}
	if !c.lease.Start(&c.call, c, &c.s.group.batch, methodCall, c.token, c.room.held) {
		c.wait(bytes.Clone(c.room.held))
		return
	}
	c.reply.OnCancel(c)
}

// line is the line of a call without a path that is let through.
func (a *Audit) line(tool *offered, m *jsonrpc.Message) audit.Call {
	line := audit.Call{Request: m.ID, Form: tool.lines()}
	if a.Arguments {
		line.Arguments = m.Param("arguments")
	}
	return line
}

// wait sends a call for which the child has no room at once.
func (c *fastCall) wait(params []byte) {
	var ctx context.Context
	var cancel context.CancelCauseFunc
	if c.talk == nil {
		ctx, cancel = context.WithCancelCause(context.WithValue(context.Background(), tripKey{}, &c.trip))
	} else {
		ctx, cancel = children.WithClient(c.talk.ctx, c.s.onBehalf(c.talk.ctx)), c.talk.cancel
	}
	c.reply.OnCancel(abandon(cancel))
	go func() {
		if c.talk == nil { // else the end of the call does it
			defer cancel(nil)
		}
		c.Answered(c.lease.Call(children.WithProgressToken(ctx, c.token), methodCall, params))
	}()
}

// abandon ends a context in the place of a call.
type abandon context.CancelCauseFunc

func (a abandon) Abandon(cause error) { a(cause) }

// An easyCall is a call that may go a short way: its tool is known, it holds no
// path, no rule is about it, and the child that runs it is ready. It holds the
// lease.
type easyCall struct {
	tool   *offered
	quoted []byte // the name in the params, raw
	scan   *validate.Scan
	lease  *children.Lease
}

// easy judges a call, as all others are, where that takes no waiting; false: nothing
// is held, and the long way has to look closer. suits picks the tools.
func (s *Session) easy(m *jsonrpc.Message, suits func(*offered) bool) (e easyCall, ok bool) {
	if m.Method != string(mcp.MethodToolsCall) || isNearlyModern(m) || checkMembers(m.Members) != nil {
		return e, false
	}
	e.quoted = m.Param("name")
	if len(e.quoted) < 2 || e.quoted[0] != '"' || bytes.IndexByte(e.quoted, '\\') >= 0 {
		return e, false
	}
	catalog := s.tools()
	e.tool = catalog.byName[string(e.quoted[1:len(e.quoted)-1])]
	if e.tool == nil || e.tool.child == "" || m.Param("task") != nil || !suits(e.tool) || catalog.apps.renames(e.tool.child) {
		return e, false
	}
	var err error
	if e.scan, err = e.tool.gen.cfg.Checker.Scan(e.tool.tool, m.Param("arguments")); err != nil {
		return e, false
	}
	if e.scan.NeedsJudge() || s.byRoots(e.tool.gen, e.tool.child) {
		m.Prepared = &scanned{e.tool.tool, e.scan}
		return e, false
	}
	if e.lease, ok = s.hub.sup.TryAcquire(s.seats.Load().by[e.tool.child].key); !ok {
		return e, false
	}
	if e.lease.Offer() != e.tool.from || e.lease.Revision() != e.tool.gen.byName[e.tool.child].Spec.Revision || s.hub.now() != e.tool.gen {
		e.lease.Release() // another definition, perhaps, or another policy
		return e, false
	}
	return e, true
}

// Abandon ends the call: nobody waits for its answer any more.
func (c *fastCall) Abandon(cause error) {
	if c.talk != nil {
		c.talk.cancel(cause)
	}
	c.call.Abandon(cause)
}

// scanned is a Scan that the short way made before it had to give up: the long
// one need not make it again. It is of the very bytes that the message holds.
type scanned struct {
	tool *validate.Tool
	scan *validate.Scan
}

// fastCall is a call under way that no goroutine waits for.
type fastCall struct {
	s     *Session
	tool  *offered
	lease *children.Lease
	reply *jsonrpc.Reply
	token []byte // the hub's progress token
	call  children.Call
	trip  trip

	ticket audit.Ticket
	room   *room // until it is sent
	talk   *talk // nil: the child cannot ask for more by its result
}

// talk is what a call needs to go on after its first result.
type talk struct {
	judged []byte // the params
	scan   *validate.Scan
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// room is what a call is put together in; it is free again once it was sent.
type room struct {
	name  []byte
	edits [2]edit
	parts [5][]byte
	held  []byte // the params, of a call that has to wait
}

// mostHeld is how much room is kept for the next call.
const mostHeld = 64 << 10

func (r *room) free() {
	clear(r.edits[:])
	clear(r.parts[:])
	if cap(r.held) > mostHeld {
		r.held = nil
	}
	rooms.Put(r)
}

var rooms = sync.Pool{New: func() any { return new(room) }}

func (c *fastCall) over(err error) {
	if c.talk != nil {
		c.talk.cancel(nil)
	}
	c.s.trips.end(&c.trip, err != nil)
	if c.token != nil {
		c.s.hub.progress.remove(c.token)
	}
	c.lease.Release()
}

// Answered answers the client. An answer comes on the child's read loop, behind
// all progress of the call.
func (c *fastCall) Answered(res *jsonrpc.Response, err error) {
	if err == nil && c.talk != nil && res.Error == nil && (asksForInput(res.Result) || isTask(res.Result)) {
		result := bytes.Clone(res.Result)
		res.Release()
		go c.converse(result)
		return
	}
	c.over(err)
	if err != nil {
		c.ticket.Outcome(failureOf(err))
		c.reply.Answer(refuse(context.Background(), c.tool, err))
		return
	}
	c.ticket.Outcome(resultOf(res.Result, res.Error))
	c.reply.Answer(settle(c.lease, methodCall, res))
}

// converse goes on where the short way ends: the child has asked for something.
func (c *fastCall) converse(result []byte) {
	ctx := c.talk.ctx
	j := &judgement{gen: c.tool.gen, child: c.tool.child, target: &toolTarget{listed: c.tool, tool: c.tool}, scan: c.talk.scan, lease: c.lease}
	if isTask(result) {
		c.ticket.Outcome(resultOf(result, nil))
		c.reply.Answer(c.s.adoptTask(ctx, c.lease, jsonrpc.ResultAnswer(result), func() {}))
		c.over(nil)
		return
	}
	d := &dialogue{s: c.s, j: j, method: string(mcp.MethodToolsCall), key: c.trip.key, params: func(*validate.Verdict) [][]byte { return [][]byte{c.talk.judged} }}
	a, err := d.run(children.WithProgressToken(ctx, c.token), nil, result)
	c.lease = j.lease
	for _, q := range c.s.trips.end(&c.trip, err != nil) {
		<-q.over
	}
	if c.token != nil {
		c.s.hub.progress.remove(c.token)
	}
	defer c.talk.cancel(nil)
	defer c.lease.Release()
	if err != nil {
		c.ticket.Outcome(failureOf(err))
		c.reply.Answer(refuse(ctx, c.tool, err))
		return
	}
	c.ticket.Outcome(resultOf(a.Result, a.Error))
	c.reply.Answer(a)
}
