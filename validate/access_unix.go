//go:build unix

package validate

import "golang.org/x/sys/unix"

// mayWrite reports whether this user may add names to dir. The children run as the same user.
func mayWrite(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
