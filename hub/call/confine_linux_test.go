package call_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/e2e/childtest"
	"mcphub/e2e/needs"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// held is a stage with a child that the kernel is to hold to the root. The child is played all the same: what its calls are refused for
// is decided here.
func held(t *testing.T, settings sandbox.Settings, test func(s *stage)) {
	t.Helper()
	if k := sandbox.CurrentKernel(); k.ABI < 6 {
		needs.Missing(t, fmt.Sprintf("Landlock has ABI %d here, and 6 is needed: %s", k.ABI, k.Why))
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	settings.Mode, settings.Network = sandbox.Required, sandbox.Network{On: true}
	with := oneChild(childtest.Script{})
	with.scripts[0].sandbox = settings
	with.judge = func(s *stage, judged *validate.Config) {
		judged.Policy.Rules = []policy.Rule{{Name: "open", Then: policy.Allow, Paths: &policy.PathRule{Roles: []access.Role{access.Read, access.Write}, Within: s.outside}}}
	}
	onStage(t, with, test)
}

// Something else has come to the place of a root: a call about it is served by a process that is held to what is there now, and the fast
// path leaves it. Control: the same call before.
func TestARootThatWasReplaced(t *testing.T) {
	held(t, sandbox.Settings{}, func(s *stage) {
		call := echoParams(readArgs(filepath.Join(s.root, "a.txt")))
		s.wantParts(s.callWaiting(call), "!isError")
		if got, ok := s.callFast(call); !ok {
			t.Error("the control is left to the waiting path: ", got)
		}
		if n := s.children.launched(); n != 1 {
			t.Fatalf("%d processes", n)
		}
		if err := os.Rename(s.root, s.root+".moved"); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(s.root, "a.txt"))
		if got, ok := s.tryFast(call); ok {
			t.Error("it is made on the fast path: ", got)
		}
		leases := 0
		s.instances.tried = func() {
			if leases++; leases == 2 {
				s.instances.busy = 1
			}
		}
		s.instances.acquire = func() error { return errors.New("it does not start") }
		s.wantParts(s.callWaiting(call), "it does not start")
		s.instances.tried, s.instances.acquire = nil, nil
		s.wantParts(s.callWaiting(call), "!isError")
		if n := s.children.launched(); n != 2 {
			t.Errorf("%d processes: it was served by one that is held to what has left its place", n)
		}
		s.wantReleased()
	})
}

// A call that another process serves, since something else has come to the place of a root, is judged again: its path may lead out of the
// roots by then.
func TestARootThatWasReplacedIsLookedAtAgain(t *testing.T) {
	held(t, sandbox.Settings{}, func(s *stage) {
		file := filepath.Join(s.root, "a.txt")
		s.wantParts(s.callWaiting(echoParams(readArgs(file))), "!isError")
		if err := os.Rename(s.root, s.root+".moved"); err != nil {
			t.Fatal(err)
		}
		put(t, file)
		elsewhere := filepath.Join(s.base, "elsewhere")
		put(t, elsewhere)
		leases := 0
		s.instances.tried = func() {
			if leases++; leases == 2 {
				for _, err := range []error{os.Remove(file), os.Symlink(elsewhere, file)} {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		s.wantParts(s.callWaiting(echoParams(readArgs(file))), "is outside")
		s.wantReached("tools/call", 1)
		s.wantReleased()
	})
}

// A server that is not started again for a wider boundary is not called about what the rules allow and the kernel does not open to it. Control: one
// that is, and a path that is open.
func TestAServerThatKeepsRunning(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		settings := sandbox.Settings{KeepRunning: sandbox.No}
		if keeps {
			settings.KeepRunning = sandbox.Yes
		}
		held(t, settings, func(s *stage) {
			s.wantParts(s.callWaiting(echoParams(readArgs(filepath.Join(s.root, "a.txt")))), "!isError")
			call := echoParams(readArgs(filepath.Join(s.outside, "a.txt")))
			sent := 2
			if keeps {
				sent = 1
				if got, ok := s.tryFast(call); ok {
					t.Errorf("on the fast path: %s", got)
				}
				s.wantParts(s.callWaiting(call), "isError")
				s.wantParts(s.callWaiting(fmt.Sprintf(`{"name":"kid__echo","arguments":{"path":%q,"out":%q}}`, filepath.Join(s.root, "a.txt"), filepath.Join(s.outside, "a.txt"))), "isError", "it keeps state")
			} else {
				s.wantParts(s.callWaiting(call), "!isError")
			}
			s.wantReached("tools/call", sent)
			s.wantReleased()
		})
	}
}
