package stdio

import "golang.org/x/sys/unix"

// flushInput drops what was typed and not read yet.
func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
