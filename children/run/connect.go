package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"mcphub/children/hints"
	"mcphub/children/modernlink"
	"mcphub/children/negotiation"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/worker"
)

var errStartTimeout = errors.New("start timeout")

// A Try describes how a child is spoken to first.
type Try struct {
	ModernFirst bool   // of both eras, the one without a handshake is tried first
	Long        bool   // the first answer is waited for as long as a start may take
	Protocol    string // the version of the handshake that is proposed first, unless the Spec names one; "": the newest
}

// Connect does the handshake, lists what the child offers and sees the first roots
// applied, all within the start timeout. greeted is called when the handshake is over:
// then the program is loaded, and what follows costs little.
func (r *Run) Connect(life context.Context, try Try, greeted func()) (*offers.RawOffer, error) {
	ctx, cancel := context.WithTimeoutCause(life, r.spec.StartTimeout, errStartTimeout)
	defer cancel()
	base, err := r.greetChild(ctx, try)
	if err != nil {
		return nil, err
	}
	greeted()
	r.greeted = true
	m := r.modernConnection.Load()
	if m != nil {
		m.Settled(ctx)
	}
	r.TellLevel(ctx, base)
	offer, err := r.firstLists(ctx, offers.WithUndeclared(ctx, r.Connection(), base))
	if err == nil {
		err = context.Cause(life) // the run was ended meanwhile, so its lists may be incomplete
	}
	if err != nil {
		return nil, err
	}
	for _, note := range offer.Notes {
		r.log.Warn().Msg(note)
	}
	tool := r.spec.Probe
	if m != nil || r.spec.Roots == spec.RootsNone || tool == "" || !offer.HasTool(tool) {
		tool = "" // a child without a handshake keeps no roots that a tool could show
	}
	if err := r.Roots.Start(ctx, tool); errors.Is(err, jsonrpc.ErrClosed) {
		return nil, err
	} else if err != nil {
		r.log.Warn().Err(err).Msg("the child does not show the roots that it was given; the hub alone judges its calls")
	}
	return offer, nil
}

// endWait bounds how long a run whose pipe is closed is given to end: on a busy machine a process takes seconds for that.
const endWait = 5 * time.Second

// firstListsTime is how long a start waits for a child that refuses to list its tools.
const firstListsTime = 5 * time.Second

// firstLists reads what the child offers. If it refuses to list its tools it may not be
// ready yet, and is asked again for a moment: clients do not look again at a server that had
// no tools when they asked first. After that Follow goes on.
func (r *Run) firstLists(ctx context.Context, base *offers.RawOffer) (*offers.RawOffer, error) {
	waiting, stopWaiting := context.WithTimeout(ctx, firstListsTime)
	defer stopWaiting()
	offer, err := offers.Read(ctx, r.Connection(), base, offers.AllLists)
	for pause := firstRelist; err == nil && offer.Lacks(offers.Tools) && worker.Sleep(waiting, pause); pause *= 2 {
		again, e := offers.Read(waiting, r.Connection(), offer, offer.FailedLists())
		switch {
		case e == nil:
			offer = again
		case errors.Is(e, jsonrpc.ErrClosed):
			err = e
		}
	}
	return offer, err
}

// greetChild does the handshake, or finds out that the child has none. It notes the ChildConnection of
// a child without a handshake.
func (r *Run) greetChild(ctx context.Context, try Try) (*offers.RawOffer, error) {
	m := modernlink.New(r.connection, modernlink.ConnectionOptions{Version: r.version, Roots: r.spec.Roots != spec.RootsNone, Log: r.log}, modernRun{r})
	return negotiation.Start(ctx, negotiation.Child{
		Link: r.connection, Modern: m, Version: r.version, Shown: func() []byte { return r.spec.Capabilities(r.instance.ClientProfile().Capabilities) },
		Era: r.spec.Era, Protocol: cmp.Or(r.spec.Protocol, try.Protocol), Pinned: r.spec.Protocol != "", ModernFirst: try.ModernFirst, Long: try.Long,
		Speak: func() { r.modernConnection.Store(m) },
	})
}

// Abort ends a run that did not become ready, and reports why it did not.
func (r *Run) Abort(cause error) *UnavailableError {
	if errors.Is(cause, jsonrpc.ErrClosed) {
		// How the process ended says more than how its pipe did.
		r.endedWithin(endWait)
	}
	early := r.endedWithin(0)
	r.Stop(cause)
	e := NewUnavailable(r.spec, cause.Error(), r.Facts().Stderr, cause)
	switch {
	case early && r.err != nil:
		e.Reason, e.Err = r.err.Error()+" while starting", r.err
	case errors.Is(cause, errStartTimeout):
		e.Reason = fmt.Sprintf("did not start within %s%s; raise \"timeout\": {\"start\": ...} of this server where that is too short", r.spec.StartTimeout, r.describeStage())
	}
	e.Reason += r.refusedReason()
	return e
}

// refusedReason returns what the kernel has refused a run that is over, as far as it wrote that;
// "" if it did not, and of a shared run, whose stderr no session is told about.
func (r *Run) refusedReason() string {
	held := r.Launch.Sandbox
	if held == nil {
		return ""
	}
	f, ok, first := held.Words.ReadStderr(r.Facts().Stderr)
	if n, last := held.Words.Refusals(); !ok && n > 0 {
		f, ok = last, true // in an earlier line, of which the end tells no more
	}
	if !ok {
		return ""
	}
	if first && r.Launch.Refused != nil {
		r.Launch.Refused(f)
	}
	if held.Words.Shared {
		return ""
	}
	return "; " + hints.Text(f)
}

// describeStage returns how far a run has come that is too slow, and what it wrote instead
// of messages.
func (r *Run) describeStage() string {
	text := ": it has not answered the handshake"
	if r.greeted {
		text = ": it has answered the handshake but not listed what it offers"
	}
	if n := r.Facts().Skipped; n > 0 && r.spec.URL == "" {
		text += fmt.Sprintf("; %d lines on its stdout were no messages: is it an MCP server, started as one on stdio, that logs to stderr", n)
	}
	return text
}
