//go:build unix

package children_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/process"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/rootsmgr/guard"
)

// One bad, slow or missing child never delays or hides the others (C1).
func TestBadChildrenHarmNobody(t *testing.T) {
	t.Parallel()
	missing := spec.Spec{Name: "missing", Command: "mcphub-no-such-program"}
	silent := childtest.Spec("silent", childtest.Script{Mute: true})
	silent.StartTimeout = 700 * time.Millisecond
	gate := filepath.Join(t.TempDir(), "gate")
	specs := []spec.Spec{
		childtest.Spec("good", childtest.Script{}),
		childtest.Spec("slow", childtest.Script{Gate: gate}),
		childtest.Spec("garbage", childtest.Script{Garbage: 20}),
		childtest.Spec("flood", childtest.Script{FloodStderr: 5000, FloodNotes: 5000}),
		childtest.Spec("exit", childtest.Script{Exit: 3}),
		childtest.Spec("toolless", childtest.Script{NoTools: true, Offers: `{"prompts":{}}`}),
		childtest.Spec("reticent", childtest.Script{NoTools: true}),
		missing, silent,
	}
	w := newWatcher()
	s := start(t, w, children.SupervisorOptions{Specs: specs, MaxStarting: len(specs)})
	key := func(name string) spec.Key { return spec.Key{Child: name, Instance: "s"} }
	for _, spec := range specs {
		s.Ensure(key(spec.Name), nil)
	}
	if got := call(t, acquire(t, s, key("good")), "echo", `{"a":1}`); !strings.Contains(got, `{"a":1}`) {
		t.Errorf("good: %s", got)
	}
	if st := statusOf(t, s, "slow"); st.State == children.Ready {
		t.Error("control: slow was ready before good had answered")
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"slow", "garbage", "flood"} {
		if got := call(t, acquire(t, s, key(name)), "echo", `{"a":1}`); !strings.Contains(got, `{"a":1}`) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if st := statusOf(t, s, "garbage"); st.Skipped < 20 {
		t.Errorf("garbage: %d lines skipped", st.Skipped)
	}
	if st := statusOf(t, s, "flood"); len(st.Stderr) > 10<<10 || strings.ContainsAny(st.Stderr, "\x1b\x07") || !strings.Contains(st.Stderr, "line 4999 of a flood") {
		t.Errorf("stderr of flood: %d bytes, %q", len(st.Stderr), st.Stderr[max(0, len(st.Stderr)-80):])
	}
	if o := acquire(t, s, key("toolless")).Offer(); len(o.Entries[offers.Tools]) != 0 {
		t.Errorf("a child that declares something else was asked for its tools: %s", o.Entries[offers.Tools])
	}
	if o := acquire(t, s, key("reticent")).Offer(); !o.HasTool("echo") || string(o.Capabilities) != `{"logging":{},"tools":{}}` {
		t.Errorf("a child that declares nothing offers %s, and %d tools", o.Capabilities, len(o.Entries[offers.Tools]))
	}
	for name, want := range map[string]string{"exit": "exited with status 3", "missing": "not found in PATH", "silent": "did not start within 700ms: it has not answered the handshake"} {
		<-s.Settled(key(name))
		if st := statusOf(t, s, name); !strings.Contains(st.Err, want) || st.State == children.Ready {
			t.Errorf("%s: %+v", name, st)
		}
	}
	if st := statusOf(t, s, "exit"); !strings.Contains(st.Stderr, "exiting as told") {
		t.Errorf("exit: stderr %q", st.Stderr)
	}
}

func TestCrashMidCall(t *testing.T) {
	t.Parallel()
	s, w := startOne(t, childtest.Spec("kid", childtest.Script{}))
	l := acquire(t, s, one)
	slept := make(chan error, 1)
	go func() {
		_, err := callErr(t.Context(), l, "sleep", "")
		slept <- err
	}()
	_, err := callErr(t.Context(), l, "exit", `{"code":7}`)
	for _, err := range []error{err, <-slept} {
		var gone *run.UnavailableError
		if !errors.As(err, &gone) || !strings.Contains(gone.Reason, "exited with status 7") || !strings.Contains(gone.Stderr, "in the middle of a call") {
			t.Fatalf("error: %v", err)
		}
		var exit *process.ExitError
		if !errors.As(err, &exit) || exit.Code != 7 {
			t.Errorf("exit: %v", exit)
		}
	}
	l.Release()
	again := acquire(t, s, one)
	call(t, again, "echo", "")
	if st := statusOf(t, s, "kid"); st.Restarts != 1 || st.Failures != 1 {
		t.Errorf("status after the restart: %+v", st)
	}
	w.until(t, "all of that is reported", func() bool {
		return fmt.Sprint(w.states[one.String()]) == "[starting ready backing off starting ready]"
	})
}

func TestKilledFromOutside(t *testing.T) {
	t.Parallel()
	s, _ := startOne(t, childtest.Spec("kid", childtest.Script{}))
	l := acquire(t, s, one)
	if err := syscall.Kill(statusOf(t, s, "kid").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := callErr(t.Context(), l, "sleep", ""); err == nil || !strings.Contains(err.Error(), "killed by signal 9") {
		t.Errorf("error: %v", err)
	}
}

// A child that ignores everything is gone within the ladder, with what it
// started and what holds its pipes.
func TestStubbornChildrenAreStopped(t *testing.T) {
	for _, c := range []struct {
		name   string
		script childtest.Script
		procs  int
	}{
		{"heeds the end of stdin", childtest.Script{}, 1},
		{"ignores TERM and the end of stdin", childtest.Script{IgnoreTERM: true, IgnoreEOF: true}, 1},
		{"has a stubborn grandchild", childtest.Script{Grandchild: true}, 2},
		{"both", childtest.Script{Grandchild: true, IgnoreTERM: true, IgnoreEOF: true}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			child, left := mark(t, childtest.Spec("kid", c.script))
			w := newWatcher()
			s := children.NewSupervisor(w.watches(children.SupervisorOptions{Specs: []spec.Spec{child}}))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- s.Run(ctx) }()
			s.Ensure(one, nil)
			l, err := s.Acquire(t.Context(), one)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Release()
			if n := left(); len(n) != c.procs {
				t.Fatalf("%d processes, want %d", len(n), c.procs)
			}
			start := time.Now()
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if d := time.Since(start); d > bounds.Of(spec.DefaultStopTimeout+time.Second) {
				t.Errorf("stopping took %s", d)
			}
			if n := left(); len(n) != 0 {
				t.Errorf("left behind: %v", n)
			}
		})
	}
}

