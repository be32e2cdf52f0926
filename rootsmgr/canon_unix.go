//go:build unix

package rootsmgr

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// Mode is the type of name, as Lstat tells it; permission bits are left out.
// It costs one system call and no FileInfo.
func (OS) Mode(name string) (fs.FileMode, error) {
	var st unix.Stat_t
	for {
		err := unix.Lstat(name, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, err
		}
		break
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fs.ModeDir, nil
	case unix.S_IFLNK:
		return fs.ModeSymlink, nil
	case unix.S_IFREG:
		return 0, nil
	}
	return fs.ModeIrregular, nil
}

// Readable reports why this process could not list and enter dir. It asks
// without opening, so that no automounter and no consent dialogue is set off.
func (OS) Readable(dir string) error {
	if err := unix.Access(dir, unix.R_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "access", Path: dir, Err: err}
	}
	return nil
}

// errTooLong is the error for a path over the system's limit.
const errTooLong = unix.ENAMETOOLONG
