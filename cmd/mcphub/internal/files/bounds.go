package files

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mcphub/rootsmgr/platform"
)

// bounds is the set of allowed directories at one moment. It is immutable and
// holds no descriptors. The zero value allows nothing.
type bounds struct {
	dirs    []dir      // as given, without duplicates, nested ones too
	spelled []spelling // every prefix a path may start with, longest first
	skipped []skipped
	origin  string // why there are none, for people
}

// A dir is one allowed directory.
type dir struct {
	real string // canonical: absolute, links resolved
	tree *tree  // the outermost allowed directory it lies in: itself, mostly
	base string // where in the tree; "." is the tree itself
}

// A tree is an allowed directory that lies in no other one. Only trees are
// opened by path.
type tree struct {
	real string
	info os.FileInfo // of the directory that was accepted
}

// A spelling is one way to write an allowed directory.
type spelling struct {
	prefix string
	tree   *tree
	base   string
}

// skipped is an entry that became no allowed directory, and why.
type skipped struct {
	Root   string `json:"root"`
	Reason string `json:"reason"`
}

// An asked entry is one directory as someone named it: a path, or a file: URI
// where uri is set.
type asked struct {
	raw string
	uri bool
}

// newBounds checks every entry on its own: a bad one is reported in skipped and
// spoils nothing.
func newBounds(origin string, entries []asked) *bounds {
	b := &bounds{origin: origin}
	type accepted struct {
		given, real string
		info        os.FileInfo
		e           asked
	}
	var in []accepted
	for _, e := range entries {
		given, real, info, err := acceptDir(e)
		if err != nil {
			b.skipped = append(b.skipped, skipped{e.raw, err.Error()})
			continue
		}
		// The same directory twice is one directory in its first resolved
		// spelling; the other spellings still count as prefixes.
		if i := slices.IndexFunc(in, func(a accepted) bool { return os.SameFile(a.info, info) }); i >= 0 {
			real = in[i].real
		}
		in = append(in, accepted{given, real, info, e})
	}
	// The one who may write in one directory may put a link instead of another
	// that lies in it: that is not followed out.
	leaves := func(a accepted) bool {
		return slices.ContainsFunc(linkFolders(a.given), func(at string) bool {
			return slices.ContainsFunc(in, func(o accepted) bool {
				_, around := pathBelow(at, o.real)
				_, stays := pathBelow(a.real, o.real)
				return around && !stays
			})
		})
	}
	kept := make([]accepted, 0, len(in))
	for _, a := range in {
		if leaves(a) {
			b.skipped = append(b.skipped, skipped{a.e.raw, fmt.Sprintf("it is a link inside another allowed directory and leads out of that to %q", a.real)})
			continue
		}
		kept = append(kept, a)
	}
	in = kept
	var trees []*tree
	for _, a := range in {
		inner := slices.ContainsFunc(in, func(o accepted) bool {
			_, ok := pathBelow(a.real, o.real)
			return ok && a.real != o.real
		})
		if !inner && !slices.ContainsFunc(trees, func(t *tree) bool { return t.real == a.real }) {
			trees = append(trees, &tree{real: a.real, info: a.info})
		}
	}
	for _, a := range in {
		for _, t := range trees {
			base, ok := pathBelow(a.real, t.real)
			if !ok {
				continue
			}
			if !slices.ContainsFunc(b.dirs, func(d dir) bool { return d.real == a.real }) {
				b.dirs = append(b.dirs, dir{a.real, t, base})
			}
			b.spelled = append(b.spelled, spelling{a.real, t, base}, spelling{a.given, t, base})
			break
		}
	}
	slices.SortStableFunc(b.spelled, func(x, y spelling) int { return cmp.Compare(len(y.prefix), len(x.prefix)) })
	b.spelled = slices.Compact(b.spelled)
	return b
}

// linkFolders returns the directories that hold the links on the way to a path.
func linkFolders(path string) (dirs []string) {
	const most = 40 // links, as the kernel follows
	sep := string(filepath.Separator)
	top := filepath.VolumeName(path) + sep
	at, rest := top, strings.Split(path[len(top):], sep)
	for len(rest) > 0 && len(dirs) < most {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		dirs = append(dirs, at)
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + sep
			target = target[len(at):]
		}
		rest = append(strings.Split(filepath.FromSlash(target), sep), rest...)
	}
	return dirs
}

