package proctree

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// Subreaper makes this process the parent of all processes below it that lose theirs.
func Subreaper() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// Signal sends a signal to this very process: if it has ended meanwhile the
// error is ESRCH, no matter which process has its id now.
func (p Process) Signal(sig unix.Signal) error {
	fd, err := p.openDescriptor()
	switch {
	case errors.Is(err, unix.ENOSYS): // before Linux 5.3, or a sandbox
		return unix.Kill(p.PID, sig)
	case err != nil:
		return err
	}
	defer unix.Close(fd)
	err = unix.PidfdSendSignal(fd, sig, nil, 0)
	if errors.Is(err, unix.ENOSYS) {
		return unix.Kill(p.PID, sig)
	}
	return err
}

// openDescriptor returns a descriptor of the process that becomes readable at its end.
func (p Process) openDescriptor() (fd int, err error) {
	fd, err = unix.PidfdOpen(p.PID, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return -1, unix.ESRCH
	}
	now, statErr := Find(p.PID)
	if statErr == nil && now.Start == p.Start {
		if errors.Is(err, unix.EPERM) {
			err = unix.ENOSYS // a sandbox that refuses what it does not know
		}
		return fd, err
	}
	if err == nil {
		_ = unix.Close(fd)
	}
	return -1, unix.ESRCH
}

// Ended reports whether nothing but the status of the process is left. That
// its first thread has ended, which is all that State tells, is not enough.
func (p Process) Ended() bool {
	if p.State != 'Z' && p.State != 'X' {
		return false
	}
	fd, err := p.openDescriptor()
	if err != nil {
		return true // by now it is gone; or nothing better is known
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

// AwaitAll waits until all of them have ended, at most that long.
func AwaitAll(all []Process, atMost time.Duration) {
	deadline := time.Now().Add(atMost)
	for _, p := range all {
		fd, err := p.openDescriptor()
		if err != nil {
			continue
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			left := time.Until(deadline)
			_, err = unix.Poll(poll, int(max(0, left).Milliseconds()))
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		_ = unix.Close(fd)
	}
}

// A Family says who is to be ended.
type Family struct {
	// Members names those who are in the table and belong to the family, the
	// ended ones too: no one may wait for those before End is done. A chain of
	// processes, each of which starts the next and ends, can be faster than a
	// look at the table; what it cannot do is leave none of its dead behind.
	Members func(t *Table) []Process
	// Read reads the table; nil is Read.
	Read func() (*Table, error)
}

// End ends everybody in the family by KILL, and returns those whom that did
// not end within the given time: the kernel holds them, or they belong to
// another user. The error is the error of reading the process table.
func (f Family) End(atMost time.Duration) (left []Process, err error) {
	if f.Read == nil {
		f.Read = Read
	}
	deadline := time.Now().Add(atMost)
	foreign := map[Process]bool{}
	for {
		all, err := f.freezeAll(foreign, deadline)
		if err != nil || len(all) == 0 && len(foreign) == 0 {
			return nil, err
		}
		for _, p := range all {
			_ = p.Signal(unix.SIGKILL)
		}
		AwaitAll(all, time.Until(deadline))
		t, err := f.Read()
		if err != nil {
			return nil, err
		}
		left = nil
		over := true
		for _, p := range f.Members(t) {
			if !p.Ended() {
				left = append(left, p)
				over = over && foreign[p.Identity()]
			}
		}
		if over || !time.Now().Before(deadline) {
			return left, nil
		}
	}
}

// freezeAll stops everybody in the family, until a look at the table shows no one
// new, neither living nor ended. A process with STOP on its way can no longer
// fork, so a process that is not in the last table has no living ancestor in it.
func (f Family) freezeAll(foreign map[Process]bool, deadline time.Time) (stopped []Process, err error) {
	seen := map[Process]bool{}
	for {
		t, err := f.Read()
		if err != nil {
			return nil, err
		}
		news := false
		for _, p := range f.Members(t) {
			n := p.Identity()
			if seen[n] || foreign[n] {
				continue
			}
			seen[n], news = true, true
			switch {
			case p.Ended():
			case errors.Is(p.Signal(unix.SIGSTOP), unix.EPERM):
				foreign[n] = true
			default:
				stopped = append(stopped, p)
			}
		}
		if !news || !time.Now().Before(deadline) {
			return stopped, nil
		}
	}
}

// Identity returns what identifies a process from one table to the next.
func (p Process) Identity() Process { return Process{PID: p.PID, Start: p.Start} }

// EndAll ends everybody below this process and waits for those who become its
// children, at most that long. It must be a [Subreaper], or those who lost
// their parent are not found, and nothing else in it may wait for a child.
func EndAll(self int, atMost time.Duration) (left []Process, err error) {
	deadline := time.Now().Add(atMost)
	f := Family{Members: func(t *Table) []Process { return t.Descendants(self) }}
	for !reapAny() && err == nil && len(left) == 0 && time.Now().Before(deadline) {
		left, err = f.End(time.Until(deadline))
	}
	reapAny()
	return left, err
}

// reapAny waits for every child that has ended; none reports that there is no
// child, which for a subreaper means no descendant.
func reapAny() (none bool) {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return true
		case err != nil || pid == 0:
			return false
		}
	}
}
