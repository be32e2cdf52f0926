package validate

import (
	"errors"
	"io/fs"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/access"
	"mcphub/validate/chars"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
)

// countsOutside decides whether a conditional finding that does not lie inside counts at all.
func (j *judge) countsOutside(f *detect.Finding, m meaning, place *guard.Place, err error) bool {
	if stuck, ok := errors.AsType[*guard.UnresolvableError](err); ok {
		switch stuck.Cause {
		case platform.CauseMagic, platform.CausePermission, platform.CauseNUL, platform.CauseDevice, platform.CauseIO:
			return !f.Relative() || stuck.Cause == platform.CauseMagic
		case platform.CauseHost:
			return true // no one looks there to see whether anything can be opened
		}
		return false // nothing can be opened there
	}
	if f.Relative() {
		return j.leavesByLink(f, m, place, err)
	}
	literal := f.Form == detect.FormLiteral || f.Form == detect.FormText
	switch {
	case literal && (systemPlace.MatchString(place.Path) || machine.IsDevice(place.Path)):
		return false // other devices are places like any: memory that programs share, terminals, disks
	case f.Instead != "" && j.existsBefore(f.Instead):
		return false
	case m.glob != "":
		return place.Exists && j.Matches(place.Path, m.glob)
	case place.Exists || m.weak || f.MustExist:
		return place.Exists && !(f.MustExist && f.Makes && f.Instead != "")
	case strings.ContainsAny(f.Value, "*?%") && !f.Makes:
		return false
	case literal:
		return j.namesNew(place.Path)
	}
	return j.Creatable(place.Path, f.Written)
}

// existsBefore reports that the text before an absolute part names something that exists where the child works, or ends in such a
// name. Then the whole is a relative path: -Lbuild/lib is -L build/lib if there is a directory build.
func (j *judge) existsBefore(head string) bool {
	for i := range min(len(head), 4) {
		for _, base := range j.baseDirectories() {
			if _, err := j.FS.Lstat(j.Platform.Join(base, head[i:])); err == nil {
				return true
			}
		}
	}
	return false
}

// nameCounts reports whether a name without a slash has to be judged: it is a symlink, or a file while the child works outside the
// boundary, or something that a command deletes.
func (j *judge) nameCounts(f *detect.Finding, m meaning) bool {
	if m.path == "" || strings.IndexByte(m.path, 0) >= 0 {
		return false
	}
	if f.Text {
		return true
	}
	guarded := j.guardsName(m)
	info, err := j.FS.Lstat(m.path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) && (guarded || f.Makes && j.startsOutside(m.base))
	}
	if info.IsDir() {
		j.noteHintedDir(f, m.path)
		return guarded || f.Role == access.Delete && f.Operand
	}
	return guarded || j.Platform.IsLink(info.Mode()) || f.Operand && j.startsOutside(m.base) || machine.HasOtherNames(info)
}

// guardsName reports a name that may name something protected, or in the directory of a rule, and has to be resolved.
func (j *judge) guardsName(m meaning) bool {
	if name := j.BaseName(m.path); j.checker.search.Guards(name) || j.Windows && strings.IndexByte(name, '~') >= 0 { // a short name
		return true
	}
	return j.guardedDirs.Get(m.base, func() bool {
		place, err := guard.Resolve(j.FS, m.base)
		return err == nil && (j.checker.isProtected(func(own string) bool { return j.Holds(own, place.Path) }) || j.rules.Confines(place.Path))
	})
}

// startsOutside reports that relative names start outside the boundary, as with a cwd that the operator set.
func (j *judge) startsOutside(base string) bool {
	if base == "" || j.roots.Open || j.guard.IsEmpty() {
		return false
	}
	return j.strayDirs.Get(base, func() bool {
		_, err := j.guard.Check(base)
		_, isOutside := errors.AsType[*guard.EscapeError](err)
		return isOutside
	})
}

// isLink reports a name that is a symlink itself.
func (j *judge) isLink(p string) bool {
	info, err := j.FS.Lstat(p)
	return err == nil && j.Platform.IsLink(info.Mode())
}

// leavesByLink reports that a relative name leaves the directory it starts from through a symlink, unless it ends at an
// executable regular file (.venv/bin/python).
func (j *judge) leavesByLink(f *detect.Finding, m meaning, place *guard.Place, why error) bool {
	if m.base == "" {
		// An absolute path counts if its text lies inside and only a link leads out.
		var escape *guard.EscapeError
		if !errors.As(why, &escape) || escape.Reading != guard.ReadingPhysical && escape.Reading != guard.ReadingCleaned {
			return false
		}
	} else if base, err := guard.Resolve(j.FS, m.base); err == nil {
		if _, isBelow := machine.Below(base.Path, place.Path); isBelow && !((place.Exists || f.Makes) && j.startsOutside(m.base)) {
			return false
		}
	}
	if place.File {
		info, err := j.FS.Lstat(place.Path)
		if err == nil && info.Mode()&0o111 != 0 {
			return !j.onlyRuns(f, m, place)
		}
	}
	return true
}

// onlyRuns reports that an executable outside is only run (.venv/bin/python), not read or written. Either it stands in the place in which a
// command has its program, or it is a link straight into a directory in which this user can change nothing (/usr/bin).
func (j *judge) onlyRuns(f *detect.Finding, m meaning, place *guard.Place) bool {
	return f.Runs || !f.Written && f.Role != access.Delete && j.isLink(m.path) && !j.MayWrite(j.Platform.Parent(place.Path))
}

// namesNew decides whether a word of a longer string names something that could be created: its directory exists, may be
// written to, and is the home folder or at least two components deep.
func (j *judge) namesNew(path string) bool {
	dir := j.Platform.Parent(path)
	if dir != j.Home && chars.Components(dir) < 2 {
		return false
	}
	return j.isDir(dir) && j.MayWrite(dir)
}

// systemPlace is where programs and libraries are.
var systemPlace = lazyregexp.New(`^/(?:usr|bin|sbin|lib[^/]*)(?:/|$)`)
