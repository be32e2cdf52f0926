package call

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/run"
	"mcphub/hub/catalog"
	"mcphub/hub/client"
	"mcphub/hub/failure"
	"mcphub/hub/inflight"
	"mcphub/hub/modern"
	"mcphub/hub/offering"
	"mcphub/hub/params"
	"mcphub/hub/record"
	"mcphub/hub/rounds"
	"mcphub/hub/tasks"
	"mcphub/hub/telemetry"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/jsonrpc/lines"
	"mcphub/internal/methods"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// This file is the fast path: a call of a tool goes through its steps without ever waiting, on the read
// loop of a client, or on a goroutine of which only the answer is waited for. Waking
// goroutines costs more than the rest of such a call. Its states are drawn in doc.go.

// errWouldBlock ends an attempt where the next step would have to wait, or may take
// its time. Nothing is held; the call is made again from the lookup on.
var errWouldBlock = errors.New("the call has to wait for something")

// errBroken ends every call that was under way in something that panicked.
var errBroken = errors.New("internal error")

// A replier takes the answer to a call of the fast path: a *jsonrpc.Responder, or a SyncReply.
type replier interface {
	// Answer takes the answer, once, and does not block.
	Answer(jsonrpc.Answer)
	// Cause is why the answer is not wanted any more, nil while it is.
	Cause() error
	// OnCancel sets what is told, at once where that came first, that the answer is
	// not wanted any more.
	OnCancel(jsonrpc.Stopper)
	// Batch is what gathers the calls that came in one read; nil: nothing does.
	Batch() *lines.Batch
}

// An asyncCall is a call of a tool that was let through without waiting: what is needed
// of it while no goroutine is with it. One goroutine at a time owns it, as doc.go says.
// Only Abandon is called by others.
type asyncCall struct {
	s          *Sender
	tool       *catalog.Tool
	lease      *children.Lease
	inFlight   Request
	reply      replier
	verdict    *validate.Verdict // nil: there was nothing to judge
	pooled     *pooledCall       // nil once the call is sent, unless the child may ask for more
	hubToken   []byte            // the hub's progress token; nil for none
	ticket     record.Ticket
	timing     telemetry.Call
	resultWord string    // the record's, of what the child has answered; "" before
	maxResult  int       // bytes of text that its result may have: see Sender.shorten
	confNumber uint64    // of the configuration that it was judged by
	args       []byte    // a copy, where max is set and there was something to judge: see origin
	followUp   *followUp // nil: the child cannot ask for more by its result

	// Set before Abandon may be called.
	call    run.AsyncCall
	sent    bool                    // given to the child, by call or on a goroutine
	started bool                    // by call, without a goroutine
	cancel  context.CancelCauseFunc // of what waits on account of the call; nil: nothing does

	over atomic.Bool // a panic leaves more than one owner
}

// A followUp is what a call needs to go on after its first result.
type followUp struct {
	judged []byte // the params
	ctx    context.Context
}

// A pooledCall is a Call of a tool in one piece, with the buffers that what the child
// is sent is put together in. It is used again once it is freed.
type pooledCall struct {
	Call
	tool  toolTarget
	first attempt // of the first attempt; it holds the lease

	name  []byte
	edits [2]jsonrpc.Edit
	parts [5][]byte
	held  []byte // the params, of a call that has to wait for its line
}

// maxHeld is how large a buffer is kept for the next call.
const maxHeld = 64 << 10

var pooledCalls = sync.Pool{New: func() any { return new(pooledCall) }}

func (p *pooledCall) free() {
	p.Call, p.tool, p.first = Call{}, toolTarget{}, attempt{}
	clear(p.edits[:])
	clear(p.parts[:])
	if cap(p.held) > maxHeld {
		p.held = nil
	}
	pooledCalls.Put(p)
}

// read makes it a call of the request m, of a tool that was looked up.
func (p *pooledCall) read(s *Sender, m *jsonrpc.Message, quoted []byte, tool offering.Tool) {
	p.splicing = splicingOf(m, quoted, tool.Remote)
	p.sender, p.target, p.token, p.spareAttempt = s, &p.tool, p.splicing.token, &p.first
	p.tool = toolTarget{listed: tool, tool: tool, args: m.Param("arguments"), task: m.Param("task") != nil}
}

