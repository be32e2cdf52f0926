//go:build unix

package ownership

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CheckPrivate returns who else than this process's user may read or change a file that holds a
// secret; nil: no one but root. info is of the file that path leads to.
//
// What only its owner may use is private. So is what others may read by its mode, but not change, if
// its owner is this user or root, and no other user gets to it: because a folder above is closed to
// them, or because only its group may read it, in which no one else is. Kubernetes mounts a Secret so.
//
// It looks at modes, not at who has opened the file before, and a folder may be seen elsewhere by a
// mount.
func CheckPrivate(path string, info fs.FileInfo) error {
	mode := info.Mode().Perm()
	if !OthersUse(info) || !OthersWrite(info) && isHidden(path, info) {
		return nil
	}
	cure := "chmod 600 " + path
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		cure = "have it belong to this user alone, with mode 0600; for a Secret of Kubernetes set defaultMode: 0440, and a fsGroup of its own"
	}
	return fmt.Errorf("others may read or change %s (mode %04o); %s", path, mode, cure)
}

// isHidden reports whether no other user can read a file, whatever its mode gives them.
func isHidden(path string, info fs.FileInfo) bool {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return false
	}
	now, err := os.Lstat(real)
	if err != nil || !os.SameFile(info, now) {
		return false // it was replaced meanwhile
	}
	if isClosed(real, info, 0o044) {
		return true
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Nlink != 1 {
		return false // another name of it may lie in an open folder
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		switch info, err := os.Lstat(dir); {
		case err != nil:
			return false
		case isClosed(dir, info, 0o011):
			return true
		case dir == filepath.Dir(dir):
			return false
		}
	}
}

// isClosed reports whether a file or folder gives other users none of some permissions: not by its
// mode, or to a group alone in which no other is.
func isClosed(path string, info fs.FileInfo, of fs.FileMode) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return false // its owner can give them more
	}
	mode := info.Mode().Perm() & of
	return mode == 0 || mode&0o007 == 0 && isAlone(path, int(st.Gid))
}

// OthersReplace reports whether another user may replace what this user has in a folder. In a folder with the sticky bit, as /tmp is, its owner
// alone may.
func OthersReplace(dir string, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && info.Mode()&fs.ModeSticky != 0 {
		return st.Uid != 0 && int(st.Uid) != os.Geteuid()
	}
	return !isClosed(dir, info, 0o022)
}
