package children

import (
	"fmt"
	"time"

	"mcphub/children/health"
	"mcphub/internal/methods"
)

// This file tells a hung child from a slow one. If a call waits and nothing is heard
// of the child, it is asked whether it is there: by ping, or without a handshake by
// server/discover. A child that sends any message is slow, and its calls go on. A
// child that sends none is shown as hung. If that lasts, it is stopped and started
// again, and all its calls end.

const hung = "hung"

// checkPulse looks whether the child is hung. It returns why the run must end, if it
// must.
func (s *servedRun) checkPulse() (why string) {
	now, p := time.Now(), &s.pulse
	waited, inVain := s.run.Timers.Waited(now)
	if p.Heard(now, s.run.Facts().Heard) && s.child.snapshot.Load().status.State == Hung {
		s.child.publishSnapshot(func(v *instanceSnapshot) { v.status.State, v.status.Err = Ready, s.before })
	}
	switch p.Next(now, waited, inVain) {
	case health.Hung:
		return hung
	case health.Ask:
		s.askChild(now)
	case health.Show:
		s.showHung(now)
	}
	return ""
}

// askChild asks the child whether it is there. Any answer counts, an error too.
func (s *servedRun) askChild(now time.Time) {
	ctx := s.pulse.Ask(now)
	method := "ping"
	if s.run.IsModern() {
		method = methods.Discover
	}
	s.wg.Go(func() {
		if res, err := s.run.Connection().Call(ctx, method); err == nil {
			res.Release()
		}
		s.run.Timers.LookNow()
	})
}

// showHung publishes that the child is hung, before it is stopped for that.
func (s *servedRun) showHung(now time.Time) {
	left := s.pulse.Left(now)
	if s.child.snapshot.Load().status.State == Hung {
		return
	}
	text := fmt.Sprintf("it answers neither its calls nor whether it is there; unless it does, it is started again in %s", left.Round(time.Second))
	s.child.log.Warn().Msg(text)
	s.child.publishSnapshot(func(v *instanceSnapshot) { s.before, v.status.State, v.status.Err = v.status.Err, Hung, text })
}
