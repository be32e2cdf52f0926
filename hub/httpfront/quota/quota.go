package quota

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

// Limits bound what one principal takes of a front that several may call. 0: a
// default. If no one is named by a token none of it holds.
type Limits struct {
	Sessions int // at a time; three quarters of all if there may be others
	Calls    int // requests under way at a time; as many as one client
	Rate     int // messages that go on to servers, or have one do something, a second; no bound
	Burst    int // of them at once; Rate
}

// DefaultPart returns how much one principal may have of so many, if there may be others and
// hub.json does not say it.
func DefaultPart(all int) int { return max(all*3/4, 1) }

// A Share is what one principal takes. It lives as long as someone uses it and until its rate
// limit has recovered. So a client gains nothing by leaving and coming back. A nil Share bounds
// nothing.
type Share struct {
	Key    string
	Name   string // as it is shown
	limits Limits

	// Guarded by the mutex of the one who has the table of shares.
	Sessions    int // that it has
	Listens     int // without a handshake
	MaxSessions int // that it may have

	users    atomic.Int64  // see AddUser
	slots    chan struct{} // one token for each request under way
	callers  *Callers      // of the front
	working  chan struct{} // while others call too, one token for each that the hub works for: see WorkTime
	spare    chan *Work    // whose timer is stopped
	rate     *rate.Limiter // nil: no bound
	requests atomic.Int64  // under way or waiting
	held     atomic.Int64  // bytes of large requests being read or served
	unread   atomic.Int64  // bytes of large answers being written
}

// Waiting is how many requests may wait for their turn, for each that is served.
const Waiting = 4

// WorksAtOnce is for how many requests of one principal the hub works at once while others call too:
// as many as it has processors. The others wait if they delay no one else. All would otherwise be in
// one queue, that of the goroutines that can run. With 300 callers of one, another one's p50 was 20
// times its own alone at 32, 8 at 8, 4.5 at 4, 2.2 at 2. If no one else calls no one waits: to wait
// costs a call half as much again, since fewer share a write.
func WorksAtOnce() int { return max(runtime.GOMAXPROCS(0), 2) }

const (
	// CallTime is how long a principal counts as active after a call. If two principals are active,
	// their work is shared out.
	CallTime = time.Minute
	// WorkTime is how long the hub counts as working for one request. After that the request is taken
	// to wait for its server.
	WorkTime = 10 * time.Millisecond
)

// Callers reports whether several principals call. The zero value is ready to use.
type Callers struct {
	last    atomic.Pointer[Share] // whose request was the last one
	several atomic.Int64          // until when there are several, as Unix time in nanoseconds
}

// noteRequest remembers a request of a share, and reports whether others call too.
func (c *Callers) noteRequest(s *Share) bool {
	now := time.Now().UnixNano()
	if last := c.last.Load(); last != s {
		if last = c.last.Swap(s); last != nil && last != s {
			c.several.Store(now + int64(CallTime))
			return true
		}
	}
	return now < c.several.Load()
}

// New makes the share of a principal, whose limits have no default any more. It starts nothing.
func New(key string, l Limits, others *Callers) *Share {
	s := &Share{Key: key, Name: printable.Escape(key, 100), limits: l, MaxSessions: l.Sessions, callers: others, slots: make(chan struct{}, l.Calls), working: make(chan struct{}, WorksAtOnce()), spare: make(chan *Work, WorksAtOnce())}
	if l.Rate > 0 {
		s.rate = rate.NewLimiter(rate.Limit(l.Rate), l.Burst)
	}
	return s
}

// AddUser remembers one more who uses the share: a session, a connection of it, or a request of none. The first of them
// does so while the table of shares is locked, others if one has it already. Each calls RemoveUser once.
func (s *Share) AddUser() {
	if s != nil {
		s.users.Add(1)
	}
}

// RemoveUser ends what AddUser began.
func (s *Share) RemoveUser() {
	if s != nil {
		s.users.Add(-1)
	}
}

// IsUnused reports whether no part of the share is taken, so that it may be forgotten.
func (s *Share) IsUnused(now time.Time) bool {
	return s.users.Load()+s.requests.Load()+s.held.Load()+s.unread.Load() == 0 &&
		(s.rate == nil || s.rate.TokensAt(now) >= float64(s.limits.Burst))
}

// Bodies counts the bytes of large requests of the principal that are being read or served; nil if no one is told apart.
func (s *Share) Bodies() *atomic.Int64 {
	if s == nil {
		return nil
	}
	return &s.held
}

// Answers counts the bytes of its large answers that are being written; nil as of Bodies.
func (s *Share) Answers() *atomic.Int64 {
	if s == nil {
		return nil
	}
	return &s.unread
}

// An ExceededError says at which bound a principal is.
type ExceededError struct {
	Text  string
	Rate  bool          // it is the limit of calls a second, and not of calls under way
	Again time.Duration // after which it is worth trying again
}

