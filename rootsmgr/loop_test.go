package rootsmgr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/rootsmgr/guard"
)

// stepped returns a Manager whose Run is taken step by step.
func stepped(f Fallback, s Settings, log zerolog.Logger) (*Manager, *loop) {
	m := NewManager(sourceFunc(func(ctx context.Context) (Page, error) { return Page{}, nil }), f, s, guard.OS{}, log)
	return m, &loop{m: m, state: *m.pub.Load()}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	d, own := DefaultSettings(), Settings{Timeout: time.Minute, Debounce: time.Minute, Stale: time.Minute}
	for _, tc := range []struct{ given, want Settings }{
		{Settings{}, d}, {Settings{Timeout: -1, Debounce: -1, Stale: -1}, d}, {own, own},
	} {
		got := tc.given.withDefaults()
		if got.Timeout != tc.want.Timeout || got.Debounce != tc.want.Debounce || got.Stale != tc.want.Stale || got.When != (NoRootsPolicy{}) {
			t.Errorf("%+v: %+v", tc.given, got)
		}
	}
}

// Kept roots end by themselves, even while Run is busy. What is open then is what the operator says for the failed case,
// and nothing if there is a ceiling.
func TestKeptRootsEnd(t *testing.T) {
	t.Parallel()
	dir := real(t)
	since := time.Now()
	kept := NewSnapshot(guard.OS{}, 3, OriginAsked, page(dir).Entries)
	for name, tc := range map[string]struct {
		when    NoRootsPolicy
		ceiling []RootEntry
		open    bool
	}{
		"denied":                     {},
		"allowed":                    {NoRootsPolicy{Failed: true}, nil, true},
		"allowed, under a ceiling":   {NoRootsPolicy{Failed: true}, []RootEntry{{URI: dir}}, false},
		"denied, under a ceiling":    {NoRootsPolicy{}, []RootEntry{{URI: dir}}, false},
		"allowed in the other cases": {NoRootsPolicy{Unsupported: true, Empty: true}, nil, false},
	} {
		s := &state{
			terms: &terms{settings: Settings{Stale: time.Minute, When: tc.when, Ceiling: tc.ceiling}}, keptSince: since,
			rootsView: RootsView{Snapshot: kept, Case: CaseKnown, Stale: true, Err: ErrNoAnswer, Ceiling: kept.Guard()},
		}
		if v := s.viewAt(since.Add(time.Minute - 1)); v.Snapshot != kept || v.Case != CaseKnown || !v.Stale || v.Open {
			t.Errorf("%s: before: %+v", name, v)
		}
		for _, later := range []time.Duration{time.Minute, time.Hour} {
			v := s.viewAt(since.Add(later))
			if v.Case != CaseFailed || v.Stale || v.Open != tc.open || v.Err != ErrNoAnswer || v.Ceiling == nil || v.Snapshot.Generation() != 3 {
				t.Errorf("%s: after %s: %+v", name, later, v)
			}
			if _, err := v.Snapshot.Guard().Check(dir); err == nil || v.Snapshot.Len() != 0 {
				t.Errorf("%s: the roots are still open", name)
			}
		}
		s.keptSince = time.Time{}
		if v := s.viewAt(since.Add(time.Hour)); v.Snapshot != kept {
			t.Errorf("%s: what is not kept has ended: %+v", name, v)
		}
	}
}

// A call need not wait if what is known is as new as what was announced, and if it was made by the terms that hold.
func TestTryAwait(t *testing.T) {
	t.Parallel()
	m, run := stepped(Fallback{}, DefaultSettings(), zerolog.Nop())
	try := func(what string, want bool) {
		t.Helper()
		if v, ok := m.TryAwait(); ok != want || v.Snapshot != m.RootsView().Snapshot {
			t.Errorf("%s: %t, %+v", what, ok, v)
		}
	}
	try("at first", false)
	run.greetClient(greeting{supported: true, listChanged: true})
	try("before the first answer", false)
	m.Reconfigure(Fallback{}, Settings{})
	try("nor by other terms", false)
	run.amendView()
	run.takeAnswer(event{snapshot: NewSnapshot(guard.OS{}, 1, OriginAsked, nil)})
	try("after it", true)
	m.NoteChange()
	try("announced", false)
	run.takeAnswer(event{snapshot: NewSnapshot(guard.OS{}, 2, OriginAsked, nil), asOf: 1})
	try("answered", true)
	m.Reconfigure(Fallback{}, DefaultSettings())
	try("by the former terms", false)
	run.amendView()
	try("by the new ones", true)
	run.endLoop()
	try("after the end", false)
}

