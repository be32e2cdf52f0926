package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcphub/children/launch"
)

func TestDigest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "server")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	base := func() Spec {
		return Spec{Name: "a", Command: program, Args: []string{"x", "y"}, Env: map[string]string{"TOKEN": "secret"}, Inherit: []string{"MORE"}}
	}
	h := launch.NewMachine([]string{"PATH=" + dir, "MORE=1", "OTHER=1"}, dir, dir)
	first := base().Digest(h, "v1", EraAuto, nil)
	if first == "" || strings.Contains(first, "secret") {
		t.Fatal(first)
	}
	if base().Digest(h, "v1", EraAuto, nil) != first {
		t.Error("not the same twice")
	}
	same := base()
	same.Start, same.Share, same.CallTimeout = StartEager, ShareAll, time.Hour
	other := launch.NewMachine([]string{"PATH=" + dir, "MORE=1", "OTHER=2"}, dir, dir)
	if same.Digest(other, "v1", EraAuto, nil) != first {
		t.Error("what does not touch its offer changed the digest")
	}
	seen := map[string]string{first: "base"}
	note := func(what, d string) {
		t.Helper()
		if d == "" || seen[d] != "" {
			t.Errorf("%s: digest %q, as %q", what, d, seen[d])
		}
		seen[d] = what
	}
	for what, change := range map[string]func(*Spec){
		"name":        func(s *Spec) { s.Name = "b" },
		"args":        func(s *Spec) { s.Args = []string{"xy"} },
		"args joined": func(s *Spec) { s.Args = []string{"x y"} },
		"env":         func(s *Spec) { s.Env = map[string]string{"TOKEN": "other"} },
		"no env":      func(s *Spec) { s.Env = nil },
		"roots":       func(s *Spec) { s.Roots = RootsNone },
		"by name":     func(s *Spec) { s.Command = "server" },
		"inherit":     func(s *Spec) { s.Inherit = []string{"OTHER"} },
		"cwd":         func(s *Spec) { s.Cwd = dir },
	} {
		s := base()
		change(&s)
		note(what, s.Digest(h, "v1", EraAuto, nil))
	}
	note("version", base().Digest(h, "v2", EraAuto, nil))
	note("inherited value", base().Digest(launch.NewMachine([]string{"PATH=" + dir, "MORE=2"}, dir, dir), "v1", EraAuto, nil))
	write("other size")
	note("program", base().Digest(h, "v1", EraAuto, nil))
	gone := base()
	gone.Command = filepath.Join(dir, "nothing")
	if d := gone.Digest(h, "v1", EraAuto, nil); d != "" {
		t.Errorf("a program that is not there has digest %s", d)
	}
}
