package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// This file has the kernel ask about system calls before it makes them (seccomp user
// notification), which takes neither root nor ptrace. A process has one place only if
// the kernel asks, so one listener serves all who answer.

// A notice is a system call that waits to be made: struct seccomp_notif.
type notice struct {
	ID           uint64
	PID          uint32 // of the thread
	Flags        uint32
	Number       int32
	Architecture uint32
	Instruction  uint64
	Args         [6]uint64
}

// A notifyResponse is struct seccomp_notif_resp.
type notifyResponse struct {
	ID    uint64
	Value int64
	Error int32
	Flags uint32
}

// installListener installs a filter whose notices come on the descriptor.
func installListener(filter []unix.SockFilter, flags uintptr) (fd int, err error) {
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	n, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w", errno)
	}
	return int(n), nil
}

func ioctlOn[T any](fd int, request uint, arg *T) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(arg)))
	if errno != 0 {
		return errno
	}
	return nil
}

// A listener answers what the kernel asks about one run. Its goroutine owns all but wake and stopped.
type listener struct {
	fd   int // where the kernel asks
	wake int // an eventfd: readable once the run is over

	decider  *decider  // of calls that change attributes; nil: it is not asked about these
	broker   *broker   // of calls on files of the profile; nil: it has none
	recorder *Recorder // of all that the broker does not make; nil: nothing is noted
	profile  *Profile

	stopped chan struct{} // closed when it answers no more
}

// askFor chooses the system calls that the kernel asks about for the Ruleset: none, if no one
// is to answer.
func (rules *Ruleset) askFor() (err error) {
	var calls []uint32
	if rules.holdsAttributes() {
		calls = slices.AppendSeq(calls, maps.Keys(attributeCalls))
	}
	for number, w := range watchedCalls {
		if rules.recorder != nil || w.serve != nil && rules.folders != nil {
			calls = append(calls, number)
		}
	}
	rules.notices = nil
	if len(calls) > 0 {
		rules.notices, err = noticeFilter(calls)
	}
	return err
}

// holdsAttributes reports whether attributes are held of those who enter.
func (rules *Ruleset) holdsAttributes() bool {
	return rules.profile.Attributes && !rules.holdsNothing()
}

// holdsNothing reports whether nothing is held of those who enter.
func (rules *Ruleset) holdsNothing() bool { return rules.recorder != nil && rules.recorder.Free }

// noticeFilter has the kernel ask about some system calls. What another filter refuses is not
// asked about. Calls of 32-bit programs are not seen. io_uring is refused, because it opens
// files past any filter.
func noticeFilter(calls []uint32) ([]unix.SockFilter, error) {
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArchitecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArchitecture(), SkipTrue: 1},
		allowed,
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_IO_URING_SETUP, SkipTrue: 1}, failWith(unix.ENOSYS),
	}
	slices.Sort(calls)
	for _, number := range slices.Compact(calls) {
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF})
	}
	return assembleFilter(append(prog, allowed))
}

// startListener has the kernel ask about the calling thread, and has a listener answer.
func (rules *Ruleset) startListener() error {
	flags := uintptr(0)
	if rules.holdsAttributes() || rules.folders != nil { // else a signal would have a call made twice
		flags = unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	fd, err := installListener(rules.notices, flags)
	if err != nil {
		return err
	}
	l := &listener{fd: fd, recorder: rules.recorder, profile: rules.profile, stopped: make(chan struct{})}
	users, err := os.Readlink("/proc/thread-self/ns/user")
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		_ = unix.Close(fd)
		return fmt.Errorf("eventfd: %w", err)
	}
	rules.listener = l
	if rules.folders != nil {
		l.broker, rules.folders = &broker{rules.folders, users}, nil
	}
	if rules.holdsAttributes() {
		l.decider = newDecider(rules.profile, l.broker, users)
	}
	// Answers come sooner if the kernel hands the processor over; older kernels cannot.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	ready := make(chan error, 1)
	go OnThread(func() {
		defer close(l.stopped)
		err := error(nil)
		if !rules.holdsNothing() { // who has capabilities is looked into by those who have them
			err = dropCapabilities()
		}
		if l.broker != nil && err == nil {
			err = l.broker.prepareThread()
		}
		if ready <- err; err == nil {
			l.serveNotices()
		}
	})
	return <-ready
}

// endBound is how long end waits for the call that the listener makes. A call on a file system that
// hangs may never return.
const endBound = time.Second

// endListener has the listener answer no more, and returns when it does not, or after endBound. Then the
// listener ends when its call returns, and answers nothing until then. What is asked later fails. It
// must be called once.
func (l *listener) endListener() {
	_, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	bound := time.NewTimer(endBound)
	defer bound.Stop()
	select {
	case <-l.stopped:
		l.close()
	case <-bound.C:
		go func() {
			<-l.stopped
			l.close()
		}()
	}
}

// close gives up what the listener has open. Its goroutine has ended.
func (l *listener) close() {
	_ = unix.Close(l.wake)
	_ = unix.Close(l.fd)
	if l.broker != nil {
		closeFolders(l.broker.folders)
	}
}

