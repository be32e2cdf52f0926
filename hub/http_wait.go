package hub

import (
	"sync"
	"sync/atomic"

	"mcphub/internal/jsonrpc"
)

// This file makes calls over HTTP that wait for nothing but their answer: without
// the contexts that those need who may have to wait for more. The child's read loop
// puts the answer together and wakes the goroutine of the POST.

// quickFrame is the longest request, in bytes, that is made so: it is copied into
// the child's pipe.
const quickFrame = 16 << 10

// framed is an answer, and the whole frame of it where that is put together
// already.
type framed struct {
	jsonrpc.Answer
	frame []byte
}

// frameAnswer is a copy of an answer, as the frame that is sent.
func frameAnswer(id []byte, of jsonrpc.Answer) framed {
	member, body := `,"result":`, of.Result
	if body == nil {
		member, body = `,"error":`, of.Error
	}
	const head = `{"jsonrpc":"2.0","id":`
	b := make([]byte, 0, len(head)+len(id)+len(member)+len(body)+1)
	b = append(append(append(b, head...), id...), member...)
	from := len(b)
	b = append(append(b, body...), '}')
	a := framed{frame: b}
	if part := b[from : len(b)-1 : len(b)-1]; of.Result != nil {
		a.Result = part
	} else {
		a.Error = part
	}
	return a
}

// A waiter takes the answer to a call for a goroutine that waits for it.
type waiter struct {
	id     []byte // raw
	u      *underway
	spent  atomic.Bool
	answer framed
	done   chan struct{} // gets a token with the answer
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
func (w *waiter) Answer(a jsonrpc.Answer) {
	if w.spent.Swap(true) {
		if a.Release != nil {
			a.Release()
		}
		return
	}
	if a.Lent() {
		w.answer = frameAnswer(w.id, a)
	} else {
		w.answer.Answer = a
	}
	w.done <- struct{}{}
}

// OnCancel has the end of the request end the call.
func (w *waiter) OnCancel(stop jsonrpc.Stopper) { w.u.onEnd(stop) }

// Batch is nil: each request comes by itself.
func (w *waiter) Batch() *jsonrpc.Batch { return nil }

// callAndWait answers a call that waits for nothing but its answer; false: nothing
// was done for it.
func (s *Session) callAndWait(from client, u *underway, m *jsonrpc.Message) (framed, bool) {
	if len(m.Frame) > quickFrame {
		return framed{}, false
	}
	s.begin()
	w := &waiter{id: m.ID, u: u, done: s.dones.take()}
	ok := s.tryCall(m, from, w, false)
	if ok {
		<-w.done
	}
	s.dones.pool.Put(w.done)
	return w.answer, ok
}
