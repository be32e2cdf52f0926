//go:build unix && !linux

package removal

import "golang.org/x/sys/unix"

// admitUser lets its user open a directory. It changes no link and follows none.
func admitUser(at int, name string) error {
	return unix.Fchmodat(at, name, 0o700, unix.AT_SYMLINK_NOFOLLOW)
}
