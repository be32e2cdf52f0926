package children

import (
	"cmp"
	"errors"
	"fmt"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/negotiation"
	"mcphub/children/offers"
	"mcphub/children/program"
	"mcphub/children/run"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/reference"
)

// startRun takes a slot and starts a run until it can be called.
func (c *childInstance) startRun() (*run.Run, *run.UnavailableError) {
	slot := c.common.startSlots.Take(c.accepting, c.ownerName(), func() { c.setState(Waiting, "waits for its turn: many children are starting") })
	if slot == nil {
		return nil, nil
	}
	defer slot.End()
	if err := c.takePlace(); err != nil || c.accepting.Err() != nil {
		return nil, err
	}
	var w wantedState
	c.updateWanted(func(now *wantedState) bool {
		if w = *now; now.callerWaits {
			w.looks = nil // what was changed before the call counts
		}
		now.callerWaits, now.shouldRun, now.evict, now.looks = false, false, false, nil
		return false
	})
	c.history.digest = c.common.offerDigest(c.spec, c.key)
	c.history.sightsDigest = c.common.narrowDigest(c.history.digest, c.spec, c.visibleSights(w))
	c.history.starts++
	c.history.planned = w.Gen
	c.setState(Starting, c.history.last)
	if err := c.installCopy(w); err != nil {
		return nil, err
	}
	machine := c.machine
	if looks := w.looks.InBurst(); looks != nil {
		machine = machine.WithLooks(looks)
		defer looks.Hold()() // others start now, and open the same paths
	}
	l, err := c.planLaunch(w, machine)
	var missing *program.MissingRootError
	if errors.As(err, &missing) && missing.NoRoot() {
		err = fmt.Errorf("%w. %s", err, cmp.Or(c.NoRoots(), "Open a folder in the client, or set roots.fallback in hub.json."))
	}
	c.history.badPlan = err != nil
	if err != nil {
		return nil, &run.UnavailableError{Child: c.key.Child, Reason: reference.Show(err.Error()), Err: err}
	}
	l.Record, l.Limits = c.common.Record, c.spec.Limits
	c.listenToStderr(&l, w)
	c.tellLacks(l)
	c.tellClosed(l)
	c.tellOpens(l)
	if err := c.putOnRecord(l); err != nil {
		return nil, &run.UnavailableError{Child: c.key.Child, Reason: err.Error(), Err: err}
	}
	for {
		r, err := c.launchRun(l, w)
		var offer *offers.RawOffer
		if err == nil {
			offer, err = r.Connect(c.accepting, run.Try{ModernFirst: c.firstEra() == spec.EraModern, Long: c.spec.Era == spec.EraModern || c.history.spoke == spec.EraModern, Protocol: c.versionToPropose()}, slot.End)
		}
		switch {
		case err == nil:
			c.takeOffer(c.agreedOffer(offer))
			return r, nil
		case r == nil:
			return nil, &run.UnavailableError{Child: c.key.Child, Reason: reference.Show(err.Error()), Err: err}
		}
		down := r.Abort(err)
		if !errors.Is(err, negotiation.ErrProbed) || c.history.retriedEra || c.accepting.Err() != nil {
			if !c.history.wasReady {
				c.history.diedOf = spec.EraAuto // it exits in either era
			}
			return r, down
		}
		c.history.retriedEra, c.history.diedOf = true, c.firstEra()
		c.log.Info().Str("reason", down.Reason).Msg("the child ended before it said which protocol it speaks; it is started once more, and asked in the other way first")
	}
}

// launchRun starts a run.
func (c *childInstance) launchRun(l launch.Launch, w wantedState) (*run.Run, error) {
	o := run.RunOptions{Spec: c.spec, Launch: l, WantedRoots: w.WantedRoots, Version: c.common.Version, Look: c.common.pace.Every, Log: c.log}
	names := program.VariableNames(l.Env)
	r, err := run.Start(o, runInstance{c}, func(h jsonrpc.Handler) (link.ChildConnection, error) {
		l, s, err := c.withSecrets(c.accepting, l, w)
		if err != nil {
			return nil, err
		}
		names = program.VariableNames(l.Env)
		return c.common.Launcher.Launch(l, s, h, c.log)
	})
	if err != nil {
		return nil, err
	}
	c.publishSnapshot(func(v *instanceSnapshot) {
		f := r.Facts()
		v.status.PID, v.status.Bounds = f.PID, f.Bounds
		v.status.Command, v.status.Args, v.status.Cwd, v.status.EnvNames = l.Command, l.Args, l.Dir, names
		v.status.Sandbox = sandbox.Report{}
		if l.Sandbox != nil {
			v.status.Sandbox = l.Sandbox.Report
		}
	})
	return r, nil
}
