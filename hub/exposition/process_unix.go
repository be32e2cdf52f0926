//go:build unix

package exposition

import (
	"time"

	"golang.org/x/sys/unix"
)

// ofSystem adds what every Unix tells.
func (u *usage) ofSystem() {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil {
		u.most = uint64(l.Cur)
	}
}
