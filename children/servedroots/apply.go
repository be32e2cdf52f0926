package servedroots

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/link"
	"mcphub/children/program"
	"mcphub/internal/methods"
	"mcphub/rootsmgr/guard"
)

// IgnoredText says about a child that it has not applied new roots.
const IgnoredText = "it did not ask for the roots again when told that they changed; the hub alone judges its calls"

// WantedRoots are the roots that a run is to have.
type WantedRoots struct {
	Roots []guard.Root
	Gen   uint64 // counts changes of roots
	Known bool   // the first roots are known
}

// Roots are the roots of one run: what it was told, what it has asked, and whether it
// has applied them. But for Answers it belongs to the instance's goroutine.
type Roots struct {
	Answers
	link      func() link.ChildConnection
	log       zerolog.Logger
	rewritten bool         // its arguments are root paths
	tool      string       // lists the directories that the child has applied; "": none does
	last      []guard.Root // what it was told last, or started with
	early     bool         // it started before the first roots were known

	now *applying // nil when nothing is being applied
	// ignores: it did not ask again in time after the last notification. It is still
	// told, but no call waits for it any more until it asks.
	ignores bool
	wg      sync.WaitGroup // goroutines that send to the child for now
}

// applying is a change of roots that the child has been told about and has not
// yet applied.
type applying struct {
	gen   uint64
	roots []guard.Root
	bound *time.Timer
	shown chan error // result of the probe; nil until it runs
	// again: other roots are wanted by now. The child is told about them once it
	// has applied these, for a server that applies two answers at a time may end
	// with the older of them.
	again bool
	// untold: it was not told, for it was asking already: that answer has these
	// roots, or it is told after it.
	untold bool
	ctx    context.Context
	cancel context.CancelFunc
}

func (a *applying) stopWaiting() {
	if a != nil {
		a.bound.Stop()
		a.cancel()
	}
}

// NewRoots returns the Roots of a run that starts with w. rewritten: its arguments
// are root paths. conn is how the child is spoken to.
func NewRoots(w WantedRoots, rewritten bool, conn func() link.ChildConnection, log zerolog.Logger) *Roots {
	return &Roots{Answers: Answers{written: make(chan struct{}, 1)}, link: conn, log: log, rewritten: rewritten, last: w.Roots, early: !w.Known}
}

// A Step is what follows for the instance from something that happened to the roots of
// its run. The zero Step is nothing.
type Step struct {
	News    News
	Gen     uint64 // of the roots that calls need not wait for any more; with Applied and Ignored
	Again   bool   // other roots may be wanted by now: Review is due
	Replace string // why the run must be replaced; "": it need not be
}

// News is what there is to be told about the roots of a run.
type News uint8

const (
	Nothing   News = iota
	Asked          // the child has asked
	Announced      // it was told about other roots, and has yet to apply them
	Applied        // it has applied them
	Ignored        // it has not, and calls go on all the same
)

// Last returns the roots that the run was told last, or started with.
func (r *Roots) Last() []guard.Root { return r.last }

// IsProbed reports whether a tool of the child shows what it has applied. It is known
// once the run has been made known.
func (r *Roots) IsProbed() bool { return r.tool != "" }

// Start takes in which tool shows the roots that the child has applied, "" for none,
// and waits until it shows the ones that the child started with.
func (r *Roots) Start(ctx context.Context, tool string) error {
	if r.tool = tool; tool == "" || len(r.last) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, ApplyWait, ErrNotApplied)
	defer cancel()
	return ProbeUntil(ctx, r.link(), tool, program.RootPaths(r.last))
}

// IsDue reports whether Review has anything to look at. gen is the generation that the
// instance has made known.
func (r *Roots) IsDue(w WantedRoots, gen uint64) bool {
	if r.now != nil {
		return r.now.gen != w.Gen
	}
	return gen != w.Gen || r.early && w.Known
}

// Review compares what is wanted with what the run has. c reports what a start
// would change; what the run itself shows is added here.
func (r *Roots) Review(w WantedRoots, c Change) Step {
	c.Early = r.early && w.Known
	c.Waited = r.waited.Load()
	c.SameRoots = Same(w.Roots, r.last)
	c.Empty = len(w.Roots) == 0
	c.Probe = r.tool != ""
	c.Asked = r.WasAsked()
	if w.Known {
		r.early = false
	}
	switch action := c.Decide(); {
	case action == Replace:
		return Step{Replace: "the roots have changed"}
	case r.now != nil: // also where what was before it is wanted again: it has to show this first
		r.now.again = true
		return Step{}
	case action == Tell:
		return r.tellRoots(w)
	}
	r.last = w.Roots
	return Step{News: Applied, Gen: w.Gen}
}

