package hub

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"mcphub/children"
	"mcphub/hub/catalog"
	"mcphub/internal/jsonrpc"
)

// This file is about the resources that clients want to hear of.

// subscriptions are the resources that sessions want to hear of. The mutex is a
// leaf.
type subscriptions struct {
	mu sync.Mutex
	by map[subscription]map[*subscriber]wish
}

// A wish is what a subscriber wants of a subscription.
type wish struct {
	uri  string        // the client's
	made children.Term // of the child, in which it was asked for
}

// A subscriber is whoever of a session is told of resources: the client itself
// after its handshake, or one subscriptions/listen of a modern one.
type subscriber struct {
	s    *Session
	tell func(method string, params ...[]byte)
}

// A subscription is one resource of one instance.
type subscription struct {
	key children.Key
	uri string // the child's own
}

// Bounds of the subscriptions of one session.
const (
	mostSubscriptions    = 10_000
	maxSubscriptionBytes = 16 << 20 // of their URIs
)

// add notes what a subscriber wants; fresh: it did not want it before.
func (t *subscriptions) add(sub subscription, who *subscriber, w wish) (fresh bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[subscription]map[*subscriber]wish{}
	}
	n, size := 0, len(sub.uri)+len(w.uri)
	for at, held := range t.by {
		for other, its := range held {
			if other.s == who.s {
				n++
				size += len(at.uri) + len(its.uri)
			}
		}
	}
	if _, held := t.by[sub][who]; held {
		t.by[sub][who] = w
		return false, nil
	}
	if n >= mostSubscriptions || size > maxSubscriptionBytes {
		return false, errors.New("too many subscriptions: end some of them first")
	}
	if t.by[sub] == nil {
		t.by[sub] = map[*subscriber]wish{}
	}
	t.by[sub][who] = w
	return true, nil
}

// drop ends one subscriber's part; last: nobody else wants it.
func (t *subscriptions) drop(sub subscription, who *subscriber) (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by[sub], who)
	if len(t.by[sub]) > 0 {
		return false
	}
	delete(t.by, sub)
	return true
}

// heldBy finds what a subscriber wants by the client's URI.
func (t *subscriptions) heldBy(who *subscriber, uri string) (subscription, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for sub, held := range t.by {
		if w, wants := held[who]; wants && w.uri == uri {
			return sub, true
		}
	}
	return subscription{}, false
}

// move enters a subscriber at another instance, or in another Term of the same, in
// the place of the one that it was entered at; false where it was not, or where
// that is the very Term in which it has asked.
func (t *subscriptions) move(from, to subscription, term children.Term, who *subscriber) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, held := t.by[from][who]
	if !held || from == to && w.made == term {
		return false
	}
	w.made = term
	delete(t.by[from], who)
	if len(t.by[from]) == 0 {
		delete(t.by, from)
	}
	if t.by[to] == nil {
		t.by[to] = map[*subscriber]wish{}
	}
	t.by[to][who] = w
	return true
}

// leave ends everything that a session wanted.
func (t *subscriptions) leave(s *Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for sub, held := range t.by {
		for who := range held {
			if who.s == s {
				delete(held, who)
			}
		}
		if len(held) == 0 {
			delete(t.by, sub)
		}
	}
}

// A desire is one resource that a subscriber wants, by the client's URI.
type desire struct {
	subscription
	who  *subscriber
	name string
	made children.Term
}

// of returns what a session wants of one child.
func (t *subscriptions) of(s *Session, child string) []desire {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []desire
	for sub, held := range t.by {
		for who, w := range held {
			if who.s == s && sub.key.Child == child {
				out = append(out, desire{sub, who, w.uri, w.made})
			}
		}
	}
	return out
}

// relay tells sessions of a change. It runs on the child's read loop.
func (t *subscriptions) relay(k children.Key, m *jsonrpc.Message) {
	quoted := m.Param("uri")
	uri, ok := jsonrpc.String(quoted)
	if !ok {
		return
	}
	type tell struct {
		who *subscriber
		uri string
	}
	t.mu.Lock()
	var all []tell
	for who, w := range t.by[subscription{k, uri}] {
		all = append(all, tell{who, w.uri})
	}
	t.mu.Unlock()
	for _, to := range all {
		to.who.tell(m.Method, splice(m.Params, edit{Old: quoted, With: jsonrpc.AppendString(nil, to.uri)})...)
	}
}

// subscribe answers resources/subscribe and resources/unsubscribe.
func (s *Session) subscribe(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if err := checkParams(m); err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	quoted, uri, err := stringAt(m, "uri", "a URI")
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	if m.Method == methodUnsubscribe {
		return s.unsubscribe(ctx, m, quoted, uri)
	}
	list, sure := s.sources(ctx, uri)
	if len(list) == 0 {
		return noResource(uri)
	}
	if list = s.telling(list); len(list) == 0 {
		return tellsNothing()
	}
	a, _, err := s.inTurn(ctx, uri, list, sure, func(from source) (jsonrpc.Answer, error) {
		return s.subscribeAt(ctx, m, from, quoted, uri, s.self)
	})
	if errors.Is(err, errSuperseded) {
		return s.subscribe(ctx, m)
	}
	return a
}

