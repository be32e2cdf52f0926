package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcphub/children"
	"mcphub/hub/inline"
	"mcphub/internal/jsonrpc"
)

// This file serves subscriptions/listen (2026-07-28,
// basic/patterns/subscriptions): what a modern client is told beside the answers
// to its requests.

const (
	// mostListening bounds the streams of one session at a time.
	mostListening = 32
	// mostListened bounds the resources that one stream names.
	mostListened = 1000
	// leaveTime bounds how long the end of a stream takes to tell its children.
	leaveTime = time.Second
)

// A listener is one subscriptions/listen under way.
type listener struct {
	s     *Session
	id    []byte // of the request, raw
	out   inline.Outlet
	who   *subscriber
	lists [kinds]bool
	uris  []string
	ids   []string // of tasks

	mu    sync.Mutex
	tasks map[string]watched // that it is told of, by id
	acked bool
	early []note // that came before it was acknowledged, bounded
	known [kinds]string
}

// watched is a task that a stream is told of.
type watched struct {
	key children.Key // whose it is
	end func()       // nil while it is not sure that the child tells of it
}

// note is a notification.
type note struct {
	method string
	params []byte
}

// mostEarly bounds what is kept for a stream that is not acknowledged yet.
const mostEarly = 100

// hearing are the listeners of one session. The mutex is a leaf.
type hearing struct {
	mu   sync.Mutex
	all  map[*listener]struct{}
	over chan struct{} // closed when nothing more comes
	once sync.Once
}

// hangUp ends all streams: nobody reads them any more, or the hub stops.
func (h *hearing) hangUp() { h.once.Do(func() { close(h.over) }) }

func (h *hearing) add(l *listener, most int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.all) >= most {
		return fmt.Errorf("%d streams are open already: end one first", len(h.all))
	}
	if h.all == nil {
		h.all = map[*listener]struct{}{}
	}
	h.all[l] = struct{}{}
	return nil
}

func (h *hearing) remove(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, l)
}

func (h *hearing) each() []*listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*listener, 0, len(h.all))
	for l := range h.all {
		out = append(out, l)
	}
	return out
}

// changed tells listeners of lists that are others now.
func (h *hearing) changed(ctx context.Context, digests func() [kinds]string) {
	all := h.each()
	if len(all) == 0 {
		return
	}
	now := digests()
	for _, l := range all {
		for _, method := range l.due(now) {
			_ = l.tellSurely(ctx, method)
		}
	}
}

// digests are those of all lists of the session as they are now.
func (s *Session) digests() (now [kinds]string) {
	c := s.tools()
	for k := kindTools; k < kinds; k++ {
		now[k] = c.pagesOf(k)().digest
	}
	return now
}

// listen answers subscriptions/listen, when the client or the session ends it.
func (s *Session) listen(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	c := inlineOf(ctx)
	l := &listener{s: s, id: m.ID, out: c.Detach(), tasks: map[string]watched{}}
	if err := l.read(m.Param("notifications")); err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	if len(l.ids) > 0 {
		if refusal, ok := declaresTasks(c.Claims()); !ok {
			return refusal
		}
	}
	l.who = &subscriber{s, func(method string, params ...[]byte) { l.told(method, params) }}
	l.known = s.digests()
	// A stream takes the place of a request for as long as it lasts.
	most := max(1, min(mostListening, s.hub.now().cfg.Limits.Calls/2))
	if s.modern.listeners > 0 {
		most = s.modern.listeners
	}
	if err := s.modern.hears.add(l, most); err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "busy: "+err.Error())
	}
	defer s.modern.hears.remove(l)
	honoured := l.subscribe(ctx)
	defer l.unsubscribe(ctx)
	ids := l.watch(ctx)
	defer l.unwatch()
	l.acknowledge(ctx, honoured, ids)
	s.announcer.wake() // what has changed since it was read
	select {
	case <-ctx.Done():
		return gone(ctx, nil)
	case <-s.modern.hears.over:
	}
	b := append([]byte(`{"_meta":{"`+inline.MetaSubscription+`":`), l.id...)
	b = append(append(append(b, `,"`+inline.MetaServer+`":`...), s.hub.serverInfo...), `},"resultType":"complete"}`...)
	return jsonrpc.ResultAnswer(b)
}

