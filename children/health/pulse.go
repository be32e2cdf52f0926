package health

import (
	"context"
	"time"
)

// A Pace is how soon a child that is not heard of is asked, shown as hung, and
// stopped.
type Pace struct {
	Every time.Duration // how often a child is looked at that leaves calls waiting
	Quiet time.Duration // how long a call waits, and nothing is heard of the child, before it is asked
	// A child that was asked is shown as hung if it has not answered within Least. It may be busy with a call in such a way that it answers
	// nothing else. So it is stopped only if it has not answered within a quarter of the time of a call, which is taken for Least if it is less
	// and for Most if it is more.
	Least, Most time.Duration
}

var UsualPace = Pace{Every: 10 * time.Second, Quiet: 30 * time.Second, Least: 15 * time.Second, Most: 5 * time.Minute}

// A Pulse is what is known of a run's being alive. It belongs to the instance's
// goroutine.
type Pulse struct {
	pace   Pace
	answer time.Duration // how long it has to answer
	heard  uint64        // ConnectionFacts.Heard when it was looked at last
	since  time.Time     // when that was seen to have grown
	asked  time.Time     // when it was asked; zero if it is not
	due    *time.Timer   // the end of its time to answer
	forget context.CancelFunc
}

// NewPulse returns the pulse of a run whose calls may take so long.
func NewPulse(at Pace, callTimeout time.Duration) Pulse {
	p := Pulse{pace: at, answer: min(at.Most, max(at.Least, callTimeout/4)), due: time.NewTimer(time.Hour), forget: func() {}}
	p.due.Stop()
	return p
}

// Stop ends the asking, and the time to answer.
func (p *Pulse) Stop() {
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

// Action is what follows from a sign.
type Action uint8

const (
	Rest Action = iota // nothing: it is alive, or there is time; the zero value harms no one
	Ask
	Show
	Hung
)

func (p *Pulse) decideAction(s sign) Action {
	switch {
	case s.asked && s.unanswered >= p.answer:
		return Hung
	case s.asked && s.unanswered >= p.pace.Least:
		return Show
	case s.asked:
		return Rest
	case s.inVain, s.waited >= p.pace.Quiet && s.quiet >= p.pace.Quiet:
		return Ask
	}
	return Rest
}

// Heard takes in ConnectionFacts.Heard, which grows with each message. answered is true if the child had been
// asked and has been heard of since.
func (p *Pulse) Heard(now time.Time, heard uint64) (answered bool) {
	if heard == p.heard && !p.since.IsZero() {
		return false
	}
	p.heard, p.since = heard, now
	if p.asked.IsZero() {
		return false
	}
	p.asked = time.Time{}
	p.Stop()
	return true
}

// Next returns what follows from how long calls have been waiting.
func (p *Pulse) Next(now time.Time, waited time.Duration, inVain bool) Action {
	return p.decideAction(sign{waited, inVain, now.Sub(p.since), !p.asked.IsZero(), now.Sub(p.asked)})
}

// Ask remembers that the child is being asked; ctx ends when that is not needed any more.
func (p *Pulse) Ask(now time.Time) (ctx context.Context) {
	ctx, p.forget = context.WithCancel(context.Background())
	p.asked = now
	p.due.Reset(p.pace.Least)
	return ctx
}

// Left returns how long the child still has to answer; then due goes off.
func (p *Pulse) Left(now time.Time) time.Duration {
	left := p.answer - now.Sub(p.asked)
	p.due.Reset(left)
	return left
}

// Due delivers when the time to answer is over.
func (p *Pulse) Due() <-chan time.Time { return p.due.C }
