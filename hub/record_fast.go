package hub

import (
	"context"
	"time"

	"mcphub/children"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
)

// A lane holds the calls of the short way that came in one read, until they are
// recorded: one line and one write for all of them. It belongs to the read loop
// of the client.
type lane struct {
	s    *Session
	held []heldCall
	buf  []byte // what they need, for what they came in is used again
	// forms are what the lines of calls of one tool have alike.
	forms map[*offered]audit.Form

	calls   []audit.Call   // for Leave alone
	tickets []audit.Ticket // for Leave alone
}

// A heldCall is a call in a lane. The numbers are ends of its parts in the
// lane's buf, each from the one before on.
type heldCall struct {
	c                         *fastCall
	from, id, arguments, till int
}

// mostForms bounds what a lane keeps; tools of former generations are among them.
const mostForms = 1000

func (l *lane) form(tool *offered) audit.Form {
	f, ok := l.forms[tool]
	if ok {
		return f
	}
	rec := audit.Record{Child: tool.child, Tool: tool.remote, Rule: ruleNoPath, Decision: decisionAllow}
	if r := tool.tool.CallRule(); r != nil {
		rec.Rule = r.Name
	}
	if len(l.forms) >= mostForms {
		clear(l.forms)
	}
	if l.forms == nil {
		l.forms = map[*offered]audit.Form{}
	}
	f = audit.NewForm(&rec)
	l.forms[tool] = f
	return f
}

// hold takes a call, as it came and with the params to send, in until the batch
// leaves.
func (l *lane) hold(cfg *Audit, c *fastCall, m *jsonrpc.Message, params [][]byte) {
	h := heldCall{c: c, from: len(l.buf)}
	l.buf = append(l.buf, m.ID...)
	h.id = len(l.buf)
	if cfg.Arguments {
		l.buf = append(l.buf, m.Param("arguments")...)
	}
	h.arguments = len(l.buf)
	for _, p := range params {
		l.buf = append(l.buf, p...)
	}
	h.till = len(l.buf)
	l.held = append(l.held, h)
	c.reply.Batch().Defer(l, h.till-h.arguments)
}

// record writes the line of all calls that are held.
func (l *lane) record(to *audit.Recorder) error {
	l.calls = l.calls[:0]
	for i := range l.held {
		h := &l.held[i]
		l.calls = append(l.calls, audit.Call{Request: l.buf[h.from:h.id], Form: l.form(h.c.tool), Arguments: l.buf[h.id:h.arguments]})
	}
	var err error
	l.tickets, err = to.AppendCalls(context.Background(), l.tickets[:0], l.s.id, l.calls, time.Now())
	for i, t := range l.tickets {
		l.held[i].c.ticket = t
	}
	clear(l.tickets)
	return err
}

// mostLane is how much room a lane keeps for the next calls.
const mostLane = 64 << 10

// Leave records the calls that are held, and then sends them.
func (l *lane) Leave(b *jsonrpc.Batch) {
	cfg := &l.s.hub.now().cfg.Audit
	err := l.record(cfg.To)
	for i, h := range l.held {
		c := h.c
		l.held[i].c = nil
		if err != nil && cfg.Required {
			c.ticket.Outcome(audit.ResultNotSent)
			c.over(nil)
			c.reply.Answer(toolError((&unrecordedError{err}).Error()))
			continue
		}
		params := l.buf[h.arguments:h.till]
		if !c.lease.Start(&c.call, c, b, methodCall, c.token, params) {
			c.wait(append([]byte(nil), params...))
			continue
		}
		c.reply.OnCancel(c)
	}
	l.held = l.held[:0]
	if l.buf = l.buf[:0]; cap(l.buf) > mostLane {
		l.buf = nil
	}
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
