package world

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// RequireLandlock skips a test that needs a kernel which holds files, signals and abstract sockets; in CI it fails.
func RequireLandlock(t testing.TB) {
	t.Helper()
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(nil)), 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == 0 && abi >= 6:
	case InCI():
		t.Fatalf("Landlock has ABI %d here, and 6 is needed: %v", abi, errno)
	default:
		t.Skipf("NOT PROVED HERE: Landlock has ABI %d, and 6 is needed: %v", abi, errno)
	}
}