// read reads the filter.
func (l *listener) read(filter []byte) error {
	if !isObject(filter) {
		return errors.New("subscriptions/listen needs an object at /params/notifications, which says what to tell of")
	}
	var odd error
	flag := func(name string, value []byte) bool {
		if s := string(value); s != "true" && s != "false" {
			odd = fmt.Errorf("/params/notifications/%s is to be true or false", name)
		}
		return string(value) == "true"
	}
	strings := func(name string, value []byte) (all []string) {
		err := jsonrpc.Elements(value, func(raw []byte) bool {
			text, ok := jsonrpc.String(raw)
			if !ok || len(all) == mostListened {
				odd = fmt.Errorf("/params/notifications/%s is to be a list of strings, of %d at most", name, mostListened)
				return false
			}
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
			return true
		})
		if err != nil {
			odd = fmt.Errorf("/params/notifications/%s is to be a list of strings", name)
		}
		return all
	}
	err := jsonrpc.Members(filter, func(name string, value []byte) bool {
		switch name {
		case "toolsListChanged":
			l.lists[kindTools] = flag(name, value)
		case "promptsListChanged":
			l.lists[kindPrompts] = flag(name, value)
		case "resourcesListChanged":
			l.lists[kindResources] = flag(name, value)
			l.lists[kindTemplates] = l.lists[kindResources]
		case "resourceSubscriptions":
			l.uris = strings(name, value)
		case "taskIds": // of the extension for tasks
			l.ids = strings(name, value)
		}
		return odd == nil
	})
	return errors.Join(odd, err)
}

// subscribe subscribes to the resources that the client named, where the
// boundary and their servers allow it, and returns them. A server has the time of a list to
// answer.
func (l *listener) subscribe(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, l.s.hub.now().cfg.Limits.ListWait)
	defer cancel()
	ok := make([]bool, len(l.uris))
	var all sync.WaitGroup
	turns := make(chan struct{}, 8)
	for i, uri := range l.uris {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			ok[i] = l.s.subscribeFor(ctx, uri, l.who)
		})
	}
	all.Wait()
	var honoured []string
	for i, uri := range l.uris {
		if ok[i] {
			honoured = append(honoured, uri)
		}
	}
	return honoured
}

// subscribeFor subscribes to one resource; false where that is not possible.
func (s *Session) subscribeFor(ctx context.Context, uri string, who *subscriber) bool {
	m := aboutURI(methodSubscribe, uri)
	list, sure := s.sources(ctx, uri)
	a, _, err := s.inTurn(ctx, uri, s.telling(list), sure, func(from source) (jsonrpc.Answer, error) {
		return s.subscribeAt(ctx, m, from, m.Param("uri"), uri, who)
	})
	if errors.Is(err, errSuperseded) && ctx.Err() == nil {
		return s.subscribeFor(ctx, uri, who)
	}
	if a.Release != nil {
		a.Release()
	}
	return err == nil && a.Error == nil
}

// watch has the tasks watched that the client named, and returns those that are:
// of a child of the same era that tells of them. What has ended is not waited for.
func (l *listener) watch(ctx context.Context) (honoured []string) {
	ctx, cancel := context.WithTimeout(ctx, l.s.hub.now().cfg.Limits.ListWait)
	defer cancel()
	var all sync.WaitGroup
	turns := make(chan struct{}, 8)
	for _, id := range l.ids {
		t := l.s.tasks.find(id)
		if t == nil {
			continue
		}
		lease, there := l.s.hub.sup.TryAcquire(t.key)
		if !there {
			continue
		}
		l.mu.Lock()
		l.tasks[id] = watched{key: t.key} // from now on it may be told of
		l.mu.Unlock()
		all.Go(func() {
			defer lease.Release()
			turns <- struct{}{}
			defer func() { <-turns }()
			end, ok := lease.WatchTask(ctx, id)
			l.mu.Lock()
			defer l.mu.Unlock()
			if ok {
				l.tasks[id] = watched{t.key, end}
			} else {
				delete(l.tasks, id)
			}
		})
	}
	all.Wait()
	for _, id := range l.ids {
		if _, ok := l.tasks[id]; ok {
			honoured = append(honoured, id)
		}
	}
	return honoured
}

