package children_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/rootsmgr/guard"
)

const plainTool = `{"name":"echo","inputSchema":{"type":"object"}}`

// kept is a child whose tools stand in a file, and a folder for the cache.
type kept struct {
	t    *testing.T
	spec spec.Spec
	defs string
	dir  string
	can  string // what clients say they can do
}

func newKept(t *testing.T) *kept {
	k := &kept{t: t, defs: filepath.Join(t.TempDir(), "defs"), dir: filepath.Join(t.TempDir(), "catalogue")}
	k.spec = childtest.Spec("kid", childtest.Script{Defs: k.defs, Stuck: k.defs + ".stuck"})
	k.spec.Command = os.Args[0]
	k.define(plainTool)
	return k
}

func (k *kept) define(defs ...string) {
	k.t.Helper()
	if err := os.WriteFile(k.defs, []byte(strings.Join(defs, "\n")), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// hub runs a Supervisor until it has done what is to be done.
func (k *kept) hub(do func(s *children.Supervisor, w *watcher)) {
	k.t.Helper()
	w := newWatcher()
	s := children.NewSupervisor(w.watches(children.SupervisorOptions{Specs: []spec.Spec{k.spec}, Launcher: childtest.Pipes{}, Cache: k.dir, Version: "1",
		ClientProfile: func(spec.Key) link.ClientProfile { return link.ClientProfile{Capabilities: []byte(k.can)} }}))
	ctx, cancel := context.WithCancel(k.t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	do(s, w)
	cancel()
	if err := <-done; err != nil {
		k.t.Error(err)
	}
}

// warm fills the cache.
func (k *kept) warm() {
	k.t.Helper()
	k.hub(func(s *children.Supervisor, w *watcher) {
		s.Ensure(one, nil)
		<-s.Settled(one)
		if st := s.Status()[0]; st.State != children.Ready || !st.Listed {
			k.t.Errorf("what is not known is not started: %+v", st)
		}
	})
}

func (k *kept) states(w *watcher) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, s := range w.states[one.String()] {
		out = append(out, s.String())
	}
	return strings.Join(out, ", ")
}

func TestLazyChildWaitsForACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.warm()
		k.hub(func(s *children.Supervisor, w *watcher) {
			known := s.Recall(spec.Key{Child: "kid"})
			if known == nil || len(known.Entries[offers.Tools]) != 1 || string(known.Entries[offers.Tools][0]) != plainTool || known.ServerName != "scripted" {
				t.Fatalf("recalled: %+v", known)
			}
			s.Ensure(one, nil)
			time.Sleep(time.Hour) // of the bubble
			if st := s.Status()[0]; st.State != children.Cold || st.Tools != 1 || st.Listed {
				t.Errorf("before a call: %+v", st)
			}
			w.mu.Lock()
			if w.offers[one.String()] != known {
				t.Error("what is remembered was not told")
			}
			w.mu.Unlock()
			if got := call(t, acquireOne(t, s), "echo", `{"a":1}`); !strings.Contains(got, `{"a":1}`) {
				t.Error(got)
			}
			w.mu.Lock()
			if w.offers[one.String()] != known {
				t.Error("the same offer came as another one")
			}
			w.mu.Unlock()
			if st := s.Status()[0]; st.State != children.Ready || !st.Listed || st.Restarts != 0 {
				t.Errorf("after a call: %+v", st)
			}
			synctest.Wait() // the last state is reported behind the call
			if got := k.states(w); got != "cold, starting, ready" {
				t.Errorf("states: %s", got)
			}
		})
	})
}

func acquireOne(t *testing.T, s *children.Supervisor) *children.Lease {
	t.Helper()
	l, err := s.Acquire(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release() // Run stops it all the same
	return l
}

// An eager child is known at once too, and starts behind; one that is known to
// another Spec, version or program is not known.
func TestEagerChildStartsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.warm()
		k.spec.Start = spec.StartEager
		k.hub(func(s *children.Supervisor, w *watcher) {
			if s.Recall(spec.Key{Child: "kid"}) == nil {
				t.Error("not known")
			}
			s.Ensure(one, nil)
			<-s.Settled(one)
			if st := s.Status()[0]; st.State != children.Ready {
				t.Errorf("%+v", st)
			}
		})
		k.spec.Args = append(slices.Clone(k.spec.Args), "--other")
		k.hub(func(s *children.Supervisor, _ *watcher) {
			if s.Recall(spec.Key{Child: "kid"}) != nil {
				t.Error("what another entry offered was taken for this one's")
			}
		})
	})
}

