package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// auditArchitecture returns the audit architecture of system calls here, as the kernel
// names it in a filter's input; 0 for one that is not known here.
func auditArchitecture() uint32 {
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
	kindMask  = 0xf // of the type of a socket
	protoTCP  = 6
	flagQuick = 0x20000000 // MSG_FASTOPEN: connects past the rules on ports
)

func failWith(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func loadArgument(n int) bpf.Instruction {
	return bpf.LoadAbsolute{Off: uint32(atArguments + 8*n), Size: 4}
}

var allowed = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}

// mounts are the system calls that make, change and move mounts. Landlock does not see
// all of them: a file system that is made and attached nowhere changes files that it is
// made of (overlay), for a process that has a user namespace of its own.
var mounts = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
}

// unseen are the system calls whose meaning stands in memory, if a filter does not
// look and another thread may write: programs do without, as on an older kernel.
var unseen = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_OPENAT2}

// noClone3 refuses clone3, whose flags stand in memory as well: by one of them (CLONE_INTO_CGROUP) a process begins in another control group,
// out of the one that bounds a server. Programs use fork, vfork and clone then, as on an older kernel. These begin where their parent is.
var noClone3 = []bpf.Instruction{
	bpf.LoadAbsolute{Off: atNumber, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1},
	failWith(unix.ENOSYS),
}

// newest is the last system call that this program knows. It cannot determine what a
// later one does.
const newest = unix.SYS_RSEQ_SLICE_YIELD

// shared are the system calls by which programs of one user give each other data that
// has no path, so that Landlock does not see it: the kernel's keyrings, and memory,
// messages and semaphores of System V, and messages of POSIX.
var shared = []uint32{
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// raisedBits let a file run with the rights of its owner or its group, no matter who runs it.
const raisedBits = unix.S_ISUID | unix.S_ISGID

// modes are the arguments of system calls that give a file its mode. oldModes are the
// arguments of calls that only this architecture has.
var modes = map[uint32]int{unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2, unix.SYS_MKNODAT: 2, unix.SYS_MKDIRAT: 2}

// makes are the flags of open by which its mode counts.
const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// opens are the arguments of system calls that have the flags of an open; the mode
// follows.
var opens = map[uint32]int{unix.SYS_OPENAT: 2}

// A family is the commands of ioctl on files and directories that have one letter.
type family struct {
	letter uint32
	asks   []uint32 // the ones that change nothing, or only what was opened to be written
}

// families are commands that change what was opened to be read, or a whole file system:
// flags, versions, labels, keys, snapshots. What is not known to be harmless is refused.
var families = []family{
	{'f', []uint32{1, 3, 11, 21, 22, 26, 27, 134, 135}}, // of ext4 and of all: get flags and version, map extents, look at keys and hashes
	{'v', []uint32{1}}, // get version
	{'X', []uint32{30, 31, 38, 44, 56, 100, 124, 126}},                  // of XFS and of all: get attributes, map extents, geometry
	{'r', []uint32{1, 2, 0x10, 0x12, 0x13}},                             // of FAT: list, get attributes and ids
	{0x94, []uint32{9, 13, 18, 20, 25, 30, 31, 49, 54, 57, 60, 61, 62}}, // of Btrfs and of all: clone into a file, look at labels and subvolumes
	{0x97, []uint32{1, 3, 4}},                                           // of Ceph
	{0xbc, nil},                                                         // of bcachefs
	{0xf5, []uint32{1, 2, 5, 12}},                                       // of F2FS: what SQLite uses
}

// typing are commands of ioctl that type on a terminal.
var typing = []uint32{unix.TIOCSTI, 0x541C} // TIOCLINUX

// filterFor returns the filter of a Profile.
//
// It sees system calls of this architecture alone: those of another one (32-bit programs) and the
// ones that are newer than it are refused as unknown. What it refuses the kernel does not ask
// about: see noticeFilter.
//
// It begins with noClone3, if the process that enters it may not make processes by clone3 either.
func filterFor(p *Profile, clone3 bool) ([]unix.SockFilter, error) {
	var prog []bpf.Instruction
	if !clone3 {
		prog = slices.Clone(noClone3)
	}
	prog = append(prog,
		bpf.LoadAbsolute{Off: atArchitecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArchitecture(), SkipTrue: 1},
		failWith(unix.ENOSYS),
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: newest, SkipTrue: 1}, // x32, too, is beyond
		failWith(unix.ENOSYS),
	)
	on := func(number uint32, body ...bpf.Instruction) {
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(body))})
		prog = append(prog, body...)
	}
	refuse := func(errno unix.Errno, numbers ...uint32) {
		for _, number := range numbers {
			on(number, failWith(errno))
		}
	}
	refuse(unix.ENOSYS, unseen...)
	refuse(unix.EPERM, mounts...)
	refuse(unix.EPERM, unix.SYS_FILE_SETATTR)
	for _, calls := range []map[uint32]int{modes, oldModes} {
		for number, n := range calls {
			on(number, loadArgument(n), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: raisedBits, SkipTrue: 1}, failWith(unix.EPERM), allowed)
		}
	}
	for _, calls := range []map[uint32]int{opens, oldOpens} {
		for number, n := range calls {
			on(number,
				loadArgument(n), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: makes, SkipTrue: 3},
				loadArgument(n+1), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: raisedBits, SkipTrue: 1},
				failWith(unix.EPERM), allowed)
		}
	}
	if p.Attributes {
		refuse(unix.ENOSYS, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT) // programs have the older ones
	}
	on(unix.SYS_IOCTL, ioctlRule()...)
	// The one who sets the limits of another process ends it, which Landlock takes for no signal.
	on(unix.SYS_PRLIMIT64,
		loadArgument(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 4}, // its own
		loadArgument(2), bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 3},
		bpf.LoadAbsolute{Off: atArguments + 8*2 + 4, Size: 4},   // the upper half of argument 2
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1}, // no new ones
		allowed, failWith(unix.EPERM),
	)
	// Who has sockets and the network reaches services that do everything for him: no
	// kind of socket is left to refuse.
	if !p.Sockets || !p.Network.On {
		on(unix.SYS_SOCKET, socketRule(p)...)
	}
	if !p.Sockets {
		refuse(unix.EACCES, shared...)
		// A connected pair is how programs speak with those they start. One of
		// datagrams could be connected to someone else later.
		on(unix.SYS_SOCKETPAIR,
			loadArgument(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: kindMask},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_SEQPACKET, SkipTrue: 1},
			failWith(unix.EACCES), allowed,
		)
	}
	if !p.Network.On {
		for _, send := range []struct {
			number uint32
			flags  int
		}{{unix.SYS_SENDTO, 3}, {unix.SYS_SENDMSG, 2}, {unix.SYS_SENDMMSG, 3}} {
			on(send.number,
				loadArgument(send.flags), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: flagQuick, SkipTrue: 1},
				failWith(unix.EOPNOTSUPP), allowed,
			)
		}
	}
	return assembleFilter(append(prog, allowed))
}

