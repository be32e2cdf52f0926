package rawio

import (
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Write is unix.Write to a descriptor that does not block.
func Write(fd int, b []byte) (int, error) {
	if len(b) == 0 || len(b) > short {
		return unix.Write(fd, b)
	}
	n, errno := call(unix.SYS_WRITE, fd, b)
	if errno != 0 {
		return -1, errno
	}
	return n, nil
}

func call(trap uintptr, fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}

// reader is what Reader returns. What a read needs and brings lives in the
// struct, so that it allocates nothing.
type reader struct {
	r    io.Reader
	raw  syscall.RawConn
	once func(fd uintptr) bool
	b    []byte
	n    int
}

func newReader(r io.Reader) io.Reader {
	sc, ok := r.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	nonblocking := false
	err = raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		nonblocking = err == nil && flags&unix.O_NONBLOCK != 0
	})
	if err != nil || !nonblocking {
		return nil
	}
	q := &reader{r: r, raw: raw}
	q.once = q.attempt
	return q
}

// attempt reads once; false asks the runtime to come back when there is
// something.
func (q *reader) attempt(fd uintptr) bool {
	for {
		n, errno := call(unix.SYS_READ, int(fd), q.b)
		switch errno {
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		case 0:
			q.n = n
			return true
		default:
			return true // the ordinary read says what that is
		}
	}
}

func (q *reader) Read(b []byte) (int, error) {
	if len(b) == 0 || len(b) > short {
		return q.r.Read(b)
	}
	q.b, q.n = b, 0
	err := q.raw.Read(q.once)
	q.b = nil
	if err == nil && q.n > 0 {
		return q.n, nil
	}
	return q.r.Read(b) // the end, closed, or broken
}

// writer makes one attempt to write, whatever the descriptor is.
type writer struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool
	b    []byte
	n    int
}

func newWriter(c syscall.Conn) *writer {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	w := &writer{raw: raw}
	w.once = func(fd uintptr) bool {
		if n, errno := call(unix.SYS_WRITE, int(fd), w.b); errno == 0 {
			w.n = n
		}
		return true
	}
	return w
}

// write writes what can be written; false: nothing was.
func (w *writer) write(b []byte) (n int, ok bool) {
	w.b, w.n = b, 0
	err := w.raw.Write(w.once)
	w.b = nil
	return w.n, err == nil && w.n > 0
}
