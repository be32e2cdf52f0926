package sandbox

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// This file holds modes, owners, times and extended attributes of files, which Landlock
// does not. The kernel asks before it makes a call that changes them (seccomp user
// notification). The hub looks up what the call names, judges where that is, and makes the
// call itself on what it has judged. It never lets the kernel go on: a thread could have
// changed the name by then.

// A change describes the arguments by which a system call names what it changes, and reads what it sets there.
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
	maps.Copy(all, oldChanges)
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
			raw := q.readBytes(at, 16*step)
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
	name, _, ended := bytes.Cut(q.readBytes(q.Args[1], longestName+1), []byte{0})
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
	raw := q.readBytes(value, int(size))
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

// A decider makes calls that change attributes for one run.
type decider struct {
	profile *Profile // with those rules alone that let something be written
	broker  *broker  // has what may be changed as well; nil: there is none
	users   string   // the user namespace of the hub
}

func newDecider(p *Profile, b *broker, users string) *decider {
	d := &decider{profile: &Profile{Unbounded: p.Unbounded, Places: p.Places}, broker: b, users: users}
	for _, r := range p.Rules {
		if r.Access&Write != 0 {
			d.profile.Rules = append(d.profile.Rules, r)
		}
	}
	return d
}

// decideNotice makes the call of a notice that came on asked, if it may be made. The error is
// what the call fails with.
func (d *decider) decideNotice(asked int, n *notice) error {
	c := attributeCalls[uint32(n.Number)]
	// In another user namespace ids mean something else, and only there a process can
	// have another root or other mounts than the hub.
	if users, err := os.Readlink(n.procPath("ns/user")); err != nil || users != d.users {
		return unix.EPERM
	}
	set, err := c.set(n)
	if set == nil || err != nil {
		return err
	}
	fd, err := n.openObject(c)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !n.isValid(asked) {
		return unix.EPERM // it has ended: what was read may belong to another process
	}
	at := "/proc/self/fd/" + strconv.Itoa(fd)
	if !d.mayChange(fd, at) {
		return unix.EPERM
	}
	return set(at)
}

// mayChange reports whether what is open lies where files may be written. A device
// belongs to the system, no matter who may write to it.
func (d *decider) mayChange(fd int, at string) bool {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFCHR || st.Mode&unix.S_IFMT == unix.S_IFBLK {
		return false
	}
	path, err := os.Readlink(at)
	return err == nil && filepath.IsAbs(path) && (d.profile.Opens(path, Write) || d.broker.hasOpen(fd, path))
}

// openObject opens what a system call changes, as the one who calls would find it.
func (n *notice) openObject(c change) (fd int, err error) {
	flags := 0
	if c.still {
		flags = unix.AT_SYMLINK_NOFOLLOW
	} else if c.flags != 0 {
		if flags = int(int32(n.Args[c.flags])); flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return -1, unix.EINVAL
		}
	}
	from := n.startDirectory(c.dir)
	if c.path == none || c.null && n.Args[c.path] == 0 && from != "cwd" {
		if flags != 0 {
			return -1, unix.EINVAL
		}
		return n.openDescriptor(from)
	}
	path, err := n.readPath(c.path)
	switch {
	case err != nil:
		return -1, err
	case path == "" && flags&unix.AT_EMPTY_PATH != 0:
		return n.openFound(from)
	}
	still := flags&unix.AT_SYMLINK_NOFOLLOW != 0
	if own, rest, is := n.splitOwn(path); is && (rest != "" || !still) {
		if rest == "" {
			return findOwn(n.procPath(own))
		}
		from, path = own, rest
	}
	base := unix.AT_FDCWD
	if !filepath.IsAbs(path) {
		if base, err = n.openFound(from); err != nil {
			return -1, err
		}
		defer unix.Close(base)
	}
	// Links of /proc lead where the hub may go and the one who calls may not.
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if still {
		how.Flags |= unix.O_NOFOLLOW
	}
	return unix.Openat2(base, path, &how)
}
