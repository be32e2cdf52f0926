package httpfront

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"mcphub/hub/httpfront/admission"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
)

// A PrincipalLimits bounds what one principal takes of a front that several may call. 0: a
// default. Where nobody is named by a token nothing of it holds.
type PrincipalLimits struct {
	Sessions int // at a time; three quarters of all where there may be others
	Calls    int // requests under way at a time; as many as one client
	Rate     int // messages that go on to servers, or have one do something, a second; no bound
	Burst    int // of them at once; Rate
}

// A share is what one principal takes. It lives as long as somebody has it, and until as much of
// its rate is free as at first: to leave and come again frees nothing.
type share struct {
	key      string
	name     string          // as it is shown
	limits   PrincipalLimits // Sessions is guarded by Front.mu; the others do not change
	sessions int             // guarded by Front.mu, as the next one is
	listens  int             // without a handshake
	users    atomic.Int64    // Peers, connections of these, and requests of no session; it grows while Front.mu is held, or one has it
	slots    chan struct{}   // one token for each request under way
	callers  *callers        // of the front
	working  chan struct{}   // while others call too, one token for each that the hub works for: see workTime
	spare    chan *works     // whose timer is stopped
	rate     *rate.Limiter   // nil: no bound
	requests atomic.Int64    // under way or waiting
	held     atomic.Int64    // bytes of large requests being read or served
	unread   atomic.Int64    // bytes of large answers being written
}

// worksAtOnce is for how many requests of one principal the hub works at once while others call too:
// as many as it has processors. The others wait where they delay nobody else. All would otherwise
// be in one queue, that of the goroutines that can run. With 300 callers of one, another one's
// p50 was 20 times its own alone at 32, 8 at 8, 4.5 at 4, 2.2 at 2. Where nobody else calls
// nobody waits: to wait costs a call half as much again, since fewer share a write.
func worksAtOnce() int { return max(runtime.GOMAXPROCS(0), 2) }

const (
	// callTime is how long a principal that called counts as one that calls: the first call after
	// a pause of that length waits behind all that others have begun.
	callTime = time.Minute
	// workTime is how long one counts as that. After it the request is taken to wait
	// for its server.
	workTime = 10 * time.Millisecond
)

// callers tells whether several principals call. The zero value is ready to use.
type callers struct {
	last    atomic.Pointer[share] // whose request was the last one
	several atomic.Int64          // until when there are several, as Unix time in nanoseconds
}

// note notes a request of a share, and reports whether others call too.
func (c *callers) note(s *share) bool {
	now := time.Now().UnixNano()
	if last := c.last.Load(); last != s {
		if last = c.last.Swap(s); last != nil && last != s {
			c.several.Store(now + int64(callTime))
			return true
		}
	}
	return now < c.several.Load()
}

// shareOf returns the share of a principal; nil where nobody is named, or nobody else can be. The
// caller holds mu.
func (f *Front) shareOf(principal string) *share {
	if now := f.now.Load(); principal == "" || len(now.Tokens) == 0 && now.Resource == nil {
		return nil
	}
	s := f.shares[principal]
	if s == nil {
		s = newShare(principal, f.principalLimits(), &f.callers)
		f.shares[principal] = s
	}
	return s
}

func newShare(key string, l PrincipalLimits, others *callers) *share {
	s := &share{key: key, name: printable.Escape(key, 100), limits: l, callers: others, slots: make(chan struct{}, l.Calls), working: make(chan struct{}, worksAtOnce()), spare: make(chan *works, worksAtOnce())}
	if l.Rate > 0 {
		s.rate = rate.NewLimiter(rate.Limit(l.Rate), l.Burst)
	}
	return s
}

// principalLimits are those in force, with their defaults.
func (f *Front) principalLimits() PrincipalLimits {
	l := f.o.Principal
	if l.Sessions <= 0 {
		l.Sessions = f.o.Sessions
		if f.now.Load().several() {
			l.Sessions = PrincipalPart(f.o.Sessions)
		}
	}
	if l.Calls <= 0 {
		l.Calls = f.hub.Limits().Calls
	}
	if l.Burst <= 0 {
		l.Burst = l.Rate
	}
	return l
}

// PrincipalPart is how much one principal may have of so many, where there may be others and hub.json
// does not say it.
func PrincipalPart(all int) int { return max(all*3/4, 1) }

// mostOpen is how many connections may be open on which a principal has come: so many that half of them are enough
// for all that one may have. 0: any number, where there are no others.
func (f *Front) mostOpen() int {
	if !f.now.Load().several() {
		return 0
	}
	return 4*f.o.Sessions + 2*(waitingPosts+2)*max(f.hub.Limits().Calls, f.principalLimits().Calls)
}

// visit enters the share of a request that belongs to no session; nil as of shareOf. exit is called
// when the request is over.
func (f *Front) visit(who admission.Caller) (s *share, exit func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s = f.shareOf(who.Principal.Key())
	s.enter()
	return s, s.exit
}

// enter notes one more who uses the share: see users. Each calls exit once. Both do nothing with nil.
func (s *share) enter() {
	if s != nil {
		s.users.Add(1)
	}
}

