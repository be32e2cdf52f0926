package rawio

import (
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxParts is how many parts one Send takes.
const maxParts = 8

// A PassedStream is a stream that was handed over by another process: a socket (NewSocket) or a
// pipe (NewPipe). It never waits in the kernel: if there is nothing to do the runtime's poller
// waits.
type PassedStream struct {
	f      *os.File
	raw    syscall.RawConn
	socket bool
	in     half
	out    half
	iov    [maxParts]unix.Iovec
	msg    unix.Msghdr
}

// half is one direction: what a call needs and brings, so that it allocates nothing.
type half struct {
	once func(fd uintptr) bool
	b    []byte
	n    int
	err  error
}

// NewPipe returns a PassedStream that owns fd: a pipe that does not block, and that was opened by
// this process, so that no one else can make it block. A pipe that was opened again knows nothing
// about RWF_NOWAIT.
func NewPipe(fd int, name string) *PassedStream {
	return newHanded(os.NewFile(uintptr(fd), name), false)
}

// NewSocket returns a PassedStream that owns fd: a socket that other processes share. The
// descriptor stays in blocking mode for the other processes. Calls made here pass MSG_DONTWAIT.
// os.NewFile registers only non-blocking descriptors with the poller, so the mode is switched for
// that moment.
func NewSocket(fd int, name string) (*PassedStream, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return nil, err
	}
	blocks := flags&unix.O_NONBLOCK == 0
	if blocks {
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, err
		}
	}
	f := os.NewFile(uintptr(fd), name)
	if blocks {
		if err := unix.SetNonblock(fd, false); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	return newHanded(f, true), nil
}

func newHanded(f *os.File, socket bool) *PassedStream {
	raw, _ := f.SyscallConn() // there is always one for a file that is open
	s := &PassedStream{f: f, raw: raw, socket: socket}
	s.in.once, s.out.once = s.receiveOnce, s.sendOnce
	return s
}

// SyscallConn gives access to the descriptor. Who uses it must not block.
func (s *PassedStream) SyscallConn() (syscall.RawConn, error) { return s.raw, nil }

// SetWriteDeadline sets the deadline of writes.
func (s *PassedStream) SetWriteDeadline(t time.Time) error { return s.f.SetWriteDeadline(t) }

// Close closes the descriptor, and ends a Read and a Write that wait.
func (s *PassedStream) Close() error { return s.f.Close() }

func (s *PassedStream) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	s.in.b = b
	err := s.raw.Read(s.in.once)
	s.in.b = nil
	switch {
	case err != nil:
		return 0, s.waitError(err)
	case s.in.err != nil:
		return 0, &fs.PathError{Op: "read", Path: s.f.Name(), Err: s.in.err}
	case s.in.n == 0:
		return 0, io.EOF
	}
	return s.in.n, nil
}

func (s *PassedStream) Write(b []byte) (done int, err error) {
	for done < len(b) {
		s.out.b = b[done:]
		err = s.raw.Write(s.out.once)
		s.out.b = nil
		if err != nil {
			return done, s.waitError(err)
		}
		if s.out.err != nil {
			return done, &fs.PathError{Op: "write", Path: s.f.Name(), Err: s.out.err}
		}
		done += s.out.n
	}
	return done, nil
}

// waitError returns the error of a wait, as files tell it.
func (s *PassedStream) waitError(err error) error {
	if _, closed := s.f.Read(nil); closed != nil {
		return closed
	}
	return err
}

// receiveOnce reads once; false: there is nothing yet.
func (s *PassedStream) receiveOnce(fd uintptr) bool {
	trap := uintptr(unix.SYS_READ)
	if s.socket {
		trap = unix.SYS_RECVFROM
	}
	n, errno := transferBytes(trap, fd, unsafe.Pointer(unsafe.SliceData(s.in.b)), uintptr(len(s.in.b)), len(s.in.b), unix.MSG_DONTWAIT)
	read()
	return s.in.noteBrought(n, errno)
}

// sendOnce writes once; false: there is no room yet.
func (s *PassedStream) sendOnce(fd uintptr) bool {
	written()
	trap := uintptr(unix.SYS_WRITE)
	if s.socket {
		trap = unix.SYS_SENDTO
	}
	n, errno := transferBytes(trap, fd, unsafe.Pointer(unsafe.SliceData(s.out.b)), uintptr(len(s.out.b)), len(s.out.b), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return s.out.noteBrought(n, errno)
}

func (h *half) noteBrought(n int, errno unix.Errno) (done bool) {
	h.n, h.err = n, nil
	if errno != 0 {
		h.n, h.err = 0, errno
	}
	return errno != unix.EAGAIN
}

// Send writes what can be written of some parts without waiting, and is called with the
// descriptor of the PassedStream by the one who writes.
func (s *PassedStream) Send(fd int, parts [][]byte) (int, error) {
	if len(parts) == 1 {
		s.out.b = parts[0]
		s.sendOnce(uintptr(fd))
		s.out.b = nil
		return s.out.n, s.out.err
	}
	parts = parts[:min(len(parts), maxParts)]
	all := 0
	for i, p := range parts {
		s.iov[i].Base = unsafe.SliceData(p)
		s.iov[i].SetLen(len(p))
		all += len(p)
	}
	written()
	var n int
	var errno unix.Errno
	if s.socket {
		s.msg.Iov = &s.iov[0]
		s.msg.SetIovlen(len(parts))
		n, errno = transferBytes(unix.SYS_SENDMSG, uintptr(fd), unsafe.Pointer(&s.msg), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, all, 0)
	} else {
		n, errno = transferBytes(unix.SYS_WRITEV, uintptr(fd), unsafe.Pointer(&s.iov[0]), uintptr(len(parts)), all, 0)
	}
	clear(s.iov[:])
	s.msg.Iov = nil
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

// transferBytes makes a system call that moves so many bytes, unannounced if they are few. Calls for
// pipes do not look at fourth.
func transferBytes(trap, fd uintptr, at unsafe.Pointer, third uintptr, size int, fourth uintptr) (int, unix.Errno) {
	for {
		var n uintptr
		var errno unix.Errno
		if size <= short {
			n, _, errno = unix.RawSyscall6(trap, fd, uintptr(at), third, fourth, 0, 0)
		} else {
			n, _, errno = unix.Syscall6(trap, fd, uintptr(at), third, fourth, 0, 0)
		}
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}
