package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/offers"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/worker"
)

// lister is a child whose lists are read, and when.
type lister struct {
	*wire
	mu      sync.Mutex // lists are read side by side
	started time.Time
	reads   []string
	result  string // of each, instead of an empty list
	err     error
}

func newLister() *lister {
	l := &lister{wire: newWire()}
	l.call = func(_ context.Context, method, params string) (string, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.reads = append(l.reads, fmt.Sprintf("%s %s", time.Since(l.started), strings.TrimSpace(method+" "+params)))
		switch {
		case l.err != nil:
			return "", l.err
		case method == "logging/setLevel":
			return "{}", nil
		case l.result != "":
			return l.result, nil
		}
		return `{"tools":[{"name":"n` + fmt.Sprint(len(l.reads)) + `"}],"skills":[],"prompts":[]}`, nil
	}
	return l
}

// follows lets a run follow the lists of a child.
func follows(t *testing.T, base *offers.RawOffer, test func(t *testing.T, k *kid, l *lister)) {
	t.Helper()
	l := newLister()
	bubble(t, options(spec.Spec{}), onWire(l.wire), func(t *testing.T, k *kid) {
		l.started = time.Now()
		defer k.follow(t, base)()
		test(t, k, l)
	})
}

// follow has a run follow the lists of its child until stop.
func (k *kid) follow(t *testing.T, base *offers.RawOffer) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.Follow(ctx, base) }()
	return func() { cancel(); <-done }
}

// change changes what the child does from now on.
func (l *lister) change(how func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	how()
}

func (l *lister) want(t *testing.T, what string, reads ...string) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.Join(l.reads, ", "); got != strings.Join(reads, ", ") {
		t.Errorf("%s: read %s, want %s", what, got, strings.Join(reads, ", "))
	}
}

var announces = &offers.RawOffer{Capabilities: []byte(`{"tools":{"listChanged":true},"prompts":{"listChanged":true},"logging":{}}`)}

// A list is read again when the child says that it has changed, ten times a second at most, and that list alone.
func TestListChangedIsFollowed(t *testing.T) {
	t.Parallel()
	follows(t, announces, func(t *testing.T, k *kid, l *lister) {
		time.Sleep(time.Hour)
		l.want(t, "nothing has changed")
		l.change(func() { l.started = time.Now() })
		for range 5 {
			k.ServeNotification(message(t, "notifications/tools/list_changed", `{}`))
			synctest.Wait()
		}
		if o := <-k.Offers(); len(o.Entries[offers.Tools]) != 1 {
			t.Errorf("%+v", o.RawOffer)
		}
		l.want(t, "at once", "0s tools/list")
		time.Sleep(99 * time.Millisecond)
		l.want(t, "too soon", "0s tools/list")
		time.Sleep(time.Millisecond)
		l.want(t, "after a tenth of a second", "0s tools/list", "100ms tools/list")
		time.Sleep(time.Second)
		l.want(t, "nothing more has changed", "0s tools/list", "100ms tools/list")
		k.ServeNotification(message(t, "notifications/prompts/list_changed", `{}`))
		l.want(t, "another list", "0s tools/list", "100ms tools/list", "1.1s prompts/list")
		// A caller that takes an offer gets the newest one.
		if o := <-k.Offers(); string(o.Entries[offers.Tools][0]) != `{"name":"n2"}` || o.Entries[offers.Prompts] == nil && len(k.Offers()) != 0 {
			t.Errorf("%s", o.Entries)
		}
		if len(k.Offers()) != 0 {
			t.Error("there is an older one too")
		}
	})
}

