package children

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"mcphub/children/health"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/modern"
	"mcphub/children/offers"
	"mcphub/children/served"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

const (
	methodRootsList = "roots/list"
	methodPing      = "ping"

	// relistPause is the least time between two lists: a child that announces
	// changes without end is listed ten times a second, not more.
	relistPause = 100 * time.Millisecond
)

// A run is one start of a child until its end. The instance's goroutine owns
// it; what others touch is a channel, an atomic, or under mu.
type run struct {
	c       *child
	link    link.Link
	launch  launch.Launch
	greeted bool            // the handshake is over
	early   bool            // started before the first roots were known
	probe   bool            // the offer has the probe
	since   time.Time       // ready since
	served  []rootsmgr.Root // what it was last told, or started with
	cancel  context.CancelCauseFunc

	ended chan struct{} // closed when nothing of the run is left
	err   error         // how it ended; valid after ended

	relist chan struct{}      // the child says that lists have changed
	stale  staleLists         // which
	offers chan *offers.Offer // newer offers, the latest only
	roots  answers
	level  leveller
	leases leases
	idle   *health.IdleTimeout
	hung   atomic.Bool                 // it was stopped because it answered nothing
	modern atomic.Pointer[modern.Link] // set where the child is spoken to without a handshake
}

// way is how the child is spoken to.
func (r *run) way() link.Link {
	if m := r.modern.Load(); m != nil {
		return m
	}
	return r.link
}

// answers is what is known of the answers to a run's roots/list.
type answers struct {
	written chan struct{} // holds a token after each
	gen     atomic.Uint64 // the newest generation of roots in one
	any     atomic.Bool
	held    atomic.Bool  // one of its questions has waited for roots
	open    atomic.Int32 // questions that have not been answered
}

func newRun(c *child, l launch.Launch, early bool) *run {
	r := &run{
		c: c, launch: l, early: early, ended: make(chan struct{}), relist: make(chan struct{}, 1), offers: make(chan *offers.Offer, 1),
		roots:  answers{written: make(chan struct{}, 1)},
		leases: leases{idle: make(chan struct{})},
		level:  leveller{turn: make(chan struct{}, 1), wanted: func() string { return c.common.client(c.key).Level }, log: c.log},
		idle:   health.NewIdleTimeout(c.common.pace.Every),
	}
	r.level.turn <- struct{}{}
	return r
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
func (r *run) enter() bool { return !r.endedWithin(0) && r.leases.enter() }

// ServeRequest answers roots/list and ping, and hands the rest on.
func (r *run) ServeRequest(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	switch {
	case r.modern.Load() != nil:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "a server of this protocol version asks nothing by itself: it answers with what it needs (2026-07-28, basic/patterns/mrtr)")
	case m.Method == methodPing:
		return jsonrpc.ResultAnswer([]byte(`{}`))
	case m.Method == methodRootsList && r.c.spec.Roots != RootsNone:
		r.roots.open.Add(1)
		r.fetchRoots(ctx)
		w := r.c.wanted()
		a := jsonrpc.ResultAnswer(served.Result(w.roots, r.c.noRoots))
		a.Release = func() {
			r.roots.open.Add(-1)
			r.roots.answered(w.gen)
		}
		return a
	case m.Method == methodRootsList:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "roots are not served to this server (\"roots\": \"none\")")
	}
	r.idle.Hold()
	defer r.idle.Release()
	return r.c.common.observer.ChildRequest(context.WithValue(ctx, askerKey{}, r.link), r.c.key, m)
}

// askerKey is where the Link of a child stands that asks.
type askerKey struct{}

// Tell sends a notification to the child whose request ctx is of: the one that
// ChildRequest was given.
func Tell(ctx context.Context, method string, params ...[]byte) error {
	asker, ok := ctx.Value(askerKey{}).(link.Link)
	if !ok {
		return errors.New("children: the context is of no child's request")
	}
	return asker.Notify(ctx, method, params...)
}

// fetchRoots lets a question for the roots wait while somebody gets them. The call
// that it is asked on is waited for no less than one that asks a client.
func (r *run) fetchRoots(ctx context.Context) {
	if r.c.common.roots == nil {
		return
	}
	fetch := r.c.common.roots(ctx, r.c.key)
	if fetch == nil {
		return
	}
	r.roots.held.Store(true) // before they come
	r.idle.Hold()
	defer r.idle.Release()
	fetch(ctx)
}

