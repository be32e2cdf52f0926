package needs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ended is a test that notes how it ends.
type ended struct {
	testing.TB
	how, wrong string
}

func (e *ended) Helper()          {}
func (e *ended) Skip(args ...any) { panic("skip: " + fmt.Sprint(args...)) }
func (e *ended) Fatal(args ...any) {
	panic("fail: " + fmt.Sprint(args...))
}
func (e *ended) Errorf(format string, args ...any) {
	e.wrong += fmt.Sprintf(format, args...) + "\n"
}
func (e *ended) Fatalf(format string, args ...any) { e.Fatal(fmt.Sprintf(format, args...)) }

func (e *ended) run(do func(testing.TB)) {
	defer func() {
		if how := recover(); how != nil {
			e.how = how.(string)
		}
	}()
	do(e)
}

// TestProgram: a missing program is named with its package. It is an error in CI only, and a program without a package is one always.
func TestProgram(t *testing.T) {
	here := t.TempDir()
	curl := filepath.Join(here, "curl")
	if err := os.WriteFile(curl, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", here)
	for _, c := range []struct{ ci, program, path, how string }{
		{"", "curl", curl, ""},
		{"true", "curl", curl, ""},
		{"", "haproxy", "", "skip: NOT PROVED HERE: needs haproxy: apt-get install haproxy"},
		{"false", "promtool", "", "skip: NOT PROVED HERE: needs promtool: apt-get install prometheus"},
		{"true", "promtool", "", "fail: NOT PROVED HERE: needs promtool: apt-get install prometheus"},
		{"", "nothing-of-the-kind", "", "fail: e2e/needs/debian does not list nothing-of-the-kind"},
	} {
		t.Setenv("CI", c.ci)
		var path string
		e := &ended{}
		e.run(func(t testing.TB) { path = Program(t, c.program) })
		if path != c.path || e.how != c.how {
			t.Errorf("CI=%q, %s: %q, %q", c.ci, c.program, path, e.how)
		}
	}
}

// TestLine: a program is found wherever a shell would start it, and not in a path.
func TestLine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CI", "")
	for line, program := range map[string]string{
		"cat x && (setsid sh -c 'y')":    "setsid",
		"echo `grep x y`":                "grep",
		"x=$(unshare -Ur true)":          "unshare",
		"true;perl -e 'print 1'":         "perl",
		"/bin/bash x; cat curl/f ./make": "",
		"echo a-script.sh {find} ps.txt": "",
	} {
		want := ""
		if program != "" {
			want = "skip: NOT PROVED HERE: needs " + program + ": apt-get install " + packages[program]
		}
		e := &ended{}
		e.run(func(t testing.TB) { Line(t, line) })
		if e.how != want {
			t.Errorf("%s: %q, want %q", line, e.how, want)
		}
	}
}

// TestRan: a test lacks what one lacked that it ran, and each that it ran has passed or lacked something.
func TestRan(t *testing.T) {
	t.Setenv("CI", "")
	const (
		passes = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n"
		lacks  = "=== RUN   TestB\n    x.go:1: NOT PROVED HERE: no Landlock\n--- SKIP: TestB (0.00s)\n"
		inner  = "=== RUN   TestB\n=== RUN   TestB/x\n    x.go:1: NOT PROVED HERE: needs x: apt-get install y\n    --- SKIP: TestB/x (0.00s)\n--- PASS: TestB (0.00s)\n"
		beside = "=== RUN   TestB\n=== PAUSE TestB\n=== CONT  TestB\nits log\n=== NAME  TestB\n    x.go:1: NOT PROVED HERE: no queues\n--- SKIP: TestB (0.00s)\n"
		skips  = "=== RUN   TestB\n    x.go:1: not today\n--- SKIP: TestB (0.00s)\n"
		ends   = "=== RUN   TestB\n" // the process has ended
		longer = "=== RUN   TestBC\n--- PASS: TestBC (0.00s)\n"
	)
	for said, want := range map[string]struct{ how, wrong string }{
		passes + strings.ReplaceAll(passes, "TestA", "TestB"): {},
		passes + lacks:           {how: "skip: NOT PROVED HERE: no Landlock"},
		passes + inner:           {how: "skip: NOT PROVED HERE: needs x: apt-get install y"},
		passes + beside + passes: {how: "skip: NOT PROVED HERE: no queues"},
		passes + skips:           {wrong: "TestB did not run to its end"},
		passes + ends:            {wrong: "TestB did not run to its end"},
		passes + longer:          {wrong: "TestB did not run to its end"},
		passes:                   {wrong: "TestB did not run to its end"},
		strings.ReplaceAll(lacks, "TestB", "TestA") + skips: {how: "skip: NOT PROVED HERE: no Landlock", wrong: "TestB did not run to its end"},
	} {
		e := &ended{}
		e.run(func(t testing.TB) { Ran(t, said, "TestA", "TestB") })
		if e.how != want.how || (e.wrong == "") != (want.wrong == "") || !strings.HasPrefix(e.wrong, want.wrong) {
			t.Errorf("%q: %q, %q, want %q", said, e.how, e.wrong, want)
		}
	}
	t.Setenv("CI", "true")
	e := &ended{}
	e.run(func(t testing.TB) { Ran(t, lacks, "TestB") })
	if e.how != "fail: NOT PROVED HERE: no Landlock" {
		t.Errorf("in CI: %q", e.how)
	}
}

// TestList: .ci/run reads the list too, so each line is a program and a package, each program stands once, and they are sorted.
func TestList(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(debian, "\n"), "\n")
	if !slices.IsSorted(lines) || len(lines) != len(packages) || len(lines) < 20 {
		t.Errorf("%d lines name %d programs; sorted: %v", len(lines), len(packages), slices.IsSorted(lines))
	}
}
