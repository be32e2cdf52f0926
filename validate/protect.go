package validate

import (
	"fmt"
	"io/fs"
	"slices"

	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/chars"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
)

// watched is a protected path, and what is there now.
type watched struct {
	spellings []string
	info      fs.FileInfo // of a file, nil otherwise
}

// protected denies everything at or below a protected path, and writing to or deleting a directory above one.
func (j *judge) protected(f *Finding, where *guard.Place) string {
	var mine fs.FileInfo
	for i := range j.watched {
		w := &j.watched[i]
		for _, own := range w.spellings {
			for _, p := range []string{where.Path, where.Readings.Lexical, where.Readings.Physical, where.Readings.Cleaned} {
				if j.m.Holds(own, p) {
					return CodeProtected
				}
				if j.m.Holds(p, own) && j.reaches(f) {
					return CodeProtectedAbove
				}
			}
		}
		if w.info == nil || !where.Exists || where.Dir {
			continue
		}
		if mine == nil {
			var err error
			if mine, err = j.m.FS.Lstat(where.Path); err != nil {
				return CodeProtected // it was there a moment ago
			}
		}
		if j.m.SameFile(mine, w.info) {
			return CodeProtected
		}
	}
	return ""
}

// reaches reports whether the role concerns everything below a directory, as writing and deleting do. For a directory that only
// says where a tool works (cwd, projectRoot), and for a word of a longer string, only deleting does.
func (j *judge) reaches(f *Finding) bool {
	if f.Context || f.Form == detect.FormWord || f.Form == detect.FormLiteral || f.Form == detect.FormText || f.Operand && f.Relative() {
		return f.Role == access.Delete
	}
	return f.Role >= access.Write
}

// harmless reports a device that may be used in this role. If the role is only guessed, and for a word of a command, the target
// of a redirection or a file to make is written, and any other is read.
func harmless(f *Finding, dev string) bool {
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
type protectedPath struct {
	spellings []string
}

// protect resolves a protected path once. One that does not exist yet is kept as text.
func (c *Checker) protect(p string) (protectedPath, error) {
	given := p
	p = c.m.ExpandHome(p)
	if !c.m.Platform.IsAbs(p) {
		return protectedPath{}, fmt.Errorf("protected path %s is not absolute; write it from the root or with ~/", chars.Quote(given))
	}
	var s protectedPath
	add := func(spelling string) {
		if spelling != "" && !slices.Contains(s.spellings, spelling) {
			s.spellings = append(s.spellings, spelling)
		}
	}
	add(c.m.Platform.Clean(p))
	place, err := guard.Resolve(c.m.FS, p)
	if err == nil {
		add(place.Path)
		add(place.Readings.Cleaned)
	}
	return s, nil
}

// watch looks at the protected files as they are now.
func (j *judge) watch() {
	for _, s := range j.c.protected {
		w := watched{spellings: s.spellings}
		if info, err := j.m.FS.Lstat(s.spellings[len(s.spellings)-1]); err == nil && info.Mode()&fs.ModeType == 0 {
			w.info = info
		}
		j.watched = append(j.watched, w)
	}
}
