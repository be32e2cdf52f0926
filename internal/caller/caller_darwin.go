package caller

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Peer refuses the process at the other end of a connection.
func Peer(c Conn, want Want) error {
	if want.Person {
		return errNoTerminal
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var pid int
	var failed error
	err = raw.Control(func(socket uintptr) {
		pid, failed = unix.GetsockoptInt(int(socket), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("%w: %w", errUntold, err)
	}
	return refuseProcess(pid, want)
}

// Self refuses this process.
func Self(want Want) error { return refuseProcess(os.Getpid(), want) }

func refuseProcess(pid int, want Want) error {
	own, ok := findProcess(os.Getpid())
	if !ok {
		return errUntold
	}
	return refuseServer(lineageOf(pid, findProcess), os.Getpid(), own.name, want)
}

// Started returns the time when a process has started, in microseconds since 1970; 0 if that cannot be told.
func Started(pid int) uint64 {
	p, _ := findProcess(pid)
	return p.Start
}

// findProcess asks the kernel about a process (kern.proc.pid of sysctl(3)).
func findProcess(pid int) (relative, bool) {
	if pid <= 0 { // above launchd is the kernel
		return relative{}, false
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return relative{}, false
	}
	start := info.Proc.P_starttime
	return relative{Process{pid, uint64(start.Sec)*1e6 + uint64(start.Usec)}, int(info.Eproc.Ppid), unix.ByteSliceToString(info.Proc.P_comm[:])}, true
}
