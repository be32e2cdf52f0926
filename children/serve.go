package children

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcphub/children/health"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/program"
	"mcphub/children/run"
	"mcphub/children/servedroots"
	"mcphub/children/spec"
)

// servedRun is one run while it is Ready, seen from the instance's goroutine.
type servedRun struct {
	child *childInstance
	run   *run.Run
	since time.Time // it is ready
	// idleTimer goes off when it is time to look whether the run is idle.
	idleTimer    *time.Timer
	wg           sync.WaitGroup // goroutines that send to the child
	renewalsSeen uint64         // the renewals of the session with a remote child that are in Status.Renewed already
	pulse        health.Pulse
	before       string // what Status.Err said before it was shown as hung
}

// serveRun keeps one run going until it ends, is replaced, idles or its
// instance's life ends. It returns when no part of the run is left.
func (child *childInstance) serveRun(r *run.Run) {
	ctx, cancel := context.WithCancelCause(context.Background())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		r.Follow(ctx, child.offer)
	}()
	served := &servedRun{child: child, run: r, since: time.Now()}
	served.publishReady()
	child.settleOnce.Do(func() { close(child.settled) })
	why := served.serveUntilEnd(ctx)
	child.keepOffer()
	r.Roots.Stop()
	cancel(nil)
	<-followed
	served.wg.Wait()
	switch {
	case child.accepting.Err() != nil:
		child.endRun(r, context.Cause(child.accepting).Error())
	case why == "":
		r.Leases.Close()
		r.Stop(nil)
		child.backOff(child.unavailableError(r.Reason(), r.Facts().Stderr, r.Err()), served)
	case why == hung:
		r.Leases.Close()
		child.setState(Hung, run.ErrHung.Error())
		r.StopHung()
		child.backOff(child.unavailableError(run.ErrHung.Error(), r.Facts().Stderr, run.ErrHung), served)
		child.noteCallerWaits()
	case why == idle, why == evicted:
		child.endRun(r, why)
		child.setState(Stopped, why)
	default:
		child.log.Info().Str("reason", why).Msg("child is replaced")
		child.endRun(r, why)
		child.noteCallerWaits()
		child.setState(Waiting, why)
	}
}

const idle = "stopped after being idle; the next call starts it"

// loginDelay is the longest pause before a server that asks for a login is started again.
const loginDelay = 2 * time.Second

// backOff counts a failure and publishes it. served is the run that was ready and
// died; nil for a start that failed, which ends the wait of all callers.
func (child *childInstance) backOff(err *run.UnavailableError, served *servedRun) {
	lived := time.Duration(0)
	if served != nil {
		lived = time.Since(served.since)
	}
	child.history.failures.RecordFailure(lived)
	delay := child.history.failures.Delay(child.common.jitter())
	var refused *link.StatusError
	login := errors.As(err, &refused) && refused.Advice != ""
	if login { // a person may log in at any time, and then calls at once
		delay = min(delay, loginDelay)
	}
	child.history.nextStart = time.Now().Add(delay)
	child.updateWanted(func(w *wantedState) bool { w.callerWaits, w.shouldRun = false, false; return false })
	why := err.Reason
	if child.history.failures.InCrashLoop() && !login {
		why = fmt.Sprintf("crash loop, %d failures in a row: %s", child.history.failures.Failures, why)
	}
	child.history.lastFailure = "failed before: " + err.Reason
	child.log.Warn().Str("reason", err.Reason).Int("failures", child.history.failures.Failures).Dur("delay", delay).Msg("child failed")
	child.publishSnapshot(func(v *instanceSnapshot) {
		v.status.State, v.status.Err, v.status.PID = BackingOff, why, 0
		v.status.Stderr, v.status.NextStart, v.status.ByItself = err.Stderr, child.history.nextStart, child.startsByItself()
		v.status.LastFailure, v.status.FailedAt, v.status.AsksLogin = err.Reason, time.Now(), link.AsksForLogin(err)
		v.run, v.err = nil, err
		if served == nil {
			v.failed++
		}
	})
	child.settleOnce.Do(func() { close(child.settled) })
}

// endRun drains and stops a run.
func (child *childInstance) endRun(r *run.Run, why string) {
	r.Leases.Close()
	child.setState(Draining, why)
	child.drainCalls(r)
	r.Stop(errors.New(why))
	child.publishSnapshot(func(v *instanceSnapshot) { v.status.Stderr = r.Facts().Stderr })
}

// drainCalls waits until the calls under way have ended. If the instance is to start
// again, it waits drainWait at most. A retired instance, for which no one waits, has
// until its life ends.
func (child *childInstance) drainCalls(r *run.Run) {
	t := time.NewTimer(drainWait)
	defer t.Stop()
	late, retired := t.C, child.accepting.Done()
	for child.life.Err() == nil {
		select {
		case <-r.Leases.Drained():
			return
		case <-r.Ended():
			return
		case <-child.life.Done():
			return
		case <-retired:
			late, retired = nil, nil
		case <-late:
			child.log.Warn().Msg("calls are still under way in a child that must be replaced; they are ended")
			return
		}
	}
}

