package exposition

import (
	"time"

	"golang.org/x/sys/windows"
)

// ofSystem adds what Windows tells.
func (u *usage) ofSystem() {
	var created, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user) == nil {
		u.cpu = time.Duration(ticksOf(kernel)+ticksOf(user)) * 100
	}
}

// ticksOf are of 100 nanoseconds.
func ticksOf(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
