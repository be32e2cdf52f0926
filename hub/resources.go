package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// A source is one child that may have a resource, under the child's own URI.
type source struct {
	gen   *generation
	child string
	uri   string
}

// sources returns the children that may have a resource, the likeliest first:
// the one that lists it; the one that the URI itself names; those with a
// template that fits; and of the others, which may know more than they list,
// first those that list something of the same scheme. sure: no other child can
// have it.
func (s *Session) sources(ctx context.Context, uri string) (list []source, sure bool) {
	s.awaitOffers(ctx)
	c := s.tools()
	if it := c.shelves[kindResources].byName[uri]; it != nil {
		return []source{{c.gen, it.child, it.remote}}, true
	}
	if child, rest, ok := addressee(uri); ok && c.gen.byName[child] != nil {
		return []source{{c.gen, child, rest}}, true
	}
	var fits, same, rest []source
	for _, name := range c.gen.names() {
		if !c.resourceful[name] {
			continue
		}
		at := source{c.gen, name, uri}
		switch {
		case anyTemplate(c.templates[name], uri):
			fits = append(fits, at)
		case c.schemes[name][scheme(uri)]:
			same = append(same, at)
		default:
			rest = append(rest, at)
		}
	}
	return append(append(fits, same...), rest...), false
}

func anyTemplate(templates []string, uri string) bool {
	for _, t := range templates {
		if validate.MatchesTemplate(t, uri) {
			return true
		}
	}
	return false
}

// scheme is the scheme of a URI, in lower case.
func scheme(uri string) string {
	name, _, _ := strings.Cut(uri, ":")
	return strings.ToLower(name)
}

// findTemplate finds a template, or a resource, by what the client knows it by.
func (s *Session) findTemplate(ctx context.Context, uri string) *item {
	s.awaitOffers(ctx)
	c := s.tools()
	for _, k := range []kind{kindTemplates, kindResources} {
		if it := c.shelves[k].byName[uri]; it != nil {
			return it
		}
	}
	if child, rest, ok := addressee(uri); ok && c.gen.byName[child] != nil {
		return &item{gen: c.gen, name: uri, child: child, remote: rest}
	}
	return nil
}

// mostSources bounds how many children are asked for one resource.
const mostSources = 16

// readResource answers resources/read. Where it is not known whose a resource
// is, the children are asked in turn until one has it: each is judged first.
func (s *Session) readResource(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if err := checkParams(m); err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	quoted := m.Param("uri")
	uri, ok := jsonrpc.String(quoted)
	if !ok {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "resources/read needs a URI (a string) at /params/uri")
	}
	token := jsonrpc.Get(m.Param("_meta"), "progressToken")
	list, sure := s.sources(ctx, uri)
	last := noResource(uri)
	for i, from := range list {
		if i == mostSources || ctx.Err() != nil {
			break
		}
		a, err := s.aboutResource(ctx, m, from, quoted, token, nil)
		switch {
		case errors.Is(err, errSuperseded):
			return s.readResource(ctx, m)
		case errors.Is(err, errDenied):
			return a
		case err != nil:
			return refuseErrand(ctx, errand{child: from.child, method: m.Method}, err)
		}
		if a.Error == nil {
			if from.uri != uri {
				a = renamedContents(a, from.uri, uri)
			}
			return a
		}
		if last = a; sure || !notFound(a) {
			return a
		}
	}
	return last
}

// aboutResource sends a request about one resource to one child. With
// errSuperseded or what is wrong with the URI nothing was sent; with errDenied
// there is an answer.
func (s *Session) aboutResource(ctx context.Context, m *jsonrpc.Message, from source, quoted, token []byte, before func(children.Key) error) (jsonrpc.Answer, error) {
	checker, by := from.gen.cfg.Checker, s.tools().templates[from.child]
	scan, err := checker.ScanURI(from.child, from.uri, by...)
	if err != nil {
		return jsonrpc.Answer{}, err
	}
	return s.errand(ctx, errand{
		gen: from.gen, child: from.child, method: m.Method, scan: scan, token: token, before: before,
		anew: func(o *children.Offer) (*validate.Scan, error) {
			now := templatesOf(o)
			if slices.Equal(now, by) {
				return nil, nil
			}
			by = now
			return checker.ScanURI(from.child, from.uri, by...)
		},
		params: func(own []byte) [][]byte {
			edits := []edit{{quoted, jsonrpc.AppendString(nil, from.uri)}}
			if own != nil {
				edits = append(edits, edit{token, own})
			}
			return splice(m.Params, edits...)
		},
	})
}

