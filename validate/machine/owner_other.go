//go:build !unix && !windows

package machine

import "io/fs"

// ownedByAdministrator takes the folders of PATH as they are: who may write there is not asked on such systems.
func ownedByAdministrator(fs.FileInfo) bool { return true }

// mayWrite cannot be asked cheaply here; a directory that exists counts as writable.
func mayWrite(string) bool { return true }

// HasOtherNames cannot be asked cheaply here.
func HasOtherNames(fs.FileInfo) bool { return false }

// isNotReady is false.
func isNotReady(error) bool { return false }
