package operation

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// remains are processes that must end soon.
type remains struct {
	what  string
	since time.Time
	mark  string // of their environment, or
	pids  []int
}

// havoc kills the processes of a world, one after the other.
type havoc struct {
	*attached
	servers   []string
	callers   []*caller
	hub       int
	remains   []remains
	longest   time.Duration // that anything remained
	generator *rand.Rand
	kills     map[string]int
	lost      map[string]time.Time // servers that were killed: their calls may fail for a moment
}

const victims = 4 // clients at a time

// soon is when that must be gone which must go.
var soon = bounds.Of(5 * time.Second)

// TestKilledAtAnyMoment kills with -9, at random moments while clients call all the time: an adapter, a client, a server, the
// hub, its guardian. Nothing that was only its own is left; the other clients' calls go on, at another hub if it was what served them
// all; the record is whole. MCPHUB_LONG_CASES says how many moments.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	a := sharing(t, obj{})
	own := a.Recorder("own", "-ignore-term", "-grandchild")
	own["env"].(obj)["CLIENT_MARK"] = "${CLIENT_MARK}"
	some := a.Recorder("some", "-ignore-term", "-grandchild")
	some["share"] = "roots"
	all := a.Recorder("all", "-rogue")
	all["share"] = "all"
	a.config = a.Config(obj{"own": own, "some": some, "all": all}, obj{"attach": obj{"mode": "auto", "idle": "1s"}})
	h := &havoc{attached: a, servers: []string{"all", "own", "some"}, generator: seeds.Rand(t), kills: map[string]int{}, lost: map[string]time.Time{}}
	for range victims {
		h.another()
	}
	h.allGoOn()
	moments := world.LongCases(t, 7, 1000)
	for moment := range moments {
		h.waitForAMoment()
		what := []string{"adapter", "client", "server", "hub", "guardian"}[h.generator.IntN(5)]
		if moment < 5 { // each at least once
			what = []string{"adapter", "client", "server", "hub", "guardian"}[moment]
		}
		h.strike(what)
		if t.Failed() {
			t.Fatalf("moment %d (%s)", moment, what)
		}
		if moment%100 == 99 {
			h.verify()
			t.Logf("%d moments: %v", moment+1, h.kills)
		}
	}
	h.allGoOn()
	h.spared()
	for _, c := range h.callers {
		if end := c.leave(); !strings.HasPrefix(end, "0 ") {
			t.Errorf("a client that was spared ended so: %s", end)
		}
	}
	h.settle(0)
	h.ends()
	h.verify()
	for _, server := range h.servers {
		if starts := len(h.Starts(server)); starts < 2 {
			t.Errorf("%s was started %d times: nothing was shown", server, starts)
		}
	}
	t.Logf("%d moments: %v; the last of anything was gone after %s", moments, h.kills, h.longest.Round(time.Millisecond))
}

// another starts a client in one of the projects.
func (h *havoc) another() *caller {
	root := h.Project
	if h.generator.IntN(2) == 0 {
		root = h.Other
	}
	c := h.call(world.Hub(h.T), root, h.servers...)
	h.callers = append(h.callers, c)
	return c
}

// allGoOn waits until every server has answered every client.
func (h *havoc) allGoOn() {
	h.T.Helper()
	for _, c := range h.callers {
		c.goesOn(h.T, h.servers...)
	}
	if h.hub == 0 || syscall.Kill(h.hub, 0) != nil {
		var r report
		if !world.Within(soon, func() bool { r = h.status(); return len(r.Hubs) == 1 }) || !r.Hubs[0].Shared { // the last one may be ending
			h.T.Fatalf("there is not one shared hub: %+v", r)
		}
		h.hub = r.Hubs[0].PID
	}
}

// waitForAMoment waits for some answers of anybody, and a little longer.
func (h *havoc) waitForAMoment() {
	c := h.callers[h.generator.IntN(len(h.callers))]
	for range h.generator.IntN(30) {
		select {
		case <-c.pulse:
		case <-time.After(100 * time.Millisecond):
		}
	}
	<-time.After(time.Duration(h.generator.IntN(2000)) * time.Microsecond)
}

// strike kills one process and looks at what becomes of the others.
func (h *havoc) strike(what string) {
	h.T.Helper()
	h.kills[what]++
	victim := h.callers[h.generator.IntN(len(h.callers))]
	switch what {
	case "adapter":
		victim.mu.Lock()
		pid := victim.adapter
		victim.mu.Unlock()
		if pid == 0 {
			return // it has not been started
		}
		kill(h.T, pid)
		h.gone(victim)
		h.remain(remains{what: "what was an adapter's", mark: victim.mark})
		h.another()
	case "client":
		world.Must(h.T, victim.cmd.Process.Kill())
		h.gone(victim)
		h.remain(remains{what: "what was a client's", mark: victim.mark})
		h.another()
	case "server":
		all := slices.DeleteFunc(world.Marked(h.T, "HOME="+h.Home), func(p world.Process) bool {
			return !strings.HasPrefix(p.Command, world.Bin.Recorder) || strings.Contains(p.Command, "-hold") || strings.Contains(p.Command, "-role")
		})
		if len(all) == 0 {
			return
		}
		server := all[h.generator.IntN(len(all))].PID
		h.lost[h.nameOf(server)] = time.Now()
		family := h.family(server)
		_ = syscall.Kill(server, syscall.SIGKILL) // it may have ended meanwhile
		h.remain(remains{what: "the family of a server", pids: family})
	case "hub", "guardian":
		h.strikeHub(what == "guardian")
		return
	}
	h.spared()
	if h.generator.IntN(2) == 0 {
		h.allGoOn()
		h.spared()
	}
	h.settle(soon)
}

