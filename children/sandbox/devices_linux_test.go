package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/children/sandbox"
	"mcphub/e2e/needs"
)

func init() {
	attacks["terminal of its own"] = func([]string) (string, error) { // by path, and without one (TIOCGPTPEER)
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return "", err
		}
		if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
			return "", err
		}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, master.Fd(), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY)
		if errno != 0 {
			return "", errno
		}
		return "", nil
	}
	attacks["take what is typed"] = func(a []string) (string, error) {
		f, err := os.OpenFile(a[0], os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return "", err
		}
		b := make([]byte, 100)
		n, err := f.Read(b)
		return string(b[:n]), err
	}
}

// terminal returns one of the user's, of another program: its path, and its other end.
func terminal(t *testing.T) (path string, master *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/dev/pts/%d", n), master
}

// sharedMemory returns what another program of the user keeps in shared memory.
func sharedMemory(t *testing.T) string {
	t.Helper()
	f, err := os.CreateTemp("/dev/shm", "mcphub-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(f.Name()) })
	if _, err := f.WriteString(canary); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// TestDevices: all programs of the user share terminals and shared memory.
// They are closed, and open whole for who is given them.
func TestDevices(t *testing.T) {
	t.Parallel()
	landlocked(t)
	for _, tc := range []struct {
		name    string
		rule    sandbox.Rule
		args    []string
		escaped string // what comes of it
	}{
		{"what others share is read", sandbox.Memory, []string{"read", "{memory}"}, canary},
		{"what others share is written", sandbox.Memory, []string{"write", "{memory}"}, "done:"},
		{"what others share is removed", sandbox.Memory, []string{"remove", "{memory}"}, "done:"},
		{"the names of what others share", sandbox.Memory, []string{"list", "/dev/shm"}, "mcphub-test-"},
		{"locks of Python", sandbox.Memory, []string{"shell", "cd /dev/shm && f=mcphub-test-$$ && echo x > $f && ln $f $f.b && rm $f $f.b"}, "done:"},
		{"a terminal of others is written to", sandbox.Terminals, []string{"write", "{terminal}"}, "done:"},
		{"what is typed at a terminal is taken", sandbox.Terminals, []string{"take what is typed", "{terminal}"}, canary},
		{"a terminal of its own", sandbox.Terminals, []string{"terminal of its own"}, "done:"},
		{"a program at a terminal of its own", sandbox.Terminals, []string{"shell", "TMPDIR={root} script -qc 'echo hello' {root}/typescript"}, "done:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.args[0] == "shell" {
				needs.Line(t, tc.args[1])
			}
			play := func(more ...sandbox.Rule) string {
				w, memory := newWorld(t), sharedMemory(t)
				at, master := terminal(t)
				if _, err := master.WriteString(canary + "\n"); err != nil {
					t.Fatal(err)
				}
				var args []string
				for _, a := range tc.args {
					args = append(args, strings.NewReplacer("{root}", w.root, "{memory}", memory, "{terminal}", at).Replace(a))
				}
				p := profileFor(t, w.root)
				for _, r := range more {
					p.Rules = append(p.Rules, sandbox.Rule{Path: real(r.Path), Access: r.Access})
				}
				p.Rules = sandbox.Sorted(p.Rules)
				return confined(t, p, child(t, w.root, args...))
			}
			if out := play(tc.rule); !strings.Contains(out, tc.escaped) {
				t.Errorf("with the rule that opens it it does not work, so this shows nothing: %s", out)
			}
			if out := play(); strings.Contains(out, tc.escaped) || !strings.Contains(out, "denied") {
				t.Errorf("it comes through: %s", out)
			}
		})
	}
}

// TestHarmlessDevices: devices that hold nothing of anybody are open to all.
func TestHarmlessDevices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, need := range sandbox.Base() {
		for _, path := range need.Paths {
			if filepath.Dir(path) != "/dev" {
				continue
			}
			if out := confined(t, profileFor(t, w.root), child(t, w.root, "shell", "exec 3<>"+path)); !strings.HasPrefix(out, "done:") {
				t.Errorf("%s: %s", path, out)
			}
		}
	}
}
