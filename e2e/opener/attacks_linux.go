package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attack does one thing to another process. Most take its id, and look for OPENER_NEEDLE.
func attack(what string, args []string) (string, error) {
	needle, err := hex.DecodeString(os.Getenv("OPENER_NEEDLE"))
	if err != nil || len(needle) == 0 {
		return "", errors.New("OPENER_NEEDLE is empty")
	}
	pid := 0
	if len(args) > 0 {
		pid, _ = strconv.Atoi(args[0])
	}
	switch what {
	case "mem":
		f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			return "", err
		}
		return search(pid, "", needle, func(b []byte, at uint64) error { _, err := f.ReadAt(b, int64(at)); return err })
	case "vm":
		return search(pid, "", needle, func(b []byte, at uint64) error {
			_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}, []unix.RemoteIovec{{Base: uintptr(at), Len: len(b)}}, 0)
			return err
		})
	case "ptrace":
		return traced(pid, needle)
	case "getfd": // takes its descriptors, and reads what there is in the ones that can be read again
		return descriptors(pid)
	case "signal":
		return "sent", unix.Kill(pid, unix.SIGCONT)
	case "group":
		return "sent", unix.Kill(-pid, unix.SIGCONT)
	case "pidfd":
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return "", err
		}
		return "sent", unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0)
	case "connect":
		return speak(args[0], args[1:])
	case "call": // as a client would, with roots of its own
		return callOverHTTP(args[0], args[1], args[2])
	case "socket": // of a family
		fd, err := unix.Socket(pid, unix.SOCK_RAW, 0)
		if err != nil {
			fd, err = unix.Socket(pid, unix.SOCK_STREAM, 0)
		}
		return fmt.Sprint(fd), err
	case "pair":
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return fmt.Sprint(pair), err
	case "key": // a new one, in the user's keyring
		id, err := unix.AddKey("user", args[0], needle, unix.KEY_SPEC_USER_KEYRING)
		return fmt.Sprint(id), err
	case "ring":
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&[128]byte{})), 0)
		if errno != 0 {
			return "", errno
		}
		return "", nil
	case "limit": // of another process, as it is
		var was unix.Rlimit
		if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &was); err != nil {
			return "", err
		}
		return "", unix.Prlimit(pid, unix.RLIMIT_CORE, &was, nil)
	case "watch": // a folder: names the first that is opened there
		return watch(args[0])
	case "door": // of a shared hub: by its socket and its secret, as an adapter would
		return door(args[0], args[1])
	case "lent": // a connection of another user's to such a door
		return lentDoor(args[0], args[1], args[2])
	case "held": // one of a session that is attached
		return heldDoor(args[0])
	case "again": // so many times, another attack
		var n, first int
		if _, err := fmt.Sscan(args[0]+" "+args[1], &n, &first); err != nil {
			return "", err
		}
		return again(n, first, args[2:])
	case "leave": // it to one who is left behind
		return "", leave(args[0], args[1:])
	case "left":
		return left(pid, args[1], args[2:])
	case "all": // what is to be had of a shared hub
		return tryAll(args[0])
	case "false": // a door instead of a hub's
		return falseDoor(args[0])
	case "group-of": // the group of a process that it starts in the control group at a path
		return inGroup(args[0])
	case "type": // as a person would, at a terminal
		return typeAt(args[0])
	}
	return "", fmt.Errorf("no such attack: %s", what)
}

// inGroup starts a process in the control group at a path, of which it needs no more than a descriptor from O_PATH.
func inGroup(dir string) (string, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("/bin/cat", "/proc/self/cgroup")
	cmd.SysProcAttr = &unix.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// watch waits until something is opened in a folder, and gives its name. It says first that it watches.
func watch(dir string) (string, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return "", err
	}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN); err != nil {
		return "", err
	}
	if err := os.WriteFile("watching", nil, 0o600); err != nil {
		return "", err
	}
	b := make([]byte, 4096)
	n, err := unix.Read(fd, b)
	if err != nil || n < unix.SizeofInotifyEvent {
		return "", err
	}
	return unix.ByteSliceToString(b[unix.SizeofInotifyEvent:n]), nil
}

