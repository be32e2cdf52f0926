package process

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"mcphub/children/sandbox"
)

// sysProcAttr puts the child into a group of its own, and has the kernel kill
// it when the thread that forked it ends: with the hub, that is, even when
// the hub is killed, because fork keeps the thread for as long.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// forkChild starts cmd on a thread that is kept until the process has exited: were the
// thread to end, Pdeathsig would take a healthy child with it. A thread that box has
// confined does nothing else, neither before nor afterwards: it ends with the child.
//
// One that is confined has a session of its own, and so no terminal: who shares that of
// the hub may type on it (TIOCSTI), and what is typed there a person's shell runs.
func forkChild(cmd *exec.Cmd, box *sandbox.Ruleset, b *bounds) (<-chan struct{}, error) {
	if box != nil {
		cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setpgid = true, false // the one who leads a session leads a group
	}
	started, exited := make(chan error, 1), make(chan struct{})
	go onThread(box != nil, func() {
		if box != nil {
			if err := box.Enter(); err != nil {
				started <- fmt.Errorf("it could not be confined: %w", err)
				return
			}
		}
		defer close(exited)
		err := startConfined(cmd, box)
		if started <- err; err != nil {
			return
		}
		b.awaitExit(cmd.Process.Pid)
		for again := true; again; { // the process is left to be reaped
			again = errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR)
		}
	})
	return exited, <-started
}

// startConfined starts cmd on a thread that has entered box.
func startConfined(cmd *exec.Cmd, box *sandbox.Ruleset) error {
	if box != nil && cmd.SysProcAttr.UseCgroupFD {
		if noClone3 := box.NoClone3(); noClone3 != nil {
			return startInGroup(cmd, noClone3)
		}
	}
	return cmd.Start()
}

// onThread calls f on a thread of its own. spent: the thread is of no use to others
// afterwards and ends.
func onThread(spent bool, f func()) {
	if spent {
		sandbox.OnThread(f)
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
}

// awaitExit returns when the process has exited.
func awaitExit(_ *exec.Cmd, exited <-chan struct{}) (waited bool, err error) {
	<-exited
	return false, nil
}
