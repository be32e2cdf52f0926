package guard

import (
	"time"

	"golang.org/x/sys/unix"

	"mcphub/internal/rawio"
	"mcphub/rootsmgr/platform"
)

// Magic reports whether link lies on a proc filesystem, wherever that is
// mounted: the kernel resolves every link there for the process that looks.
func (OS) Magic(link string) (bool, error) {
	var st unix.Statfs_t
	// The directory, since statfs would follow the link itself.
	if err := unix.Statfs(platform.Linux.Parent(link), &st); err != nil {
		return false, err
	}
	return int64(st.Type) == unix.PROC_SUPER_MAGIC, nil
}

// Whole looks at a path in one look: the kernel follows it if no link is on the way and
// all of it is in memory. Before Linux 5.12, and if a filter forbids openat2, it is always
// false. None of its system calls can wait, so the scheduler is not told about them.
func (OS) Whole(path string) (Entry, bool) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return Entry{}, false
	}
	const wanted = unix.STATX_TYPE | unix.STATX_INO | unix.STATX_NLINK
	st, ok := rawio.Look(name, 0, unix.RESOLVE_NO_SYMLINKS, wanted)
	if !ok {
		return Entry{}, false
	}
	return Entry{typeOf(uint32(st.Mode)), unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, uint64(st.Nlink)}, true
}

var _ Stamper = OS{}

// Stamp implements [Stamper].
func (OS) Stamp(dir string) (DirStamp, bool) {
	name, err := unix.BytePtrFromString(dir)
	if err != nil {
		return DirStamp{}, false
	}
	const wanted = unix.STATX_INO | unix.STATX_CTIME
	st, ok := rawio.Look(name, unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS, wanted)
	if !ok {
		return DirStamp{}, false
	}
	return DirStamp{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, st.Ctime.Sec*int64(time.Second) + int64(st.Ctime.Nsec)}, true
}

// stampAge is how long ago a directory must have changed, so that the next change has another time: filesystems take it
// from a clock that ticks each 10 ms at the slowest.
const stampAge = 100 * time.Millisecond

// hasAged reports whether a change that comes now has another time than the stamp. ext2, and ext3 and ext4 with small inodes, keep whole seconds.
func (stamp DirStamp) hasAged(now time.Time) bool {
	age := now.Sub(time.Unix(0, stamp.Changed))
	if stamp.Changed%int64(time.Second) == 0 {
		age -= time.Second
	}
	return age >= stampAge
}

// Settled implements [Stamper]. It holds for the filesystems of disks and of memory, which note the time of each change. A network, or a
// program behind FUSE, may not.
func (OS) Settled(dir string, s DirStamp) bool {
	if !s.hasAged(time.Now()) {
		return false
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false
	}
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true
	}
	return false
}
