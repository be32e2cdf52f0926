package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// This file has the kernel tell of system calls before it makes them (seccomp user
// notification), which takes neither root nor ptrace.

// Ruleset has the thread that enters it, and all that is started there, recorded. What
// p allows is not noted. Modes, owners, times and attributes of files are not held meanwhile:
// the kernel gives notices of a process in one place only.
func (r *Recorder) Ruleset(k Kernel, p *Profile) (*Ruleset, error) {
	if architecture() == 0 {
		return nil, r.refuse(errors.New("system calls of this architecture are not known here"))
	}
	r.begin(p)
	notices, err := recordFilter()
	if err != nil {
		return nil, r.refuse(err)
	}
	box := &Ruleset{fd: -1}
	if !r.Free {
		held := *p
		held.Attributes = false
		if box, err = Prepare(k, &held); err != nil {
			return nil, err
		}
	}
	box.recorder, box.notices, box.profile = r, notices, p
	return box, nil
}

// A watched says where a system call has what is noted of it.
type watched struct {
	note  func(*Recorder, *Profile, *notice, watched)
	dir   int // the argument that path starts from; cwd for the working directory
	path  int
	dir2  int // of a second path
	path2 int
	flags int
}

const cwd = -1

// watchedCalls are those that every architecture has; oldCalls are those of this one.
//
// execve is not among them. The hub's own fork waits in the kernel until the program is
// executed, and with it the whole runtime may wait: nobody could answer. What was executed
// is seen when it first opens something, which all but small static programs do.
var watchedCalls = map[uint32]watched{
	unix.SYS_OPENAT:    {note: (*Recorder).opened, dir: 0, path: 1, flags: 2},
	unix.SYS_OPENAT2:   {note: (*Recorder).opened2, dir: 0, path: 1, flags: 2},
	unix.SYS_MKDIRAT:   {note: (*Recorder).made, dir: 0, path: 1},
	unix.SYS_MKNODAT:   {note: (*Recorder).made, dir: 0, path: 1},
	unix.SYS_SYMLINKAT: {note: (*Recorder).made, dir: 1, path: 2},
	unix.SYS_UNLINKAT:  {note: (*Recorder).removed, dir: 0, path: 1},
	unix.SYS_RENAMEAT2: {note: (*Recorder).moved, dir: 0, path: 1, dir2: 2, path2: 3},
	unix.SYS_LINKAT:    {note: (*Recorder).moved, dir: 0, path: 1, dir2: 2, path2: 3},
	unix.SYS_TRUNCATE:  {note: (*Recorder).truncated, dir: cwd, path: 0},
	unix.SYS_CONNECT:   {note: (*Recorder).connected, path: 1, flags: 2},
	unix.SYS_BIND:      {note: (*Recorder).bound, path: 1, flags: 2},
}

// lookUp finds what is noted of a system call.
func lookUp(number uint32) (watched, bool) {
	w, ok := watchedCalls[number]
	if !ok {
		w, ok = oldCalls[number]
	}
	return w, ok
}

// recordFilter has the kernel report every system call that is to be noted. Calls of 32-bit programs are not seen. io_uring is
// refused, because it opens files past any filter.
func recordFilter() ([]unix.SockFilter, error) {
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArchitecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: architecture(), SkipTrue: 1},
		allowed,
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_IO_URING_SETUP, SkipTrue: 1}, fails(unix.ENOSYS),
	}
	for _, calls := range []map[uint32]watched{watchedCalls, oldCalls} {
		for number := range calls {
			prog = append(prog, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF})
		}
	}
	return assemble(append(prog, allowed))
}

// A notice is a system call that waits to be made: struct seccomp_notif.
type notice struct {
	ID           uint64
	PID          uint32 // of the thread
	Flags        uint32
	Number       int32
	Architecture uint32
	Instruction  uint64
	Args         [6]uint64
}

// A notifyResponse is struct seccomp_notif_resp.
type notifyResponse struct {
	ID    uint64
	Value int64
	Error int32
	Flags uint32
}

const noticeIsValid = 0x40082102 // SECCOMP_IOCTL_NOTIF_ID_VALID

