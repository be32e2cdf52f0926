package lines

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"

	"mcphub/internal/kept"
)

// DefaultQueue bounds what waits to be written to one peer, in bytes.
const DefaultQueue = 8 << 20

// CopyLimit is how many bytes a part has at most that is copied into the queue. Larger ones are
// borrowed until they are written.
const CopyLimit = 32 << 10

const (
	maxGathered    = 8 << 10  // parts up to here are copied to be written in one go
	pieceSize      = 64 << 10 // small parts are gathered into pieces of this size
	maxGroup       = 8        // chunks handed to the peer at a time
	contentionLast = 8        // times that a lone sender yields to others, after there were some
)

// A Writer writes frames to one peer: in the order of Send, one at a time, each
// whole. At most limit bytes are queued. Further senders wait in order, or until their
// context ends. If the peer can take a frame at once, the sender writes it itself,
// without waking a goroutine. Only the rest is left to a goroutine, which ends when
// nothing is left to write.
type Writer struct {
	stream io.Writer
	raw    rawWriter // nil: no attempt without blocking can be made
	limit  int
	failed chan struct{} // closed when the peer could not be written to

	mu            sync.Mutex
	queue         []chunk
	inflight      int    // the first chunks, which are being written
	size          [2]int // bytes of queue, by class
	writing       bool
	err           error
	waiting       []*waiter // for room, in order
	flushing      []flusher // in order
	acceptedBytes uint64    // bytes of all frames that got their place
	sentBytes     uint64
	scratch       []byte           // of who is writing
	group         [maxGroup][]byte // of who is writing
	spare         []byte           // a piece to be used again
	contention    int              // how often a lone sender still yields, since others came lately
	widened       bool             // stream has been widened
	kept          *kept.Memory     // holds the frames instead of queue; nil: they are not kept
	wg            sync.WaitGroup
}

// waiter is a frame that waits for a place in the queue. placed is closed when it has
// one, or never will.
type waiter struct {
	parts      [][]byte
	marks      []*kept.Entry
	class      class
	total      int
	placed     chan struct{}
	completion *Completion
	err        error
}

type flusher struct {
	position uint64
	done     chan struct{}
}

// NewWriter returns a Writer with room for limit bytes (0: the default).
func NewWriter(w io.Writer, limit int) *Writer {
	if limit <= 0 {
		limit = DefaultQueue
	}
	return &Writer{stream: w, raw: newRawWriter(w), limit: limit, failed: make(chan struct{})}
}

// NewKeptWriter works like NewWriter for a stream whose frames are kept until they have left. What another Writer has not
// written is written first.
func NewKeptWriter(w io.Writer, limit int, k *kept.Memory) *Writer {
	n := NewWriter(w, limit)
	n.kept, n.raw = k, newKeptWriter(w, k)
	n.limit *= 2 // of all frames, large ones included
	n.sentBytes, n.acceptedBytes = k.Output()
	n.size[copied] = int(n.acceptedBytes - n.sentBytes)
	if n.hasLeft() {
		n.startWriteTurn()
	}
	return n
}

// hasLeft reports whether anything waits to be written. It is called with mu held.
func (w *Writer) hasLeft() bool {
	if w.kept != nil {
		return w.sentBytes < w.acceptedBytes
	}
	return len(w.queue) > 0
}

// ErrLong is why a frame was not sent for which there is never room.
var ErrLong = errors.New("the frame is longer than what the state of the session has room for")

// Send writes one frame, given in parts, and a line end. It returns when the frame
// has been written or has its place in the queue; a large part is not copied, so then
// it returns only when it has been written. With an error and queued false the peer
// sees no part of the frame. With both it may come to see it: ctx ended while a large
// part was being written, and who gets that must not write to the parts again. marks
// are entries of kept memory that the frame is about.
func (w *Writer) Send(ctx context.Context, parts [][]byte, marks ...*kept.Entry) (queued bool, err error) {
	total, class := w.measureFrame(parts)
	w.mu.Lock()
	switch {
	case w.err != nil:
		defer w.mu.Unlock()
		return false, w.err
	case w.kept != nil && total > w.kept.Longest():
		defer w.mu.Unlock()
		return false, ErrLong
	case !w.fitsFrame(class, total, 0) || w.isAwaited(class):
		me := &waiter{parts: parts, marks: marks, class: class, total: total, placed: make(chan struct{})}
		w.waiting = append(w.waiting, me)
		w.mu.Unlock()
		return w.awaitPlace(ctx, me)
	}
	s, mine := w.acceptFrame(parts, total, true, marks)
	w.mu.Unlock()
	if s, err = w.useWriteTurn(mine, s, parts, total, true); s == nil {
		return err == nil, err
	}
	return true, s.Wait(ctx)
}

