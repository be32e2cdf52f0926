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
func (c *childInstance) packageToFetch(w wantedState) (commandline.Package, bool) {
	if c.spec.URL != "" {
		return commandline.Package{}, false
	}
	return c.baseMachine().WithBoundary(w.boundary).Fetches(c.spec.Program())
}

// installCopy opens the copy that a run is started from, installed first if there is
// none.
func (c *childInstance) installCopy(w wantedState) *run.UnavailableError {
	c.machine = c.machine.WithInstalled(nil)
	pkg, ok := c.packageToFetch(w)
	if !ok {
		return nil
	}
	open := c.common.packages.Open
	if c.common.Renew {
		open = c.common.packages.Renew
	}
	copied, err := open(c.accepting, c.packageRequest(c.accepting, pkg, w))
	if err != nil {
		c.publishSnapshot(func(v *instanceSnapshot) { v.status.Package = Package{} })
		return &run.UnavailableError{Child: c.key.Child, Reason: reference.Show(err.Error()), Err: err}
	}
	c.copied = copied
	c.copyOf.Store(&copied.Installed)
	c.machine = c.machine.WithInstalled(&copied.Installed)
	c.publishSnapshot(func(v *instanceSnapshot) {
		v.status.Package = Package{Name: copied.Package, Version: copied.Version, At: copied.At, Change: copied.Change, Problem: copied.Problem}
		v.status.Err = c.history.last
	})
	return nil
}

// packageRequest asks for the packages of the child.
func (c *childInstance) packageRequest(ctx context.Context, pkg commandline.Package, w wantedState) *packages.Request {
	prog := c.spec.Program()
	return &packages.Request{
		Name: c.key.Child, Program: prog, Package: pkg, Machine: c.baseMachine(), Roots: w.Roots, Within: w.boundary, Log: c.log, Said: c.handleStderr,
		Tell: func(what string) {
			c.publishSnapshot(func(v *instanceSnapshot) { v.status.Err, v.status.Package = what, Package{Doing: what} })
		},
		Values: func(l launch.Launch) (launch.Launch, error) {
			return c.baseMachine().WithSecrets(prog, l, nil, c.valueOf(ctx, w))
		},
	}
}

// releaseCopy lets go of the copy of a run that is over.
func (c *childInstance) releaseCopy() {
	c.copied.Release()
	c.copied = nil
}

// renewLater has it looked for a newer version, for the next start.
func (c *childInstance) renewLater() {
	if c.copied == nil || c.common.Renew {
		return
	}
	w := c.currentWanted()
	pkg, ok := c.packageToFetch(w)
	r := c.packageRequest(c.accepting, pkg, w)
	r.Tell, r.Said = nil, nil // the child runs meanwhile
	if !ok || !c.common.packages.IsDue(r) {
		return
	}
	c.common.background(func(ctx context.Context) {
		r := *r
		r.Values = func(l launch.Launch) (launch.Launch, error) {
			return r.Machine.WithSecrets(r.Program, l, nil, c.valueOf(ctx, w))
		}
		copied, err := c.common.packages.RenewInBackground(ctx, &r)
		if err != nil && ctx.Err() == nil {
			c.log.Warn().Err(err).Msg("it could not be looked for a newer version of a package")
		}
		copied.Release()
	})
}

// installedOn returns a machine with the copy that the child runs from, or will.
func (c *childInstance) installedOn(m launch.Machine) launch.Machine {
	pkg, ok := c.packageToFetch(c.currentWanted())
	in := c.copyOf.Load()
	switch {
	case !ok:
		return m
	case in == nil:
		in = &program.Installed{Neutral: pkg.Bun} // it is not known yet
	}
	return m.WithInstalled(in)
}
