package hub

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
)

// observer is the Hub as the supervisor sees it.
type observer struct{ h *Hub }

// ChildChanged hands a change of state or a new offer to the sessions that the
// instance belongs to.
func (o observer) ChildChanged(st children.Status, offer *children.Offer) {
	o.h.told(st, offer)
}

// ChildNotification passes on what a child tells beside its answers. What
// belongs to no call and no client ends here.
func (o observer) ChildNotification(ctx context.Context, k children.Key, m *jsonrpc.Message) {
	switch m.Method {
	case "notifications/progress":
		o.h.progress.relay(k, m)
	case "notifications/resources/updated":
		o.h.subs.relay(k, m)
	case "notifications/message":
		o.h.logged(ctx, k, m)
	case methodTaskStatus:
		o.h.taskTold(k, m)
	case children.MethodTaskNews:
		o.h.taskNews(k, m)
	case "notifications/cancelled", "notifications/initialized", "notifications/roots/list_changed":
		// Ids are those of one connection; the others are a client's to say.
	default:
		// A server may have things to say that this program does not know; those of
		// one that several share are nobody's.
		if s := o.h.owner(k); s != nil && (children.OfProtocol(m.Method) || s.expects(k, m.Method)) {
			s.pass(ctx, k, m)
		}
	}
}

// routes tells which call of which client a progress token of the hub belongs
// to. Tokens are the hub's own towards children: two clients may use the same.
type routes struct {
	next atomic.Uint64
	mu   sync.Mutex
	to   map[string]route
}

type route struct {
	key   children.Key // only this instance may speak for the token
	to    peer         // of the call
	token []byte       // the client's, raw
}

// add opens a route and returns the hub's token, raw.
func (r *routes) add(k children.Key, to peer, token []byte) []byte {
	own := strconv.FormatUint(r.next.Add(1), 10)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to == nil {
		r.to = map[string]route{}
	}
	r.to[own] = route{k, to, token}
	return []byte(own)
}

func (r *routes) remove(own []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.to, string(own))
}

// relay sends a child's progress to the client whose call it belongs to, with
// the client's own token. It runs on the child's read loop, before the answer
// of the call is read, so progress never comes after its result.
func (r *routes) relay(k children.Key, m *jsonrpc.Message) {
	token := m.Param("progressToken")
	r.mu.Lock()
	to, ok := r.to[string(token)]
	r.mu.Unlock()
	if !ok || to.key != k {
		return
	}
	to.to.TryNotify(m.Method, splice(m.Params, edit{Old: token, With: to.token})...)
}
