//go:build !linux && !darwin

package admin

import "net"

// peerUser: this system is not asked; the rights of the folder hold alone.
func peerUser(*net.UnixConn) (uid int, known bool, err error) { return 0, false, nil }
