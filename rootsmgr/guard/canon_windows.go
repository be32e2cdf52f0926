package guard

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// Readable reports why this process could not list a directory or read a file.
func (OS) Readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// TrueCase spells an existing path as the volume stores it, short names
// expanded.
func (OS) TrueCase(path string) (string, error) { return filepath.EvalSymlinks(path) }

// errTooLong is the error for a path over the system's limit.
const errTooLong = windows.ERROR_FILENAME_EXCED_RANGE
