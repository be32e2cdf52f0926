package admin

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUser asks the kernel which user is at the other end (SO_PEERCRED).
func peerUser(c *net.UnixConn) (uid int, known bool, err error) {
	cred, err := credentials(c)
	if err != nil {
		return 0, true, err
	}
	return int(cred.Uid), true, nil
}

func credentials(c *net.UnixConn) (*unix.Ucred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return cred, nil
}
