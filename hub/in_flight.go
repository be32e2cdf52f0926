package hub

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
)

// Bounds of what the children of one session may ask at a time.
const (
	mostAsked     = 128 // questions under way, all children together
	mostAskedEach = 64  // of one of them
	progressHeld  = 64  // progress of the client that waits for a child
)

// tracked are the requests of one session that are with a child, and what the
// children ask on the way.
type tracked struct {
	mu    sync.Mutex
	last  *inFlight // the newest; a list by older and newer
	asked map[*question]struct{}
	by    map[string]*question // by the progress token that the client was given
	token uint64
	count uint64 // of all that began
}

// passed is how many requests have gone on to children.
func (ts *tracked) passed() uint64 {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.count
}

// inFlight is one request of the client that is with a child. Its links belong to
// tracked.
type inFlight struct {
	key          children.Key
	to           client     // whose request it is
	j            *judgement // that it was let through by; nil: none
	older, newer *inFlight
	under        bool
}

// A question is one request of a child that is with the client.
type question struct {
	key    children.Key
	on     *inFlight // that it is known to belong to; nil: none
	cancel context.CancelCauseFunc
	token  []byte // the child's progress token, raw; nil where it gave none
	own    []byte // what the client is given in its place
	news   chan []byte
	over   chan struct{} // closed when nothing is sent for it any more
}

var errRequestOver = errors.New("the request that this belongs to is over: it was cancelled, or failed")

type inFlightKey struct{}

// track notes that a request, judged by j or not at all, is with a child until back
// is called with what became of it. The context is for Lease.Call.
func (s *Session) track(ctx context.Context, t *inFlight, k children.Key, j *judgement) (_ context.Context, back func(err error)) {
	t.key, t.to, t.j = k, s.clientOf(ctx), j
	s.tracked.begin(t)
	return context.WithValue(ctx, inFlightKey{}, t), func(err error) {
		for _, q := range s.tracked.end(t, err != nil) {
			<-q.over // its end has to be told before the request is answered
		}
	}
}

func (ts *tracked) begin(t *inFlight) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t.under = true
	ts.count++
	if t.older = ts.last; t.older != nil {
		t.older.newer = t
	}
	ts.last = t
}

// end takes a request out. Where it was given up that ends what is asked on it, which
// is returned; a question whose request was answered goes on by itself.
func (ts *tracked) end(t *inFlight, givenUp bool) (over []*question) {
	ts.mu.Lock()
	if t.newer != nil {
		t.newer.older = t.older
	} else {
		ts.last = t.older
	}
	if t.older != nil {
		t.older.newer = t.newer
	}
	t.older, t.newer, t.under = nil, nil, false
	for q := range ts.asked {
		if q.on != t {
			continue
		}
		q.on = nil
		if givenUp {
			over = append(over, q)
		}
	}
	ts.mu.Unlock()
	for _, q := range over {
		q.cancel(errRequestOver)
	}
	return over
}

// whose finds the request that something of a child belongs to: the one that it
// came on, where the transport tells; else the only one that is with the child.
// Where neither is known, on is nil and to the way of the newest request of the
// child that has one; nil where there is none.
func (ts *tracked) whose(k children.Key, came *inFlight) (on *inFlight, to client) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.find(k, came)
}

// find is whose for callers that hold mu.
func (ts *tracked) find(k children.Key, came *inFlight) (on *inFlight, to client) {
	if came != nil && came.key == k && came.under {
		return came, came.to
	}
	n := 0
	for t := ts.last; t != nil; t = t.older {
		if t.key != k {
			continue
		}
		n++
		on = t
		if to == nil && t.to.Reaches() {
			to = t.to
		}
	}
	if n == 1 {
		return on, on.to
	}
	return nil, to
}

// ask enters a question and finds its way to the client, nil for the client's
// own; the text says why there is no room for it.
func (ts *tracked) ask(q *question, came *inFlight) (to client, text string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	each := 0
	for other := range ts.asked {
		if other.key == q.key {
			each++
		}
	}
	switch {
	case each >= mostAskedEach:
		return nil, "this server has asked the client " + strconv.Itoa(each) + " things already; ask again when some are answered"
	case len(ts.asked) >= mostAsked:
		return nil, "the client has been asked " + strconv.Itoa(mostAsked) + " things already; ask again when some are answered"
	}
	if ts.asked == nil {
		ts.asked, ts.by = map[*question]struct{}{}, map[string]*question{}
	}
	q.on, to = ts.find(q.key, came)
	ts.asked[q] = struct{}{}
	if q.token != nil {
		ts.token++
		q.own = strconv.AppendUint(nil, ts.token, 10)
		q.news = make(chan []byte, progressHeld)
		ts.by[string(q.own)] = q
	}
	return to, ""
}

// answered takes a question out. No progress comes for it any more.
func (ts *tracked) answered(q *question) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.asked, q)
	close(q.over)
	if q.news != nil {
		delete(ts.by, string(q.own))
		close(q.news)
	}
}

// progress hands progress of the client to the question that it is about. What
// a child does not take is dropped: newer progress follows.
func (ts *tracked) progress(m *jsonrpc.Message) {
	token := m.Param("progressToken")
	ts.mu.Lock()
	defer ts.mu.Unlock()
	q := ts.by[string(token)]
	if q == nil {
		return
	}
	select {
	case q.news <- join(splice(m.Params, edit{Old: token, With: q.token})):
	default:
	}
}
