package trial

import (
	"testing"

	"mcphub/children"
	"mcphub/hub/status"
)

// A server that has started and has not listed its tools does not work.
func TestReady(t *testing.T) {
	t.Parallel()
	ready := children.Ready.String()
	for _, c := range []struct {
		state        string
		listed, want bool
	}{{ready, true, true}, {ready, false, false}, {children.BackingOff.String(), true, false}} {
		a := Attempt{Status: status.Child{State: c.state, Listed: c.listed}}
		if got := a.Ready(); got != c.want {
			t.Errorf("%s, listed %t: %t", c.state, c.listed, got)
		}
	}
}