// A child that crashes leaves no part of its group behind either.
func TestCrashTakesTheGroupAlong(t *testing.T) {
	t.Parallel()
	spec, left := mark(t, childtest.Spec("kid", childtest.Script{Grandchild: true}))
	s, w := startOne(t, spec)
	l := acquire(t, s, one)
	if _, err := callErr(t.Context(), l, "exit", `{"code":1}`); err == nil {
		t.Fatal("no error")
	}
	w.until(t, "it backs off", func() bool { return slices.Contains(w.states[one.String()], children.BackingOff) })
	if n := left(); len(n) != 0 {
		t.Errorf("left behind: %v", n)
	}
}

func TestChildThatClosesItsOutput(t *testing.T) {
	t.Parallel()
	spec, left := mark(t, childtest.Spec("kid", childtest.Script{CloseOut: true, IgnoreEOF: true}))
	spec.StopTimeout = 500 * time.Millisecond
	s, w := startOne(t, spec)
	<-s.Settled(one)
	if st := statusOf(t, s, "kid"); st.State == children.Ready {
		t.Errorf("status: %+v", st)
	}
	s.DropInstances("s")
	w.until(t, "it has stopped", func() bool { return slices.Contains(w.states[one.String()], children.Stopped) })
	if n := left(); len(n) != 0 {
		t.Errorf("left behind: %v", n)
	}
}

