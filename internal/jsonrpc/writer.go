package jsonrpc

import (
	"context"
	"io"
	"sync"
)

// DefaultQueue bounds what waits to be written to one peer, in bytes.
const DefaultQueue = 8 << 20

const (
	borrowed = 32 << 10 // parts above are not copied into the queue
	piece    = 64 << 10 // small parts are gathered into pieces of this size
)

// A Writer writes frames to one peer: in the order of Send, one at a time,
// each whole. At most its limit of bytes waits; who comes then waits for room
// or for the end of its context. Where the peer can take a frame at once it is
// written by the sender itself, without waking anybody; only what does not fit
// is left to a goroutine, which ends when nothing is left to write.
type Writer struct {
	w   io.Writer
	try tryWriter // nil: no attempt without blocking can be made

	mu      sync.Mutex
	queue   []chunk
	size    int
	limit   int
	writing bool // somebody, who need not hold mu, is writing
	err     error
	room    chan struct{} // closed when there may be room; nil when nobody waits
	scratch []byte        // of who is writing
	wg      sync.WaitGroup
}

// chunk is a run of bytes to be written. done, where set, is closed when they
// have been: then the bytes are somebody else's and not a copy.
type chunk struct {
	b    []byte
	done chan struct{}
}

// NewWriter returns a Writer with room for limit bytes (0: the default).
func NewWriter(w io.Writer, limit int) *Writer {
	if limit <= 0 {
		limit = DefaultQueue
	}
	return &Writer{w: w, try: newTryWriter(w), limit: limit}
}

// Send writes one frame, given in parts, and a line end. It returns when the
// frame has been written or has its place in the queue; a large part is not
// copied, so then it returns only when it has been written. With an error the
// frame has not been queued, except that a context which ends while a large
// part is being written leaves that part in use: who gets an error must not
// write to the parts again.
func (w *Writer) Send(ctx context.Context, parts ...[]byte) error {
	total := 1
	for _, p := range parts {
		total += len(p)
	}
	w.mu.Lock()
	for w.err == nil && w.size > 0 && w.size+total > w.limit {
		if w.room == nil {
			w.room = make(chan struct{})
		}
		room := w.room
		w.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		w.mu.Lock()
	}
	if w.err != nil {
		defer w.mu.Unlock()
		return w.err
	}
	if !w.writing && w.try != nil && total <= borrowed {
		return w.direct(parts)
	}
	done := w.enqueue(parts)
	w.start()
	w.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TrySend queues one frame if there is room for it and the peer is there. It
// never blocks. Its parts are copied.
func (w *Writer) TrySend(parts ...[]byte) bool {
	total := 1
	for _, p := range parts {
		total += len(p)
	}
	w.mu.Lock()
	if w.err != nil || (w.size > 0 && w.size+total > w.limit) {
		w.mu.Unlock()
		return false
	}
	if !w.writing && w.try != nil && total <= borrowed {
		return w.direct(parts) == nil
	}
	for i, p := range parts {
		if len(p) > borrowed {
			parts[i] = append([]byte(nil), p...)
		}
	}
	w.enqueue(parts)
	w.start()
	w.mu.Unlock()
	return true
}

// direct writes a small frame on the caller's goroutine as far as that is
// possible without blocking. It is called with mu held and nobody writing,
// and returns with mu released.
func (w *Writer) direct(parts [][]byte) error {
	w.writing = true
	w.mu.Unlock()
	b := w.scratch[:0]
	for _, p := range parts {
		b = append(b, p...)
	}
	b = append(b, '\n')
	w.scratch = b
	n, err := w.try.tryWrite(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		w.writing = false
		w.fail(err)
	case n < len(b):
		rest := append([]byte(nil), b[n:]...)
		w.queue = append([]chunk{{b: rest}}, w.queue...)
		w.size += len(rest)
		w.spawn()
	case len(w.queue) > 0:
		w.spawn()
	default:
		w.writing = false
		w.wake()
	}
	return w.err
}

// enqueue puts a frame into the queue; done is not nil when a part of it was
// borrowed. It is called with mu held.
func (w *Writer) enqueue(parts [][]byte) (done chan struct{}) {
	for _, p := range parts {
		if len(p) > borrowed {
			done = make(chan struct{})
			w.queue = append(w.queue, chunk{b: p, done: done})
			w.size += len(p)
			continue
		}
		w.gather(p)
	}
	w.gather(newline)
	return done
}

var newline = []byte{'\n'}

// gather copies p behind what waits.
func (w *Writer) gather(p []byte) {
	w.size += len(p)
	if n := len(w.queue); n > 0 {
		last := &w.queue[n-1]
		if last.done == nil && len(last.b)+len(p) <= piece {
			last.b = append(last.b, p...)
			return
		}
	}
	w.queue = append(w.queue, chunk{b: append(make([]byte, 0, max(512, len(p))), p...)})
}

func (w *Writer) start() {
	if !w.writing {
		w.writing = true
		w.spawn()
	}
}

// spawn starts the goroutine that writes the queue. It is called with mu held
// and w.writing set.
func (w *Writer) spawn() {
	w.wg.Add(1)
	go w.drain()
}

func (w *Writer) drain() {
	defer w.wg.Done()
	for {
		w.mu.Lock()
		queue := w.queue
		w.queue = nil
		if len(queue) == 0 || w.err != nil {
			w.queue = queue
			w.writing = false
			if w.err != nil {
				w.fail(w.err)
			}
			w.wake()
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		for _, c := range queue {
			w.put(c)
		}
	}
}

// put writes one chunk, unless the Writer has failed.
func (w *Writer) put(c chunk) {
	w.mu.Lock()
	err := w.err
	w.mu.Unlock()
	if err == nil {
		_, err = w.w.Write(c.b)
	}
	w.mu.Lock()
	w.size = max(0, w.size-len(c.b))
	if err != nil && w.err == nil {
		w.err = err
	}
	w.wake()
	w.mu.Unlock()
	if c.done != nil {
		close(c.done)
	}
}

// wake tells those who wait for room. It is called with mu held.
func (w *Writer) wake() {
	if w.room != nil {
		close(w.room)
		w.room = nil
	}
}

// fail ends the Writer: what waits is dropped, who waits is told. It is called
// with mu held.
func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
	for _, c := range w.queue {
		if c.done != nil {
			close(c.done)
		}
	}
	w.queue, w.size = nil, 0
	w.wake()
}

// Close makes every later Send fail with err, and drops what waits. A write
// under way goes on until the underlying writer ends it.
func (w *Writer) Close(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		err = ErrClosed
	}
	w.fail(err)
}

// Flush waits until everything queued before has been handed to the
// underlying writer, the Writer has failed, or ctx has ended.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	for w.err == nil && (w.writing || w.size > 0) {
		if w.room == nil {
			w.room = make(chan struct{})
		}
		room := w.room
		w.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		w.mu.Lock()
	}
	defer w.mu.Unlock()
	return w.err
}

// Wait returns when the goroutine of the Writer, if there was one, has ended.
func (w *Writer) Wait() { w.wg.Wait() }

// A tryWriter writes what can be written without blocking.
type tryWriter interface {
	tryWrite(b []byte) (int, error)
}
