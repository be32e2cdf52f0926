package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// This file makes calls on a [File], and on what its program makes beside it. The kernel asks
// before it makes a call that names a path. If that is such a name in such a folder, the hub
// makes the call itself, on the folder that it holds, and hands over what it has opened. With
// all other calls the kernel goes on: no rule opens what is brokered, so a name that is
// changed by then leads to nothing.

// A broker makes calls for one run. It belongs to the goroutine of its listener.
type broker struct {
	folders []*folder
	users   string // the user namespace of the hub
}

// A folder is one that has brokered files. It is known by what it is, and not by its path.
type folder struct {
	fd       int
	inode    inode
	files    []File
	changing sync.Locker
}

// heldFolders opens the folders of the files of a Profile. What is not there, or a link by now,
// or is not what was there when the Profile was made, is left out.
func heldFolders(p *Profile) (list []*folder) {
	for _, f := range p.Files {
		fd, err := unix.Openat2(unix.AT_FDCWD, f.Folder, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
		if err != nil {
			continue
		}
		in, place := inodeOf(fd), p.placeOf(f.Folder)
		at := slices.IndexFunc(list, func(have *folder) bool { return have.inode == in })
		switch {
		case in == inode{}, place != nil && place.inode != in, p.isExcepted(f.Folder):
			_ = unix.Close(fd)
		case at >= 0:
			list[at].files = append(list[at].files, f)
			_ = unix.Close(fd)
		default:
			list = append(list, &folder{fd, in, []File{f}, changingIn(in)})
		}
	}
	return list
}

func closeFolders(list []*folder) {
	for _, f := range list {
		_ = unix.Close(f.fd)
	}
}

// inodeOf returns what a descriptor is of.
func inodeOf(fd int) inode {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return inode{}
	}
	return inode{uint64(st.Dev), st.Ino}
}

// errNotBrokered has the kernel go on with a call.
var errNotBrokered = errors.New("it is nothing that the broker has")

// A brokering is a call that a broker makes.
type brokering struct {
	*notice
	watched
	asked  int  // where the kernel asks
	fd     int  // what was opened, to be handed over; -1: nothing
	onExec bool // it is closed when a program is executed
}

// serveCall makes a call. It is errNotBrokered if the kernel is to go on, and else what the call fails with.
func (b *broker) serveCall(asked int, n *notice) (*brokering, error) {
	w, ok := watchedCalls[uint32(n.Number)]
	if !ok || w.serve == nil {
		return nil, errNotBrokered
	}
	c := &brokering{notice: n, watched: w, asked: asked, fd: -1}
	return c, w.serve(b, c)
}

// handOver gives the process what was opened, and answers the call by that in one step: nothing
// comes between the two.
func (c *brokering) handOver() error {
	defer unix.Close(c.fd)
	add := struct { // seccomp_notif_addfd
		ID                         uint64
		Flags, From, To, FileFlags uint32
	}{ID: c.ID, Flags: unix.SECCOMP_ADDFD_FLAG_SEND, From: uint32(c.fd)}
	if c.onExec {
		add.FileFlags = unix.O_CLOEXEC
	}
	return ioctlOn(c.asked, unix.SECCOMP_IOCTL_NOTIF_ADDFD, &add)
}

// prepareThread gives the thread of the listener a umask of its own. A signal would interrupt
// handOver, when the process may know of an answer already and not have what it says.
func (b *broker) prepareThread() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	for _, s := range []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP} { // of the thread itself
		all.Val[0] &^= 1 << (s - 1)
	}
	return unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil)
}

// A spot is a name in a folder, and the file that it is or belongs to.
type spot struct {
	*folder
	file *File
	name string
}

func (s spot) path() string { return filepath.Join(s.file.Folder, s.name) }

// fileOf returns the file that a name in the folder is or belongs to; nil for none.
func (d *folder) fileOf(name string) *File {
	at := slices.IndexFunc(d.files, func(f File) bool { return f.Beside(name) })
	if at < 0 {
		return nil
	}
	return &d.files[at]
}

// mayBe reports whether a name is one that any of the folders could have, or a link to one. It goes by the name alone: fileOf
// decides, once the folder is known.
func (b *broker) mayBe(name string) bool {
	return slices.ContainsFunc(b.folders, func(d *folder) bool {
		return slices.ContainsFunc(d.files, func(f File) bool { return f.isNamed(name) || slices.Contains(f.Links, name) })
	})
}

