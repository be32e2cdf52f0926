//go:build unix

package launch

import (
	"io/fs"
	"syscall"
)

// inodeOf tells a file from another one at the same path.
func inodeOf(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}
