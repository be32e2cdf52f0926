package children

import (
	"context"
	"path/filepath"

	"mcphub/children/launch"
	"mcphub/children/packages"
	"mcphub/children/program"
	"mcphub/children/run"
	"mcphub/internal/commandline"
	"mcphub/internal/reference"
)

// This file has confined children run from installed copies, instead of launchers such
// as npx, which need the network and a folder to write in.

// packagesFolder returns where copies are kept; "" if there is no place.
func packagesFolder(m launch.Machine) string {
	if base := m.CacheFolder(); base != "" {
		return filepath.Join(base, "packages")
	}
	return ""
}

// packageToFetch returns what is to be installed for the child.
func (child *childInstance) packageToFetch(w wantedState) (commandline.Package, bool) {
	if child.spec.URL != "" {
		return commandline.Package{}, false
	}
	return child.baseMachine().WithBoundary(w.boundary).Fetches(child.spec.Program())
}

// installCopy opens the copy that a run is started from, installed first if there is
// none.
func (child *childInstance) installCopy(w wantedState) *run.UnavailableError {
	child.machine = child.machine.WithInstalled(nil)
	pkg, ok := child.packageToFetch(w)
	if !ok {
		return nil
	}
	open := child.common.packages.Open
	if child.common.Renew {
		open = child.common.packages.Renew
	}
	copied, err := open(child.accepting, child.packageRequest(child.accepting, pkg, w))
	if err != nil {
		child.publishSnapshot(func(v *instanceSnapshot) { v.status.Package = Package{} })
		return &run.UnavailableError{Child: child.key.Child, Reason: reference.Show(err.Error()), Err: err}
	}
	child.copied = copied
	child.copyOf.Store(&copied.Installed)
	child.machine = child.machine.WithInstalled(&copied.Installed)
	child.publishSnapshot(func(v *instanceSnapshot) {
		v.status.Package = Package{Name: copied.Package, Version: copied.Version, At: copied.At, Change: copied.Change, Problem: copied.Problem}
		v.status.Err = child.history.lastFailure
	})
	return nil
}

// packageRequest asks for the packages of the child.
func (child *childInstance) packageRequest(ctx context.Context, pkg commandline.Package, w wantedState) *packages.Request {
	prog := child.spec.Program()
	return &packages.Request{
		Name: child.key.Child, Program: prog, Package: pkg, Machine: child.baseMachine(), Roots: w.Roots, Within: w.boundary, Log: child.log, Said: child.handleStderr,
		Tell: func(what string) {
			child.publishSnapshot(func(v *instanceSnapshot) { v.status.Err, v.status.Package = what, Package{Doing: what} })
		},
		Values: func(l launch.Launch) (launch.Launch, error) {
			return child.baseMachine().WithSecrets(prog, l, nil, child.valueOf(ctx, w))
		},
	}
}

// releaseCopy lets go of the copy of a run that is over.
func (child *childInstance) releaseCopy() {
	child.copied.Release()
	child.copied = nil
}

// scheduleRenewal has it looked for a newer version, for the next start.
func (child *childInstance) scheduleRenewal() {
	if child.copied == nil || child.common.Renew {
		return
	}
	w := child.currentWanted()
	pkg, ok := child.packageToFetch(w)
	r := child.packageRequest(child.accepting, pkg, w)
	r.Tell, r.Said = nil, nil // the child runs meanwhile
	if !ok || !child.common.packages.IsDue(r) {
		return
	}
	child.common.background(func(ctx context.Context) {
		r := *r
		r.Values = func(l launch.Launch) (launch.Launch, error) {
			return r.Machine.WithSecrets(r.Program, l, nil, child.valueOf(ctx, w))
		}
		copied, err := child.common.packages.RenewInBackground(ctx, &r)
		if err != nil && ctx.Err() == nil {
			child.log.Warn().Err(err).Msg("it could not be looked for a newer version of a package")
		}
		copied.Release()
	})
}

// machineWithCopy returns a machine with the copy that the child runs from, or will.
func (child *childInstance) machineWithCopy(m launch.Machine) launch.Machine {
	pkg, ok := child.packageToFetch(child.currentWanted())
	in := child.copyOf.Load()
	switch {
	case !ok:
		return m
	case in == nil:
		in = &program.Installed{Neutral: pkg.Bun} // it is not known yet
	}
	return m.WithInstalled(in)
}
