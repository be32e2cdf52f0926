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

// mostParts is how many parts one Send takes.
const mostParts = 8

// A Socket is a stream socket that other processes share. It blocks, as they expect, and
// does not for who reads and writes here: each call says so to the kernel (MSG_DONTWAIT), and
// where there is nothing to do the runtime's poller waits.
type Socket struct {
	f   *os.File
	raw syscall.RawConn
	in  half
	out half
	iov [mostParts]unix.Iovec
	msg unix.Msghdr
}

// half is one direction: what a call needs and brings, so that it allocates nothing.
type half struct {
	once func(fd uintptr) bool
	b    []byte
	n    int
	err  error
}

// NewSocket returns a Socket that owns fd. The poller takes no descriptor that blocks: so it
// does not for a moment.
func NewSocket(fd int, name string) (*Socket, error) {
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
		err = unix.SetNonblock(fd, false)
	}
	s := &Socket{f: f}
	if err == nil {
		s.raw, err = f.SyscallConn()
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	s.in.once, s.out.once = s.receive, s.send
	return s, nil
}

// SyscallConn is that of the descriptor. Who uses it must not block.
func (s *Socket) SyscallConn() (syscall.RawConn, error) { return s.raw, nil }

// SetWriteDeadline is that of a file.
func (s *Socket) SetWriteDeadline(t time.Time) error { return s.f.SetWriteDeadline(t) }

// Close closes the descriptor, and ends a Read and a Write that wait.
func (s *Socket) Close() error { return s.f.Close() }

func (s *Socket) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	s.in.b = b
	err := s.raw.Read(s.in.once)
	s.in.b = nil
	switch {
	case err != nil:
		return 0, s.waited(err)
	case s.in.err != nil:
		return 0, &fs.PathError{Op: "read", Path: s.f.Name(), Err: s.in.err}
	case s.in.n == 0:
		return 0, io.EOF
	}
	return s.in.n, nil
}

func (s *Socket) Write(b []byte) (done int, err error) {
	for done < len(b) {
		s.out.b = b[done:]
		err = s.raw.Write(s.out.once)
		s.out.b = nil
		if err != nil {
			return done, s.waited(err)
		}
		if s.out.err != nil {
			return done, &fs.PathError{Op: "write", Path: s.f.Name(), Err: s.out.err}
		}
		done += s.out.n
	}
	return done, nil
}

// waited is the error of a wait, as files tell it.
func (s *Socket) waited(err error) error {
	if _, closed := s.f.Read(nil); closed != nil {
		return closed
	}
	return err
}

// receive reads once; false: there is nothing yet.
func (s *Socket) receive(fd uintptr) bool {
	n, errno := transferred(unix.SYS_RECVFROM, fd, unsafe.Pointer(unsafe.SliceData(s.in.b)), uintptr(len(s.in.b)), len(s.in.b), unix.MSG_DONTWAIT)
	read()
	return s.in.brought(n, errno)
}

// send writes once; false: there is no room yet.
func (s *Socket) send(fd uintptr) bool {
	written()
	n, errno := transferred(unix.SYS_SENDTO, fd, unsafe.Pointer(unsafe.SliceData(s.out.b)), uintptr(len(s.out.b)), len(s.out.b), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return s.out.brought(n, errno)
}

func (h *half) brought(n int, errno unix.Errno) (done bool) {
	h.n, h.err = n, nil
	if errno != 0 {
		h.n, h.err = 0, errno
	}
	return errno != unix.EAGAIN
}

// Send writes what can be written of some parts without waiting, and is called with the
// descriptor of the Socket by the one who writes.
func (s *Socket) Send(fd int, parts [][]byte) (int, error) {
	if len(parts) == 1 {
		s.out.b = parts[0]
		s.send(uintptr(fd))
		s.out.b = nil
		return s.out.n, s.out.err
	}
	parts = parts[:min(len(parts), mostParts)]
	all := 0
	for i, p := range parts {
		s.iov[i].Base = unsafe.SliceData(p)
		s.iov[i].SetLen(len(p))
		all += len(p)
	}
	s.msg.Iov = &s.iov[0]
	s.msg.SetIovlen(len(parts))
	written()
	n, errno := transferred(unix.SYS_SENDMSG, uintptr(fd), unsafe.Pointer(&s.msg), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, all, 0)
	clear(s.iov[:])
	s.msg.Iov = nil
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

// transferred makes a system call that moves so many bytes, unannounced where they are few.
func transferred(trap, fd uintptr, at unsafe.Pointer, third uintptr, size int, fourth uintptr) (int, unix.Errno) {
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
