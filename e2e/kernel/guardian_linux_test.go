package kernel

import (
	"errors"
	"fmt"
	"io"
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
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// familySize is how many processes a rogue recorder starts that never end by themselves: a parent, a breeder, and others that
// hold on.
const familySize = 7

// complete reports whether all of a rogue's family are among found, at a moment when none of them is starting another: one that
// is just being started still bears the command line of who starts it. Those who are meant to be short-lived do not count.
// missing says how many cannot be told by what found was chosen by.
func complete(found []world.Process, missing int) bool {
	count := func(does string) (n int) {
		for _, p := range found {
			if strings.HasSuffix(p.Command, does) {
				n++
			}
		}
		return n
	}
	return count("-role parent") == 1 && count("-role breeder") == 1 && count("-hold") == familySize-2-missing
}

// adoptAll makes this process inherit all processes that a hub leaves behind, so that not even a zombie escapes to the first process. It
// is not for parallel tests: there is one family for all. In the end it waits for all that it has inherited: who is killed has
// lost its environment before it is a zombie, so nothing else finds it in between.
func adoptAll(t *testing.T) {
	t.Helper()
	world.Must(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	before := world.Tree(t, os.Getpid())
	t.Cleanup(func() {
		world.Must(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0))
		var left []world.Process
		none := func() bool {
			for _, p := range world.Zombies(t, os.Getpid()) {
				_, _ = syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil)
			}
			left = slices.DeleteFunc(world.Tree(t, os.Getpid()), func(p world.Process) bool {
				return slices.ContainsFunc(before, func(was world.Process) bool { return was.PID == p.PID })
			})
			return len(left) == 0
		}
		if !world.Within(world.WaitLimit, none) {
			t.Errorf("left over: %v", left)
		}
	})
}

// victim is a hub, started with nothing but pipes, that is going to be killed.
type victim struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	mark string
	out  sync.WaitGroup
}

// startVictim starts a command line with mark in its environment, and sends it the first lines of a session.
func startVictim(t *testing.T, w *world.World, attr *syscall.SysProcAttr, args []string, env ...string) *victim {
	t.Helper()
	v := &victim{t: t, mark: fmt.Sprintf("XDG_MCPHUB_E2E=%s#%d;", w.Dir, w.Sessions.Add(1))}
	v.cmd = exec.Command(args[0], args[1:]...)
	v.cmd.Dir, v.cmd.Env, v.cmd.SysProcAttr = w.Home, w.Env(append(env, v.mark)...), attr
	in, err := v.cmd.StdinPipe()
	world.Must(t, err)
	v.in = in
	out, err := v.cmd.StdoutPipe()
	world.Must(t, err)
	world.Must(t, v.cmd.Start())
	v.out.Go(func() { _, _ = io.Copy(io.Discard, out) })
	_, _ = io.WriteString(in, world.FirstLines)
	return v
}

