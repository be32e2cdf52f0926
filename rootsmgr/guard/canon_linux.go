package guard

import (
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