// findSpot finds the spot that a path in the arguments leads to, as the process would find it. The
// path is read once. slashed: it may end in a slash. follows: a link at its end is followed.
func (b *broker) findSpot(c *brokering, dir, path int, slashed, follows bool) (s spot, err error) {
	text, err := c.readPath(path)
	if err != nil {
		return s, errNotBrokered // the kernel finds out, too
	}
	if slashed {
		text = strings.TrimRight(text, "/")
	}
	if !b.mayBe(text[strings.LastIndexByte(text, '/')+1:]) {
		return s, errNotBrokered
	}
	base, text, err := c.openBase(dir, text)
	if err != nil {
		return s, errNotBrokered
	}
	defer func() { closeBase(base) }()
	for range maxHops {
		cut := strings.LastIndexByte(text, '/') + 1
		name := text[cut:]
		if !b.mayBe(name) {
			break
		}
		parent, err := openFolder(base, text[:cut])
		if err != nil {
			break
		}
		closeBase(base)
		base = parent
		in := inodeOf(parent)
		for _, d := range b.folders {
			if d.inode != in {
				continue
			}
			if f := d.fileOf(name); f != nil {
				return spot{d, f, name}, b.mayServe(c)
			}
		}
		buf := make([]byte, unix.PathMax)
		size, err := unix.Readlinkat(parent, name, buf)
		if !follows || err != nil || size == len(buf) {
			break
		}
		if text = string(buf[:size]); filepath.IsAbs(text) {
			closeBase(base)
			base = unix.AT_FDCWD
		}
	}
	return s, errNotBrokered
}

// openBase opens the directory that a path starts from, and is the path from there.
func (n *notice) openBase(dir int, text string) (base int, rest string, err error) {
	from := n.startDirectory(dir)
	if own, rest, is := n.splitOwn(text); is {
		from, text = own, rest
	}
	if filepath.IsAbs(text) {
		return unix.AT_FDCWD, text, nil
	}
	base, err = n.openFound(from)
	return base, text, err
}

func closeBase(fd int) {
	if fd != unix.AT_FDCWD {
		_ = unix.Close(fd)
	}
}

