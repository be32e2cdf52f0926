package subscribe

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// oneChild is a Session with one child that has all resources, and grants all.
type oneChild struct {
	key    spec.Key
	term   children.Term
	denied bool
}

func (c *oneChild) Notify(context.Context, string, ...[]byte) error { return nil }
func (c *oneChild) TryNotify(string, ...[]byte) bool                { return true }
func (c *oneChild) Lists() []List                                   { return nil }

func (c *oneChild) AskInOrder(_ context.Context, uri string, ask func(ResourceSource) (jsonrpc.Answer, error)) jsonrpc.Answer {
	a, _ := ask(c.At("kid", uri))
	return a
}

func (c *oneChild) First(_ context.Context, uri string) (ResourceSource, jsonrpc.Answer) {
	return c.At("kid", uri), jsonrpc.Answer{}
}

func (c *oneChild) At(_, uri string) ResourceSource             { return oneSource{c, uri} }
func (c *oneChild) Denies(string) bool                          { return c.denied }
func (c *oneChild) Serving(string) (spec.Key, children.Term)    { return c.key, c.term }
func (c *oneChild) TryAcquire(spec.Key) (*children.Lease, bool) { return nil, false }

type oneSource struct {
	c   *oneChild
	uri string
}

func (p oneSource) Key() spec.Key { return p.c.key }
func (p oneSource) URI() string   { return p.uri }

func (p oneSource) Ask(_ context.Context, _ *jsonrpc.Message, before func(spec.Key, children.Term) error) (jsonrpc.Answer, error) {
	if before != nil {
		if err := before(p.c.key, p.c.term); err != nil {
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error()), nil
		}
	}
	return jsonrpc.ResultAnswer([]byte(`{}`)), nil
}

// aTerm returns a Term that is not the zero one.
func aTerm() children.Term { return children.Status{Restarts: 1}.Term() }

// TestNothingIsLostWhileSubscriptionsAreMadeAnew: who has subscribed is told about
// every change, also while the hub subscribes again because the child was started.
func TestNothingIsLostWhileSubscriptionsAreMadeAnew(t *testing.T) {
	t.Parallel()
	const uri, changes = "note://1", 20_000
	var table Table
	session := &oneChild{key: spec.Key{Child: "kid"}, term: aTerm()}
	n := NewNotifier(session, &table, zerolog.Nop())
	var told atomic.Int64
	who := &subscriber{n, func(string, ...[]byte) { told.Add(1) }}
	if a := n.subscribeFor(t.Context(), AboutURI(methods.Subscribe, uri), uri, who); a.Error != nil {
		t.Fatalf("%s", a.Error)
	}
	at := resource{session.key, uri}
	var over atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		for range changes {
			table.Updated(session.key, AboutURI("notifications/resources/updated", uri))
		}
		over.Store(true)
	})
	again := 0
	for ; !over.Load(); again++ {
		table.mu.Lock()
		table.by[at][who] = subscription{uri: uri} // as if it was asked for in an earlier Term
		table.mu.Unlock()
		n.renewAt(t.Context(), term{session.key, session.term})
		table.mu.Lock()
		made := table.by[at][who].made
		table.mu.Unlock()
		if made != session.term {
			t.Fatal("control: it was not made anew")
		}
	}
	all.Wait()
	if told.Load() != changes {
		t.Errorf("told of %d changes of %d, while it was made anew %d times", told.Load(), changes, again)
	}
	if again == 0 {
		t.Error("control: it was never made anew")
	}
	table.dropSubscription(at, who)
	if n.renewAt(t.Context(), term{session.key, session.term}); table.Len() != 0 {
		t.Error("what nobody wants any more was subscribed again")
	}
}

// TestACallWaitsForSubscriptions: who has subscriptions is behind at a child of another term until they are made there. Without
// subscriptions, and if the hub itself asks, nothing waits.
func TestACallWaitsForSubscriptions(t *testing.T) {
	t.Parallel()
	const uri = "note://1"
	var table Table
	kid := spec.Key{Child: "kid"}
	session := &oneChild{key: kid}
	n := NewNotifier(session, &table, zerolog.Nop())
	n.Start(t.Context())
	defer n.Stop()
	next := aTerm()
	if n.IsBehind(kid, next) {
		t.Error("it is behind with nothing")
	}
	who := &subscriber{n, func(string, ...[]byte) {}}
	if a := n.subscribeFor(t.Context(), AboutURI(methods.Subscribe, uri), uri, who); a.Error != nil {
		t.Fatalf("%s", a.Error)
	}
	session.term = next
	at := resource{kid, uri}
	n.Renew(context.WithValue(t.Context(), renewKey{}, true), kid, next)
	if made := table.by[at][who].made; made == next || !n.IsBehind(kid, next) {
		t.Errorf("a request of the renewal itself renews: %v", made)
	}
	n.Renew(t.Context(), kid, next)
	if made := table.by[at][who].made; made != next || n.IsBehind(kid, next) {
		t.Errorf("it is behind: %v", made)
	}
	if other := (spec.Key{Child: "kid", Instance: "x"}); !n.IsBehind(other, next) {
		t.Error("it is not behind at another instance")
	}
}

