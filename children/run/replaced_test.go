package run_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"mcphub/children/confinement"
	"mcphub/children/launch"
	"mcphub/children/run"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
)

// The kernel holds a run to what was at its paths when it started. A run is looked at once a second at most, unless
// something has been seen to be replaced.
func TestPathsReplaced(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a, b := filepath.Join(top, "a"), filepath.Join(top, "b")
	for _, dir := range []string{a, b} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p := &sandbox.Profile{Rules: []sandbox.Rule{{Path: a, Access: sandbox.Read}, {Path: b, Access: sandbox.Read}}}
	p.Watch([]string{a, b})
	set := run.RunOptions{Launch: launch.Launch{Sandbox: &confinement.Confinement{Profile: p}}}
	bubble(t, set, onWire(newWire()), func(t *testing.T, k *kid) {
		if !k.LookDue() {
			t.Error("at first nobody has looked")
		}
		if k.PathsReplaced() || k.PathReplaced(a+"/f") || k.LookDue() {
			t.Error("all is in its place, and was looked at")
		}
		time.Sleep(time.Second)
		if k.LookDue() {
			t.Error("it is good enough for a second")
		}
		time.Sleep(time.Nanosecond)
		if !k.LookDue() || k.PathsReplaced() || k.LookDue() {
			t.Error("after a second")
		}
		if err := os.Rename(a, a+"-moved"); err != nil {
			t.Fatal(err)
		}
		if k.PathReplaced(b+"/f") || k.LookDue() {
			t.Error("a call of another path sees it")
		}
		if !k.PathReplaced(a+"/f") || !k.LookDue() {
			t.Error("a call of the path does not see it")
		}
		if !k.PathsReplaced() || !k.LookDue() {
			t.Error("it is not seen, or counts as looked at")
		}
	})
}

// A run that is not held to any place is never looked at.
func TestNothingIsReplaced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*confinement.Confinement{"not confined": nil, "no profile": {}, "no places": {Profile: &sandbox.Profile{}}} {
		set := options(spec.Spec{})
		set.Launch.Sandbox = c
		bubble(t, set, onWire(newWire()), func(t *testing.T, k *kid) {
			if k.LookDue() || k.PathsReplaced() || k.PathReplaced("/") {
				t.Errorf("%s", name)
			}
		})
	}
}
