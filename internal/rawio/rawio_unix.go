//go:build unix && !linux

package rawio

import "golang.org/x/sys/unix"

// A Descriptor is one that does not block.
type Descriptor struct{}

// Write is unix.Write.
func (*Descriptor) Write(fd int, b []byte) (int, error) { return unix.Write(fd, b) }
