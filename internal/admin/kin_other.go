//go:build !linux

package admin

import "net"

// peerProcess: this system is not asked.
func peerProcess(*net.UnixConn) (pid int, known bool, err error) { return 0, false, nil }

// mayApprove refuses nobody where the process is not known.
func mayApprove(_, _, _ int) error { return nil }

// mayAdminister likewise.
func mayAdminister(_, _ int) error { return nil }
