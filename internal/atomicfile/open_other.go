//go:build !windows

package atomicfile

import "os"

// Open opens a file to read it, and lets others replace the file meanwhile. flags are further ones of os.OpenFile.
func Open(path string, flags int) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|flags, 0) }

// holdOff holds off nothing: what is open can be replaced.
func holdOff() (letGo func()) { return func() {} }

// renameFile gives a file a name that another file may have.
func renameFile(from, to string) error { return os.Rename(from, to) }