// CallTool makes the call of a tool that was looked up by its quoted name. Its answer and
// error are those of Call.Do.
func (s *Sender) CallTool(ctx context.Context, m *jsonrpc.Message, quoted []byte, tool offering.Tool) (jsonrpc.Answer, error) {
	c := new(pooledCall)
	c.read(s, m, quoted, tool)
	return c.Do(ctx)
}

// TryCallTool makes a tools/call if nothing has to be waited for: the tool is known, its child is
// ready, and the roots and paths that decide are in memory. The caller has seen that the call is
// small. false: nothing was done for it. onReadLoop: what may take its time is not begun either.
func (s *Sender) TryCallTool(m *jsonrpc.Message, from client.Client, r replier, onReadLoop bool) bool {
	if m.Method != methods.CallTool || params.Check(m) != nil {
		return false
	}
	quoted := m.Param("name")
	if len(quoted) < 2 || quoted[0] != '"' || bytes.IndexByte(quoted, '\\') >= 0 {
		return false
	}
	var timing telemetry.Call
	if t := s.Records.Telemetry(); t != nil {
		timing = from.StartTiming(t)
	}
	list := s.Offering.Catalog()
	tool := offering.Tool{Tool: list.ToolNamed(quoted[1 : len(quoted)-1]), Conf: list.Conf}
	if tool.Tool == nil || tool.Child == "" || m.Param("task") != nil || !allowsFastPath(from, tool, nil) || onReadLoop && tool.Costly || list.Renames(tool.Child) {
		return false
	}
	p := pooledCalls.Get().(*pooledCall)
	p.read(s, m, quoted, tool)
	p.fast = true
	att, err := p.newAttempt(context.Background()) // no client is asked for anything on this path
	p.fast = false
	if err != nil {
		p.free()
		return false
	}
	if !s.maySendAtOnce(m, from, att) {
		att.lease.Release()
		p.free()
		return false
	}
	c := &asyncCall{s: s, tool: p.tool.tool.Tool, lease: att.lease, reply: r, pooled: p, maxResult: list.Conf.ResultMax(tool.Child), confNumber: list.Conf.Number}
	c.timing = timing
	c.timing.SetOperation(methods.CallTool, c.tool.Child, c.tool.Remote)
	c.timing.Decided(policy.Allow.String(), att.verdict.Rule)
	c.ticket = record.TicketOf(&c.timing)
	c.inFlight.Key, c.inFlight.Client = att.lease.Instance(), Requester{Client: from}
	if att.scan.NeedsJudge() {
		c.verdict = att.verdict
	}
	if c.maxResult > 0 && len(p.tool.args) <= maxKeptArguments {
		c.args = append([]byte{}, p.tool.args...)
	}
	c.recordAndSend(m)
	return true
}

// allowsFastPath asks a client whether a call of tool may be made without waiting.
func allowsFastPath(c client.Client, tool offering.Tool, lease *children.Lease) bool {
	return c.AllowsFastPath(tool.Conf.Child(tool.Child).Spec.Share, len(tool.Mirrors) > 0, lease)
}

// maySendAtOnce reports whether an attempt let a call through that is sent without waiting.
func (s *Sender) maySendAtOnce(m *jsonrpc.Message, from client.Client, att *attempt) bool {
	switch {
	case !att.allowed(), len(att.verdict.Rewrites) > 0, !att.lease.CanStartCall(), s.Records.CheckRequired() != nil:
		return false
	case !allowsFastPath(from, att.call.target.(*toolTarget).tool, att.lease):
		return false
	case !att.lease.Modern():
		return true
	case att.scan.NeedsJudge(): // it is judged once more where the child asks for roots
		return false
	}
	return m.Param(modern.MemberResponses) == nil && m.Param(modern.MemberState) == nil // the slow path refuses these
}

