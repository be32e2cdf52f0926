package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"mcphub/children/vfork"
)

// startInGroup starts cmd as [exec.Cmd.Start] does, on a thread that may call clone3, in the control group that cmd names. noClone3 takes
// clone3 from the new process before it executes the program. Os/exec cannot do that, and without clone3 it cannot start in a control group.
// The process is in its group from its first instruction on.
func startInGroup(cmd *exec.Cmd, noClone3 []unix.SockFilter) error {
	b, err := newBirth(cmd, noClone3)
	if err != nil {
		return &os.PathError{Op: "fork/exec", Path: cmd.Path, Err: err}
	}
	defer b.closeFiles()
	syscall.ForkLock.Lock()
	pid, errno, failed, why := b.startProcess()
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(b)
	switch {
	case errno != 0:
		return &os.PathError{Op: "clone3", Path: cmd.Path, Err: syscall.Errno(errno)}
	case failed >= 0:
		_, _ = unix.Wait4(int(pid), nil, 0, nil)
		return &os.PathError{Op: b.steps[failed].name, Path: b.steps[failed].path, Err: syscall.Errno(why)}
	}
	cmd.Process, err = os.FindProcess(int(pid)) // has not been waited for: it is there
	return err
}

// A birth is what the new process does, and all that this refers to.
type birth struct {
	script vfork.Script
	steps  []step // of script.Calls
	clone  cloneArgs
	mask   signals // of the thread, and of the new process

	path, dir  *byte
	argv, envp []*byte
	files      [3]*os.File
	copies     []*os.File // of the ones of files that are instead of another
	limit      vfork.Limit
	filter     []unix.SockFilter
	program    unix.SockFprog
}

// A step describes what a call of a new process is, for the error if it fails.
type step struct{ name, path string }

type signals [8]byte // sigset_t of the kernel

// cloneArgs is struct clone_args of clone3(2), which has members of eight bytes.
type cloneArgs [11]uint64

// Places of members in it.
const (
	cloneFlags      = 0
	cloneExitSignal = 4
	cloneGroup      = 10
)

func newBirth(cmd *exec.Cmd, noClone3 []unix.SockFilter) (b *birth, err error) {
	b = &birth{filter: noClone3, program: unix.SockFprog{Len: uint16(len(noClone3)), Filter: &noClone3[0]}, limit: vfork.Files}
	b.clone = cloneArgs{
		cloneFlags:      unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_CLEAR_SIGHAND | unix.CLONE_INTO_CGROUP,
		cloneExitSignal: uint64(unix.SIGCHLD), cloneGroup: uint64(cmd.SysProcAttr.CgroupFD),
	}
	b.script.Clone = vfork.Call{Number: unix.SYS_CLONE3, Args: [6]uintptr{addressOf(&b.clone), unsafe.Sizeof(b.clone)}}
	b.script.Exit = vfork.Call{Number: unix.SYS_EXIT_GROUP, Args: [6]uintptr{127}}
	if b.path, err = syscall.BytePtrFromString(cmd.Path); err != nil {
		return nil, err
	}
	if b.argv, err = syscall.SlicePtrFromStrings(cmd.Args); err != nil {
		return nil, err
	}
	if b.envp, err = syscall.SlicePtrFromStrings(cmd.Environ()); err != nil {
		return nil, err
	}
	b.addCall("setsid", "", unix.SYS_SETSID)
	b.addCall("prctl", "", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(cmd.SysProcAttr.Pdeathsig))
	b.addCall("getppid", "", unix.SYS_GETPPID)
	b.script.Calls[len(b.script.Calls)-1].Wants = uintptr(os.Getpid()) // else this process has ended before that signal was set
	if cmd.Dir != "" {
		if b.dir, err = syscall.BytePtrFromString(cmd.Dir); err != nil {
			return nil, err
		}
		b.addCall("chdir", cmd.Dir, unix.SYS_CHDIR, addressOf(b.dir))
	}
	for i, f := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		if err := b.passFile(i, f.(*os.File)); err != nil {
			b.closeFiles()
			return nil, err
		}
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err == nil && b.limit.Hard > 0 && b.limit.Hard <= now.Max { // as os/exec does, if nothing else has changed it
		b.addCall("prlimit", "", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, addressOf(&b.limit))
	}
	b.addCall("seccomp", "", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, addressOf(&b.program))
	b.addCall("sigprocmask", "", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, addressOf(&b.mask), 0, unsafe.Sizeof(b.mask))
	b.addCall("fork/exec", cmd.Path, unix.SYS_EXECVE, addressOf(b.path), addressOf(&b.argv[0]), addressOf(&b.envp[0]))
	return b, nil
}

// addCall adds a call.
func (b *birth) addCall(name, path string, number uintptr, args ...uintptr) {
	c := vfork.Call{Number: number}
	copy(c.Args[:], args)
	b.script.Calls, b.steps = append(b.script.Calls, c), append(b.steps, step{name, path})
}

// passFile gives a file to the new process. One that has a number below 3 here is copied, because the new process needs its place for another.
func (b *birth) passFile(to int, f *os.File) error {
	fd := int(f.Fd())
	if fd < len(b.files) {
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, len(b.files))
		if err != nil {
			return fmt.Errorf("fcntl: %w", err)
		}
		fd = n
		b.copies = append(b.copies, os.NewFile(uintptr(fd), f.Name()))
	}
	b.files[to] = f
	b.addCall("dup3", "", unix.SYS_DUP3, uintptr(fd), uintptr(to), 0)
	return nil
}

// startProcess makes the process. No signal comes in between: this process's handlers are no good in another one.
func (b *birth) startProcess() (pid, errno uintptr, failed int, why uintptr) {
	all := signals{255, 255, 255, 255, 255, 255, 255, 255}
	setMask(&all, &b.mask)
	pid, errno, failed, why = vfork.Start(&b.script)
	setMask(&b.mask, nil)
	return pid, errno, failed, why
}

func setMask(set, before *signals) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(before)), unsafe.Sizeof(*set), 0, 0)
}

func (b *birth) closeFiles() {
	for _, f := range b.copies {
		_ = f.Close()
	}
}

// addressOf returns where something lies, for the kernel. What lies on the heap does not move.
func addressOf[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

var errNoGroup = errors.New("a process that the kernel confines cannot be started in a control group on " + runtime.GOARCH)