// gone waits until no one with the mark is left and says how long that took; then no one may be a zombie either. The heir, the
// process below the one that was killed, is this test's own to wait for; no other orphan may come up to here.
func (v *victim) gone(heir int) time.Duration {
	v.t.Helper()
	begun := time.Now()
	_ = v.in.Close()
	if !world.Within(world.WaitLimit, func() bool { return len(world.Marked(v.t, v.mark)) == 0 }) {
		v.t.Errorf("left over: %v", world.Marked(v.t, v.mark))
		for _, p := range world.Marked(v.t, v.mark) {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
	took := time.Since(begun)
	v.out.Wait()
	_ = v.cmd.Wait()
	if _, err := syscall.Wait4(heir, nil, 0, nil); err != nil && !errors.Is(err, syscall.ECHILD) {
		v.t.Error(err)
	}
	for _, p := range world.Zombies(v.t, os.Getpid()) {
		_, err := syscall.Wait4(p.PID, nil, 0, nil)
		v.t.Errorf("an orphan has come out of the hub's family: %v, %v", p, err)
	}
	return took
}

// rogues returns a configuration with a rogue child, one that heeds nothing, and one that heeds all.
func rogues(w *world.World) string {
	return w.Config(obj{"rogue": w.Recorder("rogue", "-rogue"), "deaf": w.Recorder("deaf", "-ignore-term"), "plain": w.Recorder("plain")})
}

// settled reports whether all of the children of rogues are there, with the two processes of a hub and so many more.
func (v *victim) settled(more int) bool {
	found := world.Marked(v.t, v.mark)
	return len(found) >= 2+3+familySize+more && complete(found, 0)
}

// No matter which process is killed with -9, and when, nothing is left (C6): no orphan, however deaf, wherever it went, and no zombie.
func TestKilledAtAnyMoment(t *testing.T) {
	adoptAll(t)
	world.Hub(t)
	for _, c := range []struct {
		name string
		attr *syscall.SysProcAttr
		more int                            // processes beside the hub's
		args func(w *world.World) []string  // before mcphub
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
			n, r := world.LongCases(t, 3, 100), seeds.Rand(t)
			var worst time.Duration
			full := 0
			for i := range n {
				w := world.New(t)
				args, env := []string{world.Hub(t), "serve", "--config", rogues(w)}, []string(nil)
				if c.name == "client" {
					env = []string{"RECORDER_WRAP=" + world.Raw(t, args)}
					args = []string{world.Bin.Recorder}
				}
				v := startVictim(t, w, c.attr, args, env...)
				hub := 0
				guardian := v.cmd.Process.Pid
				find := func() bool {
					if c.name == "client" { // which has the guardian below it
						guardian = world.HubProper(t, v.cmd.Process.Pid)
					}
					if guardian != 0 {
						hub = world.HubProper(t, guardian)
					}
					return hub != 0
				}
				if !world.Within(world.WaitLimit, find) {
					t.Fatal("no hub below its guardian")
				}
				if i%3 == 0 { // all are there
					if !world.Within(world.WaitLimit, func() bool { return v.settled(c.more) }) {
						t.Fatalf("not all have started: %v", world.Marked(t, v.mark))
					}
				} else { // any moment: the start takes about as long
					moment := time.NewTimer(time.Duration(r.Int64N(int64(150 * time.Millisecond))))
					<-moment.C
				}
				if v.settled(c.more) {
					full++
				}
				world.Must(t, c.kill(v, hub))
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
	w := world.New(t)
	v := startVictim(t, w, nil, []string{world.Hub(t), "serve", "--config", rogues(w)}, fmt.Sprintf("MCPHUB_GUARDIAN=%d", os.Getpid()))
	if !world.Within(world.WaitLimit, func() bool { return v.settled(-1) }) {
		t.Fatalf("not all have started: %v", world.Marked(t, v.mark))
	}
	world.Must(t, v.cmd.Process.Kill())
	_ = v.cmd.Wait()
	if !world.Within(world.WaitLimit, func() bool { return len(world.Marked(t, v.mark)) == familySize }) {
		t.Errorf("left over are %v, want the family of the rogue", world.Marked(t, v.mark))
	}
	_ = v.in.Close()
	killAll := func() bool { // again and again: the family breeds and its short-lived ones end meanwhile
		left := world.Marked(t, v.mark)
		for _, p := range left {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Error(err)
			}
		}
		return len(left) == 0
	}
	if !world.Within(world.WaitLimit, killAll) {
		t.Errorf("left over: %v", world.Marked(t, v.mark))
	}
	v.out.Wait()
}

// A process that is always someone else by the time one looks ends with its child too.
func TestAHopperIsCaught(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	hopper := w.Recorder("hopper", "-hopper")
	hopper["env"].(obj)["XDG_FAMILY"] = "hopper"
	s := w.Serve(w.Config(obj{"hopper": hopper, "plain": w.Recorder("plain")}), ide.Folders(w.Project))
	s.Handshake()
	s.PIDOf("plain")
	first := s.PIDOf("hopper")
	hops := func() (all []world.Process) {
		for _, p := range world.Marked(t, "XDG_FAMILY=hopper\x00") {
			if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID)); err == nil && strings.Contains(string(env), s.Mark) {
				all = append(all, p)
			}
		}
		return all
	}
	if !world.Within(world.WaitLimit, func() bool { return slices.ContainsFunc(hops(), func(p world.Process) bool { return p.PID != first }) }) {
		t.Fatal("nobody hops")
	}
	// It cannot be started again: it has nowhere to write that down.
	world.Must(t, os.Rename(w.StateOf("hopper"), w.Path("hopper.was")))
	world.Must(t, os.Mkdir(w.StateOf("hopper"), 0o700))
	world.Must(t, syscall.Kill(first, syscall.SIGKILL))
	if !world.Within(world.WaitLimit, func() bool { return len(hops()) == 0 }) {
		t.Errorf("still there: %v", hops())
	}
	if !world.Within(world.WaitLimit, func() bool { return len(world.Zombies(t, s.PID())) == 0 }) {
		t.Errorf("zombies: %v", world.Zombies(t, s.PID()))
	}
	s.PIDOf("plain")
}

// The guardian is small, has none of the client's pipes, and its variable reaches no one.
func TestTheGuardianIsSmallAndUnseen(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	child := w.Recorder("rec")
	child["inherit"] = []string{"MCPHUB_GUARDIAN"}
	// One that is not its parent's is not believed.
	s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", w.Config(obj{"rec": child})},
		Roots: ide.Folders(w.Project), Env: w.Env("MCPHUB_GUARDIAN=1", "GODEBUG=inittrace=1")})
	s.Handshake()
	var st world.Started
	world.Decode(t, s.MustCall("rec__whoami", `{}`).Structured, &st)
	hub := world.HubProper(t, s.PID())
	if hub == 0 {
		t.Fatalf("no hub below its guardian: %v", world.Tree(t, s.PID()))
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
	if n := strings.Count(s.Stderr(), "\ninit github.com/google/jsonschema-go/jsonschema @"); n != 1 {
		t.Errorf("the largest package was initialized %d times, want once", n)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	world.Must(t, err)
	// Its own memory: pages of the program's file are shared with the hub, and how many are mapped goes by the page cache, which
	// maps whole folios of a file that was just written.
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	world.Must(t, err)
	t.Logf("the guardian has %d KiB of its own", kib)
	if kib > 3<<10 && !world.RaceDetector {
		t.Errorf("the guardian has %d KiB of its own, want at most 3 MiB", kib)
	}
}

// The end of the hub proper is the guardian's, in status too.
func TestTheGuardianEndsAsTheHubDoes(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	config := w.Config(obj{"rec": w.Recorder("rec")})
	t.Run("killed", func(t *testing.T) {
		s := w.Serve(config, nil)
		s.ExitStatus = 128 + 9
		s.Handshake()
		world.Must(t, syscall.Kill(world.HubProper(t, s.PID()), syscall.SIGKILL))
		<-s.Exited()
		world.WantNone(t, s.Mark)
	})
	t.Run("failed", func(t *testing.T) {
		err := exec.Command(world.Hub(t), "serve", "--config", w.Write("bad.json", "{")).Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Errorf("%v, want exit status 3", err)
		}
	})
	t.Run("nohup", func(t *testing.T) {
		cmd := exec.Command("sh", "-c", `trap '' HUP; exec "$0" "$@"`, world.Hub(t), "serve", "--config", config)
		cmd.Env = w.Env()
		in, err := cmd.StdinPipe()
		world.Must(t, err)
		out, err := cmd.StdoutPipe()
		world.Must(t, err)
		world.Must(t, cmd.Start())
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		world.Must(t, err)
		_, err = out.Read(make([]byte, 1))
		world.Must(t, err)
		world.Must(t, cmd.Process.Signal(syscall.SIGHUP))
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
		world.Must(t, err)
		world.Must(t, in.Close())
		said, err := io.ReadAll(out)
		world.Must(t, err)
		if err := cmd.Wait(); err != nil || !strings.Contains(string(said), `"id":2`) {
			t.Errorf("%v, after %s", err, said)
		}
	})
}
