package children_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/e2e/seeds"
	"mcphub/rootsmgr/guard"
)

// dirs makes n directories and returns their roots.
func dirs(t *testing.T, n int) []guard.Root {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var out []guard.Root
	for i := range n {
		d := filepath.Join(top, string(rune('a'+i)))
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
		out = append(out, root(d, ""))
	}
	return out
}

// allowed asks the child which directories it works with.
func allowed(t *testing.T, s *children.Supervisor) []string {
	t.Helper()
	l, err := s.Acquire(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	_, list, _ := strings.Cut(text(t, call(t, l, "allowed", "")), "\n")
	return strings.Fields(list)
}

func pathsOf(roots []guard.Root) []string {
	var out []string
	for _, r := range roots {
		out = append(out, r.Path)
	}
	return out
}

func expectAllowed(t *testing.T, s *children.Supervisor, roots []guard.Root) {
	t.Helper()
	if got := allowed(t, s); !slices.Equal(got, pathsOf(roots)) {
		t.Errorf("the child works with %q, served %q", got, pathsOf(roots))
	}
}

// Applied, not only asked: a child that takes a while to apply what it was
// told is called only when it has (C2).
func TestRootsAreAppliedBeforeTheCall(t *testing.T) {
	t.Parallel()
	d := dirs(t, 2)
	spec := childtest.Spec("kid", childtest.Script{AskRoots: true, ApplyDelay: 30 * time.Millisecond, KeepOnEmpty: true})
	spec.Probe, spec.Cwd = "allowed", filepath.Dir(d[0].Path)
	s, _ := startOne(t, spec, d[0])
	expectAllowed(t, s, d[:1])
	pid := statusOf(t, s, "kid").PID
	for _, want := range [][]guard.Root{d, d[1:], d[:1]} {
		s.SetRoots(one, want)
		expectAllowed(t, s, want)
	}
	if st := statusOf(t, s, "kid"); st.PID != pid || !st.RootsApplied || !st.AskedRoots {
		t.Errorf("a child that follows was replaced: %+v", st)
	}
	s.SetRoots(one, nil) // on which it would keep what it has
	expectAllowed(t, s, nil)
	if st := statusOf(t, s, "kid"); st.PID == pid {
		t.Error("shrinking to nothing did not revoke")
	}
	s.SetRoots(one, d)
	expectAllowed(t, s, d)

	// The control: without the probe the very same call comes too early.
	spec.Probe = ""
	c, _ := startOne(t, spec, d[0])
	waitAsked(t, c)
	early := false
	for i := range 4 {
		c.SetRoots(one, d[i%2:i%2+1])
		early = early || !slices.Equal(allowed(t, c), pathsOf(d[i%2:i%2+1]))
	}
	if !early {
		t.Error("control: the child applied its roots at once")
	}
}

func TestDirectoryArgumentsFollowRoots(t *testing.T) {
	t.Parallel()
	d := dirs(t, 3)
	t.Run("never asks", func(t *testing.T) {
		child := childtest.Spec("kid", childtest.Script{Dirs: true}, d[2].Path)
		child.Roots = spec.RootsArgs
		s, w := startOne(t, child, d[0])
		expectAllowed(t, s, d[:1])
		s.SetRoots(one, d[:2])
		expectAllowed(t, s, d[:2])
		s.SetRoots(one, nil)
		expectAllowed(t, s, d[2:]) // the configured arguments stand
		w.mu.Lock()
		defer w.mu.Unlock()
		// It waits before its first start where that comes before the roots.
		got := strings.TrimPrefix(strings.Trim(fmt.Sprint(w.states[one.String()]), "[]"), "waiting ")
		if !strings.HasPrefix(got, "starting ready draining waiting starting ready draining") {
			t.Errorf("reported: %s", got)
		}
	})
	t.Run("is told", func(t *testing.T) {
		child := childtest.Spec("kid", childtest.Script{Dirs: true, AskRoots: true, KeepOnEmpty: true}, d[2].Path)
		child.Roots, child.Probe, child.Cwd = spec.RootsArgs, "allowed", filepath.Dir(d[0].Path)
		s, _ := startOne(t, child, d[0])
		expectAllowed(t, s, d[:1])
		waitAsked(t, s)
		pid := statusOf(t, s, "kid").PID
		s.SetRoots(one, d[1:2])
		expectAllowed(t, s, d[1:2])
		if statusOf(t, s, "kid").PID != pid {
			t.Error("a child that honours list_changed was replaced")
		}
		s.SetRoots(one, nil)
		expectAllowed(t, s, d[2:])
	})
	t.Run("a call under way ends first", func(t *testing.T) {
		spec := childtest.Spec("kid", childtest.Script{}, "${roots}")
		s, _ := startOne(t, spec, d[0])
		l := acquire(t, s, one)
		if _, served := l.Workplace(); !slices.Equal(served, pathsOf(d[:1])) {
			t.Errorf("served %q", served)
		}
		s.SetRoots(one, d[1:2])
		next := make(chan *children.Lease)
		go func() {
			l, err := s.Acquire(t.Context(), one)
			if err != nil {
				t.Error(err)
			}
			next <- l
		}()
		call(t, l, "echo", "") // the old run serves the old lease
		select {
		case <-next:
			t.Error("the old run was replaced under a lease")
		default:
		}
		l.Release()
		n := <-next
		defer n.Release()
		if got := call(t, n, "env", ""); !strings.Contains(got, `"args":["`+d[1].Path+`"]`) {
			t.Errorf("replaced: %s", got)
		}
	})
}

// waitAsked makes sure that the child has asked for its roots by itself.
func waitAsked(t *testing.T, s *children.Supervisor) {
	t.Helper()
	l := acquire(t, s, one)
	defer l.Release()
	for range 200 {
		if statusOf(t, s, "kid").AskedRoots {
			return
		}
		call(t, l, "echo", "")
	}
	t.Fatal("the child never asked")
}

func TestWorkingDirectoryFollowsRoots(t *testing.T) {
	t.Parallel()
	d := dirs(t, 3)
	s, _ := startOne(t, childtest.Spec("kid", childtest.Script{}), d[:2]...)
	pid := func() int {
		l := acquire(t, s, one)
		defer l.Release()
		return statusOf(t, s, "kid").PID
	}
	first := pid()
	s.SetRoots(one, []guard.Root{d[2], d[0]})
	if pid() != first {
		t.Error("replaced although its working directory is still a root")
	}
	s.SetRoots(one, d[2:])
	if pid() == first {
		t.Error("not replaced although the root it works in is gone")
	}
	if cwd, _ := acquire(t, s, one).Workplace(); cwd != d[2].Path {
		t.Errorf("works in %s", cwd)
	}
}

// A start that fails for want of a root is tried again when there is one.
func TestMissingRootIsNamed(t *testing.T) {
	t.Parallel()
	d := dirs(t, 1)
	s, _ := startOne(t, childtest.Spec("kid", childtest.Script{}, "${root}"))
	<-s.Settled(one)
	var gone *run.UnavailableError
	if _, err := s.Acquire(t.Context(), one); !errors.As(err, &gone) || !strings.Contains(gone.Reason, "no root that is a directory is known") {
		t.Errorf("error: %v", err)
	}
	s.SetRoots(one, d)
	if got := call(t, acquire(t, s, one), "env", ""); !strings.Contains(got, `"args":["`+d[0].Path+`"]`) {
		t.Errorf("started with %s", got)
	}
}

// Roots change all the time while calls go on: the one who acquires
// after a change is served by a child that has applied it, or a later
// one.
func TestRootsRace(t *testing.T) {
	t.Parallel()
	d := dirs(t, 5)
	for _, c := range []struct {
		name string
		spec spec.Spec
	}{
		{"told", childtest.Spec("kid", childtest.Script{AskRoots: true, KeepOnEmpty: true, ApplyDelay: time.Millisecond})},
		{"arguments", childtest.Spec("kid", childtest.Script{Dirs: true}, "--")},
		{"both", childtest.Spec("kid", childtest.Script{Dirs: true, AskRoots: true, KeepOnEmpty: true}, "--")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "told" {
				c.spec.Roots = spec.RootsArgs
			}
			if c.name != "arguments" {
				c.spec.Probe = "allowed"
			}
			c.spec.Cwd = filepath.Dir(d[0].Path)
			s, _ := startOne(t, c.spec, d[:1]...)
			rng := seeds.Rand(t)
			stop := make(chan struct{})
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						l, err := s.Acquire(t.Context(), one)
						if err != nil {
							t.Error(err)
							return
						}
						if _, err := callErr(t.Context(), l, "echo", ""); err != nil {
							t.Errorf("a call was lost: %v", err)
						}
						l.Release()
					}
				})
			}
			for range 30 {
				i := rng.IntN(len(d))
				want := d[i : i+rng.IntN(len(d)-i+1)]
				s.SetRoots(one, want)
				got := allowed(t, s)
				if len(want) == 0 && c.name != "arguments" {
					// It was started again, and may yet be about to ask by itself:
					// told meanwhile it would ask twice, and apply both answers at a
					// time.
					waitAsked(t, s)
				}
				got = slices.DeleteFunc(got, func(s string) bool { return s == "--" })
				// Where the three seconds are over, which a busy machine may take, it is
				// called all the same, and its status says so.
				if !slices.Equal(got, pathsOf(want)) && statusOf(t, s, "kid").RootsApplied {
					t.Errorf("the child works with %q, served %q", got, pathsOf(want))
				}
			}
			close(stop)
			wg.Wait()
		})
	}
}

