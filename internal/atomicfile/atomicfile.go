package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Prefix begins the name of a file that is not whole yet. One is left if a program is
// killed while it writes.
const Prefix = ".mcphub-"

// Replace works like Write, but where path is a link, what it leads to is written.
func Replace(path string, data []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return Write(path, data, mode)
}

// Write puts a file with these permissions instead of path, and of a link there. When
// it returns without an error, the file is on the disk. An error is one of the
// system, and leaves what was there.
func Write(path string, data []byte, mode fs.FileMode) error {
	return writeFile(path, data, mode, true)
}

// WriteHint works like Write for what may be missing, or damaged, after the machine has
// lost its power: it does not wait for the disk.
func WriteHint(path string, data []byte, mode fs.FileMode) error {
	return writeFile(path, data, mode, false)
}

// Read reads a whole file, and lets others replace the file meanwhile.
func Read(path string) ([]byte, error) {
	defer holdOff()()
	f, err := Open(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func writeFile(path string, data []byte, mode fs.FileMode, sync bool) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, Prefix+"*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = renameFile(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	if !sync {
		return nil
	}
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync() // has the name survive, too; some systems cannot
		_ = d.Close()
	}
	return nil
}
