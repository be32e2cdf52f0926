//go:build linux && (amd64 || arm64)

package vfork

import "unsafe"

// Known reports whether Start works here.
const Known = true

// Files is the limit on open files that this process was started with.
var Files = func() (l Limit) {
	const files = 7 // RLIMIT_NOFILE
	_, _ = call(prlimit, 0, files, 0, uintptr(unsafe.Pointer(&l)), 0, 0)
	return l
}()

// call makes a system call. It keeps the way back to its caller in a register: a process that shares the stack of this one uses that place of
// the stack as well.
func call(number, a1, a2, a3, a4, a5, a6 uintptr) (result, errno uintptr)

// Start makes a process that makes the calls of s. The caller must be locked to its thread, and block all signals there. Whatever the calls
// refer to must stay where it is until Start returns. errno is what Clone failed with. If no process was made, pid is 0. failed reports which of
// the calls has failed, and with what; the process has ended then and is to be waited for.
func Start(s *Script) (pid, errno uintptr, failed int, why uintptr) {
	s.failed = -1
	pid, errno = s.fork()
	return pid, errno, s.failed, s.errno
}

// fork returns in this process alone. It runs twice on one stack: the new process never returns from it, and calls nothing but call, so what
// this process finds in its frame is its own.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (s *Script) fork() (pid, errno uintptr) {
	c := &s.Clone
	pid, errno = call(c.Number, c.Args[0], c.Args[1], c.Args[2], c.Args[3], c.Args[4], c.Args[5])
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		result, errno := call(c.Number, c.Args[0], c.Args[1], c.Args[2], c.Args[3], c.Args[4], c.Args[5])
		if errno != 0 || c.Wants != 0 && result != c.Wants {
			s.failed, s.errno = i, errno
			break
		}
	}
	for {
		c := &s.Exit
		_, _ = call(c.Number, c.Args[0], 0, 0, 0, 0, 0)
	}
}
