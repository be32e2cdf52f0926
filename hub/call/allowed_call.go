package call

import (
	"bytes"
	"context"
	"errors"

	"mcphub/children"
	"mcphub/children/run"
	"mcphub/hub/audit"
	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/inflight"
	"mcphub/hub/record"
	"mcphub/hub/rounds"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// An allowedCall is a request that was let through, until it is over. It owns what the request holds: the lease of the
// process that has it, the route of its progress, its entry among the requests under way, and its ticket of the record. The waiting
// path (Call.sendAllowed) and the fast path (fastCall) both have one. They differ in who waits for the child, and in when the line of the record is
// written: the waiting path has written the line before it makes the allowedCall.
//
// A child without a handshake may ask for more by its result. An allowedCall is then the [rounds.RepeatedRequest]: it is judged again for each round.
type allowedCall struct {
	sender           *Sender
	target           callTarget        // nil: of RelayAboutTask, which judges and settles nothing
	attempt          *attempt          // that let it through, not changed meanwhile; nil: it is not judged again
	verdict          *validate.Verdict // by which it was sent last
	lease            *children.Lease
	holdsLease       bool        // giveBack was not called yet
	inFlight         OpenRequest // with the client
	hubProgressToken []byte      // the hub's progress token; nil: none, or a task has it
	body             []byte      // the params as they are sent; nil: the Call of the attempt builds them
	ticket           record.Ticket
	resultWord       string // of the record, for what the child has answered; "" before
}

// enterInFlight enters the request among those under way, and opens the route of its progress to the client's token, nil for none.
func (c *allowedCall) enterInFlight(from Requester, token []byte) {
	c.holdsLease = true
	c.inFlight.Key, c.inFlight.Client = c.lease.Instance(), from
	c.sender.InFlight.Start(&c.inFlight)
	if token != nil {
		c.hubProgressToken = c.sender.Progress.Add(*c.inFlight.Key, from.Client, bytes.Clone(token))
	}
}

// giveBack gives back what the request holds. err is why the child has not answered. Then what was asked on account of the request
// ends, and each of the channels is closed when the child was told so.
func (c *allowedCall) giveBack(err error) (notices []<-chan struct{}) {
	if !c.holdsLease {
		return nil
	}
	c.holdsLease = false
	notices = c.sender.InFlight.End(&c.inFlight, err != nil)
	if c.hubProgressToken != nil {
		c.sender.Progress.Remove(c.hubProgressToken)
	}
	c.lease.Release()
	return notices
}

// context returns the context that the child is called by.
func (c *allowedCall) context(ctx context.Context) context.Context {
	return inflight.NewContext(run.WithProgressToken(ctx, c.hubProgressToken), &c.inFlight)
}

// sendAndAwait sends the request and waits until the child does not ask for more. The error is one of Lease.Call, a deniedError, or
// reports why the child does not get what it asks for.
func (c *allowedCall) sendAndAwait(ctx context.Context) (jsonrpc.Answer, error) {
	if c.lease.IsModern() {
		return rounds.Run(ctx, c, c.client(), c.target.requestMethod())
	}
	resp, err := c.lease.Call(ctx, c.target.requestMethod(), c.Params()...)
	if err != nil {
		return jsonrpc.Answer{}, err
	}
	return c.ShapeAnswer(resp), nil
}

// A followUp lists what the hub still has to do before the client gets an answer: explain a refusal of the kernel, adopt a task, read the
// child's lists again, or shorten a long answer. Each of these may wait for a disk or for the child, so no read loop does them.
type followUp struct{ explainRefusal, adoptTask, rereadLists, shorten bool }

// recordAnswer records the answer of the child, and returns what settleAnswer has to do. It does not wait.
func (c *allowedCall) recordAnswer(answer jsonrpc.Answer) (todo followUp) {
	c.resultWord = c.ticket.RecordAnswer(answer)
	todo.explainRefusal = failure.MayBeKernelRefusal(c.lease, c.resultWord, answer)
	if kind, name := c.target.listEntry(); name != "" && c.resultWord != audit.ResultOK {
		todo.rereadLists = meansUnknown(answer, kind, name)
	}
	if tool, ok := c.target.(*toolTarget); ok {
		todo.adoptTask = tool.task || c.lease.IsModern() && tasks.IsTask(answer.Result)
		todo.shorten = mayShorten(answer, tool.maxResult())
	}
	return todo
}

// settleAnswer does what recordAnswer has returned, and returns the answer that the client gets. It may wait.
func (c *allowedCall) settleAnswer(ctx context.Context, answer jsonrpc.Answer, todo followUp) jsonrpc.Answer {
	if todo.explainRefusal {
		answer = failure.ExplainKernelRefusal(c.sender.Records, c.target.recordSubject(), c.lease, c.resultWord, failure.NamedPaths(c.verdict), answer)
	}
	tool, _ := c.target.(*toolTarget)
	if todo.adoptTask {
		c.client().KeepResultType()
		token, progress := c.hubProgressToken, c.sender.Progress
		c.hubProgressToken = nil // the task has it until it ends
		answer = c.sender.AdoptTask(ctx, c.lease, tool.tool.OwnName, answer, func() { progress.Remove(token) })
	}
	if todo.rereadLists {
		kind, _ := c.target.listEntry()
		c.lease.Doubt(context.Background(), 1<<kind, doubtTime)
	}
	if todo.shorten {
		approved := c.attempt != nil && c.attempt.approval != nil
		answer = c.sender.shortenAnswer(c.client(), answer, tool.maxResult(), func() *resultOrigin { return tool.resultOrigin(approved) })
	}
	return answer
}

func (c *allowedCall) client() client.Client { return c.inFlight.Client.Client }

// Lease implements [rounds.RepeatedRequest].
func (c *allowedCall) Lease() *children.Lease { return c.lease }

// Params implements [rounds.RepeatedRequest].
func (c *allowedCall) Params() [][]byte {
	if c.body != nil {
		return [][]byte{c.body}
	}
	return c.attempt.call.childParams(c.hubProgressToken, c.target.pathEdits(c.sender, c.verdict))
}

// Ask implements [rounds.RepeatedRequest].
func (c *allowedCall) Ask(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	return c.sender.AskClient(ctx, *c.inFlight.Key, m)
}

// ShapeAnswer implements [rounds.RepeatedRequest].
func (c *allowedCall) ShapeAnswer(resp *jsonrpc.Response) jsonrpc.Answer {
	return c.sender.Offering.Catalog().WithNames(c.inFlight.Key.Child, c.client().ShapeAnswer(c.lease, c.target.requestMethod(), resp))
}

// Revalidate implements [rounds.RepeatedRequest]: the answers may have taken long. The child may have been replaced meanwhile, but only by
// itself, and the request is judged by what the roots are now.
func (c *allowedCall) Revalidate(ctx context.Context) error {
	if c.attempt == nil {
		return errReplaced // by a process of another era
	}
	if !c.lease.IsOpen() {
		if err := c.moveLease(ctx); err != nil {
			return err
		}
	}
	again := *c.attempt
	if again.scan == nil || !again.scan.NeedsBoundary() {
		return nil
	}
	rootsView, err := c.client().AwaitRoots(ctx, c.sender.RootsManager.NewWaitBudget())
	if err != nil {
		return err
	}
	again.lease, again.roots = c.lease, rootsView
	c.sender.judgeOnce(&again)
	if c.verdict = again.verdict; c.verdict.Decision != policy.Allow {
		return &deniedError{c.verdict, rootsView}
	}
	return nil
}

// moveLease takes the request to the process that has taken the place of its child. A process
// that is only being retired sees its requests through.
func (c *allowedCall) moveLease(ctx context.Context) error {
	now := attempt{call: c.attempt.call}
	err := now.ensureLease(ctx)
	if err == nil && now.lease.Revision() == c.lease.Revision() && now.lease.IsModern() {
		c.lease.Release()
		c.lease = now.lease
		return nil
	}
	now.lease.Release()
	if err != nil && !errors.Is(err, configuration.ErrSuperseded) {
		return err
	}
	if c.lease.HasEnded() {
		return errReplaced
	}
	return nil
}

var errReplaced = errors.New("it was replaced by another while it waited for input; make the request again")

// A deniedError is a request that was denied when it was judged again.
type deniedError struct {
	verdict   *validate.Verdict
	rootsView rootsmgr.RootsView // that it was judged by then
}

func (e *deniedError) Error() string { return errDenied.Error() }

// Is makes it an errDenied.
func (e *deniedError) Is(target error) bool { return target == errDenied }
