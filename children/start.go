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
func (child *childInstance) startRun() (*run.Run, *run.UnavailableError) {
	slot := child.common.startSlots.Take(child.accepting, child.ownerName(), func() { child.setState(Waiting, "waits for its turn: many children are starting") })
	if slot == nil {
		return nil, nil
	}
	defer slot.End()
	if err := child.takePlace(); err != nil || child.accepting.Err() != nil {
		return nil, err
	}
	var w wantedState
	child.updateWanted(func(now *wantedState) bool {
		if w = *now; now.callerWaits {
			w.looks = nil // what was changed before the call counts
		}
		now.callerWaits, now.shouldRun, now.evict, now.looks = false, false, false, nil
		return false
	})
	child.history.digest = child.currentDigest(w.looks)
	child.history.sightsDigest = child.common.narrowDigest(child.history.digest, child.spec, child.visibleSights(w))
	child.history.starts++
	child.history.plannedGen = w.Gen
	child.setState(Starting, child.history.lastFailure)
	if err := child.installCopy(w); err != nil {
		return nil, err
	}
	machine := child.machine
	if looks := w.looks.InBurst(); looks != nil {
		machine = machine.WithLooks(looks)
		defer looks.Hold()() // others start now, and open the same paths
	}
	l, err := child.planLaunch(w, machine)
	var missing *program.MissingRootError
	if errors.As(err, &missing) && missing.NoRoot() {
		err = fmt.Errorf("%w. %s", err, cmp.Or(child.NoRoots(), "Open a folder in the client, or set roots.fallback in hub.json."))
	}
	child.history.badPlan = err != nil
	if err != nil {
		return nil, &run.UnavailableError{Child: child.key.Child, Reason: reference.Show(err.Error()), Err: err}
	}
	l.Record, l.Limits = child.common.Record, child.spec.Limits
	child.listenToStderr(&l, w)
	child.tellLacks(l)
	child.tellClosed(l)
	child.tellOpens(l)
	if err := child.putOnRecord(l); err != nil {
		return nil, &run.UnavailableError{Child: child.key.Child, Reason: err.Error(), Err: err}
	}
	for {
		r, err := child.launchRun(l, w)
		var offer *offers.RawOffer
		if err == nil {
			offer, err = r.Connect(child.accepting, run.Try{ModernFirst: child.firstEra() == spec.EraModern, Long: child.spec.Era == spec.EraModern || child.history.spokenEra == spec.EraModern, Protocol: child.versionToPropose()}, slot.End)
		}
		switch {
		case err == nil:
			child.takeOffer(child.agreedOffer(offer))
			return r, nil
		case r == nil:
			return nil, &run.UnavailableError{Child: child.key.Child, Reason: reference.Show(err.Error()), Err: err}
		}
		down := r.Abort(err)
		if !errors.Is(err, negotiation.ErrProbed) || child.history.retriedEra || child.accepting.Err() != nil {
			if !child.history.wasReady {
				child.history.diedInEra = spec.EraAuto // it exits in either era
			}
			return r, down
		}
		child.history.retriedEra, child.history.diedInEra = true, child.firstEra()
		child.log.Info().Str("reason", down.Reason).Msg("the child ended before it said which protocol it speaks; it is started once more, and asked in the other way first")
	}
}

// launchRun starts a run.
func (child *childInstance) launchRun(l launch.Launch, w wantedState) (*run.Run, error) {
	o := run.RunOptions{Spec: child.spec, Launch: l, WantedRoots: w.WantedRoots, Version: child.common.Version, Look: child.common.pace.Every, Log: child.log}
	names := program.VariableNames(l.Env)
	r, err := run.Start(o, runInstance{child}, func(h jsonrpc.Handler) (link.ChildConnection, error) {
		l, s, err := child.resolveSecrets(child.accepting, l, w)
		if err != nil {
			return nil, err
		}
		names = program.VariableNames(l.Env)
		return child.common.Launcher.Launch(l, s, h, child.log)
	})
	if err != nil {
		return nil, err
	}
	child.publishSnapshot(func(v *instanceSnapshot) {
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
