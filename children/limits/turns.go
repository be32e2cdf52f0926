package limits

import (
	"context"
	"runtime"
	"time"
)

// DefaultMaxStarting bounds how many children start at a time.
const DefaultMaxStarting = 8

const (
	// turnTime bounds how long a child that starts keeps others from starting.
	turnTime = 3 * time.Second
	// loadTime bounds how long one is taken to keep a processor busy.
	loadTime = 200 * time.Millisecond
)

// Turns bound how many children start at a time: in all, and of them those that
// are loading their programs. More of the latter than the processors can do
// would make the first one ready as late as the last.
type Turns struct {
	starting chan struct{} // a token for each
	loading  chan struct{}
}

// NewTurns returns those that let so many start at a time; 0: DefaultMaxStarting.
func NewTurns(most int) Turns {
	if most <= 0 {
		most = DefaultMaxStarting
	}
	return Turns{starting: make(chan struct{}, most), loading: make(chan struct{}, min(most, 2*runtime.GOMAXPROCS(0)))}
}

// A Turn is the right of one child to start.
type Turn struct {
	held   []chan struct{}
	timers []*time.Timer
}

// Take waits for a turn; nil when ctx ends first. waits is called where there is none
// at once. A turn ends early for a child that takes long: being slow delays nobody.
func (all Turns) Take(ctx context.Context, waits func()) *Turn {
	t := &Turn{}
	for _, of := range []struct {
		tokens chan struct{}
		most   time.Duration
	}{{all.starting, turnTime}, {all.loading, loadTime}} {
		select {
		case of.tokens <- struct{}{}:
		default:
			waits()
			select {
			case of.tokens <- struct{}{}:
			case <-ctx.Done():
				t.End()
				return nil
			}
		}
		t.held = append(t.held, of.tokens)
		tokens := of.tokens
		t.timers = append(t.timers, time.AfterFunc(of.most, func() { <-tokens }))
	}
	return t
}

// End gives back what time has not taken. Calling it again does nothing.
func (t *Turn) End() {
	for i, timer := range t.timers {
		if timer.Stop() {
			<-t.held[i]
		}
	}
	t.timers = nil
}
