package hub

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcphub/children"
	"mcphub/hub/inflight"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file is about a legacy child that asks for roots in the middle of a call
// of a modern client, which has given none: nothing could tell before that they
// would be needed. The child's question waits while the client is asked.

var errSought = errors.New("the client has not said in time what its roots are")

// A search is the question to a client for its roots on account of a child. A
// request has one at most, however often its child asks; a child has one at a
// time, for what came of it may be all that the others need.
type search struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// stop ends it, and returns when it has ended.
func (q *search) stop() {
	if q != nil {
		q.cancel()
		<-q.done
	}
}

// searches are those under way, by child. The mutex is a leaf.
type searches struct {
	mu sync.Mutex
	by map[string]*search
}

// begin enters a search, or returns the one that is under way.
func (a *searches) begin(child string, q *search) (before *search) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before := a.by[child]; before != nil {
		return before
	}
	if a.by == nil {
		a.by = map[string]*search{}
	}
	a.by[child] = q
	return nil
}

func (a *searches) end(child string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.by, child)
}

// fetchRoots says what roots/list of a child has to wait for: nil for nothing,
// because it belongs to no call of a modern client that could give roots and has
// given none. The wait ends after twice roots.timeout, whoever is asked meanwhile.
func (h *Hub) fetchRoots(ctx context.Context, k children.Key) func(ctx context.Context) {
	s := h.owner(k)
	if s == nil {
		return nil
	}
	came := inflight.From[onBehalf](ctx)
	if s.lacking(k, came) == nil && (s.settled(k.Child) || len(s.modernOnes(k, came)) == 0) {
		return nil
	}
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 2*h.now().cfg.Roots.Timeout)
		defer cancel()
		for t := s.lacking(k, came); t != nil && ctx.Err() == nil; t = s.lacking(k, came) {
			s.search(ctx, t)
		}
		s.settle(ctx, k.Child)
	}
}

// settled reports whether a child is served the roots that came with calls: those
// of another call may be on their way to it.
func (s *Session) settled(child string) bool {
	if !s.modern.stateless {
		if !s.roots.Given() {
			return true
		}
		view := s.roots.View()
		s.mu.Lock()
		defer s.mu.Unlock()
		return !view.Assumed && s.tab.servedOnce && s.tab.served >= view.Snapshot.Generation()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tab.brought.done >= s.tab.brought.served[child].at
}

// settle waits until that is so.
func (s *Session) settle(ctx context.Context, child string) {
	for {
		news := s.roots.Updates()
		s.mu.Lock()
		again := s.tab.servedNow
		s.mu.Unlock()
		if s.settled(child) {
			return
		}
		select {
		case <-news:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// lacking returns the request that a child's question for roots belongs to and
// whose client is to be asked; where that cannot be told the newest one that may be.
func (s *Session) lacking(k children.Key, came *inFlight) *inFlight {
	for _, t := range s.modernOnes(k, came) {
		if p := t.Client.client.(*parley); p.asks && p.lacksRoots(k.Child) && !p.hasSought() {
			return t
		}
	}
	return nil
}

// hasSought reports whether the client need not be asked: it has been, on account
// of a child, and may not have answered; or it has its answer.
func (p *parley) hasSought() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.tab.sought; q != nil {
		select {
		case <-q.done:
			return true
		default:
			return false // others wait for the end of it
		}
	}
	return p.tab.over
}

// modernOnes returns the requests of modern clients that something of a child may
// belong to, the likeliest first. There are none where it may belong to one of
// another client.
func (s *Session) modernOnes(k children.Key, came *inFlight) []*inFlight {
	all := s.inFlight.Candidates(k, came)
	for _, t := range all {
		if _, ok := t.Client.client.(*parley); !ok {
			return nil
		}
	}
	return all
}

// search asks a client for its roots and has the child served them, or returns
// when that has taken too long; where the child is being served those of another
// call, when that has been done. The work waits for the child meanwhile, and does not
// end before this has.
func (s *Session) search(ctx context.Context, t *inFlight) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	own := &search{cancel, make(chan struct{})}
	if before := s.modern.searches.begin(t.Key.Child, own); before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
		}
		return
	}
	defer close(own.done)
	defer s.modern.searches.end(t.Key.Child)
	p := t.Client.client.(*parley)
	p.mu.Lock()
	over := p.tab.over || p.tab.sought != nil
	if !over {
		p.tab.sought = own
	}
	p.mu.Unlock()
	if over {
		return
	}
	limit := s.hub.now().cfg.Roots.Timeout
	page, err := p.ask(ctx, limit)
	if err == nil {
		soon, cancel := context.WithTimeoutCause(ctx, limit, errSought)
		defer cancel()
		err = p.found(soon, t, page)
	}
	if err != nil {
		s.log.Info().Str("child", t.Key.Child).Err(err).Msg("the child asked for roots, and goes by what it is served without those of this client")
	}
}

// ask asks the client for its roots, in place of the answer to its request.
func (p *parley) ask(ctx context.Context, limit time.Duration) (rootsmgr.Page, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSought)
	defer cancel()
	resp, err := p.put(ctx, &inquiry{key: rootsKey, method: methodRootsList, params: []byte(`{}`)})
	if err != nil {
		return rootsmgr.Page{}, err
	}
	if resp.Error != nil {
		return rootsmgr.Page{}, jsonrpc.ParseError(resp.Error)
	}
	return readWhole(resp.Result)
}

// found has the child served the roots that the client gave. What was judged
// before they were known is judged once more first: among them a name may be a
// path that leads out of them.
func (p *parley) found(ctx context.Context, t *inFlight, page rootsmgr.Page) error {
	view := p.s.roots.InlineOnce(page)
	view.Client = p.claims().name
	if v := p.s.rejudged(t.Client.judged, view); v != nil && v.Decision != validate.Allow {
		err := &deniedError{v, view}
		p.cancel(err)
		return err
	}
	if p.s.modern.stateless {
		return p.turnOf(ctx, t.Key.Child, view)
	}
	return p.s.awaitServed(ctx, p.s.roots.Inline(page), p.s.hub.now().cfg.Roots.Timeout)
}

// rejudged is what becomes of a request by other roots; nil where they do not matter.
func (s *Session) rejudged(j *judgement, view rootsmgr.View) *validate.Verdict {
	if j == nil || j.scan == nil || !j.scan.NeedsBoundary() {
		return nil
	}
	where := s.where(j)
	where.Served = nil
	for _, r := range rootsmgr.Directories(s.rootsFor(j.gen, j.gen.byName[j.child], view)) {
		where.Served = append(where.Served, r.Path)
	}
	return j.gen.cfg.Checker.Judge(j.scan, where, view)
}

// turnOf has a child of a stateless Session served roots that came in the middle
// of a call, which has the turn from then on. Where a call that had a turn for
// others cannot have this one it is over: what it was judged by does not hold.
func (p *parley) turnOf(ctx context.Context, child string, view rootsmgr.View) error {
	set, gate := rootSet("", view.Snapshot.Roots()), p.s.modern.gates.of(child)
	had := p.turnNow().gate == gate
	if !had || !gate.change(set) {
		p.leaveTurn()
		if err := p.enter(ctx, gate, set); err != nil {
			err = &children.UnavailableError{Child: child, Reason: "calls of the same token use it with other roots: " + err.Error()}
			if had {
				p.cancel(err)
			}
			return err
		}
		p.swapTurn(turn{child, gate})
	}
	return p.s.serveBrought(ctx, child, set, view)
}
