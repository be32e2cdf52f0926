package children_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/guard"
)

// hubIfAsked turns this process into a hub if a test wants to kill one.
var hubIfAsked = func() {}

func TestMain(m *testing.M) {
	childtest.MainIfChild()
	hubIfAsked()
	cache, err := os.MkdirTemp("", "children")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("XDG_CACHE_HOME", cache) // servers get folders of their own, which are not for the cache of who runs the tests
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(cache)
		os.Exit(code)
	}))
}

// watcher records what a Supervisor tells, and lets tests wait for it.
type watcher struct {
	mu      sync.Mutex
	states  map[string][]children.State
	offers  map[string]*offers.RawOffer
	notes   []string
	changed chan struct{}
}

func newWatcher() *watcher {
	return &watcher{states: map[string][]children.State{}, offers: map[string]*offers.RawOffer{}, changed: make(chan struct{})}
}

func (w *watcher) tell(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
}

// watches returns SupervisorOptions by which the watcher is told.
func (w *watcher) watches(options children.SupervisorOptions) children.SupervisorOptions {
	options.Changed, options.Notification = w.childChanged, w.notification
	options.Request = func(_ context.Context, _ spec.Key, m *jsonrpc.Message) jsonrpc.Answer {
		return jsonrpc.ErrorAnswer(-32601, "not here: "+m.Method)
	}
	return options
}

func (w *watcher) childChanged(st children.Status, o *offers.RawOffer) {
	w.tell(func() {
		name := st.Key.String()
		if l := w.states[name]; len(l) == 0 || l[len(l)-1] != st.State {
			w.states[name] = append(l, st.State)
		}
		w.offers[name] = o
	})
}

func (w *watcher) notification(_ context.Context, k spec.Key, m *jsonrpc.Message) {
	line := k.String() + " " + m.Method + " " + string(m.Params)
	w.tell(func() { w.notes = append(w.notes, line) })
}

// until waits until ok holds, looking again after each event.
func (w *watcher) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(bounds.Patience)
	for {
		w.mu.Lock()
		done, next := ok(), w.changed
		w.mu.Unlock()
		if done {
			return
		}
		select {
		case <-next:
		case <-deadline:
			w.mu.Lock()
			defer w.mu.Unlock()
			t.Fatalf("waited in vain until %s; states: %v, notes: %d", what, w.states, len(w.notes))
		}
	}
}

// start runs a Supervisor for the length of a test.
func start(t *testing.T, w *watcher, options children.SupervisorOptions) *children.Supervisor {
	t.Helper()
	options = w.watches(options)
	options.Log = zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	if os.Getenv("CHILDREN_VERBOSE") == "" {
		options.Log = zerolog.Nop()
	}
	s := children.NewSupervisor(options)
	runSupervisor(t, s)
	return s
}

// runSupervisor runs a Supervisor for the length of a test.
func runSupervisor(t *testing.T, s *children.Supervisor) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(bounds.Patience):
			t.Error("Run did not end")
		}
	})
}

// mark gives a Spec a variable by which its processes can be counted.
func mark(t *testing.T, s spec.Spec) (spec.Spec, func() []string) {
	t.Helper()
	value := rand.Text()
	s.Env["MCPHUB_TEST_MARK"] = value
	return s, func() []string {
		pids, ok := childtest.Marked("MCPHUB_TEST_MARK", value)
		if !ok {
			if runtime.GOOS == "linux" {
				t.Fatal("the process table cannot be read")
			}
			t.Skip("processes can be counted on Linux only")
		}
		return pids
	}
}

func acquire(t *testing.T, s *children.Supervisor, k spec.Key) *children.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bounds.Patience)
	defer cancel()
	l, err := s.Acquire(ctx, k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Release)
	return l
}

func call(t *testing.T, l *children.Lease, tool, args string) string {
	t.Helper()
	res, err := callErr(t.Context(), l, tool, args)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func callErr(ctx context.Context, l *children.Lease, tool, args string) (string, error) {
	if args == "" {
		args = "{}"
	}
	res, err := l.Call(ctx, "tools/call", []byte(`{"name":"`+tool+`","arguments":`), []byte(args), []byte(`}`))
	if err != nil {
		return "", err
	}
	defer res.Release()
	if e := res.Err(); e != nil {
		return "", e
	}
	return string(res.Result), nil
}

func text(t *testing.T, result string) string {
	t.Helper()
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal([]byte(result), &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("no text in %s", result)
	}
	return r.Content[0].Text
}

func root(path, name string) guard.Root {
	return guard.Root{URI: "file://" + filepath.ToSlash(path), Name: name, Path: path}
}

var one = spec.Key{Child: "kid", Instance: "s"}

// startOne runs one child in a Supervisor of its own.
func startOne(t *testing.T, child spec.Spec, roots ...guard.Root) (*children.Supervisor, *watcher) {
	t.Helper()
	w := newWatcher()
	s := start(t, w, children.SupervisorOptions{Specs: []spec.Spec{child}})
	s.Ensure(one, roots)
	return s, w
}

func statusOf(t *testing.T, s *children.Supervisor, child string) children.Status {
	t.Helper()
	for _, st := range s.Status() {
		if st.Child == child {
			return st
		}
	}
	t.Fatalf("no status of %s", child)
	return children.Status{}
}

func TestLife(t *testing.T) {
	t.Parallel()
	w := newWatcher()
	child, left := mark(t, childtest.Spec("kid", childtest.Script{Pages: 2, OddTools: true}))
	s := start(t, w, children.SupervisorOptions{Specs: []spec.Spec{child}, Version: "0.1"})
	k := spec.Key{Child: "kid", Instance: "s1"}
	dir := t.TempDir()
	s.Ensure(k, []guard.Root{root(dir, "one")})
	<-s.Settled(k)
	l := acquire(t, s, k)
	if got := call(t, l, "echo", `{"n":12345678901234567890,"t":"\ud800"}`); !strings.Contains(got, `{"n":12345678901234567890,"t":"\ud800"}`) {
		t.Errorf("echo: %s", got)
	}
	o := l.Offer()
	if o.ServerName != "scripted" || o.ServerVersion != "1.2.3" || o.Instructions != "Be kind." || o.Protocol != "2025-11-25" {
		t.Errorf("offer: %+v", o)
	}
	if len(o.Entries[offers.Tools]) != 10+4+2*3 || !strings.Contains(string(o.Entries[offers.Tools][0]), `"x-kept":12345678901234567890`) || string(o.Entries[offers.Tools][10]) != "null" {
		t.Errorf("%d tools: %s", len(o.Entries[offers.Tools]), o.Entries[offers.Tools])
	}
	if cwd, served := l.Workplace(); cwd != dir || !slices.Equal(served, []string{dir}) {
		t.Errorf("Where() = %q, %q", cwd, served)
	}
	st := s.Status()
	if len(st) != 1 || st[0].State != children.Ready || st[0].PID == 0 || st[0].Tools != len(o.Entries[offers.Tools]) || !st[0].RootsApplied {
		t.Errorf("status: %+v", st)
	}
	if n := left(); len(n) != 1 {
		t.Errorf("processes: %v", n)
	}
	l.Release()
	s.DropInstances("s1")
	w.until(t, "the child has stopped", func() bool { return slices.Contains(w.states["kid/s1"], children.Stopped) })
	if n := left(); len(n) != 0 {
		t.Errorf("processes left: %v", n)
	}
	var gone *run.UnavailableError
	if _, err := s.Acquire(t.Context(), k); !errors.As(err, &gone) {
		t.Errorf("Acquire after Drop: %v", err)
	}
}
