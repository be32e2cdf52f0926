package process

import (
	"fmt"
	"os/exec"
	"sync"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"mcphub/children/cgroup"
	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/program"
	"mcphub/children/vfork"
	"mcphub/internal/worker"
)

// bounds keep a child to its limits: by a control group, or else by adding up at intervals
// what the child and its descendants take.
type bounds struct {
	limits  program.Limits
	held    program.Limits // what the control group holds: limits, and for the rest the defaults
	group   *cgroup.Group  // nil: there is none
	refused chan struct{}  // a process may have been refused to the group
	why     string
}

// tree is made when the first child starts that has limits or is confined: the hub itself moves for it.
var tree = sync.OnceValues(cgroup.OpenDelegated)

func newBounds(l launch.Launch) bounds {
	b := bounds{limits: l.Limits, refused: make(chan struct{}, 1)}
	held := l.Sandbox != nil && l.Sandbox.Profile != nil && l.Record == nil
	if b.limits == (program.Limits{}) && !held {
		b.why = "the kernel does not confine it, and its entry has no limits"
		return b
	}
	t, err := tree()
	if err == nil && held && l.Sandbox.Kernel.Filters && !vfork.Known {
		err = errNoGroup
	}
	if err == nil {
		of := cgroup.Bounds{}
		if held {
			of = t.Default()
		}
		if b.limits.Memory > 0 {
			of.Memory, of.Swaps = b.limits.Memory, false
		}
		if b.limits.Processes > 0 {
			of.Processes = b.limits.Processes
		}
		b.held = program.Limits{Memory: of.Memory, Processes: of.Processes}
		b.group, err = t.New(of)
	}
	if err != nil {
		b.why = err.Error()
	}
	return b
}

// isGrouped reports whether the child starts in a control group.
func (bound *bounds) isGrouped() bool { return bound.group != nil }

// joinGroup has cmd start in the control group.
func (bound *bounds) joinGroup(cmd *exec.Cmd) {
	if bound.group != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, bound.group.FD()
	}
}

func (bound *bounds) reportBounds() link.Bounds {
	switch {
	case bound.group != nil:
		return link.Bounds{By: link.ByControlGroup, Memory: bound.held.Memory, Processes: bound.held.Processes}
	case bound.limits != (program.Limits{}):
		return link.Bounds{By: link.ByWatchdog, Why: bound.why, Memory: bound.limits.Memory, Processes: bound.limits.Processes}
	}
	return link.Bounds{By: link.ByNobody, Why: bound.why}
}

// awaitExit returns when a process has ended. Until then it wakes watch if the kernel may have refused a process.
func (bound *bounds) awaitExit(pid int) {
	if bound.group == nil {
		return
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(pidfd)
	bound.group.Await(pidfd, func() { worker.Signal(bound.refused) })
}

// killGroup kills everybody in the control group, if there is one.
func (bound *bounds) killGroup() {
	if bound.group != nil {
		bound.group.Kill()
	}
}

// removeGroup takes the control group away.
func (bound *bounds) removeGroup(log zerolog.Logger) {
	if bound.group == nil {
		return
	}
	if err := bound.group.Remove(); err != nil {
		log.Warn().Err(err).Msg("the control group of a child could not be removed")
	}
}

// exceededLimit returns which limit of the control group, or which default, was hit; "" if none was. The limit of the machine itself is none of
// them.
func (bound *bounds) exceededLimit(memory, processes bool) string {
	switch {
	case memory && bound.limits.Memory > 0:
		return beyondMemory(bound.limits, 0)
	case memory && bound.held.Memory > 0:
		return fmt.Sprintf("it took more memory than a server without limits.memory may, half of the machine's: %d MiB", bound.held.Memory>>20)
	case processes && bound.limits.Processes > 0:
		return beyondProcesses(bound.limits, 0)
	case processes && bound.held.Processes > 0:
		return fmt.Sprintf("it had more processes and threads than a server without limits.processes may: %d", bound.held.Processes)
	}
	return ""
}

// exceededLimit returns what is beyond the limits; "" if nothing is.
func (g *group) exceededLimit() string {
	l := g.bounds.limits
	if of := g.bounds.group; of != nil {
		return g.bounds.exceededLimit(of.Exceeded())
	}
	if l == (program.Limits{}) {
		return ""
	}
	switch memory, threads := g.descendants.sumUsage(l.Memory); {
	case l.Memory > 0 && memory > l.Memory:
		return beyondMemory(l, memory)
	case l.Processes > 0 && threads > l.Processes:
		return beyondProcesses(l, threads)
	}
	return ""
}

// sumUsage adds up what the child takes with those who descend from it beyond doubt. Memory
// that several of them share counts once if that decides whether enough is exceeded.
func (d *descendants) sumUsage(enough int64) (memory int64, threads int) {
	t, err := processTable.readTable()
	if err != nil {
		return 0, 0
	}
	all := d.knownIn(t)
	for _, p := range all {
		u := p.Usage()
		memory, threads = memory+u.Memory, threads+u.Threads
	}
	if enough == 0 || memory <= enough {
		return memory, threads
	}
	memory = 0
	for _, p := range all {
		own, err := p.ProportionalMemory()
		if err != nil {
			own = p.Usage().Memory
		}
		memory += own
	}
	return memory, threads
}