func (e *ExceededError) Error() string { return e.Text }

func exceededError(again time.Duration, text string, args ...any) *ExceededError {
	return &ExceededError{Text: fmt.Sprintf(text, args...), Again: again}
}

// ErrGone is why a request is not served that no caller waits for any more.
var ErrGone = errors.New("the connection has ended")

// countsForRate reports whether a message goes on to a server, or has one do something. It counts for the rate.
func countsForRate(method string) bool {
	switch methods.Of(method).Kind {
	case methods.Call, methods.Extension, methods.Task, methods.Stream:
		return true
	case methods.Notification:
		return method == methods.Progress || method == methods.TaskStatus || method == methods.RootsChanged
	}
	return false
}

// Count counts one message more; Uncount takes it out. The error is an *ExceededError.
func (s *Share) Count(method string) error {
	if s == nil {
		return nil
	}
	if s.requests.Add(1) > int64((Waiting+1)*cap(s.slots)) {
		s.requests.Add(-1)
		return exceededError(time.Second, "%s has %d calls under way (limits.principal.calls), and %d that wait: send it again when one of them has ended", s.Name, cap(s.slots), Waiting*cap(s.slots))
	}
	if s.rate == nil || !countsForRate(method) {
		return nil
	}
	r := s.rate.Reserve()
	if wait := r.Delay(); wait > 0 {
		r.Cancel()
		s.requests.Add(-1)
		e := exceededError(wait, "%s makes more than %d calls a second (limits.principal.rate): send it again in %s", s.Name, s.limits.Rate, max(wait.Round(time.Millisecond), time.Millisecond))
		e.Rate = true
		return e
	}
	return nil
}

// Uncount ends what Count began.
func (s *Share) Uncount() {
	if s != nil {
		s.requests.Add(-1)
	}
}

// Begin counts a message that takes no slot, and waits until the hub may work for it; End is called
// when it has. The error is ErrGone, or Count's.
func (s *Share) Begin(w http.ResponseWriter, r *http.Request, method string) (*Work, error) {
	if s == nil {
		return nil, nil
	}
	if err := s.Count(method); err != nil {
		return nil, err
	}
	k, ok := s.awaitWork(w, r.Context, r.Context())
	if !ok {
		s.Uncount()
		return nil, ErrGone
	}
	return k, nil
}

// End ends what Begin began.
func (s *Share) End(k *Work) {
	k.Release()
	s.Uncount()
}

// AcquireSlot takes the slot of a request that was counted, and waits until the hub may work for it; ReleaseSlot is
// called when it was served. false: no one wants it any more.
func (s *Share) AcquireSlot(w http.ResponseWriter, ctx func() context.Context, conn context.Context) (*Work, bool) {
	if s == nil {
		return nil, true
	}
	if !Await(s.slots, w, ctx, conn) {
		return nil, false
	}
	k, ok := s.awaitWork(w, ctx, conn)
	if !ok {
		<-s.slots
	}
	return k, ok
}

// ReleaseSlot ends what AcquireSlot began.
func (s *Share) ReleaseSlot(k *Work) {
	k.Release()
	if s != nil {
		<-s.slots
	}
}

// Work is a token of Share.working: the hub works for one request. It is given back once: by its timer, or by the one who
// stops the timer before. Then it is used again, for its timer.
type Work struct {
	s     *Share
	timer *time.Timer
}

func (k *Work) endWork() { <-k.s.working }

// Release ends the work: the hub has worked enough. It does nothing with nil.
func (k *Work) Release() {
	if k == nil || !k.timer.Stop() { // once that is stopped nothing else ends it
		return
	}
	k.endWork()
	select {
	case k.s.spare <- k:
	default:
	}
}

// awaitWork waits until the hub may work for a request, and notes that it does; nil if no one else
// calls. false: no one wants it any more.
func (s *Share) awaitWork(w http.ResponseWriter, ctx func() context.Context, conn context.Context) (*Work, bool) {
	if !s.callers.noteRequest(s) {
		return nil, true
	}
	if !Await(s.working, w, ctx, conn) {
		return nil, false
	}
	select {
	case k := <-s.spare:
		k.timer.Reset(WorkTime)
		return k, true
	default:
	}
	k := &Work{s: s}
	k.timer = time.AfterFunc(WorkTime, k.endWork)
	return k, true
}

// Await takes a token for one request. It gives up when ctx (the request) or conn (its connection) ends. While it waits, the
// time for reading the request no longer counts. false: no one wants it any more.
func Await(tokens chan struct{}, w http.ResponseWriter, ctx func() context.Context, conn context.Context) bool {
	select {
	case tokens <- struct{}{}:
		return true
	default:
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	select {
	case tokens <- struct{}{}:
		return true
	case <-ctx().Done():
	case <-conn.Done():
	}
	return false
}