// A child that does not ask again is waited for once, three seconds, and
// judged by the hub alone from then on.
func TestDeafChild(t *testing.T) {
	t.Parallel()
	child := childtest.Spec("kid", childtest.Script{AskRoots: true, DeafRoots: true})
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{child}}, func(t *testing.T, s *children.Supervisor, _ *counter) {
		dir := t.TempDir()
		wait := func() time.Duration {
			start := time.Now()
			l, err := s.Acquire(t.Context(), one)
			if err != nil {
				t.Fatal(err)
			}
			l.Release()
			return time.Since(start)
		}
		s.Ensure(one, []guard.Root{root(dir, "")})
		wait()
		synctest.Wait() // it has asked
		s.SetRoots(one, []guard.Root{root(dir, "other name")})
		if d := wait(); d != 3*time.Second {
			t.Errorf("waited %s", d)
		}
		if st := s.Status()[0]; st.RootsApplied || !strings.Contains(st.Err, "hub alone") || st.State != children.Ready {
			t.Errorf("status: %+v", st)
		}
		s.SetRoots(one, []guard.Root{root(dir, "third name")})
		if d := wait(); d != 0 {
			t.Errorf("waited again: %s", d)
		}
	})
}

// A crash loop backs off, opens the circuit, and is started again by a call
// only, after its delay.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	child := childtest.Spec("kid", childtest.Script{Exit: 3})
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{child}}, func(t *testing.T, s *children.Supervisor, _ *counter) {
		s.Ensure(one, []guard.Root{})
		<-s.Settled(one)
		if st := s.Status()[0]; st.State != children.BackingOff || st.Failures != 1 || st.CircuitOpen {
			t.Errorf("status: %+v", st)
		}
		time.Sleep(10 * time.Minute) // of the bubble
		st := s.Status()[0]
		if st.Failures != 5 || !st.CircuitOpen || !strings.Contains(st.Err, "crash loop, 5 failures in a row") || st.Restarts != 4 {
			t.Errorf("after the automatic tries: %+v", st)
		}
		var gone *run.UnavailableError
		if _, err := s.Acquire(t.Context(), one); !errors.As(err, &gone) {
			t.Errorf("error: %v", err)
		}
		if st := s.Status()[0]; st.Failures != 6 {
			t.Errorf("a call after the delay must start it: %+v", st)
		}
		start := time.Now()
		if _, err := s.Acquire(t.Context(), one); !errors.As(err, &gone) || gone.RetryAfter <= 0 || time.Since(start) != 0 {
			t.Errorf("within the delay a call must fail at once: %v", err)
		}
		if st := s.Status()[0]; st.Failures != 6 {
			t.Errorf("and start nothing: %+v", st)
		}
	})
}

// Children that never come up hold their turn for three seconds, not for
// their whole start timeout.
func TestSlowStartersGiveTheirTurnBack(t *testing.T) {
	t.Parallel()
	slow := childtest.Spec("slow", childtest.Script{Mute: true})
	good := childtest.Spec("good", childtest.Script{})
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{slow, good}, MaxStarting: 1}, func(t *testing.T, s *children.Supervisor, _ *counter) {
		start := time.Now()
		s.Ensure(spec.Key{Child: "slow", Instance: "s"}, nil)
		synctest.Wait()
		s.Ensure(spec.Key{Child: "good", Instance: "s"}, nil)
		l, err := s.Acquire(t.Context(), spec.Key{Child: "good", Instance: "s"})
		if err != nil {
			t.Fatal(err)
		}
		l.Release()
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("waited %s", d)
		}
	})
}