// listen installs a filter whose notices come on the descriptor.
func listen(filter []unix.SockFilter, flags uintptr) (fd int, err error) {
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	n, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w", errno)
	}
	return int(n), nil
}

func ioctl[T any](fd int, request uint, arg *T) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(arg)))
	if errno != 0 {
		return errno
	}
	return nil
}

// serveNotices answers what is told on a descriptor until wake is readable, or nobody is left
// who could ask. No wake is -1.
func serveNotices(fd, wake int, answer func(*notice) notifyResponse) {
	for {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(wake), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil || ready[1].Revents != 0 || ready[0].Revents&unix.POLLIN == 0 {
			return
		}
		var n notice
		if err := ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, &n); err != nil {
			continue // a signal, or it has ended meanwhile
		}
		a := answer(&n)
		a.ID = n.ID
		// Whoever has ended needs no answer.
		_ = ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, &a)
	}
}

// serve notes what is told on a descriptor until nobody is left who could.
func (r *Recorder) serve(fd int, p *Profile) {
	defer func() { _ = unix.Close(fd) }()
	serveNotices(fd, -1, func(n *notice) notifyResponse {
		r.note(fd, p, n)
		return notifyResponse{Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	})
}

func (r *Recorder) note(fd int, p *Profile, n *notice) {
	if root, err := os.Readlink(n.proc("root")); err != nil || root != "/" {
		return // its paths mean something else
	}
	if exe, err := os.Readlink(n.proc("exe")); err == nil && ioctl(fd, noticeIsValid, &n.ID) == nil {
		if exists(exe) {
			r.beyond(p, Use{Path: exe, Access: Read | Execute})
		}
	}
	if w, ok := lookUp(uint32(n.Number)); ok {
		w.note(r, p, n, w)
	}
}

func (n *notice) proc(name string) string { return "/proc/" + strconv.Itoa(int(n.PID)) + "/" + name }

// bytes are up to most bytes of the process at an address.
func (n *notice) bytes(at uint64, most int) []byte {
	out := make([]byte, 0, min(most, 256))
	for len(out) < most {
		// A page at a time: the next one may not be there.
		size := min(most-len(out), 256, int(4096-at%4096))
		buf := make([]byte, size)
		got, err := unix.ProcessVMReadv(int(n.PID), []unix.Iovec{{Base: &buf[0], Len: uint64(size)}}, []unix.RemoteIovec{{Base: uintptr(at), Len: size}}, 0)
		if err != nil || got <= 0 {
			return out
		}
		out = append(out, buf[:got]...)
		if bytes.IndexByte(buf[:got], 0) >= 0 && most == unix.PathMax {
			return out
		}
		at += uint64(got)
	}
	return out
}

// at is a path in the arguments as it is written, absolute; "" where that cannot be told.
func (n *notice) at(dir, path int) string {
	text, _, ended := bytes.Cut(n.bytes(n.Args[path], unix.PathMax), []byte{0})
	if !ended || len(text) == 0 {
		return ""
	}
	if from := "fd/" + strconv.Itoa(int(int32(n.Args[max(dir, 0)]))); dir != cwd && int32(n.Args[dir]) != unix.AT_FDCWD {
		return n.absolute(string(text), from)
	}
	return n.absolute(string(text), "cwd")
}

// absolute is a name of the process's, which starts from one of its own directories.
func (n *notice) absolute(name, from string) string {
	if !filepath.IsAbs(name) {
		base, err := os.Readlink(n.proc(from))
		if err != nil || !filepath.IsAbs(base) {
			return ""
		}
		name = base + "/" + name // not joined: ".." behind a link is not lexical
	}
	for _, self := range []string{"/proc/self/", "/proc/thread-self/"} {
		if rest, ok := strings.CutPrefix(name, self); ok {
			return n.proc(rest)
		}
	}
	return name
}

func exists(path string) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// split is where a path stands: its directory without links, and its name there.
func split(path string) (dir, name string, ok bool) {
	path = strings.TrimRight(path, "/")
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", "", false
	}
	if name = path[i+1:]; name == "" || name == "." || name == ".." {
		return "", "", false
	}
	dir, err := filepath.EvalSymlinks(path[:i+1])
	return dir, name, err == nil
}