// A list that fails is asked for again with a pause that grows, it alone, and the others are offered meanwhile.
func TestListThatFailsIsAskedAgain(t *testing.T) {
	t.Parallel()
	base := *announces
	follows(t, &base, func(t *testing.T, k *kid, l *lister) {
		read := l.call
		indexing := true
		l.call = func(ctx context.Context, method, params string) (string, error) {
			answer, err := read(ctx, method, params)
			if l.mu.Lock(); indexing && method == "prompts/list" {
				err = errors.New("still indexing")
			}
			l.mu.Unlock()
			return answer, err
		}
		k.ServeNotification(message(t, "notifications/prompts/list_changed", `{}`))
		if o := <-k.Offers(); !o.Lacks(offers.Prompts) || !o.IsUnread(offers.Prompts) || len(o.Notes) != 1 || o.Entries[offers.Prompts] != nil { // people are told
			t.Errorf("%+v", o.RawOffer)
		}
		contains(t, "the log", k.log.String(), "still indexing; it is asked for again")
		k.ServeNotification(message(t, "notifications/tools/list_changed", `{}`))
		if o := <-k.Offers(); len(o.Entries[offers.Tools]) != 1 || !o.Lacks(offers.Prompts) || o.Lacks(offers.Tools) || o.IsWhole() {
			t.Errorf("%+v", o.RawOffer)
		}
		time.Sleep(10 * time.Minute)
		if len(k.Offers()) != 0 {
			t.Error("it is offered once more, and nothing has changed")
		}
		l.change(func() {
			asked := strings.Count(strings.Join(l.reads, ","), "prompts/list")
			if asked < 10 || asked > 15 {
				t.Errorf("asked %d times in ten minutes: %s", asked, l.reads)
			}
			indexing = false
		})
		if o := <-k.Offers(); o.FailedLists() != 0 || o.IsUnread(offers.Prompts) || !o.IsWhole() { // the child says nothing more of it
			t.Errorf("%+v", o.RawOffer)
		}
		l.change(func() { l.reads = nil })
		time.Sleep(time.Hour)
		l.want(t, "all were had")
	})
}

// A list that is not answered holds no other one up, in either direction; and a start does not fail with it.
func TestListThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hangs, refuses string
		failed         offers.ListKind
		ready          time.Duration // at most
	}{
		"prompts hang":      {hangs: "prompts/list", failed: offers.Prompts, ready: 3 * time.Second},
		"tools hang":        {hangs: "tools/list", failed: offers.Tools, ready: 30 * time.Second},
		"tools are refused": {refuses: "tools/list", failed: offers.Tools, ready: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire()
			ok := greetsWith(`{"tools":{},"prompts":{}}`, func(ctx context.Context, method, params string) (string, error) {
				switch {
				case method == tc.hangs:
					return untilEnd(ctx, method, params)
				case method == tc.refuses:
					return "", &jsonrpc.Error{Code: -32000, Message: "still indexing"}
				}
				return `{"tools":[{"name":"t"}],"prompts":[{"name":"p"}]}`, nil
			})
			w.call = ok.call
			bubble(t, options(spec.Spec{Era: spec.EraLegacy, StartTimeout: time.Minute}), onWire(w), func(t *testing.T, k *kid) {
				began := time.Now()
				o, err := k.Connect(t.Context(), run.Try{}, func() {})
				if err != nil || time.Since(began) > tc.ready {
					t.Fatalf("%v after %s", err, time.Since(began))
				}
				for _, kind := range []offers.ListKind{offers.Tools, offers.Prompts} {
					if o.Lacks(kind) != (kind == tc.failed) || (len(o.Entries[kind]) == 1) == (kind == tc.failed) {
						t.Errorf("%s: %s, failed %t", kind.List().Noun, o.Entries[kind], o.Lacks(kind))
					}
				}
				contains(t, "notes", strings.Join(o.Notes, " "), "asked for again")
			})
		})
	}
}

// A child whose first list of tools fails and whose next one does not is ready with its tools.
func TestFirstListThatFails(t *testing.T) {
	t.Parallel()
	asked := 0
	w := greetsWith(`{"tools":{}}`, func(context.Context, string, string) (string, error) {
		if asked++; asked < 3 {
			return "", &jsonrpc.Error{Code: -32000, Message: "still indexing"}
		}
		return `{"tools":[{"name":"t"}]}`, nil
	})
	bubble(t, options(spec.Spec{Era: spec.EraLegacy, StartTimeout: time.Minute}), onWire(w), func(t *testing.T, k *kid) {
		o, err := k.Connect(t.Context(), run.Try{}, func() {})
		if err != nil || len(o.Entries[offers.Tools]) != 1 || o.FailedLists() != 0 || !o.IsWhole() {
			t.Errorf("%v: %+v", err, o)
		}
	})
}

