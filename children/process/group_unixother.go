//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
	"time"
)

// kin is empty here: no system call tells who descends from a process that has
// ended, so those who leave the group are out of reach.
type kin struct{}

func (*kin) start(cmd *exec.Cmd) error  { return cmd.Start() }
func (*kin) note()                      {}
func (*kin) others() (terminate func()) { return func() {} }
func (*kin) rest(time.Duration)         {}
func (*kin) kill()                      {}
func (*kin) forget()                    {}

func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// holdThread has no purpose where there is no signal on a parent's death.
func holdThread() (release func()) { return func() {} }

// awaitExit reaps, as there is no waiting without it here. The id of a leader
// that was alone in its group could in theory be given to a new process before
// the group is signalled.
func awaitExit(cmd *exec.Cmd) (waited bool, err error) { return true, cmd.Wait() }
