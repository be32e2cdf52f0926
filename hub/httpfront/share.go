package httpfront

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// A PrincipalLimits bounds what one principal takes of a front that several may call. 0: a
// default. Where nobody is named by a token nothing of it holds.
type PrincipalLimits struct {
	Sessions int // at a time; three quarters of all where there may be others
	Calls    int // requests under way at a time; as many as one client
	Rate     int // calls that go on to servers, a second; no bound
	Burst    int // of them at once; Rate
}

// A share is what one principal takes. It lives as long as a session of it, and until as much of
// its rate is free as at first: to leave and come again frees nothing.
type share struct {
	name     string
	limits   PrincipalLimits // Sessions is guarded by Front.mu; the others do not change
	sessions int             // guarded by Front.mu, as peers is
	peers    int             // that have it
	slots    chan struct{}   // one token for each request under way
	working  chan struct{}   // one token for each that the hub works for: see workTime
	spare    chan *works     // whose timer is stopped
	rate     *rate.Limiter   // nil: no bound
	requests atomic.Int64    // under way or waiting
}

const (
	// worksAtOnce is for how many requests of one principal the hub works at once: enough to
	// keep its processors busy. The others wait where they delay nobody else. All would
	// otherwise be in one queue, that of the goroutines that can run.
	worksAtOnce = 4
	// workTime is how long one counts as that. After it the request is taken to wait
	// for its server.
	workTime = 10 * time.Millisecond
)

// shareOf returns the share of a principal; nil where nobody is named, or nobody else can be. The
// caller holds mu.
func (f *Front) shareOf(principal string) *share {
	if now := f.now.Load(); principal == "" || len(now.Tokens) == 0 && now.Resource == nil {
		return nil
	}
	s := f.shares[principal]
	if s == nil {
		s = newShare(principal, f.principalLimits())
		f.shares[principal] = s
	}
	return s
}

func newShare(name string, l PrincipalLimits) *share {
	s := &share{name: name, limits: l, slots: make(chan struct{}, l.Calls), working: make(chan struct{}, worksAtOnce), spare: make(chan *works, worksAtOnce)}
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
			l.Sessions = max(f.o.Sessions*3/4, 1)
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

// leaveShare is called once for each Peer that has a share. The caller holds mu.
func (f *Front) leaveShare(c *Peer) {
	if s := c.share; s != nil {
		s.peers--
		f.dropShare(s, time.Now())
	}
}

func (f *Front) dropShare(s *share, now time.Time) {
	if s != nil && s.peers == 0 && (s.rate == nil || s.rate.TokensAt(now) >= float64(s.limits.Burst)) && f.shares[s.name] == s {
		delete(f.shares, s.name)
	}
}

// isCall reports whether a request goes on to a server.
func isCall(method string) bool {
	kind := methods.Of(method).Kind
	return kind == methods.Call || kind == methods.Extension
}

// take counts one request more; leave takes it out. text is why it is refused, and after how
// long it is worth trying again.
func (s *share) take(method string) (text string, after time.Duration) {
	if s == nil {
		return "", 0
	}
	if s.requests.Add(1) > int64((waitingPosts+1)*cap(s.slots)) {
		s.requests.Add(-1)
		return fmt.Sprintf("%s has %d calls under way (limits.principal.calls), and %d that wait: send it again when one of them has ended", s.name, cap(s.slots), waitingPosts*cap(s.slots)), time.Second
	}
	if s.rate == nil || !isCall(method) {
		return "", 0
	}
	r := s.rate.Reserve()
	if wait := r.Delay(); wait > 0 {
		r.Cancel()
		s.requests.Add(-1)
		return fmt.Sprintf("%s makes more than %d calls a second (limits.principal.rate): send it again in %s", s.name, s.limits.Rate, max(wait.Round(time.Millisecond), time.Millisecond)), wait
	}
	return "", 0
}

func (s *share) leave() {
	if s != nil {
		s.requests.Add(-1)
	}
}

// refuseShare tells a principal that is at a bound which one it is, and when it ends.
func refuseShare(w http.ResponseWriter, id []byte, text string, after time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(after.Seconds())))))
	refuseRequest(w, http.StatusTooManyRequests, id, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, text))
}

// A turn is the right of one request to be served.
type turn struct {
	c     *Peer
	works *works // nil where the Peer has no share
}

// works is a token of share.working. It is given back once: by its timer, or where that is
// stopped before. Then it is used again, for its timer.
type works struct {
	s     *share
	timer *time.Timer
}

func (k *works) end() { <-k.s.working }

// work notes that the hub works for a request from now on.
func (s *share) work() *works {
	select {
	case k := <-s.spare:
		k.timer.Reset(workTime)
		return k
	default:
	}
	k := &works{s: s}
	k.timer = time.AfterFunc(workTime, k.end)
	return k
}

// end lets the next one be served.
func (t turn) end() {
	if k := t.works; k != nil {
		if k.timer.Stop() { // so nothing else ends it any more
			k.end()
			select {
			case k.s.spare <- k:
			default:
			}
		}
		<-k.s.slots
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
	if !await(s.working, w, ctx, conn) {
		<-s.slots
		<-c.slots
		return turn{}, false
	}
	return turn{c, s.work()}, true
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
