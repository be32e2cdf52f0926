package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// This file holds modes, owners, times and extended attributes of files, which Landlock
// does not. The kernel asks before it makes a call that changes them (seccomp user
// notification). The hub looks up what the call names, judges where that is, and makes the
// call itself on what it has judged. It never lets the kernel go on: a thread could have
// changed the name by then.

// A change says where a system call names what it changes, and reads what it sets there.
type change struct {
	dir   int  // the argument that path starts from; cwd for the working directory
	path  int  // itself an argument; none: what is changed is dir
	flags int  // the argument with AT_SYMLINK_NOFOLLOW; 0: there is none
	still bool // a link is changed, and not what it leads to
	null  bool // without a path dir is changed
	set   func(*notice) (setter, error)
}

const none = -1

// A setter sets what a system call asks for on what is open at a descriptor, by its path.
// Nil sets nothing.
type setter func(at string) error

// attributeCalls are the system calls that change attributes.
var attributeCalls = func() map[uint32]change {
	all := map[uint32]change{
		unix.SYS_FCHMOD:       {dir: 0, path: none, set: modeAt(1)},
		unix.SYS_FCHMODAT:     {dir: 0, path: 1, set: modeAt(2)},
		unix.SYS_FCHMODAT2:    {dir: 0, path: 1, flags: 3, set: modeAt(2)},
		unix.SYS_FCHOWN:       {dir: 0, path: none, set: ownersAt(1)},
		unix.SYS_FCHOWNAT:     {dir: 0, path: 1, flags: 4, set: ownersAt(2)},
		unix.SYS_UTIMENSAT:    {dir: 0, path: 1, flags: 3, null: true, set: timesAt(2, nanoseconds)},
		unix.SYS_SETXATTR:     {dir: cwd, path: 0, set: setAttribute},
		unix.SYS_LSETXATTR:    {dir: cwd, path: 0, still: true, set: setAttribute},
		unix.SYS_FSETXATTR:    {dir: 0, path: none, set: setAttribute},
		unix.SYS_REMOVEXATTR:  {dir: cwd, path: 0, set: removeAttribute},
		unix.SYS_LREMOVEXATTR: {dir: cwd, path: 0, still: true, set: removeAttribute},
		unix.SYS_FREMOVEXATTR: {dir: 0, path: none, set: removeAttribute},
	}
	for number, c := range oldChanges {
		all[number] = c
	}
	return all
}()

func modeAt(n int) func(*notice) (setter, error) {
	return func(q *notice) (setter, error) {
		return func(at string) error { return unix.Chmod(at, uint32(q.Args[n])) }, nil
	}
}

func ownersAt(n int) func(*notice) (setter, error) {
	return func(q *notice) (setter, error) {
		return func(at string) error { return unix.Chown(at, int(int32(q.Args[n])), int(int32(q.Args[n+1]))) }, nil
	}
}

// The units in which system calls tell the second half of a time. With seconds there is
// no second half.
const (
	seconds      = 0
	microseconds = 1_000
	nanoseconds  = 1
)

func timesAt(n int, unit int64) func(*notice) (setter, error) {
	return func(q *notice) (setter, error) {
		var times []unix.Timespec // nil: now
		if at := q.Args[n]; at != 0 {
			step := 2
			if unit == seconds {
				step = 1
			}
			raw := q.bytes(at, 16*step)
			if len(raw) < 16*step {
				return nil, unix.EFAULT
			}
			word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(raw[8*i:])) }
			for i := range 2 {
				t := unix.Timespec{Sec: word(i * step)}
				if step == 2 {
					t.Nsec = word(2*i + 1)
				}
				if unit == microseconds {
					if t.Nsec < 0 || t.Nsec >= 1_000_000 {
						return nil, unix.EINVAL
					}
					t.Nsec *= unit
				}
				times = append(times, t)
			}
			if times[0].Nsec == unix.UTIME_OMIT && times[1].Nsec == unix.UTIME_OMIT {
				return nil, nil
			}
		}
		return func(at string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, at, times, 0) }, nil
	}
}

// Bounds of the kernel on extended attributes.
const (
	longestName  = 255
	longestValue = 64 << 10
)

