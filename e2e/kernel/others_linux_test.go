package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// guards are the tests of what keeps servers, hubs and sessions apart. They run here as whoever runs the tests; and again
// as those whom TestGuardsForOthers names. Where process 1 has no filter, as there, whoever has one may not change hub.json by a
// command, so tests that do are not among them.
var guards = []string{
	"TestAConfinedShellAndItsHub",
	"TestWhatAnotherSessionRelinks",
	"TestWhatASessionRelinksForItsNext",
	"TestAServerIsNoClientOfAHub",
	"TestTheTokenIsProtected",
	"TestNothingUnseenIsPrinted",
	"TestAServerAdministersNoHub",
}

// What the guards promise holds whoever runs the hub: root, an ordinary user, and root inside of a container, whose filter
// of system calls is there before the hub's.
func TestGuardsForOthers(t *testing.T) {
	if os.Getenv(programsVariable) != "" {
		t.Skip("this is one of them")
	}
	if os.Geteuid() != 0 {
		if inCI() {
			t.Fatal("CI runs as root, which alone can become others")
		}
		t.Skip("NOT PROVED HERE: only root can become others")
	}
	requireLandlock(t)
	t.Run("an ordinary user", func(t *testing.T) {
		asOther(t, append(slices.Clone(guards), "TestInitTakesNothingAwayThatDoesNotWork"), 54321, nil)
	})
	t.Run("in a container", func(t *testing.T) { asOther(t, guards, 0, containerFilter(t)) })
}

// asOther runs tests as a user, behind a filter of system calls. They find these programs as well.
func asOther(t *testing.T, tests []string, uid uint32, filter []unix.SockFilter, more ...string) {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "mho")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	programs := filepath.Join(base, "programs")
	must(t, os.Mkdir(programs, 0o755))
	self := filepath.Join(programs, "e2e.test")
	for from, to := range map[string]string{
		"/proc/self/exe": self, mcphub(t): filepath.Join(programs, "mcphub"), bin.recorder: filepath.Join(programs, "recorder"),
		bin.fixture: filepath.Join(programs, "fixture"), bin.opener: filepath.Join(programs, "opener"),
	} {
		copyProgram(t, from, to)
	}
	for _, path := range more {
		copyProgram(t, path, filepath.Join(programs, filepath.Base(path)))
	}
	temp := filepath.Join(base, "t")
	must(t, os.Mkdir(temp, 0o700))
	must(t, os.Chown(temp, int(uid), int(uid)))
	must(t, os.Chmod(base, 0o755)) //nolint:gosec // the other user goes through it

	limit := "8m"
	if long {
		limit = "60m"
	}
	var said strings.Builder
	cmd := exec.Command(self, "-test.run", "^("+strings.Join(tests, "|")+")$", "-test.v", "-test.timeout", limit)
	cmd.Env = append(os.Environ(), programsVariable+"="+programs, "HOME="+temp, "TMPDIR="+temp, "XDG_RUNTIME_DIR=")
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	must(t, startBehind(cmd, filter))
	err = cmd.Wait()
	out := said.String()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range tests {
		if !strings.Contains(out, "\n--- PASS: "+name+" ") {
			t.Errorf("%s did not run to its end, so nothing is shown of it:\n%.2000s", name, out)
		}
	}
	if testing.Verbose() {
		t.Log(out)
	}
}

// startBehind starts a process behind a filter of system calls; nil: without one.
func startBehind(cmd *exec.Cmd, filter []unix.SockFilter) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, so the filter is nobody else's
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
	return assembled(t, append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
}

// assembled is a filter as the kernel takes it.
func assembled(t *testing.T, program []bpf.Instruction) []unix.SockFilter {
	t.Helper()
	raw, err := bpf.Assemble(program)
	must(t, err)
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return filter
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	must(t, err)
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // the other user runs it
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
}
