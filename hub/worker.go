package hub

import (
	"context"
	"sync"
)

// A worker does one piece of work whenever it is woken, on a goroutine that
// lives only while there is something to do: a session that rests has none. Work
// that is asked for while it is under way is done once more afterwards.
//
// Its zero value with do set waits for start. Its methods may be called from any
// goroutine.
type worker struct {
	do func(ctx context.Context)

	mu      sync.Mutex
	ctx     context.Context // nil before start
	due     bool            // do is to be called
	working bool            // a goroutine is there that will see to it
	stopped bool
	ended   sync.WaitGroup
}

// wake has the work done soon. It never blocks.
func (w *worker) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = true
	w.begin()
}

// start lets the work begin; ctx is what it is given.
func (w *worker) start(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
	w.begin()
}

// stop returns when the work under way has ended, and lets none begin any more.
// End the context given to start first.
func (w *worker) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.ended.Wait()
}

// begin is for callers that hold mu.
func (w *worker) begin() {
	if w.due && !w.working && !w.stopped && w.ctx != nil {
		w.working = true
		w.ended.Go(w.work)
	}
}

func (w *worker) work() {
	for {
		w.mu.Lock()
		if !w.due || w.stopped {
			w.working = false
			w.mu.Unlock()
			return
		}
		w.due = false
		w.mu.Unlock()
		w.do(w.ctx)
	}
}