// serveNotices answers until the run is over, or no process is left that could ask.
func (l *listener) serveNotices() {
	ready := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}, {Fd: int32(l.wake), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(ready, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil || ready[1].Revents != 0 || ready[0].Revents&unix.POLLIN == 0 {
			return
		}
		var n notice
		if err := ioctlOn(l.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, &n); err != nil {
			continue // a signal, or it has ended meanwhile
		}
		if a, due := l.answerNotice(&n); due {
			a.ID = n.ID
			// A process that has ended needs no answer.
			_ = ioctlOn(l.fd, unix.SECCOMP_IOCTL_NOTIF_SEND, &a)
		}
	}
}

// answerNotice decides what becomes of a call. due: the process does not know it yet.
func (l *listener) answerNotice(n *notice) (a notifyResponse, due bool) {
	if _, is := attributeCalls[uint32(n.Number)]; is && l.decider != nil {
		a.failWith(l.decider.decideNotice(l.fd, n))
		return a, true
	}
	if l.broker != nil {
		c, err := l.broker.serveCall(l.fd, n)
		switch {
		case errors.Is(err, errNotBrokered):
		case err == nil && c.fd >= 0:
			err = c.handOver()
			a.failWith(err)
			return a, err != nil
		default:
			a.failWith(err)
			return a, true
		}
	}
	if l.recorder != nil {
		l.recorder.takeNotice(l.fd, l.profile, n)
	}
	return notifyResponse{Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}, true
}

// failWith has the call fail with an error; nil: it does not fail.
func (response *notifyResponse) failWith(err error) {
	if errno, is := errors.AsType[unix.Errno](err); is {
		response.Error = -int32(errno)
	} else if err != nil {
		response.Error = -int32(unix.EPERM)
	}
}

// isValid reports whether the call still waits. What was read of a process before that is its own.
func (n *notice) isValid(fd int) bool {
	return ioctlOn(fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, &n.ID) == nil
}

func (n *notice) procPath(name string) string {
	return "/proc/" + strconv.Itoa(int(n.PID)) + "/" + name
}

// readBytes returns up to most bytes of the process at an address.
func (n *notice) readBytes(at uint64, most int) []byte {
	out := make([]byte, 0, min(most, 256))
	for len(out) < most {
		// A page at a time: the next one may not be there.
		size := min(most-len(out), 256, int(4096-at%4096))
		buf := make([]byte, size)
		got, err := unix.ProcessVMReadv(int(n.PID), []unix.Iovec{{Base: &buf[0], Len: uint64(size)}}, []unix.RemoteIovec{{Base: uintptr(at), Len: size}}, 0)
		if err != nil || got <= 0 {
			return out
		}
		out = append(out, buf[:got]...)
		if bytes.IndexByte(buf[:got], 0) >= 0 && most == unix.PathMax {
			return out
		}
		at += uint64(got)
	}
	return out
}

// readPath returns a copy of a path in the arguments.
func (n *notice) readPath(path int) (string, error) {
	text, _, ended := bytes.Cut(n.readBytes(n.Args[path], unix.PathMax), []byte{0})
	switch {
	case !ended && len(text) == unix.PathMax:
		return "", unix.ENAMETOOLONG
	case !ended:
		return "", unix.EFAULT
	}
	return string(text), nil
}

// startDirectory names the directory of the process that a path in the arguments starts from.
func (n *notice) startDirectory(dir int) string {
	if dir == cwd || int32(n.Args[dir]) == unix.AT_FDCWD {
		return "cwd"
	}
	return "fd/" + strconv.Itoa(int(int32(n.Args[dir])))
}

// splitOwn splits a path that begins at a descriptor or folder of the process itself, which
// the hub would find its own by.
func (n *notice) splitOwn(path string) (from, rest string, ok bool) {
	below, of := strings.CutPrefix(path, "/proc/")
	if !of {
		if below, of = strings.CutPrefix(path, "/dev/fd/"); !of {
			return "", "", false
		}
		below = "self/fd/" + below
	}
	who, below, _ := strings.Cut(below, "/")
	if who != "self" && who != "thread-self" && !fileExists("/proc/"+who+"/task/"+strconv.Itoa(int(n.PID))) {
		return "", "", false
	}
	from, rest, deeper := strings.Cut(below, "/")
	if from == "fd" {
		var number string
		number, rest, deeper = strings.Cut(rest, "/")
		if _, err := strconv.ParseUint(number, 10, 31); err != nil {
			return "", "", false
		}
		from += "/" + number
	} else if from != "cwd" && from != "root" {
		return "", "", false
	}
	if rest = strings.TrimLeft(rest, "/"); rest == "" && deeper {
		rest = "."
	}
	return from, rest, true
}

// openFound opens a directory or descriptor of the one who calls.
func (n *notice) openFound(name string) (fd int, err error) {
	if fd, err = findOwn(n.procPath(name)); errors.Is(err, unix.ENOENT) {
		return -1, unix.EBADF
	}
	return fd, err
}

func findOwn(path string) (fd int, err error) {
	return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
}

// openDescriptor is found, of a descriptor that is more than a path.
func (n *notice) openDescriptor(name string) (fd int, err error) {
	text, err := os.ReadFile(n.procPath(strings.Replace(name, "fd/", "fdinfo/", 1)))
	if err != nil {
		return -1, unix.EBADF
	}
	_, octal, _ := strings.Cut(string(text), "flags:\t")
	octal, _, _ = strings.Cut(octal, "\n")
	if flags, err := strconv.ParseUint(octal, 8, 64); err != nil || flags&unix.O_PATH != 0 {
		return -1, unix.EBADF
	}
	return n.openFound(name)
}