// A list that is slow to come is had in the end, and what has changed meanwhile is not kept waiting by it.
func TestListThatIsSlow(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64 // for the tools
	w := newWire()
	ok := greetsWith(`{"tools":{"listChanged":true},"prompts":{}}`, func(ctx context.Context, method, _ string) (string, error) {
		if method == "prompts/list" {
			if !worker.Sleep(ctx, 15*time.Second) {
				return "", context.Cause(ctx)
			}
			return `{"prompts":[{"name":"p"}]}`, nil
		}
		return fmt.Sprintf(`{"tools":[{"name":"t%d"}]}`, asked.Add(1)), nil
	})
	w.call = ok.call
	bubble(t, options(spec.Spec{Era: spec.EraLegacy, StartTimeout: time.Minute}), onWire(w), func(t *testing.T, k *kid) {
		o, err := k.Connect(t.Context(), run.Try{}, func() {})
		if err != nil || !o.Lacks(offers.Prompts) {
			t.Fatalf("%v: %+v", err, o)
		}
		defer k.follow(t, o)()
		time.Sleep(5 * time.Second)
		began := time.Now()
		k.ServeNotification(message(t, "notifications/tools/list_changed", `{}`))
		if u := <-k.Offers(); time.Since(began) > time.Second || !u.Lacks(offers.Prompts) || !strings.Contains(strings.Join(u.Notes, " "), "prompts/list") {
			t.Errorf("after %s: %+v", time.Since(began), u.RawOffer)
		}
		if u := <-k.Offers(); time.Since(began) > time.Minute || u.FailedLists() != 0 || len(u.Entries[offers.Prompts]) != 1 || len(u.Notes) != 0 || !u.IsWhole() {
			t.Errorf("after %s: %+v", time.Since(began), u.RawOffer)
		}
	})
}

// A list of which a page is not answered is asked for again. The pages that were had count while there is nothing else.
func TestPageThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	hangs := true
	var mu sync.Mutex
	w := newWire()
	ok := greetsWith(`{"tools":{},"prompts":{}}`, func(ctx context.Context, method, params string) (string, error) {
		mu.Lock()
		h := hangs
		mu.Unlock()
		switch {
		case method == "prompts/list":
			return `{"prompts":[]}`, nil
		case !strings.Contains(params, "cursor"):
			return `{"tools":[{"name":"one"}],"nextCursor":"2"}`, nil
		case h:
			return untilEnd(ctx, method, params)
		}
		return `{"tools":[{"name":"two"}]}`, nil
	})
	w.call = ok.call
	bubble(t, options(spec.Spec{Era: spec.EraLegacy, StartTimeout: time.Minute}), onWire(w), func(t *testing.T, k *kid) {
		o, err := k.Connect(t.Context(), run.Try{}, func() {})
		if err != nil || len(o.Entries[offers.Tools]) != 1 || !o.Lacks(offers.Tools) || o.IsWhole() {
			t.Fatalf("%v: %+v", err, o)
		}
		defer k.follow(t, o)()
		mu.Lock()
		hangs = false
		mu.Unlock()
		u := <-k.Offers()
		if len(u.Entries[offers.Tools]) != 2 || u.FailedLists() != 0 || !u.IsWhole() {
			t.Errorf("%+v", u.RawOffer)
		}
		u.MarkTaken()
		mu.Lock()
		hangs = true
		mu.Unlock()
		k.Refresh(1<<offers.Tools, 0)
		if u := <-k.Offers(); len(u.Entries[offers.Tools]) != 2 || !u.Lacks(offers.Tools) {
			t.Errorf("a part takes the place of the whole: %+v", u.RawOffer)
		}
	})
}

