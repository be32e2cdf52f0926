package children

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

const (
	methodToolsChanged = "notifications/tools/list_changed"
	methodProgress     = "notifications/progress"
	methodPing         = "ping"

	// relistPause is the least time between two lists: a child that announces
	// changes without end is listed ten times a second, not more.
	relistPause = 100 * time.Millisecond
)

// A run is one start of a child until its end. The instance's goroutine owns
// it; what others touch is a channel, an atomic, or under mu.
type run struct {
	c      *child
	link   Link
	launch Launch
	early  bool            // started before the first roots were known
	probe  bool            // the offer has the probe
	since  time.Time       // ready since
	served []rootsmgr.Root // what it was last told, or started with
	cancel context.CancelCauseFunc

	ended chan struct{} // closed when nothing of the run is left
	err   error         // how it ended; valid after ended

	relist    chan struct{} // the child says that its tools have changed
	offers    chan *Offer   // newer offers, the latest only
	asked     chan struct{} // an answer to roots/list has been written
	answer    atomic.Uint64 // the generation of roots in the last such answer
	everAsked atomic.Bool

	mu       sync.Mutex
	leases   int
	closing  bool
	idle     chan struct{} // closed when closing and no lease is left
	lastUsed time.Time
	silent   map[string]func() // by progress token: puts off the call's timeout
}

func newRun(c *child, l Launch, early bool) *run {
	return &run{
		c: c, launch: l, early: early, ended: make(chan struct{}), relist: make(chan struct{}, 1), offers: make(chan *Offer, 1),
		asked: make(chan struct{}, 1), idle: make(chan struct{}), silent: map[string]func(){},
	}
}

// endedWithin waits for the end of the run.
func (r *run) endedWithin(d time.Duration) bool {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-r.ended:
		case <-t.C:
		}
	}
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// enter takes a lease; false once the run is closing or has ended.
func (r *run) enter() bool {
	if r.endedWithin(0) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return false
	}
	r.leases++
	return true
}

func (r *run) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases--
	r.lastUsed = time.Now()
	if r.closing && r.leases == 0 {
		close(r.idle)
	}
}

// close refuses new leases; r.idle is closed when the last one has ended.
func (r *run) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return
	}
	r.closing = true
	if r.leases == 0 {
		close(r.idle)
	}
}

// idleFor returns how long nobody has used the run; 0 while somebody does.
func (r *run) idleFor(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leases > 0 {
		return 0
	}
	from := r.lastUsed
	if from.IsZero() {
		from = r.since
	}
	return now.Sub(from)
}

func (r *run) watch(token string, alive func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent[token] = alive
}

func (r *run) unwatch(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.silent, token)
}

// ServeRequest answers roots/list and ping, and hands the rest on.
func (r *run) ServeRequest(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	switch {
	case m.Method == methodPing:
		return jsonrpc.ResultAnswer([]byte(`{}`))
	case m.Method == methodRootsList && r.c.spec.Roots != RootsNone:
		w := r.c.wanted()
		a := jsonrpc.ResultAnswer(rootsResult(w.roots))
		a.Release = func() { r.answered(w.gen) }
		return a
	case m.Method == methodRootsList:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "roots are not served to this server (\"roots\": \"none\")")
	}
	return r.c.host.observer.ChildRequest(ctx, r.c.key, m)
}

// answered notes that an answer to roots/list has been written: from now on
// whatever is sent to the child comes after it.
func (r *run) answered(gen uint64) {
	for {
		old := r.answer.Load()
		if gen <= old || r.answer.CompareAndSwap(old, gen) {
			break
		}
	}
	r.everAsked.Store(true)
	poke(r.asked)
}

// ServeNotification follows up list_changed and puts off timeouts; it is
// called on the read loop and hands on what is not the hub's own business.
func (r *run) ServeNotification(m *jsonrpc.Message) {
	switch m.Method {
	case methodToolsChanged:
		poke(r.relist)
		return
	case methodProgress:
		if token := m.Param("progressToken"); token != nil {
			r.mu.Lock()
			alive := r.silent[string(token)]
			r.mu.Unlock()
			if alive != nil {
				alive()
			}
		}
	}
	r.c.host.observer.ChildNotification(r.c.key, m)
}

// follow lists the child's tools again each time it says that they changed,
// until ctx ends. base is what it offered first.
func (r *run) follow(ctx context.Context, base *Offer) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.relist:
		}
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		o, note, err := listed(ctx, r.link, base)
		pause.Reset(relistPause)
		if err != nil {
			if ctx.Err() == nil {
				r.c.log.Warn().Err(err).Msg("the changed list of tools could not be read; the former one stands")
			}
			continue
		}
		if note != "" {
			r.c.log.Warn().Msg(note)
		}
		base = o
		select {
		case <-r.offers: // a newer one takes its place
		default:
		}
		r.offers <- o
	}
}

// listed returns a copy of base with the tools of now.
func listed(ctx context.Context, link Link, base *Offer) (o *Offer, note string, err error) {
	c := *base
	if !declares(base.Capabilities, "tools") {
		return &c, "", nil
	}
	c.Tools, note, err = listTools(ctx, link)
	return &c, note, err
}

// poke makes sure that c holds a token.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
