package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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
		return attach(pid, needle)
	case "getfd": // takes its descriptors, and reads what there is in those that can be read anew
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
		return speak(args[0])
	case "initialize": // as a client would, with roots of its own
		return initialize(args[0])
	case "type": // as a person would, at a terminal
		return typeAt(args[0])
	}
	return "", fmt.Errorf("no such attack: %s", what)
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

func attach(pid int, needle []byte) (string, error) {
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

// initialize opens a session at a hub that serves HTTP.
func initialize(address string) (string, error) {
	req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
		`{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"opener","version":"1"}}}`))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	said, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", res.Status, said)
	}
	return "a session: " + res.Header.Get("Mcp-Session-Id"), err
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

// speak asks a hub for its state by its socket.
func speak(address string) (string, error) {
	c, err := net.DialTimeout("unix", address, 5*time.Second)
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, "GET /status HTTP/1.0\r\nHost: hub\r\n\r\n"); err != nil {
		return "", err
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	b, err := io.ReadAll(c)
	return string(b), err
}
