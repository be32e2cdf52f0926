//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep an open from waiting for the other end of a named pipe that was
// put instead of a file.
const openFlags = syscall.O_NONBLOCK

// sameOwner gives f the owner of the file it will replace, if that is allowed.
func sameOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid)) // not ours to give: the mode still holds
	}
}