// TestSubscriptionsEndThatRulesDeny: no one is told any more of what a reload has denied, and everybody of the rest.
func TestSubscriptionsEndThatRulesDeny(t *testing.T) {
	t.Parallel()
	const uri = "note://1"
	var table Table
	for _, denied := range []bool{false, true} {
		session := &oneChild{key: spec.Key{Child: "kid"}, term: aTerm()}
		n := NewNotifier(session, &table, zerolog.Nop())
		told := 0
		who := &subscriber{n, func(string, ...[]byte) { told++ }}
		if a := n.subscribeFor(t.Context(), AboutURI(methods.Subscribe, uri), uri, who); a.Error != nil {
			t.Fatalf("%s", a.Error)
		}
		session.denied = denied
		n.NoteRestart()
		table.Updated(session.key, AboutURI("notifications/resources/updated", uri))
		if want := map[bool]int{false: 1, true: 0}[denied]; told != want {
			t.Errorf("denied %v: told %d times", denied, told)
		}
		n.Leave()
	}
}

// TestSubscriptionsAreBounded: what others name, and is kept after their message,
// is bounded in bytes and not only in number.
func TestSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	var table Table
	uri := strings.Repeat("u", maxBytes/8)
	add := func(n *Notifier, i int) error {
		name := fmt.Sprint(i, uri)
		_, err := table.addSubscription(resource{spec.Key{Child: "kid"}, name}, n.client, subscription{uri: name})
		return err
	}
	one, other := NewNotifier(&oneChild{}, &table, zerolog.Nop()), NewNotifier(&oneChild{}, &table, zerolog.Nop())
	for i := range 3 {
		if err := add(one, i); err != nil {
			t.Fatal(err)
		}
	}
	if add(one, 3) == nil {
		t.Error("one session keeps as much as it likes")
	}
	if err := add(other, 3); err != nil {
		t.Errorf("and so has another one no room: %s", err)
	}
	if other.Leave(); table.Len() != 3 {
		t.Errorf("%d resources are left", table.Len())
	}
}

// TestChangedLists: a client is told about a list that it has seen, once for two
// lists with one notification.
func TestChangedLists(t *testing.T) {
	t.Parallel()
	lists := func(digests ...string) (all []List) {
		for i, d := range digests {
			all = append(all, List{[]string{"tools", "resources", "resources"}[i], func() string { return d }})
		}
		return all
	}
	k := knowsNothing()
	k.digests[0], k.digests[1] = "a", "a"
	for _, c := range []struct {
		now  []List
		want string
	}{
		{lists("a", "a", "x"), ""},
		{lists("b", "a", "x"), "tools"},
		{lists("b", "b", "y"), "resources"},
		{lists("b", "b", "z"), ""},
	} {
		if got := strings.Join(k.noteLists(c.now), " "); got != c.want {
			t.Errorf("told %q, want %q", got, c.want)
		}
	}
	k.digests[2] = "z"
	if got := k.noteLists(lists("c", "c", "c")); strings.Join(got, " ") != "tools resources" {
		t.Errorf("told %q", got)
	}
}

// oneList is a Session with one list of what is on offer. It counts the notifications that its client gets.
type oneList struct {
	oneChild
	digest string
	told   int
}

func (l *oneList) Lists() []List {
	return []List{{methods.ToolsChanged, func() string { return l.digest }}}
}

func (l *oneList) Notify(context.Context, string, ...[]byte) error { l.told++; return nil }

