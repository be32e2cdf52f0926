package run

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"mcphub/children/health"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/modernlink"
	"mcphub/children/offers"
	"mcphub/children/servedroots"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/worker"
)

// An Instance is what a run belongs to. Its methods may be called from any goroutine,
// and must not block.
type Instance interface {
	// WantedRoots returns the roots that the child is to have now.
	WantedRoots() servedroots.WantedRoots
	// NoRoots returns why there are none, "" if that is not known.
	NoRoots() string
	// FetchRoots is called for a roots/list, with the context of that. What it returns,
	// if anything, is called before the answer, and may take its time.
	FetchRoots(ctx context.Context) func(ctx context.Context)
	// ClientProfile returns what the child is shown of the client that it serves.
	ClientProfile() link.ClientProfile
	// Current reports whether this is the run that may be called.
	Current(r *Run) bool
	// Request answers what the child asks. It may take its time.
	Request(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer
	// ListsChanged learns that the child has announced a change of lists, before they are
	// read again, unless that has been so too often. It comes in order with Notification.
	ListsChanged(which offers.Lists)
	// Notification learns what else the child announces, in order; m is valid until it
	// returns.
	Notification(ctx context.Context, m *jsonrpc.Message)
}

// RunOptions shape a Run.
type RunOptions struct {
	Spec        spec.Spec
	Launch      launch.Launch
	WantedRoots servedroots.WantedRoots // the roots that Launch was planned with
	Version     string                  // of the hub
	Look        time.Duration           // how often a child with waiting calls is checked for being hung
	Log         zerolog.Logger
}

// A Run is one start of a child until its end. The instance's goroutine owns it; what
// others touch is a channel, an atomic, or under a mutex.
type Run struct {
	Launch launch.Launch // how it was started
	Roots  *servedroots.Roots
	Leases Leases
	Timers *health.CallTimers // of its calls

	instance   Instance
	spec       spec.Spec
	version    string
	log        zerolog.Logger
	connection link.ChildConnection
	greeted    bool // the handshake is over
	cancel     context.CancelCauseFunc

	ended chan struct{} // closed when no part of the run is left
	err   error         // how it ended; valid after ended

	relist           chan struct{} // lists are to be read again
	stale            staleLists    // which
	offers           chan Update   // newer offers, the latest only
	level            levelSetter
	logReaders       atomic.Int32                                // how many messages of its log are read
	lastPlacesCheck  atomic.Int64                                // when it was seen last that nothing has moved, in nanoseconds
	hung             atomic.Bool                                 // it was stopped because it answered nothing
	modernConnection atomic.Pointer[modernlink.ModernConnection] // set if the child is spoken to without a handshake

	logs, progress *rate.Limiter // of what it tells beside its answers
	notices        *rate.Limiter // of Instance.ListsChanged
	doubts         *rate.Limiter // of Doubt
	muted          atomic.Uint64 // log and progress notifications that were too many
}

// How many log notifications of a child are passed on, and how many of progress: no
// person reads more, and no bar shows more. Each costs the client a line.
const (
	maxTold  = 1000   // a second
	maxBurst = 10_000 // at once
)

// How often an Instance learns that lists are about to change, and how often lists are read
// again because of an answer: a child decides both, and each costs others something.
const (
	maxNotices   = 1 // a second
	noticesBurst = 10
	maxDoubts    = 0.2 // a second
	doubtsBurst  = 5
)

// Start starts a run. open starts the child and returns the ChildConnection to it; what the child sends goes
// to h. The run lasts until Stop, or until the child ends.
func Start(options RunOptions, instance Instance, open func(h jsonrpc.Handler) (link.ChildConnection, error)) (*Run, error) {
	r := &Run{
		Launch: options.Launch, instance: instance, spec: options.Spec, version: options.Version, log: options.Log,
		ended: make(chan struct{}), relist: make(chan struct{}, 1), offers: make(chan Update, 1),
		Leases: Leases{drained: make(chan struct{})},
		level:  levelSetter{lock: make(chan struct{}, 1), wanted: func() string { return instance.ClientProfile().Level }, log: options.Log},
		Timers: health.NewCallTimers(options.Look),
		logs:   rate.NewLimiter(maxTold, maxBurst), progress: rate.NewLimiter(maxTold, maxBurst),
		notices: rate.NewLimiter(maxNotices, noticesBurst), doubts: rate.NewLimiter(maxDoubts, doubtsBurst),
	}
	r.Roots = servedroots.NewRoots(options.WantedRoots, options.Launch.Rewrote, r.Connection, options.Log)
	r.level.lock <- struct{}{}
	var err error
	if r.connection, err = open(r); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel = cancel
	go func() {
		r.err = r.connection.Run(ctx)
		r.Timers.Stop()
		if m := r.modernConnection.Load(); m != nil {
			m.End()
		}
		close(r.ended)
	}()
	return r, nil
}

// Connection returns how the child is spoken to.
func (r *Run) Connection() link.ChildConnection {
	if m := r.modernConnection.Load(); m != nil {
		return m
	}
	return r.connection
}

// Facts returns what can be seen of the child from outside.
func (r *Run) Facts() link.ConnectionFacts { return r.connection.Facts() }

// IsModern reports whether the child is spoken to without a handshake (2026-07-28).
func (r *Run) IsModern() bool { return r.modernConnection.Load() != nil }

// WatchTask has a child without a handshake tell about one of its tasks, until end
// is called. ok is false if the child does not tell.
func (r *Run) WatchTask(ctx context.Context, id string) (end func(), ok bool) {
	m := r.modernConnection.Load()
	if m == nil {
		return nil, false
	}
	end, err := m.WatchTask(ctx, id)
	return end, err == nil
}

// Enter takes a lease; false once the run is closing or has ended.
func (r *Run) Enter() bool { return !r.HasEnded() && r.Leases.tryEnter() }

// Ended returns a channel that is closed when no part of the run is left.
func (r *Run) Ended() <-chan struct{} { return r.ended }

// HasEnded reports whether no part of the run is left.
func (r *Run) HasEnded() bool { return r.endedWithin(0) }

// Err returns how the child ended, nil if it was stopped; it is valid after Ended.
func (r *Run) Err() error { return r.err }

// Reason returns how a run ended that was not asked to.
func (r *Run) Reason() string {
	if r.err == nil {
		return errDeafInput.Error()
	}
	return r.err.Error()
}

// Stop ends the run with a cause. It returns when none of it is left.
func (r *Run) Stop(cause error) {
	r.cancel(cause)
	<-r.ended
}

// StopHung works like Stop for a child that answers nothing. Calls under way end with ErrHung.
func (r *Run) StopHung() {
	r.hung.Store(true)
	r.Stop(ErrHung)
}

// endedWithin waits for the end of the run.
func (r *Run) endedWithin(d time.Duration) bool { return worker.Within(r.ended, d) }

// TellLevel sees to it that the child knows the level of the log that the Instance's
// client wants. o is what the child offers. It returns within two seconds.
func (r *Run) TellLevel(ctx context.Context, o *offers.RawOffer) {
	r.level.tellLevel(ctx, r.Connection(), o)
}

var errDeafInput = errors.New("closed its input")
