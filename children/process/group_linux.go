package process

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// sysProcAttr puts the child into a group of its own, and has the kernel kill
// it when the thread that forked it ends: with the hub, that is, even when
// the hub is killed, because holdThread keeps the thread for as long.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// holdThread keeps the calling goroutine on its thread: were the thread to
// end, Pdeathsig would take a healthy child with it.
func holdThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// awaitExit returns when the process has ended, and leaves it to be reaped.
func awaitExit(cmd *exec.Cmd) (waited bool, err error) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return false, nil
		}
	}
}
