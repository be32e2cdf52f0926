package subscribe

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
	"mcphub/internal/worker"
)

// announceDelay is how long news is held back for more of it: when many children
// start, the client is told once.
const announceDelay = 30 * time.Millisecond

// A Listener is a way to tell a client something.
type Listener interface {
	// Notify tells it, and waits for room as long as ctx lasts.
	Notify(ctx context.Context, method string, params ...[]byte) error
	// TryNotify tells it if there is room. It never blocks.
	TryNotify(method string, params ...[]byte) bool
}

// A Session is what a Notifier needs of the session that it belongs to.
type Session interface {
	Listener // what belongs to no request goes there

	// Lists returns the lists of what is on offer as they are now, always in the
	// same order.
	Lists() []List
	// AskInOrder asks the children that may have a resource and tell about changes, the
	// likeliest first, until one has it. It begins again if a child was replaced.
	AskInOrder(ctx context.Context, uri string, ask func(ResourceSource) (jsonrpc.Answer, error)) jsonrpc.Answer
	// First returns the likeliest of them, nil if there is none: then the answer
	// says so.
	First(ctx context.Context, uri string) (ResourceSource, jsonrpc.Answer)
	// At returns the ResourceSource of a child and its own URI, nil if that child is
	// not configured.
	At(child, uri string) ResourceSource
	// Denies reports whether a rule of the policy denies every subscription at a child.
	Denies(child string) bool
	// Serving returns the instance of a child that serves the session now.
	Serving(child string) (spec.Key, children.Term)
	// TryAcquire returns a lease of an instance if that takes no waiting.
	TryAcquire(k spec.Key) (*children.Lease, bool)
}

// A ResourceSource is one child that may have a resource.
type ResourceSource interface {
	// Key returns the instance that serves the session now.
	Key() spec.Key
	// URI returns the child's own.
	URI() string
	// Ask makes a request about the resource, which is judged like any call. before,
	// where set, is told about the instance just before the request is sent, and
	// nothing is sent if it returns an error. The error is ErrReplaced if the child
	// was replaced and nothing was sent.
	Ask(ctx context.Context, m *jsonrpc.Message, before func(spec.Key, children.Term) error) (jsonrpc.Answer, error)
}

// ErrReplaced means that a child was replaced by another configuration of it.
var ErrReplaced = errors.New("the server was replaced")

// A List is one of the lists of what is on offer.
type List struct {
	Changed string        // the notification that reports that it has changed
	Digest  func() string // of all that is on it; it may take a while
}

// known is how a client knows the lists, by their places among Lists.
type known struct {
	digests map[int]string    // of lists that the client has seen; overtaken may stand instead of one
	warned  map[int]time.Time // when he learned that they are about to change, if he has not seen them since
}

func knowsNothing() known { return known{map[int]string{}, map[int]time.Time{}} }

// overtaken is how a list is known that was shown differently from what the client was
// told. No digest is equal to it, so the client is told next time.
const overtaken = ""

// warnTime is how long a client that learned that a list is about to change is taken to ask
// for it because of that. It is told again if it has not asked by then.
const warnTime = time.Second

func (k known) warnOf(list int) { k.warned[list] = time.Now() }

func (k known) isWarned(list int) bool {
	at, is := k.warned[list]
	return is && time.Since(at) < warnTime
}

// noteLists remembers how the lists are now, and returns the notifications of the
// ones that were known otherwise.
func (k known) noteLists(now []List) (methods []string) {
	for i, l := range now {
		before, seen := k.digests[i]
		if !seen {
			continue
		}
		if k.digests[i] = l.Digest(); k.digests[i] == before || k.isWarned(i) {
			continue
		}
		if !slices.Contains(methods, l.Changed) {
			methods = append(methods, l.Changed)
		}
	}
	return methods
}

// A Notifier tells the client of one session what has changed.
type Notifier struct {
	session Session
	table   *Table
	log     zerolog.Logger
	client  *subscriber // the client after its handshake
	streams streams
	worker  worker.Worker
	ctx     context.Context // of the worker
	rows    atomic.Int64    // its subscriptions; stored by the Table
	renewal renewal

	taking      sync.Mutex // held while a list is taken, so that none that is older counts later
	mu          sync.Mutex // held for a moment only: a child's read loop may wait for it
	initialized bool       // the client has said so: it may be told about lists
	known       known      // by that client
	restarted   []string   // children at which subscriptions have to be made again
}

// NewNotifier makes the Notifier of a session. It starts nothing.
func NewNotifier(s Session, t *Table, log zerolog.Logger) *Notifier {
	n := &Notifier{session: s, table: t, log: log, known: knowsNothing()}
	n.client = &subscriber{n, func(method string, params ...[]byte) { s.TryNotify(method, params...) }}
	n.streams.over = make(chan struct{})
	n.worker.Do = n.announceLists
	return n
}

