//go:build unix

package ownership

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Check returns why a file or folder does not belong to the user whom this process runs as.
func Check(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("has an owner that cannot be told")
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("belongs to user %d and not to user %d", st.Uid, os.Geteuid())
	}
	return nil
}

// OthersUse reports whether others than the owner may read, write or enter it.
func OthersUse(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

// OthersWrite reports whether others than the owner may write it.
func OthersWrite(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }

// MayMake reports whether this user may make something in a folder.
func MayMake(dir string) bool {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
}
