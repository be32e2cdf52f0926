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
func (c *childInstance) serveRun(r *run.Run) {
	ctx, cancel := context.WithCancelCause(context.Background())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		r.Follow(ctx, c.offer)
	}()
	s := &servedRun{child: c, run: r, since: time.Now()}
	s.publishReady()
	c.settleOnce.Do(func() { close(c.settled) })
	why := s.serveUntilEnd(ctx)
	c.keepOffer()
	r.Roots.Stop()
	cancel(nil)
	<-followed
	s.wg.Wait()
	switch {
	case c.accepting.Err() != nil:
		c.endRun(r, context.Cause(c.accepting).Error())
	case why == "":
		r.Leases.Close()
		r.Stop(nil)
		c.backOff(c.unavailableError(r.Reason(), r.Facts().Stderr, r.Err()), s)
	case why == hung:
		r.Leases.Close()
		c.setState(Hung, run.ErrHung.Error())
		r.StopHung()
		c.backOff(c.unavailableError(run.ErrHung.Error(), r.Facts().Stderr, run.ErrHung), s)
		c.noteCallerWaits()
	case why == idle, why == evicted:
		c.endRun(r, why)
		c.setState(Stopped, why)
	default:
		c.log.Info().Str("reason", why).Msg("child is replaced")
		c.endRun(r, why)
		c.noteCallerWaits()
		c.setState(Waiting, why)
	}
}

const idle = "stopped after being idle; the next call starts it"

// loginDelay is the longest pause before a server that asks for a login is started again.
const loginDelay = 2 * time.Second

// backOff counts a failure and publishes it. s is the run that was ready and
// died; nil for a start that failed, which ends the wait of all callers.
func (c *childInstance) backOff(err *run.UnavailableError, s *servedRun) {
	lived := time.Duration(0)
	if s != nil {
		lived = time.Since(s.since)
	}
	c.history.failures.RecordFailure(lived)
	delay := c.history.failures.Delay(c.common.jitter())
	var refused *link.StatusError
	login := errors.As(err, &refused) && refused.Advice != ""
	if login { // a person may log in at any time, and then calls at once
		delay = min(delay, loginDelay)
	}
	c.history.next = time.Now().Add(delay)
	c.updateWanted(func(w *wantedState) bool { w.callerWaits, w.shouldRun = false, false; return false })
	why := err.Reason
	if c.history.failures.InCrashLoop() && !login {
		why = fmt.Sprintf("crash loop, %d failures in a row: %s", c.history.failures.Failures, why)
	}
	c.history.last = "failed before: " + err.Reason
	c.log.Warn().Str("reason", err.Reason).Int("failures", c.history.failures.Failures).Dur("delay", delay).Msg("child failed")
	c.publishSnapshot(func(v *instanceSnapshot) {
		v.status.State, v.status.Err, v.status.PID = BackingOff, why, 0
		v.status.Stderr, v.status.NextStart, v.status.ByItself = err.Stderr, c.history.next, c.startsByItself()
		v.status.LastFailure, v.status.FailedAt, v.status.AsksLogin = err.Reason, time.Now(), link.AsksForLogin(err)
		v.run, v.err = nil, err
		if s == nil {
			v.failed++
		}
	})
	c.settleOnce.Do(func() { close(c.settled) })
}

// endRun drains and stops a run.
func (c *childInstance) endRun(r *run.Run, why string) {
	r.Leases.Close()
	c.setState(Draining, why)
	c.drainCalls(r)
	r.Stop(errors.New(why))
	c.publishSnapshot(func(v *instanceSnapshot) { v.status.Stderr = r.Facts().Stderr })
}

// drainCalls waits until the calls under way have ended. If the instance is to start
// again, it waits drainWait at most. A retired instance, for which no one waits, has
// until its life ends.
func (c *childInstance) drainCalls(r *run.Run) {
	t := time.NewTimer(drainWait)
	defer t.Stop()
	late, retired := t.C, c.accepting.Done()
	for c.life.Err() == nil {
		select {
		case <-r.Leases.Drained():
			return
		case <-r.Ended():
			return
		case <-c.life.Done():
			return
		case <-retired:
			late, retired = nil, nil
		case <-late:
			c.log.Warn().Msg("calls are still under way in a child that must be replaced; they are ended")
			return
		}
	}
}

