//go:build unix

package jsonrpc

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawWriter makes one attempt at write(2) on a descriptor that does not block.
// The closure and its results live in the struct, so that an attempt
// allocates nothing; the Writer makes one attempt at a time.
type rawWriter struct {
	raw syscall.RawConn
	f   func(fd uintptr) bool
	b   []byte
	n   int
	err error
}

func newTryWriter(w io.Writer) tryWriter {
	sc, ok := w.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	nonblocking := false
	if raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		nonblocking = err == nil && flags&unix.O_NONBLOCK != 0
	}) != nil || !nonblocking {
		return nil
	}
	t := &rawWriter{raw: raw}
	t.f = func(fd uintptr) bool {
		for {
			t.n, t.err = unix.Write(int(fd), t.b)
			if t.err != unix.EINTR {
				return true
			}
		}
	}
	return t
}

func (t *rawWriter) tryWrite(b []byte) (int, error) {
	t.b = b
	err := t.raw.Write(t.f)
	t.b = nil
	if err != nil {
		return 0, err
	}
	if t.err == unix.EAGAIN {
		return 0, nil
	}
	return max(t.n, 0), t.err
}
