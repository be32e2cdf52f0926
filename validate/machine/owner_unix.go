//go:build unix

package machine

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
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

// mayWrite reports whether this user may add names to dir. The children run as the same user.
func mayWrite(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
