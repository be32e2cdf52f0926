package validate

import (
	"time"

	"golang.org/x/sys/unix"
)

// spent returns the processor time of this thread: what a busy machine takes from it does not count.
func spent() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