// Lists whose changes are not announced are read when their time is over, but not within a minute.
func TestListsThatExpire(t *testing.T) {
	t.Parallel()
	quiet := []byte(`{"tools":{}}`)
	for name, tc := range map[string]struct {
		base  offers.RawOffer
		next  string // of the first read on
		after time.Duration
		reads []string
	}{
		"a short time":         {offers.RawOffer{Capabilities: quiet, Fresh: time.Second}, `,"ttlMs":5000`, 150 * time.Second, []string{"1m0s tools/list", "2m0s tools/list"}},
		"a long time, then":    {offers.RawOffer{Capabilities: quiet, Fresh: time.Second}, `,"ttlMs":3600000`, 2 * time.Hour, []string{"1m0s tools/list", "1h1m0s tools/list"}},
		"no time":              {offers.RawOffer{Capabilities: quiet}, "", 100 * time.Hour, nil},
		"changes are told of":  {offers.RawOffer{Capabilities: announces.Capabilities, Fresh: time.Second}, "", 100 * time.Hour, nil},
		"a list without notes": {offers.RawOffer{Capabilities: []byte(`{"tools":{},"extensions":{"io.modelcontextprotocol/skills":{}}}`)}, "", 150 * time.Second, []string{"1m0s skills/list", "2m0s skills/list"}},
	} {
		t.Run(name, func(t *testing.T) {
			follows(t, &tc.base, func(t *testing.T, k *kid, l *lister) {
				l.change(func() { l.result = `{"tools":[],"skills":[]` + tc.next + `}` })
				time.Sleep(tc.after)
				l.want(t, name, tc.reads...)
			})
		})
	}
	// Other lists that are read meanwhile do not put it off.
	base := &offers.RawOffer{Capabilities: []byte(`{"tools":{"listChanged":true},"extensions":{"io.modelcontextprotocol/skills":{}}}`)}
	follows(t, base, func(t *testing.T, k *kid, l *lister) {
		time.Sleep(40 * time.Second)
		k.ServeNotification(message(t, "notifications/tools/list_changed", `{}`))
		time.Sleep(30 * time.Second)
		l.want(t, "another list", "40s tools/list", "1m0s skills/list")
	})
}

// A server that has forgotten the session is listed again, and told the level of the log again.
func TestSessionRenewed(t *testing.T) {
	t.Parallel()
	follows(t, announces, func(t *testing.T, k *kid, l *lister) {
		k.wantsLevel("info")
		k.TellLevel(t.Context(), announces)
		l.want(t, "at first", `0s logging/setLevel {"level":"info"}`)
		l.change(func() { l.reads = nil })
		k.ServeNotification(message(t, "notifications/tools/list_changed", `{}`))
		l.want(t, "the same session", "0s tools/list")
		time.Sleep(time.Second)
		l.change(func() { l.reads = nil })
		k.SessionRenewed()
		synctest.Wait()
		got := strings.Join(l.reads, ", ")
		if contains(t, "a new session", got, `1s logging/setLevel {"level":"info"}`, "1s tools/list", "1s prompts/list"); len(l.reads) != 3 || k.Renewed() != 1 {
			t.Errorf("%s; renewed %d times", got, k.Renewed())
		}
	})
}

