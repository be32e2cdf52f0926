//go:build unix

package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// Open returns standard input and output as files whose reads and writes can be
// interrupted, if they are pipes or sockets, and a function that puts them back
// as they were: the one who shares them expects blocking ones.
func Open() (in, out *os.File, restore func()) {
	in, undoIn := makeInterruptible(os.Stdin)
	out, undoOut := makeInterruptible(os.Stdout)
	return in, out, func() { undoIn(); undoOut() }
}

func makeInterruptible(f *os.File) (*os.File, func()) {
	fd := int(f.Fd())
	if own, undo, ok := interruptibleCopy(fd, f.Name()); ok {
		return own, undo
	}
	return f, func() {}
}

// interruptibleCopy returns a pipe or a socket again, not blocking.
func interruptibleCopy(fd int, name string) (own *os.File, undo func(), ok bool) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return nil, nil, false
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFIFO && kind != unix.S_IFSOCK {
		return nil, nil, false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return nil, nil, false
	}
	// A descriptor of its own, so that closing it leaves the number 0 or 1 taken
	// and nothing opened later becomes someone's standard output.
	copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, nil, false
	}
	if unix.SetNonblock(copied, true) != nil {
		_ = unix.Close(copied)
		return nil, nil, false
	}
	undo = func() { _ = unix.SetNonblock(fd, false) }
	if flags&unix.O_NONBLOCK != 0 { // it was so before: one socket may be both input and output
		undo = func() {}
	}
	return os.NewFile(uintptr(copied), name), undo, true
}

// CatchBrokenPipe keeps a client that went away from killing the hub before
// it has stopped its children. Unlike ignoring the signal, catching it is not
// inherited by the children.
func CatchBrokenPipe(notify func(sig ...os.Signal)) { notify(unix.SIGPIPE) }
