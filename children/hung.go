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
func (served *servedRun) checkPulse() (why string) {
	now, p := time.Now(), &served.pulse
	waited, inVain := served.run.Timers.Waited(now)
	if p.Heard(now, served.run.Facts().Heard) && served.child.snapshot.Load().status.State == Hung {
		served.child.publishSnapshot(func(v *instanceSnapshot) { v.status.State, v.status.Err = Ready, served.before })
	}
	switch p.Next(now, waited, inVain) {
	case health.Hung:
		return hung
	case health.Ask:
		served.askChild(now)
	case health.Show:
		served.showHung(now)
	}
	return ""
}

// askChild asks the child whether it is there. Any answer counts, an error too.
func (served *servedRun) askChild(now time.Time) {
	ctx := served.pulse.Ask(now)
	method := "ping"
	if served.run.IsModern() {
		method = methods.Discover
	}
	served.wg.Go(func() {
		if res, err := served.run.Connection().Call(ctx, method); err == nil {
			res.Release()
		}
		served.run.Timers.LookNow()
	})
}

// showHung publishes that the child is hung, before it is stopped for that.
func (served *servedRun) showHung(now time.Time) {
	left := served.pulse.Left(now)
	if served.child.snapshot.Load().status.State == Hung {
		return
	}
	text := fmt.Sprintf("it answers neither its calls nor whether it is there; unless it does, it is started again in %s", left.Round(time.Second))
	served.child.log.Warn().Msg(text)
	served.child.publishSnapshot(func(v *instanceSnapshot) { served.before, v.status.State, v.status.Err = v.status.Err, Hung, text })
}
