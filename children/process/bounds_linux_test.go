package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/program"
	"mcphub/e2e/needs"
	"mcphub/internal/proctree"
)

// envBomb makes the test program a bomb: "memory", or "fork" with how often each forks.
const envBomb = "MCPHUB_TEST_BOMB"

const (
	bombSize  = 300 << 20 // what the memory bomb takes at most
	bombDepth = 7         // of the fork bomb: 2^7 processes at most, each of the Go runtime
)

func TestMain(m *testing.M) {
	kind, depth, _ := strings.Cut(os.Getenv(envBomb), " ")
	switch kind {
	case "report":
		reportSelf()
	case "leave":
		leaveGroup(depth)
	case "memory":
		memoryBomb()
	case "fork":
		n, _ := strconv.Atoi(depth)
		forkBomb(n)
	default:
		os.Exit(m.Run())
	}
}

// memoryBomb fills memory up to bombSize, says so and waits for the end of its input.
func memoryBomb() {
	var all [][]byte
	for size := 0; size < bombSize; size += 4 << 20 {
		b := make([]byte, 4<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println("went off", len(all))
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// forkBomb starts two of its kind until n is 0. They lose their parents and keep the
// output open, but for the first, which says how many there are when all have started.
func forkBomb(n int) {
	if n == 0 {
		fmt.Println("one")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	time.Sleep(50 * time.Millisecond) // it is the generations that count, not how fast the machine is
	for range 2 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=fork %d", envBomb, n-1))
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		if err := cmd.Start(); err != nil {
			fmt.Println("refused", err)
			_, _ = io.Copy(io.Discard, os.Stdin)
			return
		}
	}
	if n == bombDepth {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
}

// startBomb starts a bomb, and a neighbour without limits that must outlive it.
func startBomb(t *testing.T, bomb string, l program.Limits) (p, neighbour *process) {
	t.Helper()
	if _, err := AdoptOrphans(); err != nil {
		t.Fatal(err)
	}
	start := func(env []string, l program.Limits, command string) *process {
		p, err := startProcess(launch.Launch{Command: command, Dir: "/", Env: env, Limits: l}, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.stopWithin(time.Second); p.drainStderr() })
		return p
	}
	neighbour = start(nil, program.Limits{}, "/bin/cat")
	return start([]string{envBomb + "=" + bomb, "GOMAXPROCS=1"}, l, os.Args[0]), neighbour
}

// lines counts the ones that a child writes until its end, or until there are so many.
func lines(p *process, most int) (n int, last string) {
	r := bufio.NewScanner(p.stdout)
	for n < most && r.Scan() {
		n, last = n+1, r.Text()
	}
	return n, last
}

// survives reports whether a child still answers.
func survives(t *testing.T, p *process) {
	t.Helper()
	if _, err := p.stdin.WriteString("there\n"); err != nil {
		t.Fatal(err)
	}
	if n, said := lines(p, 1); n != 1 || said != "there" {
		t.Errorf("the neighbour said %q", said)
	}
}

// A server that takes more memory than it may is ended, alone.
func TestMemoryBomb(t *testing.T) {
	p, neighbour := startBomb(t, "memory", program.Limits{Memory: 100 << 20})
	if n, last := lines(p, 1); n != 0 {
		t.Errorf("the bomb went off: %s", last)
	}
	<-p.ended
	if text := fmt.Sprint(p.exitError()); !strings.Contains(text, "it took more memory than limits.memory of its entry, 100 MiB") {
		t.Error(text)
	}
	survives(t, neighbour)
}

// Without the limit it takes all that it wants, and the race detector some more.
func TestMemoryBombControl(t *testing.T) {
	p, _ := startBomb(t, "memory", program.Limits{Memory: 8 * bombSize})
	if n, last := lines(p, 1); n != 1 || !strings.HasPrefix(last, "went off") {
		t.Errorf("the bomb did not go off: %v", p.exitError())
	}
}

// A server that starts more processes than it may is ended with all of them, alone, also
// those whose parents have ended.
func TestForkBomb(t *testing.T) {
	p, neighbour := startBomb(t, "fork "+strconv.Itoa(bombDepth), program.Limits{Processes: 60})
	lines(p, 1<<bombDepth+1) // how far it gets is a matter of the machine
	<-p.ended
	if text := fmt.Sprint(p.exitError()); !strings.Contains(text, "it had more processes and threads than limits.processes of its entry, 60") {
		t.Error(text)
	}
	if left := bombsLeft(t); left > 0 {
		t.Errorf("%d processes are left", left)
	}
	survives(t, neighbour)
}

// Without the limit it starts all that it wants.
func TestForkBombControl(t *testing.T) {
	p, _ := startBomb(t, "fork "+strconv.Itoa(bombDepth), program.Limits{Processes: 1 << 16})
	n, last := lines(p, 1<<bombDepth)
	if left := bombsLeft(t); n != 1<<bombDepth || left < n {
		t.Errorf("%d processes, and %d live: %s", n, left, last)
	}
}

// bombsLeft counts the processes that are the fork bomb's.
func bombsLeft(t *testing.T) (n int) {
	t.Helper()
	table, err := proctree.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range table.Descendants(os.Getpid()) {
		if !p.Ended() && p.Variable(envBomb) != "" {
			n++
		}
	}
	return n
}

// Memory that processes share counts once.
func TestSharedMemoryCountsOnce(t *testing.T) {
	python := needs.Program(t, "python3")
	const script = `import os
b = bytearray(60 << 20)
for _ in range(4):
    if os.fork() == 0: break
print("up", flush=True)
input()`
	p, err := startProcess(launch.Launch{Command: python, Args: []string{"-c", script}, Dir: "/", Env: os.Environ(), Limits: program.Limits{Memory: 200 << 20}}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.stopWithin(time.Second); p.drainStderr() })
	if n, _ := lines(p, 5); n != 5 {
		t.Fatal(p.exitError())
	}
	if p.group.bounds.group == nil {
		if resident, _ := p.group.descendants.sumUsage(0); resident < 300<<20 {
			t.Errorf("control: together they have %d MiB mapped", resident>>20)
		}
		if own, _ := p.group.descendants.sumUsage(200 << 20); own > 120<<20 {
			t.Errorf("%d MiB are theirs", own>>20)
		}
	}
	if what := p.group.exceededLimit(); what != "" {
		t.Error(what)
	}
}

// What the kernel has refused is told by the limit of the entry, else by the default, and not at all if neither bounds it: then it was the
// machine. The bombs show the first two if this process may divide its control group.
func TestWhichBoundWasHit(t *testing.T) {
	t.Parallel()
	defaults := program.Limits{Memory: 8 << 30, Processes: 4096}
	for _, c := range []struct {
		limits, held      program.Limits
		memory, processes bool
		want              string
	}{
		{program.Limits{}, defaults, true, false, "it took more memory than a server without limits.memory may, half of the machine's: 8192 MiB"},
		{program.Limits{}, defaults, false, true, "it had more processes and threads than a server without limits.processes may: 4096"},
		{program.Limits{Memory: 1 << 20}, program.Limits{Memory: 1 << 20, Processes: 4096}, true, false, "it took more memory than limits.memory of its entry, 1 MiB"},
		{program.Limits{Memory: 1 << 20}, program.Limits{Memory: 1 << 20, Processes: 4096}, false, true, "it had more processes and threads than a server without limits.processes may: 4096"},
		{program.Limits{Processes: 9}, program.Limits{Memory: 8 << 30, Processes: 9}, false, true, "it had more processes and threads than limits.processes of its entry, 9"},
		{program.Limits{}, defaults, false, false, ""},
		{program.Limits{Processes: 9}, program.Limits{Processes: 9}, true, false, ""},
		{program.Limits{}, program.Limits{Memory: 8 << 30}, false, true, ""},
	} {
		b := bounds{limits: c.limits, held: c.held}
		if got := b.exceededLimit(c.memory, c.processes); got != c.want {
			t.Errorf("%+v, held to %+v, memory %t, processes %t: %q", c.limits, c.held, c.memory, c.processes, got)
		}
	}
}

// What holds a child is told.
func TestBoundsReport(t *testing.T) {
	for _, c := range []struct {
		limits program.Limits
		want   []link.Bounder
	}{{program.Limits{}, []link.Bounder{link.ByNobody}}, {program.Limits{Processes: 9}, []link.Bounder{link.ByControlGroup, link.ByWatchdog}}} {
		p, err := startProcess(launch.Launch{Command: "/bin/cat", Dir: "/", Limits: c.limits}, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		r := p.group.bounds.reportBounds()
		if r.By != c.want[0] && r.By != c.want[len(c.want)-1] || (r.By == link.ByControlGroup) != (r.Why == "") || r.Processes != c.limits.Processes {
			t.Errorf("%+v", r)
		}
		t.Logf("held by %q %s", r.By, r.Why)
		_ = p.stdin.Close()
		<-p.ended
		p.drainStderr()
		if err := p.exitError(); err != nil {
			t.Error(err)
		}
	}
}