// What a server at a URL offers that is served no roots is known everywhere, and to each later hub.
func TestWhatSeesNoProjectIsKnownEverywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, dir := newKept(t), t.TempDir()
		k.spec.URL, k.spec.Roots = "http://localhost/mcp", spec.RootsNone
		k.warm()
		for range 3 {
			k.hub(func(s *children.Supervisor, _ *watcher) {
				s.Ensure(one, []guard.Root{root(dir, "")})
				synctest.Wait()
				if st := s.Status()[0]; st.State != children.Cold || st.Tools != 1 {
					t.Errorf("before a call: %+v", st)
				}
				acquireOne(t, s)
			})
		}
	})
}

// TestListForOthersIsAGuess: a list for clients without capabilities serves the ones
// that have some until the child has told them. No one gets the list of another principal.
func TestListForOthersIsAGuess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.warm()
		k.can = `{"sampling":{}}`
		k.hub(func(s *children.Supervisor, _ *watcher) {
			if s.Recall(spec.Key{Child: "kid"}) == nil {
				t.Error("what was listed for a client without capabilities is not known")
			}
			if s.Recall(spec.Key{Child: "kid", Principal: "bob"}) != nil {
				t.Error("what was listed for nobody is shown to bob")
			}
			s.Ensure(one, nil)
			<-s.Settled(one)
			if st := s.Status()[0]; st.State != children.Ready || !st.Listed {
				t.Errorf("a guess was not followed by a start: %+v", st)
			}
			alice := spec.Key{Child: "kid", Instance: "a", Principal: "alice"}
			s.Ensure(alice, nil)
			<-s.Settled(alice)
			if s.Recall(alice) == nil || s.Recall(spec.Key{Child: "kid", Principal: "bob"}) != nil {
				t.Error("what was listed for alice is not hers alone")
			}
		})
		k.hub(func(s *children.Supervisor, _ *watcher) {
			s.Ensure(one, nil)
			time.Sleep(time.Hour) // of the bubble
			if st := s.Status()[0]; st.State != children.Cold {
				t.Errorf("what these clients were told is not remembered: %+v", st)
			}
		})
	})
}

func TestChangedOfferReplacesTheRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.warm()
		k.define(plainTool, `{"name":"more"}`)
		k.hub(func(s *children.Supervisor, w *watcher) {
			s.Ensure(one, nil)
			l := acquireOne(t, s)
			if n := len(l.Offer().Entries[offers.Tools]); n != 2 {
				t.Errorf("the lease offers %d tools", n)
			}
			w.until(t, "the new offer is told", func() bool { return len(w.offers[one.String()].Entries[offers.Tools]) == 2 })
			if o := s.Recall(spec.Key{Child: "kid"}); o != l.Offer() {
				t.Error("another session would be shown the old offer")
			}
		})
		k.hub(func(s *children.Supervisor, _ *watcher) {
			if o := s.Recall(spec.Key{Child: "kid"}); len(o.Entries[offers.Tools]) != 2 {
				t.Errorf("kept: %d tools", len(o.Entries[offers.Tools]))
			}
		})
	})
}

// A lazy child that does not come up when called is started by the next call
// only: no caller waits for it.
func TestLazyChildThatFailsWaitsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		k.spec.StartTimeout = time.Second
		k.warm()
		if err := os.WriteFile(k.defs+".stuck", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		k.hub(func(s *children.Supervisor, w *watcher) {
			s.Ensure(one, nil)
			if _, err := s.Acquire(t.Context(), one); err == nil || !strings.Contains(err.Error(), "did not start within 1s") {
				t.Errorf("error: %v", err)
			}
			time.Sleep(time.Hour)
			if st := s.Status()[0]; st.Failures != 1 || st.State != children.BackingOff || st.Tools != 1 {
				t.Errorf("%+v", st)
			}
			if err := os.Remove(k.defs + ".stuck"); err != nil {
				t.Fatal(err)
			}
			acquireOne(t, s)
		})
	})
}

