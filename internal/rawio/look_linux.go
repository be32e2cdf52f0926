package rawio

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const resolveCached = 0x20 // RESOLVE_CACHED of linux/openat2.h

// Look is statx(2) of what a path leads to, by a name that ends with NUL. None of its system calls can wait: ok is false if the kernel
// would have to read the way from a disk, before Linux 5.12, if a filter forbids openat2, and if there is nothing. flags and resolve are further
// flags of openat2(2).
func Look(name *byte, flags, resolve uint64, mask uint32) (st unix.Statx_t, ok bool) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: resolveCached | resolve}
	here := unix.AT_FDCWD
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT2, uintptr(here), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if errno != 0 {
		return st, false
	}
	var empty byte
	_, _, errno = unix.RawSyscall6(unix.SYS_STATX, fd, uintptr(unsafe.Pointer(&empty)), unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, uintptr(mask), uintptr(unsafe.Pointer(&st)), 0)
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	return st, errno == 0 && st.Mask&mask == mask
}
