package hub

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/e2e/bounds"
)

// TestWhatIsNotOnRecordIsNotGiven: if a server could write a directory that cannot be put on record for other hubs, it does
// not run, held by the kernel or not, and calls say why. When it can be, it runs again, whether the roots change or not. The
// control is the root before, which is on record.
func TestWhatIsNotOnRecordIsNotGiven(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Auto} {
		t.Run(mode.String(), func(t *testing.T) {
			var broken atomic.Bool
			var refuse string
			c, d := shellHub(t, sandbox.Settings{Mode: mode, Network: sandbox.Network{On: true}}, nil, func(cfg *Config) {
				cfg.RecordWritable = func(dirs []string) error {
					if broken.Load() && slices.Contains(dirs, refuse) {
						return errors.New("no space left")
					}
					return nil
				}
			})
			refuse = d["b"]
			broken.Store(true)
			c.handshake(`{"roots":{"listChanged":true}}`)
			if !c.writes(d["a"]) {
				t.Fatal("with a root that is on record it does not work")
			}
			says := func(want string) {
				t.Helper()
				got := ""
				if !bounds.Within(bounds.Patience, func() bool { got, _ = c.shell("echo it runs"); return strings.Contains(got, want) }) {
					t.Fatalf("it never says %q, but %q", want, got)
				}
			}
			c.change(d["b"])
			if got, _ := c.shell("echo it runs"); mode != sandbox.Off && strings.Contains(got, "it runs") { // calls of one that nothing holds do not wait
				t.Errorf("a call says %q", got)
			}
			says("no space left")
			c.change(d["a"])
			says("it runs")
			c.change(d["b"])
			says("no space left")
			broken.Store(false)
			says("it runs")
			if !c.writes(d["b"]) {
				t.Error("it cannot write its root")
			}
		})
	}
}