// spared looks whether no call has failed that nothing was killed under.
func (h *havoc) spared() {
	h.T.Helper()
	for _, c := range h.callers {
		for _, f := range c.failures() {
			if f.heard.Sub(h.lost[f.server]) > bounds.Of(3*time.Second) {
				h.T.Errorf("a call of %s failed for a client that was spared: %s", f.server, f.why)
			}
		}
	}
}

// strikeHub kills what serves all clients. They go on at another hub.
func (h *havoc) strikeHub(guardian bool) {
	h.T.Helper()
	h.allGoOn()
	h.spared() // what failed before has another reason
	victim, top := h.hub, parentOf(h.T, h.hub)
	if guardian {
		victim = top
	}
	family := h.family(top)
	kill(h.T, victim)
	h.hub = 0
	h.remain(remains{what: "what was the hub's", pids: family})
	// The hub ends a moment after its guardian. What is on record then would end the clients after the fourth time.
	var ends []string
	if !world.Within(world.WaitLimit, func() bool {
		var err error
		ends, err = filepath.Glob(filepath.Join(h.runtime(), "mcphub*", "*.ends"))
		world.Must(h.T, err)
		return len(ends) == 1
	}) {
		h.T.Errorf("the end of the hub is on record in %q", ends)
	}
	h.allGoOn()
	for _, f := range ends {
		world.Must(h.T, os.Remove(f))
	}
	for _, c := range h.callers {
		for _, f := range c.failures() { // each call that was open
			if !strings.Contains(f.why, "may have run") && !strings.Contains(f.why, "so nothing was done") {
				h.T.Errorf("a call of %s failed with the hub: %s", f.server, f.why)
			}
		}
	}
	clear(h.lost)
	h.settle(soon)
}

func (h *havoc) runtime() string {
	for _, pair := range h.env {
		if dir, ok := strings.CutPrefix(pair, "XDG_RUNTIME_DIR="); ok {
			return dir
		}
	}
	return ""
}

// gone waits until a client that lost its adapter or was killed is no more.
func (h *havoc) gone(c *caller) {
	h.T.Helper()
	if !world.Within(soon, c.hasEnded) {
		h.T.Fatal("a client has not ended")
	}
	h.callers = slices.DeleteFunc(h.callers, func(o *caller) bool { return o == c })
}

// nameOf returns the name of a server by its environment.
func (h *havoc) nameOf(pid int) string {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	_, rest, _ := strings.Cut(string(env), "RECORDER_FILE="+h.Path("records")+"/")
	name, _, _ := strings.Cut(rest, ".record")
	return name
}

// family returns a process and who descends from it.
func (h *havoc) family(pid int) (pids []int) {
	for _, p := range world.Tree(h.T, pid) {
		pids = append(pids, p.PID)
	}
	return pids
}

func (h *havoc) remain(r remains) {
	r.since = time.Now()
	h.remains = append(h.remains, r)
}

// settle looks whether what must end has ended in time; with 0 it waits for all of it.
func (h *havoc) settle(patience time.Duration) {
	h.T.Helper()
	look := func() bool {
		alive := map[int]bool{}
		for _, p := range world.Marked(h.T, "XDG_MCPHUB_E2E="+h.Dir) {
			alive[p.PID] = true
		}
		h.remains = slices.DeleteFunc(h.remains, func(r remains) bool {
			took := time.Since(r.since)
			left := slices.ContainsFunc(r.pids, func(pid int) bool { return alive[pid] }) || r.mark != "" && len(world.Marked(h.T, r.mark)) > 0
			if !left {
				h.longest = max(h.longest, took)
			}
			return !left
		})
		return len(h.remains) == 0
	}
	look()
	if patience == 0 {
		world.Within(soon, look)
	}
	for _, r := range h.remains {
		if time.Since(r.since) >= soon {
			h.T.Errorf("%s is left after %s: %v %v", r.what, time.Since(r.since), r.pids, world.Marked(h.T, r.mark))
		}
	}
}

// verify has the record verified by the program.
func (h *havoc) verify() {
	h.T.Helper()
	if said, code := h.Command("audit", "verify"); code != 0 {
		h.T.Errorf("audit verify: %d %s", code, said)
	}
}
