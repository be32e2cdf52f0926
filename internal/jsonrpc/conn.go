package jsonrpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/internal/jsonrpc/lines"
	"mcphub/internal/kept"
	"mcphub/internal/worker"
)

// DefaultFrameLimit bounds one frame, in bytes, unless ConnOptions say otherwise.
const DefaultFrameLimit = lines.DefaultLimit

// DefaultMaxRequests bounds how many requests of a peer are served at a time.
const DefaultMaxRequests = 256

const (
	// waitingRequests is how many more may wait for their turn, for each that is
	// served; beyond that a request is refused at once.
	waitingRequests = 16
	// idleWorkers is how many goroutines wait for the next request after their
	// last one: a new one would have to grow its stack again.
	idleWorkers = 64
	// heldFrames is how many frames of the greatest length the requests of a
	// peer may fill, all together.
	heldFrames = 4
	// controlGap is how many bytes refusals and cancellations may go over the limit of
	// the queue.
	controlGap = 1 << 20
	// lastReads is how long a peer that cannot be written to is still read: answers
	// that it gave before it ended are in its pipe.
	lastReads = time.Second
)

// A Handler serves what the peer sends.
type Handler interface {
	// ServeRequest answers one request, on a goroutine of its own. ctx ends when
	// the peer cancels the request (its cause is a *CancelledError) or the Conn
	// ends. m and its parts belong to the handler; Answer parts may alias them.
	// A panic is answered as an internal error.
	ServeRequest(ctx context.Context, m *Message) Answer
	// ServeNotification is called on the read loop, in order. It must not block,
	// and m is valid only until it returns.
	ServeNotification(m *Message)
}

// ConnOptions shape a Conn. The zero value is a lenient peer with the defaults.
type ConnOptions struct {
	Strict      bool          // the peer is the client: refuse what has two readings
	FrameLimit  int           // bytes of one line; 0: DefaultFrameLimit
	IDLimit     int           // bytes of the id of a request of the peer; 0: DefaultIDLimit
	MaxRequests int           // of the peer, served at a time; 0: DefaultMaxRequests
	QueueBytes  int           // waiting to be written; 0: lines.DefaultQueue
	Grace       time.Duration // after the end of input, how long requests already read may go on
	// OnReadLoop, where set, picks requests that are served on the read loop, so
	// that what follows on the stream sees their effect. They must not block.
	OnReadLoop func(method string) bool
	// Fast, where set, is offered each small request first, on the read loop. It
	// must not block. If it returns true it has taken the request and calls
	// Responder.Answer, once, from any goroutine; m is valid only until it returns.
	// If it returns false it has done nothing, and ServeRequest is called.
	Fast func(m *Message, r *Responder) bool
	// Batches, where set, reports whether an array of messages is a batch now. Otherwise
	// it is refused, or skipped. It is called on the read loop.
	Batches func() bool
	// Ended, where set, is called once, when nothing more will be read. Requests that
	// would wait without end must end then. It must not block.
	Ended func()
	// OnSkip, where set, is told about each line of a lenient peer that was
	// skipped. It is called on the read loop and must not block; line may be nil.
	OnSkip func(reason string, line []byte)
	// Kept, where set, holds what the next Conn with the peer needs to go on when this program is killed. Resume answers
	// the requests that the Conn before has left open, on the goroutine of Run. Both streams must have descriptors.
	Kept   *kept.Memory
	Resume func(entry *kept.Entry) Answer
	// Taking, where set, is called before a message is committed as taken in Kept. m is valid only until it returns.
	Taking func(m *Message)
	Log    zerolog.Logger
}

// Stats counts what did not pass, and signs of life.
type Stats struct {
	Skipped   uint64 // lines without use: broken without an id, answers that no caller waits for
	Broken    uint64 // lines that ended a call with a BrokenError
	Dropped   uint64 // notifications that TryNotify had no room for
	Cancelled uint64 // calls that ended by their context
	Heard     uint64 // reads that brought something
	TextIDs   uint64 // answers of a lenient peer whose id was a string, although the id of the call is a number
}

// A Conn speaks JSON-RPC with one peer over a pair of streams.
type Conn struct {
	in      io.ReadCloser
	out     io.Writer
	writer  *lines.Writer
	handler Handler
	options ConnOptions

	ctx          context.Context // of the requests being served; ends with the Conn
	cancel       context.CancelCauseFunc
	servingSlots chan struct{}
	workers      *worker.Pool[*peerRequest]
	busy         sync.WaitGroup // requests that are being served
	wg           sync.WaitGroup
	done         chan struct{}

	lastID       atomic.Uint64
	freeCalls    sync.Pool     // of *openCall that can be used again
	batch        lines.Batch   // of the read loop
	reader       *lines.Reader // of the read loop
	keptEntry    *kept.Entry   // of the request that the read loop takes, until another one owes its answer
	lentResponse Response      // of the read loop, for a ResponseHandler
	mu           sync.Mutex
	tables       connTables

	skipped, broken, dropped, cancelled, heard, textIDs atomic.Uint64
}

// incoming is a request of the peer under way.
type incoming interface {
	endWith(cause error) // no caller waits for its answer any more
}

// connTables is what Conn.mu guards.
type connTables struct {
	pending   map[uint64]*openCall // our requests, by id
	serving   map[string]incoming  // the peer's requests, by raw id
	active    int                  // requests of the peer whose answer has not been taken by the Writer
	heldBytes int                  // bytes of their frames
	closed    *ClosedError         // set once nothing can be sent or answered any more
}

