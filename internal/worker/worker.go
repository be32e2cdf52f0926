package worker

import (
	"context"
	"sync"
)

// A Worker does one piece of work whenever it is woken. Work that is asked for
// while it is under way is done again afterwards.
//
// Its zero value with Do set waits for Start.
type Worker struct {
	Do func(ctx context.Context)

	mu      sync.Mutex
	ctx     context.Context // nil before Start
	due     bool            // Do is to be called
	working bool            // a goroutine is there that will see to it
	stopped bool
	ended   sync.WaitGroup
}

// Wake has the work done soon. It never blocks.
func (w *Worker) Wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = true
	w.startRun()
}

// Start lets the work start; ctx is what it is given.
func (w *Worker) Start(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
	w.startRun()
}

// Go does something beside the work. It is for Do alone.
func (w *Worker) Go(beside func()) { w.ended.Go(beside) }

// Stop returns when the work under way has ended, and lets none start any more.
// End the context given to Start first.
func (w *Worker) Stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.ended.Wait()
}

// startRun expects the caller to hold mu.
func (w *Worker) startRun() {
	if w.due && !w.working && !w.stopped && w.ctx != nil {
		w.working = true
		w.ended.Go(w.workUntilDone)
	}
}

func (w *Worker) workUntilDone() {
	for {
		w.mu.Lock()
		if !w.due || w.stopped {
			w.working = false
			w.mu.Unlock()
			return
		}
		w.due = false
		w.mu.Unlock()
		w.Do(w.ctx)
	}
}
