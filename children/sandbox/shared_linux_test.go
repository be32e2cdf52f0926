package sandbox_test

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"mcphub/children/sandbox"
)

func init() {
	attacks["key"] = func(a []string) (string, error) { // of the user's keyring
		id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", a[0], 0)
		if err != nil {
			return "", err
		}
		b := make([]byte, 100)
		n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, b, 0)
		return string(b[:max(n, 0)]), err
	}
	attacks["shared memory"] = func(a []string) (string, error) {
		id, _ := strconv.Atoi(a[0])
		b, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
		if err != nil {
			return "", err
		}
		return string(b[:len(canary)]), nil
	}
	attacks["message"] = func(a []string) (string, error) {
		id, _ := strconv.ParseUint(a[0], 10, 64)
		var m [128]byte
		_, _, errno := unix.Syscall6(unix.SYS_MSGRCV, uintptr(id), uintptr(unsafe.Pointer(&m)), 100, 0, unix.IPC_NOWAIT, 0)
		if errno != 0 {
			return "", errno
		}
		return string(m[8:]), nil
	}
	attacks["limit"] = func(a []string) (string, error) { // no processor time: it ends
		pid, _ := strconv.Atoi(a[0])
		return "", unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{}, nil)
	}
	attacks["look at a limit"] = func(a []string) (string, error) {
		pid, _ := strconv.Atoi(a[0])
		var was unix.Rlimit
		return "", errors.Join(unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &was), unix.Prlimit(0, unix.RLIMIT_CORE, &unix.Rlimit{}, nil))
	}
	attacks["family"] = func(a []string) (string, error) {
		family, _ := strconv.Atoi(a[0])
		fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
		if errors.Is(err, unix.ESOCKTNOSUPPORT) {
			fd, err = unix.Socket(family, unix.SOCK_DGRAM, 0)
		}
		return fmt.Sprint(canary, fd), err
	}
}

// outside is what another program of the user has in the kernel.
type outside struct{ key, memory, message string }

func newOutside(t *testing.T) (o outside) {
	t.Helper()
	// Keys belong to the thread that adds them, unless they are in the user's keyring.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	o.key = "mcphub-test-" + strconv.Itoa(unix.Getpid()) + t.Name()
	if id, err := unix.AddKey("user", o.key, []byte(canary), unix.KEY_SPEC_USER_KEYRING); err == nil {
		t.Cleanup(func() { _, _ = unix.KeyctlInt(unix.KEYCTL_INVALIDATE, id, 0, 0, 0) })
	}
	if id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600); err == nil {
		t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
		if b, err := unix.SysvShmAttach(id, 0, 0); err == nil {
			copy(b, canary)
			_ = unix.SysvShmDetach(b)
		}
		o.memory = strconv.Itoa(id)
	}
	if id, _, errno := unix.Syscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, 0o600, 0); errno == 0 {
		t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0) })
		m := append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, canary...)
		_, _, _ = unix.Syscall6(unix.SYS_MSGSND, id, uintptr(unsafe.Pointer(&m[0])), uintptr(len(canary)), 0, 0, 0)
		o.message = strconv.Itoa(int(id))
	}
	return o
}

// TestShared: what programs of one user share in the kernel has no path, and is closed
// all the same. If the profile has sockets on it is open.
func TestShared(t *testing.T) {
	t.Parallel()
	landlocked(t)
	for _, attack := range []string{"key", "shared memory", "message", "family"} {
		t.Run(attack, func(t *testing.T) {
			play := func(p *sandbox.Profile) string {
				o := newOutside(t)
				arg := map[string]string{"key": o.key, "shared memory": o.memory, "message": o.message, "family": strconv.Itoa(unix.AF_VSOCK)}[attack]
				return confined(t, p, child(t, "/", attack, cmp.Or(arg, "0"))) // where this machine has none, there is one less to find
			}
			w := newWorld(t)
			open := profileFor(t, w.root)
			open.Sockets = true
			free, sockets := play(nil), play(open)
			if !strings.Contains(free, canary) {
				t.Logf("the attack does not work on this machine anyway: %s", free)
			}
			if strings.Contains(free, canary) != strings.Contains(sockets, canary) {
				t.Errorf("with sockets on: %s; without a sandbox: %s", sockets, free)
			}
			if out := play(profileFor(t, w.root)); !strings.Contains(out, "denied") && !strings.Contains(out, "not supported") {
				t.Errorf("it comes through: %s", out)
			}
		})
	}
}

// TestLimits: who sets the limits of a process can end it, and a child may do neither to
// one outside.
func TestLimits(t *testing.T) {
	t.Parallel()
	landlocked(t)
	w := newWorld(t)
	for _, tc := range []struct {
		attack  string
		confine bool
		works   bool
	}{{"limit", true, false}, {"look at a limit", true, true}, {"limit", false, true}} {
		t.Run(fmt.Sprintf("%s %t", tc.attack, tc.confine), func(t *testing.T) {
			busy := exec.CommandContext(t.Context(), "/bin/sh", "-c", "while :; do :; done")
			if err := busy.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = busy.Process.Kill() }()
			var p *sandbox.Profile
			if tc.confine {
				p = profileFor(t, w.root)
			}
			out := confined(t, p, child(t, w.root, tc.attack, strconv.Itoa(busy.Process.Pid)))
			if strings.HasPrefix(out, "done:") != tc.works {
				t.Errorf("%s", out)
			}
			if tc.attack == "limit" && !tc.confine {
				err := busy.Wait()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
					t.Errorf("it does not end of that, so this shows nothing: %v", err)
				}
			}
		})
	}
	if out := confined(t, profileFor(t, w.root), child(t, w.root, "shell", "ulimit -c 0 && echo lowered")); !strings.Contains(out, "lowered") {
		t.Errorf("it cannot set limits of its own: %s", out)
	}
}
