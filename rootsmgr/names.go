package rootsmgr

import (
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

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

// Readings are the three ways in which a child or the kernel may take one path.
type Readings = guard.Readings

// Reading names one of the Readings.
type Reading = guard.Reading

// The readings.
const (
	ReadingNone     = guard.ReadingNone
	ReadingLexical  = guard.ReadingLexical
	ReadingPhysical = guard.ReadingPhysical
	ReadingCleaned  = guard.ReadingCleaned
)

// EscapeError is a path that leads outside every root in at least one reading.
type EscapeError = guard.EscapeError

// UnresolvableError is a path of which nobody can say where it leads.
type UnresolvableError = guard.UnresolvableError

// Area is a directory that paths are compared with, and that opens nothing by itself.
type Area = guard.Area

// Areas are directories that paths are compared with as a Guard compares them with
// roots.
type Areas = guard.Areas

// AreaSets are sets of areas, bit n for the Area with Number n.
type AreaSets = guard.AreaSets

// Resolve follows path in every reading without judging it.
func Resolve(fsys FS, path string) (Place, error) { return guard.Resolve(fsys, path) }

// NewAreas looks at directories as the filesystem is now.
func NewAreas(fsys FS, dirs []string) (*Areas, []Area, []error) { return guard.NewAreas(fsys, dirs) }

// Union is the Guard of all roots of several Guards together.
func Union(guards ...*Guard) *Guard { return guard.Union(guards...) }

// Platform is the family of path rules in force.
type Platform = platform.Platform

// The platforms.
const (
	Linux   = platform.Linux // and every Unix that is not macOS
	Darwin  = platform.Darwin
	Windows = platform.Windows
)

// Host is the Platform of this process.
func Host() Platform { return platform.Host() }

// ParseURI returns the path of a file URI that has exactly one reading.
func ParseURI(raw string) (string, error) { return platform.Host().ParseURI(raw) }

// FormatURI returns the canonical URI of an absolute path, "" of another.
func FormatURI(path string) string { return platform.Host().FormatURI(path) }

// IsFileURI reports whether raw begins with the file scheme, in any case.
func IsFileURI(raw string) bool { return platform.IsFileURI(raw) }

// Cause says why a path cannot be resolved.
type Cause = platform.Cause

// The causes.
const (
	CauseNone        = platform.CauseNone
	CauseNotAbsolute = platform.CauseNotAbsolute
	CauseNUL         = platform.CauseNUL
	CauseEncoding    = platform.CauseEncoding
	CauseTooLong     = platform.CauseTooLong
	CauseLoop        = platform.CauseLoop
	CauseMagic       = platform.CauseMagic
	CauseDevice      = platform.CauseDevice
	CauseStream      = platform.CauseStream
	CauseTrailing    = platform.CauseTrailing
	CauseReserved    = platform.CauseReserved
	CauseLink        = platform.CauseLink
	CausePermission  = platform.CausePermission
	CauseIO          = platform.CauseIO
)
