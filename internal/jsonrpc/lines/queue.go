package lines

import "io"

// class tells apart frames that wait as copies, which cost memory, from frames that
// stay in their sender's memory. Each class has the Writer's limit to itself, so that
// a large frame that takes long does not cause notifications to be dropped.
type class int

const (
	copied class = iota
	borrowed
)

// chunk is a run of bytes to be written. completion, where set, belongs to the frame
// whose part it borrows: the bytes are another user's and not a copy.
type chunk struct {
	b          []byte
	completion *Completion
}

func (c chunk) chunkClass() class {
	if c.completion != nil {
		return borrowed
	}
	return copied
}

// A Completion is what a sender of borrowed parts waits for: left counts them.
type Completion struct {
	left int
	done chan struct{}
	err  error // set before done is closed
}

func (s *Completion) endWith(err error) {
	s.left--
	if err != nil && s.err == nil {
		s.err = err
	}
	if s.left == 0 {
		close(s.done)
	}
}

// enqueueFrame puts a frame, less its first skip bytes, behind what waits. It is
// called with mu held.
func (w *Writer) enqueueFrame(parts [][]byte, skip int, borrow bool) *Completion {
	var s *Completion
	for _, p := range parts {
		cut := min(skip, len(p))
		skip -= cut
		p = p[cut:]
		if len(p) <= CopyLimit || !borrow {
			w.gatherBytes(p)
			continue
		}
		if s == nil {
			s = &Completion{done: make(chan struct{})}
		}
		s.left++
		w.queue = append(w.queue, chunk{b: p, completion: s})
		w.size[borrowed] += len(p)
	}
	w.gatherBytes(newline[skip:])
	return s
}

var newline = []byte{'\n'}

// gatherBytes copies p behind what waits.
func (w *Writer) gatherBytes(p []byte) {
	if len(p) == 0 {
		return
	}
	w.size[copied] += len(p)
	if n := len(w.queue); n > w.inflight {
		last := &w.queue[n-1]
		if last.completion == nil && len(last.b)+len(p) <= pieceSize {
			last.b = append(last.b, p...)
			return
		}
	}
	b := w.spare
	w.spare = nil
	if cap(b) < len(p) {
		b = make([]byte, 0, max(1024, len(p)))
	}
	w.queue = append(w.queue, chunk{b: append(b[:0], p...)})
}

func (w *Writer) startWriteTurn() {
	if !w.writing {
		w.writing = true
		w.spawnDrain()
	}
}

// spawnDrain starts the goroutine that writes the queue. It is called with mu held
// and w.writing set.
func (w *Writer) spawnDrain() {
	w.wg.Add(1)
	go w.drainQueue()
}

func (w *Writer) drainQueue() {
	defer w.wg.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && w.hasLeft() {
		group, _ := w.takeGroup()
		w.mu.Unlock()
		n, err := w.putGroup(group)
		w.mu.Lock()
		w.advanceQueue(n)
		if err != nil {
			w.failWriter(err, true)
		}
	}
	w.leaveWriteTurn()
}

// takeGroup returns the first chunks of the queue, for the caller that has the turn to write
// them, and how many bytes they have. They stay in the queue until advanceQueue. It is called with
// mu held.
func (w *Writer) takeGroup() (group [][]byte, all int) {
	if w.kept != nil {
		return nil, w.size[copied]
	}
	w.inflight = min(len(w.queue), maxGroup)
	if w.raw == nil {
		w.inflight = 1
	}
	for i := range w.inflight {
		w.group[i] = w.queue[i].b
		all += len(w.queue[i].b)
	}
	return w.group[:w.inflight], all
}

// putGroup writes some of group, waiting until the peer takes any.
func (w *Writer) putGroup(group [][]byte) (int, error) {
	if w.raw != nil {
		return w.raw.writeNow(group)
	}
	n, err := w.stream.Write(group[0])
	if n == 0 && err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}

// advanceQueue takes the n bytes that have been written out of the queue. It is
// called with mu held.
func (w *Writer) advanceQueue(n int) {
	clear(w.group[:w.inflight])
	w.inflight = 0
	w.countWritten(n)
	if w.kept != nil {
		w.size[copied] -= n
		w.admitWaiters()
		return
	}
	gone := 0
	for n > 0 && gone < len(w.queue) {
		c := &w.queue[gone]
		cut := min(n, len(c.b))
		n -= cut
		w.size[c.chunkClass()] -= cut
		if cut < len(c.b) {
			c.b = c.b[cut:]
			break
		}
		if c.completion != nil {
			c.completion.endWith(nil)
		} else if cap(c.b) > cap(w.spare) && cap(c.b) <= 2*pieceSize {
			w.spare = c.b
		}
		gone++
	}
	left := copy(w.queue, w.queue[gone:])
	clear(w.queue[left:])
	w.queue = w.queue[:left]
	w.admitWaiters()
}

// countWritten counts bytes that have been written, and tells who waits for them.
func (w *Writer) countWritten(n int) {
	w.sentBytes += uint64(n)
	for len(w.flushing) > 0 && w.flushing[0].position <= w.sentBytes {
		close(w.flushing[0].done)
		w.flushing = w.flushing[1:]
	}
}

// admitWaiters gives those who wait for room their places, in order within a class.
// It is called with mu held.
func (w *Writer) admitWaiters() {
	if len(w.waiting) == 0 || w.err != nil {
		return
	}
	var full [2]bool
	still := w.waiting[:0]
	for _, next := range w.waiting {
		if full[next.class] || !w.fitsFrame(next.class, next.total, 0) {
			full[next.class] = true
			still = append(still, next)
			continue
		}
		w.acceptedBytes += uint64(next.total)
		if w.kept != nil {
			w.size[copied] += next.total
			w.kept.Append(next.parts, next.marks)
		} else {
			next.completion = w.enqueueFrame(next.parts, 0, true)
		}
		close(next.placed)
	}
	clear(w.waiting[len(still):])
	w.waiting = still
	if w.hasLeft() {
		w.startWriteTurn()
	}
}

// failWriter ends the Writer. Queued frames are dropped, and senders that wait get the
// error. Parts that are being written stay in use until the write has ended. broken:
// the peer's side failed. It is called with mu held.
func (w *Writer) failWriter(err error, broken bool) {
	if w.err == nil {
		w.err = err
		if broken {
			close(w.failed)
		}
	}
	for _, next := range w.waiting {
		next.err = w.err
		close(next.placed)
	}
	w.waiting = nil
	for _, f := range w.flushing {
		close(f.done)
	}
	w.flushing = nil
	w.dropQueue()
}

// dropQueue empties the queue but for what is being written.
func (w *Writer) dropQueue() {
	for i := w.inflight; i < len(w.queue); i++ {
		if s := w.queue[i].completion; s != nil {
			s.endWith(w.err)
		}
	}
	clear(w.queue[w.inflight:])
	w.queue = w.queue[:w.inflight]
	w.size = [2]int{}
	for _, c := range w.queue {
		w.size[c.chunkClass()] += len(c.b)
	}
}