// Start lets the Notifier tell about what has changed, until ctx ends.
func (n *Notifier) Start(ctx context.Context) {
	n.ctx = ctx
	n.worker.Start(ctx)
}

// Stop returns when all that the Notifier started has ended. End the context given
// to Start first.
func (n *Notifier) Stop() { n.worker.Stop() }

// Leave ends all subscriptions of the session.
func (n *Notifier) Leave() { n.table.leaveAll(n) }

// HangUp ends all streams: no one reads them any more, or the hub stops.
func (n *Notifier) HangUp() { n.streams.hangUp() }

// Streams returns how many streams are open.
func (n *Notifier) Streams() int { return len(n.streams.allStreams()) }

// NoteInitialized remembers that the client may be told about lists. first: it was
// not noted before.
func (n *Notifier) NoteInitialized() (first bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	first = !n.initialized
	n.initialized = true
	return first
}

// NoteSeen remembers that the client of the handshake sees a list, by its place among Lists. take
// takes the list and returns its digest. The client gets a notification for each change after
// the first list that it sees, also if it was shown the change before. Only a notification
// reaches everything in a client that keeps the list. An answer goes to what asked, and it may
// be cancelled, lost, or refuse a cursor of the former list.
func (n *Notifier) NoteSeen(list int, take func() (digest string)) {
	n.taking.Lock()
	defer n.taking.Unlock()
	digest := take()
	n.mu.Lock()
	defer n.mu.Unlock()
	if before, seen := n.known.digests[list]; seen && before != digest && !n.known.isWarned(list) {
		digest = overtaken
	}
	delete(n.known.warned, list)
	n.known.digests[list] = digest
}

// Restore has lists be known as the client has seen them at another hub: it is told about the lists that differ now.
func (n *Notifier) Restore(digests map[int]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.Copy(n.known.digests, digests)
}

// NoteSeenModern remembers that a client of 2026-07-28 sees a list. digest is called if a stream
// learned that the list is about to change: a notice after that is about another change.
func (n *Notifier) NoteSeenModern(list int, digest func() string) {
	for _, l := range n.streams.allStreams() {
		l.noteSeen(list, digest)
	}
}

