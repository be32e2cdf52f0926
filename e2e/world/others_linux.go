package world

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"mcphub/e2e/needs"
)

// AsOrdinaryUser runs tests of this package again as a user who is no one special. They find these programs, and more, as well.
func AsOrdinaryUser(t *testing.T, tests []string, more ...string) {
	t.Helper()
	asOther(t, tests, 54321, nil, more...)
}

// InContainer runs tests of this package again as root inside of a container, whose filter of system calls is there before the
// hub's. Where process 1 has no filter, as there, the one who has one may not change hub.json by a command, so tests that do
// cannot be among them.
func InContainer(t *testing.T, tests []string) {
	t.Helper()
	asOther(t, tests, 0, containerFilter(t))
}

// IsForOthers reports whether these tests were started by AsOrdinaryUser or InContainer.
func IsForOthers() bool { return os.Getenv(programsVariable) != "" }

// IsInContainer reports whether InContainer started these tests. The first process here is outside of that container, so
// that no hub can be shared in it.
func IsInContainer() bool { return IsForOthers() && os.Geteuid() == 0 }

// asOther runs tests as a user, behind a filter of system calls. It skips if these are such tests already, or if this user cannot become
// another. It is for the long series: what the kernel holds is tried as an ordinary user by children and children/sandbox each time.
func asOther(t *testing.T, tests []string, uid uint32, filter []unix.SockFilter, more ...string) {
	t.Helper()
	if !Long {
		t.Skip("MCPHUB_E2E_LONG is not set: it runs tests again, as another user")
	}
	if IsForOthers() {
		t.Skip("this is one of them")
	}
	if os.Geteuid() != 0 {
		needs.Missing(t, "only root can become others")
	}
	RequireLandlock(t)
	base, err := os.MkdirTemp("/tmp", "mho")
	Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	programs := filepath.Join(base, "programs")
	Must(t, os.Mkdir(programs, 0o755))
	self := filepath.Join(programs, "e2e.test")
	CopyProgram(t, "/proc/self/exe", self)
	for _, path := range append([]string{Hub(t), Bin.Recorder, Bin.Fixture, Bin.Opener}, more...) {
		CopyProgram(t, path, filepath.Join(programs, filepath.Base(path)))
	}
	temp := filepath.Join(base, "t")
	Must(t, os.Mkdir(temp, 0o700))
	Must(t, os.Chown(temp, int(uid), int(uid)))
	Must(t, os.Chmod(base, 0o755)) //nolint:gosec // the other user goes through it

	var said strings.Builder
	cmd := exec.Command(self, "-test.run", "^("+strings.Join(tests, "|")+")$", "-test.v", "-test.timeout", "60m")
	cmd.Env = append(os.Environ(), programsVariable+"="+programs, "HOME="+temp, "TMPDIR="+temp, "XDG_RUNTIME_DIR=")
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	Must(t, StartBehind(cmd, filter))
	err = cmd.Wait()
	out := said.String()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if testing.Verbose() {
		t.Log(out)
	}
	needs.Ran(t, out, tests...)
}

// StartBehind starts a process behind a filter of system calls; nil: without one.
func StartBehind(cmd *exec.Cmd, filter []unix.SockFilter) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()            // the thread ends with the goroutine, so the filter is no other user's
		if unix.Gettid() == os.Getpid() { // this one never ends, and would have the whole process look as if it were behind the filter
			started <- StartBehind(cmd, filter) // on another, since this goroutine keeps the thread
			runtime.UnlockOSThread()
			return
		}
		if filter != nil {
			program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
			_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
			runtime.KeepAlive(filter)
			if errno != 0 {
				started <- errno
				return
			}
		}
		started <- cmd.Start()
	}()
	return <-started
}

// containerFilter refuses what runtimes of containers refuse by default and the hub's servers could want: mounts,
// namespaces, keyrings, loading of programs into the kernel.
func containerFilter(t *testing.T) []unix.SockFilter {
	t.Helper()
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}}
	for _, number := range []uint32{
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_FSOPEN, unix.SYS_OPEN_TREE,
		unix.SYS_MOVE_MOUNT, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_IO_URING_SETUP,
		unix.SYS_USERFAULTFD, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	} {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1},
			bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)})
	}
	return Assembled(t, append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
}

// Assembled returns a filter as the kernel takes it.
func Assembled(t *testing.T, program []bpf.Instruction) []unix.SockFilter {
	t.Helper()
	raw, err := bpf.Assemble(program)
	Must(t, err)
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return filter
}

// CopyProgram copies a program. Nothing forks meanwhile: a process that another test starts would keep the copy open for writing until
// it runs its own program, and what is open for writing does not run.
func CopyProgram(t testing.TB, from, to string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	Must(t, err)
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // another user may run it
	Must(t, err)
	_, err = io.Copy(out, in)
	Must(t, err)
	Must(t, out.Close())
}
