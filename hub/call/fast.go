package call

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"mcphub/children"
	"mcphub/children/run"
	"mcphub/hub/audit"
	"mcphub/hub/client"
	"mcphub/hub/modern"
	"mcphub/hub/offering"
	"mcphub/hub/params"
	"mcphub/hub/record"
	"mcphub/hub/telemetry"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/jsonrpc/lines"
	"mcphub/internal/methods"
	"mcphub/validate/policy"
)

// This file is the fast path: a call of a tool goes through its steps without ever waiting, on the read
// loop of a client, or on a goroutine of which only the answer is waited for. Waking
// goroutines costs more than the rest of such a call. Its states are drawn in doc.go.
// send.go has what follows once such a call is recorded.

// errWouldBlock ends an attempt if the next step would have to wait, or may take
// its time. Nothing is held; the call is made again from the lookup on.
var errWouldBlock = errors.New("the call has to wait for something")

// errBroken ends every call that was under way in something that panicked.
var errBroken = errors.New("internal error")

// An answerReceiver takes the answer to a call of the fast path: a *jsonrpc.Responder, or an AwaitedAnswer.
type answerReceiver interface {
	// Answer takes the answer, once, and does not block.
	Answer(jsonrpc.Answer)
	// Cause returns why the answer is not wanted any more, nil while it is.
	Cause() error
	// OnCancel sets what is told, at once if that came first, that the answer is
	// not wanted any more.
	OnCancel(jsonrpc.Stopper)
	// Batch returns what gathers the calls that came in one read; nil: nothing does.
	Batch() *lines.Batch
}

// A fastCall is an allowedCall of a tool that holds no goroutine of its own while the child works. One goroutine at a time owns it, as doc.go
// says. Only Abandon is called by others.
type fastCall struct {
	allowedCall
	tool     toolTarget // with a copy of the arguments, if the result may be cut: see resultOrigin
	receiver answerReceiver
	pooled   *toolCall // nil once the call is sent, unless the child may ask for more
	timing   telemetry.RequestTiming
	ctx      context.Context // of what waits on account of the call; nil: nothing does

	// Set before Abandon may be called.
	childCall    run.AsyncCall
	cancel       context.CancelCauseFunc // of ctx
	wasSent      bool                    // given to the child, by childCall or on a goroutine
	startedAsync bool                    // by childCall, without a goroutine

	ended atomic.Bool // a panic leaves more than one owner
}

// A toolCall is a Call of a tool in one piece, with the buffers in which what the child
// is sent is put together. It is used again once it is freed.
type toolCall struct {
	Call
	tool         toolTarget
	firstAttempt attempt // of the first attempt; it holds the lease

	name   []byte
	edits  [2]jsonrpc.Edit
	parts  [5][]byte
	params []byte // the params, of a call that has to wait for its line
}

// maxKeptParams is how large a buffer is kept for the next call.
const maxKeptParams = 64 << 10

var toolCalls = sync.Pool{New: func() any { return new(toolCall) }}

func (pooled *toolCall) freeCall() {
	pooled.Call, pooled.tool, pooled.firstAttempt = Call{}, toolTarget{}, attempt{}
	clear(pooled.edits[:])
	clear(pooled.parts[:])
	if cap(pooled.params) > maxKeptParams {
		pooled.params = nil
	}
	toolCalls.Put(pooled)
}

// initCall makes pooled a call of the request m, of a tool that was looked up.
func (pooled *toolCall) initCall(s *Sender, m *jsonrpc.Message, quoted []byte, tool offering.Tool) {
	pooled.splicing = splicingOf(m, quoted, tool.OwnName)
	pooled.sender, pooled.target, pooled.progressToken, pooled.spareAttempt = s, &pooled.tool, pooled.splicing.progressToken, &pooled.firstAttempt
	pooled.tool = toolTarget{listed: tool, tool: tool, args: m.Param("arguments"), task: m.Param("task") != nil}
}

