package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path"
	"slices"
	"strings"

	"mcphub/internal/ownership"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/access"
	"mcphub/validate/chars"
	"mcphub/validate/shell"
)

// What a guard.FS may offer beyond resolving. guard.OS has neither method; it is handled by its
// type below.
type (
	lister interface {
		ReadDir(name string) ([]fs.DirEntry, error)
	}
	writer interface{ Writable(dir string) bool }
	// A closer knows whether administrators alone may change a directory of Windows.
	closer interface{ Closed(dir string) bool }
	// A driver knows the root directories of the drives of Windows.
	driver interface{ Drives() []string }
)

// FirstExists answers: does the first component of an absolute value, after lexical cleaning and before any colon,
// name something on this machine? If that cannot be told, it does. On Windows the value may be on any drive.
func (m *Machine) FirstExists(v string) bool {
	if _, remote := m.Platform.Remote(v); remote {
		return true // no one looks there
	}
	v = m.Platform.Plain(v)
	clean := path.Clean(chars.ToSlash(v))
	first, rest, _ := strings.Cut(strings.TrimPrefix(clean, "/"), "/")
	if first == "" || m.Windows && chars.IsDrive(clean) {
		return true // the root itself
	}
	if slices.Contains(m.mountTops, first) {
		return true // of a container
	}
	return slices.ContainsFunc(m.topDirectories(), func(top string) bool { return m.firstExists(top, first, rest) })
}

