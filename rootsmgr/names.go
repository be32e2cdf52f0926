package rootsmgr

import "mcphub/rootsmgr/platform"

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
