package call

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"mcphub/children"
	"mcphub/children/run"
	"mcphub/hub/approval"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/hub/record"
	"mcphub/internal/printable"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// An attempt is one pass of a Call through the steps up to the verdict: what they found,
// and the right to call the child. Its steps are methods, run calls them in their order, and
// it belongs to the goroutine that makes the Call.
type attempt struct {
	call     *Call
	from     Client
	by       *configuration.Configuration
	child    string
	scan     *validate.Scan
	verdict  *validate.Verdict
	lease    *children.Lease    // nil: nothing was started for it, and it is not allowed
	approval *approval.Approval // a person's, of it; nil: none
	refusal  string             // why a call that a rule escalates was not approved
	cwd      string             // without a lease, where the child would work
	served   []string           // and with which roots

	wait    *rootsmgr.Wait // for roots; nil: they do not matter to the verdict
	roots   rootsmgr.View  // as they are known to the call; zero where none were waited for
	started bool           // its child may have been waited for, while the roots changed
}

// noRoots are those that a call without a path is judged by. It is not changed.
var noRoots rootsmgr.View

// judgedBy are the roots that matter to the verdict.
func (j *attempt) judgedBy() *rootsmgr.View {
	if j.scan.NeedsBoundary() {
		return &j.roots
	}
	return &noRoots
}

// mostAttempts bounds how often one call is scanned and judged, because its child
// has other definitions than were known or another process serves the session.
const mostAttempts = 4

// prepare judges a call as the child that would run it has its target now. The
// caller releases the lease. An error of validate is what is wrong with the
// arguments; others say why the call could not be judged or made.
func (c *Call) prepare(ctx context.Context) (*attempt, error) {
	c.wait = c.session.Roots.NewWait()
	for n := 1; ; n++ {
		j, err := c.try(ctx)
		if err == nil || n == mostAttempts || !errors.Is(err, errAnew) {
			return j, err
		}
	}
}

// try makes one attempt. With an error, its lease was released.
func (c *Call) try(ctx context.Context) (*attempt, error) {
	j := c.spare
	if c.spare = nil; j == nil {
		j = &attempt{}
	}
	*j = attempt{call: c, from: c.session.ClientOf(ctx), approval: c.approval, wait: c.wait}
	if err := j.run(ctx); err != nil {
		j.lease.Release()
		return nil, err
	}
	return j, nil
}

// run takes the steps, by what is known of the target.
func (j *attempt) run(ctx context.Context) error {
	err := j.find(ctx)
	if err != nil {
		return err
	}
	over, err := j.preview(ctx)
	if err == nil && !over {
		err = j.decide(ctx)
	}
	if err != nil {
		return err
	}
	return j.upToDate(ctx)
}

