package run_test

import (
	"testing"
	"time"

	"mcphub/children/spec"
)

// A run ends when no lease holds it any more. Until then no lease is given that was not given before.
func TestLeases(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, k *kid, drained func() bool){
		"it is closed while one is held": func(t *testing.T, k *kid, drained func() bool) {
			one, two := k.Enter(), k.Enter()
			if !one || !two || k.Leases.IsFree() || k.Leases.IsClosed() {
				t.Error("two leases of an open run")
			}
			k.Leases.Close()
			k.Leases.Close()
			if k.Enter() || !k.Leases.IsClosed() || k.Leases.CloseUnused() || drained() {
				t.Error("a lease of a closed run")
			}
			k.Leases.Leave()
			if drained() || k.Leases.IsFree() {
				t.Error("it is free while one is held")
			}
			k.Leases.Leave()
			if !drained() || k.Leases.IsFree() {
				t.Error("it is not drained")
			}
		},
		"it is closed while none is held": func(t *testing.T, k *kid, drained func() bool) {
			if !k.Leases.IsFree() || drained() {
				t.Error("at first")
			}
			if k.Leases.Close(); !drained() || k.Leases.IsFree() || k.Enter() {
				t.Error("it is not drained")
			}
		},
		"it is closed if unused": func(t *testing.T, k *kid, drained func() bool) {
			k.Enter()
			if k.Leases.CloseUnused() || k.Leases.IsClosed() {
				t.Error("it was used")
			}
			k.Leases.Leave()
			if drained() || !k.Leases.CloseUnused() || !drained() || k.Leases.CloseUnused() {
				t.Error("it was unused")
			}
			k.Leases.Close()
		},
		"since when it is unused": func(t *testing.T, k *kid, _ func() bool) {
			started := time.Now()
			time.Sleep(time.Minute)
			if got := k.Leases.Unused(time.Now(), started); got != time.Minute {
				t.Errorf("since its start: %s", got)
			}
			k.Enter()
			k.Enter()
			time.Sleep(time.Minute)
			k.Leases.Leave()
			if got := k.Leases.Unused(time.Now(), started); got != 0 {
				t.Errorf("while it is held: %s", got)
			}
			time.Sleep(time.Minute)
			k.Leases.Leave()
			time.Sleep(time.Second)
			if got := k.Leases.Unused(time.Now(), started); got != time.Second {
				t.Errorf("since the last one was given back: %s", got)
			}
			if got := k.Leases.Unused(time.Now(), time.Now()); got != 0 {
				t.Errorf("it is counted from the start at the earliest: %s", got)
			}
		},
		"it has ended": func(t *testing.T, k *kid, _ func() bool) {
			if k.Stop(errStopped); k.Enter() {
				t.Error("a lease of a run that has ended")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, options(spec.Spec{}), onWire(newWire()), func(t *testing.T, k *kid) {
				test(t, k, func() bool {
					select {
					case <-k.Leases.Drained():
						return true
					default:
						return false
					}
				})
			})
		})
	}
}
