//go:build unix

package bearer

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// foreign says why a file or folder is not this user's alone; "" where it is.
func foreign(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return "has an owner that cannot be told"
	case int(st.Uid) != os.Geteuid():
		return fmt.Sprintf("belongs to user %d and not to user %d", st.Uid, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Sprintf("is open to others (mode %04o)", info.Mode().Perm())
	}
	return ""
}
