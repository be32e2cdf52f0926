package children_test

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"

	"mcphub/children"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// TestEraOfAShared: a child that is shared has an instance for each era that it
// speaks, and one if it speaks only one. Which that is counts as known from
// then on, in another hub too.
func TestEraOfAShared(t *testing.T) {
	t.Parallel()
	handshake, modern := spec.Key{Child: "kid"}, spec.Key{Child: "kid", Era: spec.EraModern}
	for name, test := range map[string]struct {
		script childtest.Script
		yields spec.Key // the zero Key: none
	}{
		"both":   {childtest.Script{Era: "dual", Locks: true}, spec.Key{}},
		"legacy": {childtest.Script{}, modern},
		"modern": {childtest.Script{Era: "modern"}, handshake},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				child := childtest.Spec("kid", test.script)
				child.Share, child.Start = spec.ShareAll, spec.StartEager
				cache := filepath.Join(t.TempDir(), "catalogue")
				launcher := &counter{}
				s := start(t, newWatcher(), children.SupervisorOptions{Specs: []spec.Spec{child}, Launcher: launcher, Cache: cache})
				for _, k := range []spec.Key{handshake, modern} {
					if serial := s.Join(k); serial == 0 || s.ServingKey(k) != k {
						t.Fatalf("%s: serial %d, home %s before anything is known", k, serial, s.ServingKey(k))
					}
					s.Ensure(k, nil)
					<-s.Settled(k)
					synctest.Wait()
				}
				other := start(t, newWatcher(), children.SupervisorOptions{Specs: []spec.Spec{child}, Cache: cache})
				for _, k := range []spec.Key{handshake, modern} {
					home := k
					if k == test.yields {
						home = spec.Key{Child: "kid", Era: spec.EraModern - k.Era}
					}
					if got, again := s.ServingKey(k), other.ServingKey(k); got != home || again != home {
						t.Errorf("home of %s is %s, in another hub %s, want %s", k, got, again, home)
					}
					l, err := s.Acquire(t.Context(), k)
					if k != home {
						if !errors.As(err, new(*run.UnavailableError)) {
							t.Errorf("%s is still there: %v", k, err)
						}
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					l.Release()
					if want := test.script.Era == "modern" || test.script.Era == "dual" && k == modern; l.IsModern() != want {
						t.Errorf("%s is spoken to in %s", k, l.Offer().Protocol)
					}
				}
				want := 2
				if test.yields != (spec.Key{}) {
					want = 1
				}
				if all := s.Status(); len(all) != want {
					t.Errorf("instances: %v", all)
				}
				if n := launcher.runs(); n != 2 {
					t.Errorf("%d runs", n)
				}
			})
		})
	}
}
