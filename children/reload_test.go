package children_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/rootsmgr/guard"
)

func revised(s spec.Spec, revision uint64, change func(s *spec.Spec)) spec.Spec {
	s.Revision = revision
	if change != nil {
		change(&s)
	}
	return s
}

func TestApplyLeavesEqualSpecsAlone(t *testing.T) {
	t.Parallel()
	kid := revised(childtest.Spec("kid", childtest.Script{}), 1, nil)
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{kid}}, func(t *testing.T, s *children.Supervisor, _ *counter) {
		s.Ensure(one, nil)
		l := acquire(t, s, one)
		same := revised(kid, 1, func(s *spec.Spec) { s.CallTimeout, s.Inherit = spec.DefaultCallTimeout, []string{} })
		s.ApplySpecs([]spec.Spec{same, childtest.Spec("new", childtest.Script{})})
		synctest.Wait()
		if st := statusOf(t, s, "kid"); st.State != children.Ready || st.Restarts != 0 || st.Revision != 1 {
			t.Errorf("%v", st)
		}
		call(t, l, "echo", `{"a":1}`)
		l.Release()
		if st := s.Status(); len(st) != 1 {
			t.Errorf("Apply alone made instances: %v", st)
		}
		added := spec.Key{Child: "new", Instance: "s"}
		s.Ensure(added, nil)
		acquire(t, s, added).Release()
	})
}

// TestApplyReplaces changes a Spec while a call runs that takes an hour: it ends well, new calls go to the new process, and
// someone who waited for the old one hears at once that it is no more.
func TestApplyReplaces(t *testing.T) {
	t.Parallel()
	kid := revised(childtest.Spec("kid", childtest.Script{}), 1, func(s *spec.Spec) { s.CallTimeout = -1 })
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{kid}}, func(t *testing.T, s *children.Supervisor, _ *counter) {
		s.Ensure(one, nil)
		old := acquire(t, s, one)
		done := make(chan string, 1)
		go func() { done <- call(t, old, "progress", `{"Steps":1,"Every":3600000000000}`); old.Release() }()
		synctest.Wait()

		s.ApplySpecs([]spec.Spec{revised(kid, 2, func(s *spec.Spec) { s.Args = []string{"other"} })})
		if _, err := s.Acquire(t.Context(), one); err == nil {
			t.Error("a lease on an instance that was replaced")
		}
		s.Ensure(one, nil)
		fresh := acquire(t, s, one)
		if old.Revision() != 1 || fresh.Revision() != 2 {
			t.Errorf("revisions %d and %d", old.Revision(), fresh.Revision())
		}
		call(t, fresh, "echo", `{}`)
		if st := s.Status(); len(st) != 2 {
			t.Errorf("with a call under way in the old one: %v", st)
		}
		if got := text(t, <-done); got != "done" {
			t.Errorf("the call under way gave %q", got)
		}
		synctest.Wait()
		if st := s.Status(); len(st) != 1 || st[0].Revision != 2 || st[0].State != children.Ready {
			t.Errorf("afterwards: %v", st)
		}
		fresh.Release()
	})
}

// TestApplyKeepsTheTimeoutOfCallsUnderWay changes timeout.call while a call is under way that says nothing for half an hour: it ends by the
// time that it began with, and the next call by the new one.
func TestApplyKeepsTheTimeoutOfCallsUnderWay(t *testing.T) {
	t.Parallel()
	const short, long = time.Minute, time.Hour
	for _, began := range []time.Duration{short, long} {
		kid := revised(childtest.Spec("kid", childtest.Script{}), 1, func(s *spec.Spec) { s.CallTimeout = began })
		bubble(t, children.SupervisorOptions{Specs: []spec.Spec{kid}}, func(t *testing.T, s *children.Supervisor, _ *counter) {
			silent := func() error {
				s.Ensure(one, nil)
				l := acquire(t, s, one)
				defer l.Release()
				_, err := callErr(t.Context(), l, "progress", `{"Steps":1,"Every":1800000000000}`)
				return err
			}
			ended := make(chan error, 1)
			go func() { ended <- silent() }()
			synctest.Wait()
			s.ApplySpecs([]spec.Spec{revised(kid, 2, func(s *spec.Spec) { s.CallTimeout = short + long - began })})
			for i, err := range []error{<-ended, silent()} {
				timeout, timedOut := errors.AsType[*run.TimeoutError](err)
				if timedOut != ((i == 0) == (began == short)) || timedOut && timeout.After != short || !timedOut && err != nil {
					t.Errorf("begun by %v: call %d ended with %v", began, i+1, err)
				}
			}
		})
	}
}

