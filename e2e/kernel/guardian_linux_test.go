package e2e

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/e2e/ide"
)

// familySize is how many processes a rogue recorder starts that never end by themselves: a parent, a breeder, and others that
// hold on.
const familySize = 7

// complete reports whether all of a rogue's family are among found, at a moment when none of them is starting another: one that
// is just being started still bears the command line of who starts it. Those who are meant to be short-lived do not count.
// missing says how many cannot be told by what found was chosen by.
func complete(found []process, missing int) bool {
	count := func(does string) (n int) {
		for _, p := range found {
			if strings.HasSuffix(p.command, does) {
				n++
			}
		}
		return n
	}
	return count("-role parent") == 1 && count("-role breeder") == 1 && count("-hold") == familySize-2-missing
}

// adoptAll makes this process inherit whoever is left by a hub, so that not even a zombie escapes to the first process. It is
// not for parallel tests: there is one family for all.
func adoptAll(t *testing.T) {
	t.Helper()
	must(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	t.Cleanup(func() { must(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) })
}

// firstLines begin a session.
const firstLines = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"victim","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// victim is a hub, started with nothing but pipes, that is going to be killed.
type victim struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	mark string
	out  sync.WaitGroup
}

// startVictim starts a command line with mark in its environment, and sends it the first lines of a session.
func startVictim(t *testing.T, w *world, attr *syscall.SysProcAttr, args []string, env ...string) *victim {
	t.Helper()
	v := &victim{t: t, mark: fmt.Sprintf("XDG_MCPHUB_E2E=%s#%d;", w.dir, w.sessions.Add(1))}
	v.cmd = exec.Command(args[0], args[1:]...)
	v.cmd.Dir, v.cmd.Env, v.cmd.SysProcAttr = w.home, w.env(append(env, v.mark)...), attr
	in, err := v.cmd.StdinPipe()
	must(t, err)
	v.in = in
	out, err := v.cmd.StdoutPipe()
	must(t, err)
	must(t, v.cmd.Start())
	v.out.Go(func() { _, _ = io.Copy(io.Discard, out) })
	_, _ = io.WriteString(in, firstLines)
	return v
}

// hubProper gives the process of the hub below its guardian; 0 while there is none.
func hubProper(t testing.TB, guardian int) int {
	t.Helper()
	for _, p := range tree(t, guardian) {
		if p.parent == guardian && p.state != 'Z' && strings.Contains(p.command, "serve") {
			return p.pid
		}
	}
	return 0
}