// serveUntilEnd serves the run until it ends or must end. It returns "" if the run has ended by itself, hung, idle or evicted if it is to be
// stopped for that, the cause if the instance ends, and else the reason for which the run is replaced.
func (served *servedRun) serveUntilEnd(ctx context.Context) string {
	child, r := served.child, served.run
	if why := served.reviewWanted(); why != "" {
		return why
	}
	served.idleTimer = time.NewTimer(time.Hour)
	defer served.idleTimer.Stop()
	keep := time.NewTimer(keepAfter)
	defer keep.Stop()
	// Where calls take as long as they like, a child counts as hung as if they might take the default.
	served.pulse = health.NewPulse(child.common.pace, cmp.Or(max(child.spec.CallTimeout, 0), spec.DefaultCallTimeout))
	defer served.pulse.Stop()
	if why := served.checkIdle(); why != "" {
		return why
	}
	for {
		why := ""
		select {
		case <-child.accepting.Done():
			return context.Cause(child.accepting).Error()
		case <-r.Ended():
			return ""
		case <-child.wantedChanged:
			if why = served.reviewWanted(); why == "" {
				why = served.checkIdle()
			}
		case u := <-r.Offers():
			child.takeOffer(u.RawOffer)
			now := r.Renewed()
			child.publishSnapshot(func(v *instanceSnapshot) { v.status.Renewed += now - served.renewalsSeen })
			served.renewalsSeen = now
			u.MarkTaken()
			child.keepOffer()
		case <-r.Roots.Written():
			why = served.followStep(r.Roots.OnAsked(child.currentWanted().WantedRoots))
		case err := <-r.Roots.Shown():
			why = served.followStep(r.Roots.OnShown(err))
		case <-r.Roots.Overdue():
			why = served.followStep(r.Roots.OnOverdue())
		case <-child.levelChanged:
			offer := child.offer
			served.wg.Go(func() { r.TellLevel(ctx, offer) })
		case <-served.idleTimer.C:
			why = served.checkIdle()
		case <-keep.C:
			child.keepOffer()
		case <-r.Timers.Slow():
			why = served.checkPulse()
		case <-served.pulse.Due():
			why = served.checkPulse()
		}
		if why != "" {
			return why
		}
	}
}

// publishReady publishes the run as one that may be called, with the roots that it
// was started with applied as far as that can be known.
func (served *servedRun) publishReady() {
	w := served.child.currentWanted()
	gen := w.Gen
	if !servedroots.Same(w.Roots, served.run.Roots.Last()) || served.child.spec.Sandbox.Confines() && gen != served.child.history.plannedGen {
		gen = 0 // the roots, or the boundary, have changed since then; reviewWanted is called next
	}
	served.publishRoots(gen, true, "")
}

func (served *servedRun) publishRoots(gen uint64, applied bool, why string) {
	served.child.publishSnapshot(func(v *instanceSnapshot) {
		v.status.State, v.status.Err, v.status.NextStart = Ready, why, time.Time{}
		v.status.PID = served.run.Facts().PID
		v.status.AskedRoots, v.status.RootsApplied = served.run.Roots.WasAsked(), applied
		v.run, v.err, v.gen, v.served = served.run, nil, gen, program.RootPaths(served.run.Roots.Last())
	})
}

// reviewWanted compares what is wanted with what the run has, and acts. It returns
// why the run must be replaced, if it must.
func (served *servedRun) reviewWanted() (why string) {
	child := served.child
	w := child.currentWanted()
	child.updateWanted(func(now *wantedState) bool { now.callerWaits, now.shouldRun = false, false; return false })
	if !served.run.Roots.IsDue(w.WantedRoots, child.snapshot.Load().gen) {
		return ""
	}
	return served.followStep(served.run.Roots.Review(w.WantedRoots, child.rootsChange(served.run, w, child.machine)))
}

// rootsChange returns what other roots would change in how a run was started.
func (child *childInstance) rootsChange(r *run.Run, w wantedState, m launch.Machine) servedroots.Change {
	launched := r.Launch
	next, err := child.planLaunch(w, m)
	rulesChanged, staysNarrower := child.compareRules(w.boundary.Barred != "", launched.Sandbox, next, err)
	if staysNarrower {
		next.Sandbox = launched.Sandbox
	}
	return servedroots.Change{
		Rules:       rulesChanged,
		SameLaunch:  err != nil || next.Same(launched),
		SamePlace:   err != nil || next.SamePlace(launched),
		SameArgs:    err == nil && slices.Equal(next.Args, launched.Args),
		Placeholder: child.spec.Program().ArgsNameRoots(),
		Rewritten:   launched.Rewrote || next.Rewrote,
		CwdGone:     launched.CwdRoot != "" && !slices.Contains(program.RootPaths(w.Roots), launched.CwdRoot),
		List:        child.spec.Roots != spec.RootsNone,
		Modern:      r.IsModern(),
	}
}

// followStep publishes what a Step says about the run's roots. It returns why the run must
// be replaced, if it must.
func (served *servedRun) followStep(step servedroots.Step) (why string) {
	switch step.News {
	case servedroots.Asked:
		served.child.publishSnapshot(func(v *instanceSnapshot) { v.status.AskedRoots = true })
	case servedroots.Announced:
		served.child.publishSnapshot(func(v *instanceSnapshot) { v.status.RootsApplied = false })
	case servedroots.Applied:
		served.publishRoots(step.Gen, true, "")
	case servedroots.Ignored:
		served.publishRoots(step.Gen, false, servedroots.IgnoredText)
	}
	if step.Again {
		return served.reviewWanted()
	}
	return step.Replace
}
