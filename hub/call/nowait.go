package call

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/hub/catalog"
	"mcphub/hub/inflight"
	"mcphub/hub/inline"
	"mcphub/hub/offering"
	"mcphub/hub/record"
	"mcphub/hub/tasks"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// This file takes a Call through its steps without ever waiting: on the read loop
// of a client, or on a goroutine of which only the answer is waited for. It is sent
// on whichever goroutine writes its line, and answered on the child's read loop.
// Waking goroutines costs more than the rest of such a call.

// errWouldBlock ends an attempt where the next step would have to wait, or may take
// its time. Nothing is held; the call is made again from the lookup on.
var errWouldBlock = errors.New("the call has to wait for something")

// A replier is where the answer to a call goes that nobody waits with: a
// *jsonrpc.Reply, or a waiter.
type replier interface {
	// Answer takes the answer, once, and does not block.
	Answer(jsonrpc.Answer)
	// Cause is why the answer is not wanted any more, nil while it is.
	Cause() error
	// OnCancel sets what is told, at once where that came first, that the answer is
	// not wanted any more.
	OnCancel(jsonrpc.Stopper)
	// Batch is what gathers the calls that came in one read; nil: nothing does.
	Batch() *jsonrpc.Batch
}

// An asyncCall is a call of a tool that was let through without waiting: what is needed
// of it while no goroutine is with it.
type asyncCall struct {
	s        *Session
	tool     *catalog.Tool
	lease    *children.Lease
	inFlight Request

	reply   replier
	own     []byte // the hub's progress token; nil for none
	ticket  audit.Ticket
	verdict *validate.Verdict // nil: there was nothing to judge
	call    children.Call
	attempt *pooledCall // nil once it was sent, unless the child may ask for more
	talk    *talk       // nil: the child cannot ask for more by its result

	// Of who sends it, and read by who gives it up.
	sent   bool
	cancel context.CancelCauseFunc // of what waits on account of the call; nil: nothing does

	mu   sync.Mutex // of over and attempt
	over bool
}

// talk is what a call needs to go on after its first result.
type talk struct {
	judged []byte // the params
	ctx    context.Context
}

// A pooledCall is a Call of a tool in one piece, with the buffers that what the child
// is sent is put together in. Where the call was sent without waiting it is used again.
type pooledCall struct {
	Call
	tool  ToolTarget
	first attempt // of the first attempt; it holds the lease

	name  []byte
	edits [2]jsonrpc.Edit
	parts [5][]byte
	held  []byte // the params, of a call that has to wait for its line
}

// mostHeld is how large a buffer is kept for the next call.
const mostHeld = 64 << 10

var attempts = sync.Pool{New: func() any { return new(pooledCall) }}

func (a *pooledCall) free() {
	a.Call, a.tool, a.first = Call{}, ToolTarget{}, attempt{}
	clear(a.edits[:])
	clear(a.parts[:])
	if cap(a.held) > mostHeld {
		a.held = nil
	}
	attempts.Put(a)
}

// read makes it a call of the request m, of a tool that was looked up.
func (a *pooledCall) read(s *Session, m *jsonrpc.Message, quoted []byte, tool offering.Tool) {
	a.Session, a.Target, a.Token, a.spare = s, &a.tool, TokenOf(m), &a.first
	a.Splicing = Splicing{m.Params, quoted, a.Token, tool.Remote}
	a.tool = ToolTarget{Listed: tool, tool: tool, Args: m.Param("arguments"), task: m.Param("task") != nil}
}