// awaitPlace waits for a place in the queue.
func (w *Writer) awaitPlace(ctx context.Context, me *waiter) (queued bool, err error) {
	select {
	case <-me.placed:
	case <-ctx.Done():
		w.mu.Lock()
		for i, other := range w.waiting {
			if other == me {
				w.waiting = append(w.waiting[:i], w.waiting[i+1:]...)
				w.admitWaiters() // the next may be smaller
				w.mu.Unlock()
				return false, context.Cause(ctx)
			}
		}
		w.mu.Unlock()
		<-me.placed // its turn came at the same moment
	}
	if me.err != nil || me.completion == nil {
		return me.err == nil, me.err
	}
	return true, me.completion.Wait(ctx)
}

// Wait waits until the parts are free again, or ctx ends.
func (s *Completion) Wait(ctx context.Context) error {
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
	}
	select {
	case <-s.done: // at the same moment
		return s.err
	default:
		return context.Cause(ctx)
	}
}

// measureFrame returns the size of a frame, and its class when it may be borrowed.
func (w *Writer) measureFrame(parts [][]byte) (total int, c class) {
	total = 1
	for _, p := range parts {
		total += len(p)
		if len(p) > CopyLimit && w.kept == nil {
			c = borrowed
		}
	}
	return total, c
}

// fitsFrame reports whether there is room. A frame over the limit goes alone.
func (w *Writer) fitsFrame(c class, total, beyond int) bool {
	if w.kept != nil && !w.kept.Room(total) {
		return false
	}
	return w.size[c] == 0 || w.size[c]+total <= w.limit+beyond
}

// isAwaited reports whether someone waits for room in a class.
func (w *Writer) isAwaited(c class) bool {
	return slices.ContainsFunc(w.waiting, func(other *waiter) bool { return other.class == c })
}

// TrySend queues one frame if there is room for it and the peer is there. It
// never blocks. Its parts are copied. It may go beyond the limit by some bytes, and
// then ahead of those who wait for room; less than none leaves room to others.
func (w *Writer) TrySend(beyond int, parts [][]byte, marks ...*kept.Entry) bool {
	total, _ := w.measureFrame(parts)
	w.mu.Lock()
	if w.err != nil || !w.fitsFrame(copied, total, beyond) || (beyond <= 0 && w.isAwaited(copied)) {
		w.mu.Unlock()
		return false
	}
	_, mine := w.acceptFrame(parts, total, false, marks)
	w.mu.Unlock()
	_, err := w.useWriteTurn(mine, nil, parts, total, false)
	return err == nil
}

// A writeTurn says who writes next, and what. The one who has the write turn is the only writer until
// useWriteTurn returns. w.writing is true for that time.
type writeTurn int

const (
	noWriteTurn     writeTurn = iota // someone else writes what is queued
	frameWriteTurn                   // the caller writes its own frame, and nothing is queued
	sharedWriteTurn                  // the caller lets others queue their frames, and writes all
	queueWriteTurn                   // the caller writes what is queued
)

// acceptFrame gives a frame its place: in the queue, or at the caller's turn to write. Large
// parts are borrowed if that is allowed: then the completion says when they are free again.
// It is called with mu held.
func (w *Writer) acceptFrame(parts [][]byte, total int, borrow bool, marks []*kept.Entry) (*Completion, writeTurn) {
	w.acceptedBytes += uint64(total)
	if w.kept != nil {
		return nil, w.keepFrame(parts, total, marks)
	}
	switch {
	case w.writing || w.raw == nil:
		s := w.enqueueFrame(parts, 0, borrow)
		w.contention = contentionLast
		w.startWriteTurn()
		return s, noWriteTurn
	case len(w.queue) > 0: // held back: this one comes behind
		w.writing = true
		return w.enqueueFrame(parts, 0, borrow), queueWriteTurn
	case w.contention > 0 && total <= maxGathered:
		w.writing = true
		w.enqueueFrame(parts, 0, false)
		return nil, sharedWriteTurn
	}
	w.writing = true
	return nil, frameWriteTurn
}