// gone waits until nobody with the mark is left and says how long that took; then nobody may be a zombie either. The heir, the
// process below the one that was killed, is this test's own to wait for; no other orphan may come up to here.
func (v *victim) gone(heir int) time.Duration {
	v.t.Helper()
	begun := time.Now()
	_ = v.in.Close()
	if !within(waitLimit, func() bool { return len(marked(v.t, v.mark)) == 0 }) {
		v.t.Errorf("left over: %v", marked(v.t, v.mark))
		for _, p := range marked(v.t, v.mark) {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	took := time.Since(begun)
	v.out.Wait()
	_ = v.cmd.Wait()
	if _, err := syscall.Wait4(heir, nil, 0, nil); err != nil && !errors.Is(err, syscall.ECHILD) {
		v.t.Error(err)
	}
	for _, p := range zombies(v.t, os.Getpid()) {
		_, err := syscall.Wait4(p.pid, nil, 0, nil)
		v.t.Errorf("an orphan has come out of the hub's family: %v, %v", p, err)
	}
	return took
}

// rogues is a configuration with a rogue child, one that heeds nothing, and one that heeds all.
func rogues(w *world) string {
	return w.config(obj{"rogue": w.recorder("rogue", "-rogue"), "deaf": w.recorder("deaf", "-ignore-term"), "plain": w.recorder("plain")})
}

// settled reports whether all of the children of rogues are there, with the two processes of a hub and so many more.
func (v *victim) settled(more int) bool {
	found := marked(v.t, v.mark)
	return len(found) >= 2+3+familySize+more && complete(found, 0)
}

// Whoever is killed with -9 and whenever, nothing is left (C6): no orphan, however deaf, wherever it went, and no zombie.
func TestKilledAtAnyMoment(t *testing.T) {
	adoptAll(t)
	mcphub(t)
	for _, c := range []struct {
		name string
		attr *syscall.SysProcAttr
		more int                            // processes beside the hub's
		args func(w *world) []string        // before mcphub
		kill func(v *victim, hub int) error // who
	}{
		{name: "guardian", kill: func(v *victim, _ int) error { return v.cmd.Process.Kill() }},
		{name: "hub", kill: func(_ *victim, hub int) error { return syscall.Kill(hub, syscall.SIGKILL) }},
		{name: "client", more: 1, kill: func(v *victim, _ int) error { return v.cmd.Process.Kill() }},
		// This is how clients kill a server that does not end in time.
		{name: "group", attr: &syscall.SysProcAttr{Setpgid: true}, kill: func(v *victim, _ int) error {
			return syscall.Kill(-v.cmd.Process.Pid, syscall.SIGKILL)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := longCases(t, 3, 100)
			var worst time.Duration
			full := 0
			for i := range n {
				w := newWorld(t)
				args, env := []string{mcphub(t), "serve", "--config", rogues(w)}, []string(nil)
				if c.name == "client" {
					env = []string{"RECORDER_WRAP=" + raw(t, args)}
					args = []string{bin.recorder}
				}
				v := startVictim(t, w, c.attr, args, env...)
				hub := 0
				guardian := v.cmd.Process.Pid
				find := func() bool {
					if c.name == "client" { // which has the guardian below it
						guardian = hubProper(t, v.cmd.Process.Pid)
					}
					if guardian != 0 {
						hub = hubProper(t, guardian)
					}
					return hub != 0
				}
				if !within(waitLimit, find) {
					t.Fatal("no hub below its guardian")
				}
				if i%3 == 0 { // all are there
					if !within(waitLimit, func() bool { return v.settled(c.more) }) {
						t.Fatalf("not all have started: %v", marked(t, v.mark))
					}
				} else { // any moment: the start takes about as long
					moment := time.NewTimer(time.Duration(rand.Int64N(int64(150 * time.Millisecond))))
					<-moment.C
				}
				if v.settled(c.more) {
					full++
				}
				must(t, c.kill(v, hub))
				heir := hub
				if c.name == "client" {
					heir = guardian
				}
				worst = max(worst, v.gone(heir))
				if t.Failed() {
					t.Fatalf("in round %d of %d", i+1, n)
				}
			}
			t.Logf("%d kills of the %s, %d of them with all %d processes there: none left, the last gone after at most %v",
				n, c.name, full, 5+familySize+c.more, worst.Round(time.Millisecond))
		})
	}
}

// Without the guardian a killed hub does leave something: the test above would see it. The variable names this process as the
// guardian, which is all that a forged one can do.
func TestAHubWithoutAGuardianLeavesOrphans(t *testing.T) {
	adoptAll(t)
	w := newWorld(t)
	v := startVictim(t, w, nil, []string{mcphub(t), "serve", "--config", rogues(w)}, fmt.Sprintf("MCPHUB_GUARDIAN=%d", os.Getpid()))
	if !within(waitLimit, func() bool { return v.settled(-1) }) {
		t.Fatalf("not all have started: %v", marked(t, v.mark))
	}
	must(t, v.cmd.Process.Kill())
	_ = v.cmd.Wait()
	if !within(waitLimit, func() bool { return len(marked(t, v.mark)) == familySize }) {
		t.Errorf("left over are %v, want the family of the rogue", marked(t, v.mark))
	}
	for _, p := range marked(t, v.mark) {
		must(t, syscall.Kill(p.pid, syscall.SIGKILL))
	}
	_ = v.in.Close()
	if !within(waitLimit, func() bool { return len(marked(t, v.mark)) == 0 }) {
		t.Errorf("left over: %v", marked(t, v.mark))
	}
	v.out.Wait()
	for _, p := range zombies(t, os.Getpid()) {
		_, _ = syscall.Wait4(p.pid, nil, 0, nil)
	}
}

// Sessions that are opened and closed leave nothing either, whatever their children have started.
func TestManySessionsLeaveNothing(t *testing.T) {
	adoptAll(t)
	mcphub(t)
	n := longCases(t, 8, 1000)
	rounds := make(chan int, n)
	for i := range n {
		rounds <- i
	}
	close(rounds)
	var slowest time.Duration
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			w := newWorld(t)
			config := w.config(obj{"rogue": w.recorder("rogue", "-rogue")})
			for range rounds {
				s := w.serve(config, ide.Folders(w.project))
				if _, err := s.Initialize(s.ctx()); err != nil {
					t.Error(err)
				} else if _, err := s.Tool(s.ctx(), "rogue__whoami", `{}`); err != nil {
					t.Error(err)
				}
				e := s.end(stopBound)
				mu.Lock()
				slowest = max(slowest, e.Took)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if found := zombies(t, os.Getpid()); len(found) > 0 {
		t.Errorf("zombies: %v", found)
	}
	t.Logf("%d sessions: none left, the slowest end took %v", n, slowest.Round(time.Millisecond))
}

// A child that ends takes its descendants with it while the hub and its other children go on.
func TestAChildsDescendantsEndWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	family := func(name string) obj {
		c := w.recorder(name, "-rogue")
		c["env"].(obj)["XDG_FAMILY"] = name
		return c
	}
	s := w.serve(w.config(obj{"victim": family("victim"), "other": family("other")}), ide.Folders(w.project))
	s.initialize()
	s.pid("other")
	first := s.pid("victim")
	of := func(name string) (all []process) {
		for _, p := range marked(t, s.mark) {
			if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid)); err == nil && strings.Contains(string(env), "XDG_FAMILY="+name+"\x00") {
				all = append(all, p)
			}
		}
		return all
	}
	const named = familySize // with the child itself, and without the one that bears no name
	var before, spared []process
	if !within(waitLimit, func() bool {
		before, spared = of("victim"), of("other")
		return len(before) == named && complete(before, 1) && len(spared) == named && complete(spared, 1)
	}) {
		t.Fatalf("%v and %v, want %d each", before, spared, named)
	}
	must(t, syscall.Kill(first, syscall.SIGKILL))
	among := func(all []process) func(process) bool {
		return func(p process) bool { return slices.ContainsFunc(all, func(q process) bool { return q.pid == p.pid }) }
	}
	gone := func() bool { return !slices.ContainsFunc(of("victim"), among(before)) }
	if !within(waitLimit, gone) {
		t.Errorf("before the child was killed %v, now %v", before, of("victim"))
	}
	now := of("other")
	if still := among(now); slices.ContainsFunc(spared, func(p process) bool { return !still(p) }) {
		t.Errorf("of the other child %v, before %v", now, spared)
	}
	if !within(waitLimit, func() bool { return len(zombies(t, s.PID())) == 0 }) {
		t.Errorf("zombies: %v", zombies(t, s.PID()))
	}
}

