package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Times of a Recorder.
const (
	reopenFirst = 100 * time.Millisecond // until a log that could not be opened is tried again
	reopenMost  = 2 * time.Second
	warnEvery   = 30 * time.Second // while nothing can be recorded
)

var errNotOpen = errors.New("no audit log is open")

// A Recorder keeps a Log open. It opens another one if that failed, or if the file
// was taken away. Its State reports whether decisions can be recorded.
type Recorder struct {
	o    Options
	tell func(State) // called when the State has changed, and every warnEvery while nothing can be recorded
	log  atomic.Pointer[Log]
	ill  atomic.Bool // err != nil, so that success need not take mu

	subject atomic.Pointer[CallSubject] // of the last ticket

	mu         sync.Mutex // guards what follows
	closed     error      // why no log is open
	err        error
	since      time.Time
	told       time.Time
	unrecorded uint64
}

// A State reports whether decisions can be recorded. It is written as JSON.
type State struct {
	Dir        string     `json:"dir"`             // "" where none is kept
	Log        string     `json:"log,omitempty"`   // id of this process's log
	Error      string     `json:"error,omitempty"` // why nothing can be recorded now
	Since      *time.Time `json:"since,omitempty"` // of the error
	Unrecorded uint64     `json:"unrecorded"`      // decisions whose line was not in the file when it had to be
}

// A Ticket is the place of a decision, for its outcome.
type Ticket struct {
	log    *Log
	number uint64
	call   int           // as in an Outcome
	at     time.Duration // since epoch
	of     *CallSubject
}

// epoch is what times of tickets are counted from: a duration takes a third of a time.
var epoch = time.Now()

// sharedSubject returns a subject that tickets share: nearly always it is that of the call before.
func (r *Recorder) sharedSubject(s CallSubject) *CallSubject {
	if was := r.subject.Load(); was != nil && *was == s {
		return was
	}
	now := s
	r.subject.Store(&now)
	return &now
}

// NewRecorder makes the Recorder of a folder; tell may be nil. Nothing is
// opened before Open or Run.
func NewRecorder(o Options, tell func(State)) *Recorder {
	if tell == nil {
		tell = func(State) {}
	}
	return &Recorder{o: o, tell: tell}
}

// Open opens the log. If that fails Run tries again.
func (r *Recorder) Open() error {
	l, err := Open(r.o)
	if err != nil {
		r.noteUnopened(err)
		return err
	}
	r.log.Store(l)
	r.noteWell()
	return nil
}

// noteUnopened remembers why no log is open.
func (r *Recorder) noteUnopened(err error) {
	r.mu.Lock()
	r.closed = err
	r.mu.Unlock()
	_ = r.noteFailed(err, 0) // which the record keeps
}

// notOpen returns the error of an append while no log is open.
func (r *Recorder) notOpen() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed == nil {
		return errNotOpen
	}
	return fmt.Errorf("%w in %s: %w", errNotOpen, r.o.Dir, r.closed)
}

// Run keeps a log open until ctx ends, and closes it.
func (r *Recorder) Run(ctx context.Context) error {
	wait := reopenFirst
	for {
		if l := r.log.Load(); l != nil {
			err := l.Run(ctx)
			if ctx.Err() != nil {
				return err
			}
			r.log.Store(nil)
			r.noteUnopened(err)
		}
		if ctx.Err() != nil {
			return nil
		}
		if r.Open() == nil {
			wait = reopenFirst
			continue
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, reopenMost)
	}
}

// Append records a decision. When it returns without an error the line is with the
// operating system. With an error there is a ticket if the line will be written with
// the next that can be.
func (r *Recorder) Append(ctx context.Context, rec *Record) (Ticket, error) {
	return r.appendRecord(ctx, KindDecision, rec)
}

// Question works like Append for what a human is asked, and answers.
func (r *Recorder) Question(ctx context.Context, rec *Record) error {
	_, err := r.appendRecord(ctx, KindQuestion, rec)
	return err
}

func (r *Recorder) appendRecord(ctx context.Context, kind string, rec *Record) (Ticket, error) {
	l := r.log.Load()
	if l == nil {
		return Ticket{}, r.noteFailed(r.notOpen(), 1)
	}
	now := time.Now()
	n, err := l.Put(kind, rec, nil, now)
	if err != nil {
		return Ticket{}, r.noteFailed(err, 1)
	}
	return Ticket{l, n, 0, now.Sub(epoch), r.sharedSubject(CallSubject{rec.Principal, rec.Client, rec.Child, rec.Tool})}, r.commitLog(ctx, l, 1)
}

