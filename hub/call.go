package hub

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"mcphub/children"
	"mcphub/hub/approval"
	"mcphub/hub/configuration"
	"mcphub/hub/record"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// A Call is one thing that a client asks of a child: a tool, a prompt, a resource,
// a completion, a subscription, something of an extension. Whatever it is, it takes
// the same steps, each of which has one body:
//
//	scan -> roots -> lease -> judge -> approve -> record -> send -> settle
//
// What was scanned by another definition than the child has, or would go to another
// process by now, is scanned again; what was judged by a configuration that is in
// force no more begins anew with the lookup of what it names.
type Call struct {
	s      *Session
	target target
	token  []byte // the client's progress token, raw; nil when it gave none
	told   bool   // it is a notification: nothing is answered
	// build, where set, builds what the child is sent in the place of request: see
	// params.
	build    func(own []byte, edits []jsonrpc.Edit) [][]byte
	request  splicing
	scanned  scanned            // by an earlier attempt
	approval *approval.Approval // a person's, of this very call; nil: none

	nowait bool       // an attempt ends with errWouldBlock where it would have to wait
	spare  *judgement // for the next attempt; nil: none

	inFlight inFlight
}

// scanned is what an attempt found. It is of the very bytes that the call has.
type scanned struct {
	tool *validate.Tool
	scan *validate.Scan
}

// A target is what a Call is for. It is looked up before; finding out more about
// it may replace what it holds.
type target interface {
	// owner is the child that it is for, and by which configuration it is judged.
	owner() (*configuration.Configuration, string)
	method() string
	subject() record.Subject
	// asked is how a person is asked about it. Its digest is of all that would be
	// sent.
	asked(c *Call) approval.Request
	// anew goes back to what was looked up.
	anew()
	// renew finds it as the instance has it that serves the session now.
	renew(ctx context.Context, s *Session) error
	// scan finds what is to be judged.
	scan(ctx context.Context, c *Call) (*validate.Scan, error)
	// fits reports whether the child of a lease has it as it was scanned. Where
	// scanning once more may help, the error is an errAnew.
	fits(c *Call, lease *children.Lease) error
	// mayGo is asked just before it is sent.
	mayGo(lease *children.Lease) error
	// edits are what the verdict makes of the params.
	edits(s *Session, v *validate.Verdict) []jsonrpc.Edit
	// settle takes in the answer; drop ends its progress.
	settle(ctx context.Context, s *Session, lease *children.Lease, a jsonrpc.Answer, drop func()) jsonrpc.Answer
	// deny is the answer where it was judged, and refuse where it was not, or the
	// child did not answer.
	deny(j *judgement) jsonrpc.Answer
	refuse(ctx context.Context, err error) jsonrpc.Answer
}

// splicing makes params of those of the client: what quoted is, the client's name
// for something, becomes the child's own, and token the hub's.
type splicing struct {
	raw, quoted, token []byte
	remote             string
}

func splicingOf(m *jsonrpc.Message, quoted []byte, remote string) splicing {
	return splicing{m.Params, quoted, tokenOf(m), remote}
}

// params are what the child is sent: the judged bytes, with the edits that the
// verdict made of them, and the hub's own progress token.
func (c *Call) params(own []byte, edits []jsonrpc.Edit) [][]byte {
	if c.build != nil {
		return c.build(own, edits)
	}
	r := &c.request
	edits = append(edits, jsonrpc.Edit{Old: r.quoted, With: jsonrpc.AppendString(nil, r.remote)})
	if own != nil {
		edits = append(edits, jsonrpc.Edit{Old: r.token, With: own})
	}
	return jsonrpc.Splice(r.raw, edits...)
}

// tokenOf is the progress token of a request, raw; nil where it has none.
func tokenOf(m *jsonrpc.Message) []byte { return jsonrpc.Get(m.Param("_meta"), "progressToken") }

var (
	// errAnew: nothing was sent, and the target is to be scanned once more.
	errAnew = errors.New("it has changed since it was looked at")
	// errRestless is an errAnew of a target that goes on changing.
	errRestless error = restlessError{}
	// errDenied comes with the answer to a request that no other child may have either.
	errDenied = errors.New("the request was denied")
)

type restlessError struct{}

func (restlessError) Error() string        { return "it changes what it offers again and again" }
func (restlessError) Is(target error) bool { return target == errAnew }