// A child without a handshake that wants other headers is listed again.
func TestHeadersThatHaveChanged(t *testing.T) {
	t.Parallel()
	w := modernWire(`{"code":-32020,"message":"headers"}`)
	bubble(t, options(spec.Spec{Era: spec.EraModern}), onWire(w), func(t *testing.T, k *kid) {
		o, err := k.Connect(t.Context(), run.Try{ModernFirst: true}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		defer k.follow(t, o)()
		if _, err := k.Call(t.Context(), "tools/call", []byte(`{"name":"x"}`)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(k.Offers()) != 1 {
			t.Error("it is not listed")
		}
	})
}

// A list that an answer of the child does not agree with is read again, and a call that waits for it goes on when it is in force. A child
// that gives such answers without end is read a few times.
func TestAListThatAnAnswerContradictsIsReadAgain(t *testing.T) {
	t.Parallel()
	const tools, most = offers.Lists(1 << offers.Tools), 2 * time.Second
	follows(t, announces, func(t *testing.T, k *kid, l *lister) {
		k.Await(t.Context(), offers.AllLists, most) // for nothing
		l.want(t, "nothing is in doubt")
		k.Doubt(tools)
		inForce := make(chan time.Duration)
		go func() { k.Await(t.Context(), tools, most); inForce <- time.Since(l.started) }()
		k.Await(t.Context(), 1<<offers.Prompts, most) // for nothing
		synctest.Wait()
		select {
		case <-inForce:
			t.Error("nobody has taken what was read, and it is said to be in force")
		default:
		}
		u := <-k.Offers()
		time.Sleep(time.Second)
		u.MarkTaken()
		if after := <-inForce; after != time.Second || len(u.Entries[offers.Tools]) != 1 {
			t.Errorf("%s: %s", after, u.Entries)
		}
		l.want(t, "once", "0s tools/list")
		for range 1000 {
			k.Doubt(tools)
			time.Sleep(200 * time.Millisecond)
		}
		l.change(func() {
			if n := len(l.reads); n < 30 || n > 60 {
				t.Errorf("listed %d times in 200 seconds", n)
			}
		})
	})
}

// No caller waits for a list longer than it wants, nor again for a list that others have waited for so long. A child that does
// not answer holds up one of its lists, once.
func TestAwaitIsBounded(t *testing.T) {
	t.Parallel()
	follows(t, announces, func(t *testing.T, k *kid, l *lister) {
		l.call = untilEnd
		k.ServeNotification(message(t, "notifications/tools/list_changed", `{}`))
		for _, want := range []time.Duration{500 * time.Millisecond, 0, 0} {
			began := time.Now()
			if k.Await(t.Context(), offers.AllLists, 500*time.Millisecond); time.Since(began) != want {
				t.Errorf("waited %s, want %s", time.Since(began), want)
			}
			time.Sleep(time.Millisecond)
		}
	})
	follows(t, announces, func(t *testing.T, k *kid, l *lister) {
		l.call = untilEnd
		k.ServeNotification(message(t, "notifications/tools/list_changed", `{}`))
		began := time.Now()
		time.AfterFunc(time.Second, func() { k.Stop(errStopped) })
		if k.Await(t.Context(), offers.AllLists, time.Hour); time.Since(began) != time.Second {
			t.Errorf("waited %s for a run that has ended", time.Since(began))
		}
	})
}

// What was not read for so long is read again, and nothing else.
func TestOnlyListsThatAreOldAreReadAgain(t *testing.T) {
	t.Parallel()
	const both = 1<<offers.Tools | 1<<offers.Prompts
	follows(t, announces, func(t *testing.T, k *kid, l *lister) {
		synctest.Wait()
		time.Sleep(29 * time.Second)
		k.Refresh(both, 30*time.Second)
		l.want(t, "too soon")
		k.ServeNotification(message(t, "notifications/prompts/list_changed", `{}`))
		time.Sleep(time.Second)
		k.Refresh(both, 30*time.Second)
		k.Refresh(both, 30*time.Second)
		l.want(t, "what is old", "29s prompts/list", "30s tools/list")
		time.Sleep(29 * time.Second)
		k.Refresh(both, 30*time.Second)
		l.want(t, "one is old", "29s prompts/list", "30s tools/list", "59s prompts/list")
	})
}

// The instance is told about a change that is announced before the list is read, but not of each one in a flood.
func TestListsChangedIsTold(t *testing.T) {
	t.Parallel()
	const tools = offers.Lists(1 << offers.Tools)
	follows(t, announces, func(t *testing.T, k *kid, l *lister) {
		told := func() []offers.Lists { k.mu.Lock(); defer k.mu.Unlock(); return k.warned }
		synctest.Wait()
		for range 5 {
			k.ServeNotification(message(t, "notifications/tools/list_changed", `{}`))
		}
		if all := told(); len(all) != 1 || all[0] != tools {
			t.Errorf("told of %v", all)
		}
		l.want(t, "once", "0s tools/list")
		for range 1000 {
			time.Sleep(100 * time.Millisecond)
			k.ServeNotification(message(t, "notifications/tools/list_changed", `{}`))
			synctest.Wait()
		}
		if n := len(told()); n < 50 || n > 200 {
			t.Errorf("told %d times in 100 seconds", n)
		}
	})
}
