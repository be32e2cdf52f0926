package operation

import (
	"bufio"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// Speed drifts by steps that no measurement of time can see: each is within the noise of the one before. These tests count what
// noise cannot touch: system calls, and allocations before main. Each figure is the figure of the day on which it was written.
// Who has to raise one says here what for.

// traced counts the system calls of a process and its threads while something is done.
func traced(t *testing.T, pid int, do func()) map[string]int {
	t.Helper()
	out := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command("strace", "-f", "-o", out, "-p", strconv.Itoa(pid), "-e", "trace=!futex,epoll_pwait,nanosleep,sched_yield,madvise,rt_sigreturn,getpid,tgkill")
	said, err := cmd.StderrPipe()
	world.Must(t, err)
	world.Must(t, cmd.Start())
	attached := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(said)
		for first := true; lines.Scan(); first = false {
			if first && strings.Contains(lines.Text(), "attached") {
				close(attached)
			}
		}
	}()
	<-attached
	do()
	world.Must(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait() // it ends by the signal
	raw, err := os.ReadFile(out)
	world.Must(t, err)
	counts := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name, _, ok := strings.Cut(strings.TrimSpace(call), "("); ok && !strings.Contains(name, " ") {
			counts[name]++
			if strings.Contains(call, `"/proc/`) {
				counts["/proc"]++
			}
		}
	}
	return counts
}

// looks are system calls that look at the disk.
var looks = []string{"openat", "openat2", "open", "statx", "newfstatat", "stat", "lstat", "readlinkat", "readlink", "getdents64", "access", "faccessat2", "statfs"}

// TestSystemCallsOfACall: a call without a path looks at no disk, one with a path looks at it once for the path and once for the
// root that it lies in, with one root and with a thousand; each is written to the child and recorded by one write.
func TestSystemCallsOfACall(t *testing.T) {
	world.RequireLandlock(t)
	needs.Program(t, "strace")
	const calls = 200
	for _, roots := range []int{1, 1000} {
		t.Run(fmt.Sprint(roots), func(t *testing.T) {
			w := world.New(t)
			file := w.Write("project/a/b/c.txt", "x")
			dirs := []string{w.Project}
			for i := range roots - 1 {
				w.Write(fmt.Sprintf("more/%d/x", i), "x")
				dirs = append(dirs, w.Path("more", strconv.Itoa(i)))
			}
			s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(dirs...))
			s.Handshake()
			s.AwaitTool("rec__echo")
			for name, tc := range map[string]struct {
				arguments string
				looks     float64
			}{
				"without a path": {`{"text":"hello"}`, 0},
				"with a path":    {world.Raw(t, obj{"path": file}), 2}, // openat2 for the path, statx for the root; the statx of the descriptor is no look
			} {
				s.MustCall("rec__echo", tc.arguments)
				if !world.Within(world.WaitLimit, func() bool {
					kept, _ := filepath.Glob(w.Path("home", "cache", "mcphub", "catalogue", "*"))
					return len(kept) > 0
				}) {
					t.Fatal("what is known of the server is not kept") // once for each server, a moment after its start
				}
				var took time.Duration
				counts := traced(t, world.HubProper(t, s.PID()), func() {
					began := time.Now()
					for range calls {
						s.MustCall("rec__echo", tc.arguments)
					}
					took = time.Since(began)
				})
				sum := 0
				for _, look := range looks {
					sum += counts[look]
				}
				sum -= counts["openat2"] // each has the statx of what it opened
				t.Logf("%s: %v", name, counts)
				if counts["write"]+counts["writev"] < calls {
					t.Errorf("%s: %v: the calls were not traced", name, counts)
				}
				// Once a second all places are looked at, and what is protected.
				if most := tc.looks*calls + float64(roots+20)*(2+math.Floor(took.Seconds())); float64(sum) > most {
					t.Errorf("%s: %d looks at the disk in %d calls and %s, want at most %.0f: %v", name, sum, calls, took, most, counts)
				}
				// To the child, to the record, to the client; and the lines of outcomes, 128 in each.
				if written := counts["write"] + counts["writev"]; written > calls*33/10 {
					t.Errorf("%s: %d writes in %d calls", name, written, calls)
				}
			}
		})
	}
}

// TestNobodyIsLookedUpOverHTTP: a connection over TCP reads nothing in /proc.
func TestNobodyIsLookedUpOverHTTP(t *testing.T) {
	needs.Program(t, "strace")
	w := world.New(t)
	cmd := exec.Command(world.Hub(t), "serve", "--http", "127.0.0.1:0", "--config", w.Config(obj{}))
	url := w.Listening(cmd, regexp.MustCompile(`serving (http://\S+/mcp)`))
	counts := traced(t, world.HubProper(t, cmd.Process.Pid), func() {
		for range 20 {
			each := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			r, err := each.Get(url)
			world.Must(t, err)
			world.Must(t, r.Body.Close())
		}
	})
	if counts["accept4"] < 20 {
		t.Errorf("%v: the connections were not seen", counts)
	}
	if counts["/proc"] > 2 { // the hub gives pages back once, when its start is over
		t.Errorf("%d looks at /proc for 20 connections", counts["/proc"])
	}
}

// TestMemoryIsGivenBackWhenLittleIsDone: not while calls come, which would take it again at once, and soon when none do. A hub that gets
// no processor for a while has done little, too, so it is tried with three hubs.
func TestMemoryIsGivenBackWhenLittleIsDone(t *testing.T) {
	var why string
	for range 3 {
		if why = memoryUnderLoad(t); why == "" {
			return
		}
		t.Log(why)
	}
	t.Error(why)
}