func attributeName(q *notice) (string, error) {
	name, _, ended := bytes.Cut(q.bytes(q.Args[1], longestName+1), []byte{0})
	switch {
	case ended && len(name) > 0:
		return string(name), nil
	case ended || len(name) > longestName:
		return "", unix.ERANGE
	}
	return "", unix.EFAULT
}

func setAttribute(q *notice) (setter, error) {
	value, size, flags := q.Args[2], q.Args[3], int(int32(q.Args[4]))
	if flags&^(unix.XATTR_CREATE|unix.XATTR_REPLACE) != 0 {
		return nil, unix.EINVAL
	}
	name, err := attributeName(q)
	if err != nil {
		return nil, err
	}
	if size > longestValue {
		return nil, unix.E2BIG
	}
	raw := q.bytes(value, int(size))
	if len(raw) < int(size) {
		return nil, unix.EFAULT
	}
	return func(at string) error { return unix.Setxattr(at, name, raw, flags) }, nil
}

func removeAttribute(q *notice) (setter, error) {
	name, err := attributeName(q)
	if err != nil {
		return nil, err
	}
	return func(at string) error { return unix.Removexattr(at, name) }, nil
}

// A decider answers what the kernel asks of one run. Its goroutine owns all but over.
type decider struct {
	fd      int      // where the kernel asks
	wake    int      // an eventfd: readable once the run is over
	profile *Profile // with those rules alone that let something be written
	users   string   // the user namespace of the hub

	over chan struct{} // closed when it answers no more
}

// listens makes a decider of what is asked on fd, and has it answer.
func listens(fd int, p *Profile) (*decider, error) {
	d := &decider{fd: fd, profile: &Profile{Unbounded: p.Unbounded, Places: p.Places}, over: make(chan struct{})}
	for _, r := range p.Rules {
		if r.Access&Write != 0 {
			d.profile.Rules = append(d.profile.Rules, r)
		}
	}
	var err error
	if d.users, err = os.Readlink("/proc/thread-self/ns/user"); err != nil {
		return nil, err
	}
	if d.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	// Answers come sooner where the kernel hands the processor over; older ones cannot.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), noticeFlags, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	ready := make(chan error, 1)
	go OnThread(func() {
		defer close(d.over)
		err := dropCapabilities()
		if ready <- err; err == nil {
			d.serve()
		}
	})
	return d, <-ready
}

const noticeFlags = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS

