//go:build unix

package offers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private refuses what somebody else may have written, or may read.
func private(fi fs.FileInfo) error {
	if mode := fi.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("its mode %#o lets others in; make it %#o", mode, mode&0o700)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		return errors.New("it belongs to somebody else")
	}
	return nil
}
