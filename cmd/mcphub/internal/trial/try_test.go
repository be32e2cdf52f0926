package trial

import (
	"testing"
	"time"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/hub/status"
)

// A start may take as long as the entry says, and as long as a program takes that is compiled first.
func TestTimeOfOneStart(t *testing.T) {
	t.Parallel()
	o := Options{Timeout: 90 * time.Second}
	for _, c := range []struct {
		spec spec.Spec
		want time.Duration
	}{
		{spec.Spec{Command: "/opt/kid"}, o.Timeout},
		{spec.Spec{Command: "/opt/kid", StartTimeout: time.Hour}, time.Hour},
		{spec.Spec{Command: "go", Args: []string{"run", "."}}, spec.CompilingStartTimeout},
		{spec.Spec{Command: "go", Args: []string{"run", "."}, StartTimeout: time.Second}, o.Timeout},
	} {
		if got := o.timeFor(&c.spec); got != c.want {
			t.Errorf("%s %q, %s: %s and not %s", c.spec.Command, c.spec.Args, c.spec.StartTimeout, got, c.want)
		}
	}
}

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
