package rawio

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Pipes and sockets are read and written by preadv2(2) and pwritev2(2)
// with RWF_NOWAIT: they do not block even where someone else has made the
// descriptor one that does, as every process may that shares our standard streams.
// A call that blocks unannounced would hold up the collector, and with it
// everything.

// transfer is one of them. The iovec lives in it, so that nothing is allocated.
type transfer struct{ iov unix.Iovec }

func (t *transfer) transferOnce(trap uintptr, fd uintptr, b []byte) (int, unix.Errno) {
	t.iov.Base = unsafe.SliceData(b)
	t.iov.SetLen(len(b))
	const here = ^uintptr(0) // the offset -1: the place at which the descriptor is
	n, _, errno := unix.RawSyscall6(trap, fd, uintptr(unsafe.Pointer(&t.iov)), 1, here, offsetHigh, unix.RWF_NOWAIT)
	t.iov.Base = nil
	return int(n), errno
}

// offsetHigh is the upper half of the offset -1 if a long has 32 bits.
const offsetHigh = ^uintptr(0) * (1 - unsafe.Sizeof(uintptr(0))/8)

// isLacking reports whether the kernel has no such transfer for a descriptor.
func isLacking(errno unix.Errno) bool {
	return errno == unix.EOPNOTSUPP || errno == unix.ENOSYS || errno == unix.EINVAL
}

// A Descriptor is one that does not block, for one writer at a time.
type Descriptor struct {
	announced bool // it cannot be had otherwise
}

// Write is unix.Write.
func (d *Descriptor) Write(fd int, b []byte) (int, error) {
	if len(b) == 0 || len(b) > short || d.announced {
		return unix.Write(fd, b)
	}
	written()
	var t transfer
	n, errno := t.transferOnce(unix.SYS_PWRITEV2, uintptr(fd), b)
	switch {
	case errno == 0:
		return n, nil
	case isLacking(errno):
		d.announced = true
		return unix.Write(fd, b)
	}
	return -1, errno
}

// reader is what Reader returns.
type reader struct {
	r     io.Reader
	raw   syscall.RawConn
	once  func(fd uintptr) bool
	b     []byte
	n     int
	t     transfer
	plain bool // the kernel cannot do it
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
		return nil // the poller knows nothing about it
	}
	q := &reader{r: r, raw: raw}
	q.once = q.attemptRead
	return q
}

// attemptRead reads once; false asks the runtime to come back when there is
// something.
func (q *reader) attemptRead(fd uintptr) bool {
	for {
		n, errno := q.t.transferOnce(unix.SYS_PREADV2, fd, q.b)
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return false
		case errno == 0:
			read()
			q.n = n
			return true
		default:
			q.plain = isLacking(errno)
			return true // the ordinary read reports what that is
		}
	}
}

func (q *reader) Read(b []byte) (int, error) {
	if len(b) == 0 || len(b) > short || q.plain {
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

// writer makes one attempt to write.
type writer struct {
	raw   syscall.RawConn
	once  func(fd uintptr) bool
	b     []byte
	n     int
	t     transfer
	plain bool
}

func newWriter(c syscall.Conn) *writer {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	w := &writer{raw: raw}
	w.once = func(fd uintptr) bool {
		if n, errno := w.t.transferOnce(unix.SYS_PWRITEV2, fd, w.b); errno == 0 {
			w.n = n
		} else {
			w.plain = isLacking(errno)
		}
		return true
	}
	return w
}

// newFileWriter is newWriter for a file on a disk of this machine, which the
// kernel copies to before any disk is asked; nil for others: who writes to a
// server waits for it.
func newFileWriter(f *os.File) *writer {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	near := false
	err = raw.Control(func(fd uintptr) {
		var s unix.Statfs_t
		if unix.Fstatfs(int(fd), &s) == nil {
			switch uint32(s.Type) {
			case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
				near = true
			}
		}
	})
	if err != nil || !near {
		return nil
	}
	w := &writer{raw: raw}
	w.once = func(fd uintptr) bool {
		if n, _, errno := unix.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(w.b))), uintptr(len(w.b))); errno == 0 {
			w.n = int(n)
		}
		return true
	}
	return w
}

// writeNow writes what can be written; false: nothing was.
func (w *writer) writeNow(b []byte) (n int, ok bool) {
	if w.plain {
		return 0, false
	}
	written()
	w.b, w.n = b, 0
	err := w.raw.Write(w.once)
	w.b = nil
	return w.n, err == nil && w.n > 0
}
