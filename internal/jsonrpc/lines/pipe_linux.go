package lines

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// widePipe is what a pipe that has carried a large frame is made to hold: the
// one side then need not stop and wait for the other at every 64 KiB. It is
// half of what the system lets anybody have for one pipe, and counts against
// what it lets a user have for all of them: so it is done when needed.
const widePipe = 512 << 10

// widenPipe makes a stream that is a pipe of the system hold more. If that
// cannot be it works as it is.
func widenPipe(stream any) {
	sc, ok := stream.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if n, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); err == nil && n < widePipe {
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, widePipe)
		}
	})
}