// recordAndSend has a call recorded that was let through, and then sent.
func (c *asyncCall) recordAndSend(m *jsonrpc.Message) {
	s := c.s
	s.InFlight.Start(&c.inFlight)
	defer func() {
		if p := recover(); p != nil {
			c.end(jsonrpc.Answer{}, errBroken)
			panic(p)
		}
	}()
	p := c.pooled
	p.name = jsonrpc.AppendString(p.name[:0], p.splicing.remote)
	edits := p.edits[:]
	edits[0] = jsonrpc.Edit{Old: p.splicing.quoted, With: p.name}
	if p.token != nil {
		c.hubToken = s.Progress.Add(*c.inFlight.Key, c.inFlight.Client.Client, bytes.Clone(p.token))
	}
	inside := c.timing.BeginServerSpan(p.splicing.carrier.Context, methods.CallTool, m.ID)
	p.splicing.traceForChild = c.timing.BeginClientSpan(p.splicing.carrier.Context, c.lease.Protocol())
	edits[1] = p.splicing.trace(c.hubToken)
	params := jsonrpc.AppendSplice(p.parts[:0], m.Params, edits)
	if c.lease.Modern() {
		ctx := client.NewContext(context.Background(), c.inFlight.Client.Client)
		c.followUp = &followUp{judged: jsonrpc.Join(params)}
		params = append(p.parts[:0], c.followUp.judged)
		c.call.SetClient(c.inFlight.Client.Client.ClientProfile())
		c.followUp.ctx, c.cancel = context.WithCancelCause(inflight.NewContext(ctx, &c.inFlight))
	}
	// What m holds may be used again soon.
	p.splicing, p.token, p.tool.args = splicing{}, nil, nil
	batch := c.reply.Batch()
	if !s.Records.Enabled() {
		c.send(batch, params)
		return
	}
	p.held = jsonrpc.AppendAll(p.held[:0], params)
	rec := audit.CallRecord{Request: m.ID, Trace: audit.Trace(inside), Arguments: m.Param("arguments")}
	if c.verdict == nil {
		rec.Encoded = c.tool.Plain(p.first.scan).Encoded(c.lease.KernelState())
	} else {
		rec.Encoded = p.first.decision().Encoded()
	}
	s.Records.Enqueue(rec, c, batch, len(p.held))
}

// Recorded sends the call, unless it may not be.
func (c *asyncCall) Recorded(t audit.Ticket, err error) {
	if c.ticket.Ticket, err = c.s.Records.MaySend(t, err); err != nil {
		c.end(jsonrpc.Answer{}, err)
		return
	}
	c.send(c.s.Records.Batch(), append(c.pooled.parts[:0], c.pooled.held))
}

// Abandon gives up a call that is with the child, or waits to be.
func (c *asyncCall) Abandon(cause error) {
	if c.cancel != nil {
		c.cancel(cause)
	}
	if c.started {
		c.call.Abandon(cause)
	}
}

// OnResponse takes the answer of the child, on its read loop, behind all progress of
// the call.
func (c *asyncCall) OnResponse(res *jsonrpc.Response, err error) {
	switch {
	case err != nil:
		c.end(jsonrpc.Answer{}, err)
	case c.followUp != nil && res.Error == nil && (rounds.AsksForInput(res.Result) || tasks.IsTask(res.Result)):
		result := bytes.Clone(res.Result)
		res.Release()
		go c.followUpGuarded(result)
	default:
		c.settle(c.inFlight.Client.Answer(c.lease, methods.CallTool, res))
	}
}

// settle ends the call with the answer that the child gave.
func (c *asyncCall) settle(a jsonrpc.Answer) {
	c.resultWord = c.ticket.Answered(a)
	kernels := failure.MayBeKernelRefusal(c.lease, c.resultWord, a)
	unknown := c.resultWord != audit.ResultOK && meansUnknown(a, offers.Tools, c.tool.Remote)
	if !kernels && !unknown && !shortens(a, c.maxResult) {
		c.end(a, nil)
		return
	}
	a.Detach()
	go c.rework(a, kernels, unknown)
}

// rework ends the call with what is made of its answer, on a goroutine: a large one takes its time to read, and so does the
// file system, which is looked at if the kernel may have refused the child something, and a list that is read again.
func (c *asyncCall) rework(a jsonrpc.Answer, kernels, unknown bool) {
	c.guarded(func() {
		if unknown {
			doubt(c.lease, 1<<offers.Tools)
		}
		if kernels {
			a = failure.ExplainKernelRefusal(c.s.Records, record.Subject{Child: c.tool.Child, Tool: c.tool.Remote}, c.lease, c.resultWord, failure.NamedPaths(c.verdict), a)
		}
		c.end(c.s.shorten(c.inFlight.Client.Client, a, c.maxResult, c.origin), nil)
	})
}

// guarded ends the call where f panics.
func (c *asyncCall) guarded(f func()) {
	if !jsonrpc.Guard(c.s.Log, &jsonrpc.Message{Method: methods.CallTool, ID: []byte{'0'}}, f) {
		c.end(jsonrpc.Answer{}, errBroken)
	}
}

