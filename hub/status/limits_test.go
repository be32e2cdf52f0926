package status

import (
	"testing"

	"mcphub/children/link"
	"mcphub/children/program"
	"mcphub/children/spec"
)

// What holds a server to its limits is told as it is.
func TestLimits(t *testing.T) {
	t.Parallel()
	limited := spec.Spec{Limits: program.Limits{Memory: 1 << 30, Processes: 50}}
	for _, c := range []struct {
		bounds link.Bounds
		want   string
	}{
		{link.Bounds{}, "1024 MiB of memory, 50 processes and threads"},
		{link.Bounds{By: link.ByControlGroup, Memory: 1 << 30, Processes: 50}, "1024 MiB of memory, 50 processes and threads; held by its control group"},
		{link.Bounds{By: link.ByWatchdog, Why: "\x1b[31mnone", Memory: 1 << 30, Processes: 50}, "1024 MiB of memory, 50 processes and threads; the kernel does not hold it to that, the hub looks at intervals: none"},
		{link.Bounds{By: link.ByNobody, Why: "no", Memory: 1 << 30, Processes: 50}, "1024 MiB of memory, 50 processes and threads; nothing holds it to that: no"},
	} {
		if got := limitsOf(limited, c.bounds).Text(); got != c.want {
			t.Errorf("%q", got)
		}
	}
	if limitsOf(spec.Spec{}, link.Bounds{}) != nil {
		t.Error("a server without limits that has not been started has a report")
	}
	for want, b := range map[string]link.Bounds{
		"not bounded: no group": {By: link.ByNobody, Why: "no group"},
		"512 MiB of memory, 4096 processes and threads; held by its control group": {By: link.ByControlGroup, Memory: 512 << 20, Processes: 4096},
	} {
		if got := limitsOf(spec.Spec{}, b).Text(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
