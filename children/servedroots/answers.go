package servedroots

import (
	"sync/atomic"

	"mcphub/internal/worker"
)

// Answers is what is known of the answers to one run's roots/list. It may be used from
// any goroutine.
type Answers struct {
	written chan struct{} // holds a token after each
	gen     atomic.Uint64 // the newest generation of roots in one
	any     atomic.Bool
	waited  atomic.Bool  // one of its questions has waited for roots
	open    atomic.Int32 // questions that have not been answered
	told    atomic.Bool  // it was told about roots that it has yet to ask for
}

// NoteQuestion remembers that a question came, and NoteAnswer that it was answered.
func (a *Answers) NoteQuestion() { a.open.Add(1) }

// NoteAnswer remembers that a question was answered with the roots of a generation.
func (a *Answers) NoteAnswer(gen uint64) {
	a.open.Add(-1)
	a.NoteGiven(gen)
}

// NoteGiven remembers that the child was given the roots of a generation: whatever is
// sent to it from now on comes after them.
func (a *Answers) NoteGiven(gen uint64) {
	for {
		old := a.gen.Load()
		if gen <= old || a.gen.CompareAndSwap(old, gen) {
			break
		}
	}
	a.any.Store(true)
	a.told.Store(false)
	worker.Signal(a.written)
}

// NoteWaiting remembers that a question waits for roots that are not known yet. It comes
// before they do.
func (a *Answers) NoteWaiting() { a.waited.Store(true) }

// WasTold reports whether the child was told a moment ago that its roots have changed, and has yet to ask
// for them. The question that comes now is taken to be on account of that.
func (a *Answers) WasTold() bool { return a.told.Load() }

// WasAsked reports whether the child has been given roots at all.
func (a *Answers) WasAsked() bool { return a.any.Load() }

// Written delivers after the child was given roots.
func (a *Answers) Written() <-chan struct{} { return a.written }
