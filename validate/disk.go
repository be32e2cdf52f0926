package validate

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/rootsmgr"
	"mcphub/validate/chars"
	"mcphub/validate/shell"
)

// A rootsmgr.FS may offer more than resolving needs; OS is known to.
type (
	lister interface {
		ReadDir(name string) ([]fs.DirEntry, error)
	}
	writer     interface{ Writable(dir string) bool }
	platformer interface{ Platform() rootsmgr.Platform }
)

func platformOf(fsys rootsmgr.FS) rootsmgr.Platform {
	if p, ok := fsys.(platformer); ok {
		return p.Platform()
	}
	return rootsmgr.Host()
}

// firstExists is rule 3: does the first component of an absolute value, after lexical cleaning and before any colon,
// name something on this machine? Where that cannot be told, it does.
func (c *Checker) firstExists(v string) bool {
	if c.windows {
		return true
	}
	clean := path.Clean(chars.Slashed(v))
	first, rest, _ := strings.Cut(strings.TrimPrefix(clean, "/"), "/")
	if first == "" {
		return true // the root itself
	}
	if c.isMounted(first) {
		return true
	}
	if shell.HasMeta(first) {
		if first, rest, _ = strings.Cut(first, ":"); c.anyMatch(first) {
			return true
		}
	}
	if i := strings.IndexByte(first, ':'); i > 0 && !c.nameExists(first, rest) {
		first = first[:i]
	}
	return c.nameExists(first, rest)
}

// opens reports an absolute path where something is, or may be made.
func (c *Checker) opens(p string) bool {
	if _, err := c.fs.Lstat(p); err == nil {
		return true
	}
	dir := c.parent(p)
	_, err := c.fs.Lstat(dir)
	return err == nil && c.parent(dir) != c.parent(c.parent(dir))
}

func (c *Checker) nameExists(first, rest string) bool {
	if len(first) > 255 || strings.IndexByte(first, 0) >= 0 {
		return false
	}
	_, err := c.fs.Lstat("/" + first)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	if !c.folds || c.spelledSo(first) {
		return true
	}
	second, _, _ := strings.Cut(rest, "/")
	if second == "" {
		return false
	}
	_, err = c.fs.Lstat("/" + first + "/" + second)
	return err == nil
}

// spelledSo reports whether the root directory holds this very spelling; on a filesystem that folds case every spelling
// is found.
func (c *Checker) spelledSo(first string) bool {
	entries, err := c.list("/")
	if err != nil {
		return true
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == first })
}

func (c *Checker) list(dir string) ([]fs.DirEntry, error) { return readDir(c.fs, dir) }

func readDir(fsys rootsmgr.FS, dir string) ([]fs.DirEntry, error) {
	if l, ok := fsys.(lister); ok {
		return l.ReadDir(dir)
	}
	if _, ok := fsys.(rootsmgr.OS); ok {
		return os.ReadDir(dir)
	}
	return nil, errors.ErrUnsupported
}

// anyMatch reports whether a pattern matches a name in the root directory; where that cannot be told it does.
func (c *Checker) anyMatch(pattern string) bool { return c.matches("/", pattern) }

func (c *Checker) matches(dir, pattern string) bool {
	entries, err := c.list(dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	alternatives, ok := shell.ExpandBraces(pattern)
	if !ok {
		return true
	}
	for _, alt := range alternatives {
		alt = strings.ReplaceAll(alt, "[!", "[^")
		for _, e := range entries {
			if ok, err := path.Match(alt, e.Name()); ok || err != nil && e.Name() == alt {
				return true
			}
		}
	}
	return false
}

// isUserHome reports ~name where a user of that name exists.
func (c *Checker) isUserHome(v string) bool {
	_, _, ok := c.userHome(v)
	return ok
}

// userHome splits ~name/rest.
func (c *Checker) userHome(v string) (home, rest string, ok bool) {
	if len(v) < 2 || v[0] != '~' {
		return "", "", false
	}
	name := v[1:]
	if i := strings.IndexAny(name, `/\`); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ':' }) {
		return "", "", false
	}
	if c.disk != nil {
		home, ok = c.disk.user(name)
	} else {
		home, ok = c.users(name)
	}
	return home, rest, ok
}

func lookupUser(name string) (string, bool) {
	u, err := user.Lookup(name)
	if err != nil || u.HomeDir == "" {
		return "", false
	}
	return u.HomeDir, true
}

// isCommand reports an absolute path of an executable in a folder of PATH in which only the administrator can have put it.
func (c *Checker) isCommand(w string) bool {
	if w == "" || w[0] != '/' && !chars.IsDrive(w) || chars.Climbs(w) {
		return false
	}
	dir := filepath.Dir(w)
	if !slices.Contains(c.path, dir) || !c.isAdministered(dir) {
		return false
	}
	info, err := c.fs.Lstat(w)
	return err == nil && !info.IsDir() && (info.Mode()&fs.ModeSymlink != 0 || info.Mode()&0o111 != 0)
}

// holdsPrograms reports a directory that PATH may name: one of PATH as it is, or one called bin in which only the
// administrator can put anything.
func (c *Checker) holdsPrograms(dir string) bool {
	if dir == "" || dir[0] != '/' && !chars.IsDrive(dir) || chars.Climbs(dir) {
		return false
	}
	dir = filepath.Clean(dir)
	base := filepath.Base(dir)
	return slices.Contains(c.path, dir) || (base == "bin" || base == "sbin") && c.isAdministered(dir)
}

// isAdministered reports a directory that is there and in which this user cannot put anything; for the administrator, one
// in which nobody else can.
func (c *Checker) isAdministered(dir string) bool {
	place, err := rootsmgr.Resolve(c.fs, dir)
	if err != nil || !place.Dir {
		return false
	}
	info, err := c.fs.Lstat(place.Path)
	return err == nil && (ownedByAdministrator(info) || ownedByMe(info) != nil && !c.mayWrite(place.Path))
}

// creatable reports whether something new could be put at a resolved path that does not exist, with what is missing
// above it (mkdir -p): the innermost directory there is may be written to. /foo/ is a pattern to sed and awk and
// /app/x a path of a container; nobody makes files beside /etc, but for what is written right there.
func (c *Checker) creatable(resolved string, written bool) bool {
	for dir := c.parent(resolved); ; dir = c.parent(dir) {
		info, err := c.fs.Lstat(dir)
		switch {
		case err == nil && dir == c.parent(dir) && !(written && dir == c.parent(resolved)):
			return false
		case err == nil:
			return info.IsDir() && c.mayWrite(dir)
		case !errors.Is(err, fs.ErrNotExist) || dir == c.parent(dir):
			return !errors.Is(err, fs.ErrNotExist)
		}
	}
}

func (c *Checker) parent(p string) string {
	if c.windows {
		return filepath.Dir(p)
	}
	return path.Dir(p)
}

func (c *Checker) mayWrite(dir string) bool { return writable(c.fs, dir) }

func writable(fsys rootsmgr.FS, dir string) bool {
	if w, ok := fsys.(writer); ok {
		return w.Writable(dir)
	}
	if _, ok := fsys.(rootsmgr.OS); ok {
		return mayWrite(dir)
	}
	return true
}
