package rootsmgr

import "golang.org/x/sys/unix"

// Magic reports whether link lies on a proc filesystem, wherever that is
// mounted: the kernel resolves every link there for the process that looks.
func (OS) Magic(link string) (bool, error) {
	var st unix.Statfs_t
	// The directory, since statfs would follow the link itself.
	if err := unix.Statfs(Linux.Parent(link), &st); err != nil {
		return false, err
	}
	return int64(st.Type) == unix.PROC_SUPER_MAGIC, nil
}
