package children

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"mcphub/children/health"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/served"
	"mcphub/rootsmgr"
)

// applying is a change of roots that a run has been told of and has not yet
// applied. It belongs to the instance's goroutine.
type applying struct {
	gen   uint64
	roots []rootsmgr.Root
	bound *time.Timer
	shown chan error // result of the probe; nil until it runs
	// again: other roots are wanted by now. The child is told of them once it has
	// applied these, for a server that applies two answers at a time may end with
	// the older of them.
	again bool
	// untold: it was not told, for it was asking already: that answer has these
	// roots, or it is told after it.
	untold bool
	ctx    context.Context
	cancel context.CancelFunc
}

func (a *applying) stop() {
	if a != nil {
		a.bound.Stop()
		a.cancel()
	}
}

// serving is one run while it is Ready, seen from the instance's goroutine.
type serving struct {
	c *child
	r *run
	a *applying // nil when nothing is being applied
	// rest goes off when it is time to look whether the run is idle.
	idleTimer *time.Timer
	wg        sync.WaitGroup // goroutines that send to the child for a
	sessions  uint64         // started again and told of
	// deaf: it did not ask again in time after the last notification. It is
	// still told, but no call waits for it any more until it asks.
	deaf   bool
	pulse  health.Pulse
	before string // what Status.Err said before it was shown as hung
}

// serve keeps one run going until it ends, is replaced, idles or its
// instance's life ends. It returns when nothing of the run is left.
func (c *child) serve(r *run) {
	ctx, cancel := context.WithCancelCause(context.Background())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		r.follow(ctx, c.offer)
	}()
	s := &serving{c: c, r: r}
	r.since = time.Now()
	s.ready()
	offer := c.offer
	s.wg.Go(func() { r.level.tell(ctx, r.way(), offer) }) // who changed it meanwhile could not call yet
	c.keep()
	c.settle.Do(func() { close(c.settled) })
	why := s.loop()
	s.a.stop()
	cancel(nil)
	<-followed
	s.wg.Wait()
	switch {
	case c.ctx.Err() != nil:
		c.end(r, context.Cause(c.ctx).Error())
	case why == "":
		r.leases.close()
		r.cancel(nil)
		c.backOff(c.down(r.reason(), r.link.Facts().Stderr, r.err), r)
	case why == hung:
		r.leases.close()
		c.state(Hung, errHung.Error())
		r.hung.Store(true)
		r.cancel(errHung) // calls under way end with it
		<-r.ended
		c.backOff(c.down(errHung.Error(), r.link.Facts().Stderr, errHung), r)
		c.demand()
	case why == idle, why == evicted:
		c.end(r, why)
		c.state(Stopped, why)
	default:
		c.log.Info().Str("reason", why).Msg("child is replaced")
		c.end(r, why)
		c.demand()
		c.state(Waiting, why)
	}
}

const idle = "stopped after being idle; the next call starts it"

// reason is how a run that was not asked to ended.
func (r *run) reason() string {
	if r.err == nil {
		return errDeafInput.Error()
	}
	return r.err.Error()
}

// end drains and stops a run.
func (c *child) end(r *run, why string) {
	r.leases.close()
	c.state(Draining, why)
	c.drain(r)
	r.cancel(errors.New(why))
	<-r.ended
	c.publish(func(v *view) { v.status.Stderr = r.link.Facts().Stderr })
}

