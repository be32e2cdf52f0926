package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mcphub/rootsmgr/platform"
)

// maxLinks bounds how many links one path may go through, as the kernel does.
const maxLinks = 40

// outsideError reports that a path is, or leads, outside every allowed directory.
type outsideError struct {
	to     string // where a link on the way leads; "" for the path itself
	bounds *bounds
}

func (e *outsideError) Error() string {
	if e.to != "" {
		return fmt.Sprintf("access denied: a link there leads outside the allowed directories, to %q; %s", e.to, e.bounds)
	}
	return fmt.Sprintf("access denied: it is outside the allowed directories; %s", e.bounds)
}

// reach is what one call may touch. It opens each tree at most once and is not
// safe for concurrent use.
type reach struct {
	bounds *bounds
	opened map[*tree]*os.Root
}

// place is the target of a path: a name without links in one tree, as it was
// when it was walked. info is nil if nothing is there.
type place struct {
	tree *tree
	root *os.Root
	rel  string
	info fs.FileInfo
}

// placePath returns the canonical absolute path of the place.
func (p place) placePath() string { return filepath.Join(p.tree.real, p.rel) }

// openParent opens the directory that the place is in, so that several steps on one
// name all happen in the same directory whatever is renamed meanwhile.
func (p place) openParent() (*os.Root, string, error) {
	dir, err := p.root.OpenRoot(filepath.Dir(p.rel))
	return dir, filepath.Base(p.rel), err
}

func (r *reach) openTree(t *tree) (*os.Root, error) {
	if root, ok := r.opened[t]; ok {
		return root, nil
	}
	root, err := t.openTree()
	if err != nil {
		return nil, err
	}
	if r.opened == nil {
		r.opened = make(map[*tree]*os.Root)
	}
	r.opened[t] = root
	return root, nil
}

func (r *reach) closeTrees() {
	for _, root := range r.opened {
		root.Close()
	}
}

// absolutePath turns an argument into a clean absolute path: a file: URI, "~", an
// absolute path, or one relative to the first allowed directory. ".." is taken
// lexically here, as the official server does.
func (r *reach) absolutePath(arg string) (string, error) {
	if platform.IsFileURI(arg) {
		return pathFromURI(arg)
	}
	if strings.ContainsRune(arg, 0) {
		return "", errors.New("the path contains a NUL")
	}
	p := expandHome(arg)
	if filepath.IsAbs(p) {
		return filepath.Clean(p), nil
	}
	if len(r.bounds.dirs) == 0 {
		return "", &outsideError{bounds: r.bounds}
	}
	return filepath.Join(r.bounds.dirs[0].real, p), nil
}

// resolvePath walks arg, through links that stay inside the allowed directories,
// absolute ones too, and returns its target. Unless follow is set a link as the last
// component is the place itself. The walk decides nothing by itself: what is done
// at the place is done through its os.Root.
func (r *reach) resolvePath(arg string, follow bool) (place, error) {
	abs, err := r.absolutePath(arg)
	if err != nil {
		return place{}, err
	}
	t, rest, ok := r.bounds.locateTree(abs)
	if !ok {
		return place{}, &outsideError{bounds: r.bounds}
	}
	w := walk{reach: r, follow: follow}
	if err := w.enterTree(t, rest); err != nil {
		return place{}, err
	}
	for len(w.todo) > 0 {
		if err := w.takeStep(); err != nil {
			return place{}, err
		}
	}
	if w.info == nil && !w.missing {
		if w.info, err = w.root.Lstat(w.rel); err != nil {
			return place{}, err
		}
	}
	return w.place, nil
}

// walk is a path being resolved: where it has come to, and what is left.
type walk struct {
	place
	reach   *reach
	todo    []string
	follow  bool
	missing bool // rel names nothing; what follows is only appended
	links   int
}

func (w *walk) enterTree(t *tree, rest string) (err error) {
	w.tree, w.rel, w.info = t, ".", nil
	w.todo = append(splitComponents(rest), w.todo...)
	w.root, err = w.reach.openTree(t)
	return err
}

func (w *walk) takeStep() error {
	name := w.todo[0]
	w.todo = w.todo[1:]
	if name == ".." {
		if w.missing {
			return fs.ErrNotExist
		}
		if w.rel == "." {
			return w.leaveTree()
		}
		w.rel, w.info = filepath.Dir(w.rel), nil
		return nil
	}
	next := filepath.Join(w.rel, name)
	if w.missing {
		w.rel = next
		return nil
	}
	info, err := w.root.Lstat(next)
	if errors.Is(err, fs.ErrNotExist) {
		w.rel, w.info, w.missing = next, nil, true
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 && (w.follow || len(w.todo) > 0) {
		return w.followLink(next)
	}
	w.rel, w.info = next, info
	return nil
}

// followLink goes on where the link next points to.
func (w *walk) followLink(next string) error {
	if w.links++; w.links > maxLinks {
		return errors.New("too many links on the way, perhaps a loop")
	}
	target, err := w.root.Readlink(next)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(target) {
		w.todo = append(splitComponents(target), w.todo...)
		return nil
	}
	return w.jumpTo(target)
}

// leaveTree follows a ".." of a link that climbs above the tree: the path may come
// down again in this tree or in another one.
func (w *walk) leaveTree() error {
	at := filepath.Dir(w.tree.real)
	for len(w.todo) > 0 && w.todo[0] == ".." {
		at = filepath.Dir(at)
		w.todo = w.todo[1:]
	}
	to := strings.TrimSuffix(at, string(filepath.Separator)) + string(filepath.Separator) +
		strings.Join(w.todo, string(filepath.Separator))
	w.todo = nil
	return w.jumpTo(to)
}

// jumpTo goes on at an absolute path as a link wrote it. Its ".." is not cleaned
// away: the prefix that locates it holds none, and the rest is walked.
func (w *walk) jumpTo(to string) error {
	plain := filepath.VolumeName(to) + string(filepath.Separator) +
		strings.Join(splitComponents(to[len(filepath.VolumeName(to)):]), string(filepath.Separator))
	t, rest, ok := w.reach.bounds.locateTree(plain)
	if !ok {
		return &outsideError{to: to, bounds: w.reach.bounds}
	}
	return w.enterTree(t, rest)
}

// splitComponents splits a path, without empty components and ".".
func splitComponents(p string) []string {
	var out []string
	for part := range strings.FieldsFuncSeq(p, func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) }) {
		if part != "." {
			out = append(out, part)
		}
	}
	return out
}

// errorReason returns the cause of a file error without the operation and the path,
// which the caller names in the words of the call.
func errorReason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "the file system does not permit it"
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err.Error()
	}
	return err.Error()
}
