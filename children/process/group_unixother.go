//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
	"time"

	"mcphub/children/sandbox"
)

// descendants is empty here: no system call lists the processes that descend from one that has
// ended, so those who leave the group are out of reach.
type descendants struct{}

func (*descendants) startLeader(_ *exec.Cmd, fork func() error) error { return fork() }
func (*descendants) noteBelow()                                       {}
func (*descendants) findOthers() (terminate func())                   { return func() {} }
func (*descendants) awaitOthers(time.Duration)                        {}
func (*descendants) killAll()                                         {}
func (*descendants) forgetLeader()                                    {}

func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// forkChild starts cmd, by the program that confines it, if there is one. Who is confined has a session of its own, and so no terminal.
func forkChild(cmd *exec.Cmd, box *sandbox.Ruleset, _ *bounds) (exited <-chan struct{}, err error) {
	if box != nil {
		argv := box.Wrap(append([]string{cmd.Path}, cmd.Args[1:]...))
		cmd.Path, cmd.Args = argv[0], argv
		cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setpgid = true, false // the leader of a session leads a group
	}
	return nil, cmd.Start()
}

// awaitExit reaps, as there is no waiting without it here. The id of a leader
// that was alone in its group could in theory be given to a new process before
// the group is signalled.
func awaitExit(cmd *exec.Cmd, _ <-chan struct{}) (waited bool, err error) { return true, cmd.Wait() }