// A child that does not read its input blocks no one past their deadline.
func TestChildThatDoesNotRead(t *testing.T) {
	t.Parallel()
	s, _ := startOne(t, childtest.Spec("kid", childtest.Script{}))
	l := acquire(t, s, one)
	if err := syscall.Kill(statusOf(t, s, "kid").PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	big := []byte(`"` + strings.Repeat("x", 4<<20) + `"`)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	for range 5 {
		if _, err := callErr(ctx, l, "echo", string(big)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error: %v", err)
		}
	}
	if d := time.Since(start); d > bounds.Of(2*time.Second) {
		t.Errorf("blocked for %s", d)
	}
}

func TestEnvironmentAndRootsFile(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("GIT_SSH_COMMAND", "ssh -v")
	t.Setenv("no_proxy", "localhost")
	child := childtest.Spec("kid", childtest.Script{}, "${roots}", "x")
	child.Inherit = []string{"GIT_SSH_COMMAND"}
	dir := t.TempDir()
	s, _ := startOne(t, child, root(dir, ""))
	got := call(t, acquire(t, s, one), "env", "")
	for _, want := range []string{`"cwd":"` + dir + `"`, `"args":["` + dir + `","x"]`, "GIT_SSH_COMMAND=ssh -v", "no_proxy=localhost", "MCP_ROOTS_PATHS=" + dir, "MCP_ROOTS_COUNT=1"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "AWS_SECRET") {
		t.Error("a secret of the hub's environment was passed on")
	}
	if names := statusOf(t, s, "kid").EnvNames; !slices.Contains(names, "GIT_SSH_COMMAND") || slices.Contains(names, "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("status: %q", names)
	}

	var many []guard.Root
	for i := range 1500 {
		many = append(many, root(fmt.Sprintf("%s/some/rather/long/name/%d", dir, i), ""))
	}
	w := newWatcher()
	big := start(t, w, children.SupervisorOptions{Specs: []spec.Spec{childtest.Spec("kid", childtest.Script{})}})
	big.Ensure(one, many)
	got = call(t, acquire(t, big, one), "env", "")
	_, file, ok := strings.Cut(got, "MCP_ROOTS_FILE=")
	file, _, _ = strings.Cut(file, `"`)
	fi, err := os.Stat(file)
	if !ok || strings.Contains(got, "MCP_ROOTS_JSON") || err != nil || fi.Mode().Perm() != 0o600 || fi.Size() < 64<<10 {
		t.Fatalf("file %q: %v, %v", file, fi, err)
	}
	big.DropInstances("s")
	w.until(t, "it has stopped", func() bool { return slices.Contains(w.states[one.String()], children.Stopped) })
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// Opening and closing many instances leaves no descriptor and no process.
func TestNoLeaks(t *testing.T) {
	child, left := mark(t, childtest.Spec("kid", childtest.Script{}))
	w := newWatcher()
	s := start(t, w, children.SupervisorOptions{Specs: []spec.Spec{child}})
	round := func(n int) {
		for i := range n {
			k := spec.Key{Child: "kid", Instance: strconv.Itoa(i)}
			s.Ensure(k, nil)
			l, err := s.Acquire(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			l.Release()
			s.DropInstances(k.Instance)
			w.until(t, k.String()+" has stopped", func() bool { l := w.states[k.String()]; return len(l) > 0 && l[len(l)-1] == children.Stopped })
			w.tell(func() { w.states[k.String()] = nil })
		}
	}
	round(3)
	before := descriptors(t)
	round(30)
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if n := left(); len(n) != 0 {
		t.Errorf("left behind: %v", n)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("descriptors can be counted on Linux only")
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
