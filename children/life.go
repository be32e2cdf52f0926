package children

import (
	"context"
	"time"
)

// A pace is how soon a child that is not heard of is asked, shown as hung, and
// stopped.
type pace struct {
	every time.Duration // how often a child is looked at that leaves calls waiting
	quiet time.Duration // how long a call waits, and nothing is heard of the child, before it is asked
	// It is shown as hung when it has not answered within least. But it may be busy
	// with a call in such a way that it answers nothing else: so it is stopped when
	// it has not answered within a quarter of the time of a call, between these.
	least, most time.Duration
}

var usualPace = pace{every: 10 * time.Second, quiet: 30 * time.Second, least: 15 * time.Second, most: 5 * time.Minute}

// A pulse is what is known of a run's being alive. It belongs to the instance's
// goroutine.
type pulse struct {
	pace   pace
	answer time.Duration // how long it has to answer
	heard  uint64        // Facts.Heard when it was looked at last
	since  time.Time     // when that was seen to have grown
	asked  time.Time     // when it was asked; zero where it is not
	due    *time.Timer   // the end of its time to answer
	forget context.CancelFunc
}

// newPulse returns the pulse of a run whose calls may take so long.
func newPulse(at pace, callTimeout time.Duration) pulse {
	p := pulse{pace: at, answer: min(at.most, max(at.least, callTimeout/4)), due: time.NewTimer(time.Hour), forget: func() {}}
	p.due.Stop()
	return p
}

func (p *pulse) stop() {
	p.forget()
	p.due.Stop()
}

// A sign is all that decides whether a child is alive.
type sign struct {
	waited     time.Duration // how long a call has been left waiting; 0: none is
	inVain     bool          // one has ended by its time
	quiet      time.Duration // since something was heard, as far as is known
	asked      bool          // it has been asked, and nothing was heard since
	unanswered time.Duration // since it was asked
}

// pulseAction is what follows from a sign.
type pulseAction uint8

const (
	pulseRest pulseAction = iota // nothing: it is alive, or there is time; the zero value harms nobody
	pulseAsk
	pulseShow
	pulseHung
)

func (p *pulse) decide(s sign) pulseAction {
	switch {
	case s.asked && s.unanswered >= p.answer:
		return pulseHung
	case s.asked && s.unanswered >= p.pace.least:
		return pulseShow
	case s.asked:
		return pulseRest
	case s.inVain, s.waited >= p.pace.quiet && s.quiet >= p.pace.quiet:
		return pulseAsk
	}
	return pulseRest
}

// noteHeard takes in Facts.Heard. answered: it had been asked, and that has grown.
func (p *pulse) noteHeard(now time.Time, heard uint64) (answered bool) {
	if heard == p.heard && !p.since.IsZero() {
		return false
	}
	p.heard, p.since = heard, now
	if p.asked.IsZero() {
		return false
	}
	p.asked = time.Time{}
	p.stop()
	return true
}

// next tells what follows from how long calls have been waiting.
func (p *pulse) next(now time.Time, waited time.Duration, inVain bool) pulseAction {
	return p.decide(sign{waited, inVain, now.Sub(p.since), !p.asked.IsZero(), now.Sub(p.asked)})
}

// ask notes that the child is being asked; ctx ends when that is not needed any more.
func (p *pulse) ask(now time.Time) (ctx context.Context) {
	ctx, p.forget = context.WithCancel(context.Background())
	p.asked = now
	p.due.Reset(p.pace.least)
	return ctx
}

// left is how long the child still has to answer; then due goes off.
func (p *pulse) left(now time.Time) time.Duration {
	left := p.answer - now.Sub(p.asked)
	p.due.Reset(left)
	return left
}

// dueC delivers when the time to answer is over.
func (p *pulse) dueC() <-chan time.Time { return p.due.C }