// topDirectories returns the directories that an absolute path without a drive may start from.
func (m *Machine) topDirectories() []string {
	if !m.Windows {
		return []string{"/"}
	}
	if d, ok := m.FS.(driver); ok {
		return d.Drives()
	}
	return []string{`C:\`}
}

// firstExists works like FirstExists for a directory that the value starts from.
func (m *Machine) firstExists(top, first, rest string) bool {
	if m.Windows && len(first) == 1 && rest != "" && strings.EqualFold(first, top[:1]) {
		return true // of Git Bash, which writes C:\x as /c/x; /c alone is an option
	}
	if shell.HasMeta(first) {
		if first, rest, _ = strings.Cut(first, ":"); m.Matches(top, first) {
			return true
		}
	}
	if i := strings.IndexByte(first, ':'); i > 0 && (m.Windows || !m.nameExists(top, first, rest)) {
		first = first[:i]
	}
	return m.nameExists(top, first, rest)
}

// Exists reports that something is at a path that begins with a slash.
func (m *Machine) Exists(p string) bool {
	return slices.ContainsFunc(m.topDirectories(), func(top string) bool {
		_, err := m.Look(m.Platform.FromSlash(top + p[1:]))
		return err == nil
	})
}

// Look works like Lstat, which asks no other machine that no root names.
func (m *Machine) Look(p string) (fs.FileInfo, error) {
	if d := guard.NewDisk(m.FS); m.Windows && m.call == nil && !d.MayLook(p) {
		return nil, errHost
	}
	return m.FS.Lstat(p)
}

// isOpenable reports an absolute path where something is, or may be made.
func (m *Machine) isOpenable(p string) bool {
	if _, err := m.Look(p); err == nil {
		return true
	}
	dir := m.Platform.Clean(m.Platform.Parent(p))
	_, err := m.Look(dir)
	return err == nil && m.Platform.Parent(dir) != m.Platform.Parent(m.Platform.Parent(dir))
}

func (m *Machine) nameExists(top, first, rest string) bool {
	if len(first) > 255 || strings.IndexByte(first, 0) >= 0 {
		return false
	}
	if m.Windows && first != "" {
		switch cause := m.Platform.CheckName(first); {
		case cause == platform.CauseReserved && strings.ContainsAny(first, `|*?`):
			return false // nothing can be called so
		case cause != platform.CauseNone:
			return true
		}
	}
	_, err := m.FS.Lstat(top + first)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !isNotReady(err)
	}
	if !m.Folds || m.spelledSo(top, first) {
		return true
	}
	second, _, _ := strings.Cut(rest, "/")
	if second == "" {
		return false
	}
	_, err = m.Look(m.Platform.Join(top+first, second))
	return err == nil
}

// spelledSo reports whether a directory holds this very spelling; on a filesystem that folds case every spelling
// is found.
func (m *Machine) spelledSo(dir, name string) bool {
	entries, err := ReadDir(m.FS, dir)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
}

// ReadDir lists a directory, if the filesystem can.
func ReadDir(fsys guard.FS, dir string) ([]fs.DirEntry, error) {
	if l, ok := fsys.(lister); ok {
		return l.ReadDir(dir)
	}
	if _, ok := fsys.(guard.OS); ok {
		return os.ReadDir(dir)
	}
	return nil, errors.ErrUnsupported
}

// Matches reports whether a pattern matches a name in a directory; if that cannot be told it does.
func (m *Machine) Matches(dir, pattern string) bool {
	entries, err := ReadDir(m.FS, dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !isNotReady(err)
	}
	alternatives, ok := shell.ExpandBraces(pattern)
	if !ok {
		return true
	}
	for _, alt := range alternatives {
		alt = strings.ReplaceAll(alt, "[!", "[^")
		for _, e := range entries {
			if ok, err := path.Match(alt, e.Name()); ok || err != nil && e.Name() == alt || m.Windows && shell.MatchesOnWindows(alt, e.Name()) {
				return true
			}
		}
	}
	return false
}

// UserHome splits ~name/rest.
func (m *Machine) UserHome(v string) (home, rest string, ok bool) {
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
	if m.call != nil {
		home, ok = m.call.userHome(name)
	} else {
		home, ok = m.users(name)
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

// IsCommand reports an absolute path of an executable in a folder of PATH in which only the administrator can have put it.
func (m *Machine) IsCommand(w string) bool {
	if !m.startsAtTop(w) || chars.Climbs(w) {
		return false
	}
	w = m.Platform.Clean(w)
	dir := m.Platform.Parent(w)
	if !m.isInPATH(dir) || !m.isAdministered(dir) {
		return false
	}
	info, err := m.Look(w)
	return err == nil && !info.IsDir() && (m.Platform.IsLink(info.Mode()) || m.isExecutable(w, info))
}

// isExecutable reports a file that this user may run: on Windows its name says so.
func (m *Machine) isExecutable(path string, info fs.FileInfo) bool {
	if !m.Windows {
		return info.Mode()&0o111 != 0
	}
	i := strings.LastIndexByte(path, '.')
	return i >= 0 && slices.Contains([]string{".com", ".exe", ".bat", ".cmd"}, strings.ToLower(path[i:]))
}

// startsAtTop reports a path from the root or from a drive.
func (m *Machine) startsAtTop(p string) bool {
	return p != "" && (p[0] == '/' && !m.Windows || chars.IsDrive(p))
}

// isInPATH reports a clean directory that PATH names.
func (m *Machine) isInPATH(dir string) bool {
	return slices.ContainsFunc(m.path, func(p string) bool {
		return p == dir || m.Windows && m.Fold(m.Platform.Clean(p)) == m.Fold(dir)
	})
}

// HoldsPrograms reports a directory that PATH may name: one of PATH as it is, or one called bin in which only the
// administrator can put anything.
func (m *Machine) HoldsPrograms(dir string) bool {
	if !m.startsAtTop(dir) || chars.Climbs(dir) {
		return false
	}
	dir = m.Platform.Clean(dir)
	base := m.BaseName(dir)
	return m.isInPATH(dir) || (base == "bin" || base == "sbin") && m.isAdministered(dir)
}

// isAdministered reports a directory that is there and in which this user cannot put anything; for the administrator, one
// in which no one else can.
func (m *Machine) isAdministered(dir string) bool {
	place, err := guard.Resolve(m.FS, dir)
	if err != nil || !place.Dir {
		return false
	}
	if m.Windows {
		return m.isClosed(place.Path)
	}
	info, err := m.FS.Lstat(place.Path)
	return err == nil && (ownedByAdministrator(info) || ownership.Check(info) != nil && !m.MayWrite(place.Path))
}

// isClosed reports a directory of Windows that the system keeps, or whose access list lets administrators alone change it.
func (m *Machine) isClosed(dir string) bool {
	if c, ok := m.FS.(closer); ok {
		return c.Closed(dir)
	}
	if _, ok := m.FS.(guard.OS); ok {
		return isClosed(dir)
	}
	return false
}

// Creatable reports whether something new could be put at a resolved path that does not exist, with what is missing
// above it (mkdir -p): the innermost directory there is may be written to. /foo/ is a pattern to sed and awk and
// /app/x a path of a container; no one makes files beside /etc, but for what is written right there.
func (m *Machine) Creatable(resolved string, written bool) bool {
	for dir := m.Platform.Parent(resolved); ; dir = m.Platform.Parent(dir) {
		info, err := m.FS.Lstat(dir)
		switch {
		case err == nil && dir == m.Platform.Parent(dir) && !(written && dir == m.Platform.Parent(resolved)):
			return false
		case err == nil:
			return info.IsDir() && m.MayWrite(dir)
		case !errors.Is(err, fs.ErrNotExist) || dir == m.Platform.Parent(dir):
			return !errors.Is(err, fs.ErrNotExist)
		}
	}
}

// MayWrite reports whether this user may add names to a directory.
func (m *Machine) MayWrite(dir string) bool { return isWritable(m.FS, dir) }

func isWritable(fsys guard.FS, dir string) bool {
	if w, ok := fsys.(writer); ok {
		return w.Writable(dir)
	}
	if _, ok := fsys.(guard.OS); ok {
		return mayWrite(dir)
	}
	return true
}

// Holds reports that p is dir or lies below it, on Windows also by another name of the volume.
func (m *Machine) Holds(dir, p string) bool {
	if p == "" || dir == "" {
		return false
	}
	if _, ok := Below(m.Fold(dir), m.Fold(p)); ok || !m.Windows {
		return ok
	}
	d := guard.NewDisk(m.FS)
	return d.HoldsElsewhere(m.Platform.Clean(dir), m.Platform.Clean(p))
}

// Fold spells alike what is one path here: names in every letter case, separators of either kind.
func (m *Machine) Fold(p string) string {
	if m.Folds {
		p = chars.FoldName(p)
	}
	if m.Windows {
		p = chars.ToSlash(p)
	}
	return p
}

// BaseName returns the last component of a path.
func (m *Machine) BaseName(p string) string {
	p = m.Platform.Clean(p)
	if m.Windows {
		p = chars.ToSlash(p)
	}
	return p[strings.LastIndexByte(p, '/')+1:]
}

// SameFile reports that both are the same file: hard links are.
func (m *Machine) SameFile(a, b fs.FileInfo) bool { return sameFile(m.FS, a, b) }

func sameFile(fsys guard.FS, a, b fs.FileInfo) bool {
	if s, ok := fsys.(guard.SameFiler); ok {
		return s.SameFile(a, b)
	}
	return os.SameFile(a, b)
}

// devices belong to no directory, for what they are good for. /dev/stdin, /dev/stdout and /dev/fd are not among them:
// they are what a child speaks by.
var devices = map[string]access.Role{"/dev/null": access.None, "/dev/stderr": access.Write, "/dev/zero": access.Read, "/dev/random": access.Read, "/dev/urandom": access.Read}

// DeviceRole returns what a device is good for; ok is false for anything else.
func DeviceRole(p string) (role access.Role, ok bool) {
	role, ok = devices[p]
	return role, ok
}

// IsDevice reports a device that belongs to no directory.
func IsDevice(p string) bool {
	_, ok := devices[p]
	return ok
}

// CheckOwnDir wants a real directory of the hub's own user, in which no one else can plant anything.
func (m *Machine) CheckOwnDir(dir string) error {
	info, err := m.Look(m.Platform.Clean(dir))
	switch {
	case err != nil && errors.Is(err, fs.ErrNotExist):
		return errors.New("it does not exist")
	case err != nil:
		return fmt.Errorf("it cannot be looked at: %w", err)
	case m.Platform.IsLink(info.Mode()):
		return errors.New("it is a symbolic link")
	case !info.IsDir():
		return errors.New("it is not a directory")
	case m.Windows:
		return nil // rights are kept in lists there, which say nothing in a mode
	case ownership.OthersWrite(info):
		return fmt.Errorf("others may write to it (mode %04o)", info.Mode().Perm())
	case ownership.Check(info) != nil:
		return errors.New("it belongs to another user")
	}
	return nil
}
