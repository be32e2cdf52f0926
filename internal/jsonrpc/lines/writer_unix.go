//go:build unix

package lines

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"mcphub/internal/kept"
	"mcphub/internal/rawio"
)

// descriptor writes to a descriptor that does not block. What a write needs
// and brings lives in the struct, so that it allocates nothing.
type descriptor struct {
	raw   syscall.RawConn
	out   rawio.Descriptor
	put   func(fd int, parts [][]byte) (int, error) // writeParts or its like
	f     func(fd uintptr) bool
	parts [][]byte
	wait  bool
	n     int
	err   error
}

// A sender is written to without waiting although it blocks for others: a rawio.PassedStream.
type sender interface {
	Send(fd int, parts [][]byte) (int, error)
}

// newRawWriter returns nil where writes to w might block.
func newRawWriter(w io.Writer) rawWriter {
	sc, ok := w.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	d := &descriptor{raw: raw}
	d.f, d.put = d.writeOnce, d.writeParts
	if s, ok := w.(sender); ok {
		d.put = s.Send
		return d
	}
	nonblocking := false
	if raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		nonblocking = err == nil && flags&unix.O_NONBLOCK != 0
	}) != nil || !nonblocking {
		return nil
	}
	return d
}

// newKeptWriter writes what is kept. A stream without a descriptor has none that is kept.
func newKeptWriter(w io.Writer, k *kept.Memory) rawWriter {
	raw, err := w.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil
	}
	d := &descriptor{raw: raw, put: k.Send}
	d.f = d.writeOnce
	return d
}

// writeOnce makes one attempt; false asks the runtime to come back when the
// descriptor takes something.
func (d *descriptor) writeOnce(fd uintptr) bool {
	for {
		d.n, d.err = d.put(int(fd), d.parts)
		switch {
		case errors.Is(d.err, unix.EINTR):
		case errors.Is(d.err, unix.EAGAIN):
			d.n, d.err = 0, nil
			return !d.wait
		default:
			d.n = max(d.n, 0)
			return true
		}
	}
}

func (d *descriptor) tryWrite(parts [][]byte) (int, error) { return d.writeOrWait(parts, false) }

func (d *descriptor) writeNow(parts [][]byte) (int, error) { return d.writeOrWait(parts, true) }

func (d *descriptor) writeOrWait(parts [][]byte, wait bool) (int, error) {
	d.parts, d.wait, d.n, d.err = parts, wait, 0, nil
	err := d.raw.Write(d.f)
	d.parts = nil
	if err == nil {
		err = d.err
	}
	return d.n, err
}
