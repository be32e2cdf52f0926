package call

import (
	"context"
	"errors"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/rounds"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// An exchange is a judged request that is with its child. One without a handshake may ask
// for more by its result: see package rounds, which has the request judged again for each
// round.
type exchange struct {
	s       *Sender
	attempt *attempt
	from    client.Client
	method  string
	key     spec.Key                           // of the instance that has the request
	params  func(v *validate.Verdict) [][]byte // the judged bytes
}

var _ rounds.Request = (*exchange)(nil)

func (e *exchange) Lease() *children.Lease { return e.attempt.lease }
func (e *exchange) Params() [][]byte       { return e.params(e.attempt.verdict) }

func (e *exchange) Ask(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	return e.s.Ask(ctx, e.key, m)
}

func (e *exchange) Answer(resp *jsonrpc.Response) jsonrpc.Answer {
	return e.s.Offering.Catalog().WithNames(e.attempt.child, e.from.Answer(e.attempt.lease, e.method, resp))
}

// Revalidate sees to it that the request may be sent once more: the answers may have
// taken long. The child may have been replaced meanwhile, but only by itself;
// and what the roots are now is what the request is judged by.
func (e *exchange) Revalidate(ctx context.Context) error {
	att := e.attempt
	if !att.lease.Open() {
		if err := e.move(ctx); err != nil {
			return err
		}
	}
	if att.scan == nil || !att.scan.NeedsBoundary() {
		return nil
	}
	view, err := e.from.Boundary(ctx, e.s.Roots.NewWait())
	if err != nil {
		return err
	}
	att.roots = view
	if e.s.judgeOnce(att); att.verdict.Decision != policy.Allow {
		return &deniedError{att.verdict, view}
	}
	return nil
}

// move takes the request to the process that has taken its child's place. One
// that is only being retired sees its requests through.
func (e *exchange) move(ctx context.Context) error {
	att := e.attempt
	now := attempt{call: att.call}
	err := now.acquire(ctx)
	if err == nil && now.lease.Revision() == att.lease.Revision() && now.lease.Modern() {
		att.lease.Release()
		att.lease = now.lease
		return nil
	}
	now.lease.Release()
	if err != nil && !errors.Is(err, configuration.ErrSuperseded) {
		return err
	}
	if att.lease.Ended() {
		return errReplaced
	}
	return nil
}

var errReplaced = errors.New("it was replaced by another while it waited for input; make the request again")

// A deniedError is a request that was denied when it was judged once more.
type deniedError struct {
	verdict *validate.Verdict
	view    rootsmgr.View // that it was judged by then
}

func (e *deniedError) Error() string { return errDenied.Error() }

// Is makes it an errDenied.
func (e *deniedError) Is(target error) bool { return target == errDenied }

// applyTo makes it what became of the request.
func (e *deniedError) applyTo(att *attempt) { att.verdict, att.roots = e.verdict, e.view }