// unwatch ends what watch began.
func (l *listener) unwatch() {
	l.mu.Lock()
	tasks := l.tasks
	l.tasks = nil
	l.mu.Unlock()
	for _, w := range tasks {
		w.end()
	}
}

// hearsOf reports whether the stream is told of a task of a child.
func (l *listener) hearsOf(k children.Key, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.tasks[id]
	return ok && w.key == k
}

// unsubscribe ends what the stream wanted; the children are told where nobody
// else wants it.
func (l *listener) unsubscribe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	var all sync.WaitGroup
	for _, sub := range l.s.hub.subs.by1(l.who) {
		if !l.s.hub.subs.drop(sub, l.who) {
			continue
		}
		select {
		case <-l.s.modern.hears.over:
			continue // the children end too, or serve others
		default:
		}
		if lease, ok := l.s.hub.sup.TryAcquire(sub.key); ok {
			all.Go(func() {
				defer lease.Release()
				if resp, err := lease.Call(ctx, methodUnsubscribe, append(jsonrpc.AppendString([]byte(`{"uri":`), sub.uri), '}')); err == nil {
					resp.Release()
				}
			})
		}
	}
	all.Wait()
}

// by1 returns what one subscriber wants.
func (t *subscriptions) by1(who *subscriber) (all []subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for sub, held := range t.by {
		if _, mine := held[who]; mine {
			all = append(all, sub)
		}
	}
	return all
}

// acknowledge says what the stream will tell of, and then what came too early.
func (l *listener) acknowledge(ctx context.Context, honoured, ids []string) {
	b := append([]byte(`{"_meta":{"`+inline.MetaSubscription+`":`), l.id...)
	b = append(b, `},"notifications":{`...)
	comma := ""
	for k, name := range [kinds]string{kindTools: "toolsListChanged", kindPrompts: "promptsListChanged", kindResources: "resourcesListChanged"} {
		if l.lists[k] && name != "" {
			b = append(b, comma+`"`+name+`":true`...)
			comma = ","
		}
	}
	list := func(name string, all []string) {
		if len(all) == 0 {
			return
		}
		b = append(b, comma+`"`+name+`":[`...)
		for i, text := range all {
			if i > 0 {
				b = append(b, ',')
			}
			b = jsonrpc.AppendString(b, text)
		}
		b, comma = append(b, ']'), ","
	}
	list("resourceSubscriptions", honoured)
	list("taskIds", ids)
	if l.out.Notify(ctx, "notifications/subscriptions/acknowledged", append(b, `}}`...)) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = true
	for _, n := range l.early {
		l.out.TryNotify(n.method, n.params)
	}
	l.early = nil
}

// tagged are params with the id of the stream in their _meta. What a child said
// there of its own hop is left out.
func (l *listener) tagged(params []byte) []byte {
	b := append([]byte(`{"_meta":{"`+inline.MetaSubscription+`":`), l.id...)
	b = append(jsonrpc.AppendMembers(b, jsonrpc.Get(params, "_meta"), inline.OtherHop), '}')
	return append(jsonrpc.AppendMembers(b, params, func(name string) bool { return name != "_meta" }), '}')
}

// told passes on a notification where there is room. It never blocks on the
// client.
func (l *listener) told(method string, params [][]byte) {
	n := note{method, l.tagged(join(params))}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.acked:
		l.out.TryNotify(n.method, n.params)
	case len(l.early) < mostEarly:
		l.early = append(l.early, n)
	}
}

// tellSurely passes on a notification that must not be lost.
func (l *listener) tellSurely(ctx context.Context, method string) error {
	return l.out.Notify(ctx, method, l.tagged(nil))
}

// due returns the lists that are others now than the client was told, once the
// stream is acknowledged.
func (l *listener) due(now [kinds]string) (methods []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.acked {
		return nil
	}
	for k := kindTools; k < kinds; k++ {
		if now[k] == l.known[k] {
			continue
		}
		l.known[k] = now[k]
		if method := listing[k].changed; l.lists[k] && !slices.Contains(methods, method) {
			methods = append(methods, method)
		}
	}
	return methods
}