// A process that is always somebody else by the time one looks ends with its child too.
func TestAHopperIsCaught(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hopper := w.recorder("hopper", "-hopper")
	hopper["env"].(obj)["XDG_FAMILY"] = "hopper"
	s := w.serve(w.config(obj{"hopper": hopper, "plain": w.recorder("plain")}), ide.Folders(w.project))
	s.initialize()
	s.pid("plain")
	first := s.pid("hopper")
	hops := func() (all []process) {
		for _, p := range marked(t, "XDG_FAMILY=hopper\x00") {
			if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid)); err == nil && strings.Contains(string(env), s.mark) {
				all = append(all, p)
			}
		}
		return all
	}
	if !within(waitLimit, func() bool { return slices.ContainsFunc(hops(), func(p process) bool { return p.pid != first }) }) {
		t.Fatal("nobody hops")
	}
	// It cannot be started again: it has nowhere to write that down.
	must(t, os.Rename(w.stateOf("hopper"), w.path("hopper.was")))
	must(t, os.Mkdir(w.stateOf("hopper"), 0o700))
	must(t, syscall.Kill(first, syscall.SIGKILL))
	if !within(waitLimit, func() bool { return len(hops()) == 0 }) {
		t.Errorf("still there: %v", hops())
	}
	if !within(waitLimit, func() bool { return len(zombies(t, s.PID())) == 0 }) {
		t.Errorf("zombies: %v", zombies(t, s.PID()))
	}
	s.pid("plain")
}