// TryTool makes a tools/call that takes no waiting: small, of a tool that is known, to a
// child that is ready, and allowed by what is known of the roots and lies at hand on the
// disk. false: nothing was done for
// it, but its Scan may be kept in m for who makes it again. briefly: what may take
// its time is not begun either.
func (s *Session) TryTool(m *jsonrpc.Message, from Client, r replier, briefly bool) bool {
	if m.Method != string(mcp.MethodToolsCall) || CheckMembers(m.Members) != nil {
		return false
	}
	quoted := m.Param("name")
	if len(quoted) < 2 || quoted[0] != '"' || bytes.IndexByte(quoted, '\\') >= 0 {
		return false
	}
	list := s.Offering.Catalog()
	tool := offering.Tool{Tool: list.ToolNamed(quoted[1 : len(quoted)-1]), By: list.By}
	if tool.Tool == nil || tool.Child == "" || m.Param("task") != nil || !suits(from, tool, nil) || briefly && tool.Costly || list.RenamesApps(tool.Child) {
		return false
	}
	a := attempts.Get().(*pooledCall)
	a.read(s, m, quoted, tool)
	a.nowait = true
	j, err := a.try(context.Background()) // whoever may have to be asked for something does not suit
	a.nowait, m.Prepared = false, a
	if err != nil {
		return false
	}
	modern := j.lease.Modern()
	switch {
	case !j.allowed(), len(j.verdict.Rewrites) > 0, !suits(from, tool, j.lease), !j.lease.CanStart(),
		modern && j.scan.NeedsJudge(), // it is judged once more where the child asks for roots
		modern && (m.Param(inline.MemberResponses) != nil || m.Param(inline.MemberState) != nil), // refused, by who makes it again
		s.Records.Missing() != nil:
		j.lease.Release()
		return false
	}
	m.Prepared = nil
	c := &asyncCall{s: s, tool: a.tool.tool.Tool, lease: j.lease, reply: r, attempt: a}
	c.inFlight.Key, c.inFlight.Client = j.lease.Instance(), OnBehalf{Client: from}
	if j.scan.NeedsJudge() {
		c.verdict = j.verdict
	}
	c.depart(m)
	return true
}

// Tool makes the call of a tool that was looked up by its quoted name. Its answer and
// error are those of Call.run.
func (s *Session) Tool(ctx context.Context, m *jsonrpc.Message, quoted []byte, tool offering.Tool) (jsonrpc.Answer, error) {
	c, tried := m.Prepared.(*pooledCall) // by TryTool
	if !tried {
		c = &pooledCall{}
	}
	c.read(s, m, quoted, tool)
	return c.Run(ctx)
}

// suits asks a client whether a call of tool may be made without waiting.
func suits(c Client, tool offering.Tool, lease *children.Lease) bool {
	return c.Suits(tool.By.Child(tool.Child).Spec.Share, len(tool.Mirrors) > 0, lease)
}

// depart has a call recorded and sent that was let through.
func (c *asyncCall) depart(m *jsonrpc.Message) {
	s := c.s
	s.InFlight.Start(&c.inFlight)
	defer func() {
		if p := recover(); p != nil {
			c.end(errBroken)
			panic(p)
		}
	}()
	a := c.attempt
	a.name = jsonrpc.AppendString(a.name[:0], a.Splicing.remote)
	edits := a.edits[:]
	edits[0] = jsonrpc.Edit{Old: a.Splicing.quoted, With: a.name}
	if a.Token != nil {
		c.own = s.Progress.Add(*c.inFlight.Key, c.inFlight.Client.Client, bytes.Clone(a.Token))
		edits[1] = jsonrpc.Edit{Old: a.Token, With: c.own}
	}
	params := jsonrpc.AppendSplice(a.parts[:0], m.Params, edits)
	if c.lease.Modern() {
		ctx := WithClient(context.Background(), c.inFlight.Client.Client)
		c.talk = &talk{judged: jsonrpc.Join(params)}
		params = append(a.parts[:0], c.talk.judged)
		c.call.For(c.inFlight.Client.Client.Behalf())
		c.talk.ctx, c.cancel = context.WithCancelCause(inflight.With(ctx, &c.inFlight))
	}
	// What m holds may be used again soon.
	a.Splicing, a.Token, a.tool.Args = Splicing{}, nil, nil
	batch := c.reply.Batch()
	if !s.Records.Kept() {
		c.leave(batch, params)
		return
	}
	a.held = jsonrpc.AppendAll(a.held[:0], params)
	line := audit.Call{Request: m.ID, Arguments: m.Param("arguments")}
	if c.verdict == nil {
		line.Form = c.tool.Plain(a.first.scan).Form(kernelWord(c.lease))
	} else {
		line.Form = a.first.decision().Form()
	}
	s.Records.Together(line, c, batch, len(a.held))
}