// NewConn returns a Conn that reads r and writes w, and closes both (w if it
// is an io.Closer) when Run ends. Closing must end a Read or Write that
// blocks, as it does for pipes and sockets that do not block; Run waits for
// both. It starts nothing; calls may be made at once, and are answered once
// Run runs.
func NewConn(r io.ReadCloser, w io.Writer, h Handler, options ConnOptions) *Conn {
	if options.MaxRequests <= 0 {
		options.MaxRequests = DefaultMaxRequests
	}
	if options.FrameLimit <= 0 {
		options.FrameLimit = DefaultFrameLimit
	}
	if options.QueueBytes <= 0 {
		options.QueueBytes = lines.DefaultQueue
	}
	conn := &Conn{in: r, out: w, handler: h, options: options, done: make(chan struct{})}
	if options.Kept != nil {
		conn.writer = lines.NewKeptWriter(w, options.QueueBytes, options.Kept)
	} else {
		conn.writer = lines.NewWriter(w, options.QueueBytes)
	}
	conn.lastID.Store(options.Kept.FirstID())
	conn.ctx, conn.cancel = context.WithCancelCause(context.Background())
	conn.servingSlots = make(chan struct{}, options.MaxRequests)
	conn.workers = worker.NewPool(conn.serveRequest, idleWorkers, conn.ctx.Done())
	conn.tables = connTables{pending: map[uint64]*openCall{}, serving: map[string]incoming{}}
	return conn
}

// Run reads and serves until the input ends, reading or writing fails, or ctx
// ends, which closes the input. After the end of the input, requests already read may
// go on for ConnOptions.Grace. It returns nil at the end of the input, when all
// goroutines that it started have ended.
func (conn *Conn) Run(ctx context.Context) error {
	over := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { conn.watchContext(ctx, over) })
	conn.resumeKept()
	err := conn.readLoop()
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, io.EOF):
		err = nil
	case conn.writer.Broken() != nil:
		err = conn.writer.Broken()
	}
	conn.failPending(err)
	if conn.options.Ended != nil {
		conn.options.Ended()
	}
	if err == nil && conn.options.Grace > 0 {
		conn.drainRequests(ctx)
	}
	conn.cancelServed(&ClosedError{Reason: err})
	conn.writer.Close(&ClosedError{Reason: err})
	_ = conn.in.Close()
	if closer, ok := conn.out.(io.Closer); ok {
		_ = closer.Close() // frees a writer that blocks
	}
	close(over)
	watcher.Wait()
	conn.wg.Wait()
	conn.busy.Wait()
	conn.writer.Wait()
	close(conn.done)
	return err
}

// resumeKept ends what the Conn before has left open: requests of the peer are answered, and its own are cancelled.
func (conn *Conn) resumeKept() {
	requests, questions := conn.options.Kept.Left()
	for _, entry := range requests {
		conn.answerTo(entry, conn.options.Resume(entry))
	}
	for _, entry := range questions {
		conn.cancelPeer(entry.ID(), errors.New("the hub that asked has ended"))
		entry.Void()
	}
}

// answerTo sends an answer on the goroutine of Run, which must not block.
func (conn *Conn) answerTo(entry *kept.Entry, answer Answer) {
	conn.keptEntry = entry
	conn.replyOnReadLoop(string(entry.ID()), answer)
}

// watchContext ends the read loop when ctx ends, or lastReads after the peer could not be
// written to, because it will not answer what it did not get.
func (conn *Conn) watchContext(ctx context.Context, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-ctx.Done():
	case <-conn.writer.Failed():
		conn.mu.Lock()
		if conn.tables.closed == nil {
			conn.tables.closed = &ClosedError{Reason: conn.writer.Broken()}
		}
		conn.mu.Unlock()
		select {
		case <-over:
			return
		case <-ctx.Done():
		case <-time.After(lastReads):
		}
	}
	if ctx.Err() != nil {
		conn.cancelServed(context.Cause(ctx))
	}
	_ = conn.in.Close()
}

// drainRequests waits for the requests under way, and for what they wrote.
func (conn *Conn) drainRequests(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, conn.options.Grace)
	defer cancel()
	idle := make(chan struct{})
	go func() {
		conn.busy.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		_ = conn.writer.Flush(ctx)
	case <-ctx.Done():
		conn.cancelServed(&ClosedError{Reason: context.Cause(ctx)})
		<-idle
	}
}

// Done returns a channel that is closed when Run has returned.
func (conn *Conn) Done() <-chan struct{} { return conn.done }

// Stats returns the counters so far.
func (conn *Conn) Stats() Stats {
	return Stats{conn.skipped.Load(), conn.broken.Load(), conn.dropped.Load(), conn.cancelled.Load(), conn.heard.Load(), conn.textIDs.Load()}
}

// failPending ends all calls: nothing will answer them.
func (conn *Conn) failPending(reason error) {
	conn.mu.Lock()
	conn.tables.closed = &ClosedError{Reason: reason}
	pending := conn.tables.pending
	conn.tables.pending = nil
	conn.mu.Unlock()
	for _, call := range pending {
		call.finishWith(callOutcome{err: &ClosedError{Reason: reason}})
	}
}

// Flush waits until what was sent before has left for the peer.
func (conn *Conn) Flush(ctx context.Context) error { return conn.writer.Flush(ctx) }
