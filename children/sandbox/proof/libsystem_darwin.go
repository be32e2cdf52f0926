package proof

import (
	"fmt"
	"syscall"
	"unsafe"
)

// callLibrary calls a function of the system's library that golang.org/x/sys does not have, with at most three arguments. The function is looked up when it is called: a
// name that this system does not have is an error then, and keeps no program from starting.
//
//go:uintptrescapes
func callLibrary(name string, a, b, c uintptr) (uintptr, error) {
	text := append([]byte(name), 0)
	f, _, _ := syscall_syscall(dlsymAddress, ^uintptr(1), uintptr(unsafe.Pointer(&text[0])), 0) // RTLD_DEFAULT is -2
	if f == 0 {
		return 0, fmt.Errorf("this system has no %s", name)
	}
	r, _, _ := syscall_syscall(f, a, b, c)
	return uintptr(uint32(r)), nil // an int of C
}

// dlsymAddress is where the jump to dlsym is.
var dlsymAddress uintptr

//go:cgo_import_dynamic libc_dlsym dlsym "/usr/lib/libSystem.B.dylib"

//go:linkname syscall_syscall syscall.syscall
func syscall_syscall(f, a, b, c uintptr) (r1, r2 uintptr, err syscall.Errno)