// Flush waits until the lines that were noted are with the operating system, so that who
// is answered now finds them.
func (r *Recorder) Flush(ctx context.Context) {
	if l := r.log.Load(); l != nil {
		_ = r.commitLog(ctx, l, 0) // told already where they were noted
	}
}

// Ready returns why decisions cannot be recorded now. It writes lines that wait: after a
// failure no one else may come who does.
func (r *Recorder) Ready(ctx context.Context) error {
	l := r.log.Load()
	if l == nil {
		return r.notOpen()
	}
	return r.commitLog(ctx, l, 0)
}

// Note records what is no decision. It does not wait: the line comes before the ones
// of later decisions, and is with the operating system when they are.
func (r *Recorder) Note(kind string, rec *Record) {
	l := r.log.Load()
	if l == nil {
		_ = r.noteFailed(r.notOpen(), 1)
		return
	}
	if err := l.putSoon(kind, rec); err != nil {
		_ = r.noteFailed(err, 1)
	}
}

// AppendCalls works like Append for calls that were decided together, at now; those
// of a session that stand together share a line. It appends their tickets to the ones
// that it is given, unless they have none.
func (r *Recorder) AppendCalls(ctx context.Context, to []Ticket, calls []CallRecord, now time.Time) ([]Ticket, error) {
	l := r.log.Load()
	if l == nil {
		return to, r.noteFailed(r.notOpen(), len(calls))
	}
	for from := 0; from < len(calls); {
		end := from + 1
		for end < len(calls) && calls[end].Session == calls[from].Session {
			end++
		}
		line := calls[from:end]
		n, err := l.PutCalls(line, now)
		if err != nil {
			return to, r.noteFailed(err, len(calls))
		}
		for i := range line {
			c := &line[i]
			t := Ticket{l, n, i + 1, now.Sub(epoch), r.sharedSubject(CallSubject{c.Principal, c.Client, c.Child, c.Tool})}
			if len(line) == 1 {
				t.call = 0
			}
			to = append(to, t)
		}
		from = end
	}
	return to, r.commitLog(ctx, l, len(calls))
}

func (r *Recorder) commitLog(ctx context.Context, l *Log, of int) error {
	err := l.Commit(ctx)
	switch {
	case err == nil:
		r.noteWell()
	case ctx.Err() == nil:
		return r.noteFailed(err, of)
	}
	return err
}

// RecordOutcome records what became of a request. The zero Ticket is of none.
func (ticket Ticket) RecordOutcome(result string) {
	if ticket.log != nil {
		ticket.log.Outcome(Outcome{DecisionLine: ticket.number, Call: ticket.call, Result: result, Micros: (time.Since(epoch) - ticket.at).Microseconds(), CallSubject: *ticket.of})
	}
}

// State reports whether decisions can be recorded.
func (r *Recorder) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.currentState()
}

// currentState works like State for callers that hold mu.
func (r *Recorder) currentState() State {
	st := State{Dir: r.o.Dir, Unrecorded: r.unrecorded}
	if l := r.log.Load(); l != nil {
		st.Log = l.ID()
	}
	if r.err != nil {
		since := r.since
		st.Error, st.Since = r.err.Error(), &since
	}
	return st
}

// noteFailed remembers that so many decisions could not be recorded.
func (r *Recorder) noteFailed(err error, of int) error {
	now := time.Now()
	r.mu.Lock()
	r.unrecorded += uint64(of)
	first := r.err == nil
	if first {
		r.since = now
	}
	r.err = err
	r.ill.Store(true)
	loud := first || now.Sub(r.told) >= warnEvery
	if loud {
		r.told = now
	}
	st := r.currentState()
	r.mu.Unlock()
	if loud {
		r.tell(st)
	}
	return err
}

// noteWell remembers that lines can be written again.
func (r *Recorder) noteWell() {
	if !r.ill.Load() {
		return
	}
	r.mu.Lock()
	r.err = nil
	r.ill.Store(false)
	st := r.currentState()
	r.mu.Unlock()
	r.tell(st)
}
