package inflight

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// Bounds of what the children of one session may ask at a time.
const (
	maxAsked       = 128 // questions under way, all children together
	maxAskedEach   = 64  // questions under way of one child
	progressBuffer = 64  // progress of the client that waits for a child
)

var errRequestOver = errors.New("the request that this belongs to is over: it was cancelled, or failed")

// A BusyError means that a client is asked too much already.
type BusyError struct{ text string }

func (e *BusyError) Error() string { return "busy: " + e.text }

// A question is one request of a child that is with the client.
type question[C RequestClient] struct {
	key    spec.Key
	on     *OpenRequest[C] // that it is known to belong to; nil: none
	cancel context.CancelCauseFunc
	token  []byte // the child's progress token, raw; nil if it gave none
	own    []byte // what the client is given in its place
	news   chan []byte
	over   chan struct{} // closed when nothing is sent for it any more
}

// Ask brings one request of a child to the client and returns the answer. came is the
// request that it came on, if the transport tells. put sends it on, with these
// params: to the client of one of its requests, or where ok is false on no request.
// The client's progress is told to the child before the answer. The error is a
// BusyError, or one of put.
func (rs *OpenRequests[C]) Ask(ctx context.Context, k spec.Key, came *OpenRequest[C], m *jsonrpc.Message, put func(ctx context.Context, to C, ok bool, params []byte) (*jsonrpc.Response, error)) (*jsonrpc.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q := &question[C]{key: k, cancel: cancel, over: make(chan struct{}), token: jsonrpc.Get(m.Param("_meta"), "progressToken")}
	to, ok, err := rs.enterQuestion(q, came)
	if err != nil {
		return nil, err
	}
	params := m.Params
	var told sync.WaitGroup
	if q.token != nil {
		params = jsonrpc.Join(jsonrpc.Splice(params, jsonrpc.Edit{Old: q.token, With: q.own}))
		told.Go(func() {
			for p := range q.news {
				_ = run.Tell(ctx, methods.Progress, p)
			}
		})
	}
	resp, err := put(ctx, to, ok, params)
	rs.leaveQuestion(q)
	told.Wait()
	return resp, err
}

// enterQuestion enters a question and finds its way to the client.
func (rs *OpenRequests[C]) enterQuestion(q *question[C], came *OpenRequest[C]) (to C, ok bool, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	each := 0
	for other := range rs.asked {
		if other.key == q.key {
			each++
		}
	}
	switch {
	case each >= maxAskedEach:
		return to, false, &BusyError{"this server has asked the client " + strconv.Itoa(each) + " things already; ask again when some are answered"}
	case len(rs.asked) >= maxAsked:
		return to, false, &BusyError{"the client has been asked " + strconv.Itoa(maxAsked) + " things already; ask again when some are answered"}
	}
	if rs.asked == nil {
		rs.asked, rs.byToken = map[*question[C]]struct{}{}, map[string]*question[C]{}
	}
	q.on, to, ok = rs.findRequest(q.key, came)
	rs.asked[q] = struct{}{}
	if q.token != nil {
		rs.token++
		q.own = strconv.AppendUint(nil, rs.token, 10)
		q.news = make(chan []byte, progressBuffer)
		rs.byToken[string(q.own)] = q
	}
	return to, ok, nil
}

// leaveQuestion takes a question out. No progress comes for it any more.
func (rs *OpenRequests[C]) leaveQuestion(q *question[C]) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.asked, q)
	close(q.over)
	if q.news != nil {
		delete(rs.byToken, string(q.own))
		close(q.news)
	}
}

// Progress hands progress of the client to the question that it is about. What a
// child does not take is dropped: newer progress follows.
func (rs *OpenRequests[C]) Progress(m *jsonrpc.Message) {
	token := m.Param("progressToken")
	rs.mu.Lock()
	defer rs.mu.Unlock()
	q := rs.byToken[string(token)]
	if q == nil {
		return
	}
	select {
	case q.news <- jsonrpc.Join(jsonrpc.Splice(m.Params, jsonrpc.Edit{Old: token, With: q.token})):
	default:
	}
}