// telling picks those of list that tell of changes.
func (s *Session) telling(list []source) []source {
	tells := s.tools()
	return slices.DeleteFunc(list, func(from source) bool { return !tells.Subscribable(from.Child) })
}

func tellsNothing() jsonrpc.Answer {
	return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "the server of this resource does not tell of changes")
}

// subscribeAt subscribes at one child, for a URI of the client. The subscriber is
// entered first: an update may be told as soon as the child has answered.
func (s *Session) subscribeAt(ctx context.Context, m *jsonrpc.Message, from source, quoted []byte, uri string, who *subscriber) (jsonrpc.Answer, error) {
	var at subscription
	fresh := false
	a, err := s.aboutResource(ctx, m, from, quoted, func(lease *children.Lease) (err error) {
		at = subscription{lease.Key(), from.URI}
		fresh, err = s.hub.subs.add(at, who, wish{uri, lease.Term()})
		return err
	})
	if fresh && (err != nil || a.Error != nil) {
		s.hub.subs.drop(at, who)
	}
	return a, err
}

// unsubscribe ends a subscription, where it was made: by now another child may be
// the likeliest to have the resource. The child is told when nobody else of those
// that share it wants to hear of the resource.
func (s *Session) unsubscribe(ctx context.Context, m *jsonrpc.Message, quoted []byte, uri string) jsonrpc.Answer {
	held, ok := s.hub.subs.heldBy(s.self, uri)
	at := source{catalog.Source{Child: held.key.Child, URI: held.uri}, s.hub.now()}
	switch {
	case ok && !s.hub.subs.drop(held, s.self), ok && at.gen.byName[at.Child] == nil:
		return jsonrpc.ResultAnswer([]byte(`{}`))
	case !ok:
		list, _ := s.sources(ctx, uri)
		if len(list) == 0 {
			return noResource(uri)
		}
		if list = s.telling(list); len(list) == 0 {
			return tellsNothing()
		}
		if at = list[0]; !s.hub.subs.drop(subscription{s.seats.Load().by[at.Child].key, at.URI}, s.self) {
			return jsonrpc.ResultAnswer([]byte(`{}`)) // others want it
		}
	}
	a, err := s.aboutResource(ctx, m, at, quoted, nil)
	switch {
	case errors.Is(err, errSuperseded):
		return jsonrpc.ResultAnswer([]byte(`{}`)) // the one that was to be told is no more
	}
	return a
}

const (
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
)

// aboutURI is a request of the hub's own about one resource.
func aboutURI(method, uri string) *jsonrpc.Message {
	params := append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}')
	return &jsonrpc.Message{Method: method, Params: params, Members: []jsonrpc.Member{{Name: "uri", Value: jsonrpc.Get(params, "uri")}}}
}

var errNotWanted = errors.New("it is not wanted any more, or was asked for already")

// resubscribe subscribes again at an instance that was started anew, or that
// the session has moved to, to what was asked for in an earlier Term of the
// child: a request that the child was started for is under way by itself. A URI
// that is outside by now is left out. What was wanted of a child that is
// configured no more waits until it is again.
func (s *Session) resubscribe(ctx context.Context, child string) {
	g := s.hub.now()
	if g.byName[child] == nil {
		return
	}
	st, _, _, _ := s.childStatus(child)
	for _, w := range s.hub.subs.of(s, child) {
		if w.key == st.Key && w.made == st.Term() {
			continue
		}
		skip := false
		at, m := w.subscription, aboutURI(methodSubscribe, w.uri)
		// Entered all the time: the instance may be the same, and what it tells meanwhile is not to be lost.
		a, err := s.aboutResource(ctx, m, source{catalog.Source{Child: child, URI: w.uri}, g}, m.Param("uri"), func(lease *children.Lease) error {
			to := subscription{lease.Key(), w.uri}
			if skip = !s.hub.subs.move(at, to, lease.Term(), w.who); skip {
				return errNotWanted
			}
			at = to
			return nil
		})
		switch {
		case skip:
			continue
		case errors.Is(err, errSuperseded):
			continue // the one that takes its place is told when it is there
		case err == nil && a.Error == nil:
			continue
		}
		s.hub.subs.drop(at, w.who)
		s.log.Warn().Str("child", child).Str("uri", shown(w.name, 200)).Bytes("error", bytes.Clone(a.Error)).Msg("a subscription ended with the process that it was made with")
	}
}