// memoryUnderLoad returns why a hub did not keep its memory under load and give it back afterwards; "" if it did.
func memoryUnderLoad(t *testing.T) (why string) {
	t.Helper()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	hub := world.HubProper(t, s.PID())
	before, calls := memoryOf(t, hub, "RssFile:"), 0
	for began := time.Now(); time.Since(began) < 4*time.Second; calls++ {
		s.MustCall("rec__echo", `{"text":"hello"}`)
	}
	if now := memoryOf(t, hub, "RssFile:"); now < before*3/4 || calls < 100 {
		return fmt.Sprintf("under load: %d KiB of its program, and %d after %d calls", before, now, calls)
	}
	if !world.Within(world.WaitLimit, func() bool { return memoryOf(t, hub, "RssFile:") < before*3/4 }) {
		return fmt.Sprintf("the control: it still has %d KiB of its program", before)
	}
	return ""
}

// maxMore are the most system calls for one more server that starts with others, by the hub and by the server. What all confined servers
// open is looked at once for all, and opened once.
var maxMore = map[string]int{"newfstatat": 60, "openat2": 13, "landlock_add_rule": 60, "all looks": 150}

// TestSystemCallsOfAStart: until the tools are listed nothing waits for the disk, and nothing is written down of what servers
// offer, which is a hint. One more server costs a bounded number of looks: in one of three tries, since servers start together for a
// second, and a machine under load starts fewer in that time.
func TestSystemCallsOfAStart(t *testing.T) {
	world.RequireLandlock(t)
	needs.Program(t, "strace")
	var why []string
	for range 3 {
		one, eleven := callsOfAStart(t, 1), callsOfAStart(t, 11)
		why = nil
		for name, most := range maxMore {
			more := (eleven[name] - one[name]) / 10
			t.Logf("%s: %d for one server, %d for each more", name, one[name], more)
			if more <= 0 || more > most {
				why = append(why, fmt.Sprintf("%s: %d for one more server, want at most %d", name, more, most))
			}
		}
		if why == nil || t.Failed() {
			return
		}
	}
	t.Error(strings.Join(why, "\n"))
}

// callsOfAStart returns how often each system call of maxMore is made until the tools of so many servers are listed.
func callsOfAStart(t *testing.T, servers int) map[string]int {
	t.Helper()
	w := world.New(t)
	all := obj{}
	for i := range servers {
		all[fmt.Sprintf("s%d", i)] = w.Recorder(fmt.Sprintf("s%d", i))
	}
	out := w.Path("trace")
	calls := strings.Join(looks, ",") + ",fsync,fdatasync,execve,renameat,renameat2,rename,landlock_add_rule"
	s := w.Start(ide.Options{Command: "strace", Args: []string{"-f", "-o", out, "-e", "trace=" + calls, world.Hub(t), "serve", "--config", w.Config(all)}, Roots: ide.Folders(w.Project)})
	began := time.Now()
	s.Handshake()
	for i := range servers {
		s.AwaitTool(fmt.Sprintf("s%d__echo", i))
	}
	raw, err := os.ReadFile(out)
	world.Must(t, err)
	slow := time.Since(began) > 2*time.Second        // so long after the first server the list is written
	s.ExitStatus = s.Close(2 * world.StopBound).Code // strace fails at the end if a process that it stops is killed meanwhile
	s.End(2 * world.StopBound)
	seen := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, _, _ := strings.Cut(strings.TrimSpace(call), "(")
		if _, bounded := maxMore[name]; bounded {
			seen[name]++
		}
		switch {
		case name == "fsync", name == "fdatasync":
			t.Errorf("%d servers: a start waits for the disk: %s", servers, line)
		case strings.HasPrefix(name, "rename") && strings.Contains(line, ".catalogue") && !slow:
			t.Errorf("%d servers: what is offered is written down before it is listed: %s", servers, line)
		case slices.Contains(looks, name):
			seen["all looks"]++
		}
	}
	if started := strings.Count(string(raw), world.Bin.Recorder); started < servers {
		t.Fatalf("%d of %d servers were started", started, servers)
	}
	return seen
}

// What may be allocated before main, by all packages and by one.
const (
	maxInitBytes  = 600_000
	maxInitAllocs = 3_500
	maxInitOfOne  = 100_000

	// maxBeforeGuardian is how many packages initialize in the guardian, which uses few of them: those that it imports, and those
	// that sort before it.
	maxBeforeGuardian = 140
)

// TestPackageInit: every command pays for what packages do before main.
func TestPackageInit(t *testing.T) {
	if world.RaceDetector {
		t.Skip("it allocates by itself; .ci/run runs this without it")
	}
	w := world.New(t)
	cmd := exec.Command(world.Hub(t), "version")
	cmd.Env = append(w.Env(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	world.Must(t, err)
	bytes, allocs, packages, before := 0, 0, 0, 0
	for line := range strings.Lines(string(out)) {
		var name string
		var at, clock float64
		var b, a int
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &name, &at, &clock, &b, &a); n == 5 {
			bytes, allocs, packages = bytes+b, allocs+a, packages+1
			if strings.HasSuffix(name, "/internal/guardian") {
				before = packages
			}
			if b > maxInitOfOne {
				t.Errorf("%s allocates %d bytes before main, want at most %d", name, b, maxInitOfOne)
			}
		}
	}
	t.Logf("%d packages, %d of them in the guardian: %d bytes in %d allocations", packages, before, bytes, allocs)
	if before == 0 || before > maxBeforeGuardian {
		t.Errorf("%d packages initialize in the guardian, want at most %d", before, maxBeforeGuardian)
	}
	if packages < 20 || bytes > maxInitBytes || allocs > maxInitAllocs {
		t.Errorf("want at most %d bytes in %d allocations, of at least 20 packages", maxInitBytes, maxInitAllocs)
	}
}
