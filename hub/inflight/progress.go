package inflight

import (
	"strconv"
	"sync"
	"sync/atomic"

	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
)

// Progress describes which request of which client a progress token of the hub
// belongs to. The tokens are the hub's own towards children, for two clients may
// use the same. The zero value is ready.
type Progress struct {
	next atomic.Uint64
	mu   sync.Mutex
	to   map[string]route
}

// A Recipient gets notifications of progress.
type Recipient interface {
	// TryNotify tells it if there is room. It never blocks.
	TryNotify(method string, params ...[]byte) bool
}

type route struct {
	key   spec.Key  // only this instance may speak for the token
	to    Recipient // of the request
	token []byte    // the client's, raw
}

// Add opens a route and returns the hub's token, raw.
func (p *Progress) Add(k spec.Key, to Recipient, token []byte) []byte {
	own := strconv.FormatUint(p.next.Add(1), 10)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil {
		p.to = map[string]route{}
	}
	p.to[own] = route{k, to, token}
	return []byte(own)
}

// Remove closes a route.
func (p *Progress) Remove(own []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.to, string(own))
}

// Routes returns how many routes are open.
func (p *Progress) Routes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.to)
}

// Relay sends a child's progress to the client whose request it belongs to, with
// the client's own token. It runs on the child's read loop, before the answer to the
// request is read, so progress never comes after its result.
func (p *Progress) Relay(k spec.Key, m *jsonrpc.Message) {
	token := m.Param("progressToken")
	p.mu.Lock()
	to, ok := p.to[string(token)]
	p.mu.Unlock()
	if !ok || to.key != k {
		return
	}
	to.to.TryNotify(m.Method, jsonrpc.Splice(m.Params, jsonrpc.Edit{Old: token, With: to.token})...)
}