// end has the decider answer no more, and returns when it does not. What is asked later
// fails. It must be called once.
func (d *decider) end() {
	_, _ = unix.Write(d.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-d.over
	_ = unix.Close(d.wake)
	_ = unix.Close(d.fd)
}

// serve answers until the run is over, or nobody is left who could ask.
func (d *decider) serve() {
	serveNotices(d.fd, d.wake, func(n *notice) (answer notifyResponse) {
		if err := d.decide(n); err != nil {
			answer.Error = -int32(unix.EPERM)
			if errno, is := errors.AsType[unix.Errno](err); is {
				answer.Error = -int32(errno)
			}
		}
		return answer
	})
}

// decide makes the call of a notice where it may be made. The error is what the call
// fails with.
func (d *decider) decide(n *notice) error {
	c, known := attributeCalls[uint32(n.Number)]
	if !known {
		return unix.EPERM
	}
	// In another user namespace ids mean something else, and only there a process can
	// have another root or other mounts than the hub.
	if users, err := os.Readlink(n.proc("ns/user")); err != nil || users != d.users {
		return unix.EPERM
	}
	set, err := c.set(n)
	if set == nil || err != nil {
		return err
	}
	fd, err := n.object(c)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := ioctl(d.fd, noticeIsValid, &n.ID); err != nil {
		return err // it has ended: what was read may be somebody else's
	}
	at := "/proc/self/fd/" + strconv.Itoa(fd)
	if !d.mayChange(fd, at) {
		return unix.EPERM
	}
	return set(at)
}

// mayChange reports whether what is open lies where files may be written. A device
// belongs to the system, whoever may write to it.
func (d *decider) mayChange(fd int, at string) bool {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFCHR || st.Mode&unix.S_IFMT == unix.S_IFBLK {
		return false
	}
	path, err := os.Readlink(at)
	return err == nil && filepath.IsAbs(path) && d.profile.Opens(path, Write)
}

// object opens what a system call changes, as the one who calls would find it.
func (n *notice) object(c change) (fd int, err error) {
	flags := 0
	if c.still {
		flags = unix.AT_SYMLINK_NOFOLLOW
	} else if c.flags != 0 {
		if flags = int(int32(n.Args[c.flags])); flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return -1, unix.EINVAL
		}
	}
	from := "cwd"
	if c.dir != cwd && int32(n.Args[c.dir]) != unix.AT_FDCWD {
		from = "fd/" + strconv.Itoa(int(int32(n.Args[c.dir])))
	}
	if c.path == none || c.null && n.Args[c.path] == 0 && from != "cwd" {
		if flags != 0 {
			return -1, unix.EINVAL
		}
		return n.opened(from)
	}
	text, _, ended := bytes.Cut(n.bytes(n.Args[c.path], unix.PathMax), []byte{0})
	switch {
	case !ended && len(text) == unix.PathMax:
		return -1, unix.ENAMETOOLONG
	case !ended:
		return -1, unix.EFAULT
	case len(text) == 0 && flags&unix.AT_EMPTY_PATH != 0:
		return n.found(from)
	}
	path, still := string(text), flags&unix.AT_SYMLINK_NOFOLLOW != 0
	if own, rest, is := n.own(path); is && (rest != "" || !still) {
		if rest == "" {
			return findOwn(n.proc(own))
		}
		from, path = own, rest
	}
	base := unix.AT_FDCWD
	if !filepath.IsAbs(path) {
		if base, err = n.found(from); err != nil {
			return -1, err
		}
		defer func() { _ = unix.Close(base) }()
	}
	// Links of /proc lead where the hub may go and the one who calls may not.
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if still {
		how.Flags |= unix.O_NOFOLLOW
	}
	return unix.Openat2(base, path, &how)
}

// own splits a path that begins at a descriptor or folder of the process itself, which
// the hub would find its own by.
func (n *notice) own(path string) (from, rest string, ok bool) {
	below, of := strings.CutPrefix(path, "/proc/")
	if !of {
		if below, of = strings.CutPrefix(path, "/dev/fd/"); !of {
			return "", "", false
		}
		below = "self/fd/" + below
	}
	who, below, _ := strings.Cut(below, "/")
	if who != "self" && who != "thread-self" && !exists("/proc/"+who+"/task/"+strconv.Itoa(int(n.PID))) {
		return "", "", false
	}
	from, rest, deeper := strings.Cut(below, "/")
	if from == "fd" {
		var number string
		number, rest, deeper = strings.Cut(rest, "/")
		if _, err := strconv.ParseUint(number, 10, 31); err != nil {
			return "", "", false
		}
		from += "/" + number
	} else if from != "cwd" && from != "root" {
		return "", "", false
	}
	if rest = strings.TrimLeft(rest, "/"); rest == "" && deeper {
		rest = "."
	}
	return from, rest, true
}

// found opens a directory or descriptor of the one who calls.
func (n *notice) found(name string) (fd int, err error) {
	if fd, err = findOwn(n.proc(name)); errors.Is(err, unix.ENOENT) {
		return -1, unix.EBADF
	}
	return fd, err
}

func findOwn(path string) (fd int, err error) {
	return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
}

// opened is found, of a descriptor that is more than a path.
func (n *notice) opened(name string) (fd int, err error) {
	text, err := os.ReadFile(n.proc(strings.Replace(name, "fd/", "fdinfo/", 1)))
	if err != nil {
		return -1, unix.EBADF
	}
	_, octal, _ := strings.Cut(string(text), "flags:\t")
	octal, _, _ = strings.Cut(octal, "\n")
	if flags, err := strconv.ParseUint(octal, 8, 64); err != nil || flags&unix.O_PATH != 0 {
		return -1, unix.EBADF
	}
	return n.found(name)
}
