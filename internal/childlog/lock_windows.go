package childlog

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

var errTaken = errors.New("another process holds it")

// takeLock opens a file and locks it for the life of this process, or until it
// is closed.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return nil, errTaken
	}
	return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
}

// openToOthers: the rights of a folder below the user's own are not in its mode.
func openToOthers(fs.FileInfo) bool { return false }
