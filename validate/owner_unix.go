//go:build unix

package validate

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ownedByMe says why what was looked at is not this user's.
func ownedByMe(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("it cannot be told whose it is")
	}
	if int(st.Uid) != os.Geteuid() {
		return errors.New("it belongs to another user")
	}
	return nil
}

// ownedByAdministrator reports that nobody but root may change what was looked at.
func ownedByAdministrator(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0 && info.Mode()&0o022 == 0
}
