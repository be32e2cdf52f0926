package proof

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// performCall makes one call.
func performCall(c Call) error {
	pid, _ := strconv.Atoi(c.Path)
	switch c.Do {
	case "read":
		_, err := os.ReadFile(c.Path)
		return err
	case "read below":
		return readBelow(c.Path, c.To)
	case "list":
		_, err := os.ReadDir(c.Path)
		return err
	case "stat":
		_, err := os.Lstat(c.Path)
		return err
	case "write":
		return openPath(c.Path, unix.O_WRONLY)
	case "create":
		return openPath(c.Path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	case "truncate":
		return os.Truncate(c.Path, 0)
	case "mkdir":
		return os.Mkdir(c.Path, 0o700)
	case "mkfifo":
		return unix.Mkfifo(c.Path, 0o600)
	case "remove":
		return os.Remove(c.Path)
	case "rename":
		return os.Rename(c.Path, c.To)
	case "swap":
		return unix.RenamexNp(c.Path, c.To, unix.RENAME_SWAP)
	case "exchange":
		return unix.Exchangedata(c.Path, c.To, 0)
	case "link":
		return os.Link(c.Path, c.To)
	case "clone":
		return unix.Clonefile(c.Path, c.To, 0)
	case "symlink":
		return os.Symlink(c.Path, c.To)
	case "chmod":
		return unix.Chmod(c.Path, 0o600)
	case "chmod u+s":
		return unix.Chmod(c.Path, 0o4700)
	case "chflags":
		return unix.Chflags(c.Path, unix.UF_HIDDEN)
	case "setxattr":
		return unix.Setxattr(c.Path, "mcphub.proof", []byte("x"), 0)
	case "utimes":
		return unix.Utimes(c.Path, make([]unix.Timeval, 2))
	case "run":
		return runShell(c.Path)
	case "connect socket":
		conn, err := net.Dial("unix", c.Path)
		if err == nil {
			err = conn.Close()
		}
		return err
	case "signal":
		return unix.Kill(pid, unix.SIGCONT)
	case "process arguments":
		_, err := unix.SysctlRaw("kern.procargs2", pid)
		return err
	case "trace":
		return unix.PtraceAttach(pid)
	case "task":
		return taskOf(pid)
	case "look up":
		return lookUp(c.Path)
	}
	return fmt.Errorf("no call %q", c.Do)
}

func openPath(path string, flags int) error {
	fd, err := unix.Open(path, flags, 0o600)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// readBelow reads by a path from a directory that is open.
func readBelow(dir, path string) error {
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	fd, err := unix.Openat(at, path, unix.O_RDONLY, 0)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// runShell runs a shell, or a script.
func runShell(path string) error {
	p, err := os.StartProcess(path, []string{path, "-c", "exit 0"}, &os.ProcAttr{Files: make([]*os.File, 3)})
	if err != nil {
		return err
	}
	state, err := p.Wait()
	if err == nil && !state.Success() {
		err = fmt.Errorf("%s", state)
	}
	return err
}

// taskBootstrapPort is the special port of a task by which it looks up services.
const taskBootstrapPort = 4

// lookUp asks launchd for a service.
func lookUp(name string) error {
	var bootstrap, port uint32
	task, err := callLibrary("task_self_trap", 0, 0, 0)
	if err != nil {
		return err
	}
	if r, err := callLibrary("task_get_special_port", task, taskBootstrapPort, uintptr(unsafe.Pointer(&bootstrap))); err != nil || r != 0 {
		return fmt.Errorf("no bootstrap port: %d %w", r, err)
	}
	text := append([]byte(name), 0)
	switch r, err := callLibrary("bootstrap_look_up", uintptr(bootstrap), uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&port))); {
	case err != nil:
		return err
	case r != 0:
		return fmt.Errorf("bootstrap_look_up answers %d", r)
	}
	return nil
}

// taskOf takes the port by which all of a process can be read and changed.
func taskOf(pid int) error {
	var port uint32
	task, err := callLibrary("task_self_trap", 0, 0, 0)
	if err != nil {
		return err
	}
	switch r, err := callLibrary("task_for_pid", task, uintptr(pid), uintptr(unsafe.Pointer(&port))); {
	case err != nil:
		return err
	case r != 0:
		return fmt.Errorf("task_for_pid answers %d", r)
	}
	return nil
}
