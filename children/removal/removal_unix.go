//go:build unix

package removal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// longest bounds a removal. A million files take less.
const longest = 20 * time.Second

// All removes a folder and what is in it. It is no error if there is none.
func All(dir string) error {
	err := removeFolder(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

func removeFolder(dir string) error {
	above, err := unix.Open(filepath.Dir(dir), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ignoreAbsent(err)
	}
	defer unix.Close(above)
	name := filepath.Base(dir)
	if done, err := removeEmpty(above, name); done {
		return err
	}
	top, err := openDirectory(above, name)
	if err != nil {
		return ignoreAbsent(err)
	}
	defer top.Close()
	r := remover{top: int(top.Fd()), prefix: rand.Text(), until: time.Now().Add(longest)}
	if err := r.emptyDirectory(top, false); err != nil {
		return err
	}
	return ignoreAbsent(unix.Unlinkat(above, name, unix.AT_REMOVEDIR))
}

func ignoreAbsent(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// A remover empties one folder.
type remover struct {
	top    int // its descriptor
	prefix string
	moved  int
	until  time.Time
}

// emptyDirectory removes what is in a directory. below: it lies in the top folder, and directories
// in it that are not empty are moved up there, where they are emptied in turn. So no
// depth takes more descriptors.
func (r *remover) emptyDirectory(dir *os.File, below bool) error {
	for {
		names, err := dir.Readdirnames(1000)
		for _, name := range names {
			if time.Now().After(r.until) {
				return fmt.Errorf("more is in it than is removed in %s", longest)
			}
			if err := r.removeOne(int(dir.Fd()), name, below); err != nil {
				return err
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(names) > 0 {
			continue
		}
		// What was moved there while it was read may have been left out.
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if names, err := dir.Readdirnames(1); len(names) == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

// removeOne removes a file or directory of one that is being emptied.
func (r *remover) removeOne(at int, name string, below bool) error {
	if done, err := removeEmpty(at, name); done {
		return err
	}
	dir, err := openDirectory(at, name)
	if err != nil {
		return ignoreAbsent(err)
	}
	defer dir.Close()
	if below { // it may be moved, now that it may be written to
		r.moved++
		return unix.Renameat(at, name, r.top, r.prefix+strconv.Itoa(r.moved))
	}
	if err := r.emptyDirectory(dir, true); err != nil {
		return err
	}
	return ignoreAbsent(unix.Unlinkat(at, name, unix.AT_REMOVEDIR))
}

// removeEmpty removes a file, a link or an empty directory. done is false if it is a
// directory that has to be emptied.
func removeEmpty(at int, name string) (done bool, err error) {
	err = unix.Unlinkat(at, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return true, nil
	}
	again := unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
	switch {
	case again == nil || errors.Is(again, unix.ENOENT):
		return true, nil
	case errors.Is(again, unix.ENOTEMPTY), errors.Is(again, unix.EEXIST):
		return false, nil
	case errors.Is(again, unix.ENOTDIR):
		return true, err
	}
	return true, again
}

// openDirectory opens a directory that its user may read, write and enter from then on. It
// follows no link.
func openDirectory(at int, name string) (*os.File, error) {
	const how = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(at, name, how, 0)
	if errors.Is(err, unix.EACCES) {
		if err := admitUser(at, name); err != nil {
			return nil, err
		}
		fd, err = unix.Openat(at, name, how, 0)
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Fchmod(fd, 0o700) // where it fails, so does what it is for
	}
	return os.NewFile(uintptr(fd), name), nil
}
