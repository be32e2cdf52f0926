package stdio

import "golang.org/x/sys/unix"

const ioctlGetTermios = unix.TCGETS

// flushInput drops what was typed and not read yet.
func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