// keepFrame works like acceptFrame in kept memory.
func (w *Writer) keepFrame(parts [][]byte, total int, marks []*kept.Entry) writeTurn {
	alone := w.size[copied] == 0
	w.size[copied] += total
	w.kept.Append(parts, marks)
	switch {
	case w.writing:
		w.contention = contentionLast
		return noWriteTurn
	case alone && w.contention > 0 && total <= maxGathered:
		w.writing = true
		return sharedWriteTurn
	}
	w.writing = true
	return queueWriteTurn
}

// useWriteTurn takes the caller's write turn, if there is one: it writes as far as that needs no waiting, and leaves the
// rest to a goroutine. s is the completion of the frame if that is queued.
func (w *Writer) useWriteTurn(mine writeTurn, s *Completion, parts [][]byte, total int, borrow bool) (*Completion, error) {
	switch mine {
	case noWriteTurn:
		return s, nil
	case frameWriteTurn:
		n, err := w.attemptWrite(parts)
		return w.endAttempt(n, err, parts, total, borrow)
	case sharedWriteTurn:
		w.yieldTurn()
	}
	return s, w.pushQueue()
}

// endAttempt ends a write turn for one frame of which n bytes were written.
func (w *Writer) endAttempt(n int, err error, parts [][]byte, total int, borrow bool) (s *Completion, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failWriter(err, true)
	} else if err = w.err; err == nil { // no one has closed it meanwhile
		w.countWritten(n)
		if n < total {
			w.widen()
			behind := w.queue
			w.queue = nil
			s = w.enqueueFrame(parts, n, borrow)
			w.queue = append(w.queue, behind...)
		}
	}
	w.leaveWriteTurn()
	return s, err
}

// widen has the stream hold more, since it did not take all at once.
func (w *Writer) widen() {
	if !w.widened {
		w.widened = true
		widenPipe(w.stream)
	}
}

// yieldTurn lets other senders queue their frames, so that one caller writes for all.
func (w *Writer) yieldTurn() {
	w.mu.Lock()
	mine := w.acceptedBytes
	w.mu.Unlock()
	runtime.Gosched()
	w.mu.Lock()
	if w.acceptedBytes == mine {
		w.contention--
	}
	w.mu.Unlock()
}

// pushQueue writes the front of the queue, and ends the write turn.
func (w *Writer) pushQueue() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		group, all := w.takeGroup()
		w.mu.Unlock()
		n, err := w.raw.tryWrite(group)
		w.mu.Lock()
		w.advanceQueue(n)
		if err != nil {
			w.failWriter(err, true)
		} else if n < all {
			w.widen()
		} else if w.hasLeft() {
			w.contention = contentionLast
		}
	}
	w.leaveWriteTurn()
	return w.err
}

// leaveWriteTurn ends a write turn: what is left in the queue is for a goroutine. It is called with mu
// held.
func (w *Writer) leaveWriteTurn() {
	switch {
	case w.err != nil:
		w.dropQueue()
		w.writing = false
	case w.hasLeft():
		w.spawnDrain()
	default:
		w.writing = false
	}
}

// Offer works like Send for callers that must not wait. false: the queue is full, and
// the frame must be sent otherwise. With a completion, large parts are still in use.
func (w *Writer) Offer(parts [][]byte, marks ...*kept.Entry) (*Completion, bool) {
	total, c := w.measureFrame(parts)
	w.mu.Lock()
	if w.err != nil || !w.fitsFrame(c, total, 0) || w.isAwaited(c) {
		w.mu.Unlock()
		return nil, false
	}
	s, mine := w.acceptFrame(parts, total, true, marks)
	w.mu.Unlock()
	s, err := w.useWriteTurn(mine, s, parts, total, true)
	if s != nil {
		select {
		case <-s.done: // all of it went at once
			return nil, s.err == nil
		default:
		}
	}
	return s, err == nil
}