// acceptDir returns which directory an entry names: its cleaned absolute
// spelling, its canonical path, and its identity.
func acceptDir(e asked) (given, real string, info os.FileInfo, err error) {
	if e.uri || platform.IsFileURI(e.raw) {
		given, err = pathFromURI(e.raw)
	} else {
		given, err = filepath.Abs(expandHome(e.raw))
	}
	if err != nil {
		return "", "", nil, err
	}
	real, err = filepath.EvalSymlinks(given)
	if err == nil {
		info, err = os.Stat(real)
	}
	if err != nil {
		return "", "", nil, errors.New(errorReason(err))
	}
	if info.Mode().IsRegular() {
		return "", "", nil, errors.New("it is a single file, and this server takes directories")
	}
	if !info.IsDir() {
		return "", "", nil, errors.New("it is not a directory")
	}
	r, err := os.OpenRoot(real)
	if err != nil {
		return "", "", nil, errors.New(errorReason(err))
	}
	return given, real, info, r.Close()
}

// openTree opens the directory of the tree. One that was replaced by another real
// directory at the same place is accepted; one whose place now leads elsewhere
// through a link is not.
func (t *tree) openTree() (*os.Root, error) {
	root, err := os.OpenRoot(t.real)
	if err != nil {
		return nil, fmt.Errorf("the allowed directory %q cannot be opened: %s", t.real, errorReason(err))
	}
	info, err := root.Stat(".")
	if err == nil && os.SameFile(info, t.info) {
		return root, nil
	}
	if err == nil {
		var at string
		if at, err = filepath.EvalSymlinks(t.real); err == nil && at == t.real {
			var now os.FileInfo
			if now, err = os.Lstat(t.real); err == nil && os.SameFile(info, now) {
				return root, nil
			}
		}
	}
	root.Close()
	return nil, fmt.Errorf("the allowed directory %q was replaced by something else: set the roots again", t.real)
}

// locateTree finds the tree that a clean absolute path lies in, by its spelling
// alone, and the rest of the path in that tree.
func (b *bounds) locateTree(path string) (*tree, string, bool) {
	for _, s := range b.spelled {
		if rest, ok := pathBelow(path, s.prefix); ok {
			// Not Join: what a link wrote may hold "..", which is walked.
			return s.tree, s.base + string(filepath.Separator) + rest, true
		}
	}
	return nil, "", false
}

// allowedPaths returns the allowed directories, canonical.
func (b *bounds) allowedPaths() []string {
	out := make([]string, 0, len(b.dirs))
	for _, d := range b.dirs {
		out = append(out, d.real)
	}
	return out
}

// String returns what is allowed, for the text of a denial.
func (b *bounds) String() string {
	const most = 20
	if len(b.dirs) == 0 {
		why := "no directory is allowed: " + b.origin
		if len(b.skipped) > 0 {
			why += fmt.Sprintf("; %q was skipped: %s", b.skipped[0].Root, b.skipped[0].Reason)
		}
		if len(b.skipped) > 1 {
			why += fmt.Sprintf(" (and %d more)", len(b.skipped)-1)
		}
		return why
	}
	var sb strings.Builder
	sb.WriteString("allowed directories: ")
	for i, d := range b.dirs {
		if i == most {
			fmt.Fprintf(&sb, " and %d more", len(b.dirs)-most)
			break
		}
		if i > 0 {
			sb.WriteString(", ")
		}
		fmt.Fprintf(&sb, "%q", d.real)
	}
	return sb.String()
}

// pathBelow reports whether path is dir or lies below it, by component, and the rest
// ("." for dir itself). On Windows letters compare without case.
func pathBelow(path, dir string) (string, bool) {
	if len(path) < len(dir) || !sameName(path[:len(dir)], dir) {
		return "", false
	}
	rest := path[len(dir):]
	switch {
	case rest == "":
		return ".", true
	case os.IsPathSeparator(rest[0]):
		return rest[1:], true
	case dir != "" && os.IsPathSeparator(dir[len(dir)-1]): // "/" or `C:\`
		return rest, true
	}
	return "", false
}

func sameName(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// pathFromURI returns the absolute local path that a file: URI names.
func pathFromURI(raw string) (string, error) {
	path, err := platform.Host().ParseRootURI(raw)
	if uri, ok := errors.AsType[*platform.URIError](err); ok {
		return "", fmt.Errorf("%q %s", raw, uri.Reason)
	}
	return filepath.Clean(path), nil
}

// expandHome replaces a leading "~" component by the home folder.
func expandHome(p string) string {
	if p != "~" && !strings.HasPrefix(p, "~/") && !strings.HasPrefix(p, "~"+string(filepath.Separator)) {
		return p
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return p // a file called "~", then: nothing else is known
	}
	return filepath.Join(home, p[1:])
}