// What a child that needs the roots offers is looked up when they are known, and a call waits for them.
func TestColdChildWaitsForTheRoots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, dir := newKept(t), t.TempDir()
		k.spec.Args = []string{"${root}"}
		k.hub(func(s *children.Supervisor, _ *watcher) {
			s.Ensure(one, nil)
			<-s.Settled(one)
			s.Ensure(one, []guard.Root{root(dir, "")})
			acquireOne(t, s)
		})
		k.hub(func(s *children.Supervisor, w *watcher) {
			s.PrestartInstance(one)
			synctest.Wait()
			if st := s.Status()[0]; st.State != children.Waiting || st.Tools > 0 {
				t.Errorf("before the roots: %+v", st)
			}
			s.SetRoots(one, []guard.Root{root(dir, "")})
			synctest.Wait()
			if st := s.Status()[0]; st.State != children.Cold || st.Tools != 1 {
				t.Errorf("before a call: %+v", st)
			}
		})
		k.hub(func(s *children.Supervisor, w *watcher) {
			s.PrestartInstance(one)
			got := make(chan error, 1)
			go func() {
				_, err := s.Acquire(t.Context(), one)
				got <- err
			}()
			synctest.Wait()
			if st := s.Status()[0]; st.State != children.Waiting || !strings.Contains(st.Err, "roots") {
				t.Errorf("called before the roots: %+v", st)
			}
			s.SetRoots(one, []guard.Root{root(dir, "")})
			if err := <-got; err != nil {
				t.Error(err)
			}
		})
	})
}

// What is read of a child while it ends, or is too slow, is not all that it
// offers: who starts it next must not be shown that.
func TestHalfAnOfferIsNotRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t)
		withheld := k.defs + ".withheld"
		k.spec.Env = childtest.Script{Defs: k.defs, Library: true, Withheld: withheld}.Env()
		k.spec.StartTimeout, k.spec.Start = time.Minute, spec.StartEager
		withhold := func(how string) {
			if err := os.WriteFile(withheld, []byte(how), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		recalled := func(s *children.Supervisor) *offers.RawOffer { return s.Recall(spec.Key{Child: "kid"}) }

		withhold("")
		k.hub(func(s *children.Supervisor, _ *watcher) {
			s.Ensure(one, nil)
			synctest.Wait() // the list of prompts is asked for
			s.DropInstances(one.Instance)
			synctest.Wait()
			if o := recalled(s); o != nil {
				t.Errorf("after its session had ended: %d tools, %d prompts are remembered", len(o.Entries[offers.Tools]), len(o.Entries[offers.Prompts]))
			}
		})
		k.hub(func(s *children.Supervisor, w *watcher) {
			s.Ensure(one, nil)
			<-s.Settled(one)
			w.mu.Lock()
			if o := w.offers[one.String()]; o == nil || len(o.Entries[offers.Tools]) != 1 {
				t.Errorf("a child with one slow list is not offered at all: %+v", o)
			}
			w.mu.Unlock()
			if o := recalled(s); o != nil {
				t.Errorf("after the time for it was over: %d tools, %d prompts are remembered", len(o.Entries[offers.Tools]), len(o.Entries[offers.Prompts]))
			}
		})
		withhold("refused")
		k.warm()
		k.hub(func(s *children.Supervisor, _ *watcher) {
			if o := recalled(s); o == nil || len(o.Entries[offers.Tools]) != 1 || o.Entries[offers.Prompts] != nil {
				t.Errorf("what the child itself refuses is no reason to forget the rest: %+v", o)
			}
		})
		if err := os.Remove(withheld); err != nil {
			t.Fatal(err)
		}
		k.warm()
		k.hub(func(s *children.Supervisor, _ *watcher) {
			if o := recalled(s); o == nil || len(o.Entries[offers.Prompts]) != 2 {
				t.Errorf("the whole: %+v", o)
			}
		})
	})
}

// TestStartCalled: such a child is started by a call alone, whether or not it is known
// what it offers. It waits for nothing until then.
func TestStartCalled(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	for _, roots := range []spec.RootsMode{spec.RootsList, spec.RootsArgs} {
		k.spec.Start, k.spec.Roots = spec.StartCalled, roots
		k.hub(func(s *children.Supervisor, w *watcher) {
			s.Ensure(one, nil)
			w.until(t, "cold", func() bool { return len(w.states[one.String()]) > 0 })
			lease, err := s.Acquire(t.Context(), one)
			if err != nil {
				t.Fatal(err)
			}
			lease.Release()
			if got := k.states(w); !strings.HasPrefix(got, "cold, starting") {
				t.Errorf("%s: %s", roots, got)
			}
		})
	}
}