// Recorded sends the call, unless it may not be.
func (c *asyncCall) Recorded(t audit.Ticket, err error) {
	if c.ticket, err = c.s.Records.May(t, err); err != nil {
		c.fail(err)
		return
	}
	c.leave(c.s.Records.Batch(), append(c.attempt.parts[:0], c.attempt.held))
}

// leave sends the call, unless nobody waits for it any more. Where there is no room
// for it at once, that is waited for on a goroutine. Who gives it up while it is sent
// is told of at once by OnCancel.
func (c *asyncCall) leave(b *jsonrpc.Batch, params [][]byte) {
	cause := c.reply.Cause()
	if cause == nil {
		c.sent = c.lease.Start(&c.call, c, b, methodCall, c.own, params...)
	}
	switch {
	case cause != nil:
		c.ticket.Outcome(audit.ResultCancelled)
		c.ticket = audit.Ticket{}
		c.fail(cause)
	case c.sent:
		c.reply.OnCancel(c)
	default:
		ctx, whole := c.context(), jsonrpc.Join(params)
		c.reply.OnCancel(c)
		go func() { c.Answered(c.lease.Call(children.WithProgressToken(ctx, c.own), methodCall, whole)) }()
	}
	if c.talk == nil {
		c.free()
	}
}

// free gives the attempt back.
func (c *asyncCall) free() {
	c.mu.Lock()
	a := c.attempt
	c.attempt = nil
	c.mu.Unlock()
	if a != nil {
		a.free()
	}
}

// context is for what can only be ended by one.
func (c *asyncCall) context() context.Context {
	if c.talk != nil {
		return children.WithClient(c.talk.ctx, c.inFlight.Client.Client.Behalf())
	}
	ctx := inflight.With(WithClient(context.Background(), c.inFlight.Client.Client), &c.inFlight)
	ctx, c.cancel = context.WithCancelCause(ctx)
	return ctx
}

// Abandon gives up a call that is with the child, or waits to be.
func (c *asyncCall) Abandon(cause error) {
	if c.cancel != nil {
		c.cancel(cause)
	}
	if c.sent {
		c.call.Abandon(cause)
	}
}

// Answered takes the answer of the child, on its read loop, behind all progress of
// the call.
func (c *asyncCall) Answered(res *jsonrpc.Response, err error) {
	switch {
	case err != nil:
		c.fail(err)
	case c.talk != nil && res.Error == nil && (asksForInput(res.Result) || tasks.Is(res.Result)):
		result := bytes.Clone(res.Result)
		res.Release()
		go c.converse(result)
	default:
		c.answered(c.inFlight.Client.Answer(c.lease, methodCall, res))
	}
}

// answered ends the call with the answer that the child gave.
func (c *asyncCall) answered(a jsonrpc.Answer) {
	word := record.Result(a.Result, a.Error)
	c.ticket.Outcome(word)
	if !mayBeKernels(c.lease, word, a) {
		c.finish(a)
		return
	}
	a.Own()
	go func() { // the file system is looked at, which may take its time
		c.finish(c.s.refusedByKernel(record.Subject{Child: c.tool.Child, Tool: c.tool.Remote}, c.lease, word, called(c.verdict), a))
	}()
}

// finish gives back what the call holds, and answers it.
func (c *asyncCall) finish(a jsonrpc.Answer) {
	reply := c.reply
	if _, first := c.end(nil); first {
		reply.Answer(a)
	}
}