// TestWhoHasSeenAChangeIsToldOfItAllTheSame: an answer is no announcement. It may be lost, refuse a cursor, or go to a part of
// the client that keeps no list.
func TestWhoHasSeenAChangeIsToldOfItAllTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		shown []string // the list, each time that it is asked for
		now   string
		told  int
	}{
		{"never seen", nil, "b", 0},
		{"not changed", []string{"a"}, "a", 0},
		{"changed", []string{"a"}, "b", 1},
		{"shown again as it was", []string{"a", "a"}, "b", 1},
		{"shown as it is now", []string{"a", "b"}, "b", 1},
		{"shown twice as it is now", []string{"a", "b", "b"}, "b", 1},
		{"shown otherwise for a while", []string{"a", "b"}, "a", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session := &oneList{}
				n := NewNotifier(session, &Table{}, zerolog.Nop())
				ctx, end := context.WithCancel(t.Context())
				n.Start(ctx)
				n.NoteInitialized()
				settle := func() {
					n.SignalChange()
					time.Sleep(2 * announceDelay)
					synctest.Wait()
				}
				for _, session.digest = range c.shown {
					n.NoteSeen(0, func() string { return session.digest })
				}
				session.digest = c.now
				if settle(); session.told != c.told {
					t.Errorf("told %d times, want %d", session.told, c.told)
				}
				if settle(); session.told != c.told {
					t.Errorf("told %d times in the end, though nothing changed any more", session.told)
				}
				end()
				n.Stop()
			})
		})
	}
}

// room is a way to the client that may be full.
type room struct {
	*oneList
	full bool
}

func (r room) TryNotify(string, ...[]byte) bool {
	if !r.full {
		r.told++
	}
	return !r.full
}

// TestWhoIsWarnedIsToldOnce: a client that is told about a change before the list is read is not told again when it is, unless it
// has seen the former list in between, has not asked for a while, or could not be told.
func TestWhoIsWarnedIsToldOnce(t *testing.T) {
	t.Parallel()
	const tools, prompts = offers.Lists(1 << offers.Tools), offers.Lists(1 << offers.Prompts)
	for _, c := range []struct {
		name         string
		unseen, full bool
		which        offers.Lists
		shown        []string // after the warning
		later        time.Duration
		told, more   int // at once, and after the list is "b"
	}{
		{name: "warned", which: tools, told: 1},
		{name: "warned, and shown the new list", which: tools, shown: []string{"b"}, told: 1},
		{name: "warned, and shown the former one", which: tools, shown: []string{"a"}, told: 1, more: 1},
		{name: "warned, and shown both", which: tools, shown: []string{"a", "b"}, told: 1, more: 1},
		{name: "warned long before", which: tools, later: time.Minute, told: 1, more: 1},
		{name: "of another list", which: prompts, more: 1},
		{name: "there is no room", which: tools, full: true, more: 1},
		{name: "it was never seen", which: tools, unseen: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session := &oneList{digest: "a"}
				n := NewNotifier(session, &Table{}, zerolog.Nop())
				ctx, end := context.WithCancel(t.Context())
				n.Start(ctx)
				see := func() { n.NoteSeen(0, func() string { return session.digest }) }
				if n.WarnOutdated(tools, room{session, false}); session.told != 0 {
					t.Error("told before it has said that it may be")
				}
				if n.NoteInitialized(); !c.unseen {
					see()
				}
				if n.WarnOutdated(c.which, room{session, c.full}); session.told != c.told {
					t.Errorf("told %d times at once, want %d", session.told, c.told)
				}
				time.Sleep(c.later)
				for _, session.digest = range c.shown {
					see()
				}
				session.digest = "b"
				for range 2 {
					n.SignalChange()
					time.Sleep(2 * announceDelay)
					synctest.Wait()
				}
				if session.told != c.told+c.more {
					t.Errorf("told %d times, want %d", session.told, c.told+c.more)
				}
				if session.digest, c.more = "c", c.more+1; !c.unseen {
					time.Sleep(time.Minute)
					n.SignalChange()
					time.Sleep(2 * announceDelay)
					synctest.Wait()
					if session.told != c.told+c.more {
						t.Errorf("told %d times after another change, want %d", session.told, c.told+c.more)
					}
				}
				end()
				n.Stop()
			})
		})
	}
}

// TestAWarningWaitsForNoList: while the lists of a session are made, a child's read loop goes on, and the client is told.
func TestAWarningWaitsForNoList(t *testing.T) {
	t.Parallel()
	session := &oneList{}
	n := NewNotifier(session, &Table{}, zerolog.Nop())
	n.NoteInitialized()
	n.NoteSeen(0, func() string { return "a" })
	n.NoteSeen(0, func() string { n.WarnOutdated(1<<offers.Tools, room{session, false}); return "a" })
	if session.told != 1 {
		t.Errorf("the client is told %d times while its list is taken", session.told)
	}
}