// TestApplyDuringReplacementForRoots retires an instance that drains because of other roots: its calls are no longer held to
// the bound that protects the next start.
func TestApplyDuringReplacementForRoots(t *testing.T) {
	t.Parallel()
	kid := childtest.Spec("kid", childtest.Script{}, "${roots}")
	kid.CallTimeout = -1
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{kid}}, func(t *testing.T, s *children.Supervisor, _ *counter) {
		s.Ensure(one, nil)
		old := acquire(t, s, one)
		done := make(chan string, 1)
		go func() { done <- call(t, old, "progress", `{"Steps":1,"Every":60000000000}`); old.Release() }()
		synctest.Wait()
		s.SetRoots(one, []guard.Root{root(t.TempDir(), "")})
		synctest.Wait()
		if st := statusOf(t, s, "kid"); st.State != children.Draining {
			t.Fatalf("%v", st)
		}
		s.ApplySpecs(nil)
		if got := text(t, <-done); got != "done" {
			t.Errorf("the call under way gave %q", got)
		}
		synctest.Wait()
		if st := s.Status(); len(st) != 0 {
			t.Errorf("a removed one is left: %v", st)
		}
	})
}

func TestRetiredEndsWithItsSessionAndTheHub(t *testing.T) {
	t.Parallel()
	kid := revised(childtest.Spec("kid", childtest.Script{}), 1, nil)
	for _, end := range []string{"session", "hub"} {
		bubble(t, children.SupervisorOptions{Specs: []spec.Spec{kid}}, func(t *testing.T, s *children.Supervisor, _ *counter) {
			s.Ensure(one, nil)
			l := acquire(t, s, one)
			failed := make(chan error, 1)
			go func() { _, err := callErr(t.Context(), l, "sleep", ""); failed <- err; l.Release() }()
			synctest.Wait()
			s.ApplySpecs(nil)
			started := time.Now()
			if end == "session" {
				s.DropInstances("s")
				var gone *run.UnavailableError
				if err := <-failed; !errors.As(err, &gone) {
					t.Errorf("the call ended with %v", err)
				}
				synctest.Wait()
				if st := s.Status(); len(st) != 0 {
					t.Errorf("left: %v", st)
				}
			}
			t.Cleanup(func() {
				if d := time.Since(started); d > 10*time.Second {
					t.Errorf("%s: it took %v to end", end, d)
				}
			})
		})
	}
}

// TestApplyWhileItWaitsOrStarts retires instances that no one has called yet.
func TestApplyWhileItWaitsOrStarts(t *testing.T) {
	t.Parallel()
	mute := childtest.Spec("kid", childtest.Script{Mute: true})
	mute.StartTimeout = time.Hour
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{mute}}, func(t *testing.T, s *children.Supervisor, _ *counter) {
		s.Ensure(one, nil)
		synctest.Wait()
		failed := make(chan error, 1)
		go func() { _, err := s.Acquire(t.Context(), one); failed <- err }()
		synctest.Wait()
		started := time.Now()
		s.ApplySpecs([]spec.Spec{childtest.Spec("kid", childtest.Script{})})
		if err := <-failed; !errors.Is(err, children.ErrReplaced) || time.Since(started) > 0 {
			t.Errorf("after %v: %v", time.Since(started), err)
		}
		s.Ensure(one, nil)
		acquire(t, s, one).Release()
	})
	s := children.NewSupervisor(children.SupervisorOptions{Specs: []spec.Spec{mute}, Launcher: childtest.Pipes{}})
	s.Ensure(one, nil) // nothing runs yet
	s.ApplySpecs(nil)
	if st := s.Status(); len(st) != 0 {
		t.Errorf("unborn and removed: %v", st)
	}
}

// TestApplyFreesWhoWaits replaces an instance in which a call runs for an hour while another waits for it to apply new roots:
// that one hears at once that there is something else to call.
func TestApplyFreesWhoWaits(t *testing.T) {
	t.Parallel()
	kid := childtest.Spec("kid", childtest.Script{AskRoots: true, DeafRoots: true})
	kid.CallTimeout = -1
	bubble(t, children.SupervisorOptions{Specs: []spec.Spec{kid}}, func(t *testing.T, s *children.Supervisor, _ *counter) {
		s.Ensure(one, nil)
		l := acquire(t, s, one)
		done := make(chan string, 1)
		go func() { done <- call(t, l, "progress", `{"Steps":1,"Every":3600000000000}`); l.Release() }()
		synctest.Wait()
		s.SetRoots(one, []guard.Root{root(t.TempDir(), "")})
		failed := make(chan error, 1)
		go func() { _, err := s.Acquire(t.Context(), one); failed <- err }()
		synctest.Wait()
		select {
		case err := <-failed:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		started := time.Now()
		s.ApplySpecs(nil)
		if err := <-failed; !errors.Is(err, children.ErrReplaced) || time.Since(started) > 0 {
			t.Errorf("after %v: %v", time.Since(started), err)
		}
		if got := text(t, <-done); got != "done" {
			t.Errorf("the call under way gave %q", got)
		}
	})
}