// answered notes that an answer to roots/list has been written: from now on
// whatever is sent to the child comes after it.
func (a *answers) answered(gen uint64) {
	for {
		old := a.gen.Load()
		if gen <= old || a.gen.CompareAndSwap(old, gen) {
			break
		}
	}
	a.any.Store(true)
	wake(a.written)
}

// ServeNotification follows up list_changed and puts off timeouts; it is
// called on the read loop and hands on what is not the hub's own business.
func (r *run) ServeNotification(m *jsonrpc.Message) { r.noticed(context.Background(), m) }

type toldKey struct{}

// ServeNotificationOn is ServeNotification where the transport tells on which call
// it came, or that it came on none.
func (r *run) ServeNotificationOn(on context.Context, m *jsonrpc.Message) {
	r.noticed(context.WithValue(on, toldKey{}, true), m)
}

// Told reports whether the transport of a child tells which call something that
// the child says belongs to: ctx is what an Observer was given. Then ctx has the
// values of that call's context, or there is no such call.
func Told(ctx context.Context) bool { return ctx.Value(toldKey{}) != nil }

func (r *run) noticed(ctx context.Context, m *jsonrpc.Message) {
	if w := r.modern.Load(); w != nil {
		if m = w.Heard(m); m == nil {
			return
		}
	}
	if r.stale.note(m.Method) {
		wake(r.relist)
		return
	}
	switch m.Method {
	case link.MethodProgress:
		if token := m.Param("progressToken"); token != nil {
			r.idle.Progress(token)
		}
	}
	r.c.common.observer.ChildNotification(ctx, r.c.key, m)
}

// relistAll has every list looked at anew.
func (r *run) relistAll() {
	r.stale.Or(uint32(offers.AllLists))
	wake(r.relist)
}

// SessionRenewed is called when the server has forgotten the session that this run had
// with it, and another was started: what was said in the first one is forgotten too,
// and the server may have been replaced by a newer one.
func (r *run) SessionRenewed() {
	r.stale.sessions.Add(1)
	r.relistAll()
}

// staleLists are the lists that have changed since they were asked for, as
// [offers.Lists].
type staleLists struct {
	atomic.Uint32
	sessions atomic.Uint64 // started in the place of forgotten ones
}

// note takes in a notification, and tells whether it is about a list.
func (s *staleLists) note(method string) (is bool) {
	which := offers.Changed(method)
	s.Or(uint32(which))
	return which != 0
}

// follow lists again what the child says has changed, each time, until ctx
// ends. base is what it offered first.
func (r *run) follow(ctx context.Context, base *offers.Offer) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	var sessions uint64
	for {
		old, stop := outlived(base)
		select {
		case <-ctx.Done():
			stop()
			return
		case <-old:
			r.stale.Or(uint32(offers.AllLists))
		case <-r.relist:
		}
		stop()
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if now := r.stale.sessions.Load(); now != sessions {
			sessions = now
			r.level.tellAgain(ctx, r.way(), base)
		}
		o, notes, err := offers.Read(ctx, r.way(), base, offers.Lists(r.stale.Swap(0)))
		pause.Reset(relistPause)
		if err != nil {
			if ctx.Err() == nil {
				r.c.log.Warn().Err(err).Msg("the changed list of tools could not be read; the former one stands")
			}
			continue
		}
		for _, note := range notes {
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

// leastFresh is the least time between two looks at lists that are only said to
// grow old.
const leastFresh = time.Minute

// outlived tells when what a child offers has grown old by its own word. A child
// that announces changes is taken by that word instead.
func outlived(o *offers.Offer) (<-chan time.Time, func()) {
	announces := string(jsonrpc.Get(jsonrpc.Get(o.Capabilities, "tools"), "listChanged")) == "true"
	if o.Fresh <= 0 || announces {
		return nil, func() {}
	}
	t := time.NewTimer(max(o.Fresh, leastFresh))
	return t.C, func() { t.Stop() }
}

// wake makes sure that c holds a token.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// gone is what a call gets when its run has ended under it.
func (r *run) gone(cause error) *UnavailableError {
	e := r.c.down(cause.Error(), r.link.Facts().Stderr, cause)
	switch {
	case r.hung.Load():
		e.Reason, e.Err = errHung.Error()+"; the next call starts it again", errHung
	case r.endedWithin(0):
		e.Reason = "was stopped during the call"
		if r.err != nil {
			e.Reason, e.Err = r.err.Error(), r.err
		}
		e.Reason += "; the next call starts it again"
	}
	return e
}

// noRoots says why the child is served none.
func (c *child) noRoots() string {
	if c.common.noRoots == nil {
		return ""
	}
	return c.common.noRoots(c.key)
}
