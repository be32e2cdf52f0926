package call

import (
	"sync"
	"sync/atomic"

	"mcphub/internal/jsonrpc"
)

// This file makes calls for a goroutine that waits for nothing but the answer: without
// the contexts that those need who may have to wait for more. The child's read loop
// copies the answer and wakes that goroutine.

// quickFrame is the longest request, in bytes, that is made so: it is copied into
// the child's pipe.
const quickFrame = 16 << 10

// A Waiter takes the answer to a call for a goroutine that waits for it.
type Waiter struct {
	*jsonrpc.Cancellation // of the request
	spent                 atomic.Bool
	answer                jsonrpc.Answer
	done                  chan struct{} // gets a token with the answer
}

// dones are channels that can be used again: each has had its token taken.
type dones struct{ pool sync.Pool }

func (d *dones) take() chan struct{} {
	if c, ok := d.pool.Get().(chan struct{}); ok {
		return c
	}
	return make(chan struct{}, 1)
}

// Answer takes the first answer.
func (w *Waiter) Answer(a jsonrpc.Answer) {
	if w.spent.Swap(true) {
		if a.Release != nil {
			a.Release()
		}
		return
	}
	a.Own()
	w.answer = a
	w.done <- struct{}{}
}

// Batch is nil: each request comes by itself.
func (w *Waiter) Batch() *jsonrpc.Batch { return nil }

// ToolAndWait answers a call that waits for nothing but its answer; false: nothing
// was done for it.
func (s *Session) ToolAndWait(from Client, w *Waiter, m *jsonrpc.Message) (jsonrpc.Answer, bool) {
	if len(m.Frame) > quickFrame {
		return jsonrpc.Answer{}, false
	}
	w.done = s.dones.take()
	ok := s.TryTool(m, from, w, false)
	if ok {
		<-w.done
	}
	s.dones.pool.Put(w.done)
	return w.answer, ok
}
