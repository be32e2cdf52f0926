package sandbox

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A File is written in a folder that is closed otherwise, and its program makes others beside
// it: the journals of a database, locks, and temporary names that are renamed onto it. No
// rule of a kernel opens names that are not there yet. So the hub opens, makes, renames and
// removes them on behalf of the process, by [File.Beside]. For a kernel that asks about
// system calls: see Kernel.WhyNoNotify.
type File struct {
	Folder   string                      // absolute and clean, without a link on the way
	Name     string                      // in it; nothing has to be there yet
	Patterns []string                    // of temporary names that are renamed onto it, as path.Match has them
	Links    []string                    // names of links that lead to it
	Never    []string                    // names in Folder that are withheld
	Made     *Made                       // of its entry; not nil
	Refused  func(path string, a Access) // learns what the hub refuses; nil: no one is. Any goroutine may call it
}

// Path returns the path of the file.
func (f *File) Path() string { return filepath.Join(f.Folder, f.Name) }

// Rule returns what a process may do with the file.
func (f *File) Rule() Rule { return Rule{f.Path(), Read | Write} }

// Equal reports whether two Files are the same.
func (f File) Equal(o File) bool {
	return f.Folder == o.Folder && f.Name == o.Name && slices.Equal(f.Patterns, o.Patterns) && slices.Equal(f.Links, o.Links) && slices.Equal(f.Never, o.Never)
}

// ownEnds are what a database puts behind the name of its file. What has such a name is the
// file's own, whichever program made it: a journal that a killed process left is needed to mend the file.
var ownEnds = []string{"", "-journal", "-wal", "-shm"}

// IsOwn reports whether a name in the folder is the file's, or one of the three that belong to
// a database.
func (f *File) IsOwn(name string) bool {
	end, ok := strings.CutPrefix(name, f.Name)
	return ok && slices.Contains(ownEnds, end) && !slices.Contains(f.Never, name)
}

// Beside reports whether a name in the folder is one that the program of the file may use:
// the file's name, the names of a database, locks, and temporary names.
func (f *File) Beside(name string) bool {
	if f.IsOwn(name) {
		return true
	}
	if !f.isNamed(name) || slices.Contains(f.Never, name) {
		return false
	}
	at := filepath.Join(f.Folder, name)
	return findWithin(at, loadedFiles) == "" && WhySecret(at) == ""
}

// isNamed reports whether a name has the form of one that Beside may report. It looks at nothing but the name.
func (f *File) isNamed(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	return f.IsOwn(name) || IsSibling(name, f.Name) ||
		slices.ContainsFunc(f.Patterns, func(p string) bool { is, err := path.Match(p, name); return err == nil && is })
}

// IsSibling reports whether a name is one that programs give what they make beside a file: the file's name, or that
// behind a dot, with a sign and more behind it; or the file's name behind a dot and a tilde, as Jupyter names a notebook that it saves.
func IsSibling(name, of string) bool {
	if name == ".~"+of {
		return true
	}
	for range 2 {
		if end, ok := strings.CutPrefix(name, of); ok && end != "" && strings.Contains(".-~", end[:1]) {
			return true
		}
		var hidden bool
		if name, hidden = strings.CutPrefix(name, "."); !hidden {
			return false
		}
	}
	return false
}

// SiblingsOf returns the names of which a name is a sibling, the longest first.
func SiblingsOf(name string) (of []string) {
	for at := len(name) - 1; at > 0; at-- {
		for _, first := range []string{name[:at], strings.TrimPrefix(name[:at], ".")} {
			if first != "" && IsSibling(name, first) && !slices.Contains(of, first) {
				of = append(of, first)
			}
		}
	}
	if first, ok := strings.CutPrefix(name, ".~"); ok && first != "" {
		of = append([]string{first}, of...)
	}
	return of
}

// mayBeFolder reports whether the program may make a folder of that name: a lock.
func (f *File) mayBeFolder(name string) bool { return name == f.Name+".lock" && f.Beside(name) }
