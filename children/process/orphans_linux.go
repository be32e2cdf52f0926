package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/internal/proctree"
	"mcphub/internal/worker"
)

// processReaper is what the kernel knows as the children of this process: those
// whom it started, which are waited for if they were started, and those whom it
// inherited. It is one for the process because that is how the kernel has it.
type processReaper struct {
	dead chan struct{} // there may be inherited processes to wait for

	named sync.Once

	// forking is held for reading from before a process is started until it is in own: one
	// that is not yet known would be taken for an inherited one. Many start at a time.
	forking sync.RWMutex

	mu       sync.Mutex
	own      map[int]string // started here and not yet waited for: process id to mark
	adopting bool           // all others are inherited
	ending   int            // how many families are just being ended: see proctree.Family
	// gone are the processes that left own while a family is being ended. A table that was read before still has them.
	gone map[proctree.Process]bool
}

var reaper = &processReaper{own: map[int]string{}, gone: map[proctree.Process]bool{}, dead: make(chan struct{}, 1)}

// endFamily ends a family within reapGrace. No one is waited for meanwhile.
func (r *processReaper) endFamily(members func(t *proctree.Table) []proctree.Process) ([]proctree.Process, error) {
	r.mu.Lock()
	r.ending++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ending--; r.ending == 0 {
			clear(r.gone)
			worker.Signal(r.dead)
		}
	}()
	return proctree.Family{Members: members, Read: processTable.readTable}.End(reapGrace)
}

// startProcess starts a process that is its own. Before the first this process
// is named for what it is, and marked: who descends from it can be told by that, whatever they do.
func (r *processReaper) startProcess(cmd *exec.Cmd, fork func() error, mark string) error {
	r.named.Do(func() {
		_ = proctree.Rename(proctree.HubName) // without /proc no one looks
		_ = proctree.Mark()                   // a kernel that refuses this leaves the name; no hub is shared on it
	})
	r.forking.RLock()
	defer r.forking.RUnlock()
	if err := fork(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own[cmd.Process.Pid] = mark
	return nil
}

func (r *processReaper) forgetProcess(p proctree.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.own, p.PID)
	if r.ending > 0 {
		r.gone[p.Identity()] = true
	}
}

// inheritedIn returns the children in t that were not started here, and what was
// in own then. The table was read before the locks are taken, so all that is in
// it and was started here has become known by then.
func (r *processReaper) inheritedIn(t *proctree.Table) (all []proctree.Process, own map[int]string) {
	r.forking.Lock()
	defer r.forking.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	own = maps.Clone(r.own)
	if !r.adopting {
		return nil, own
	}
	for _, p := range t.Children(os.Getpid()) {
		if _, mine := own[p.PID]; !mine && !r.gone[p.Identity()] {
			all = append(all, p)
		}
	}
	return all, own
}

// orphansOf returns the inherited processes that are to go when the child with this mark goes: they
// bear it, or the mark of no one who lives, or no mark that can be read while no one else lives who
// could have started them. If the kernel confined the child, it confines the child's orphans too. A
// confined orphan that hides its mark ends with the first child that it could belong to. Else it
// would keep the rights of that child. Those who have ended are among them: see proctree.Family.
func (r *processReaper) orphansOf(t *proctree.Table, mark string, mayHide func(proctree.Process) bool) []proctree.Process {
	all, own := r.inheritedIn(t)
	var out []proctree.Process
	for _, p := range all {
		bears := p.Variable(proctree.InstanceVariable)
		if p.Ended() || goesWith(bears, p, t, own, mark, bears == "" && mayHide(p)) {
			out = append(out, p)
		}
	}
	return out
}

// markedIn returns the inherited processes that bear a mark.
func (r *processReaper) markedIn(t *proctree.Table, mark string) (out []proctree.Process) {
	all, _ := r.inheritedIn(t)
	for _, p := range all {
		if p.Variable(proctree.InstanceVariable) == mark {
			out = append(out, p)
		}
	}
	return out
}

func goesWith(bears string, p proctree.Process, t *proctree.Table, own map[int]string, mark string, mayHide bool) bool {
	if bears == mark {
		return true
	}
	for pid, other := range own {
		if other == mark {
			continue
		}
		if bears == other {
			return false
		}
		// A process that started before it may be its ancestor.
		if l, ok := t.Process(pid); bears == "" && !mayHide && ok && l.Start <= p.Start {
			return false
		}
	}
	return true
}

// reapInherited waits for the ones of the inherited who have ended, and for no one
// else: the status of the others is awaited elsewhere.
func (r *processReaper) reapInherited(t *proctree.Table) {
	all, _ := r.inheritedIn(t)
	for _, p := range all {
		if p.Ended() {
			r.waitFor(p.PID)
		}
	}
}

// waitFor waits for an inherited process that has ended. Nothing is started meanwhile, so
// its id is not given to one of ours.
func (r *processReaper) waitFor(pid int) {
	r.forking.Lock()
	defer r.forking.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, mine := r.own[pid]; !mine && r.adopting && r.ending == 0 {
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	}
}

// endedChild reports whether a child, of whatever kind, has ended and is not
// yet waited for. Without any child the error is ECHILD.
func endedChild() (bool, error) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return info.Signo != 0, err
		}
	}
}

// Orphans are the processes that this process inherits: who descends from a
// child of ours and lost its own parent.
type Orphans struct{}

// AdoptOrphans makes this process inherit, on Linux, who descends from it and
// loses its parent, so that no one who is started below can get away from it.
// It is for a program in which this package alone starts others: all children
// that it did not start are taken to be inherited. Elsewhere it does nothing.
func AdoptOrphans() (*Orphans, error) {
	if err := proctree.Subreaper(); err != nil {
		return nil, fmt.Errorf("orphans cannot be adopted: %w", err)
	}
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	reaper.adopting = true
	return &Orphans{}, nil
}

// reapPause is the least time between two looks for inherited processes that
// have ended.
const reapPause = 50 * time.Millisecond

// Run waits for inherited processes that end, until ctx ends. Then it ends
// everybody who is left below this process: a Supervisor must have returned by
// then. The error names who could not be ended.
func (o *Orphans) Run(ctx context.Context) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return o.endAll()
		case <-ended:
		case <-reaper.dead:
		}
		select {
		case <-ctx.Done():
			return o.endAll()
		case <-pause.C:
		}
		o.reapAll()
		pause.Reset(reapPause)
	}
}

// reapAll waits for all inherited processes that have ended.
func (o *Orphans) reapAll() {
	if ended, _ := endedChild(); !ended {
		return
	}
	if t, err := processTable.readTable(); err == nil {
		reaper.reapInherited(t)
	}
}

func (o *Orphans) endAll() error {
	defer func() {
		reaper.mu.Lock()
		defer reaper.mu.Unlock()
		reaper.adopting = false
	}()
	deadline := time.Now().Add(reapGrace)
	for {
		if _, err := endedChild(); errors.Is(err, unix.ECHILD) {
			return nil // a subreaper without a child has no descendant
		}
		left, err := reaper.endFamily(func(t *proctree.Table) []proctree.Process { return t.Descendants(os.Getpid()) })
		o.reapAll()
		for _, p := range left {
			err = errors.Join(err, fmt.Errorf("process %d did not end, not even by KILL: it belongs to another user, or is stuck in the kernel", p.PID))
		}
		if err != nil || !time.Now().Before(deadline) {
			return err
		}
	}
}
