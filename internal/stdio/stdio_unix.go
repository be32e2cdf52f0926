//go:build unix

package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// Open returns standard input and output as files whose reads and writes
// can be interrupted, where they are pipes or sockets, and a function that puts
// them back as they were: whoever shares them expects blocking ones.
func Open() (in, out *os.File, restore func()) {
	in, undoIn := interruptible(os.Stdin)
	out, undoOut := interruptible(os.Stdout)
	return in, out, func() { undoIn(); undoOut() }
}

func interruptible(f *os.File) (*os.File, func()) {
	same := func() {}
	fd := int(f.Fd())
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return f, same
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFIFO && kind != unix.S_IFSOCK {
		return f, same
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return f, same
	}
	// A descriptor of its own, so that closing it leaves the number 0 or 1 taken
	// and nothing opened later becomes somebody's standard output.
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return f, same
	}
	if unix.SetNonblock(own, true) != nil {
		_ = unix.Close(own)
		return f, same
	}
	undo := func() { _ = unix.SetNonblock(fd, false) }
	if flags&unix.O_NONBLOCK != 0 { // it was so before: one socket may be both input and output
		undo = same
	}
	return os.NewFile(uintptr(own), f.Name()), undo
}

// CatchBrokenPipe keeps a client that went away from killing the hub before
// it has stopped its children. Unlike ignoring the signal, catching it is not
// inherited by the children.
func CatchBrokenPipe(notify func(sig ...os.Signal)) { notify(unix.SIGPIPE) }

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), ioctlGetTermios)
	return err == nil
}
