//go:build unix

package confinement

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// isProgram reports whether path is a regular file that we may execute.
func isProgram(path string) bool {
	fi, err := os.Stat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	err = unix.Access(path, unix.X_OK)
	return err == nil || (!errors.Is(err, unix.EACCES) && fi.Mode()&0o111 != 0)
}

// isOwn reports whether a file is that of the user whom this process runs as.
func isOwn(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