// serveUntilEnd serves the run until it ends or must end. It returns "" if the run has ended by itself, hung, idle or evicted if it is to be
// stopped for that, the cause if the instance ends, and else the reason for which the run is replaced.
func (s *servedRun) serveUntilEnd(ctx context.Context) string {
	c, r := s.child, s.run
	if why := s.reviewWanted(); why != "" {
		return why
	}
	s.idleTimer = time.NewTimer(time.Hour)
	defer s.idleTimer.Stop()
	keep := time.NewTimer(keepAfter)
	defer keep.Stop()
	// Where calls take as long as they like, a child counts as hung as if they might take the default.
	s.pulse = health.NewPulse(c.common.pace, cmp.Or(max(c.spec.CallTimeout, 0), spec.DefaultCallTimeout))
	defer s.pulse.Stop()
	if why := s.checkIdle(); why != "" {
		return why
	}
	for {
		why := ""
		select {
		case <-c.accepting.Done():
			return context.Cause(c.accepting).Error()
		case <-r.Ended():
			return ""
		case <-c.wantedChanged:
			if why = s.reviewWanted(); why == "" {
				why = s.checkIdle()
			}
		case u := <-r.Offers():
			c.takeOffer(u.RawOffer)
			now := r.Renewed()
			c.publishSnapshot(func(v *instanceSnapshot) { v.status.Renewed += now - s.renewalsSeen })
			s.renewalsSeen = now
			u.MarkTaken()
			c.keepOffer()
		case <-r.Roots.Written():
			why = s.followStep(r.Roots.OnAsked(c.currentWanted().WantedRoots))
		case err := <-r.Roots.Shown():
			why = s.followStep(r.Roots.OnShown(err))
		case <-r.Roots.Overdue():
			why = s.followStep(r.Roots.OnOverdue())
		case <-c.levelChanged:
			offer := c.offer
			s.wg.Go(func() { r.TellLevel(ctx, offer) })
		case <-s.idleTimer.C:
			why = s.checkIdle()
		case <-keep.C:
			c.keepOffer()
		case <-r.Timers.Slow():
			why = s.checkPulse()
		case <-s.pulse.Due():
			why = s.checkPulse()
		}
		if why != "" {
			return why
		}
	}
}

// publishReady publishes the run as one that may be called, with the roots that it
// was started with applied as far as that can be known.
func (s *servedRun) publishReady() {
	w := s.child.currentWanted()
	gen := w.Gen
	if !servedroots.Same(w.Roots, s.run.Roots.Last()) || s.child.spec.Sandbox.Confines() && gen != s.child.history.planned {
		gen = 0 // the roots, or the boundary, have changed since then; reviewWanted is called next
	}
	s.publishRoots(gen, true, "")
}

func (s *servedRun) publishRoots(gen uint64, applied bool, why string) {
	s.child.publishSnapshot(func(v *instanceSnapshot) {
		v.status.State, v.status.Err, v.status.NextStart = Ready, why, time.Time{}
		v.status.PID = s.run.Facts().PID
		v.status.AskedRoots, v.status.RootsApplied = s.run.Roots.WasAsked(), applied
		v.run, v.err, v.gen, v.served = s.run, nil, gen, program.RootPaths(s.run.Roots.Last())
	})
}

// reviewWanted compares what is wanted with what the run has, and acts. It returns
// why the run must be replaced, if it must.
func (s *servedRun) reviewWanted() (why string) {
	c := s.child
	w := c.currentWanted()
	c.updateWanted(func(now *wantedState) bool { now.callerWaits, now.shouldRun = false, false; return false })
	if !s.run.Roots.IsDue(w.WantedRoots, c.snapshot.Load().gen) {
		return ""
	}
	return s.followStep(s.run.Roots.Review(w.WantedRoots, c.rootsChange(s.run, w, c.machine)))
}

// rootsChange returns what other roots would change in how a run was started.
func (c *childInstance) rootsChange(r *run.Run, w wantedState, m launch.Machine) servedroots.Change {
	launched := r.Launch
	next, err := c.planLaunch(w, m)
	rulesChanged, staysNarrower := c.newRules(w.boundary.Barred != "", launched.Sandbox, next, err)
	if staysNarrower {
		next.Sandbox = launched.Sandbox
	}
	return servedroots.Change{
		Rules:       rulesChanged,
		SameLaunch:  err != nil || next.Same(launched),
		SamePlace:   err != nil || next.SamePlace(launched),
		SameArgs:    err == nil && slices.Equal(next.Args, launched.Args),
		Placeholder: c.spec.Program().ArgsNameRoots(),
		Rewritten:   launched.Rewrote || next.Rewrote,
		CwdGone:     launched.CwdRoot != "" && !slices.Contains(program.RootPaths(w.Roots), launched.CwdRoot),
		List:        c.spec.Roots != spec.RootsNone,
		Modern:      r.IsModern(),
	}
}

// followStep publishes what a Step says about the run's roots. It returns why the run must
// be replaced, if it must.
func (s *servedRun) followStep(step servedroots.Step) (why string) {
	switch step.News {
	case servedroots.Asked:
		s.child.publishSnapshot(func(v *instanceSnapshot) { v.status.AskedRoots = true })
	case servedroots.Announced:
		s.child.publishSnapshot(func(v *instanceSnapshot) { v.status.RootsApplied = false })
	case servedroots.Applied:
		s.publishRoots(step.Gen, true, "")
	case servedroots.Ignored:
		s.publishRoots(step.Gen, false, servedroots.IgnoredText)
	}
	if step.Again {
		return s.reviewWanted()
	}
	return step.Replace
}
