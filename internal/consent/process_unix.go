//go:build unix

package consent

import (
	"errors"

	"golang.org/x/sys/unix"
)

// mayWrite reports whether this process may make something in a folder.
func mayWrite(dir string) bool {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
}

// mayRun reports whether a process may be there.
func mayRun(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