// The guardian is small, has none of the client's pipes, and its variable reaches nobody.
func TestTheGuardianIsSmallAndUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	child := w.recorder("rec")
	child["inherit"] = []string{"MCPHUB_GUARDIAN"}
	// One that is not its parent's is not believed.
	s := w.start(ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", w.config(obj{"rec": child})},
		Roots: ide.Folders(w.project), Env: w.env("MCPHUB_GUARDIAN=1", "GODEBUG=inittrace=1")})
	s.initialize()
	var st started
	decode(t, s.call("rec__whoami", `{}`).Structured, &st)
	hub := hubProper(t, s.PID())
	if hub == 0 {
		t.Fatalf("no hub below its guardian: %v", tree(t, s.PID()))
	}
	instance := ""
	for _, kv := range st.Env {
		if strings.HasPrefix(kv, "MCPHUB_GUARDIAN=") {
			t.Errorf("the child has %s", kv)
		}
		if v, ok := strings.CutPrefix(kv, "MCPHUB_INSTANCE="); ok {
			instance = v
		}
	}
	if len(instance) < 20 {
		t.Errorf("MCPHUB_INSTANCE=%q", instance)
	}
	for fd := range 2 {
		if target, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(s.PID()), "fd", strconv.Itoa(fd))); err != nil || target != os.DevNull {
			t.Errorf("file %d of the guardian is %s, %v", fd, target, err)
		}
	}
	// It is quick to start because it takes over before the large packages are initialized: only the hub's are.
	if n := strings.Count(s.Stderr(), "\ninit github.com/santhosh-tekuri/jsonschema/v6 @"); n != 1 {
		t.Errorf("the largest package was initialized %d times, want once", n)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	must(t, err)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	must(t, err)
	t.Logf("the guardian has %d KiB resident", kib)
	if kib > 8<<10 && !raceDetector {
		t.Errorf("the guardian has %d KiB resident, want at most 8 MiB", kib)
	}
}

// The end of the hub proper is the guardian's, in status too.
func TestTheGuardianEndsAsTheHubDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.config(obj{"rec": w.recorder("rec")})
	t.Run("killed", func(t *testing.T) {
		s := w.serve(config, nil)
		s.exitStatus = 128 + 9
		s.initialize()
		must(t, syscall.Kill(hubProper(t, s.PID()), syscall.SIGKILL))
		<-s.Exited()
		wantNone(t, s.mark)
	})
	t.Run("failed", func(t *testing.T) {
		err := exec.Command(mcphub(t), "serve", "--config", w.write("bad.json", "{")).Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Errorf("%v, want exit status 3", err)
		}
	})
	t.Run("nohup", func(t *testing.T) {
		cmd := exec.Command("sh", "-c", `trap '' HUP; exec "$0" "$@"`, mcphub(t), "serve", "--config", config)
		cmd.Env = w.env()
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		must(t, err)
		_, err = out.Read(make([]byte, 1))
		must(t, err)
		must(t, cmd.Process.Signal(syscall.SIGHUP))
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
		must(t, err)
		must(t, in.Close())
		said, err := io.ReadAll(out)
		must(t, err)
		if err := cmd.Wait(); err != nil || !strings.Contains(string(said), `"id":2`) {
			t.Errorf("%v, after %s", err, said)
		}
	})
}
