package call

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/children/offers"
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
	holdsLease       bool        // releaseCall was not called yet
	inFlight         OpenRequest // with the client
	hubProgressToken []byte      // the hub's progress token; nil: none, or a task has it
	body             []byte      // the params as they are sent; nil: the Call of the attempt builds them
	ticket           record.Ticket
	resultWord       string // of the record, for what the child has answered; "" before
}

// enterInFlight enters the request among those under way, and opens the route of its progress to the client's token, nil for none.
func (allowed *allowedCall) enterInFlight(from Requester, token []byte) {
	allowed.holdsLease = true
	allowed.inFlight.Key, allowed.inFlight.Client = allowed.lease.Instance(), from
	allowed.sender.InFlight.Start(&allowed.inFlight)
	if token != nil {
		allowed.hubProgressToken = allowed.sender.Progress.Add(*allowed.inFlight.Key, from.Client, bytes.Clone(token))
	}
}

// releaseCall gives back what the request holds. err is why the child has not answered. Then what was asked on account of the request
// ends, and each of the channels is closed when the child was told so.
func (allowed *allowedCall) releaseCall(err error) (notices []<-chan struct{}) {
	if !allowed.holdsLease {
		return nil
	}
	allowed.holdsLease = false
	notices = allowed.sender.InFlight.End(&allowed.inFlight, err != nil)
	if allowed.hubProgressToken != nil {
		allowed.sender.Progress.Remove(allowed.hubProgressToken)
	}
	allowed.lease.Release()
	return notices
}

// childContext returns the context that the child is called by.
func (allowed *allowedCall) childContext(ctx context.Context) context.Context {
	return inflight.NewContext(run.WithProgressToken(ctx, allowed.hubProgressToken), &allowed.inFlight)
}

// sendAndAwait sends the request and waits until the child does not ask for more. The error is one of Lease.Call, a deniedError, or
// reports why the child does not get what it asks for.
func (allowed *allowedCall) sendAndAwait(ctx context.Context) (jsonrpc.Answer, error) {
	if allowed.lease.IsModern() {
		return rounds.Run(ctx, allowed, allowed.client(), allowed.target.requestMethod())
	}
	resp, err := allowed.lease.Call(ctx, allowed.target.requestMethod(), allowed.Params()...)
	if err != nil {
		return jsonrpc.Answer{}, err
	}
	return allowed.ShapeAnswer(resp), nil
}

// A followUp lists what the hub still has to do before the client gets an answer: explain a refusal of the kernel, adopt a task, read the
// child's lists again, or shorten a long answer. Each of these may wait for a disk or for the child, so no read loop does them.
type followUp struct{ explainRefusal, adoptTask, rereadLists, shorten bool }

// recordAnswer records the answer of the child, and returns what settleAnswer has to do. It does not wait.
func (allowed *allowedCall) recordAnswer(answer jsonrpc.Answer) (todo followUp) {
	allowed.resultWord = allowed.ticket.RecordAnswer(answer)
	todo.explainRefusal = failure.MayBeKernelRefusal(allowed.lease, allowed.resultWord, answer)
	if kind, name := allowed.target.listEntry(); name != "" && allowed.resultWord != audit.ResultOK {
		todo.rereadLists = mayMeanUnknown(answer, kind, name)
	}
	if tool, ok := allowed.target.(*toolTarget); ok {
		todo.adoptTask = tool.task || allowed.lease.IsModern() && tasks.IsTask(answer.Result)
		todo.shorten = mayShorten(answer, tool.maxResult())
	}
	return todo
}

// settleAnswer does what recordAnswer has returned, and returns the answer that the client gets. It may wait.
func (allowed *allowedCall) settleAnswer(ctx context.Context, answer jsonrpc.Answer, todo followUp) jsonrpc.Answer {
	if todo.explainRefusal {
		answer = failure.ExplainKernelRefusal(allowed.sender.Records, allowed.target.recordSubject(), allowed.lease, allowed.resultWord, failure.NamedPaths(allowed.verdict), answer)
	}
	tool, _ := allowed.target.(*toolTarget)
	if todo.adoptTask {
		allowed.client().KeepResultType()
		token, progress := allowed.hubProgressToken, allowed.sender.Progress
		allowed.hubProgressToken = nil // the task has it until it ends
		answer = allowed.sender.AdoptTask(ctx, allowed.lease, tool.tool.OwnName, answer, func() { progress.Remove(token) })
	}
	if todo.rereadLists {
		kind, _ := allowed.target.listEntry()
		allowed.lease.RereadDoubted(context.Background(), 1<<kind, doubtTime)
	}
	if todo.shorten {
		approved := allowed.attempt != nil && allowed.attempt.approval != nil
		answer = allowed.sender.shortenAnswer(allowed.client(), answer, tool.maxResult(), func() *resultOrigin { return tool.resultOrigin(approved) })
	}
	return answer
}

