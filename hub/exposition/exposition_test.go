package exposition

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/e2e/needs"
)

func TestAPage(t *testing.T) {
	t.Parallel()
	var p Page
	calls := p.Counters(Desc{Name: "calls_total", Help: "Calls.", Labels: []Label{{Name: "tool", Open: true}, {Name: "how"}}})
	calls.With("b", "").Add(2)
	calls.With("a\"\\\n\xff", "x").Add(1)
	p.Gauges(Desc{Name: "empty", Help: "Nothing."})
	p.Gauges(Desc{Name: "open", Help: "Open."}).With().Set(-3)
	h := p.Histograms(Desc{Name: "took_seconds", Help: "Time."}, []time.Duration{10 * time.Millisecond, time.Second}).With()
	for _, d := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 11 * time.Millisecond, time.Minute} {
		h.Observe(d)
	}
	p.Func(Desc{Name: "half", Help: "A half."}, "gauge", func() (float64, bool) { return 0.5, true })
	p.Func(Desc{Name: "unknown", Help: "Not told."}, "gauge", func() (float64, bool) { return 0, false })
	want := `# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{tool="a\"\\\n` + "\uFFFD" + `",how="x"} 1
calls_total{tool="b"} 2
# HELP open Open.
# TYPE open gauge
open -3
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{le="0.01"} 2
took_seconds_bucket{le="1"} 3
took_seconds_bucket{le="+Inf"} 4
took_seconds_sum 60.022
took_seconds_count 4
# HELP half A half.
# TYPE half gauge
half 0.5
`
	if got := string(p.Append(nil)); got != want {
		t.Errorf("the page is\n%s\nwant\n%s", got, want)
	}
	promtool(t, want)
}

// TestSeriesAreBounded: what comes when a family is full is counted together, and nothing is lost.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	var p Page
	f := p.Counters(Desc{Name: "calls_total", Help: "Calls.", Labels: []Label{{Name: "tool", Open: true}, {Name: "how"}}, Most: 10})
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 1000 {
				f.With(strings.Repeat("x", i%500+1), []string{"in", "out"}[g%2]).Add(1)
			}
		})
	}
	all.Wait()
	var sum uint64
	for _, s := range f.all {
		sum += s.value.(*Counter).n.Load()
	}
	if sum != 4000 || len(f.all) > 12 {
		t.Errorf("%d calls in %d series, want 4000 in at most 12", sum, len(f.all))
	}
	if page := string(p.Append(nil)); !strings.Contains(page, `calls_total{tool="_other",how="in"}`) || !strings.Contains(page, `calls_total{tool="_other",how="out"}`) {
		t.Errorf("no series of what came later:\n%s", page)
	}
}

// TestObserveAllocatesNothing: it stands on the way of each call.
func TestObserveAllocatesNothing(t *testing.T) {
	var p Page
	h := p.Histograms(Desc{Name: "took_seconds", Help: "Time."}, []time.Duration{time.Second}).With()
	if n := testing.AllocsPerRun(100, func() { h.Observe(time.Millisecond) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	var p Page
	p.Process()
	page := string(p.Append(nil))
	for _, name := range []string{"process_start_time_seconds", "go_goroutines", "go_info", "go_memstats_alloc_bytes"} {
		if !strings.Contains(page, "\n"+name) {
			t.Errorf("no %s on\n%s", name, page)
		}
	}
	promtool(t, page)
}

// promtool has Prometheus' own program read a page.
func promtool(t *testing.T, page string) {
	t.Helper()
	t.Run("promtool", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), needs.Program(t, "promtool"), "check", "metrics")
		cmd.Stdin = strings.NewReader(page)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	})
}
