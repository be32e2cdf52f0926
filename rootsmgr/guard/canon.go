package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"mcphub/rootsmgr/platform"
)

// RootCandidate is a directory or file that is to be a root, as the filesystem is now.
type RootCandidate struct {
	Given string         // absolute, cleaned as text; "" if that cannot be said
	Path  string         // every symlink resolved, spelled as the filesystem has it; "" if that cannot be said
	File  bool           // a regular file, and no directory
	Links []SymbolicLink // every symlink followed on the way
}

// A SymbolicLink is a symlink as one look at a path has followed it. What is there later may lead elsewhere.
type SymbolicLink struct {
	At     string // in a directory without links
	To     string // what it leads to, without links
	Climbs bool   // a .. of its text comes after another link, which decides as well what this one leads to
}

// Why something can be no root.
var (
	ErrMissing = errors.New("it does not exist")
	ErrNoDir   = errors.New("it is not a directory")
)

// Canonical looks at a directory or file that is to be a root. The error reports why it cannot be
// one. If nothing exists there, the error is ErrMissing, and RootCandidate reports where it would
// be. A root that is on another machine names that machine, but a link on the way to it does not.
func (d *Disk) Canonical(raw string) (RootCandidate, error) {
	named := *d
	named.lookAtShare(d.Platform.FromMSYS(raw))
	return named.canonicalLocal(raw)
}

// canonicalLocal works like Canonical for a directory that names no machine.
func (d *Disk) canonicalLocal(raw string) (RootCandidate, error) {
	p := d.Platform
	raw = d.plainPath(p.FromMSYS(raw))
	if platform.HasControl(raw) {
		return RootCandidate{}, errors.New("its path holds a control character")
	}
	var f RootCandidate
	look := *d
	look.links = &f.Links
	if p.CheckPath(raw) == platform.CauseNone {
		f.Given = p.Clean(raw)
	}
	place, err := look.resolvePath(raw)
	if err != nil {
		return f, shortenError(err)
	}
	r := place.Readings
	f.File = place.File
	switch {
	case r.Cleaned != r.Physical:
		return f, fmt.Errorf("it has a .. after a symlink: it is %s or %s, depending on who reads it",
			platform.Quote(r.Physical), platform.Quote(r.Cleaned))
	case !place.Exists, !d.reachesPath(raw):
		f.Path = place.Path
		return f, ErrMissing
	case !place.Dir && !place.File:
		return f, errors.New("it is neither a directory nor a regular file")
	}
	f.Path = place.Path
	if t, ok := d.FS.(trueCaser); ok {
		path, err := t.TrueCase(f.Path)
		if err != nil {
			return f, fmt.Errorf("its real name cannot be found: %w", err)
		}
		if path = p.Clean(path); path != f.Path && d.same != nil && !d.SameDir(path, f.Path) {
			return f, errors.New("it changed while it was looked at")
		}
		f.Path = path
	}
	if platform.HasControl(f.Path) {
		return f, errors.New("its path holds a control character once links are resolved")
	}
	if fsys, ok := d.FS.(reader); ok {
		if err := fsys.Readable(f.Path); err != nil {
			if cause := errors.Unwrap(err); cause != nil {
				err = cause // the line names the path already
			}
			return f, fmt.Errorf("it cannot be read: %w", err)
		}
	}
	return f, nil
}

// HomeFolder returns the user's home folder; the zero found if there is none.
func (d *Disk) HomeFolder() RootCandidate {
	if home := HomeOf(d.FS); home != "" {
		if f, err := d.Canonical(home); err == nil {
			return f
		}
	}
	return RootCandidate{}
}

// reachesPath reports whether the path exists as it is spelled. "/missing/../etc" does
// not, although its cleaned form does.
func (d *Disk) reachesPath(raw string) bool {
	end, why := d.walkPath(raw)
	return why == nil && !end.void
}

// shortenError shortens an error of resolve for a line that names the path already.
func shortenError(err error) error {
	var u *UnresolvableError
	if !errors.As(err, &u) {
		return err
	}
	if u.Err != nil && !errors.Is(u.Err, fs.ErrNotExist) {
		return fmt.Errorf("it cannot be resolved: %s (%w)", u.Cause, u.Err)
	}
	return fmt.Errorf("it cannot be resolved: %s", u.Cause)
}

// Aliases returns further spellings of a canonical root that the system itself
// makes: on macOS /tmp is a link to /private/tmp, and /home may be a link to
// /var/home. A client may send one spelling as its root and the other in a call.
// Aliases count only for the reading as text. The physical readings must lie
// inside as well.
func (d *Disk) Aliases(path string, home RootCandidate) []string {
	var out []string
	p := d.Platform
	if p == platform.Darwin {
		for _, dir := range []string{"/private/tmp", "/private/var", "/private/etc"} {
			if path == dir || strings.HasPrefix(path, dir+"/") {
				out = append(out, strings.TrimPrefix(path, "/private"))
			}
		}
	}
	if home.Path != "" && home.Given != home.Path {
		if rest, ok := strings.CutPrefix(path, home.Path); ok && (rest == "" || rest[0] == p.Sep()) {
			out = append(out, home.Given+rest)
		}
	}
	return out
}

// IsAbsent reports that no such root exists, or can exist. Like Canonical it looks at another machine only if raw plainly names a share there.
func (d *Disk) IsAbsent(raw string) bool {
	named := *d
	if named.lookAtShare(raw); named.isForeign(raw) {
		return true
	}
	end, why := named.walkPath(raw)
	if why != nil {
		return why.cause == platform.CauseTooLong || why.cause == platform.CauseReserved && strings.ContainsAny(raw, "*?")
	}
	return end.missing > 0 || end.void
}
