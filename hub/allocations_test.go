//go:build unix && !race

package hub

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/hub/audit"
	"mcphub/hub/telemetry"
)

// What a call allocates is counted, for noise cannot touch it: a step of a hundredth each is seen by no measurement of time.
// Each figure is the figure of the day on which it was written, and the client of the test is in it, which is in this
// process. Who has to raise one says here what for.
const (
	maxOfACall = 8.5  // the call, its answer's message, the lease and texts of ids
	maxOfAPath = 50.5 // findings, their readings, and the line of the record
)

// TestAllocationsOfACall: a call that is relayed, and one that is judged. Who is watched pays nothing more.
func TestAllocationsOfACall(t *testing.T) {
	plain, path := allocations(t, nil)
	if plain > maxOfACall || path > maxOfAPath {
		t.Errorf("%.1f allocations without a path and %.1f with one, want at most %.1f and %.1f", plain, path, maxOfACall, maxOfAPath)
	}
	watchedPlain, watchedPath := allocations(t, telemetry.New(telemetry.Options{}))
	t.Logf("without a path %.2f, watched %.2f; with one %.2f, watched %.2f", plain, watchedPlain, path, watchedPath)
	if watchedPlain > plain+0.5 || watchedPath > path+0.5 {
		t.Errorf("with metrics %.2f and %.2f allocations, want %.2f and %.2f as without", watchedPlain, watchedPath, plain, path)
	}
}

// allocations returns the allocations of a call without a path, and of one with a path.
func allocations(t *testing.T, watch *telemetry.Telemetry) (plain, judged float64) {
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	cfg.Telemetry = watch
	r := audit.NewRecorder(audit.Options{Dir: t.TempDir()}, nil)
	runRecorder(t, r)
	cfg.Audit.Recorder = r
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, runHub(t, cfg), dir)
	c.handshake(`{"roots":{}}`)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := json.Marshal(filepath.Join(dir, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	each := func(arguments string) float64 {
		params := []byte(`{"name":"kid__echo","arguments":` + arguments + `}`)
		call := func(times int) {
			for range times {
				res, err := c.conn.Call(t.Context(), "tools/call", params)
				if err != nil || res.Err() != nil {
					t.Fatal(err, res)
				}
				res.Release()
			}
		}
		call(200)
		const series, calls = 5, 300
		least := math.Inf(1) // what the hub does beside the calls can only add
		for range series {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			call(calls)
			runtime.ReadMemStats(&after)
			least = min(least, float64(after.Mallocs-before.Mallocs)/calls)
		}
		if least < 1 {
			t.Fatalf("%.1f allocations: nothing was measured", least)
		}
		return least
	}
	return each(`{"text":"The quick brown fox jumps over the lazy dog 0123456789"}`), each(`{"path":` + string(path) + `}`)
}
