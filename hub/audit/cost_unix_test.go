//go:build unix

package audit_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/hub/audit"
)

// BenchmarkGroup is what one call costs of the ones that share a line and a write;
// cpu-ns holds on a machine that does other things too.
func BenchmarkGroup(b *testing.B) {
	for _, group := range []int{1, 3, 16} {
		b.Run(strconv.Itoa(group), func(b *testing.B) {
			l, err := audit.Open(audit.Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = l.Release() }()
			form := audit.EncodeDecision(&audit.DecisionFields{Child: "files", Tool: "read_file", Decision: "allow", Rule: "no path"})
			calls := slices.Repeat([]audit.CallRecord{{Session: "7c9e6679-7425-40de-944b-e07fc1f90ae7", Request: []byte("123456"), Encoded: form}}, group)
			b.ReportAllocs()
			before := spent(b)
			for range b.N / group {
				n, err := l.PutCalls(calls, time.Now())
				if err == nil {
					err = l.Commit(context.Background())
				}
				if err != nil {
					b.Fatal(err)
				}
				for i := range calls {
					l.Outcome(audit.Outcome{DecisionLine: n, Call: i + 1, Result: audit.ResultOK, Micros: 1000})
				}
			}
			b.ReportMetric(float64(spent(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

func spent(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
