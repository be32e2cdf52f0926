package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/windows"
)

// Open opens a file to read it, and lets others replace the file meanwhile, which os.Open does not. Windows knows no flag of os.OpenFile that
// a reader needs, so flags change nothing.
func Open(path string, _ int) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err == nil {
		var h windows.Handle
		h, err = windows.CreateFile(name, windows.GENERIC_READ, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE,
			nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0) // a folder is opened too, as os.Open does
		if err == nil {
			return os.NewFile(uintptr(h), path), nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: err}
}

// replacing is held by the one that gives a file its name, and shared by the ones that Read files: where only a file that is not open can
// be replaced, four readers would leave no moment for it.
var replacing sync.RWMutex

// holdOff keeps this process from replacing a file until letGo is called.
func holdOff() (letGo func()) {
	replacing.RLock()
	return replacing.RUnlock
}

const (
	patience = time.Second
	pause    = time.Millisecond
)

// renameFile gives a file a name that another file of the folder may have. The methods of os.Root replace a file that its readers share, if the
// system can; os.Rename never does. A reader that does not share the file, as an editor or a scanner of viruses, is waited for.
func renameFile(from, to string) error {
	dir, err := os.OpenRoot(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer dir.Close()
	for began := time.Now(); ; time.Sleep(pause) {
		replacing.Lock()
		err = dir.Rename(filepath.Base(from), filepath.Base(to))
		replacing.Unlock()
		held := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !held || time.Since(began) > patience {
			return err
		}
	}
}
