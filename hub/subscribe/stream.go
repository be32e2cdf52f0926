package subscribe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/hub/modern"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

const (
	// maxNamed bounds the resources, and the tasks, that a single stream names.
	maxNamed = 1000
	// maxEarly bounds what is kept for a stream that is not acknowledged yet.
	maxEarly = 100
	// leaveTime bounds how long the end of a stream takes to tell its children.
	leaveTime = time.Second
	// atOnce is how many children are asked at a time for one stream.
	atOnce = 8
)

// A ListenRequest is one subscriptions/listen, and what the hub knows of its client.
type ListenRequest struct {
	Request      *jsonrpc.Message
	Client       Listener      // the stream
	Capabilities []byte        // that the client declares, raw
	Tasks        *tasks.Table  // of the session
	Server       []byte        // what the hub says about itself in _meta, raw
	Streams      int           // that the session may have at a time
	Wait         time.Duration // that children have to answer before it is acknowledged
}

// A stream is one subscriptions/listen under way.
type stream struct {
	ListenRequest
	n     *Notifier
	who   *subscriber
	lists map[string]bool // that it is told about, by the notification
	uris  []string
	ids   []string // of tasks

	mu    sync.Mutex
	tasks map[string]taskWatch // that it is told about, by id
	acked bool
	early []note // that came before it was acknowledged, bounded
	known known
}

// taskWatch is a task that a stream is told about.
type taskWatch struct {
	key spec.Key // whose it is
	end func()   // nil while it is not sure that the child tells about it
}

// note is a notification.
type note struct {
	method string
	params []byte
}

// streams are the streams of one session. The mutex is a leaf.
type streams struct {
	mu   sync.Mutex
	all  map[*stream]struct{}
	over chan struct{} // closed when nothing more comes
	once sync.Once
}

func (s *streams) hangUp() { s.once.Do(func() { close(s.over) }) }

func (s *streams) addStream(l *stream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= l.Streams {
		return fmt.Errorf("%d streams are open already: end one first", len(s.all))
	}
	if s.all == nil {
		s.all = map[*stream]struct{}{}
	}
	s.all[l] = struct{}{}
	return nil
}

func (s *streams) removeStream(l *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, l)
}

func (s *streams) allStreams() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.all))
}

// tellChanged informs streams of lists that have changed.
func (s *streams) tellChanged(ctx context.Context, lists func() []List) {
	all := s.allStreams()
	if len(all) == 0 {
		return
	}
	now := lists()
	for i := range now {
		digest := now[i].Digest() // before a stream is locked, which a child's read loop may wait for
		now[i].Digest = func() string { return digest }
	}
	for _, l := range all {
		for _, method := range l.dueNotifications(now) {
			_ = l.tellSurely(ctx, method)
		}
	}
}

// PassTaskStatus informs the streams that asked for it what has become of a task of a
// child. It runs on the child's read loop.
func (n *Notifier) PassTaskStatus(k spec.Key, m *jsonrpc.Message) {
	id, ok := jsonrpc.String(m.Param("taskId"))
	if !ok {
		return
	}
	for _, l := range n.streams.allStreams() {
		if l.watchesTask(k, id) {
			l.tellClient(m.Method, m.Params)
		}
	}
}