// openFolder finds a directory from another one. Links of /proc lead to places where the hub may go and
// the process may not.
func openFolder(base int, path string) (fd int, err error) {
	if path == "" {
		path = "."
	}
	return unix.Openat2(base, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
}

// mayServe reports by its error whether the hub may make a call: what was read is of the process that
// waits, and its names mean what they mean to the hub. In another user namespace, and only
// there, a process can have another root or other mounts.
func (b *broker) mayServe(c *brokering) error {
	var buf [64]byte
	if n, err := unix.Readlink(c.procPath("ns/user"), buf[:]); err != nil || string(buf[:n]) != b.users || !c.isValid(c.asked) {
		return errNotBrokered
	}
	return nil
}

// A sight is what was seen of a file.
type sight struct {
	identity
	mode  uint16
	links uint32
	user  uint32
}

// sightOf looks at a name in a directory, and at the directory itself if there is no name.
func sightOf(dir int, name string) (s sight, err error) {
	var st unix.Statx_t
	if err := unix.Statx(dir, name, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st); err != nil {
		return s, err
	}
	s = sight{identity{inode: inode{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}}, st.Mode, st.Nlink, st.Uid}
	if st.Mask&unix.STATX_BTIME != 0 {
		s.born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return s, nil
}

func (s sight) isKind(kind uint16) bool { return s.mode&unix.S_IFMT == kind }

// mayUse reports by its error whether something is a file that the program of s may open,
// replace or remove by its name.
func (s spot) mayUse(what sight) error {
	if !what.isKind(unix.S_IFREG) || what.links != 1 || what.user != uint32(os.Geteuid()) || !s.file.IsOwn(s.name) && !s.file.Made.hasFile(what.identity) {
		return unix.EACCES
	}
	return nil
}

// use is mayUse that tells about a refusal. a is what was to be done.
func (s spot) use(what sight, a Access) error {
	if err := s.mayUse(what); err != nil {
		return s.refuse(a)
	}
	return nil
}

// refuse reports a refusal, and returns what the call fails with.
func (s spot) refuse(a Access) error {
	if s.file.Refused != nil {
		s.file.Refused(s.path(), a)
	}
	return unix.EACCES
}

// wanted returns what an open with these flags takes.
func wanted(flags uint64) Access {
	if flags&(unix.O_ACCMODE|unix.O_TRUNC) == unix.O_RDONLY {
		return Read
	}
	return Read | Write
}

// keptFlags are the flags of an open that the hub opens with, too, and settableFlags the flags that are set afterwards.
const (
	keptFlags     = unix.O_ACCMODE | unix.O_APPEND | unix.O_DIRECT | unix.O_DSYNC | unix.O_SYNC | unix.O_NOATIME | unix.O_LARGEFILE
	settableFlags = unix.O_APPEND | unix.O_DIRECT | unix.O_NOATIME | unix.O_NONBLOCK
)

// openFile opens a file, or makes it.
func (b *broker) openFile(c *brokering, flags, mode uint64) error {
	switch {
	case flags&unix.O_TMPFILE == unix.O_TMPFILE:
		return b.openUnnamed(c)
	case flags&(unix.O_PATH|unix.O_DIRECTORY) != 0:
		return errNotBrokered // nothing is opened, or no file
	}
	alone := flags&unix.O_CREAT != 0 && flags&unix.O_EXCL != 0
	s, err := b.findSpot(c, c.dir, c.path, false, flags&unix.O_NOFOLLOW == 0 && !alone)
	if err != nil {
		return err
	}
	c.onExec = flags&unix.O_CLOEXEC != 0
	for range maxHops { // another process may make and remove it meanwhile
		err = unix.ENOENT
		if !alone {
			c.fd, err = s.openThere(flags)
		}
		if !errors.Is(err, unix.ENOENT) || flags&unix.O_CREAT == 0 {
			return err
		}
		if c.fd, err = s.makeFile(c, flags, mode); alone || !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return err
}

// openThere opens what is there, and cuts it off if that is asked for.
func (s spot) openThere(flags uint64) (fd int, err error) {
	if before, err := sightOf(s.fd, s.name); err != nil {
		return -1, err
	} else if !before.isKind(unix.S_IFREG) && !before.isKind(unix.S_IFLNK) && !before.isKind(unix.S_IFDIR) { // who waits for the other end of a pipe would go on
		return -1, s.refuse(wanted(flags))
	}
	fd, err = unix.Openat(s.fd, s.name, int(flags&keptFlags)|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	what, err := sightOf(fd, "")
	if err == nil {
		err = s.use(what, wanted(flags))
	}
	if err == nil && flags&unix.O_TRUNC != 0 {
		err = unix.Ftruncate(fd, 0)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, int(flags&settableFlags))
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// makeFile makes a file if nothing has its name.
func (s spot) makeFile(c *brokering, flags, mode uint64) (fd int, err error) {
	if s.file.Made.isFull(filepath.Dir(s.path())) {
		return -1, unix.ENOSPC
	}
	restore, err := c.setMask()
	if err != nil {
		return -1, err
	}
	fd, err = unix.Openat(s.fd, s.name, int(flags&(keptFlags|unix.O_NONBLOCK))|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode&0o777))
	restore()
	if err != nil {
		return -1, err
	}
	what, err := sightOf(fd, "")
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	s.file.Made.addFile(what.identity, s.path())
	return fd, nil
}

// setMask has the thread make files with the umask of the process.
func (n *notice) setMask() (restore func(), err error) {
	text, err := readShort(n.procPath("status"))
	_, octal, ok := strings.Cut(text, "\nUmask:\t")
	octal, _, _ = strings.Cut(octal, "\n")
	mask, wrong := strconv.ParseUint(octal, 8, 12)
	if err != nil || !ok || wrong != nil {
		return nil, unix.EACCES
	}
	was := unix.Umask(int(mask))
	return func() { unix.Umask(was) }, nil
}

// readShort returns the first part of a file of /proc, which one read gives whole. The file does not go through the runtime's poller.
func readShort(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	return string(buf[:max(n, 0)]), err
}

// openUnnamed refuses files without a name: they could be given one.
func (b *broker) openUnnamed(c *brokering) error {
	text, err := c.readPath(c.path)
	if err != nil {
		return errNotBrokered
	}
	base, text, err := c.openBase(c.dir, text)
	if err != nil {
		return errNotBrokered
	}
	defer closeBase(base)
	fd, err := openFolder(base, text)
	if err != nil {
		return errNotBrokered
	}
	defer unix.Close(fd)
	in := inodeOf(fd)
	if slices.ContainsFunc(b.folders, func(d *folder) bool { return d.inode == in }) {
		return unix.EOPNOTSUPP
	}
	return errNotBrokered
}

// changing has a lock for each folder. All brokers of this process hold it between a look at a name
// and what they do to the name: none removes what another one has put there. A call that never
// returns stops the brokers of its own folder alone.
var changing sync.Map // of sync.Locker, by inode

func changingIn(folder inode) sync.Locker {
	lock, _ := changing.LoadOrStore(folder, new(sync.Mutex))
	return lock.(sync.Locker)
}

// removeName removes a file, or a folder that was made as a lock.
func (b *broker) removeName(c *brokering, folder bool) error {
	s, err := b.findSpot(c, c.dir, c.path, folder, false)
	if err != nil {
		return err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	what, err := sightOf(s.fd, s.name)
	flags := 0
	switch {
	case err != nil:
		return err
	case !folder:
		err = s.use(what, Write)
	case !what.isKind(unix.S_IFDIR):
		return unix.ENOTDIR
	default:
		flags = unix.AT_REMOVEDIR
		if !s.file.Made.hasFile(what.identity) {
			err = s.refuse(Write)
		}
	}
	if err == nil {
		err = unix.Unlinkat(s.fd, s.name, flags)
	}
	if err == nil {
		s.file.Made.removeFile(what.identity)
	}
	return err
}

// makeFolder makes a folder that is a lock.
func (b *broker) makeFolder(c *brokering) error {
	s, err := b.findSpot(c, c.dir, c.path, true, false)
	if err != nil {
		return err
	}
	if !s.file.mayBeFolder(s.name) {
		if _, err := sightOf(s.fd, s.name); err == nil {
			return unix.EEXIST
		}
		return s.refuse(Write)
	}
	if s.file.Made.isFull(filepath.Dir(s.path())) {
		return unix.ENOSPC
	}
	restore, err := c.setMask()
	if err != nil {
		return err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	err = unix.Mkdirat(s.fd, s.name, uint32(c.Args[c.path+1]&0o777))
	restore()
	if err != nil {
		return err
	}
	if what, err := sightOf(s.fd, s.name); err == nil && what.isKind(unix.S_IFDIR) && what.user == uint32(os.Geteuid()) {
		s.file.Made.addFile(what.identity, s.path())
	}
	return nil
}

// renameWithin moves a name to another one of the same folder.
func (b *broker) renameWithin(c *brokering, flags uint64) error {
	from, notFrom := b.findSpot(c, c.dir, c.path, false, false)
	to, notTo := b.findSpot(c, c.dir2, c.path2, false, false)
	switch {
	case notFrom != nil && notTo != nil:
		return errNotBrokered
	case flags&^unix.RENAME_NOREPLACE != 0:
		return unix.EPERM
	case notFrom != nil || notTo != nil || from.folder != to.folder:
		return unix.EXDEV
	}
	from.changing.Lock()
	defer from.changing.Unlock()
	what, err := sightOf(from.fd, from.name)
	if err == nil {
		err = from.use(what, Write)
	}
	if err != nil {
		return err
	}
	there, err := sightOf(to.fd, to.name)
	missing := errors.Is(err, unix.ENOENT)
	switch {
	case missing:
	case err != nil:
		return err
	case flags != 0:
		return unix.EEXIST
	case there.identity == what.identity:
		return nil
	default:
		if err := to.use(there, Write); err != nil {
			return err
		}
	}
	only := flags // what is missing stays so
	if missing {
		only = unix.RENAME_NOREPLACE
	}
	err = unix.Renameat2(from.fd, from.name, to.fd, to.name, uint(only))
	if errors.Is(err, unix.EINVAL) && flags == 0 { // a file system that cannot promise it
		err = unix.Renameat(from.fd, from.name, to.fd, to.name)
	}
	if err != nil {
		return err
	}
	from.file.Made.removeFile(what.identity)
	if !missing {
		to.file.Made.removeFile(there.identity)
	}
	if !to.file.IsOwn(to.name) {
		to.file.Made.addFile(what.identity, to.path())
	}
	return nil
}

// refuseLink refuses another name for a file, and a link: neither is made in the folder, nor of
// what is there.
func (b *broker) refuseLink(c *brokering) error {
	_, err := b.findSpot(c, c.dir, c.path, false, true)
	if err != nil && c.path2 != 0 {
		_, err = b.findSpot(c, c.dir2, c.path2, false, false)
	}
	if err == nil {
		err = unix.EPERM
	}
	return err
}

// What system calls have a broker do.

func (b *broker) serveOpen(c *brokering) error {
	return b.openFile(c, c.Args[c.flags], c.Args[c.flags+1])
}
func (b *broker) serveRename(c *brokering) error { return b.renameWithin(c, 0) }

func (b *broker) serveUnlinkat(c *brokering) error {
	return b.removeName(c, c.Args[c.path+1]&unix.AT_REMOVEDIR != 0)
}

func (b *broker) serveRenameat2(c *brokering) error { return b.renameWithin(c, c.Args[c.path2+1]) }

// truncateFile cuts a file off.
func (b *broker) truncateFile(c *brokering) error {
	s, err := b.findSpot(c, c.dir, c.path, false, true)
	if err != nil {
		return err
	}
	fd, err := s.openThere(unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Ftruncate(fd, int64(c.Args[c.path+1]))
}

// hasOpen reports whether what is open is a file, or a folder, whose attributes the process may change. path
// is where it is now. The nil broker has no file.
func (b *broker) hasOpen(fd int, path string) bool {
	if b == nil {
		return false
	}
	what, err := sightOf(fd, "")
	name := filepath.Base(path)
	return err == nil && slices.ContainsFunc(b.folders, func(d *folder) bool {
		f := d.fileOf(name)
		if f == nil {
			return false
		}
		there, err := sightOf(d.fd, name)
		return err == nil && there.identity == what.identity && (spot{d, f, name}.mayUse(what) == nil || what.isKind(unix.S_IFDIR) && f.Made.hasFile(what.identity))
	})
}