// run judges a call and, where it is allowed, has the child do it. There is an
// answer always. errSuperseded: a reload came between, nothing was sent, and the
// call has to begin anew with what it named. errDenied: see there.
func (c *Call) run(ctx context.Context) (jsonrpc.Answer, error) {
	s, t := c.s, c.target
	ctx = s.withNotice(ctx, c.token)
	t.anew()
	c.approval = nil // one that a reload has overtaken was of other rules
	j, err := c.consider(ctx)
	if err == nil && j.verdict.Decision == validate.Escalate {
		j, err = c.approve(ctx, j)
	}
	switch {
	case errors.Is(err, configuration.ErrSuperseded) && ctx.Err() == nil:
		return t.refuse(ctx, err), configuration.ErrSuperseded
	case errors.As(err, new(*validate.ArgumentsError)):
		s.refusedFor(ctx, t.subject(), err)
		return t.refuse(ctx, err), errDenied
	case err != nil:
		s.refusedFor(ctx, t.subject(), err)
		return t.refuse(ctx, err), nil
	}
	defer s.approvals.Done(j.approval)
	defer func() { j.lease.Release() }() // another one by then, perhaps
	ticket, err := s.records.Decide(ctx, t.subject(), j.decision())
	switch {
	case !j.allowed():
		return c.deny(j)
	case err != nil:
		return t.refuse(ctx, err), nil
	}
	if err := t.mayGo(j.lease); err != nil {
		ticket.Outcome(audit.ResultNotSent)
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error()), nil
	}
	if c.told {
		if err := j.lease.Notify(ctx, t.method(), c.params(nil, nil)...); err != nil {
			ticket.Outcome(record.Failure(err))
			return t.refuse(ctx, err), nil
		}
		ticket.Outcome(audit.ResultOK)
		return jsonrpc.Answer{}, nil
	}
	return c.send(ctx, j, ticket)
}

func (c *Call) deny(j *judgement) (jsonrpc.Answer, error) {
	what := c.target.subject()
	c.s.log.Info().Str("child", what.Child).Str("tool", what.Tool).Str("method", c.target.method()).
		Str("rule", j.verdict.Rule).Uint64("generation", j.verdict.Generation).Msg("call denied")
	return c.target.deny(j), errDenied
}

// send has the child do what was let through and recorded, and brings its answer
// back as it is.
func (c *Call) send(ctx context.Context, j *judgement, ticket audit.Ticket) (jsonrpc.Answer, error) {
	s, t := c.s, c.target
	var own []byte
	drop := func() {}
	if c.token != nil {
		own = s.hub.progress.Add(j.lease.Key(), s.clientOf(ctx), bytes.Clone(c.token))
		drop = func() { s.hub.progress.Remove(own) }
	}
	away, back := s.track(children.WithProgressToken(ctx, own), &c.inFlight, j.lease.Key(), j)
	a, err := s.exchange(away, j, t.method(), func(v *validate.Verdict) [][]byte { return c.params(own, t.edits(s, v)) })
	back(err)
	var late *deniedError
	switch {
	case errors.As(err, &late):
		drop()
		late.settle(j)
		ticket.Outcome(audit.ResultError) // the child has it, and did not get what it asked for
		_, _ = s.records.Decide(context.WithoutCancel(ctx), t.subject(), j.decision())
		return c.deny(j)
	case err != nil:
		drop()
		ticket.Outcome(record.Failure(err))
		return t.refuse(ctx, err), nil
	}
	ticket.Outcome(record.Result(a.Result, a.Error))
	return t.settle(ctx, s, j.lease, a, drop), nil
}

// A judgement is what became of one call, and the right to make it.
type judgement struct {
	gen      *configuration.Configuration
	child    string
	call     *Call // that was judged
	scan     *validate.Scan
	verdict  *validate.Verdict
	view     rootsmgr.View      // zero where the call holds no path
	lease    *children.Lease    // nil: nothing was started for it, and it is not allowed
	approval *approval.Approval // a person's, of it; nil: none
	refusal  string             // why a call that a rule escalates was not approved
	cwd      string             // without a lease, where the child would work
	served   []string           // and with which roots
}

// mostAttempts bounds how often one call is scanned and judged, because its child
// has other definitions than were known or another process serves the session.
const mostAttempts = 4

// consider judges a call as the child that would run it has its target now. The
// caller releases the lease. An error of validate is what is wrong with the
// arguments; others say why the call could not be judged or made.
func (c *Call) consider(ctx context.Context) (*judgement, error) {
	for n := 1; ; n++ {
		j, err := c.attempt(ctx)
		if err == nil || n == mostAttempts || !errors.Is(err, errAnew) {
			return j, err
		}
	}
}