// Calls that come before a second question could be sent share it.
func TestReconsiderBeforeItIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, run := stepped(Fallback{}, DefaultSettings(), zerolog.Nop())
		run.greetClient(greeting{supported: true})
		run.takeAnswer(event{snapshot: NewSnapshot(guard.OS{}, 1, OriginAsked, nil)})
		ended, end := context.WithCancel(t.Context())
		end()
		for i, want := range []uint64{1, 1, 1, 2} { // at 0, 2, 4 and 6 s
			if _, asked, err := m.NewWaitBudget().Reconsider(ended); !asked || !errors.Is(err, context.Canceled) || m.announced.Load() != want {
				t.Errorf("after %d s: asked for %d times: %t, %v", 2*i, m.announced.Load(), asked, err)
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// A call that waits has the client asked if there is something to ask, and not within the pause after a failure.
func TestHurry(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tc := range map[string]struct {
		queries  uint64
		failures int
		retryAt  time.Time
		news     bool
		asks     bool
	}{
		"the first question":   {asks: true},
		"nothing is new":       {queries: 1},
		"something is new":     {queries: 1, news: true, asks: true},
		"within the pause":     {queries: 1, failures: 1, retryAt: now.Add(1)},
		"as the pause ends":    {queries: 1, failures: 1, retryAt: now, asks: true},
		"new within the pause": {queries: 1, failures: 1, retryAt: now.Add(1), news: true, asks: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, run := stepped(Fallback{}, DefaultSettings(), zerolog.Nop())
			run.greetClient(greeting{supported: true})
			run.queries, run.failures, run.retryAt = tc.queries, tc.failures, tc.retryAt
			if tc.news {
				m.NoteChange()
			}
			run.hurryUp(t.Context(), now)
			if asks := run.query != nil; asks != tc.asks {
				t.Errorf("%s: asked: %t", name, asks)
			}
			run.endLoop()
		})
	}
}

// Only the first failure in a row, and an answer of which nothing can be used, are worth a warning.
func TestWhatIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	_, run := stepped(Fallback{}, DefaultSettings(), zerolog.New(&log))
	logged := func(what, want string) {
		t.Helper()
		if got := log.String(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q", what, got)
		}
		log.Reset()
	}
	run.greetClient(greeting{supported: true})
	for i, level := range []string{"warn", "debug", "debug"} {
		run.noteFailure(time.Now(), 0, ErrNoAnswer)
		logged(fmt.Sprint("failure ", i+1), `"level":"`+level+`","error":"the client did not answer in time","kept":false,`)
	}
	run.takeAnswer(event{snapshot: NewSnapshot(guard.OS{}, 1, OriginAsked, page(real(t)).Entries)})
	logged("an answer", "")
	run.takeAnswer(event{snapshot: NewSnapshot(guard.OS{}, 2, OriginAsked, nil)})
	logged("an empty one", "")
	run.noteFailure(time.Now(), 0, ErrNoAnswer)
	logged("a failure after it", `"level":"warn","error":"the client did not answer in time","kept":true,`)
	run.takeAnswer(event{snapshot: NewSnapshot(guard.OS{}, 3, OriginAsked, make([]RootEntry, 2))})
	logged("of no use", `"level":"warn","entries":2,"message":"none of the client's roots can be used"`)
}

// An answer ends with the page that makes it longer than a list may be.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	entries, others := make([]RootEntry, maxEntries+1), make([]Skipped, maxEntries+1)
	for _, first := range []Page{
		{Entries: entries[:maxEntries]}, {Entries: entries}, {Entries: entries[:1], Skipped: others[:maxEntries]}, {Entries: entries[:1], Skipped: others},
	} {
		pages := 0
		all, err := listAll(t.Context(), sourceFunc(func(context.Context) (Page, error) {
			if pages++; pages > 1 {
				return Page{}, nil
			}
			first.NextCursor = "next"
			return first, nil
		}))
		long := max(len(first.Entries), len(first.Skipped)) > maxEntries
		want := len(first.Skipped)
		if long {
			want++ // it says so
		}
		if err != nil || len(all.Entries) != len(first.Entries) || len(all.Skipped) != want || (pages == 1) != long {
			t.Errorf("%d entries and %d others: %d pages, %d skipped, %v", len(first.Entries), len(first.Skipped), pages, len(all.Skipped), err)
		}
	}
}

// Of roots that wait for Run the newest count.
func TestNewestRootsWait(t *testing.T) {
	t.Parallel()
	for _, order := range [][]uint64{{1}, {1, 2}, {2, 1}, {3, 1, 2}} {
		m, _ := stepped(Fallback{}, DefaultSettings(), zerolog.Nop())
		for _, generation := range order {
			m.handToRun(&callRoots{snapshot: &Snapshot{generation: generation}})
		}
		if !m.HasCallRoots() {
			t.Errorf("%d: none has come", order)
		}
		if got := <-m.calls.roots; got.snapshot.generation != slices.Max(order) || m.HasCallRoots() {
			t.Errorf("%d: %d waits", order, got.snapshot.generation)
		}
	}
}

// Two Snapshots are the same if everything that a client gave is, whenever it was read.
func TestSameSnapshot(t *testing.T) {
	t.Parallel()
	of := func(change func(s *Snapshot)) *Snapshot {
		s := &Snapshot{
			origin: OriginWithCall, entries: 3, roots: []guard.Root{{Path: "/a"}}, skipped: []Skipped{{Raw: "b"}}, others: []RootEntry{{URI: "x:y"}},
		}
		change(s)
		return s
	}
	plain := of(func(*Snapshot) {})
	if later := of(func(s *Snapshot) { s.generation, s.at = 7, time.Now() }); !plain.sameAs(later) || !later.sameAs(plain) {
		t.Error("the same, read later, is another")
	}
	for name, other := range map[string]*Snapshot{
		"none":    nil,
		"origin":  of(func(s *Snapshot) { s.origin = OriginAsked }),
		"entries": of(func(s *Snapshot) { s.entries = 4 }),
		"roots":   of(func(s *Snapshot) { s.roots[0].Name = "A" }),
		"skipped": of(func(s *Snapshot) { s.skipped = nil }),
		"others":  of(func(s *Snapshot) { s.others = nil }),
	} {
		if plain.sameAs(other) || other.sameAs(plain) {
			t.Errorf("%s: another is the same", name)
		}
	}
	if (*Snapshot)(nil).sameAs(nil) {
		t.Error("none is the same as none")
	}
}
