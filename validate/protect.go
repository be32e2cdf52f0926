package validate

import (
	"io/fs"

	"mcphub/rootsmgr"
	"mcphub/validate/access"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
)

// watched is a protected path, and what is there now.
type watched struct {
	spellings []string
	info      fs.FileInfo // of a file, nil otherwise
}

// protected is V10's stage: everything at or below a protected path, and writing to or deleting a directory above one.
func (j *judge) protected(f *Finding, where *rootsmgr.Place) string {
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

// reaches reports whether the role takes everything below a directory with it. A directory that merely says where a
// tool works (cwd, projectRoot) and a word of a longer string do so only where something is deleted.
func (j *judge) reaches(f *Finding) bool {
	if f.Context || f.Form == detect.FormWord || f.Form == detect.FormLiteral || f.Form == detect.FormText || f.Operand && f.Relative() {
		return f.Role == access.Delete
	}
	return f.Role >= access.Write
}

// harmless reports a device that is used so. Where the role is only guessed, and for a word of a command, it is what the
// word is: a target of a redirection or a file to make is written, any other is read.
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