// drain waits until calls under way have ended, but not longer than may be:
// where the same instance is to start again, drainWait; a retired one, which
// stands in nobody's way, until its life ends.
func (c *child) drain(r *run) {
	t := time.NewTimer(drainWait)
	defer t.Stop()
	late, retired := t.C, c.ctx.Done()
	for c.life.Err() == nil {
		select {
		case <-r.leases.idle:
			return
		case <-r.ended:
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
func (s *serving) loop() string {
	c, r := s.c, s.r
	if why := s.review(); why != "" {
		return why
	}
	s.idleTimer = time.NewTimer(time.Hour)
	defer s.idleTimer.Stop()
	s.pulse = health.NewPulse(c.common.pace, hangTimeout(c.spec))
	defer s.pulse.Stop()
	if why := s.checkIdle(); why != "" {
		return why
	}
	for {
		var late <-chan time.Time
		var shown chan error
		if s.a != nil {
			late, shown = s.a.bound.C, s.a.shown
		}
		why := ""
		select {
		case <-c.ctx.Done():
			return errShutdown.Error()
		case <-r.ended:
			return ""
		case <-c.kick:
			if why = s.review(); why == "" {
				why = s.checkIdle()
			}
		case o := <-r.offers:
			c.offers(o)
			now := r.stale.sessions.Load()
			c.publish(func(v *view) { v.status.Renewed += now - s.sessions })
			s.sessions = now
			c.keep()
		case <-r.roots.written:
			why = s.wasAsked()
		case err := <-shown:
			why = s.wasShown(err)
		case <-late:
			why = s.late()
		case <-s.idleTimer.C:
			why = s.checkIdle()
		case <-r.idle.Slow():
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
	gen := w.gen
	if !served.Same(w.roots, s.r.served) {
		gen = 0 // changed since; review comes next
	}
	s.publish(gen, true, "")
}

func (s *serving) publish(gen uint64, applied bool, why string) {
	s.c.publish(func(v *view) {
		v.status.State, v.status.Err, v.status.NextStart = Ready, why, time.Time{}
		v.status.PID = s.r.link.Facts().PID
		v.status.AskedRoots, v.status.RootsApplied = s.r.roots.any.Load(), applied
		v.run, v.err, v.gen, v.served = s.r, nil, gen, launch.RootPaths(s.r.served)
	})
}

// review compares what is wanted with what the run has, and acts. It returns
// why the run must be replaced, if it must.
func (s *serving) review() (why string) {
	c, r := s.c, s.r
	w := c.wanted()
	c.ask(func(now *want) bool { now.demand, now.wish = false, false; return false })
	if v := c.view.Load(); v.gen == w.gen && s.a == nil && !(r.early && w.known) {
		return ""
	}
	if s.a != nil && s.a.gen == w.gen {
		return ""
	}
	next, err := c.spec.Plan(w.roots, c.machine)
	change := served.Change{
		Early:       r.early && w.known && !r.roots.held.Load(), // or the call that asked would be ended
		SameLaunch:  err != nil || next.Same(r.launch),
		SameArgs:    err == nil && slices.Equal(next.Args, r.launch.Args),
		SameRoots:   served.Same(w.roots, r.served),
		Placeholder: c.spec.Program().ArgsNameRoots(),
		Rewritten:   r.launch.Rewrote || next.Rewrote,
		CwdGone:     r.launch.CwdRoot != "" && !slices.Contains(launch.RootPaths(w.roots), r.launch.CwdRoot),
		Empty:       len(w.roots) == 0,
		Probe:       r.probe,
		Asked:       r.roots.any.Load(),
		List:        c.spec.Roots != RootsNone,
		Modern:      r.modern.Load() != nil,
	}
	if w.known {
		r.early = false
	}
	switch change.Decide() {
	case served.Replace:
		return "the roots have changed"
	case served.Tell:
		if s.a != nil {
			s.a.again = true
			return ""
		}
		s.tell(w)
	case served.Keep:
		if s.a != nil {
			s.a.again = true // back to what it is applying, which it has to show first
			return ""
		}
		r.served = w.roots
		s.publish(w.gen, true, "")
	}
	return ""
}

// startApplying starts to wait until roots are applied.
func (s *serving) startApplying(w want) *applying {
	s.a.stop()
	a := &applying{gen: w.gen, roots: w.roots, bound: time.NewTimer(served.ApplyWait)}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	s.a = a
	s.r.served = w.roots
	return a
}

// tell announces new roots and starts to wait until they are applied. A child
// that is just asking for them is not told to ask again.
func (s *serving) tell(w want) {
	a := s.startApplying(w)
	if s.r.roots.open.Load() > 0 {
		a.untold = true
		s.c.publish(func(v *view) { v.status.RootsApplied = false })
		return
	}
	s.wg.Go(func() {
		if err := s.r.way().Notify(a.ctx, link.MethodRootsChanged); err != nil && a.ctx.Err() == nil {
			s.c.log.Warn().Err(err).Msg("the child could not be told of new roots")
		}
	})
	if s.deaf {
		s.publish(a.gen, false, deafText)
		return
	}
	s.c.publish(func(v *view) { v.status.RootsApplied = false })
}

const deafText = "it did not ask for the roots again when told that they changed; the hub alone judges its calls"

// wasAsked follows an answer to roots/list that has been written.
func (s *serving) wasAsked() (why string) {
	answered := s.r.roots.gen.Load()
	switch {
	case s.a == nil && answered < s.c.wanted().gen:
		return s.review()
	case s.a == nil:
		s.c.publish(func(v *view) { v.status.AskedRoots = true })
		return ""
	case answered < s.a.gen && s.a.untold:
		s.tell(s.c.wanted())
		return ""
	case answered < s.a.gen:
		return ""
	case answered > s.a.gen:
		// It was given newer roots: those are what it will show.
		w := s.c.wanted()
		if w.gen != answered { // and others are wanted by now
			s.tell(w)
			return ""
		}
		s.startApplying(w)
	case s.a.shown != nil:
		return ""
	}
	s.deaf = false
	if !s.r.probe {
		return s.applied()
	}
	s.probe()
	return ""
}

// probe waits, beside the loop, until the child shows the roots being applied.
func (s *serving) probe() {
	shown := make(chan error, 1)
	ctx, paths := s.a.ctx, launch.RootPaths(s.a.roots)
	s.a.shown = shown
	s.wg.Go(func() { shown <- served.ProbeUntil(ctx, s.r.way(), s.c.spec.Probe, paths) })
}

// wasShown follows the end of the probe.
func (s *serving) wasShown(err error) (why string) {
	if err == nil {
		return s.applied()
	}
	s.c.log.Warn().Err(err).Msg("the child cannot show which roots it has applied")
	return s.late()
}

// applied ends the waiting for a change, and takes up the next.
func (s *serving) applied() (why string) {
	gen, again := s.a.gen, s.a.again
	s.a.stop()
	s.a = nil
	s.publish(gen, true, "")
	if again {
		return s.review()
	}
	return ""
}

// late ends the waiting for a child that has not applied new roots in time.
func (s *serving) late() (why string) {
	gen, again := s.a.gen, s.a.again
	if s.a.shown == nil {
		s.deaf = true
	}
	s.a.stop()
	s.a = nil
	if s.r.launch.Rewrote {
		return "it did not apply the new roots when told of them"
	}
	s.c.log.Warn().Msg(deafText)
	s.publish(gen, false, deafText)
	if again {
		return s.review()
	}
	return ""
}
