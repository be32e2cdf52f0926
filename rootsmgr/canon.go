package rootsmgr

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"mcphub/rootsmgr/platform"
)

// found is what is to be a root, as the filesystem is now.
type found struct {
	given string   // absolute, cleaned as text; "" where that cannot be said
	path  string   // every symlink resolved, spelled as the filesystem has it; "" where that cannot be said
	file  bool     // a regular file, and no directory
	links []string // every symlink followed on the way, each in a directory without links
}

var (
	errMissing = errors.New("it does not exist")
	errNoDir   = errors.New("it is not a directory")
)

// canonical looks at a directory or file that is to be a root. The error says in
// plain words why it can be none, and is errMissing where there is nothing: what
// was found tells then where it would be.
func (e *eyes) canonical(raw string) (found, error) {
	p := e.platform
	raw = p.Slashed(p.FromMSYS(raw))
	if platform.HasControl(raw) {
		return found{}, errors.New("its path holds a control character")
	}
	var f found
	look := *e
	look.links = &f.links
	if p.CheckPath(raw) == CauseNone {
		f.given = p.Clean(raw)
	}
	place, err := look.resolve(raw)
	if err != nil {
		return f, plain(err)
	}
	r := place.Readings
	f.file = place.File
	switch {
	case r.Cleaned != r.Physical:
		return f, fmt.Errorf("it has a .. after a symlink: it is %s or %s, depending on who reads it",
			platform.Quote(r.Physical), platform.Quote(r.Cleaned))
	case !place.Exists, !e.reaches(raw):
		f.path = place.Path
		return f, errMissing
	case !place.Dir && !place.File:
		return f, errors.New("it is neither a directory nor a regular file")
	}
	f.path = place.Path
	if t, ok := e.FS.(trueCaser); ok {
		path, err := t.TrueCase(f.path)
		if err != nil {
			return f, fmt.Errorf("its real name cannot be found: %w", err)
		}
		if path = p.Clean(path); path != f.path && e.same != nil && !e.sameDir(path, f.path) {
			return f, errors.New("it changed while it was looked at")
		}
		f.path = path
	}
	if platform.HasControl(f.path) {
		return f, errors.New("its path holds a control character once links are resolved")
	}
	if fsys, ok := e.FS.(reader); ok {
		if err := fsys.Readable(f.path); err != nil {
			if cause := errors.Unwrap(err); cause != nil {
				err = cause // the line names the path already
			}
			return f, fmt.Errorf("it cannot be read: %w", err)
		}
	}
	return f, nil
}

// homeFolder is the user's home folder; the zero found where there is none.
func (e *eyes) homeFolder() found {
	if home := homeOf(e.FS); home != "" {
		if f, err := e.canonical(home); err == nil {
			return f
		}
	}
	return found{}
}

// reaches reports whether the spelling itself exists: one that enters what does
// not exist and climbs out again names nothing, whatever is left once it is
// cleaned.
func (e *eyes) reaches(raw string) bool {
	end, why := e.walk(raw)
	return why == nil && !end.void
}

// plain shortens an error of resolve for a line that names the path already.
func plain(err error) error {
	var u *UnresolvableError
	if !errors.As(err, &u) {
		return err
	}
	if u.Err != nil && !errors.Is(u.Err, fs.ErrNotExist) {
		return fmt.Errorf("it cannot be resolved: %s (%w)", u.Cause, u.Err)
	}
	return fmt.Errorf("it cannot be resolved: %s", u.Cause)
}

// aliases returns further spellings of a canonical root that the system itself
// makes: /tmp of macOS is a link to /private/tmp, and a home folder may be
// reached by a link (/home to /var/home). A client that asked the kernel for
// its directory and a user who wrote the short form mean the same one. Only the
// reading as text is widened by these: the physical ones still decide.
func (e *eyes) aliases(path string, home found) []string {
	var out []string
	p := e.platform
	if p == Darwin {
		for _, dir := range []string{"/private/tmp", "/private/var", "/private/etc"} {
			if path == dir || strings.HasPrefix(path, dir+"/") {
				out = append(out, strings.TrimPrefix(path, "/private"))
			}
		}
	}
	if home.path != "" && home.given != home.path {
		if rest, ok := strings.CutPrefix(path, home.path); ok && (rest == "" || rest[0] == p.Sep()) {
			out = append(out, home.given+rest)
		}
	}
	return out
}
