package process

import (
	"crypto/rand"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/internal/proctree"
)

// descendants are who descends from one child, wherever they went: told by the process
// tree while their parents live, and afterwards by having been seen in it, or
// by the mark in their environment.
type descendants struct {
	leader proctree.Process // as it was at its start; no one else is ever taken for it
	mark   string
	held   bool // by the kernel

	mu    sync.Mutex
	noted []proctree.Process // seen below the leader
	asked []proctree.Process // were sent TERM
}

// startLeader starts the leader, by fork.
func (d *descendants) startLeader(cmd *exec.Cmd, fork func() error) (err error) {
	d.mark = rand.Text()
	cmd.Env = append(slices.Clip(cmd.Env), proctree.InstanceVariable+"="+d.mark)
	if err := reaper.startProcess(cmd, fork, d.mark); err != nil {
		return err
	}
	if d.leader, err = proctree.Find(cmd.Process.Pid); err != nil {
		d.leader.PID = cmd.Process.Pid // without /proc the group is all there is
	}
	d.held = d.leader.Held()
	return nil
}

// mayHide reports whether a process that is held by the kernel, too, could be one of the
// descendants who hides that.
func (d *descendants) mayHide(p proctree.Process) bool {
	return d.held && p.Start >= d.leader.Start && p.Held()
}

// noteBelow remembers who is below the leader now.
func (d *descendants) noteBelow() {
	if t, err := processTable.readTable(); err == nil {
		d.noteIn(t)
	}
}

func (d *descendants) noteIn(t *proctree.Table) {
	var below []proctree.Process
	if t.Has(d.leader) {
		below = t.Descendants(d.leader.PID)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noted = slices.DeleteFunc(d.noted, func(p proctree.Process) bool {
		return !t.Has(p) || slices.ContainsFunc(below, func(b proctree.Process) bool { return b.PID == p.PID })
	})
	d.noted = append(d.noted, below...)
}

// membersIn names the descendants in a table, the leader too if it has not ended.
func (d *descendants) membersIn(t *proctree.Table) []proctree.Process {
	return d.withOrphans(t, reaper.orphansOf(t, d.mark, d.mayHide))
}

// knownIn names those whom nothing lets be another child's, the leader too: members, without
// the orphans that hide whose they are.
func (d *descendants) knownIn(t *proctree.Table) []proctree.Process {
	return d.withOrphans(t, reaper.markedIn(t, d.mark))
}

// withOrphans names the descendants in a table that are known by their parents, or are or descend
// from one of the orphans.
func (d *descendants) withOrphans(t *proctree.Table, orphans []proctree.Process) []proctree.Process {
	d.noteIn(t)
	d.mu.Lock()
	tops := slices.Clone(d.noted)
	d.mu.Unlock()
	tops = append(tops, orphans...)
	if l, ok := t.Process(d.leader.PID); ok && l.Start == d.leader.Start && !l.Ended() {
		tops = append(tops, l)
	}
	seen := map[int]bool{os.Getpid(): true}
	var all []proctree.Process
	for _, top := range tops {
		for _, p := range append([]proctree.Process{top}, t.Descendants(top.PID)...) {
			if !seen[p.PID] && t.Has(p) {
				seen[p.PID] = true
				now, _ := t.Process(p.PID) // its state, if it was noted earlier
				all = append(all, now)
			}
		}
	}
	return all
}

// findOthers looks who is not in the leader's group, which can be asked to end as
// such; terminate asks them.
func (d *descendants) findOthers() (terminate func()) {
	t, err := processTable.readTable()
	if err != nil {
		return func() {}
	}
	all := d.membersIn(t)
	return func() {
		for _, p := range all {
			if p.Group != d.leader.PID {
				_ = p.Signal(unix.SIGTERM)
			}
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asked = all
	}
}

// awaitOthers gives those who were asked a moment to end.
func (d *descendants) awaitOthers(atMost time.Duration) {
	d.mu.Lock()
	asked := d.asked
	d.mu.Unlock()
	proctree.AwaitAll(asked, max(0, atMost))
}

// killAll ends all of them. Who is left after that is stuck in the kernel, or
// belongs to another user and is not ours to end.
func (d *descendants) killAll() {
	_, _ = reaper.endFamily(d.membersIn)
}

// forgetLeader lets go of the leader's id. It has been waited for.
func (d *descendants) forgetLeader() { reaper.forgetProcess(d.leader) }

// tableReader reads the process table for all who need it at the same time: many
// children stop at once.
type tableReader struct {
	lock chan struct{} // held while the table is read

	mu   sync.Mutex
	next *tableRead // not started yet
}

type tableRead struct {
	done  chan struct{}
	table *proctree.Table
	err   error
}

var processTable = &tableReader{lock: make(chan struct{}, 1)}

// readTable returns a table that was read after the call of read.
func (reader *tableReader) readTable() (*proctree.Table, error) {
	reader.mu.Lock()
	k := reader.next
	mine := k == nil
	if mine {
		k = &tableRead{done: make(chan struct{})}
		reader.next = k
	}
	reader.mu.Unlock()
	if !mine {
		<-k.done
		return k.table, k.err
	}
	reader.lock <- struct{}{}
	reader.mu.Lock()
	reader.next = nil
	reader.mu.Unlock()
	k.table, k.err = proctree.Read()
	<-reader.lock
	close(k.done)
	return k.table, k.err
}