// WarnOutdated reports that a child has announced a change of lists, by their places among Lists,
// which are not read yet. Clients are told at once, the one of the handshake by to, so that they
// know before they get the answer to what they have asked the child. WarnOutdated does not block.
func (n *Notifier) WarnOutdated(which offers.Lists, to Listener) {
	for _, l := range n.streams.allStreams() {
		l.warnOfLists(which)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	told := map[string]bool{}
	for k := range offers.Kinds {
		method := k.List().Changed
		if _, seen := n.known.digests[int(k)]; !seen || !n.initialized || which&(1<<k) == 0 || !told[method] && !to.TryNotify(method) {
			continue
		}
		told[method] = true
		n.known.warnOf(int(k))
	}
}

// SignalChange reports that lists may have changed.
func (n *Notifier) SignalChange() { n.worker.Wake() }

// NoteRestart reports that children were started: what was subscribed to at an earlier process
// is subscribed to again. It may be another configuration: what its rules deny ends.
func (n *Notifier) NoteRestart(children ...string) {
	n.endDenied()
	n.mu.Lock()
	n.restarted = append(n.restarted, children...)
	n.mu.Unlock()
	n.worker.Wake()
}

// endDenied ends the subscriptions that the rules deny by now, and the ones of servers whose resources no toolset shows.
func (n *Notifier) endDenied() {
	denied := map[string]bool{}
	for _, w := range n.table.findSubscriptions(n, func(resource, *subscriber, subscription) bool { return true }) {
		denies, asked := denied[w.key.Child]
		if !asked {
			denies = n.session.Denies(w.key.Child)
			denied[w.key.Child] = denies
		}
		if !denies {
			continue
		}
		n.table.dropSubscription(w.resource, w.who)
		n.log.Info().Str("child", w.key.Child).Str("uri", printable.Escape(w.subscription.uri, 200)).Msg("a subscription ends: a rule of the policy denies it by now, or no toolset of the session shows the server")
	}
}

// announceLists informs the client of lists that have changed since it was told or saw them
// first, and makes subscriptions again at children that were started again.
func (n *Notifier) announceLists(ctx context.Context) {
	if !worker.Sleep(ctx, announceDelay) {
		return
	}
	for _, method := range n.changedLists() {
		_ = n.session.Notify(ctx, method) // it must not be lost to a flood of other things
	}
	n.streams.tellChanged(ctx, n.session.Lists)
	n.mu.Lock()
	again := n.restarted
	n.restarted = nil
	n.mu.Unlock()
	if n.table.isEmpty(n) {
		return
	}
	for _, child := range again {
		n.worker.Go(func() { // which may have to start it
			if n.session.At(child, "") != nil {
				key, made := n.session.Serving(child)
				key.Child = child // it may have no status yet
				n.renewAt(ctx, term{key, made})
			}
		})
	}
}

// changedLists returns the notifications that are due to the client of the
// handshake, and notes that they were sent.
func (n *Notifier) changedLists() []string {
	n.taking.Lock()
	defer n.taking.Unlock()
	seen := n.seenLists()
	if len(seen) == 0 { // while servers start, each changes lists that the client has not seen
		return nil
	}
	now := n.session.Lists()
	for i := range now {
		if slices.Contains(seen, i) {
			digest := now[i].Digest()
			now[i].Digest = func() string { return digest }
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known.noteLists(now)
}

// seenLists returns the lists that the client has seen and may be told about.
func (n *Notifier) seenLists() []int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.initialized {
		return nil
	}
	return slices.Collect(maps.Keys(n.known.digests))
}

// Subscribe answers resources/subscribe of the client of the handshake.
func (n *Notifier) Subscribe(ctx context.Context, m *jsonrpc.Message, uri string) jsonrpc.Answer {
	return n.subscribeFor(ctx, m, uri, n.client)
}

func (n *Notifier) subscribeFor(ctx context.Context, m *jsonrpc.Message, uri string, who *subscriber) jsonrpc.Answer {
	return n.session.AskInOrder(ctx, uri, func(p ResourceSource) (jsonrpc.Answer, error) { return n.subscribeAt(ctx, m, p, uri, who) })
}

// subscribeAt subscribes at one child. The subscription is entered first: an update
// may be told as soon as the child has answered.
func (n *Notifier) subscribeAt(ctx context.Context, m *jsonrpc.Message, p ResourceSource, uri string, who *subscriber) (jsonrpc.Answer, error) {
	var at resource
	fresh := false
	a, err := p.Ask(ctx, m, func(k spec.Key, term children.Term) (err error) {
		at = resource{k, p.URI()}
		fresh, err = n.table.addSubscription(at, who, subscription{uri, term})
		return err
	})
	if fresh && (err != nil || a.Error != nil) {
		n.table.dropSubscription(at, who)
	}
	return a, err
}

// Unsubscribe answers resources/unsubscribe of the client of the handshake. The
// subscription ends where it was made: by now another child may be the likeliest
// to have the resource. The child is told when no one else of the ones that share
// it wants to hear of the resource.
func (n *Notifier) Unsubscribe(ctx context.Context, m *jsonrpc.Message, uri string) jsonrpc.Answer {
	done := jsonrpc.ResultAnswer([]byte(`{}`))
	var p ResourceSource
	held := n.table.findSubscriptions(n, func(_ resource, who *subscriber, sub subscription) bool { return who == n.client && sub.uri == uri })
	if len(held) > 0 {
		at := held[0].resource
		if !n.table.dropSubscription(at, n.client) {
			return done
		}
		if p = n.session.At(at.key.Child, at.uri); p == nil {
			return done
		}
	} else {
		var refusal jsonrpc.Answer
		if p, refusal = n.session.First(ctx, uri); p == nil {
			return refusal
		}
		if !n.table.dropSubscription(resource{p.Key(), p.URI()}, n.client) {
			return done // others want it
		}
	}
	a, err := p.Ask(ctx, m, nil)
	if errors.Is(err, ErrReplaced) {
		return done // the one that was to be told is no more
	}
	return a
}

// AboutURI returns a request of the hub's own about one resource.
func AboutURI(method, uri string) *jsonrpc.Message {
	params := append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}')
	return &jsonrpc.Message{Method: method, Params: params, Members: []jsonrpc.Member{{Name: "uri", Value: jsonrpc.Get(params, "uri")}}}
}

var errNotWanted = errors.New("it is not wanted any more, or was asked for already")

func (n *Notifier) resubscribeOne(ctx context.Context, w entry) {
	p := n.session.At(w.key.Child, w.resource.uri)
	if p == nil {
		return
	}
	skip, at := false, w.resource
	// It stays entered all the time: the instance may be the same, and what it tells
	// meanwhile is not to be lost.
	a, err := p.Ask(ctx, AboutURI(methods.Subscribe, w.resource.uri), func(k spec.Key, term children.Term) error {
		to := resource{k, w.resource.uri}
		if skip = !n.table.moveSubscription(at, to, term, w.who); skip {
			return errNotWanted
		}
		at = to
		return nil
	})
	switch {
	case skip:
		return
	case errors.Is(err, ErrReplaced):
		return // the one that takes its place is told when it is there
	case err == nil && a.Error == nil:
		return
	}
	n.table.dropSubscription(at, w.who)
	n.log.Warn().Str("child", at.key.Child).Str("uri", printable.Escape(w.subscription.uri, 200)).Bytes("error", a.Error).
		Msg("a subscription ended with the process that it was made with")
}
