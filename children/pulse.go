package children

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcphub/children/link"
)

// This file tells a child that is hung from one that is slow (U5). While a call
// waits and nothing is heard of the child it is asked whether it is there: by ping,
// or without a handshake by server/discover. What answers that, or says anything
// else, is slow, and its calls are left alone. What does not is shown as hung, and
// where that lasts it is stopped and started again, and all its calls end.

// A pace is how soon all that happens.
type pace struct {
	every time.Duration // how often a child is looked at that leaves calls waiting
	quiet time.Duration // how long a call waits, and nothing is heard of the child, before it is asked
	// It is shown as hung when it has not answered within least. But it may be busy
	// with a call in such a way that it answers nothing else: so it is stopped when
	// it has not answered within a quarter of the time of a call, between these.
	least, most time.Duration
}

var usualPace = pace{every: 10 * time.Second, quiet: 30 * time.Second, least: 15 * time.Second, most: 5 * time.Minute}

const hung = "hung"

var errHung = errors.New("hung: it answered neither its calls nor the question whether it is there, and was stopped")

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
	before string // what Status.Err said before it was shown as hung
}

func newPulse(at pace, callTimeout time.Duration) pulse {
	if callTimeout <= 0 {
		callTimeout = DefaultCallTimeout
	}
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

// checkPulse takes the child's pulse. It returns why the run must end, if it must.
func (s *serving) checkPulse() (why string) {
	now, p := time.Now(), &s.pulse
	waited, inVain := s.r.idle.waited(now)
	if heard := s.r.link.Facts().Heard; heard != p.heard || p.since.IsZero() {
		p.heard, p.since = heard, now
		if !p.asked.IsZero() {
			p.asked = time.Time{}
			p.stop()
			if s.c.view.Load().status.State == Hung {
				s.c.publish(func(v *view) { v.status.State, v.status.Err = Ready, p.before })
			}
		}
	}
	switch p.decide(sign{waited, inVain, now.Sub(p.since), !p.asked.IsZero(), now.Sub(p.asked)}) {
	case pulseHung:
		return hung
	case pulseAsk:
		s.ask(now)
	case pulseShow:
		s.shows(now)
	}
	return ""
}

// ask asks the child whether it is there. Any answer counts, an error too.
func (s *serving) ask(now time.Time) {
	p := &s.pulse
	var ctx context.Context
	ctx, p.forget = context.WithCancel(context.Background())
	p.asked = now
	p.due.Reset(p.pace.least)
	method := methodPing
	if s.r.modern.Load() != nil {
		method = link.MethodDiscover
	}
	s.wg.Go(func() {
		if res, err := s.r.way().Call(ctx, method); err == nil {
			res.Release()
		}
		wake(s.r.idle.slow)
	})
}

// shows says of a child that it is hung, before it is stopped for that.
func (s *serving) shows(now time.Time) {
	p := &s.pulse
	left := p.answer - now.Sub(p.asked)
	p.due.Reset(left)
	if s.c.view.Load().status.State == Hung {
		return
	}
	text := fmt.Sprintf("it answers neither its calls nor whether it is there; unless it does, it is started again in %s", left.Round(time.Second))
	s.c.log.Warn().Msg(text)
	s.c.publish(func(v *view) { p.before, v.status.State, v.status.Err = v.status.Err, Hung, text })
}
