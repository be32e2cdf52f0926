package jsonrpc

// A Batch gathers the small frames that one read loop has others send while
// lines that it has read already wait for it: what came in one read leaves in
// one write. It belongs to that read loop, which sends what is held before it
// reads again or does anything but the short way, and at the latest when the
// bounds below are reached. A nil Batch holds nothing back.
type Batch struct {
	on      bool      // another line waits
	writers []*Writer // that hold frames
	frames  int
	bytes   int
}

const (
	batchFrames = 32
	batchBytes  = 16 << 10
)

// send sends one frame as TrySend does, now or with others.
func (b *Batch) send(w *Writer, parts [][]byte) bool {
	if b == nil || !b.on {
		return w.trySend(0, parts)
	}
	n, ok := w.hold(parts)
	if !ok {
		return w.trySend(0, parts)
	}
	b.frames++
	b.bytes += n
	for _, other := range b.writers {
		if other == w {
			return true
		}
	}
	b.writers = append(b.writers, w)
	return true
}

// full reports whether what is held has waited for long enough.
func (b *Batch) full() bool { return b.frames >= batchFrames || b.bytes >= batchBytes }

// flush sends what is held.
func (b *Batch) flush() {
	for i, w := range b.writers {
		w.kick()
		b.writers[i] = nil
	}
	b.writers, b.frames, b.bytes = b.writers[:0], 0, 0
}