// Listen answers subscriptions/listen when the client or the session ends it.
func (n *Notifier) Listen(ctx context.Context, listen ListenRequest) jsonrpc.Answer {
	l := &stream{ListenRequest: listen, n: n, lists: map[string]bool{}, tasks: map[string]taskWatch{}, known: knowsNothing()}
	if err := l.readFilter(l.Request.Param("notifications")); err != nil {
		return jsonrpc.RefuseParams(err.Error())
	}
	if len(l.ids) > 0 {
		if refusal, ok := tasks.RequireExtension(l.Capabilities); !ok {
			return refusal
		}
	}
	l.who = &subscriber{n, l.tellClient}
	for i, list := range n.session.Lists() {
		l.known.digests[i] = list.Digest()
	}
	if err := n.streams.addStream(l); err != nil {
		return jsonrpc.AnswerFailure("busy: " + err.Error())
	}
	defer n.streams.removeStream(l)
	honoured := l.subscribeAll(ctx)
	defer l.unsubscribeAll(ctx)
	ids := l.watchTasks(ctx)
	defer l.unwatchTasks()
	l.acknowledgeTopics(ctx, honoured, ids)
	n.SignalChange() // lists that have changed since they were read
	select {
	case <-ctx.Done():
		return jsonrpc.AnswerFailure(context.Cause(ctx).Error())
	case <-n.streams.over:
	}
	b := append(l.beginMeta(), `,"`+mcp.MetaKeyServerInfo+`":`...)
	return jsonrpc.ResultAnswer(append(append(b, l.Server...), `},"resultType":"complete"}`...))
}

// readFilter reads the filter.
func (l *stream) readFilter(filter []byte) error {
	if !jsonrpc.IsObject(filter) {
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
			if !ok || len(all) == maxNamed {
				odd = fmt.Errorf("/params/notifications/%s is to be a list of strings, of %d at most", name, maxNamed)
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
		for k := range offers.Kinds {
			if list := k.List(); list.Flag == name && name != "" {
				l.lists[list.Changed] = flag(name, value)
			}
		}
		switch name {
		case "resourceSubscriptions":
			l.uris = strings(name, value)
		case "taskIds": // of the extension for tasks
			l.ids = strings(name, value)
		}
		return odd == nil
	})
	return errors.Join(odd, err)
}

// subscribeAll subscribes to the resources that the client named, if the boundary
// and their servers allow it, and returns them.
func (l *stream) subscribeAll(ctx context.Context) []string {
	return l.askEach(ctx, l.uris, func(ctx context.Context, uri string) bool {
		a := l.n.subscribeFor(ctx, AboutURI(methods.Subscribe, uri), uri, l.who)
		a.Free()
		return a.Error == nil
	})
}

// watchTasks has the tasks watched that the client named, and returns the ones that
// are: of a child of the same era that tells about them. A child that has ended is
// not waited for.
func (l *stream) watchTasks(ctx context.Context) []string {
	return l.askEach(ctx, l.ids, func(ctx context.Context, id string) bool {
		key, known := l.Tasks.Find(id)
		if !known {
			return false
		}
		lease, there := l.n.session.TryAcquire(key)
		if !there {
			return false
		}
		defer lease.Release()
		l.mu.Lock()
		l.tasks[id] = taskWatch{key: key} // from now on it may be told about
		l.mu.Unlock()
		end, ok := lease.WatchTask(ctx, id)
		l.mu.Lock()
		defer l.mu.Unlock()
		if ok {
			l.tasks[id] = taskWatch{key, end}
		} else {
			delete(l.tasks, id)
		}
		return ok
	})
}

// askEach asks for each of all, several at a time and together no longer than Wait, and
// returns the ones that were granted.
func (l *stream) askEach(ctx context.Context, all []string, grant func(context.Context, string) bool) (granted []string) {
	ctx, cancel := context.WithTimeout(ctx, l.Wait)
	defer cancel()
	ok := make([]bool, len(all))
	var wait sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, one := range all {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ok[i] = grant(ctx, one)
		})
	}
	wait.Wait()
	for i, one := range all {
		if ok[i] {
			granted = append(granted, one)
		}
	}
	return granted
}

// unwatchTasks ends what watch began.
func (l *stream) unwatchTasks() {
	l.mu.Lock()
	all := l.tasks
	l.tasks = nil
	l.mu.Unlock()
	for _, w := range all {
		w.end()
	}
}

// watchesTask reports whether the stream is told about a task of a child.
func (l *stream) watchesTask(k spec.Key, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.tasks[id]
	return ok && w.key == k
}

