package modern

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcphub/children/run"
	"mcphub/hub/declaration"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/rootsmgr"
)

// This file is about a child of the handshake's era that asks for roots in the
// middle of a call that has brought none: nothing could tell before that they
// would be needed. The child's question waits while the client is asked.

var errNoRoots = errors.New("the client has not said in time what its roots are")

// A rootsQuery is the question to a client for its roots on account of a child. A
// request has one at most, however often its child asks; a child has one at a time,
// for what came of it may be all that the others need.
type rootsQuery struct {
	cancel context.CancelFunc
	done   chan struct{}
	given  bool // the client has given roots, and the child is served them; read after done
}

// stopQuery ends it, and returns when it has ended.
func (q *rootsQuery) stopQuery() {
	if q != nil {
		q.cancel()
		<-q.done
	}
}

// queries are those under way, by child. The mutex is a leaf.
type queries struct {
	mu      sync.Mutex
	byChild map[string]*rootsQuery
}

// startQuery enters a query, or returns the one that is under way.
func (a *queries) startQuery(child string, q *rootsQuery) (before *rootsQuery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before := a.byChild[child]; before != nil {
		return before
	}
	if a.byChild == nil {
		a.byChild = map[string]*rootsQuery{}
	}
	a.byChild[child] = q
	return nil
}

func (a *queries) endQuery(child string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byChild, child)
}

// SendsRoots returns true: roots come with the request, or because it is
// asked for them.
func (c *Client) SendsRoots() bool { return true }

// CanFetchRoots reports whether FetchRoots may get roots for a child: the client could give them,
// this request has brought none, and it was not asked on account of it. Those of a former request
// may be old: a client of this era does not tell that they have changed. Over HTTP the ones that
// the child was served last do, for other clients may be at it with theirs.
func (c *Client) CanFetchRoots(child string) bool {
	if !c.mayBeAsked || c.input.roots != nil || !c.input.meta.Claims.Roots || c.wasAsked() {
		return false
	}
	if c.server.options.PerRequest {
		return !c.server.rootsReached(child)
	}
	return !c.server.options.Host.DeclaredRoots()
}

// GaveRoots reports whether the client has given its roots with this request, or because it was
// asked on account of it.
func (c *Client) GaveRoots() bool {
	if c.input.roots != nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.query == nil {
		return false
	}
	select {
	case <-c.state.query.done:
		return c.state.query.given
	default:
		return false
	}
}

// wasAsked reports whether the client need not be asked for roots: it has been, on
// account of a child, and may not have answered; or it has its answer.
func (c *Client) wasAsked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.state.query; q != nil {
		select {
		case <-q.done:
			return true
		default:
			return false // others wait for the end of it
		}
	}
	return c.state.ended
}

// FetchRoots asks the client for its roots and has the child served them. It returns at the latest
// after the time limit. If another call is just having roots served to this child, it only waits
// for that. The work waits for the child meanwhile, and does not end before this has. What the
// request was allowed without these roots is judged by them first: an error of judge ends the
// request.
func (c *Client) FetchRoots(ctx context.Context, child string, judge func(rootsmgr.RootsView) error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	own := &rootsQuery{cancel: cancel, done: make(chan struct{})}
	if before := c.server.queries.startQuery(child, own); before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
		}
		return
	}
	defer close(own.done)
	defer c.server.queries.endQuery(child)
	if !c.enterQuery(own) {
		return
	}
	limit := c.server.options.Host.RootsTimeout()
	page, err := c.askForRoots(ctx, limit)
	if err == nil {
		soon, cancel := context.WithTimeoutCause(ctx, limit, errNoRoots)
		defer cancel()
		err = c.useRoots(soon, child, page, judge)
	}
	if own.given = err == nil; !own.given {
		c.server.options.Log.Info().Str("child", child).Err(err).Msg("the child asked for roots, and goes by what it is served without those of this client")
	}
}

// enterQuery remembers the query of the request; false: it has had one, or has ended.
func (c *Client) enterQuery(q *rootsQuery) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.ended || c.state.query != nil {
		return false
	}
	c.state.query = q
	return true
}

// askForRoots asks the client for its roots, instead of the answer to its request.
func (c *Client) askForRoots(ctx context.Context, limit time.Duration) (rootsmgr.Page, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errNoRoots)
	defer cancel()
	resp, err := c.askQuestion(ctx, &clientQuestion{key: RootsKey, method: methods.ListRoots, params: []byte(`{}`)})
	if err != nil {
		return rootsmgr.Page{}, err
	}
	if resp.Error != nil {
		return rootsmgr.Page{}, jsonrpc.ParseError(resp.Error)
	}
	return declaration.ReadAllRoots(resp.Result)
}

// useRoots has the child served the roots that the client gave, unless the request
// is denied by them: a name may be a path that leads out of them.
func (c *Client) useRoots(ctx context.Context, child string, page rootsmgr.Page, judge func(rootsmgr.RootsView) error) error {
	host := c.server.options.Host
	rootsView := host.Roots().ViewOfCallRoots(page)
	rootsView.ClientName = c.Claims().Name
	if err := judge(rootsView); err != nil {
		c.end.End(err)
		return err
	}
	if c.server.options.PerRequest {
		return c.changeRoots(ctx, child, rootsView)
	}
	return host.AwaitServed(ctx, host.Roots().TakeCallRoots(page))
}

// changeRoots has a child of a stateless Server served roots that came in the middle
// of a call, which is admitted from then on. A call that was admitted with other
// roots, and cannot have this one, is over: what it was judged by does not hold.
func (c *Client) changeRoots(ctx context.Context, child string, rootsView rootsmgr.RootsView) error {
	set, gate := rootsmgr.RootSetID("", rootsView.Snapshot.Roots()), c.server.gates.gateOf(child)
	had := c.admissionNow().gate == gate
	if !had || !gate.changeSet(set) {
		c.leaveChild()
		if err := c.enterGate(ctx, gate, set); err != nil {
			err = &run.UnavailableError{Child: child, Reason: "calls of the same token use it with other roots: " + err.Error()}
			if had {
				c.end.End(err)
			}
			return err
		}
		c.swapAdmission(gateAdmission{child, gate})
	}
	return c.server.options.Host.ServeRoots(ctx, child, set, rootsView)
}
