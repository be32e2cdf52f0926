//go:build unix

package machine

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"

	"mcphub/internal/ownership"
)

// ownedByAdministrator reports that no one but root may change what was looked at.
func ownedByAdministrator(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0 && !ownership.OthersWrite(info)
}

// HasOtherNames reports a file that has more than one name: a hard link.
func HasOtherNames(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// isNotReady returns false: a directory that cannot be read is there all the same.
func isNotReady(error) bool { return false }

// isClosed is not asked here: see ownedByAdministrator.
func isClosed(string) bool { return false }

// mayWrite reports whether this user may add names to dir. The children run as the same user.
func mayWrite(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
