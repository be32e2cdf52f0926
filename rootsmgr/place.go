package rootsmgr

import (
	"fmt"
)

// Place is where a path really leads. One made by [Resolve], and one returned
// beside an [EscapeError], has no Root.
type Place struct {
	Path     string   // resolved physically: absolute, clean, no symlink on the way
	Root     Root     // the innermost root that contains Path
	Rel      string   // Path below Root.Path; "." for the root itself
	Exists   bool     // something is there now
	Dir      bool     // and it is a directory
	File     bool     // and it is a regular file
	Readings Readings // every way to take the path
}

// Readings are the three ways in which a child or the kernel may take one path.
type Readings struct {
	Lexical  string // cleaned as text
	Physical string // resolved component by component, as the kernel does
	Cleaned  string // cleaned as text first, then resolved, as Node does
}

// Reading names one of the [Readings].
type Reading uint8

const (
	ReadingNone Reading = iota // there is no boundary at all
	ReadingLexical
	ReadingPhysical
	ReadingCleaned
)

func (r Reading) String() string {
	switch r {
	case ReadingLexical:
		return "as written"
	case ReadingPhysical:
		return "through symlinks"
	case ReadingCleaned:
		return "through symlinks after removing \"..\""
	}
	return "none"
}

// EscapeError is a path that leads outside every root in at least one reading.
type EscapeError struct {
	Path     string  // as it was given
	Resolved string  // where the offending reading leads; "" where nothing was resolved
	Reading  Reading // the first reading that leaves the roots
}

func (e *EscapeError) Error() string {
	switch e.Reading {
	case ReadingNone:
		return fmt.Sprintf("path %s: no root is open", quote(e.Path))
	case ReadingLexical:
		return fmt.Sprintf("path %s is outside every root", quote(e.Path))
	}
	return fmt.Sprintf("path %s leads to %s %s, outside every root", quote(e.Path), quote(e.Resolved), e.Reading)
}

// Cause says why a path cannot be resolved. Its strings are stable.
type Cause uint8

const (
	CauseNone        Cause = iota
	CauseNotAbsolute       // not absolute: the caller must say from where
	CauseNUL               // holds NUL
	CauseEncoding          // is not UTF-8
	CauseTooLong           // over PATH_MAX, or a component over NAME_MAX
	CauseLoop              // more than 40 symlinks
	CauseMagic             // a link that each process sees differently
	CauseDevice            // a Windows device path
	CauseStream            // a Windows alternate data stream
	CauseTrailing          // a Windows name that ends in a dot or a blank
	CauseReserved          // a Windows device name, or a character that no name may hold
	CauseLink              // a link whose target cannot be read or followed
	CausePermission        // a directory on the way may not be searched
	CauseIO                // any other error of the filesystem
)

func (c Cause) String() string {
	switch c {
	case CauseNotAbsolute:
		return "not absolute"
	case CauseNUL:
		return "holds NUL"
	case CauseEncoding:
		return "not UTF-8"
	case CauseTooLong:
		return "too long"
	case CauseLoop:
		return "too many symlinks"
	case CauseMagic:
		return "means something else in another process"
	case CauseDevice:
		return "device path"
	case CauseStream:
		return "alternate data stream"
	case CauseTrailing:
		return "name ends in a dot or a blank"
	case CauseReserved:
		return "reserved name"
	case CauseLink:
		return "link cannot be followed"
	case CausePermission:
		return "permission denied"
	case CauseIO:
		return "cannot be examined"
	}
	return "none"
}

// UnresolvableError is a path of which nobody can say where it leads. It is
// refused whatever the roots.
type UnresolvableError struct {
	Path  string // as it was given
	At    string // how far it was followed; "" where nothing was looked up
	Cause Cause
	Err   error // of the filesystem, or nil
}

func (e *UnresolvableError) Error() string {
	s := fmt.Sprintf("path %s cannot be resolved: %s", quote(e.Path), e.Cause)
	if e.At != "" && e.At != e.Path {
		s += " at " + quote(e.At)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *UnresolvableError) Unwrap() error { return e.Err }