// attempt is consider by what is known of the target: strict JSON, schema,
// findings, and where there are any, the boundary of this session and the working
// directory of the instance that would run it.
func (c *Call) attempt(ctx context.Context) (*judgement, error) {
	s, t, from := c.s, c.target, c.s.clientOf(ctx)
	var wait *rootsmgr.Wait
	var view rootsmgr.View
	var err error
	g, child := t.owner()
	byRoots := s.byRoots(g.Child(child))
	if byRoots { // they choose the process, and with it what its tools are
		if c.nowait {
			return nil, errWouldBlock
		}
		wait = s.roots.NewWait()
		if view, err = from.Boundary(ctx, wait); err != nil {
			return nil, err
		}
		if err = t.renew(ctx, s); err != nil {
			return nil, err
		}
	}
	held := s.heldToRoots(g.Child(child), from)
	if held && c.nowait && !s.rootsGiven() {
		return nil, errWouldBlock
	}
	j := c.spare
	if c.spare = nil; j == nil {
		j = &judgement{}
	}
	*j = judgement{call: c, approval: c.approval}
	if j.scan, err = t.scan(ctx, c); err != nil {
		return nil, err
	}
	j.gen, j.child = t.owner()
	if c.nowait && j.scan.NeedsJudge() { // roots are asked for, and the file system
		return nil, errWouldBlock
	}
	switch {
	case !j.scan.NeedsBoundary():
		wait = nil
		if held && !c.nowait && !byRoots {
			if _, err = from.Boundary(ctx, s.roots.NewWait()); err != nil {
				return nil, err
			}
		}
	case byRoots:
		j.view = view
	default:
		wait = s.roots.NewWait()
		from.Scanned(j.scan)
		if j.view, err = from.Boundary(ctx, wait); err != nil {
			return nil, err
		}
	}
	if err = from.RootsBefore(ctx, &j.gen.Child(j.child).Spec); err != nil {
		return nil, err
	}
	if j.lease = s.ready(j.gen, j.child); j.lease == nil && !c.nowait {
		if over, err := s.foretell(ctx, wait, j); err != nil {
			return nil, err
		} else if over {
			return s.upToDate(ctx, j)
		}
	}
	if j.lease, err = s.acquireFor(ctx, c, j.lease); err != nil {
		return nil, err
	}
	if err = from.RootsAfter(j.lease); err != nil {
		return nil, err
	}
	before := j.lease.Key()
	if err = s.judge(ctx, wait, j); err == nil && j.lease.Key() != before {
		t.anew() // asking again has moved the session to another instance
		err = errRestless
	}
	if err == nil {
		err = j.tooNarrow()
	}
	if err != nil {
		j.lease.Release()
		return nil, err
	}
	return s.upToDate(ctx, j)
}

// judge decides; a denial that a newer answer of the client might lift, or a
// question to a human that it might spare, is decided once more after asking
// for roots. Then the child is acquired anew: it has to apply the new roots first, and
// may be another process in another place.
func (s *Session) judge(ctx context.Context, wait *rootsmgr.Wait, j *judgement) error {
	s.decide(j)
	from := s.clientOf(ctx)
	if err := from.Judged(j.verdict); err != nil {
		return err
	}
	if wait == nil || !j.verdict.RootsMatter() {
		return nil
	}
	back := from.Lend()
	again, newer, err := s.lookAgain(ctx, wait, j)
	back()
	if err != nil || !newer {
		return err
	}
	if j.lease.Release(); j.lease == nil {
		s.foresee(j) // where it runs by now, as it would have been started
	} else if j.lease, err = s.acquireFor(ctx, j.call, nil); err != nil {
		return err
	}
	j.view = again
	s.decide(j)
	return nil
}

// decide has a call judged as it stands. Where there is nothing to judge in a call
// of a tool, what was decided of the first such call holds for all.
func (s *Session) decide(j *judgement) {
	if t, ok := j.call.target.(*toolTarget); ok && !j.scan.NeedsJudge() {
		j.verdict = t.tool.Plain(j.scan).Verdict
		return
	}
	j.verdict = j.gen.Checker.Judge(j.scan, s.where(j), j.view)
}

// where tells what the instance that would run a request can reach, and what a
// person has opened for it.
func (s *Session) where(j *judgement) validate.Where {
	cwd, served := j.place()
	if files := j.view.Snapshot.Files(); len(files) > 0 { // nothing starts from a file
		served = slices.DeleteFunc(slices.Clone(served), func(path string) bool { return slices.Contains(files, path) })
	}
	return validate.Where{
		Cwd: cwd, Served: served, Grants: s.approvals.Grants(&j.gen.Child(j.child).Spec, j.approval), Approved: j.approval.Rule(),
	}
}

// upToDate is a judgement that was reached by the policy in force. What waited, for
// roots, for its child or for a person, and was overtaken by a reload meanwhile has
// to begin anew: its error is errSuperseded, and the lease was released.
func (s *Session) upToDate(ctx context.Context, j *judgement) (*judgement, error) {
	if s.hub.now() == j.gen {
		return j, nil
	}
	j.lease.Release()
	if j.call.nowait {
		return nil, errWouldBlock
	}
	select {
	case <-j.gen.Replaced(): // every session goes by the other one
	case <-ctx.Done():
	}
	return nil, configuration.ErrSuperseded
}