// templatesOf are all templates of an offer, those too that are not listed: the
// child reads by them.
func templatesOf(o *children.Offer) []string {
	var all []string
	for _, raw := range o.Templates {
		if t, ok := jsonrpc.String(jsonrpc.Get(raw, listing[kindTemplates].key)); ok {
			all = append(all, t)
		}
	}
	return all
}

// notFound reports whether an error says that a child does not have a resource.
// Before 2026-07-28 it is -32002; servers also say -32602, and some -32603.
func notFound(a jsonrpc.Answer) bool {
	switch jsonrpc.ParseError(a.Error).Code {
	case mcp.RESOURCE_NOT_FOUND, jsonrpc.CodeInvalidParams, jsonrpc.CodeInternal, jsonrpc.CodeMethodNotFound:
		return true
	}
	return false
}

func noResource(uri string) jsonrpc.Answer {
	data, _ := json.Marshal(map[string]string{"uri": uri})
	e := &jsonrpc.Error{Code: mcp.RESOURCE_NOT_FOUND, Message: "Resource not found: no server behind this hub has it", Data: data}
	return jsonrpc.Answer{Error: e.Raw()}
}

// renamedContents puts the client's URI in the place of the child's own.
func renamedContents(a jsonrpc.Answer, remote, uri string) jsonrpc.Answer {
	var edits []edit
	with := jsonrpc.AppendString(nil, uri)
	_ = jsonrpc.Elements(jsonrpc.Get(a.Result, "contents"), func(content []byte) bool {
		at := jsonrpc.Get(content, "uri")
		if text, ok := jsonrpc.String(at); ok && text == remote {
			edits = append(edits, edit{at, with})
		}
		return true
	})
	if len(edits) == 0 {
		return a
	}
	renamed := jsonrpc.ResultAnswer(join(splice(a.Result, edits...)))
	if a.Release != nil {
		a.Release()
	}
	return renamed
}

// subscriptions are the resources that sessions want to hear of. The mutex is a
// leaf.
type subscriptions struct {
	mu sync.Mutex
	by map[subscription]map[*subscriber]string // the client's URI
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

// mostSubscriptions bounds those of one session.
const mostSubscriptions = 10_000

// add notes what a subscriber wants; fresh: it did not want it before.
func (t *subscriptions) add(sub subscription, who *subscriber, uri string) (fresh bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[subscription]map[*subscriber]string{}
	}
	n := 0
	for _, held := range t.by {
		for other := range held {
			if other.s == who.s {
				n++
			}
		}
	}
	if _, held := t.by[sub][who]; held {
		return false, nil
	}
	if n >= mostSubscriptions {
		return false, errors.New("too many subscriptions: end some of them first")
	}
	if t.by[sub] == nil {
		t.by[sub] = map[*subscriber]string{}
	}
	t.by[sub][who] = uri
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

// move enters a subscriber at another instance in the place of the one that it
// was entered at; false where it was not.
func (t *subscriptions) move(from, to subscription, who *subscriber) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	uri, held := t.by[from][who]
	if !held || from == to {
		return held
	}
	delete(t.by[from], who)
	if len(t.by[from]) == 0 {
		delete(t.by, from)
	}
	if t.by[to] == nil {
		t.by[to] = map[*subscriber]string{}
	}
	t.by[to][who] = uri
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
}