// unsubscribeAll ends the subscriptions of the stream. The children are told if no
// one else wants a resource.
func (l *stream) unsubscribeAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	var all sync.WaitGroup
	for _, at := range l.n.table.resourcesOf(l.who) {
		if !l.n.table.dropSubscription(at, l.who) {
			continue
		}
		select {
		case <-l.n.streams.over:
			continue // the children end too, or serve others
		default:
		}
		if lease, ok := l.n.session.TryAcquire(at.key); ok {
			all.Go(func() {
				defer lease.Release()
				if resp, err := lease.Call(ctx, methods.Unsubscribe, append(jsonrpc.AppendString([]byte(`{"uri":`), at.uri), '}')); err == nil {
					resp.Release()
				}
			})
		}
	}
	all.Wait()
}

// beginMeta begins params or a result with the id of the stream in its _meta.
func (l *stream) beginMeta() []byte {
	return append([]byte(`{"_meta":{"`+mcp.MetaKeySubscriptionID+`":`), l.Request.ID...)
}

// acknowledgeTopics reports what the stream will tell about, and then what came too early.
func (l *stream) acknowledgeTopics(ctx context.Context, honoured, ids []string) {
	b := append(l.beginMeta(), `},"notifications":{`...)
	comma := ""
	for k := range offers.Kinds {
		if list := k.List(); list.Flag != "" && l.lists[list.Changed] {
			b = append(b, comma+`"`+list.Flag+`":true`...)
			comma = ","
		}
	}
	list := func(name string, all []string) {
		if len(all) == 0 {
			return
		}
		b, comma = jsonrpc.AppendStrings(append(b, comma+`"`+name+`":`...), all), ","
	}
	list("resourceSubscriptions", honoured)
	list("taskIds", ids)
	if l.Client.Notify(ctx, methods.Acknowledged, append(b, `}}`...)) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = true
	for _, n := range l.early {
		l.Client.TryNotify(n.method, n.params)
	}
	l.early = nil
}

// tagParams returns params with the id of the stream in their _meta. What a child
// said there of its own hop is left out.
func (l *stream) tagParams(params []byte) []byte {
	b := append(jsonrpc.AppendMembers(l.beginMeta(), jsonrpc.Get(params, "_meta"), modern.IsEndToEnd), '}')
	return append(jsonrpc.AppendMembers(b, params, func(name string) bool { return name != "_meta" }), '}')
}

// tellClient passes on a notification if there is room. It never blocks on the
// client.
func (l *stream) tellClient(method string, params ...[]byte) {
	n := note{method, l.tagParams(jsonrpc.Join(params))}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.acked:
		l.Client.TryNotify(n.method, n.params)
	case len(l.early) < maxEarly:
		l.early = append(l.early, n)
	}
}

// warnOfLists announces lists that are about to change, if the client wants to know, and if the
// stream is acknowledged.
func (l *stream) warnOfLists(which offers.Lists) {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := map[string]bool{}
	for k := range offers.Kinds {
		method := k.List().Changed
		if which&(1<<k) == 0 || !l.lists[method] || !l.acked || !told[method] && !l.Client.TryNotify(method, l.tagParams(nil)) {
			continue
		}
		told[method] = true
		l.known.warnOf(int(k))
	}
}

// noteSeen remembers that the client sees a list. It may have been told on this stream that the
// list is about to change.
func (l *stream) noteSeen(list int, digest func() string) {
	l.mu.Lock()
	warned := l.known.isWarned(list)
	l.mu.Unlock()
	if !warned {
		return
	}
	now := digest() // before the stream is locked, which a child's read loop may wait for
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known.warned, list)
	l.known.digests[list] = now
}

// tellSurely passes on a notification that must not be lost.
func (l *stream) tellSurely(ctx context.Context, method string) error {
	return l.Client.Notify(ctx, method, l.tagParams(nil))
}

// dueNotifications returns the notifications of lists that have changed since the client was
// told, once the stream is acknowledged.
func (l *stream) dueNotifications(now []List) (methods []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.acked {
		return nil
	}
	return slices.DeleteFunc(l.known.noteLists(now), func(method string) bool { return !l.lists[method] })
}
