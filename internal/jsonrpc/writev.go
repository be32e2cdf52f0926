//go:build linux || darwin || openbsd

package jsonrpc

import "golang.org/x/sys/unix"

func writeParts(fd int, parts [][]byte) (int, error) {
	if len(parts) == 1 {
		return unix.Write(fd, parts[0])
	}
	return unix.Writev(fd, parts)
}