// ioctlRule refuses commands by letter and number, whatever size they say: the kernel
// looks at 32 bits, and so does this.
func ioctlRule() (body []bpf.Instruction) {
	body = []bpf.Instruction{loadArgument(1)}
	for _, command := range typing {
		body = append(body, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: command, SkipTrue: 1}, failWith(unix.EPERM))
	}
	for _, f := range families {
		block := []bpf.Instruction{loadArgument(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff}}
		for i, number := range f.asks {
			block = append(block, bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipTrue: uint8(len(f.asks) - i)})
		}
		block = append(block, failWith(unix.EPERM), allowed)
		body = append(body, loadArgument(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff00}, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: f.letter << 8, SkipTrue: uint8(len(block))})
		body = append(body, block...)
	}
	return append(body, allowed)
}

// assembleFilter returns a filter in the form that the kernel takes.
func assembleFilter(prog []bpf.Instruction) ([]unix.SockFilter, error) {
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

// socketRule returns which sockets may be made.
func socketRule(p *Profile) []bpf.Instruction {
	body := []bpf.Instruction{loadArgument(0)}
	unixFails := failWith(unix.EACCES)
	if p.Sockets {
		unixFails = allowed
	}
	body = append(body, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_UNIX, SkipTrue: 1}, unixFails)
	if p.Network.On { // the network means IP: other families lead to the host of a virtual machine, to devices and into the kernel
		return append(body,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 3},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipTrue: 1},
			failWith(unix.EAFNOSUPPORT), allowed,
		)
	}
	// What the machine says about its own network is no connection.
	body = append(body, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_NETLINK, SkipTrue: 1}, allowed)
	if len(p.Network.Ports) == 0 {
		return append(body, failWith(unix.EACCES))
	}
	return append(body,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 1},
		failWith(unix.EACCES),
		loadArgument(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: kindMask},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SOCK_DGRAM, SkipTrue: 1}, allowed, // names are looked up by it
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 1}, failWith(unix.EACCES),
		// Landlock's rules are on TCP: other streams (MPTCP, SCTP) would pass by them.
		loadArgument(2),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: protoTCP, SkipTrue: 1},
		failWith(unix.EPROTONOSUPPORT), allowed,
	)
}

// installFilter puts a filter before all system calls of the calling thread.
func installFilter(filter []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	runtime.KeepAlive(filter)
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}
