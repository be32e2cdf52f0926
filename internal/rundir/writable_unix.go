//go:build unix

package rundir

import "golang.org/x/sys/unix"

// writable reports whether this user may make something in a folder.
func writable(dir string) bool {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
}