// of returns what a session wants of one child.
func (t *subscriptions) of(s *Session, child string) []desire {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []desire
	for sub, held := range t.by {
		for who, uri := range held {
			if who.s == s && sub.key.Child == child {
				out = append(out, desire{sub, who, uri})
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
	for who, own := range t.by[subscription{k, uri}] {
		all = append(all, tell{who, own})
	}
	t.mu.Unlock()
	for _, to := range all {
		to.who.tell(m.Method, splice(m.Params, edit{quoted, jsonrpc.AppendString(nil, to.uri)})...)
	}
}

// subscribe answers resources/subscribe and resources/unsubscribe.
func (s *Session) subscribe(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if err := checkParams(m); err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	quoted := m.Param("uri")
	uri, ok := jsonrpc.String(quoted)
	if !ok {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, m.Method+" needs a URI (a string) at /params/uri")
	}
	list, _ := s.sources(ctx, uri)
	for _, from := range list {
		if !s.tools().subscribable[from.child] {
			continue
		}
		if m.Method == methodUnsubscribe {
			return s.unsubscribe(ctx, m, from, quoted)
		}
		a, err := s.subscribeAt(ctx, m, from, quoted, uri, s.self)
		switch {
		case errors.Is(err, errSuperseded):
			return s.subscribe(ctx, m)
		case errors.Is(err, errDenied):
			return a
		case err != nil:
			return refuseErrand(ctx, errand{child: from.child, method: m.Method}, err)
		}
		return a
	}
	if len(list) == 0 {
		return noResource(uri)
	}
	return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "the server of this resource does not tell of changes")
}

// subscribeAt subscribes at one child, for a URI of the client. The subscriber is
// entered first: an update may be told as soon as the child has answered.
func (s *Session) subscribeAt(ctx context.Context, m *jsonrpc.Message, from source, quoted []byte, uri string, who *subscriber) (jsonrpc.Answer, error) {
	var at subscription
	fresh := false
	a, err := s.aboutResource(ctx, m, from, quoted, nil, func(k children.Key) (err error) {
		at = subscription{k, from.uri}
		fresh, err = s.hub.subs.add(at, who, uri)
		return err
	})
	if fresh && (err != nil || a.Error != nil) {
		s.hub.subs.drop(at, who)
	}
	return a, err
}

// unsubscribe ends a subscription; the child is told when nobody else of those
// that share it wants to hear of the resource.
func (s *Session) unsubscribe(ctx context.Context, m *jsonrpc.Message, from source, quoted []byte) jsonrpc.Answer {
	if !s.hub.subs.drop(subscription{s.seats.Load().by[from.child].key, from.uri}, s.self) {
		return jsonrpc.ResultAnswer([]byte(`{}`))
	}
	a, err := s.aboutResource(ctx, m, from, quoted, nil, nil)
	switch {
	case errors.Is(err, errSuperseded):
		return jsonrpc.ResultAnswer([]byte(`{}`)) // the one that was to be told is no more
	case errors.Is(err, errDenied):
		return a
	case err != nil:
		return refuseErrand(ctx, errand{child: from.child, method: m.Method}, err)
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

var errUnsubscribed = errors.New("it is not wanted any more")

// resubscribe subscribes again at an instance that was started anew, or that
// the session has moved to. A URI that is outside by now is left out. What was
// wanted of a child that is configured no more waits until it is again.
func (s *Session) resubscribe(ctx context.Context, child string) {
	g := s.hub.now()
	if g.byName[child] == nil {
		return
	}
	for _, w := range s.hub.subs.of(s, child) {
		at, m := w.subscription, aboutURI(methodSubscribe, w.uri)
		// Entered all the time: the instance may be the same, and what it tells meanwhile is not to be lost.
		a, err := s.aboutResource(ctx, m, source{g, child, w.uri}, m.Param("uri"), nil, func(k children.Key) error {
			to := subscription{k, w.uri}
			if !s.hub.subs.move(at, to, w.who) {
				return errUnsubscribed
			}
			at = to
			return nil
		})
		switch {
		case errors.Is(err, errUnsubscribed):
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
