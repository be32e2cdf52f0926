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
		{link.Bounds{By: link.ByControlGroup}, "1024 MiB of memory, 50 processes and threads; held by its control group"},
		{link.Bounds{By: link.ByWatchdog, Why: "\x1b[31mnone"}, "1024 MiB of memory, 50 processes and threads; the kernel does not hold it to that, the hub looks at intervals: none"},
		{link.Bounds{By: link.ByNobody, Why: "no"}, "1024 MiB of memory, 50 processes and threads; nothing holds it to that: no"},
	} {
		if got := limitsOf(limited, c.bounds).Text(); got != c.want {
			t.Errorf("%q", got)
		}
	}
	if limitsOf(spec.Spec{}, link.Bounds{By: link.ByWatchdog}) != nil {
		t.Error("a server without limits has a report")
	}
}