func (allowed *allowedCall) client() client.Client { return allowed.inFlight.Client.Client }

// Lease implements [rounds.RepeatedRequest].
func (allowed *allowedCall) Lease() *children.Lease { return allowed.lease }

// Params implements [rounds.RepeatedRequest].
func (allowed *allowedCall) Params() [][]byte {
	if allowed.body != nil {
		return [][]byte{allowed.body}
	}
	return allowed.attempt.call.childParams(allowed.hubProgressToken, allowed.target.pathEdits(allowed.sender, allowed.verdict))
}

// Ask implements [rounds.RepeatedRequest].
func (allowed *allowedCall) Ask(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	return allowed.sender.AskClient(ctx, *allowed.inFlight.Key, m)
}

// ShapeAnswer implements [rounds.RepeatedRequest].
func (allowed *allowedCall) ShapeAnswer(resp *jsonrpc.Response) jsonrpc.Answer {
	return allowed.sender.Offering.Catalog().WithNames(allowed.inFlight.Key.Child, allowed.client().ShapeAnswer(allowed.lease, allowed.target.requestMethod(), resp))
}

// Revalidate implements [rounds.RepeatedRequest]: the answers may have taken long. The child may have been replaced meanwhile, but only by
// itself, and the request is judged by what the roots are now.
func (allowed *allowedCall) Revalidate(ctx context.Context) error {
	if allowed.attempt == nil {
		return errReplaced // by a process of another era
	}
	if !allowed.lease.IsOpen() {
		if err := allowed.moveLease(ctx); err != nil {
			return err
		}
	}
	again := *allowed.attempt
	if again.scan == nil || !again.scan.NeedsBoundary() {
		return nil
	}
	rootsView, err := allowed.client().AwaitRoots(ctx, allowed.sender.RootsManager.NewWaitBudget())
	if err != nil {
		return err
	}
	again.lease, again.roots = allowed.lease, rootsView
	allowed.sender.judgeAttempt(&again)
	if allowed.verdict = again.verdict; allowed.verdict.Decision != policy.Allow {
		return &deniedError{allowed.verdict, rootsView}
	}
	return nil
}

// moveLease takes the request to the process that has taken the place of its child. A process
// that is only being retired sees its requests through.
func (allowed *allowedCall) moveLease(ctx context.Context) error {
	now := attempt{call: allowed.attempt.call}
	err := now.ensureLease(ctx)
	if err == nil && now.lease.Revision() == allowed.lease.Revision() && now.lease.IsModern() {
		allowed.lease.Release()
		allowed.lease = now.lease
		return nil
	}
	now.lease.Release()
	if err != nil && !errors.Is(err, configuration.ErrSuperseded) {
		return err
	}
	if allowed.lease.HasEnded() {
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

// What follows is about answers by which a child shows that its lists are old: it does not know what
// it has listed. They are read again before the client hears of it, so that what it asks for
// next is what there is.

// doubtTime is how long such an answer waits until the lists were read.
const doubtTime = 2 * time.Second

// maxUnknownText bounds an answer that may mean that something is not known.
const maxUnknownText = 2 << 10

// unknownWords stand in answers that mean it. Servers have no common word for that.
var unknownWords = [][]byte{
	[]byte("unknown"), []byte("not found"), []byte("no such"), []byte("not exist"), []byte("doesn't exist"),
	[]byte("not registered"), []byte("not available"), []byte("disabled"), []byte("not recognized"), []byte("not recognised"),
}

// mayMeanUnknown reports whether an answer of a child may mean that it does not know what it was asked for by this name, a
// thing of this kind. Some servers answer with an error, others with a result that is one. An error of a code that is used for
// much else needs words that say so, and a result needs the name too: it is the answer of a tool, about whatever that does.
func mayMeanUnknown(answer jsonrpc.Answer, kind offers.ListKind, name string) bool {
	text := answer.Error
	if text == nil {
		if kind != offers.Tools || len(answer.Result) > maxUnknownText || string(jsonrpc.Get(answer.Result, "isError")) != "true" || !bytes.Contains(answer.Result, []byte(name)) {
			return false
		}
		text = answer.Result
	} else {
		switch jsonrpc.ParseError(answer.Error).Code {
		case jsonrpc.CodeMethodNotFound:
			return true
		case mcp.RESOURCE_NOT_FOUND:
			return kind == offers.Resources
		}
	}
	if len(text) > maxUnknownText {
		return false
	}
	text = bytes.ToLower(text)
	if !bytes.Contains(text, []byte(kind.List().Noun)) {
		return false
	}
	for _, word := range unknownWords {
		if bytes.Contains(text, word) {
			return true
		}
	}
	return false
}
