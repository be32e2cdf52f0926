package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// architecture is that of system calls here, as the kernel names it in a filter's
// input; 0 for one that is not known here.
func architecture() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	case "riscv64":
		return unix.AUDIT_ARCH_RISCV64
	case "loong64":
		return unix.AUDIT_ARCH_LOONGARCH64
	}
	return 0
}

// Where the input of a filter has what is looked at; the architectures above are
// little-endian.
const (
	atNumber       = 0
	atArchitecture = 4
	atArguments    = 16
)

const (
	x32Bit    = 0x40000000 // of the number, in amd64's second set of system calls
	kindMask  = 0xf        // of the type of a socket
	protoTCP  = 6
	flagQuick = 0x20000000 // MSG_FASTOPEN: connects past the rules on ports
)

func fails(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func argument(n int) bpf.Instruction {
	return bpf.LoadAbsolute{Off: uint32(atArguments + 8*n), Size: 4}
}

// upper is the half of an argument that argument leaves out.
func upper(n int) bpf.Instruction {
	return bpf.LoadAbsolute{Off: uint32(atArguments + 8*n + 4), Size: 4}
}

var allowed = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}

// shared are the system calls by which programs of one user give each other data that
// has no path, so that Landlock does not see it: the kernel's keyrings, and memory,
// messages and semaphores of System V.
var shared = []uint32{
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
}

// filterFor is the filter of a Profile; nil where it has nothing to refuse.
//
// It sees system calls of this architecture alone. Those of another one (32-bit
// programs), and io_uring, which opens sockets past any filter, are refused as unknown.
// Who has sockets and the network reaches services that do everything for him: there is
// nothing left to refuse.
func filterFor(p *Profile) ([]unix.SockFilter, error) {
	if p.Sockets && p.Network.On {
		return nil, nil
	}
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArchitecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: architecture(), SkipTrue: 1},
		fails(unix.ENOSYS),
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
	}
	if runtime.GOARCH == "amd64" {
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1}, fails(unix.ENOSYS))
	}
	prog = append(prog, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_IO_URING_SETUP, SkipTrue: 1}, fails(unix.ENOSYS))
	on := func(number uint32, body []bpf.Instruction) {
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(body))})
		prog = append(prog, body...)
	}
	// Whoever sets the limits of another process ends it, which Landlock takes for no signal.
	on(unix.SYS_PRLIMIT64, []bpf.Instruction{
		argument(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 4}, // its own
		argument(2), bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 3},
		upper(2), bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1}, // no new ones
		allowed, fails(unix.EPERM),
	})
	on(unix.SYS_SOCKET, socketRule(p))
	if !p.Sockets {
		for _, number := range shared {
			on(number, []bpf.Instruction{fails(unix.EACCES)})
		}
		// A connected pair is how programs speak with those they start. One of
		// datagrams could be connected to somebody else later.
		on(unix.SYS_SOCKETPAIR, []bpf.Instruction{
			argument(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: kindMask},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_SEQPACKET, SkipTrue: 1},
			fails(unix.EACCES), allowed,
		})
	}
	if !p.Network.On {
		for _, send := range []struct {
			number uint32
			flags  int
		}{{unix.SYS_SENDTO, 3}, {unix.SYS_SENDMSG, 2}, {unix.SYS_SENDMMSG, 3}} {
			on(send.number, []bpf.Instruction{
				argument(send.flags), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: flagQuick, SkipTrue: 1},
				fails(unix.EOPNOTSUPP), allowed,
			})
		}
	}
	return assemble(append(prog, allowed))
}

// assemble is a filter in the form that the kernel takes.
func assemble(prog []bpf.Instruction) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(prog)
	if err != nil {
		return nil, fmt.Errorf("the filter of system calls: %w", err)
	}
	out := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		out[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return out, nil
}

// socketRule says which sockets may be made.
func socketRule(p *Profile) []bpf.Instruction {
	body := []bpf.Instruction{argument(0)}
	unixFails := fails(unix.EACCES)
	if p.Sockets {
		unixFails = allowed
	}
	body = append(body, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_UNIX, SkipTrue: 1}, unixFails)
	if p.Network.On { // the network is that of IP: other families lead to the host of a virtual machine, to devices and into the kernel
		return append(body,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 3},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipTrue: 1},
			fails(unix.EAFNOSUPPORT), allowed,
		)
	}
	// What the machine says of its own network is no connection.
	body = append(body, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_NETLINK, SkipTrue: 1}, allowed)
	if len(p.Network.Ports) == 0 {
		return append(body, fails(unix.EACCES))
	}
	return append(body,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 1},
		fails(unix.EACCES),
		argument(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: kindMask},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SOCK_DGRAM, SkipTrue: 1}, allowed, // names are looked up by it
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 1}, fails(unix.EACCES),
		// Landlock's rules are on TCP: other streams (MPTCP, SCTP) would pass by them.
		argument(2),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: protoTCP, SkipTrue: 1},
		fails(unix.EPROTONOSUPPORT), allowed,
	)
}

// install puts a filter before all system calls of the calling thread.
func install(filter []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	runtime.KeepAlive(filter)
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}