// followUpGuarded goes on where the child has asked for something, or made a task.
func (c *asyncCall) followUpGuarded(result []byte) {
	c.guarded(func() { c.continueCall(result) })
}

func (c *asyncCall) continueCall(result []byte) {
	ctx := c.followUp.ctx
	if tasks.IsTask(result) {
		c.adopt(jsonrpc.ResultAnswer(result))
		return
	}
	from := c.inFlight.Client.Client
	e := &exchange{c.s, &c.pooled.first, from, methods.CallTool, *c.inFlight.Key, func(*validate.Verdict) [][]byte { return [][]byte{c.followUp.judged} }}
	a, err := rounds.Continue(run.WithProgressToken(ctx, c.hubToken), e, from, methods.CallTool, result)
	c.lease = e.Lease() // another process may have taken the child's place
	if err != nil {
		c.end(jsonrpc.Answer{}, err)
		return
	}
	if a.Error == nil && tasks.IsTask(a.Result) {
		c.adopt(a)
		return
	}
	c.settle(a)
}

// adopt ends the call with a task that the child has made of it.
func (c *asyncCall) adopt(a jsonrpc.Answer) {
	c.resultWord = c.ticket.Answered(a)
	token := c.hubToken
	c.hubToken = nil // the task has it until it ends
	c.end(c.s.AdoptTask(c.followUp.ctx, c.lease, c.tool.Remote, a, func() { c.s.Progress.Remove(token) }), nil)
}

// end is the one end of a call: it gives back what the call holds, and has it answered.
// err is why there is no answer of the child; then what was asked on account of the call
// ends, and the client is told of that first. Only the first end counts. After a panic somebody may
// still use the attempt, so it is not used again.
func (c *asyncCall) end(a jsonrpc.Answer, err error) {
	if c.over.Swap(true) {
		return
	}
	if err != nil {
		sent := func(err error) error { return err }
		if c.sent {
			sent = func(err error) error { return &failure.SentError{Err: err} }
		}
		a = failure.AnswerTool(context.Background(), c.tool, sent(err))
		c.resultWord = record.Result(a.Result, a.Error)
		if gone := c.reply.Cause(); gone != nil {
			a = failure.AnswerEnded(context.Background(), sent(gone))
			c.resultWord = audit.ResultCancelled
		}
		c.ticket.Outcome(failure.Outcome(err))
	}
	c.timing.Answered(methods.CallTool, c.resultWord, a.Error)
	if c.pooled != nil && err != errBroken && err != audit.ErrGroup {
		c.pooled.free()
		c.pooled = nil
	}
	questions := c.s.InFlight.End(&c.inFlight, err != nil)
	if c.cancel != nil {
		c.cancel(nil)
	}
	if c.hubToken != nil {
		c.s.Progress.Remove(c.hubToken)
	}
	c.lease.Release()
	if len(questions) == 0 {
		c.reply.Answer(a)
		return
	}
	go func() {
		for _, told := range questions {
			<-told
		}
		c.reply.Answer(a)
	}()
}

// A SyncReply takes the answer to a call for a goroutine that waits for it.
type SyncReply struct {
	*jsonrpc.Cancellation // of the request
	spent                 atomic.Bool
	answer                jsonrpc.Answer
	done                  chan struct{} // gets a token with the answer
}

// Answer takes the first answer.
func (w *SyncReply) Answer(a jsonrpc.Answer) {
	if w.spent.Swap(true) {
		a.Free()
		return
	}
	a.Detach()
	w.answer = a
	w.done <- struct{}{}
}

// Batch is nil: each request comes by itself.
func (w *SyncReply) Batch() *lines.Batch { return nil }

// TryCallToolAndWait answers a call that waits for nothing but its answer; false: nothing
// was done for it.
func (s *Sender) TryCallToolAndWait(from client.Client, w *SyncReply, m *jsonrpc.Message) (jsonrpc.Answer, bool) {
	if len(m.Frame) > jsonrpc.FastFrame {
		return jsonrpc.Answer{}, false
	}
	var made bool
	if w.done, made = s.dones.Get().(chan struct{}); !made {
		w.done = make(chan struct{}, 1)
	}
	ok := s.TryCallTool(m, from, w, false)
	if ok {
		<-w.done
	}
	s.dones.Put(w.done)
	return w.answer, ok
}
