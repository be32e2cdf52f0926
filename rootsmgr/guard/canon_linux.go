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
