//go:build unix

package admin

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func owned(dir string, fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("the owner of %s cannot be told", dir)
	}
	if int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d and not to user %d; it is not used", dir, st.Uid, os.Getuid())
	}
	return nil
}

func foreignMode(fi fs.FileInfo) bool { return fi.Mode().Perm()&0o077 != 0 }
