package guard

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"mcphub/rootsmgr/platform"
)

// Place is the target of a path. One made by [Resolve], and one returned
// beside an [EscapeError], has no Root.
type Place struct {
	Path     string   // resolved physically: absolute, clean, no symlink on the way
	Root     Root     // the innermost root that contains Path
	Exists   bool     // something is there now
	Dir      bool     // and it is a directory
	File     bool     // and it is a regular file
	Readings Readings // every way to take the path
	Entry    Entry    // what is there; zero if the path was walked
}

// An Entry is what one look at a path has shown.
type Entry struct {
	Mode          fs.FileMode // its type alone
	Device, Inode uint64
	HardLinks     uint64 // names that it has
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

var readings = [...]string{"none", "as written", "through symlinks", `through symlinks after removing ".."`}

func (reading Reading) String() string {
	if int(reading) >= len(readings) {
		return readings[ReadingNone]
	}
	return readings[reading]
}

// EscapeError is a path that leads outside every root in at least one reading.
type EscapeError struct {
	Path     string  // as it was given
	Resolved string  // the target of the offending reading; "" if nothing was resolved
	Reading  Reading // the first reading that leaves the roots
}

func (e *EscapeError) Error() string {
	switch e.Reading {
	case ReadingNone:
		return fmt.Sprintf("path %s: no root is open", platform.Quote(e.Path))
	case ReadingLexical:
		return fmt.Sprintf("path %s is outside every root", platform.Quote(e.Path))
	}
	return fmt.Sprintf("path %s leads to %s %s, outside every root", platform.Quote(e.Path), platform.Quote(e.Resolved), e.Reading)
}

// UnresolvableError is a path whose target cannot be found out. It is
// refused whatever the roots.
type UnresolvableError struct {
	Path  string // as it was given
	At    string // how far it was followed; "" if nothing was looked up
	Cause platform.Cause
	Err   error // of the filesystem, or nil
}

func (e *UnresolvableError) Error() string {
	s := fmt.Sprintf("path %s cannot be resolved: %s", platform.Quote(e.Path), e.Cause)
	if e.At != "" && e.At != e.Path {
		s += " at " + platform.Quote(e.At)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *UnresolvableError) Unwrap() error { return e.Err }

// Root is one open directory, or one open file: the name the user knows and the
// place the filesystem knows.
type Root struct {
	URI       string // canonical, of Path: lower-case file://, percent-encoded
	Name      string // as given, may be ""
	Path      string // absolute, symlinks resolved, spelled as the filesystem has it
	Given     string // absolute, cleaned, before symlinks were resolved
	File      bool   // a single file: nothing below it, and no working directory
	Redundant bool   // lies below another root
	Flag      string // "", or why it is perhaps more than was meant
}

// Label returns what children learn that the root is called: Name, else Base. Some
// clients send the base name and some no name, and a child cannot determine which it
// was.
func (root *Root) Label() string {
	if root.Name != "" {
		return root.Name
	}
	return root.Base()
}

// Base returns the last part of Path, or Path if it has none.
func (root *Root) Base() string {
	if b := path.Base(strings.ReplaceAll(root.Path, `\`, "/")); b != "." && b != "/" {
		return b
	}
	return root.Path
}
