package call

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"mcphub/children"
	"mcphub/children/hints"
	"mcphub/children/run"
	"mcphub/children/sandbox"
	"mcphub/hub/approval"
	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/hub/record"
	"mcphub/hub/texts"
	"mcphub/internal/printable"
	"mcphub/rootsmgr"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// An attempt is one pass of a Call through the steps up to the verdict: what they found,
// and the right to call the child. Its steps are methods, which runSteps calls in their order. An attempt
// belongs to the goroutine that makes the Call.
type attempt struct {
	call          *Call
	client        client.Client
	conf          *configuration.Configuration
	child         string
	scan          *validate.Scan
	verdict       *validate.Verdict
	lease         *children.Lease    // nil: no child was started for the call, because the call is not allowed
	approval      *approval.Approval // what a person has approved of the call; nil: none
	whyUnapproved string             // why a call that a rule escalates was not approved
	cwd           string             // the directory in which the child would work, if there is no lease
	servedRoots   []string           // the roots that the child would serve, if there is no lease

	rootsWait     *rootsmgr.WaitBudget // bounds how long the call waits for roots; nil: roots do not matter to the verdict
	roots         rootsmgr.RootsView   // the roots that the call is judged by; zero if it did not wait for any
	mayHaveWaited bool                 // the attempt may have waited for its child: the roots are looked at again
}

// noRoots is the view by which a call without a path is judged: it has no roots. It is not changed.
var noRoots rootsmgr.RootsView

// relevantRoots returns the roots that matter to the verdict: the roots of the client, or the server's own.
func (att *attempt) relevantRoots() *rootsmgr.RootsView {
	if !att.scan.NeedsBoundary() {
		return &noRoots
	}
	if child := att.conf.Child(att.child); len(child.Roots) > 0 {
		own := att.conf.RootsViewFor(child, att.roots)
		return &own
	}
	return &att.roots
}

// maxAttempts bounds how often one call is scanned and judged, because its child
// has other definitions than were known or another process serves the session.
const maxAttempts = 4

// judgeWithRetries judges a call by the definitions of the child that would run it. The caller releases the lease. An error of
// package validate reports what is wrong with the arguments. Any other error reports why the call could not be judged.
func (call *Call) judgeWithRetries(ctx context.Context) (*attempt, error) {
	call.rootsWait = call.sender.RootsManager.NewWaitBudget()
	for n := 1; ; n++ {
		att, err := call.runAttempt(ctx)
		if err == nil || n == maxAttempts || !errors.Is(err, errScanAgain) {
			return att, err
		}
	}
}

// runAttempt scans, waits, leases and judges once. With an error, its lease was released.
func (call *Call) runAttempt(ctx context.Context) (*attempt, error) {
	att := call.spareAttempt
	if call.spareAttempt = nil; att == nil {
		att = &attempt{}
	}
	*att = attempt{call: call, client: call.sender.ClientOf(ctx), approval: call.approval, rootsWait: call.rootsWait}
	if err := att.runSteps(ctx); err != nil {
		att.lease.Release()
		return nil, err
	}
	return att, nil
}

// runSteps takes the steps, by what is known of the target.
func (att *attempt) runSteps(ctx context.Context) error {
	err := att.scanAndAwaitRoots(ctx)
	if err != nil {
		return err
	}
	refused, err := att.checkEarly(ctx)
	if err == nil && !refused {
		err = att.acquireAndJudge(ctx)
	}
	if err != nil {
		return err
	}
	return att.checkCurrent(ctx)
}

