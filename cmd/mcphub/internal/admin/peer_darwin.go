package admin

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUser asks the kernel which user is at the other end (LOCAL_PEERCRED).
func peerUser(c *net.UnixConn) (uid int, known bool, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, true, err
	}
	var cred *unix.Xucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, true, err
	}
	return int(cred.Uid), true, nil
}
