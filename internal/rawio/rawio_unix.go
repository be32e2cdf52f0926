//go:build unix && !linux

package rawio

import "golang.org/x/sys/unix"

// Write is unix.Write.
func Write(fd int, b []byte) (int, error) { return unix.Write(fd, b) }