// scanAndAwaitRoots scans the arguments and, if there is anything to judge, waits for the boundary.
func (att *attempt) scanAndAwaitRoots(ctx context.Context) (err error) {
	call, s, t := att.call, att.call.sender, att.call.target
	conf, child := t.ownerChild()
	entry := conf.Child(child)
	isServed := !conf.IsDenied(child)
	byRoots := isServed && s.Instances.ByRoots(entry)
	heldToRoots := isServed && isHeldToRoots(entry, att.client)
	switch {
	case call.onFastPath && (byRoots || heldToRoots && !s.Instances.RootsAreCurrent() || mustRecheckRoots(conf, child)):
		return errWouldBlock
	case byRoots: // they choose the process, and with it what its tools are
		if err = att.awaitRoots(ctx); err == nil {
			err = t.renewTarget(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	att.mayHaveWaited = byRoots
	if att.scan, err = t.scanArguments(ctx, call); err != nil {
		return err
	}
	att.conf, att.child = t.ownerChild()
	switch {
	case !att.scan.NeedsBoundary():
		if heldToRoots && !call.onFastPath && !byRoots {
			err = att.awaitRoots(ctx)
		}
		att.rootsWait = nil
		return err
	case byRoots:
	case call.onFastPath:
		att.roots, err = s.rootsAtHand(att.client)
	default:
		att.client.NoteScan(att.scan)
		err = att.awaitRoots(ctx)
	}
	return err
}

// awaitRoots waits for the roots.
func (att *attempt) awaitRoots(ctx context.Context) (err error) {
	if keeper := serverTurnKeeperOf(ctx); keeper.hasServerTurn() && !att.client.SendsRoots() {
		if _, err := att.call.sender.rootsAtHand(att.client); err != nil {
			keeper.yieldServerTurn()
		}
	}
	att.roots, err = att.client.AwaitRoots(ctx, att.rootsWait)
	return err
}

// checkEarly takes the lease of a child that runs. If the child does not run, or runs with other
// roots, judgeUnstarted judges the call by how the child would be started. A call that is not allowed
// then starts nothing. refused: the call ends here.
func (att *attempt) checkEarly(ctx context.Context) (refused bool, err error) {
	s, spec := att.call.sender, &att.conf.Child(att.child).Spec
	if att.conf.IsDenied(att.child) { // wherever it would run
		if att.call.onFastPath {
			return false, errWouldBlock
		}
		err = att.judgeRequest(ctx)
		return err == nil && att.verdict.Decision != policy.Allow, err
	}
	if att.rootsWait != nil && att.client.BringsOtherRoots(spec) {
		if refused, err = att.judgeUnstarted(ctx, &att.roots); err != nil || refused {
			return refused, err
		}
	}
	if err = att.client.AwaitRootsBefore(ctx, spec); err != nil {
		return false, err
	}
	if att.lease = s.Instances.TryAcquire(att.conf, att.child); att.lease == nil && !att.call.onFastPath {
		att.mayHaveWaited = true
		return att.judgeUnstarted(ctx, nil)
	}
	return false, nil
}

// judgeUnstarted judges by how the child would run, with the roots of rootsView if it is set.
// refused: it would not be called.
func (att *attempt) judgeUnstarted(ctx context.Context, rootsView *rootsmgr.RootsView) (refused bool, err error) {
	if !att.planWorkplace(rootsView) {
		return false, nil
	}
	if err := att.judgeRequest(ctx); err != nil {
		return true, err
	}
	return att.verdict.Decision != policy.Allow, nil
}

// acquireAndJudge acquires the child, and judges by how it runs.
func (att *attempt) acquireAndJudge(ctx context.Context) (err error) {
	if err = att.ensureLease(ctx); err != nil {
		return err
	}
	if err = att.client.AwaitRootsAfter(att.lease); err != nil {
		return err
	}
	before := att.lease.Key()
	if err = att.judgeRequest(ctx); err == nil {
		err = att.ensureConfined(ctx)
	}
	if err != nil {
		return err
	}
	if att.lease.Key() != before {
		att.call.target.resetTarget() // asking again has moved the session to another instance
		return errUnstable
	}
	if att.mayHaveWaited && att.roots.Snapshot != nil && !att.client.SendsRoots() && att.call.rootsWait.Overtaken(att.roots) {
		return errScanAgain // the client has other roots by now
	}
	return att.confinementError()
}

// rootsAtHand returns the roots of a session that are known, and that its children have
// been given.
func (s *Sender) rootsAtHand(from client.Client) (rootsmgr.RootsView, error) {
	rootsView, ok := s.RootsManager.TryAwait()
	if !ok || from.SendsRoots() || !s.Instances.RootsAreCurrent() {
		return rootsView, errWouldBlock
	}
	rootsView.ClientName = from.Claims().Name
	return rootsView, nil
}

// judgeRequest decides. Where other roots might lift a denial, or spare a question to a person, it asks
// the client for its roots and, if they are newer, decides again. For that the child is acquired again:
// it has to apply the new roots first, and may be another process in another place.
func (att *attempt) judgeRequest(ctx context.Context) error {
	s := att.call.sender
	s.judgeAttempt(att)
	if err := att.client.CheckVerdict(att.verdict); err != nil {
		return err
	}
	if att.rootsWait == nil || !att.verdict.RootsMatter() {
		return nil
	}
	forbidAgain := att.client.AllowHubQuestions()
	serverTurnKeeperOf(ctx).yieldServerTurn()
	again, newer, err := att.refreshRoots(ctx)
	forbidAgain()
	if err != nil || !newer {
		return err
	}
	if att.lease == nil {
		att.planWorkplace(nil) // where it runs by now, as it would have been started
	} else if err = att.acquireAgain(ctx); err != nil {
		return err
	}
	att.roots = again
	s.judgeAttempt(att)
	return nil
}

// ensureConfined sees to it that the kernel holds the child of an allowed call to what is at its
// paths now: where something else has come to the place of a root, another process serves
// the call.
func (att *attempt) ensureConfined(ctx context.Context) error {
	if att.verdict.Decision != policy.Allow || !att.pathReplaced() {
		return nil
	}
	if att.call.onFastPath {
		return errWouldBlock
	}
	if err := att.acquireAgain(ctx); err != nil {
		return err
	}
	att.call.sender.judgeAttempt(att)
	return nil
}

// pathReplaced reports whether something else is at a place of the lease in which a path of the
// call lies.
func (att *attempt) pathReplaced() bool {
	for i := range att.verdict.Findings {
		for _, r := range att.verdict.Findings[i].Readings {
			if r.Target != "" && att.lease.IsPathReplaced(r.Target) {
				return true
			}
		}
	}
	return false
}

// judgeAttempt has a call judged as it stands. If there is nothing to judge in a call of
// a tool, what was decided of the first such call holds for all.
func (s *Sender) judgeAttempt(att *attempt) {
	if t, ok := att.call.target.(*toolTarget); ok && !att.scan.NeedsJudge() {
		att.verdict = t.tool.CommonDecision(att.scan).Verdict
		return
	}
	att.verdict = att.conf.Checker.Judge(att.scan, s.callContext(att), *att.relevantRoots())
}

// callContext returns what the instance that would run a request can reach, and what
// a person has opened for it.
func (s *Sender) callContext(att *attempt) validate.CallContext {
	cwd, served := att.findWorkplace()
	if files := att.relevantRoots().Snapshot.Files(); len(files) > 0 { // nothing starts from a file
		served = slices.DeleteFunc(slices.Clone(served), func(path string) bool { return slices.Contains(files, path) })
	}
	return validate.CallContext{
		Held:   att.lease.KernelState() == sandbox.Held.String(),
		NoWait: att.call.onFastPath, Cwd: cwd, Served: served, Grants: s.Approvals.Grants(&att.conf.Child(att.child).Spec, att.approval), Approved: att.approval.Rule(),
	}
}

// checkCurrent returns nil if the attempt was judged by the policy in force. What waited, for
// roots, for its child or for a person, and was overtaken by a reload meanwhile has
// to start again: its error is ErrSuperseded.
func (att *attempt) checkCurrent(ctx context.Context) error {
	switch {
	case att.call.sender.Current.InForce() == att.conf:
		return nil
	case att.call.onFastPath:
		return errWouldBlock
	}
	select {
	case <-att.conf.Replaced(): // every session goes by the other one
	case <-ctx.Done():
	}
	return configuration.ErrSuperseded
}

// ensureLease gets the right to call the child, if it is not there yet. It also returns the error of
// callTarget.checkDefinition.
func (att *attempt) ensureLease(ctx context.Context) (err error) {
	call := att.call
	if att.lease != nil && mustRecheckRoots(call.target.ownerChild()) && att.lease.HasReplacedPaths() {
		att.lease.Release()
		att.lease = nil
	}
	if att.lease == nil {
		if call.onFastPath {
			return errWouldBlock
		}
		conf, child := call.target.ownerChild()
		if att.lease, err = call.sender.Acquire(ctx, conf, child); err != nil {
			return err
		}
	}
	return call.target.checkDefinition(call, att.lease)
}

// acquireAgain gives the lease back and acquires another one.
func (att *attempt) acquireAgain(ctx context.Context) error {
	att.lease.Release()
	att.lease = nil
	return att.ensureLease(ctx)
}

// findCurrentTool finds a tool as the instance has it that serves the session now: the
// session may have moved since its name was looked up.
func (s *Sender) findCurrentTool(ctx context.Context, tool offering.Tool) (offering.Tool, error) {
	if s.Instances.AwaitsList(tool.Child) {
		s.awaitStart(ctx, []string{tool.Child})
		if err := context.Cause(ctx); err != nil {
			return offering.Tool{}, err
		}
	}
	if now := s.Offering.Catalog().OfChild(tool.Child, tool.OwnName); now.Tool != nil {
		return now, nil
	}
	if s.Current.IsSuperseded(tool.Conf, tool.Child) {
		return offering.Tool{}, configuration.ErrSuperseded
	}
	if t := s.unlistedTool(tool.Child, tool.OwnName); t.Tool != nil {
		return t, nil
	}
	return offering.Tool{}, &run.UnavailableError{Child: tool.Child, Reason: "the process that serves the new roots has no tool " + strconv.Quote(printable.Escape(tool.OwnName, 100))}
}

// findWorkplace returns the working directory and the roots of the child that would run the request.
func (att *attempt) findWorkplace() (cwd string, served []string) {
	if att.lease == nil {
		return att.cwd, att.servedRoots
	}
	return att.lease.Workplace()
}

// planWorkplace remembers the working directory and the roots of a child that would run: see Instances.
func (att *attempt) planWorkplace(rootsView *rootsmgr.RootsView) (ok bool) {
	att.cwd, att.servedRoots, ok = att.call.sender.Instances.Plan(att.conf, att.child, rootsView)
	return ok
}

// refreshRoots returns what a call is judged by that would be denied: what the client
// answers when it is asked again, else the roots with the ones that have come into
// being meanwhile. newer is false if there is nothing else.
func (att *attempt) refreshRoots(ctx context.Context) (rootsView rootsmgr.RootsView, newer bool, err error) {
	rootsView, newer, err = att.client.Reconsider(ctx, att.rootsWait, att.conf.Roots.Timeout)
	if err != nil || newer || !att.call.sender.RootsManager.LookAgain(ctx, att.roots, att.verdict.Refused()...) {
		rootsView.ClientName = att.client.Claims().Name
		return rootsView, newer, err
	}
	rootsView, err = att.client.AwaitRoots(ctx, att.rootsWait)
	return rootsView, true, err
}

// isAllowed reports whether a request may be sent.
func (att *attempt) isAllowed() bool {
	return att.verdict.Decision == policy.Allow && att.whyUnapproved == ""
}

// recordedDecision returns an attempt as it is recorded.
func (att *attempt) recordedDecision() record.Decision {
	d := record.Decision{Verdict: att.verdict, RootsView: att.relevantRoots(), Declined: att.whyUnapproved != "", Kernel: att.lease.KernelState(), Protocol: att.lease.Protocol()}
	if att.approval != nil {
		d.By = att.approval.By()
		d.Approver = att.call.sender.approverName(d.By)
	}
	return d
}

// denialText returns the text for a call that was denied, or not approved.
func (att *attempt) denialText(argumentsPointer string) string {
	if att.whyUnapproved != "" {
		return texts.Unapproved(att.verdict, argumentsPointer, att.whyUnapproved)
	}
	return texts.Denied(att.verdict, argumentsPointer, att.entryName())
}

// entryName returns the path that the entry of the child names and that the denied one is or lies in; "" for none. Only the user of
// this machine learns what hub.json names.
func (att *attempt) entryName() string {
	c, denied := att.conf.Child(att.child), att.verdict.Deciding
	if c == nil || !att.call.sender.Principal.Local || c.Spec.URL != "" || denied == nil || denied.Target == "" {
		return ""
	}
	name, _ := c.Spec.Program().NameOf(denied.Target, att.conf.Home)
	return name
}

// isHeldToRoots reports whether every call of a child has to wait for the roots that the
// client has announced, one without a path too: the kernel holds the child to them.
func isHeldToRoots(c *configuration.Child, from client.Client) bool {
	return c.Spec.Sandbox.Confines() && !from.SendsRoots()
}

// mustRecheckRoots reports whether every call of a child has to look whether its roots are
// still what the kernel holds it to: it is not known which of them the call touches.
func mustRecheckRoots(conf *configuration.Configuration, child string) bool {
	return conf.Child(child).Spec.Sandbox.Confines() && !conf.Checker.SearchesChild(child)
}

// confinementError returns an error if the call is allowed but the kernel does not open its paths to the
// running server, and the entry states that the server is not restarted for that.
func (att *attempt) confinementError() error {
	if att.lease == nil || !att.lease.KeepsRunning() || att.verdict.Decision != policy.Allow {
		return nil
	}
	for i := range att.verdict.Findings {
		f := &att.verdict.Findings[i]
		if f.Target == "" || att.lease.OpensPath(f.Target, configuration.AccessOf(policy.Roles(f.Role))) {
			continue
		}
		if att.call.onFastPath { // it is recorded
			return errWouldBlock
		}
		told := sandbox.Refusal{Path: f.Target, Access: configuration.AccessOf(policy.Roles(f.Role)), By: sandbox.ByCall, KeepsRunning: true}
		_, dirs := att.lease.Workplace()
		att.call.sender.Records.RecordKernelRefusal(att.call.target.recordSubject(), told, dirs)
		return &run.UnavailableError{Child: att.child, Reason: hints.Text(told)}
	}
	return nil
}
