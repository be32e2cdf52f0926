package stdio

import (
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"mcphub/internal/rawio"
)

// A Stream is one that another process has handed over: a file, a pipe or a socket.
type Stream interface {
	io.ReadWriteCloser
	SetWriteDeadline(t time.Time) error
}

// Handed returns a stream that another process has handed over, as one whose reads and writes can be
// interrupted. It owns fd. flag is O_RDONLY or O_WRONLY. The one who shares the stream keeps the mode
// of his descriptor: a pipe and a terminal are opened again; a socket, which cannot be, is waited for
// although it blocks.
func Handed(fd int, name string, flag int) Stream {
	var st unix.Stat_t
	kind := uint32(0)
	if unix.Fstat(fd, &st) == nil {
		kind = st.Mode & unix.S_IFMT
	}
	switch kind {
	case unix.S_IFIFO, unix.S_IFCHR:
		own, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), flag|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if err != nil {
			break
		}
		_ = unix.Close(fd) // who reads at the other end waits for the last one that may write
		if kind == unix.S_IFIFO {
			return rawio.NewPipe(own, name)
		}
		return os.NewFile(uintptr(own), name)
	case unix.S_IFSOCK:
		if s, err := rawio.NewSocket(fd, name); err == nil {
			return s
		}
	}
	if own, _, ok := interruptibleCopy(fd, name); ok { // another user's pipe cannot be opened again
		_ = unix.Close(fd)
		return own
	}
	return os.NewFile(uintptr(fd), name)
}