// holdFrame queues a small frame for kickHeld to write, and returns its size. It never
// blocks; false: the frame must be sent as others are.
func (w *Writer) holdFrame(parts [][]byte, marks []*kept.Entry) (total int, ok bool) {
	total, c := w.measureFrame(parts)
	w.mu.Lock()
	defer w.mu.Unlock()
	if c != copied || w.err != nil || w.raw == nil || !w.fitsFrame(copied, total, 0) || w.isAwaited(copied) {
		return total, false
	}
	w.acceptedBytes += uint64(total)
	if w.kept != nil {
		w.size[copied] += total
		w.kept.Append(parts, marks)
		return total, true
	}
	w.enqueueFrame(parts, 0, false)
	return total, true
}

// kickHeld writes what was held as far as that needs no waiting.
func (w *Writer) kickHeld() {
	w.mu.Lock()
	mine := !w.writing && w.err == nil && w.hasLeft() // else another sender has written it
	w.writing = w.writing || mine
	w.mu.Unlock()
	if mine {
		_ = w.pushQueue() // the next sender gets the error
	}
}

// attemptWrite writes what the peer takes at once: small parts as one run of bytes,
// large ones from where they are. It is called without mu, by the one who is
// writing.
func (w *Writer) attemptWrite(parts [][]byte) (int, error) {
	small := 1
	for _, p := range parts {
		if len(p) <= maxGathered {
			small += len(p)
		}
	}
	run := w.scratch[:0]
	if small > cap(run) {
		run = make([]byte, 0, max(small, 512))
	}
	if cap(run) <= pieceSize {
		w.scratch = run
	}
	k, from, whole := 0, 0, true
	for _, p := range parts {
		if len(p) <= maxGathered {
			run = append(run, p...)
			continue
		}
		if k > maxGroup-3 { // what does not fit into the group waits for the next attempt
			whole = false
			break
		}
		if from < len(run) {
			w.group[k] = run[from:]
			from = len(run)
			k++
		}
		w.group[k] = p
		k++
	}
	if whole {
		run = append(run, '\n')
	}
	if from < len(run) {
		w.group[k] = run[from:]
		k++
	}
	n, err := w.raw.tryWrite(w.group[:k])
	clear(w.group[:k])
	return n, err
}

// Close makes every later Send fail with err, and drops what waits. A write
// under way goes on until the underlying writer ends it.
func (w *Writer) Close(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failWriter(err, false)
}

// Failed returns a channel that is closed when the peer could not be written to.
func (w *Writer) Failed() <-chan struct{} { return w.failed }

// Broken returns why the peer cannot be written to, nil as far as is known.
func (w *Writer) Broken() error {
	select {
	case <-w.failed:
	default:
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Flush waits until everything that had its place in the queue before has been
// handed to the underlying writer, the Writer has failed, or ctx has ended.
func (w *Writer) Flush(ctx context.Context) error {
	w.kickHeld()
	w.mu.Lock()
	if w.err != nil || w.sentBytes >= w.acceptedBytes {
		defer w.mu.Unlock()
		return w.err
	}
	f := flusher{w.acceptedBytes, make(chan struct{})}
	w.flushing = append(w.flushing, f)
	w.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sentBytes >= f.position {
		return nil
	}
	return w.err
}

// Waiting returns what waits to be written: bytes that have been copied, bytes in the
// memory of their senders, and how many senders wait for room.
func (w *Writer) Waiting() (copies, borrows, senders int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size[copied], w.size[borrowed], len(w.waiting)
}

// Wait returns when the goroutine of the Writer, if there was one, has ended.
func (w *Writer) Wait() { w.wg.Wait() }

// A rawWriter writes to a descriptor that does not block. One goroutine uses
// it at a time.
type rawWriter interface {
	tryWrite(parts [][]byte) (int, error) // what can be written without waiting
	writeNow(parts [][]byte) (int, error) // some, waiting until there is room
}