func (s *share) exit() {
	if s != nil {
		s.users.Add(-1)
	}
}

// dropShare forgets a share of which nothing is taken. The caller holds mu.
func (f *Front) dropShare(s *share, now time.Time) {
	if s == nil || s.users.Load()+s.requests.Load()+s.held.Load()+s.unread.Load() > 0 {
		return
	}
	if (s.rate == nil || s.rate.TokensAt(now) >= float64(s.limits.Burst)) && f.shares[s.key] == s {
		delete(f.shares, s.key)
	}
}

// goesOn reports whether a message goes on to a server, or has one do something. It counts for the rate.
func goesOn(method string) bool {
	switch methods.Of(method).Kind {
	case methods.Call, methods.Extension, methods.Task, methods.Stream:
		return true
	case methods.Notification:
		return method == methods.Progress || method == methods.TaskStatus || method == methods.RootsChanged
	}
	return false
}

// count counts one message more; uncount takes it out. A refusal says when it is worth trying again.
func (s *share) count(method string) *refusal {
	if s == nil {
		return nil
	}
	if s.requests.Add(1) > int64((waitingPosts+1)*cap(s.slots)) {
		s.requests.Add(-1)
		return tooMany(time.Second, "%s has %d calls under way (limits.principal.calls), and %d that wait: send it again when one of them has ended", s.name, cap(s.slots), waitingPosts*cap(s.slots))
	}
	if s.rate == nil || !goesOn(method) {
		return nil
	}
	r := s.rate.Reserve()
	if wait := r.Delay(); wait > 0 {
		r.Cancel()
		s.requests.Add(-1)
		return tooMany(wait, "%s makes more than %d calls a second (limits.principal.rate): send it again in %s", s.name, s.limits.Rate, max(wait.Round(time.Millisecond), time.Millisecond))
	}
	return nil
}

func (s *share) uncount() {
	if s != nil {
		s.requests.Add(-1)
	}
}

// tooMany tells a principal that is at a bound which one it is, and when it ends.
func tooMany(again time.Duration, text string, args ...any) *refusal {
	return &refusal{status: http.StatusTooManyRequests, text: fmt.Sprintf(text, args...), again: again}
}

// begin counts a message that takes no slot, and waits until the hub may work for it; end is called
// when it has.
func (s *share) begin(w http.ResponseWriter, r *http.Request, method string) (*works, *refusal) {
	if s == nil {
		return nil, nil
	}
	if refused := s.count(method); refused != nil {
		return nil, refused
	}
	k, ok := s.work(w, r.Context, r.Context())
	if !ok {
		s.uncount()
		return nil, &refusal{status: http.StatusServiceUnavailable, text: "the connection has ended", code: jsonrpc.CodeInternal}
	}
	return k, nil
}

func (s *share) end(k *works) {
	k.over()
	s.uncount()
}

// A turn is the right of one request to be served.
type turn struct {
	c     *Peer
	works *works // nil where nobody else calls
}

// works is a token of share.working. It is given back once: by its timer, or where that is
// stopped before. Then it is used again, for its timer.
type works struct {
	s     *share
	timer *time.Timer
}

func (k *works) end() { <-k.s.working }

// over notes that the hub has worked enough. It does nothing with nil.
func (k *works) over() {
	if k == nil || !k.timer.Stop() { // once that is stopped nothing else ends it
		return
	}
	k.end()
	select {
	case k.s.spare <- k:
	default:
	}
}

// work waits until the hub may work for a request, and notes that it does; nil where nobody else
// calls. false: nobody wants it any more.
func (s *share) work(w http.ResponseWriter, ctx func() context.Context, conn context.Context) (*works, bool) {
	if !s.callers.note(s) {
		return nil, true
	}
	if !await(s.working, w, ctx, conn) {
		return nil, false
	}
	select {
	case k := <-s.spare:
		k.timer.Reset(workTime)
		return k, true
	default:
	}
	k := &works{s: s}
	k.timer = time.AfterFunc(workTime, k.end)
	return k, true
}

// end lets the next one be served.
func (t turn) end() {
	t.works.over()
	if s := t.c.share; s != nil {
		<-s.slots
	}
	<-t.c.slots
}

// awaitTurn waits until a request may be served; false: nobody wants it any more. While it
// waits, the time for reading the request no longer counts.
func (c *Peer) awaitTurn(w http.ResponseWriter, ctx func() context.Context, conn context.Context) (turn, bool) {
	if !await(c.slots, w, ctx, conn) {
		return turn{}, false
	}
	s := c.share
	if s == nil {
		return turn{c: c}, true
	}
	if !await(s.slots, w, ctx, conn) {
		<-c.slots
		return turn{}, false
	}
	k, ok := s.work(w, ctx, conn)
	if !ok {
		<-s.slots
		<-c.slots
		return turn{}, false
	}
	return turn{c, k}, true
}

// await takes a token, as one request of those that wait for one.
func await(tokens chan struct{}, w http.ResponseWriter, ctx func() context.Context, conn context.Context) bool {
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
