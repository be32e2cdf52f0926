package children

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"mcphub/children/health"
	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/run"
	"mcphub/children/servedroots"
	"mcphub/children/spec"
)

// serving is one run while it is Ready, seen from the instance's goroutine.
type serving struct {
	c     *child
	r     *run.Run
	since time.Time // it is ready
	// idleTimer goes off when it is time to look whether the run is idle.
	idleTimer *time.Timer
	wg        sync.WaitGroup // goroutines that send to the child
	sessions  uint64         // started again and told of
	pulse     health.Pulse
	before    string // what Status.Err said before it was shown as hung
}

// serve keeps one run going until it ends, is replaced, idles or its
// instance's life ends. It returns when nothing of the run is left.
func (c *child) serve(r *run.Run) {
	ctx, cancel := context.WithCancelCause(context.Background())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		r.Follow(ctx, c.offer)
	}()
	s := &serving{c: c, r: r, since: time.Now()}
	s.ready()
	c.settle.Do(func() { close(c.settled) })
	why := s.loop(ctx)
	c.keep()
	r.Roots.Stop()
	cancel(nil)
	<-followed
	s.wg.Wait()
	switch {
	case c.ctx.Err() != nil:
		c.end(r, context.Cause(c.ctx).Error())
	case why == "":
		r.Leases.Close()
		r.Stop(nil)
		c.backOff(c.unavailable(r.Reason(), r.Facts().Stderr, r.Err()), s)
	case why == hung:
		r.Leases.Close()
		c.setState(Hung, run.ErrHung.Error())
		r.StopHung()
		c.backOff(c.unavailable(run.ErrHung.Error(), r.Facts().Stderr, run.ErrHung), s)
		c.demand()
	case why == idle, why == evicted:
		c.end(r, why)
		c.setState(Stopped, why)
	default:
		c.log.Info().Str("reason", why).Msg("child is replaced")
		c.end(r, why)
		c.demand()
		c.setState(Waiting, why)
	}
}

const idle = "stopped after being idle; the next call starts it"

// end drains and stops a run.
func (c *child) end(r *run.Run, why string) {
	r.Leases.Close()
	c.setState(Draining, why)
	c.drain(r)
	r.Stop(errors.New(why))
	c.publish(func(v *view) { v.status.Stderr = r.Facts().Stderr })
}

// drain waits until the calls under way have ended. If the instance is to start
// again, it waits drainWait at most. A retired instance, for which nobody waits, has
// until its life ends.
func (c *child) drain(r *run.Run) {
	t := time.NewTimer(drainWait)
	defer t.Stop()
	late, retired := t.C, c.ctx.Done()
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

// loop returns why the run must end: "" when it has ended by itself.
func (s *serving) loop(ctx context.Context) string {
	c, r := s.c, s.r
	if why := s.review(); why != "" {
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
		case <-c.ctx.Done():
			return context.Cause(c.ctx).Error()
		case <-r.Ended():
			return ""
		case <-c.kick:
			if why = s.review(); why == "" {
				why = s.checkIdle()
			}
		case u := <-r.Offers():
			c.offers(u.Offer)
			now := r.Renewed()
			c.publish(func(v *view) { v.status.Renewed += now - s.sessions })
			s.sessions = now
			u.Taken()
			c.keep()
		case <-r.Roots.Written():
			why = s.follow(r.Roots.OnAsked(c.wanted().Wanted))
		case err := <-r.Roots.Shown():
			why = s.follow(r.Roots.OnShown(err))
		case <-r.Roots.Overdue():
			why = s.follow(r.Roots.OnOverdue())
		case <-c.relevel:
			offer := c.offer
			s.wg.Go(func() { r.TellLevel(ctx, offer) })
		case <-s.idleTimer.C:
			why = s.checkIdle()
		case <-keep.C:
			c.keep()
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

// ready publishes the run as one that may be called, with the roots that it
// was started with applied as far as that can be known.
func (s *serving) ready() {
	w := s.c.wanted()
	gen := w.Gen
	if !servedroots.Same(w.Roots, s.r.Roots.Last()) || s.c.spec.Sandbox.Confines() && gen != s.c.history.planned {
		gen = 0 // the roots, or the boundary, have changed since then; review is called next
	}
	s.publish(gen, true, "")
}

func (s *serving) publish(gen uint64, applied bool, why string) {
	s.c.publish(func(v *view) {
		v.status.State, v.status.Err, v.status.NextStart = Ready, why, time.Time{}
		v.status.PID = s.r.Facts().PID
		v.status.AskedRoots, v.status.RootsApplied = s.r.Roots.Asked(), applied
		v.run, v.err, v.gen, v.served = s.r, nil, gen, program.RootPaths(s.r.Roots.Last())
	})
}

// review compares what is wanted with what the run has, and acts. It returns
// why the run must be replaced, if it must.
func (s *serving) review() (why string) {
	c := s.c
	w := c.wanted()
	c.updateWanted(func(now *want) bool { now.demand, now.wish = false, false; return false })
	if !s.r.Roots.Due(w.Wanted, c.view.Load().gen) {
		return ""
	}
	return s.follow(s.r.Roots.Review(w.Wanted, c.rootsChange(s.r, w, c.machine)))
}

// rootsChange is what other roots would change in how a run was started.
func (c *child) rootsChange(r *run.Run, w want, m launch.Machine) servedroots.Change {
	was := r.Launch
	next, err := c.plan(w, m)
	rules, beyond := c.newRules(w.boundary.Barred != "", was.Sandbox, next, err)
	if beyond {
		next.Sandbox = was.Sandbox
	}
	return servedroots.Change{
		Rules:       rules,
		SameLaunch:  err != nil || next.Same(was),
		SamePlace:   err != nil || next.SamePlace(was),
		SameArgs:    err == nil && slices.Equal(next.Args, was.Args),
		Placeholder: c.spec.Program().ArgsNameRoots(),
		Rewritten:   was.Rewrote || next.Rewrote,
		CwdGone:     was.CwdRoot != "" && !slices.Contains(program.RootPaths(w.Roots), was.CwdRoot),
		List:        c.spec.Roots != spec.RootsNone,
		Modern:      r.Modern(),
	}
}

// follow publishes what a Step says about the run's roots. It returns why the run must
// be replaced, if it must.
func (s *serving) follow(step servedroots.Step) (why string) {
	switch step.News {
	case servedroots.Asked:
		s.c.publish(func(v *view) { v.status.AskedRoots = true })
	case servedroots.Announced:
		s.c.publish(func(v *view) { v.status.RootsApplied = false })
	case servedroots.Applied:
		s.publish(step.Gen, true, "")
	case servedroots.Ignored:
		s.publish(step.Gen, false, servedroots.IgnoredText)
	}
	if step.Again {
		return s.review()
	}
	return step.Replace
}
