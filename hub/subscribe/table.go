package subscribe

import (
	"errors"
	"sync"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
)

// Bounds of the subscriptions of one session.
const (
	maxSubscriptions = 10_000
	maxBytes         = 16 << 20 // of their URIs
)

// A Table has the resources that sessions want to hear of. The zero Table is empty
// and ready.
type Table struct {
	mu        sync.Mutex
	by        map[resource]map[*subscriber]subscription
	bySession map[*Notifier]map[row]struct{} // the keys in by of each session, so that no call walks the rows of other sessions
}

// A row is the place of a subscription in a Table.
type row struct {
	at  resource
	who *subscriber
}

// A resource is one resource of one instance.
type resource struct {
	key spec.Key
	uri string // the child's own
}

// A subscriber is that part of a session which is told about resources: the client
// itself after its handshake, or one stream.
type subscriber struct {
	notifier *Notifier
	tell     func(method string, params ...[]byte)
}

// A subscription is what a subscriber has asked for.
type subscription struct {
	uri  string        // the client's
	made children.Term // of the child, in which it was asked
}

// addSubscription enters a subscription. fresh: there was none of this subscriber before.
func (t *Table) addSubscription(at resource, who *subscriber, sub subscription) (fresh bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, held := t.by[at][who]; held {
		t.by[at][who] = sub
		return false, nil
	}
	size := len(at.uri) + len(sub.uri)
	for p := range t.bySession[who.notifier] {
		size += len(p.at.uri) + len(t.by[p.at][p.who].uri)
	}
	if len(t.bySession[who.notifier]) >= maxSubscriptions || size > maxBytes {
		return false, errors.New("too many subscriptions: end some of them first")
	}
	t.putSubscription(at, who, sub)
	return true, nil
}

// putSubscription expects the caller to hold mu.
func (t *Table) putSubscription(at resource, who *subscriber, sub subscription) {
	if t.by == nil {
		t.by, t.bySession = map[resource]map[*subscriber]subscription{}, map[*Notifier]map[row]struct{}{}
	}
	if t.by[at] == nil {
		t.by[at] = map[*subscriber]subscription{}
	}
	if t.bySession[who.notifier] == nil {
		t.bySession[who.notifier] = map[row]struct{}{}
	}
	t.by[at][who] = sub
	t.bySession[who.notifier][row{at, who}] = struct{}{}
	who.notifier.rows.Store(int64(len(t.bySession[who.notifier])))
}

// dropSubscription ends a subscription. last: no one else wants the resource.
func (t *Table) dropSubscription(at resource, who *subscriber) (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.takeSubscription(at, who)
}

// takeSubscription works like dropSubscription for callers that hold mu.
func (t *Table) takeSubscription(at resource, who *subscriber) (last bool) {
	delete(t.by[at], who)
	delete(t.bySession[who.notifier], row{at, who})
	who.notifier.rows.Store(int64(len(t.bySession[who.notifier])))
	if len(t.bySession[who.notifier]) == 0 {
		delete(t.bySession, who.notifier)
	}
	if len(t.by[at]) > 0 {
		return false
	}
	delete(t.by, at)
	return true
}

// moveSubscription takes a subscription to another instance, or to another Term of the same.
// It returns false if there is none, or where it was made in that Term.
func (t *Table) moveSubscription(from, to resource, term children.Term, who *subscriber) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	sub, held := t.by[from][who]
	if !held || from == to && sub.made == term {
		return false
	}
	sub.made = term
	t.takeSubscription(from, who)
	t.putSubscription(to, who, sub)
	return true
}

// leaveAll ends all subscriptions of a session.
func (t *Table) leaveAll(n *Notifier) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.bySession[n] {
		t.takeSubscription(p.at, p.who)
	}
}

// isEmpty reports whether a session has no subscriptions.
func (t *Table) isEmpty(n *Notifier) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.bySession[n]) == 0
}

// An entry is one row of a Table, and what stands there.
type entry struct {
	resource
	subscription
	who *subscriber
}

// findSubscriptions returns what pick picks of the subscriptions of a session.
func (t *Table) findSubscriptions(n *Notifier, pick func(resource, *subscriber, subscription) bool) (all []entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.bySession[n] {
		if sub := t.by[p.at][p.who]; pick(p.at, p.who, sub) {
			all = append(all, entry{p.at, sub, p.who})
		}
	}
	return all
}

// resourcesOf returns the subscriptions of one subscriber.
func (t *Table) resourcesOf(who *subscriber) (all []resource) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.bySession[who.notifier] {
		if p.who == who {
			all = append(all, p.at)
		}
	}
	return all
}

// Len returns how many resources someone wants to hear of.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.by)
}

// Updated informs sessions that a resource has changed, each by its own URI for
// it. It runs on the child's read loop.
func (t *Table) Updated(k spec.Key, m *jsonrpc.Message) {
	quoted := m.Param("uri")
	uri, ok := jsonrpc.String(quoted)
	if !ok {
		return
	}
	type telling struct {
		who *subscriber
		uri string
	}
	t.mu.Lock()
	var all []telling
	for who, sub := range t.by[resource{k, uri}] {
		all = append(all, telling{who, sub.uri})
	}
	t.mu.Unlock()
	for _, to := range all {
		to.who.tell(m.Method, jsonrpc.Splice(m.Params, jsonrpc.Edit{Old: quoted, With: jsonrpc.AppendString(nil, to.uri)})...)
	}
}
