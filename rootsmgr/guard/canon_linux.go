package guard

import (
	"golang.org/x/sys/unix"

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

const resolveCached = 0x20 // RESOLVE_CACHED of linux/openat2.h

// Whole looks at a path in one look: the kernel follows it where no link is on the way
// and all of it is in memory. Before Linux 5.12, and where a filter forbids openat2, it is
// always false.
func (OS) Whole(path string) (Entry, bool) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | resolveCached})
	if err != nil {
		return Entry{}, false
	}
	var st unix.Statx_t
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_INO|unix.STATX_NLINK, &st)
	_ = unix.Close(fd)
	if err != nil || st.Mask&(unix.STATX_TYPE|unix.STATX_INO|unix.STATX_NLINK) != unix.STATX_TYPE|unix.STATX_INO|unix.STATX_NLINK {
		return Entry{}, false
	}
	return Entry{typeOf(uint32(st.Mode)), unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, uint64(st.Nlink)}, true
}