func (r *Recorder) opened(p *Profile, n *notice, w watched) {
	r.open(p, n.at(w.dir, w.path), n.Args[w.flags])
}

func (r *Recorder) opened2(p *Profile, n *notice, w watched) {
	if how := n.bytes(n.Args[w.flags], 8); len(how) == 8 {
		r.open(p, n.at(w.dir, w.path), binary.NativeEndian.Uint64(how))
	}
}

// open notes an open by what it would do to what is there now.
func (r *Recorder) open(p *Profile, path string, flags uint64) {
	if path == "" || flags&unix.O_PATH != 0 {
		return
	}
	a := [...]Access{Read, Write, Read | Write, Read | Write}[flags&unix.O_ACCMODE]
	if flags&unix.O_TRUNC != 0 {
		a |= Write
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err != nil && flags&unix.O_CREAT != 0:
		if dir, name, ok := split(path); ok && !exists(filepath.Join(dir, name)) && MayUse(dir, Write) {
			r.beyond(p, Use{Path: filepath.Join(dir, name), Access: a | Write, Made: true})
		}
	case err != nil, flags&unix.O_EXCL != 0 && flags&unix.O_CREAT != 0:
	case flags&unix.O_TMPFILE == unix.O_TMPFILE:
		r.beyond(p, Use{Path: real, Access: Write})
	case a&Read != 0 && !MayUse(real, Read), a&Write != 0 && !MayUse(real, Write):
	default:
		r.beyond(p, Use{Path: real, Access: a})
	}
}

func (r *Recorder) made(p *Profile, n *notice, w watched) {
	if dir, name, ok := split(n.at(w.dir, w.path)); ok && !exists(filepath.Join(dir, name)) && MayUse(dir, Write) {
		r.beyond(p, Use{Path: filepath.Join(dir, name), Access: Write, Made: true})
	}
}

func (r *Recorder) removed(p *Profile, n *notice, w watched) { r.renamed(p, n.at(w.dir, w.path), true) }

func (r *Recorder) moved(p *Profile, n *notice, w watched) {
	r.renamed(p, n.at(w.dir, w.path), true)
	r.renamed(p, n.at(w.dir2, w.path2), false)
}

// renamed notes that a name goes from a directory, or comes to it.
func (r *Recorder) renamed(p *Profile, path string, goes bool) {
	if dir, name, ok := split(path); ok && (!goes || exists(filepath.Join(dir, name))) && MayUse(dir, Write) {
		r.beyond(p, Use{Path: dir, Access: Write})
	}
}

func (r *Recorder) truncated(p *Profile, n *notice, w watched) {
	if real, err := filepath.EvalSymlinks(n.at(w.dir, w.path)); err == nil && MayUse(real, Write) {
		r.beyond(p, Use{Path: real, Access: Write})
	}
}

func (r *Recorder) connected(_ *Profile, n *notice, w watched) { r.addressed(n, w, false) }

func (r *Recorder) bound(_ *Profile, n *notice, w watched) { r.addressed(n, w, true) }

// addressed notes the address of a socket.
func (r *Recorder) addressed(n *notice, w watched, bound bool) {
	addr := n.bytes(n.Args[w.path], int(min(n.Args[w.flags], unix.SizeofSockaddrUnix)))
	if len(addr) < 3 {
		return
	}
	switch family := binary.NativeEndian.Uint16(addr); {
	case family == unix.AF_UNIX && addr[2] == 0:
		r.addSocket(Socket{"@" + string(bytes.TrimRight(addr[3:], "\x00")), bound})
	case family == unix.AF_UNIX:
		name, _, _ := bytes.Cut(addr[2:], []byte{0})
		path := n.absolute(string(name), "cwd")
		if dir, last, ok := split(path); ok && (bound || exists(path)) {
			r.addSocket(Socket{filepath.Join(dir, last), bound})
		}
	case (family == unix.AF_INET || family == unix.AF_INET6) && !bound && len(addr) >= 4:
		if port := binary.BigEndian.Uint16(addr[2:]); port != 0 {
			r.addPort(port)
		}
	}
}
