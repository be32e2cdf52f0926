package machine

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

// ownedByAdministrator takes the folders of PATH as they are: who may write there is not asked here.
func ownedByAdministrator(fs.FileInfo) bool { return true }

// mayWrite cannot be asked cheaply here; a directory that exists counts as writable.
func mayWrite(string) bool { return true }

// HasOtherNames cannot be asked cheaply here.
func HasOtherNames(fs.FileInfo) bool { return false }

// isNotReady reports that a drive has no medium, so that nothing is there.
func isNotReady(err error) bool { return errors.Is(err, windows.ERROR_NOT_READY) }
