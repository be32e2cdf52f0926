package proctree

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// The mark of whom a hub has started is a hard limit of 0 on file locks (RLIMIT_LOCKS). It passes to the one who is
// started, through fork, exec, setsid and a new environment, and stays when all above have ended. Only CAP_SYS_RESOURCE
// of the machine itself, which root has, takes it away; that of a user namespace does not.
//
// The kernel has ignored this limit since Linux 2.4.25 (getrlimit(2)), so the mark keeps no one from anything, and no one
// has a reason to set it. A system that does sets it to some number; 0 is the one value below which there is none, so who
// bears the mark can neither lose it nor look like one of those.

// errLimits means that a process shows no limits: it has ended.
var errLimits = errors.New("/proc/PID/limits is not as proc_pid_limits(5) has it")

// marking is whether this process has marked itself, and was marked before.
var marking struct {
	sync.Mutex
	done, before bool
}

// Mark marks this process, and so all that it starts from now on. The guardian of a hub does not bear the mark: by
// that a hub is told from its servers.
func Mark() error {
	marking.Lock()
	defer marking.Unlock()
	if marking.done {
		return nil
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &was); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_LOCKS, &unix.Rlimit{}); err != nil {
		return os.NewSyscallError("setrlimit", err)
	}
	marking.done, marking.before = true, was.Max == 0
	return nil
}

// Marked reports whether a process was started by a hub or by whom one has started. Of this process it reports what
// it was before Mark.
func Marked(pid int) (bool, error) {
	if pid == os.Getpid() {
		marking.Lock()
		defer marking.Unlock()
		if marking.done {
			return marking.before, nil
		}
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return false, err
	}
	return parseMark(string(text))
}

// parseMark finds the soft and the hard limit on file locks, in this order.
func parseMark(limits string) (bool, error) {
	_, rest, found := strings.Cut(limits, "\nMax file locks ")
	line, _, _ := strings.Cut(rest, "\n")
	fields := strings.Fields(line)
	if !found || len(fields) < 2 {
		return false, errLimits
	}
	return fields[1] == "0", nil
}
