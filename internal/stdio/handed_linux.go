package stdio

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Handed returns a stream that another process has handed over, as a file whose reads and
// writes can be interrupted, and a function that lets go of fd once the file is closed. flag is O_RDONLY or
// O_WRONLY. Whoever shares the stream keeps the mode of his descriptor: a pipe and a terminal are opened once
// more; a socket cannot be, and is put back as it was.
func Handed(fd int, name string, flag int) (f *os.File, done func()) {
	letGo := func() { _ = unix.Close(fd) }
	var st unix.Stat_t
	kind := uint32(0)
	if unix.Fstat(fd, &st) == nil {
		kind = st.Mode & unix.S_IFMT
	}
	switch kind {
	case unix.S_IFIFO, unix.S_IFCHR:
		own, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), flag|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if err == nil {
			letGo() // who reads at the other end waits for the last one that may write
			return os.NewFile(uintptr(own), name), func() {}
		}
	case unix.S_IFSOCK:
		if own, undo, ok := interruptibleCopy(fd, name); ok {
			return own, func() { undo(); letGo() }
		}
	}
	return os.NewFile(uintptr(fd), name), func() {}
}
