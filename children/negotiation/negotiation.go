package negotiation

import (
	"context"
	"errors"
	"time"

	"mcphub/children/link"
	"mcphub/children/modernlink"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
)

const (
	// probeWait bounds how long a child of which nothing is known may leave
	// server/discover unanswered before it is sent initialize. Some servers never
	// answer; to one that is still loading it makes no difference, for it reads
	// both when it is there.
	probeWait = 2 * time.Second
	// lagWait is for an answer that is on its way to who waits for it.
	lagWait = 20 * time.Millisecond
)

// ErrProbed marks the end of a child that may have died of being asked what it
// does not know.
var ErrProbed = errors.New("ended when it was asked which protocol it speaks")

// A Child is one that is to be spoken to.
type Child struct {
	Link    link.ChildConnection
	Modern  *modernlink.ModernConnection // the same without a handshake; nil if the transport has none
	Version string                       // of the hub
	Shown   func() []byte                // the capabilities that initialize declares, a raw object

	Era         spec.Era
	Protocol    string // the version of the handshake to propose first; "": the newest
	Pinned      bool   // no other is proposed
	ModernFirst bool   // of both, the one without a handshake is tried first
	Long        bool   // server/discover is waited for as long as a start may take

	// Speak is called before the first request without a handshake that counts: from
	// then on what the child says is for Modern.
	Speak func()
}

// Start starts to speak to a child, and does what that takes before it can be
// listed. A child that has both eras is spoken to in ModernFirst's: what comes first
// on a connection may settle it for good (some servers take even server/discover for
// that), so no part of the other era comes before.
func Start(ctx context.Context, c Child) (*offers.RawOffer, error) {
	switch {
	case c.Modern == nil && c.Era == spec.EraModern:
		return nil, errors.New("this transport is of the handshake's era: set \"type\": \"http\", or leave \"era\" out")
	case c.Modern == nil || c.Era == spec.EraLegacy:
		return c.tryHandshake(ctx)
	}
	var o *offers.RawOffer
	var err error
	if c.ModernFirst {
		o, err = c.discoverEra(ctx)
	} else {
		o, err = c.initializeFirst(ctx)
	}
	if err != nil && errors.Is(err, jsonrpc.ErrClosed) && c.Era == spec.EraAuto {
		return nil, errors.Join(ErrProbed, err)
	}
	return o, err
}

// initializeFirst does the handshake, and does without if that is refused.
func (c Child) initializeFirst(ctx context.Context) (*offers.RawOffer, error) {
	o, err := c.tryHandshake(ctx)
	var status *link.StatusError
	if err == nil || ctx.Err() != nil || errors.Is(err, jsonrpc.ErrClosed) || errors.As(err, &status) && status.Advice != "" {
		return o, err
	}
	switch d := c.Modern.Discover(ctx); d.Outcome {
	case modernlink.SpeaksModern:
		return c.speakModern(d.Offer), nil
	case modernlink.SpeaksNotYet:
		return nil, d.Err
	case modernlink.SpeaksForeign:
		return nil, errors.Join(err, d.Err)
	}
	return nil, err
}

// discoverEra asks for server/discover and falls back to the handshake if that gives nothing: at once, or after
// a while if there is no answer. Long waits for as long as a start may take.
func (c Child) discoverEra(ctx context.Context) (*offers.RawOffer, error) {
	asked := make(chan modernlink.Discovery, 1)
	// It is not taken back when the wait is over: a child that cannot answer it
	// would not know what it is that is being cancelled.
	go func() { asked <- c.Modern.Discover(context.WithoutCancel(ctx)) }()
	var late <-chan time.Time
	if !c.Long {
		t := time.NewTimer(probeWait)
		defer t.Stop()
		late = t.C
	}
	select {
	case d := <-asked:
		switch d.Outcome {
		case modernlink.SpeaksModern:
			return c.speakModern(d.Offer), nil
		case modernlink.SpeaksForeign, modernlink.SpeaksNoMore, modernlink.SpeaksNotYet:
			return nil, d.Err
		}
		if c.Era == spec.EraModern {
			return nil, errors.New("it does not speak a protocol version without a handshake; leave \"era\" out, or set it to \"auto\"")
		}
		return c.tryHandshake(ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-late:
	}
	o, err := c.tryHandshake(ctx)
	if ctx.Err() != nil || errors.Is(err, jsonrpc.ErrClosed) {
		return nil, err
	}
	wait := probeWait
	if err == nil {
		wait = lagWait // it has answered both by now, if it read both only now
	}
	again := time.NewTimer(wait)
	defer again.Stop()
	select {
	case d := <-asked: // it was only slow
		switch {
		case d.Outcome == modernlink.SpeaksModern && err == nil:
			o.Both = true // some take the handshake for a choice that lasts; the next start makes the other
		case d.Outcome == modernlink.SpeaksModern:
			return c.speakModern(d.Offer), nil
		}
	case <-again.C:
	case <-ctx.Done():
	}
	return o, err
}

// speakModern goes on without a handshake.
func (c Child) speakModern(o *offers.RawOffer) *offers.RawOffer {
	c.Speak() // first: Start opens a stream, and what comes on it is for Modern
	c.Modern.Start(o)
	return o
}
