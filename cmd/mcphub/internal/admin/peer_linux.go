package admin

import (
	"net"

	"mcphub/internal/caller"
)

// peerUser asks the kernel which user is at the other end (SO_PEERCRED).
func peerUser(c *net.UnixConn) (uid int, known bool, err error) {
	cred, err := caller.Credentials(c)
	if err != nil {
		return 0, true, err
	}
	return int(cred.Uid), true, nil
}
