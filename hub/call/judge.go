package call

import (
	"context"
	"errors"
	"mcphub/children"
	"mcphub/hub/approval"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/hub/record"
	"mcphub/internal/printable"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"slices"
	"strconv"
)

// An attempt is one pass of a Call through the steps up to the verdict: what they found,
// and the right to call the child.
type attempt struct {
	by       *configuration.Configuration
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

// prepare judges a call as the child that would run it has its target now. The
// caller releases the lease. An error of validate is what is wrong with the
// arguments; others say why the call could not be judged or made.
func (c *Call) prepare(ctx context.Context) (*attempt, error) {
	c.wait = c.Session.Roots.NewWait()
	for n := 1; ; n++ {
		j, err := c.try(ctx)
		if err == nil || n == mostAttempts || !errors.Is(err, errAnew) {
			return j, err
		}
	}
}

// try is prepare by what is known of the target: strict JSON, schema,
// findings, and where there are any, the boundary of this session and the working
// directory of the instance that would run it.
func (c *Call) try(ctx context.Context) (*attempt, error) {
	s, t, from := c.Session, c.Target, c.Session.ClientOf(ctx)
	wait := c.wait         // nil once it is known that the call needs no boundary
	var view rootsmgr.View // that was waited for; zero where none was
	var err error
	g, child := t.owner()
	byRoots := s.Instances.ByRoots(g.Child(child))
	if byRoots { // they choose the process, and with it what its tools are
		if c.nowait {
			return nil, errWouldBlock
		}
		if view, err = from.Boundary(ctx, wait); err != nil {
			return nil, err
		}
		if err = t.renew(ctx, s); err != nil {
			return nil, err
		}
	}
	held := heldToRoots(g.Child(child), from)
	if c.nowait && (held && !s.Instances.RootsAreCurrent() || looksFirst(g, child)) {
		return nil, errWouldBlock
	}
	j := c.spare
	if c.spare = nil; j == nil {
		j = &attempt{}
	}
	*j = attempt{call: c, approval: c.approval}
	if j.scan, err = t.scan(ctx, c); err != nil {
		return nil, err
	}
	j.by, j.child = t.owner()
	switch {
	case !j.scan.NeedsBoundary():
		if held && !c.nowait && !byRoots {
			if view, err = from.Boundary(ctx, wait); err != nil {
				return nil, err
			}
		}
		wait = nil
	case byRoots:
		j.view = view
	case c.nowait:
		if j.view, err = s.rootsAtHand(from); err != nil {
			return nil, err
		}
	default:
		from.Scanned(j.scan)
		if view, err = from.Boundary(ctx, wait); err != nil {
			return nil, err
		}
		j.view = view
	}
	spec := &j.by.Child(j.child).Spec
	if wait != nil && from.BringsOtherRoots(spec) {
		if over, err := s.judgeBeforeStart(ctx, wait, j, &j.view); err != nil {
			return nil, err
		} else if over {
			return s.upToDate(ctx, j)
		}
	}
	if err = from.RootsBefore(ctx, spec); err != nil {
		return nil, err
	}
	waited := byRoots // for its child
	if j.lease = s.Instances.Ready(j.by, j.child); j.lease == nil && !c.nowait {
		waited = true
		if over, err := s.judgeBeforeStart(ctx, wait, j, nil); err != nil {
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
	if err = s.judge(ctx, wait, j); err == nil {
		err = s.heldThere(ctx, j)
	}
	if err == nil && j.lease.Key() != before {
		t.reset() // asking again has moved the session to another instance
		err = errRestless
	}
	if wait != nil {
		view = j.view
	}
	if err == nil && waited && view.Snapshot != nil && !from.SendsRoots() && c.wait.Overtaken(view) {
		err = errAnew // the client has other roots by now
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

// rootsAtHand are the roots of a session that are known, and that its children have been
// given.
func (s *Session) rootsAtHand(from Client) (rootsmgr.View, error) {
	view, ok := s.Roots.Ready()
	if !ok || from.SendsRoots() || !s.Instances.RootsAreCurrent() {
		return view, errWouldBlock
	}
	view.Client = from.Claims().Name
	return view, nil
}

// judge decides; a denial that a newer answer of the client might lift, or a
// question to a human that it might spare, is decided once more after asking
// for roots. Then the child is acquired again: it has to apply the new roots first, and
// may be another process in another place.
func (s *Session) judge(ctx context.Context, wait *rootsmgr.Wait, j *attempt) error {
	s.judgeOnce(j)
	from := s.ClientOf(ctx)
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
		s.foresee(j, nil) // where it runs by now, as it would have been started
	} else if j.lease, err = s.acquireFor(ctx, j.call, nil); err != nil {
		return err
	}
	j.view = again
	s.judgeOnce(j)
	return nil
}

// heldThere sees to it that the kernel holds the child of an allowed call to what is at its
// paths now: where something else has come to the place of a root, another process serves
// the call.
func (s *Session) heldThere(ctx context.Context, j *attempt) (err error) {
	if j.verdict.Decision != validate.Allow || !j.movedAt() {
		return nil
	}
	if j.call.nowait {
		return errWouldBlock
	}
	j.lease.Release()
	if j.lease, err = s.acquireFor(ctx, j.call, nil); err == nil {
		s.judgeOnce(j)
	}
	return err
}

// movedAt reports whether something else is at a place of the lease in which a path of the
// call lies.
func (j *attempt) movedAt() bool {
	for i := range j.verdict.Findings {
		for _, r := range j.verdict.Findings[i].Readings {
			if r.Leads != "" && j.lease.MovedAt(r.Leads) {
				return true
			}
		}
	}
	return false
}

// judgeOnce has a call judged as it stands. Where there is nothing to judge in a call
// of a tool, what was decided of the first such call holds for all.
func (s *Session) judgeOnce(j *attempt) {
	if t, ok := j.call.Target.(*ToolTarget); ok && !j.scan.NeedsJudge() {
		j.verdict = t.tool.Plain(j.scan).Verdict
		return
	}
	j.verdict = j.by.Checker.Judge(j.scan, s.where(j), j.view)
}

// where tells what the instance that would run a request can reach, and what a
// person has opened for it.
func (s *Session) where(j *attempt) validate.Where {
	cwd, served := j.place()
	if files := j.view.Snapshot.Files(); len(files) > 0 { // nothing starts from a file
		served = slices.DeleteFunc(slices.Clone(served), func(path string) bool { return slices.Contains(files, path) })
	}
	return validate.Where{
		AtHand: j.call.nowait, Cwd: cwd, Served: served, Grants: s.Approvals.Grants(&j.by.Child(j.child).Spec, j.approval), Approved: j.approval.Rule(),
	}
}

// upToDate is an attempt that was judged by the policy in force. What waited, for
// roots, for its child or for a person, and was overtaken by a reload meanwhile has
// to start again: its error is ErrSuperseded, and the lease was released.
func (s *Session) upToDate(ctx context.Context, j *attempt) (*attempt, error) {
	if s.Current.Now() == j.by {
		return j, nil
	}
	j.lease.Release()
	if j.call.nowait {
		return nil, errWouldBlock
	}
	select {
	case <-j.by.Replaced(): // every session goes by the other one
	case <-ctx.Done():
	}
	return nil, configuration.ErrSuperseded
}

// acquireFor is acquire for a call, which may hold a lease already; what fits says
// of it is its error too.
func (s *Session) acquireFor(ctx context.Context, c *Call, lease *children.Lease) (*children.Lease, error) {
	switch {
	case lease != nil && looksFirst(c.Target.owner()) && lease.Moved():
		lease.Release()
		return s.acquireFor(ctx, c, nil)
	case lease != nil:
	case c.nowait:
		return nil, errWouldBlock
	default:
		g, child := c.Target.owner()
		var err error
		if lease, err = s.Acquire(ctx, g, child); err != nil {
			return nil, err
		}
	}
	if err := c.Target.fits(c, lease); err != nil {
		lease.Release()
		return nil, err
	}
	return lease, nil
}

// toolNow finds a tool as the instance has it that serves the session now: the
// session may have moved since its name was looked up.
func (s *Session) toolNow(ctx context.Context, tool offering.Tool) (offering.Tool, error) {
	if s.Instances.Moved(tool.Child) {
		s.AwaitStart(ctx, []string{tool.Child})
		if err := context.Cause(ctx); err != nil {
			return offering.Tool{}, err
		}
	}
	if now := s.Offering.Catalog().OfChild(tool.Child, tool.Remote); now.Tool != nil {
		return now, nil
	}
	if s.Current.Superseded(tool.By.Child(tool.Child)) {
		return offering.Tool{}, configuration.ErrSuperseded
	}
	return offering.Tool{}, &children.UnavailableError{Child: tool.Child, Reason: "the process that serves the new roots has no tool " + strconv.Quote(printable.Escape(tool.Remote, 100))}
}

// place is where the child works that would run the request, and with which roots.
func (j *attempt) place() (cwd string, served []string) {
	if j.lease == nil {
		return j.cwd, j.served
	}
	return j.lease.Where()
}

// judgeBeforeStart judges a request for a child that does not run, or not with the roots
// of view, by how it would: what is not allowed so starts nothing. over: the request
// ends here.
func (s *Session) judgeBeforeStart(ctx context.Context, wait *rootsmgr.Wait, j *attempt, view *rootsmgr.View) (over bool, err error) {
	if !s.foresee(j, view) {
		return false, nil
	}
	if err := s.judge(ctx, wait, j); err != nil {
		return true, err
	}
	return j.verdict.Decision != validate.Allow, nil
}

// foresee notes how the child would run: see Instances.
func (s *Session) foresee(j *attempt, view *rootsmgr.View) (ok bool) {
	j.cwd, j.served, ok = s.Instances.Foresee(j.by, j.child, view)
	return ok
}

// lookAgain returns what a call is judged by that would be denied: what the client
// answers when it is asked once more, else the roots with those that have come
// into being meanwhile. newer is false where there is nothing else.
func (s *Session) lookAgain(ctx context.Context, wait *rootsmgr.Wait, j *attempt) (view rootsmgr.View, newer bool, err error) {
	c := s.ClientOf(ctx)
	view, newer, err = c.Reconsider(ctx, wait, j.by.Roots.Timeout)
	if err != nil || newer || !s.Roots.LookAgain(ctx, j.view, j.verdict.Refused()...) {
		view.Client = c.Claims().Name
		return view, newer, err
	}
	view, err = c.Boundary(ctx, wait)
	return view, true, err
}

// allowed reports whether a request may be sent.
func (j *attempt) allowed() bool { return j.verdict.Decision == validate.Allow && j.refusal == "" }

// decision is an attempt as it is recorded.
func (j *attempt) decision() record.Decision {
	d := record.Decision{Verdict: j.verdict, View: &j.view, Declined: j.refusal != "", Kernel: kernelWord(j.lease)}
	if j.approval != nil {
		d.By = j.approval.By()
	}
	return d
}