// fail ends the call where there is no such answer.
func (c *asyncCall) fail(err error) {
	gone := c.reply.Cause()
	questions, first := c.end(err)
	if !first {
		return
	}
	c.ticket.Outcome(record.Failure(err))
	a := failed(context.Background(), c.tool, err)
	if gone != nil {
		a = jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, gone.Error())
	}
	if len(questions) == 0 {
		c.reply.Answer(a)
		return
	}
	go func() {
		for _, told := range questions {
			<-told // its end has to be told before the request is answered
		}
		c.reply.Answer(a)
	}()
}

// errBroken stands for a panic, in those who ended with it.
var errBroken = errors.New("internal error")

// end gives back what the call holds; first is false where that has been done.
// Where there is an error that ends what was asked on account of the call.
func (c *asyncCall) end(err error) (ending []<-chan struct{}, first bool) {
	c.mu.Lock()
	first = !c.over
	c.over = true
	a := c.attempt
	c.attempt = nil
	c.mu.Unlock()
	if !first {
		return nil, false
	}
	if a != nil {
		a.free()
	}
	ending = c.s.InFlight.End(&c.inFlight, err != nil)
	if c.cancel != nil {
		c.cancel(nil)
	}
	if c.own != nil {
		c.s.Progress.Remove(c.own)
	}
	c.lease.Release()
	return ending, true
}

// converse goes on where the child has asked for something, or made a task.
func (c *asyncCall) converse(result []byte) {
	if !jsonrpc.Guard(c.s.Log, &jsonrpc.Message{Method: methodCall, ID: []byte{'0'}}, func() { c.goOn(result) }) {
		c.fail(errBroken)
	}
}

func (c *asyncCall) goOn(result []byte) {
	ctx := c.talk.ctx
	if tasks.Is(result) {
		c.ticket.Outcome(record.Result(result, nil))
		a := c.s.AdoptTask(ctx, c.lease, jsonrpc.ResultAnswer(result), func() {})
		if _, first := c.end(nil); first {
			c.reply.Answer(a)
		}
		return
	}
	d := &dialogue{s: c.s, j: &c.attempt.first, method: methodCall, key: *c.inFlight.Key, params: func(*validate.Verdict) [][]byte { return [][]byte{c.talk.judged} }}
	a, err := d.run(children.WithProgressToken(ctx, c.own), nil, result)
	if err != nil {
		c.fail(err)
		return
	}
	c.answered(a)
}

// quickFrame is the longest request, in bytes, that is made so: it is copied into
// the child's pipe.
const quickFrame = 16 << 10

// A Waiter takes the answer to a call for a goroutine that waits for it.
type Waiter struct {
	*jsonrpc.Cancellation // of the request
	spent                 atomic.Bool
	answer                jsonrpc.Answer
	done                  chan struct{} // gets a token with the answer
}

// dones are channels that can be used again: each has had its token taken.
type dones struct{ pool sync.Pool }

func (d *dones) take() chan struct{} {
	if c, ok := d.pool.Get().(chan struct{}); ok {
		return c
	}
	return make(chan struct{}, 1)
}

// Answer takes the first answer.
func (w *Waiter) Answer(a jsonrpc.Answer) {
	if w.spent.Swap(true) {
		if a.Release != nil {
			a.Release()
		}
		return
	}
	a.Own()
	w.answer = a
	w.done <- struct{}{}
}

// Batch is nil: each request comes by itself.
func (w *Waiter) Batch() *jsonrpc.Batch { return nil }

// ToolAndWait answers a call that waits for nothing but its answer; false: nothing
// was done for it.
func (s *Session) ToolAndWait(from Client, w *Waiter, m *jsonrpc.Message) (jsonrpc.Answer, bool) {
	if len(m.Frame) > quickFrame {
		return jsonrpc.Answer{}, false
	}
	w.done = s.dones.take()
	ok := s.TryTool(m, from, w, false)
	if ok {
		<-w.done
	}
	s.dones.pool.Put(w.done)
	return w.answer, ok
}
