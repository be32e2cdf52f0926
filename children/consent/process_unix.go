//go:build unix

package consent

import (
	"errors"

	"golang.org/x/sys/unix"
)

// mayRun reports whether a process may be there.
func mayRun(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