// startApplying starts to wait until roots are applied.
func (r *Roots) startApplying(w WantedRoots) *applying {
	r.now.stopWaiting()
	a := &applying{gen: w.Gen, roots: w.Roots, bound: time.NewTimer(ApplyWait)}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	r.now, r.last = a, w.Roots
	return a
}

// tellRoots announces new roots and starts to wait until they are applied. A child that is
// just asking for them, or has them, is not told to ask again.
func (r *Roots) tellRoots(w WantedRoots) Step {
	a := r.startApplying(w)
	if r.gen.Load() == a.gen {
		return r.OnAsked(w) // its last question was answered with these already
	}
	if r.open.Load() > 0 {
		a.untold = true
		return Step{News: Announced}
	}
	r.told.Store(true)
	r.wg.Go(func() {
		if err := r.link().Notify(a.ctx, methods.RootsChanged); err != nil && a.ctx.Err() == nil {
			r.log.Warn().Err(err).Msg("the child could not be told of new roots")
		}
	})
	if r.ignores {
		return Step{News: Ignored, Gen: a.gen}
	}
	return Step{News: Announced}
}

// OnAsked follows Written. w is what is wanted now.
func (r *Roots) OnAsked(w WantedRoots) Step {
	answered := r.gen.Load()
	switch {
	case r.now == nil && answered < w.Gen:
		return Step{Again: true}
	case r.now == nil:
		return Step{News: Asked}
	case answered < r.now.gen && r.now.untold:
		return r.tellRoots(w)
	case answered < r.now.gen:
		return Step{}
	case answered > r.now.gen:
		// It was given newer roots: those are what it will show.
		if w.Gen != answered { // and others are wanted by now
			return r.tellRoots(w)
		}
		r.startApplying(w)
	case r.now.shown != nil:
		return Step{}
	}
	r.ignores = false
	if r.tool == "" {
		return r.endWaiting()
	}
	r.probeChild()
	return Step{}
}

// probeChild waits, on a goroutine of its own, until the child shows the roots being
// applied.
func (r *Roots) probeChild() {
	shown := make(chan error, 1)
	ctx, tool, paths := r.now.ctx, r.tool, program.RootPaths(r.now.roots)
	r.now.shown = shown
	r.wg.Go(func() { shown <- ProbeUntil(ctx, r.link(), tool, paths) })
}

// Shown delivers the end of the probe, for OnShown. The channel is another one after
// each call of a method of r.
func (r *Roots) Shown() <-chan error {
	if r.now == nil {
		return nil
	}
	return r.now.shown
}

// OnShown follows the end of the probe.
func (r *Roots) OnShown(err error) Step {
	if err == nil {
		return r.endWaiting()
	}
	r.log.Warn().Err(err).Msg("the child cannot show which roots it has applied")
	return r.OnOverdue()
}

// endWaiting ends the waiting for a change.
func (r *Roots) endWaiting() Step {
	s := Step{News: Applied, Gen: r.now.gen, Again: r.now.again}
	r.now.stopWaiting()
	r.now = nil
	return s
}

// Overdue delivers when the child has not applied new roots in time, for OnOverdue. The
// channel is another one after each call of a method of r.
func (r *Roots) Overdue() <-chan time.Time {
	if r.now == nil {
		return nil
	}
	return r.now.bound.C
}

// OnOverdue ends the waiting for a child that has not applied new roots in time. One
// whose arguments are root paths is replaced.
func (r *Roots) OnOverdue() Step {
	s := Step{News: Ignored, Gen: r.now.gen, Again: r.now.again}
	if r.now.shown == nil {
		r.ignores = true
	}
	r.told.Store(false)
	r.now.stopWaiting()
	r.now = nil
	if r.rewritten {
		return Step{Replace: "it did not apply the new roots when told of them"}
	}
	r.log.Warn().Msg(IgnoredText)
	return s
}

// Stop ends what is being applied. It returns when nothing is sent for it any more.
func (r *Roots) Stop() {
	r.now.stopWaiting()
	r.wg.Wait()
}
