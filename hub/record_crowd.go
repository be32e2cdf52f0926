package hub

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
)

// A crowd is a lane for calls of one session that come each on a goroutine of its
// own, over HTTP and in the modern era: who comes first records all who are there by then, with one
// line and one write, and sends them on. The others wait for nothing but their
// answers, so that it costs them no waking.
type crowd struct {
	s *Session

	// Of who leads.
	batch   jsonrpc.Batch
	going   []*quickCall
	calls   []audit.Call
	tickets []audit.Ticket

	mu  sync.Mutex
	tab crowdTables
}

// crowdTables is what crowd.mu guards.
type crowdTables struct {
	held, spare []*quickCall
	led         bool // somebody sees to those who are held
	company     int  // others came meanwhile, not long ago
}

const (
	mostCrowd = 64 // calls of one line
	// sociable is how many lone calls look around for others, once there were some.
	sociable = 8
	// mostLed is how often one caller does the work for others that came later.
	mostLed = 4
)

var errCrowdBroken = errors.New("internal error: recording this request made the hub panic; the log has the details")

// send records a call and sends it, or leaves that to somebody: c.done tells of
// its end. The line is with the operating system before the child sees anything.
func (w *crowd) send(c *quickCall) {
	w.mu.Lock()
	w.tab.held = append(w.tab.held, c)
	if w.tab.led {
		w.tab.company = sociable
		w.mu.Unlock()
		return
	}
	w.tab.led = true
	social := w.tab.company > 0
	w.mu.Unlock()
	if social {
		// On a busy machine whoever runs would write at once, one after the other.
		runtime.Gosched()
		w.mu.Lock()
		if len(w.tab.held) == 1 {
			w.tab.company--
		}
		w.mu.Unlock()
	}
	if !w.lead(mostLed) {
		go w.lead(math.MaxInt)
	}
}

// lead sends those who are held, round after round; false: there are more, and
// they still have nobody else.
func (w *crowd) lead(most int) bool {
	for range most {
		if !w.take() {
			return true
		}
		w.round()
	}
	return false
}

// take takes those who are held; false: there are none, and nobody leads any more.
func (w *crowd) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.tab.held
	if len(held) == 0 {
		w.tab.led = false
		return false
	}
	n := min(len(held), mostCrowd)
	w.going = append(w.going[:0], held[:n]...)
	w.tab.held = append(w.tab.spare[:0], held[n:]...)
	clear(held)
	w.tab.spare = held[:0]
	return true
}

// round records those who go, and sends them. What is broken in one must not
// leave the others waiting.
func (w *crowd) round() {
	settled := 0
	defer func() {
		if p := recover(); p != nil {
			w.s.log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("recording calls panicked")
			for _, c := range w.going[settled:] {
				c.fail(errCrowdBroken)
			}
		}
		clear(w.going)
		clear(w.calls)
		clear(w.tickets)
	}()
	w.batch.Together(func(b *jsonrpc.Batch) {
		tickets, err := w.record()
		for i, c := range w.going {
			var t audit.Ticket
			if len(tickets) > 0 {
				t = tickets[i]
			}
			c.leave(b, t, err)
			settled++
		}
	})
}

// record writes the line. An error: nothing may be sent.
func (w *crowd) record() ([]audit.Ticket, error) {
	cfg := &w.s.hub.now().cfg.Audit
	w.calls = w.calls[:0]
	for _, c := range w.going {
		w.calls = append(w.calls, c.line)
	}
	var err error
	w.tickets, err = cfg.To.AppendCalls(context.Background(), w.tickets[:0], w.s.id, w.calls, time.Now())
	if err != nil && cfg.Required {
		return w.tickets, &unrecordedError{err}
	}
	return w.tickets, nil
}

// leave sends a call that is recorded, unless nobody waits for it any more or err
// forbids it. Where that cannot be done at once c is told.
func (c *quickCall) leave(b *jsonrpc.Batch, t audit.Ticket, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		t.Outcome(audit.ResultNotSent)
		c.err = err
	case c.gone != nil:
		t.Outcome(audit.ResultCancelled)
		c.err = c.gone
	default:
		c.ticket = t
		if c.lease.Start(&c.call, c, b, methodCall, c.own, c.params...) {
			c.sent = true
			return
		}
		c.full = true
	}
	c.done <- struct{}{}
}

// fail tells a call that it was not sent, or need not be waited for.
func (c *quickCall) fail(err error) {
	c.err = err
	select {
	case c.done <- struct{}{}:
	default: // it has been told otherwise
	}
}

// Abandon gives the call up, whether it was sent or not.
func (c *quickCall) Abandon(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == nil {
		c.gone = cause
	}
	if c.sent {
		c.call.Abandon(cause)
	}
}
