package pattern

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"mcphub/rootsmgr/platform"
)

// FS is what is asked of a file system. One that patterns can be looked up in has
// ReadDir too.
type FS interface {
	Lstat(name string) (fs.FileInfo, error)
}

// lister is an FS that can list directories: at most n entries, more is true
// if there are others.
type lister interface {
	ReadDir(dir string, n int) (list []fs.DirEntry, more bool, err error)
}

// Matches returns the names below a directory that match, but for regular files, in
// the order of the alphabet. Links are not entered.
func (g Pattern) Matches(fsys FS, p platform.Platform, base string) ([]string, error) {
	if g.tail == "" {
		return []string{"."}, nil
	}
	dirs, ok := fsys.(lister)
	if !ok {
		return nil, errors.New("it is a pattern, and this file system cannot be listed")
	}
	tree := &tree{lister: dirs, fsys: fsys, platform: p, base: base, left: maxVisited}
	var out []string
	err := doublestar.GlobWalk(tree, g.tail, func(name string, _ fs.DirEntry) error {
		if len(out) == maxMatches {
			return fmt.Errorf("it is a pattern that matches more than %d directories, so it opens none: name them more closely", maxMatches)
		}
		out = append(out, name)
		return nil
	}, doublestar.WithNoFollow())
	if tree.left < 0 {
		err = fmt.Errorf("it is a pattern for which more than %d files would have to be looked at, so it opens none: name the directories more closely", maxVisited)
	}
	return out, err
}

// tree is the tree below base as the matcher sees it: directories and links,
// as long as there are entries left to look at.
type tree struct {
	lister   lister
	fsys     FS
	platform platform.Platform
	base     string
	left     int
}

func (t *tree) pathAt(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	if name == "." {
		return t.base, nil
	}
	return t.platform.Join(t.base, t.platform.FromSlash(name)), nil
}

// Open is not used by the matcher.
func (t *tree) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}

func (t *tree) Stat(name string) (fs.FileInfo, error) {
	at, err := t.pathAt("stat", name)
	if t.left--; err != nil || t.left < 0 {
		return nil, fs.ErrNotExist
	}
	return t.fsys.Lstat(at)
}

func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	at, err := t.pathAt("readdir", name)
	if t.left--; err != nil || t.left < 0 {
		return nil, fs.ErrNotExist
	}
	list, more, err := t.lister.ReadDir(at, t.left)
	if err != nil {
		return nil, err
	}
	if t.left -= len(list); more {
		t.left = -1
	}
	out := list[:0]
	for _, entry := range list {
		if entry.IsDir() || !entry.Type().IsRegular() {
			out = append(out, entry)
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }) // as the matcher expects
	return out, nil
}
