package rootstest

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// KernelOpen returns the path at which the kernel finds a name; false if it does not exist.
func KernelOpen(rt *rapid.T, name string) (string, bool) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
			rt.Fatalf("open %q: %v", name, err)
		}
		return "", false
	}
	defer unix.Close(fd)
	return KernelPath(rt, fd), true
}

// KernelPath returns the path of an open file as the kernel knows it.
func KernelPath(rt *rapid.T, fd int) string {
	var buf [4096]byte
	n, err := unix.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd), buf[:])
	mustSucceed(rt, err)
	return string(buf[:n])
}
