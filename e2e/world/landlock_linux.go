package world

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"mcphub/e2e/needs"
)

// RequireLandlock skips a test that needs a kernel which holds files, signals and abstract sockets; in CI it fails.
func RequireLandlock(t testing.TB) {
	t.Helper()
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(nil)), 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || abi < 6 {
		needs.Missing(t, "Landlock has ABI ", abi, " here, and 6 is needed: ", errno)
	}
}