// TryCallTool makes a tools/call if nothing has to be waited for: the tool is known, its child is
// ready, and the roots and paths that decide are in memory. The caller has seen that the call is
// small. false: nothing was done for it. onReadLoop: what may take its time is not begun either.
func (s *Sender) TryCallTool(m *jsonrpc.Message, from client.Client, receiver answerReceiver, onReadLoop bool) bool {
	if m.Method != methods.CallTool || params.Check(m) != nil {
		return false
	}
	quoted := m.Param("name")
	if len(quoted) < 2 || quoted[0] != '"' || bytes.IndexByte(quoted, '\\') >= 0 {
		return false
	}
	var timing telemetry.RequestTiming
	if t := s.Records.Telemetry(); t != nil {
		timing = from.StartTiming(t)
	}
	list := s.Offering.Catalog()
	tool := offering.Tool{Tool: list.ToolNamed(quoted[1 : len(quoted)-1]), Conf: list.Conf}
	if tool.Tool == nil || tool.Child == "" || m.Param("task") != nil || s.Turns.QueueOf(tool.Child) != nil || len(tool.Set) > 0 || !allowsFastPath(from, tool, nil) || onReadLoop && tool.Costly || list.Renames(tool.Child) {
		return false
	}
	pooled := toolCalls.Get().(*toolCall)
	pooled.initCall(s, m, quoted, tool)
	pooled.onFastPath = true
	att, err := pooled.runAttempt(context.Background()) // no client is asked for anything on this path
	pooled.onFastPath = false
	if err != nil {
		pooled.freeCall()
		return false
	}
	if !s.maySendAtOnce(m, from, att) {
		att.lease.Release()
		pooled.freeCall()
		return false
	}
	fast := &fastCall{
		allowedCall: allowedCall{sender: s, verdict: att.verdict, lease: att.lease}, tool: toolTarget{tool: pooled.tool.tool}, timing: timing, receiver: receiver, pooled: pooled,
	}
	fast.target = &fast.tool
	fast.timing.SetOperation(methods.CallTool, tool.Child, tool.OwnName)
	fast.timing.CountDecision(policy.Allow.String(), att.verdict.Rule)
	fast.ticket = record.TicketOf(&fast.timing)
	if fast.tool.maxResult() > 0 {
		fast.tool.args = append([]byte{}, pooled.tool.args...)
	}
	fast.recordAndSend(m, from)
	return true
}

// allowsFastPath asks a client whether a call of tool may be made without waiting.
func allowsFastPath(c client.Client, tool offering.Tool, lease *children.Lease) bool {
	return c.AllowsFastPath(tool.Conf.Child(tool.Child).Spec.Share, len(tool.Mirrors) > 0, lease)
}

// maySendAtOnce reports whether an attempt let a call through that is sent without waiting.
func (s *Sender) maySendAtOnce(m *jsonrpc.Message, from client.Client, att *attempt) bool {
	switch {
	case !att.isAllowed(), len(att.verdict.Rewrites) > 0, !att.lease.CanStartCall(), s.Records.CheckRequired() != nil:
		return false
	case !allowsFastPath(from, att.call.target.(*toolTarget).tool, att.lease):
		return false
	case !att.lease.IsModern():
		return true
	case att.scan.NeedsJudge(): // it is judged again if the child asks for roots
		return false
	}
	return m.Param(modern.MemberResponses) == nil && m.Param(modern.MemberState) == nil // the waiting path refuses these
}

