//go:build unix

package process

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// group is a process group whose leader is the child, and descendants, those whom the
// child started and who left the group.
type group struct {
	cmd         *exec.Cmd
	descendants descendants
	bounds      bounds

	mu   sync.Mutex
	pgid int // 0 before the start and once the leader has been reaped
}

// startLeader starts cmd, by fork, as the leader of a group of its own.
func (g *group) startLeader(cmd *exec.Cmd, fork func() error) error {
	cmd.SysProcAttr = sysProcAttr()
	g.bounds.joinGroup(cmd)
	if err := g.descendants.startLeader(cmd, fork); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pgid, g.cmd = cmd.Process.Pid, cmd
	return nil
}

// reapGroup waits for the leader, whose exit exited may tell, ends who is left of its group and descendants
// (TERM, then rest, which waits a moment, then KILL), and takes the leader's status. If the system can wait
// without reaping, the leader's id names its group and nothing else until all this is done.
func (g *group) reapGroup(exited <-chan struct{}, rest func()) error {
	defer g.descendants.forgetLeader()
	waited, err := awaitExit(g.cmd, exited)
	since := time.Now()
	g.askToEnd()
	rest()
	g.descendants.awaitOthers(restGrace - time.Since(since))
	g.killAll()
	g.mu.Lock()
	g.pgid = 0
	g.mu.Unlock()
	if waited {
		return err
	}
	return g.cmd.Wait()
}

// noteDescendants looks who descends from the child while they can be told by that.
func (g *group) noteDescendants() { g.descendants.noteBelow() }

// askToEnd asks the group and those who left it to end.
func (g *group) askToEnd() {
	terminateOthers := g.descendants.findOthers() // before the first of them ends
	g.signalGroup(unix.SIGTERM)
	terminateOthers()
}

// killAll ends them all: the descendants first, which are told by parents who still live.
func (g *group) killAll() {
	g.bounds.killGroup()
	g.descendants.killAll()
	g.signalGroup(unix.SIGKILL)
}

// killAtOnce kills the group before it looks who has left it: a bomb grows while one looks.
func (g *group) killAtOnce() {
	g.signalGroup(unix.SIGKILL)
	g.killAll()
}

// signalGroup reaches every member of the group; one that is gone already (ESRCH)
// or of another user (EPERM) is not ours to end.
func (g *group) signalGroup(s unix.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pgid > 1 {
		_ = unix.Kill(-g.pgid, s)
	}
}

func describeExit(s *os.ProcessState) string {
	if ws, ok := s.Sys().(interface {
		Signaled() bool
	}); ok && ws.Signaled() {
		if w, ok := s.Sys().(interface{ Signal() unix.Signal }); ok {
			return fmt.Sprintf("was killed by signal %d (%s)", int(w.Signal()), w.Signal())
		}
	}
	return fmt.Sprintf("exited with status %d", s.ExitCode())
}
