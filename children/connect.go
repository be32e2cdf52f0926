package children

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"mcphub/children/handshake"
	"mcphub/children/launch"
	"mcphub/children/offers"
	"mcphub/children/served"
	"mcphub/internal/jsonrpc"
)

// This file brings a run from its launch to where it can be called.

// start takes a slot and brings a run to where it can be called.
func (c *child) start() (*run, *UnavailableError) {
	turn := c.common.turns.Take(c.ctx, func() { c.state(Waiting, "waits for its turn: many children are starting") })
	if turn == nil {
		return nil, nil
	}
	defer turn.End()
	if err := c.place(); err != nil || c.ctx.Err() != nil {
		return nil, err
	}
	var w want
	c.ask(func(now *want) bool { now.demand, now.wish, now.evict = false, false, false; w = *now; return false })
	c.past.digest = c.common.digest(c.spec, c.key)
	c.past.starts++
	c.state(Starting, c.past.last)
	l, err := c.spec.Plan(w.roots, c.machine)
	var missing *launch.MissingRootError
	if errors.As(err, &missing) && missing.NoRoot() {
		err = fmt.Errorf("%w. %s", err, cmp.Or(c.noRoots(), "Open a folder in the client, or set roots.fallback in hub.json."))
	}
	c.past.badPlan = err != nil
	if err != nil {
		return nil, &UnavailableError{Child: c.key.Child, Reason: err.Error(), Err: err}
	}
	l.Said = c.said
	for {
		r, err := c.launch(l, w)
		if err == nil {
			err = c.connect(r, turn.End)
		}
		switch {
		case err == nil:
			return r, nil
		case r == nil:
			return nil, &UnavailableError{Child: c.key.Child, Reason: err.Error(), Err: err}
		}
		down := c.unstarted(r, err)
		if !errors.Is(err, handshake.ErrProbed) || c.past.doubted || c.ctx.Err() != nil {
			if !c.past.wasReady {
				c.past.diedOf = EraAuto // it dies of anything
			}
			return r, down
		}
		c.past.doubted, c.past.diedOf = true, c.first()
		c.log.Info().Str("reason", down.Reason).Msg("the child ended before it said which protocol it speaks; it is started once more, and asked in the other way first")
	}
}

// launch starts a run.
func (c *child) launch(l launch.Launch, w want) (*run, error) {
	r := newRun(c, l, !w.known)
	r.served = w.roots
	var err error
	if r.link, err = c.common.launcher.Launch(l, c.spec, r, c.log); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel = cancel
	go func() {
		r.err = r.link.Run(ctx)
		r.idle.Stop()
		if m := r.modern.Load(); m != nil {
			m.End()
		}
		close(r.ended)
	}()
	c.publish(func(v *view) {
		v.status.PID = r.link.Facts().PID
		v.status.Command, v.status.Args, v.status.Cwd, v.status.EnvNames = l.Command, l.Args, l.Dir, launch.Names(l.Env)
	})
	return r, nil
}

// connect does the handshake, lists the tools and sees the first roots
// applied, all within the start timeout. The turn ends with the handshake: then
// the program is loaded, and what follows costs little.
func (c *child) connect(r *run, release func()) error {
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.spec.StartTimeout, errStartTimeout)
	defer cancel()
	base, err := c.greet(ctx, r)
	if err != nil {
		return err
	}
	release()
	r.greeted = true
	m := r.modern.Load()
	if m != nil {
		m.Settled(ctx)
	}
	r.level.tell(ctx, r.way(), base)
	offer, notes, err := offers.Read(ctx, r.way(), base, offers.AllLists)
	if err == nil {
		err = context.Cause(c.ctx) // what is left of its lists when it is not wanted any more is no offer
	}
	if err != nil {
		return err
	}
	for _, note := range notes {
		c.log.Warn().Msg(note)
	}
	// A child without a handshake keeps no roots that a probe could show.
	r.probe = m == nil && c.spec.Probe != "" && c.spec.Roots != RootsNone && offer.HasTool(c.spec.Probe)
	if r.probe && len(r.served) > 0 {
		ctx, cancel := context.WithTimeoutCause(ctx, served.ApplyWait, served.ErrNotApplied)
		defer cancel()
		if err := served.ProbeUntil(ctx, r.way(), c.spec.Probe, launch.RootPaths(r.served)); errors.Is(err, jsonrpc.ErrClosed) {
			return err
		} else if err != nil {
			c.log.Warn().Err(err).Msg("the child does not show the roots that it was given; the hub alone judges its calls")
		}
	}
	c.offers(offer)
	return nil
}

// unstarted ends a run that did not become ready, and says why it did not.
func (c *child) unstarted(r *run, cause error) *UnavailableError {
	if errors.Is(cause, jsonrpc.ErrClosed) {
		// Its end, rather than that of its pipe, is what people want to know.
		r.endedWithin(time.Second)
	}
	early := r.endedWithin(0)
	r.cancel(cause)
	<-r.ended
	e := c.down(cause.Error(), r.link.Facts().Stderr, cause)
	switch {
	case early && r.err != nil:
		e.Reason, e.Err = r.err.Error()+" while starting", r.err
	case errors.Is(cause, errStartTimeout):
		e.Reason = fmt.Sprintf("did not start within %s%s; raise \"timeout\": {\"start\": ...} of this server where that is too short", c.spec.StartTimeout, r.stage())
	}
	return e
}

// stage says how far a run has come that is too slow, and what it says instead
// of what it is asked for.
func (r *run) stage() string {
	text := ": it has not answered the handshake"
	if r.greeted {
		text = ": it has answered the handshake but not listed what it offers"
	}
	if n := r.link.Facts().Skipped; n > 0 && r.c.spec.URL == "" {
		text += fmt.Sprintf("; %d lines on its stdout were no messages: is it an MCP server, started as one on stdio, that logs to stderr", n)
	}
	return text
}
