package validate

import (
	"fmt"
	"io/fs"
	"slices"
	"time"

	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/chars"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
)

// protectedReason denies everything at or below a protected path, and writing to or deleting a directory above one.
func (j *judge) protectedReason(f *detect.Finding, where *guard.Place) string {
	for _, spellings := range j.checker.protected {
		for _, own := range spellings {
			for _, p := range []string{where.Path, where.Readings.Lexical, where.Readings.Physical, where.Readings.Cleaned} {
				if j.Holds(own, p) {
					return CodeProtected
				}
				if j.Holds(p, own) && j.reachesBelow(f) {
					return CodeProtectedBelow
				}
			}
		}
	}
	if where.Exists && !where.Dir && j.isProtected(where) {
		return CodeProtected
	}
	return ""
}

// isProtected reports a file that is a protected one by another name. A file with one name is none, unless something is
// mounted over it: for that, what the protected ones were a moment ago is compared too.
func (j *judge) isProtected(where *guard.Place) bool {
	if where.Entry.HardLinks == 1 {
		if was, ok := j.protectedEntries(); ok && !slices.ContainsFunc(was, func(e guard.Entry) bool { return e.Device == where.Entry.Device && e.Inode == where.Entry.Inode }) {
			return false
		}
	}
	mine, err := j.FS.Lstat(where.Path)
	if err != nil {
		return true // it was there a moment ago
	}
	return slices.ContainsFunc(j.protectedFiles(), func(w fs.FileInfo) bool { return j.SameFile(mine, w) })
}

// protectedFiles returns the protected files as they are now.
func (j *judge) protectedFiles() []fs.FileInfo {
	if j.watched == nil {
		j.watched = make([]fs.FileInfo, 0, len(j.checker.protected))
		for _, p := range j.checker.protected {
			if info, err := j.FS.Lstat(p.resolvedPath()); err == nil && info.Mode()&fs.ModeType == 0 {
				j.watched = append(j.watched, info)
			}
		}
	}
	return j.watched
}

// entriesFor is how long it is remembered what the protected files are.
const entriesFor = time.Second

// knownEntries are what was remembered of that; ok is false if it cannot be told.
type knownEntries struct {
	at  time.Time
	all []guard.Entry
	ok  bool
}

// protectedEntries returns what the protected files were, at most a moment ago.
func (j *judge) protectedEntries() ([]guard.Entry, bool) {
	known := j.checker.entries.Load()
	if known == nil || time.Since(known.at) > entriesFor {
		reread := &knownEntries{at: time.Now(), ok: true}
		for _, p := range j.checker.protected {
			place, err := guard.Resolve(j.FS, p.resolvedPath())
			if err == nil && !place.Exists {
				continue
			}
			reread.all = append(reread.all, place.Entry)
			reread.ok = reread.ok && place.Entry.HardLinks > 0 // else it was walked
		}
		if j.disk.Missed() {
			return nil, false
		}
		known = reread
		j.checker.entries.Store(reread)
	}
	return known.all, known.ok
}

// reachesBelow reports whether the role concerns everything below a directory, as writing and deleting do. For a directory that only
// names the directory that a tool works in (cwd, projectRoot), and for a word of a longer string, only deleting does.
func (j *judge) reachesBelow(f *detect.Finding) bool {
	if f.Context || f.Form == detect.FormWord || f.Form == detect.FormLiteral || f.Form == detect.FormText || f.Operand && f.Relative() {
		return f.Role == access.Delete
	}
	return f.Role >= access.Write
}

// isHarmless reports a device that may be used in this role. If the role is only guessed, and for a word of a command, the target
// of a redirection or a file to make is written, and any other is read.
func isHarmless(f *detect.Finding, dev string) bool {
	role, ok := machine.DeviceRole(dev)
	if !ok || role == access.None {
		return ok
	}
	if f.Role == access.Delete {
		return false
	}
	if f.InShell || f.Assumed {
		writes := f.Written || f.Makes
		return writes == (role == access.Write) || !f.InShell && !writes
	}
	return f.Role == role
}

// protectedPath is a protected path in every spelling.
type protectedPath []string

// resolvedPath returns the path with links followed.
func (p protectedPath) resolvedPath() string { return p[len(p)-1] }

// protectPath resolves a protected path once, and keeps it. One that does not exist yet is kept as text.
func (checker *Checker) protectPath(given string) error {
	p := checker.m.ExpandHome(given)
	if _, remote := checker.m.Platform.Remote(p); !remote && !checker.m.Platform.IsAbs(p) { // a call that names another machine is refused, however that is spelled
		return fmt.Errorf("protected path %s is not absolute; write it from the root or with ~/", chars.Quote(given))
	}
	var spellings protectedPath
	add := func(spelling string) {
		if !slices.Contains(spellings, spelling) {
			spellings = append(spellings, spelling)
		}
	}
	add(checker.m.Platform.Clean(p))
	if place, err := guard.Resolve(checker.m.FS, p); err == nil {
		add(place.Path)
		add(place.Readings.Cleaned)
	}
	checker.protected = append(checker.protected, spellings)
	return nil
}
