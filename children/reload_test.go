package children_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/rootsmgr/guard"
)

// inBubble runs a test with children on goroutines, on a clock of its own.
func inBubble(t *testing.T, specs []spec.Spec, test func(t *testing.T, s *children.Supervisor)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := children.NewSupervisor(children.SupervisorOptions{Specs: specs, Launcher: childtest.Pipes{}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		test(t, s)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

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
	inBubble(t, []spec.Spec{kid}, func(t *testing.T, s *children.Supervisor) {
		s.Ensure(one, nil)
		l := acquire(t, s, one)
		same := revised(kid, 1, func(s *spec.Spec) { s.CallTimeout, s.Inherit = spec.DefaultCallTimeout, []string{} })
		s.Apply([]spec.Spec{same, childtest.Spec("new", childtest.Script{})})
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
	inBubble(t, []spec.Spec{kid}, func(t *testing.T, s *children.Supervisor) {
		s.Ensure(one, nil)
		old := acquire(t, s, one)
		done := make(chan string, 1)
		go func() { done <- call(t, old, "progress", `{"Steps":1,"Every":3600000000000}`); old.Release() }()
		synctest.Wait()

		s.Apply([]spec.Spec{revised(kid, 2, func(s *spec.Spec) { s.Args = []string{"other"} })})
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
		inBubble(t, []spec.Spec{kid}, func(t *testing.T, s *children.Supervisor) {
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
			s.Apply([]spec.Spec{revised(kid, 2, func(s *spec.Spec) { s.CallTimeout = short + long - began })})
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
	inBubble(t, []spec.Spec{kid}, func(t *testing.T, s *children.Supervisor) {
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
		s.Apply(nil)
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
		inBubble(t, []spec.Spec{kid}, func(t *testing.T, s *children.Supervisor) {
			s.Ensure(one, nil)
			l := acquire(t, s, one)
			failed := make(chan error, 1)
			go func() { _, err := callErr(t.Context(), l, "sleep", ""); failed <- err; l.Release() }()
			synctest.Wait()
			s.Apply(nil)
			started := time.Now()
			if end == "session" {
				s.Drop("s")
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
	inBubble(t, []spec.Spec{mute}, func(t *testing.T, s *children.Supervisor) {
		s.Ensure(one, nil)
		synctest.Wait()
		failed := make(chan error, 1)
		go func() { _, err := s.Acquire(t.Context(), one); failed <- err }()
		synctest.Wait()
		started := time.Now()
		s.Apply([]spec.Spec{childtest.Spec("kid", childtest.Script{})})
		if err := <-failed; !errors.Is(err, children.ErrReplaced) || time.Since(started) > 0 {
			t.Errorf("after %v: %v", time.Since(started), err)
		}
		s.Ensure(one, nil)
		acquire(t, s, one).Release()
	})
	s := children.NewSupervisor(children.SupervisorOptions{Specs: []spec.Spec{mute}, Launcher: childtest.Pipes{}})
	s.Ensure(one, nil) // nothing runs yet
	s.Apply(nil)
	if st := s.Status(); len(st) != 0 {
		t.Errorf("unborn and removed: %v", st)
	}
}

// TestEveryFieldCounts keeps Equal complete: a field that it forgets would be a change that never takes effect.
func TestEveryFieldCounts(t *testing.T) {
	t.Parallel()
	base := spec.Spec{Name: "kid", Command: "cmd"}
	for _, at := range reflect.VisibleFields(reflect.TypeFor[spec.Spec]()) {
		fields := [][]int{at.Index}
		if at.Type.Kind() == reflect.Struct {
			fields = nil
			for i := range at.Type.NumField() {
				fields = append(fields, append(slices.Clone(at.Index), i))
			}
		}
		for _, field := range fields {
			fieldCounts(t, base, field, at.Name)
		}
	}
}

func fieldCounts(t *testing.T, base spec.Spec, field []int, name string) {
	other := base
	f := reflect.ValueOf(&other).Elem().FieldByIndex(field)
	if name == "Supply" { // which is set where the child starts
		return
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString("other")
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Slice:
		f.Set(reflect.ValueOf([]string{"other"}))
	case reflect.Map:
		f.Set(reflect.ValueOf(map[string]string{"OTHER": "x"}))
	case reflect.Uint8, reflect.Uint64:
		f.SetUint(1)
	case reflect.Int, reflect.Int64:
		f.SetInt(12345)
	case reflect.Struct:
		if f = f.Field(0); f.Kind() == reflect.String { // TLS.CA.Path
			f.SetString("other")
		} else {
			f.SetBool(true) // Sandbox.Network.On
		}
	case reflect.Interface: // Login, which is set where the child starts
		return
	default:
		t.Fatalf("field %s %v is of a kind that this test does not know: %s", name, field, f.Kind())
	}
	told := slices.Contains([]string{"At", "PinsAt"}, reflect.TypeOf(base).FieldByIndex(field).Name) || name == "ShareWhy"      // for messages
	if want := name == "Revision" || name == "Start" || name == "Environ" || name == "Dir" || told; base.Equal(other) != want { // Start says when, and not what
		t.Errorf("with another %s %v Equal gives %t", name, field, !want)
	}
}

// TestApplyFreesWhoWaits replaces an instance in which a call runs for an hour while another waits for it to apply new roots:
// that one hears at once that there is something else to call.
func TestApplyFreesWhoWaits(t *testing.T) {
	t.Parallel()
	kid := childtest.Spec("kid", childtest.Script{AskRoots: true, DeafRoots: true})
	kid.CallTimeout = -1
	inBubble(t, []spec.Spec{kid}, func(t *testing.T, s *children.Supervisor) {
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
		s.Apply(nil)
		if err := <-failed; !errors.Is(err, children.ErrReplaced) || time.Since(started) > 0 {
			t.Errorf("after %v: %v", time.Since(started), err)
		}
		if got := text(t, <-done); got != "done" {
			t.Errorf("the call under way gave %q", got)
		}
	})
}
