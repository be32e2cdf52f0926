//go:build unix

package main

import "syscall"

// withoutCore keeps a crash from writing the memory of the program to disk: a hub holds
// secrets. The hard limit stays, so a server can have its own back.
func withoutCore() {
	var was syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &was) == nil {
		was.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &was) // where it cannot be, the system's setting holds
	}
}
