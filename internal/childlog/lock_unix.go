//go:build unix

package childlog

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

var errTaken = errors.New("another process holds it")

// takeLock opens a file and locks it for the life of this process, or until it
// is closed.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errTaken
	}
	return nil, &fs.PathError{Op: "flock", Path: path, Err: err}
}

func openToOthers(fi fs.FileInfo) bool { return fi.Mode().Perm()&0o022 != 0 }
