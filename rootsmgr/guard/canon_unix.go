//go:build unix

package guard

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// Mode returns the type of name, as Lstat tells it; permission bits are left
// out. It costs one system call and no FileInfo.
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
	return typeOf(uint32(st.Mode)), nil
}

// typeOf returns the type that a mode of the system has.
func typeOf(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFREG:
		return 0
	}
	return fs.ModeIrregular
}

// Readable reports why this process could not list and enter a directory, or
// read a file. It asks without opening, so that no automounter and no consent
// dialogue is set off.
func (o OS) Readable(path string) error {
	want := uint32(unix.R_OK)
	if mode, err := o.Mode(path); err == nil && mode.IsDir() {
		want |= unix.X_OK
	}
	if err := unix.Access(path, want); err != nil {
		return &fs.PathError{Op: "access", Path: path, Err: err}
	}
	return nil
}

// Shared reports whether another user than ours and root may write in dir: its
// owner, its group, or everybody. A group with our user's own number is ours
// alone, as systems make it that give each user a group. Rights in access lists
// count, since the mode of the group shows them.
func (OS) Shared(dir string) (shared, sticky bool, err error) {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return true, false, &fs.PathError{Op: "lstat", Path: dir, Err: err}
	}
	us := uint32(unix.Geteuid())
	shared = st.Uid != us && st.Uid != 0 || st.Mode&unix.S_IWOTH != 0 ||
		st.Mode&unix.S_IWGRP != 0 && st.Gid != us && st.Gid != 0
	return shared, st.Mode&unix.S_ISVTX != 0, nil
}

// errTooLong is the error for a path over the system's limit.
const errTooLong = unix.ENAMETOOLONG
