//go:build unix && !race

package hub

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"mcphub/children/childtest"
	"mcphub/internal/audit"
)

// What a call allocates is counted, for noise cannot touch it: a step of a hundredth each is seen by no measurement of time.
// Each figure is that of the day on which it was written, and the client of the test is in it, which is in this process. Who
// has to raise one says here what for.
const (
	mostOfACall = 8.5  // the call, its answer's message, the lease and texts of ids
	mostOfAPath = 52.5 // findings, their readings, and the line of the record
)

// TestAllocationsOfACall: a call that is relayed, and one that is judged.
func TestAllocationsOfACall(t *testing.T) {
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	r := audit.NewRecorder(audit.Options{Dir: t.TempDir()}, nil)
	runRecorder(t, r)
	cfg.Audit.To = r
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
	for name, tc := range map[string]struct {
		arguments string
		most      float64
	}{
		"without a path": {`{"text":"The quick brown fox jumps over the lazy dog 0123456789"}`, mostOfACall},
		"with a path":    {`{"path":` + string(path) + `}`, mostOfAPath},
	} {
		params := []byte(`{"name":"kid__echo","arguments":` + tc.arguments + `}`)
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
		const calls = 3000
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		call(calls)
		runtime.ReadMemStats(&after)
		if each := float64(after.Mallocs-before.Mallocs) / calls; each > tc.most || each < 1 {
			t.Errorf("%s: %.1f allocations, want at most %.1f", name, each, tc.most)
		} else {
			t.Logf("%s: %.1f allocations", name, each)
		}
	}
}
