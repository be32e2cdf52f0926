//go:build !unix

package ownership

import "io/fs"

// CheckPrivate finds nothing.
func CheckPrivate(string, fs.FileInfo) error { return nil }

// Check finds nothing.
func Check(fs.FileInfo) error { return nil }

// OthersUse returns false.
func OthersUse(fs.FileInfo) bool { return false }

// OthersWrite returns false.
func OthersWrite(fs.FileInfo) bool { return false }

// MayMake returns true: access lists are not read.
func MayMake(string) bool { return true }

// OthersReplace returns false.
func OthersReplace(string, fs.FileInfo) bool { return false }
