package hub

import (
	"context"
	"time"

	"mcphub/children"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
)

// A lane holds the calls of the short way that came in one read, until their
// lines are written: one write for all of them. It belongs to the read loop of
// the client.
type lane struct {
	s    *Session
	held []*fastCall
	buf  []byte    // their params, for what they came in is used again
	now  time.Time // when the first of them came
	// forms are what the lines of calls of one tool have alike.
	forms map[*offered]audit.Form
}

// recordFast makes the line of a call that holds no path. false: it cannot be
// recorded and must be; the long way says so.
func (s *Session) recordFast(cfg *Audit, c *fastCall, m *jsonrpc.Message) bool {
	rec := audit.Record{Session: s.id, Request: m.ID}
	if cfg.Arguments {
		rec.Arguments = m.Param("arguments")
	}
	if len(s.lane.held) == 0 {
		s.lane.now = time.Now() // for all that came in one read
	}
	var err error
	c.ticket, err = cfg.To.Put(&rec, s.lane.form(c.tool), s.lane.now)
	return err == nil || !cfg.Required
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

// hold takes a call in until the batch leaves.
func (l *lane) hold(c *fastCall, b *jsonrpc.Batch, params [][]byte) {
	c.from = len(l.buf)
	for _, p := range params {
		l.buf = append(l.buf, p...)
	}
	c.to = len(l.buf)
	l.held = append(l.held, c)
	b.Defer(l, c.to-c.from)
}

// mostLane is how much room a lane keeps for the next calls.
const mostLane = 64 << 10

// Leave writes the lines of the calls that are held, and then sends these.
func (l *lane) Leave(b *jsonrpc.Batch) {
	cfg := &l.s.hub.now().cfg.Audit
	err := cfg.To.Commit(context.Background(), len(l.held))
	for i, c := range l.held {
		l.held[i] = nil
		if err != nil && cfg.Required {
			c.ticket.Outcome(audit.ResultNotSent)
			c.over(nil)
			c.reply.Answer(toolError((&unrecordedError{err}).Error()))
			continue
		}
		params := l.buf[c.from:c.to]
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
	ctx, cancel := c.ctx, c.cancel
	if cancel == nil {
		ctx, cancel = context.WithCancelCause(context.WithValue(context.Background(), tripKey{}, &c.trip))
	} else {
		ctx = children.WithClient(ctx, c.s.onBehalf(ctx))
	}
	c.reply.OnCancel(abandon(cancel))
	go func() {
		if c.cancel == nil { // else the end of the call does it
			defer cancel(nil)
		}
		c.Answered(c.lease.Call(children.WithProgressToken(ctx, c.token), methodCall, params))
	}()
}

// abandon ends a context in the place of a call.
type abandon context.CancelCauseFunc

func (a abandon) Abandon(cause error) { a(cause) }
