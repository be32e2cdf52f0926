//go:build !unix && !windows

package machine

import "io/fs"

// ownedByAdministrator is false: who may write there is not asked on such systems.
func ownedByAdministrator(fs.FileInfo) bool { return false }

// isClosed is false, for the same reason.
func isClosed(string) bool { return false }

// mayWrite cannot be asked here; a directory that exists counts as writable.
func mayWrite(string) bool { return true }

// isNotReady is false.
func isNotReady(error) bool { return false }

// HasOtherNames cannot be asked here.
func HasOtherNames(fs.FileInfo) bool { return false }
