package lines

import (
	"slices"

	"mcphub/internal/kept"
)

// A Batch gathers small frames, so that what came in one read leaves in one write.
// It belongs to a read loop. While that has further lines in its buffer, the frames
// that are sent by its batch are held back. They are sent before the loop reads again
// or does anything that takes time, and when the bounds below are reached. To a nil Batch
// only frames may be given: it holds none back.
type Batch struct {
	holding  bool       // another line waits
	deferred []Deferred // given to Defer
	writers  []*Writer  // that hold frames
	frames   int
	bytes    int
}

const (
	batchFrames = 32
	batchBytes  = 16 << 10
)

// Hold reports whether frames are to be held back from now on, and returns whether
// they are: not if the bounds are reached.
func (b *Batch) Hold(back bool) bool {
	b.holding = back && !b.isFull()
	return b.holding
}

// Send sends one frame as TrySend does, now or with others.
func (b *Batch) Send(w *Writer, parts [][]byte, marks ...*kept.Entry) bool {
	if b == nil || !b.holding {
		return w.TrySend(0, parts, marks...)
	}
	n, ok := w.holdFrame(parts, marks)
	if !ok {
		return w.TrySend(0, parts, marks...)
	}
	b.frames++
	b.bytes += n
	if !slices.Contains(b.writers, w) {
		b.writers = append(b.writers, w)
	}
	return true
}

// A Deferred has something to do before what a Batch holds is sent.
type Deferred interface {
	// BeforeSend is called on the read loop; what it sends with b leaves together.
	BeforeSend(b *Batch)
}

// Defer has l.BeforeSend called once, before the batch is sent. l then sends a frame of so
// many bytes. It is for a caller that must do something for all frames of the
// batch, such as recording them, before the peer may see any.
func (b *Batch) Defer(l Deferred, bytes int) {
	b.frames++
	b.bytes += bytes
	if !slices.Contains(b.deferred, l) {
		b.deferred = append(b.deferred, l)
	}
}

// Do calls f and then sends what f has sent with b. It is for callers without a
// read loop that send many frames at once.
func (b *Batch) Do(f func(b *Batch)) {
	b.holding = true
	defer func() {
		b.holding = false
		b.Flush()
	}()
	f(b)
}

// isFull reports whether the bounds of a batch are reached.
func (b *Batch) isFull() bool { return b.frames >= batchFrames || b.bytes >= batchBytes }

// Flush sends the frames that the Batch holds back.
func (b *Batch) Flush() {
	if len(b.deferred) > 0 {
		on := b.holding
		b.holding = true
		for i, l := range b.deferred {
			b.deferred[i] = nil
			l.BeforeSend(b)
		}
		b.holding, b.deferred = on, b.deferred[:0]
	}
	for i, w := range b.writers {
		w.kickHeld()
		b.writers[i] = nil
	}
	b.writers, b.frames, b.bytes = b.writers[:0], 0, 0
}
