package rootsmgr

import (
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// The names here are those of packages guard and platform that stand in the API of this
// package, so that most callers import this package only.

// FS is all that resolving a path needs of a filesystem.
type FS = guard.FS

// OS is the FS of this machine.
type OS = guard.OS

// Root is one open directory, or one open file.
type Root = guard.Root

// Guard decides where a path leads under one set of roots. The zero Guard and the nil
// Guard deny everything.
type Guard = guard.Guard

// Place is where a path really leads.
type Place = guard.Place

// EscapeError is a path that leads outside every root in at least one reading.
type EscapeError = guard.EscapeError

// Resolve follows path in every reading without judging it.
func Resolve(fsys FS, path string) (Place, error) { return guard.Resolve(fsys, path) }

// Platform is the family of path rules in force.
type Platform = platform.Platform

// The platforms.
const (
	Linux   = platform.Linux // and every Unix that is not macOS
	Darwin  = platform.Darwin
	Windows = platform.Windows
)

// ParseURI returns the path of a file URI that has exactly one reading.
func ParseURI(raw string) (string, error) { return platform.Host().ParseURI(raw) }

// FormatURI returns the canonical URI of an absolute path, "" of another.
func FormatURI(path string) string { return platform.Host().FormatURI(path) }

// IsFileURI reports whether raw begins with the file scheme, in any case.
func IsFileURI(raw string) bool { return platform.IsFileURI(raw) }
