package doctor

import "golang.org/x/sys/unix"

// landlock is the version of the kernel's Landlock; 0 where there is none.
func landlock() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}
