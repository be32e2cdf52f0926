package turns

import (
	"fmt"
	"time"

	"mcphub/validate/policy"
)

// Limits bound the requests to one server. The zero value bounds none.
type Limits struct {
	All   Bound
	Tools []ToolBound // beside All, each of the requests whose name fits
}

// A ToolBound bounds the requests whose name fits a pattern, together.
type ToolBound struct {
	Pattern string // of the server's own names of tools, and of the methods of other requests
	Bound
}

// A Bound is on some requests of a server. The zero value is none.
type Bound struct {
	Calls int // under way at a time; 0: any number
	Queue int // that wait, with Calls
	Rate  Rate
}

// A Rate is a number of requests that begin in any period of that length; zero: any number.
type Rate struct {
	N   int
	Per time.Duration
}

// String returns the rate as hub.json has it.
func (r Rate) String() string {
	unit := r.Per.String()
	switch r.Per {
	case time.Second:
		unit = "s"
	case time.Minute:
		unit = "min"
	case time.Hour:
		unit = "h"
	}
	return fmt.Sprintf("%d/%s", r.N, unit)
}

// AreNone reports whether the limits bound nothing.
func (l Limits) AreNone() bool { return l.All == Bound{} && len(l.Tools) == 0 }

// An ExceededError reports which bound has no room for a request.
type ExceededError struct {
	Server  string
	Pattern string // of the bound; "": it is the one of all requests
	Bound   Bound
	OfRate  bool          // it is the rate that has no room
	Again   time.Duration // after which it is worth trying again
}

func (e *ExceededError) Error() string {
	if e.OfRate {
		return "the server has more requests than its rate allows"
	}
	return "the server has as many requests under way and waiting as it may have"
}

// retryAfter is the pause that is proposed if nothing is known about when there is room.
const retryAfter = time.Second

// A gauge counts what one Bound bounds.
type gauge struct {
	Bound
	pattern string // "": all requests
	running int
	waiting int         // requests, whatever they wait for
	queued  int         // those that had to wait for room of this gauge
	began   []time.Time // of the last requests, the oldest first, with a rate
}

// countsName reports whether the gauge counts requests of a name. A pattern that cannot be read fits all: it bounds more.
func (g *gauge) countsName(name string) bool {
	if g.pattern == "" {
		return true
	}
	ok, err := policy.MatchName(g.pattern, name)
	return ok || err != nil
}

// hasRoom reports whether one more request may begin.
func (g *gauge) hasRoom() bool { return g.Calls == 0 || g.running < g.Calls }

// checkRate returns how long a request has to stay away; 0: it may come. What waits counts as what has begun, so that
// everything that waits may begin as soon as there is room.
func (g *gauge) checkRate(now time.Time) time.Duration {
	if g.Rate.N == 0 {
		return 0
	}
	g.forgetOld(now)
	switch taken := len(g.began) + g.waiting; {
	case taken < g.Rate.N:
		return 0
	case len(g.began) == 0:
		return retryAfter
	default:
		return max(g.began[min(taken-g.Rate.N, len(g.began)-1)].Add(g.Rate.Per).Sub(now), time.Millisecond)
	}
}

func (g *gauge) forgetOld(now time.Time) {
	old := 0
	for old < len(g.began) && now.Sub(g.began[old]) >= g.Rate.Per {
		old++
	}
	g.began = g.began[old:] // append moves what is left when it needs room
}

// countBegun counts a request that begins.
func (g *gauge) countBegun(now time.Time) {
	g.running++
	if g.Rate.N > 0 {
		g.forgetOld(now)
		g.began = append(g.began, now)
	}
}
