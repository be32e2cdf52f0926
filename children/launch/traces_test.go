package launch

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"mcphub/children/program"
	"mcphub/children/sandbox"
)

// A program that is replaced has another fingerprint. Those who share looks see it as they saw it first.
func TestAReplacedProgramHasAnotherFingerprint(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a script is a program by its mode")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "server")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	m := NewMachine(nil, dir, dir)
	marks := func(m Machine) [][]string {
		t.Helper()
		traces, err := m.Traces(program.Program{Command: path}, false)
		if err != nil {
			t.Fatal(err)
		}
		return traces.Files
	}
	same := func(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal[[]string]) }

	write("#!/bin/sh\n")
	shared := m.WithLooks(sandbox.NewLstatCache())
	former, first := marks(m), marks(shared)
	write("#!/bin/sh\nexit 1\n")
	if now := marks(m); same(now, former) {
		t.Errorf("replaced, and still %q", now)
	}
	if now := marks(shared); !same(now, first) || !same(first, former) {
		t.Errorf("those who share looks saw %q, and see %q", first, now)
	}
	if now := marks(m.WithLooks(sandbox.NewLstatCache())); same(now, former) {
		t.Errorf("replaced, and still %q with new looks", now)
	}
}
