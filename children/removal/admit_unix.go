//go:build unix && !linux

package removal

import "golang.org/x/sys/unix"

// admit lets its user open a directory. It changes no link and follows none.
func admit(at int, name string) error {
	return unix.Fchmodat(at, name, 0o700, unix.AT_SYMLINK_NOFOLLOW)
}