// search looks for the needle in the memory of a process that it may write itself, all of it or what has a name.
func search(pid int, where string, needle []byte, read func(b []byte, at uint64) error) (string, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return "", err
	}
	var last error
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		from, to, _ := strings.Cut(fields[0], "-")
		at, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil || !strings.HasPrefix(fields[1], "rw") || !strings.HasSuffix(strings.TrimSpace(line), where) || end-at > 1<<28 {
			continue
		}
		b := make([]byte, end-at)
		if last = read(b, at); bytes.Contains(b, needle) {
			return string(needle), nil
		}
	}
	return "not found", last
}

func traced(pid int, needle []byte) (string, error) {
	runtime.LockOSThread()
	if err := unix.PtraceSeize(pid); err != nil {
		return "", err
	}
	if err := unix.PtraceInterrupt(pid); err != nil {
		return "", err
	}
	var st unix.WaitStatus
	if _, err := unix.Wait4(pid, &st, 0, nil); err != nil {
		return "", err
	}
	defer func() { _ = unix.PtraceDetach(pid) }()
	// Word by word: of all memory it is the stack that holds the environment.
	return search(pid, "[stack]", needle, func(b []byte, at uint64) error { _, err := unix.PtracePeekData(pid, uintptr(at), b); return err })
}

func descriptors(pid int) (string, error) {
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return "", err
	}
	var took []string
	for n := range 64 {
		fd, err2 := unix.PidfdGetfd(p, n, 0)
		if err2 != nil {
			err = err2
			continue
		}
		name, _ := os.Readlink(fmt.Sprint("/proc/self/fd/", fd))
		took = append(took, name)
		_ = unix.Close(fd)
	}
	if took == nil {
		return "", err
	}
	return "took " + strings.Join(took, " "), nil
}

// callOverHTTP returns a client of a hub that serves HTTP: it says that the whole disk is open, and calls a tool with a path.
func callOverHTTP(address, tool, path string) (string, error) {
	session := ""
	post := func(body string) (*http.Response, error) {
		req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil && res.StatusCode >= http.StatusBadRequest {
			said, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			return nil, fmt.Errorf("%s: %s", res.Status, said)
		}
		return res, err
	}
	res, err := post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"opener","version":"1"}}}`)
	if err != nil {
		return "", err
	}
	_ = res.Body.Close()
	session = res.Header.Get("Mcp-Session-Id")
	if res, err = post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return "", err
	}
	_ = res.Body.Close()
	if res, err = post(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":{"path":%q}}}`, tool, path)); err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		text := strings.TrimPrefix(lines.Text(), "data: ")
		switch {
		case json.Unmarshal([]byte(text), &m) != nil:
		case m.Method == "roots/list":
			answer, err := post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///"}]}}`, m.ID))
			if err != nil {
				return "", err
			}
			_ = answer.Body.Close()
		case string(m.ID) == "2":
			return "answered: " + text, nil
		}
	}
	return "", errors.New("no answer")
}

// typeAt types an x at a terminal, and makes the own process group its foreground.
func typeAt(terminal string) (string, error) {
	fd, err := unix.Open(terminal, unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	x := byte('x')
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&x))); errno != 0 {
		err = errno
	}
	if _, err2 := unix.IoctlGetInt(fd, unix.TIOCGSID); err != nil && err2 != nil {
		return "", err // it is not its own
	}
	return "it is at the terminal", nil
}

// speak makes a request of a hub by its socket: a method and a path, without which it asks for the hub's state.
func speak(address string, request []string) (string, error) {
	if len(request) < 2 {
		request = []string{http.MethodGet, "/status"}
	}
	c, err := net.DialTimeout("unix", address, 5*time.Second)
	if err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(c, "%s %s HTTP/1.0\r\nHost: hub\r\nContent-Length: 0\r\n\r\n", request[0], request[1]); err != nil {
		return "", err
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	b, err := io.ReadAll(c)
	return string(b), err
}
