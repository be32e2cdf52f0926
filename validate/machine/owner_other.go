//go:build !unix && !windows

package machine

import "io/fs"

// ownedByAdministrator returns false: who may write there is not asked on such systems.
func ownedByAdministrator(fs.FileInfo) bool { return false }

// isClosed returns false, for the same reason.
func isClosed(string) bool { return false }

// mayWrite cannot be asked here; a directory that exists counts as writable.
func mayWrite(string) bool { return true }

// isNotReady returns false.
func isNotReady(error) bool { return false }

// HasOtherNames cannot be asked here.
func HasOtherNames(fs.FileInfo) bool { return false }
