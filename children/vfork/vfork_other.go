//go:build !linux || !(amd64 || arm64)

package vfork

// Known reports whether Start works here.
const Known = false

// Files is nothing here.
var Files Limit

// Start makes no process.
func Start(*Script) (pid, errno uintptr, failed int, why uintptr) {
	const unknown = 38 // ENOSYS
	return 0, unknown, -1, 0
}
