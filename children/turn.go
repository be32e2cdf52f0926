package children

import (
	"runtime"
	"time"
)

const (
	// turnTime bounds how long a child that starts keeps others from starting.
	turnTime = 3 * time.Second
	// loadTime bounds how long one is taken to keep a processor busy.
	loadTime = 200 * time.Millisecond
)

// turns bound how many children start at a time: in all, and of them those that
// are loading their programs. More of the latter than the processors can do
// would make the first one ready as late as the last.
type turns struct {
	starting chan struct{} // a token for each
	loading  chan struct{}
}

func newTurns(most int) turns {
	return turns{starting: make(chan struct{}, most), loading: make(chan struct{}, min(most, 2*runtime.GOMAXPROCS(0)))}
}

// A turn is the right of one child to start.
type turn struct {
	held   []chan struct{}
	timers []*time.Timer
}

// takeTurn waits for the child's turn; nil when its life ends first. A turn
// ends early for a child that takes long: being slow delays nobody.
func (c *child) takeTurn() *turn {
	t := &turn{}
	for _, of := range []struct {
		tokens chan struct{}
		most   time.Duration
	}{{c.common.turns.starting, turnTime}, {c.common.turns.loading, loadTime}} {
		select {
		case of.tokens <- struct{}{}:
		default:
			c.state(Waiting, "waits for its turn: many children are starting")
			select {
			case of.tokens <- struct{}{}:
			case <-c.ctx.Done():
				t.end()
				return nil
			}
		}
		t.held = append(t.held, of.tokens)
		tokens := of.tokens
		t.timers = append(t.timers, time.AfterFunc(of.most, func() { <-tokens }))
	}
	return t
}

// end gives back what time has not taken. Calling it again does nothing.
func (t *turn) end() {
	for i, timer := range t.timers {
		if timer.Stop() {
			<-t.held[i]
		}
	}
	t.timers = nil
}