// recordAndSend has a call recorded that was let through, and then sent.
func (fast *fastCall) recordAndSend(m *jsonrpc.Message, from client.Client) {
	s, pooled := fast.sender, fast.pooled
	fast.enterInFlight(Requester{Client: from}, pooled.progressToken)
	defer func() {
		if p := recover(); p != nil {
			fast.endCall(jsonrpc.Answer{}, errBroken)
			panic(p)
		}
	}()
	pooled.name = jsonrpc.AppendString(pooled.name[:0], pooled.splicing.ownName)
	edits := pooled.edits[:]
	edits[0] = jsonrpc.Edit{Old: pooled.splicing.quotedName, With: pooled.name}
	inside := fast.timing.BeginServerSpan(pooled.splicing.carrier.Context, methods.CallTool, m.ID)
	pooled.splicing.traceForChild = fast.timing.BeginClientSpan(pooled.splicing.carrier.Context, fast.lease.Protocol())
	edits[1] = pooled.splicing.traceEdit(fast.hubProgressToken)
	params := jsonrpc.AppendSplice(pooled.parts[:0], m.Params, edits)
	if fast.lease.IsModern() {
		fast.attempt, fast.body = &pooled.firstAttempt, jsonrpc.Join(params)
		params = append(pooled.parts[:0], fast.body)
		fast.childCall.SetClient(from.ClientProfile())
		fast.makeContext()
	}
	// What m holds may be used again soon.
	pooled.splicing, pooled.progressToken, pooled.tool.args = splicing{}, nil, nil
	batch := fast.receiver.Batch()
	if !s.Records.IsEnabled() {
		fast.sendAsync(batch, params)
		return
	}
	pooled.params = jsonrpc.AppendAll(pooled.params[:0], params)
	rec := audit.CallRecord{Request: m.ID, Trace: audit.Trace(inside), Arguments: m.Param("arguments")}
	rec.Child, rec.Tool = fast.tool.tool.Child, fast.tool.tool.OwnName
	if pooled.firstAttempt.scan.NeedsJudge() {
		rec.Encoded = pooled.firstAttempt.recordedDecision().Encoded()
	} else {
		rec.Encoded = fast.tool.tool.CommonDecision(pooled.firstAttempt.scan).Encoded(fast.lease.KernelState())
	}
	s.Records.Enqueue(rec, fast, batch, len(pooled.params))
}

// Recorded sends the call, unless it may not be.
func (fast *fastCall) Recorded(t audit.Ticket, err error) {
	if fast.ticket.Ticket, err = fast.sender.Records.MaySend(t, err); err != nil {
		fast.endCall(jsonrpc.Answer{}, err)
		return
	}
	fast.sendAsync(fast.sender.Records.Batch(), append(fast.pooled.parts[:0], fast.pooled.params))
}

// makeContext makes the context of what waits on account of the call.
func (fast *fastCall) makeContext() {
	if fast.ctx == nil {
		fast.ctx, fast.cancel = context.WithCancelCause(fast.childContext(client.NewContext(context.Background(), client.RequestContext{Client: fast.client()})))
	}
}

// An AwaitedAnswer takes the answer to a call for a goroutine that waits for it.
type AwaitedAnswer struct {
	*jsonrpc.Cancellation // of the request
	spent                 atomic.Bool
	answer                jsonrpc.Answer
	done                  chan struct{} // gets a token with the answer
}

// Answer takes the first answer to the call, and frees any other.
func (awaited *AwaitedAnswer) Answer(answer jsonrpc.Answer) {
	if awaited.spent.Swap(true) {
		answer.Free()
		return
	}
	answer.Detach()
	awaited.answer = answer
	awaited.done <- struct{}{}
}

// Batch returns nil: no other calls come with the request of an AwaitedAnswer.
func (awaited *AwaitedAnswer) Batch() *lines.Batch { return nil }

// TryCallToolAndWait answers a call that waits for nothing but its answer; false: nothing
// was done for it.
func (s *Sender) TryCallToolAndWait(from client.Client, awaited *AwaitedAnswer, m *jsonrpc.Message) (jsonrpc.Answer, bool) {
	if len(m.Frame) > jsonrpc.FastFrame {
		return jsonrpc.Answer{}, false
	}
	var isPooled bool
	if awaited.done, isPooled = s.doneChannels.Get().(chan struct{}); !isPooled {
		awaited.done = make(chan struct{}, 1)
	}
	ok := s.TryCallTool(m, from, awaited, false)
	if ok {
		<-awaited.done
	}
	s.doneChannels.Put(awaited.done)
	return awaited.answer, ok
}
