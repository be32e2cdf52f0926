package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/rootsmgr/guard"
)

// RealPath returns a path without links; path itself if it leads nowhere.
func RealPath(path string) string {
	if guard.MayFollow(path, nil) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
	}
	return path
}

// IsDir reports whether a path leads to a directory.
func IsDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// A Place is a path, and what had it for its name when the Profile was made. A rule sits
// on that: what has the name later is not opened, and what was moved away stays open.
type Place struct {
	Path  string
	name  []byte // Path as the kernel takes it
	inode inode
}

// An inode is a file or directory by whichever name. The zero inode is none.
type inode struct{ device, number uint64 }

// PlaceAt looks at a path. A link is not followed.
func PlaceAt(path string) Place {
	p := Place{Path: path, name: append([]byte(path), 0)}
	p.inode = lookAt(p.name)
	return p
}

// Replaced reports whether something else has the name now.
func (place *Place) Replaced() bool { return lookAt(place.name) != place.inode }

// Watch remembers what is at the paths that have a rule, and what the folders of the files are. The rule of a path that has
// nothing yet is left out, because it would open nothing; Replaced tells when something has come.
func (p *Profile) Watch(paths []string) {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		at, ok := slices.BinarySearchFunc(p.Rules, path, func(r Rule, path string) int { return strings.Compare(r.Path, path) })
		if !ok {
			continue // a directory above says it
		}
		place := PlaceAt(path)
		if place.inode == (inode{}) {
			p.Rules = slices.Delete(p.Rules, at, at+1)
		}
		p.Places = append(p.Places, place)
	}
	for _, f := range p.Files {
		if at, ok := slices.BinarySearchFunc(p.Places, f.Folder, comparePlace); !ok {
			p.Places = slices.Insert(p.Places, at, PlaceAt(f.Folder))
		}
	}
}

func comparePlace(p Place, path string) int { return strings.Compare(p.Path, path) }

// PathsReplaced reports whether a watched path now names another file than the one its rule was
// made for, or names a file where none was. It looks at the disk, and takes no memory.
func (p *Profile) PathsReplaced() bool {
	for i := range p.Places {
		if p.Places[i].Replaced() {
			return true
		}
	}
	return false
}

// PathReplaced works like PathsReplaced for the places that a path is or lies in.
func (p *Profile) PathReplaced(path string) bool {
	for {
		if place := p.placeOf(path); place != nil && place.Replaced() {
			return true
		}
		above := filepath.Dir(path)
		if above == path {
			return false
		}
		path = above
	}
}

// hasMoved reports whether what the rule of a path sits on is there no more.
func (p *Profile) hasMoved(path string) bool {
	place := p.placeOf(path)
	return place != nil && place.inode != (inode{}) && place.Replaced()
}

// placeOf returns the Place of a path; nil if it is not watched.
func (p *Profile) placeOf(path string) *Place {
	at, ok := slices.BinarySearchFunc(p.Places, path, comparePlace)
	if !ok {
		return nil
	}
	return &p.Places[at]
}

// Opens reports whether this may be done at a path as the disk is now: a rule opens
// nothing that has come to the place of what it sits on.
func (p *Profile) Opens(path string, a Access) bool {
	if p.Unbounded {
		return true
	}
	if p.isExcepted(path) {
		return false
	}
	for _, r := range p.Rules {
		if p.ruleApplies(r, path) && !p.hasMoved(r.Path) {
			a &^= r.Access
		}
	}
	if a&^(Read|Write) == 0 && p.isBeside(path) {
		return !p.hasMoved(filepath.Dir(path))
	}
	return a == 0
}