// find scans the arguments and, where there is anything to judge, waits for the boundary.
func (j *attempt) find(ctx context.Context) (err error) {
	c, s, t := j.call, j.call.session, j.call.target
	g, child := t.owner()
	conf := g.Child(child)
	byRoots := s.Instances.ByRoots(conf)
	held := heldToRoots(conf, j.from)
	switch {
	case c.nowait && (byRoots || held && !s.Instances.RootsAreCurrent() || looksFirst(g, child)):
		return errWouldBlock
	case byRoots: // they choose the process, and with it what its tools are
		if err = j.boundary(ctx); err == nil {
			err = t.renew(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	j.started = byRoots
	if j.scan, err = t.scan(ctx, c); err != nil {
		return err
	}
	j.by, j.child = t.owner()
	switch {
	case !j.scan.NeedsBoundary():
		if held && !c.nowait && !byRoots {
			err = j.boundary(ctx)
		}
		j.wait = nil
		return err
	case byRoots:
	case c.nowait:
		j.roots, err = s.rootsAtHand(j.from)
	default:
		j.from.Scanned(j.scan)
		err = j.boundary(ctx)
	}
	return err
}

// boundary waits for the roots.
func (j *attempt) boundary(ctx context.Context) (err error) {
	j.roots, err = j.from.Boundary(ctx, j.wait)
	return err
}

// preview judges a call of a child that does not run, or not with the roots of the call, by
// how it would: what is not allowed so starts nothing. over: the call ends here.
func (j *attempt) preview(ctx context.Context) (over bool, err error) {
	s, spec := j.call.session, &j.by.Child(j.child).Spec
	if j.wait != nil && j.from.BringsOtherRoots(spec) {
		if over, err = j.judgeUnstarted(ctx, &j.roots); err != nil || over {
			return over, err
		}
	}
	if err = j.from.RootsBefore(ctx, spec); err != nil {
		return false, err
	}
	if j.lease = s.Instances.Ready(j.by, j.child); j.lease == nil && !j.call.nowait {
		j.started = true
		return j.judgeUnstarted(ctx, nil)
	}
	return false, nil
}

// judgeUnstarted judges by how the child would run, with the roots of view where it is set.
// over: it would not be called.
func (j *attempt) judgeUnstarted(ctx context.Context, view *rootsmgr.View) (over bool, err error) {
	if !j.locate(view) {
		return false, nil
	}
	if err := j.judge(ctx); err != nil {
		return true, err
	}
	return j.verdict.Decision != policy.Allow, nil
}

// decide acquires the child, and judges by how it runs.
func (j *attempt) decide(ctx context.Context) (err error) {
	if err = j.acquire(ctx); err != nil {
		return err
	}
	if err = j.from.RootsAfter(j.lease); err != nil {
		return err
	}
	before := j.lease.Key()
	if err = j.judge(ctx); err == nil {
		err = j.heldThere(ctx)
	}
	if err != nil {
		return err
	}
	if j.lease.Key() != before {
		j.call.target.reset() // asking again has moved the session to another instance
		return errRestless
	}
	if j.started && j.roots.Snapshot != nil && !j.from.SendsRoots() && j.call.wait.Overtaken(j.roots) {
		return errAnew // the client has other roots by now
	}
	return j.tooNarrow()
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
func (j *attempt) judge(ctx context.Context) error {
	s := j.call.session
	s.judgeOnce(j)
	if err := j.from.Judged(j.verdict); err != nil {
		return err
	}
	if j.wait == nil || !j.verdict.RootsMatter() {
		return nil
	}
	back := j.from.Lend()
	again, newer, err := j.lookAgain(ctx)
	back()
	if err != nil || !newer {
		return err
	}
	if j.lease == nil {
		j.locate(nil) // where it runs by now, as it would have been started
	} else if err = j.acquireAgain(ctx); err != nil {
		return err
	}
	j.roots = again
	s.judgeOnce(j)
	return nil
}

// heldThere sees to it that the kernel holds the child of an allowed call to what is at its
// paths now: where something else has come to the place of a root, another process serves
// the call.
func (j *attempt) heldThere(ctx context.Context) error {
	if j.verdict.Decision != policy.Allow || !j.movedAt() {
		return nil
	}
	if j.call.nowait {
		return errWouldBlock
	}
	if err := j.acquireAgain(ctx); err != nil {
		return err
	}
	j.call.session.judgeOnce(j)
	return nil
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
	if t, ok := j.call.target.(*toolTarget); ok && !j.scan.NeedsJudge() {
		j.verdict = t.tool.Plain(j.scan).Verdict
		return
	}
	j.verdict = j.by.Checker.Judge(j.scan, s.where(j), *j.judgedBy())
}

// where tells what the instance that would run a request can reach, and what a
// person has opened for it.
func (s *Session) where(j *attempt) validate.Where {
	cwd, served := j.workplace()
	if files := j.judgedBy().Snapshot.Files(); len(files) > 0 { // nothing starts from a file
		served = slices.DeleteFunc(slices.Clone(served), func(path string) bool { return slices.Contains(files, path) })
	}
	return validate.Where{
		AtHand: j.call.nowait, Cwd: cwd, Served: served, Grants: s.Approvals.Grants(&j.by.Child(j.child).Spec, j.approval), Approved: j.approval.Rule(),
	}
}

// upToDate reports whether it was judged by the policy in force. What waited, for
// roots, for its child or for a person, and was overtaken by a reload meanwhile has
// to start again: its error is ErrSuperseded.
func (j *attempt) upToDate(ctx context.Context) error {
	switch {
	case j.call.session.Current.Now() == j.by:
		return nil
	case j.call.nowait:
		return errWouldBlock
	}
	select {
	case <-j.by.Replaced(): // every session goes by the other one
	case <-ctx.Done():
	}
	return configuration.ErrSuperseded
}

// acquire gets the right to call the child, where it is not there yet. What fits says of
// the child is its error too.
func (j *attempt) acquire(ctx context.Context) (err error) {
	c := j.call
	if j.lease != nil && looksFirst(c.target.owner()) && j.lease.Moved() {
		j.lease.Release()
		j.lease = nil
	}
	if j.lease == nil {
		if c.nowait {
			return errWouldBlock
		}
		g, child := c.target.owner()
		if j.lease, err = c.session.Acquire(ctx, g, child); err != nil {
			return err
		}
	}
	return c.target.fits(c, j.lease)
}

// acquireAgain is acquire by another lease.
func (j *attempt) acquireAgain(ctx context.Context) error {
	j.lease.Release()
	j.lease = nil
	return j.acquire(ctx)
}

// toolNow finds a tool as the instance has it that serves the session now: the
// session may have moved since its name was looked up.
func (s *Session) toolNow(ctx context.Context, tool offering.Tool) (offering.Tool, error) {
	if s.Instances.Moved(tool.Child) {
		s.awaitStart(ctx, []string{tool.Child})
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
	return offering.Tool{}, &run.UnavailableError{Child: tool.Child, Reason: "the process that serves the new roots has no tool " + strconv.Quote(printable.Escape(tool.Remote, 100))}
}

// workplace is where the child works that would run the request, and with which roots.
func (j *attempt) workplace() (cwd string, served []string) {
	if j.lease == nil {
		return j.cwd, j.served
	}
	return j.lease.Where()
}

// locate notes where the child would run, and with which roots: see Instances.
func (j *attempt) locate(view *rootsmgr.View) (ok bool) {
	j.cwd, j.served, ok = j.call.session.Instances.Preview(j.by, j.child, view)
	return ok
}

// lookAgain returns what a call is judged by that would be denied: what the client
// answers when it is asked once more, else the roots with those that have come
// into being meanwhile. newer is false where there is nothing else.
func (j *attempt) lookAgain(ctx context.Context) (view rootsmgr.View, newer bool, err error) {
	view, newer, err = j.from.Reconsider(ctx, j.wait, j.by.Roots.Timeout)
	if err != nil || newer || !j.call.session.Roots.LookAgain(ctx, j.roots, j.verdict.Refused()...) {
		view.Client = j.from.Claims().Name
		return view, newer, err
	}
	view, err = j.from.Boundary(ctx, j.wait)
	return view, true, err
}

// allowed reports whether a request may be sent.
func (j *attempt) allowed() bool { return j.verdict.Decision == policy.Allow && j.refusal == "" }

// decision is an attempt as it is recorded.
func (j *attempt) decision() record.Decision {
	d := record.Decision{Verdict: j.verdict, View: j.judgedBy(), Declined: j.refusal != "", Kernel: j.lease.KernelState()}
	if j.approval != nil {
		d.By = j.approval.By()
	}
	return d
}
