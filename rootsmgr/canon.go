package rootsmgr

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// canonical returns the two spellings of a directory that is to be a root:
// given, cleaned as text, and path, with every symlink resolved and spelled as
// the filesystem has it. The error says in plain words why it can be none.
func (e *eyes) canonical(raw string) (given, path string, err error) {
	p := e.platform
	raw = p.slashed(p.fromMSYS(raw))
	if hasControl(raw) {
		return "", "", errors.New("its path holds a control character")
	}
	place, err := e.resolve(raw)
	if err != nil {
		return "", "", plain(err)
	}
	r := place.Readings
	switch {
	case r.Cleaned != r.Physical:
		return "", "", fmt.Errorf("it has a .. after a symlink: it is %s or %s, depending on who reads it",
			quote(r.Physical), quote(r.Cleaned))
	case !place.Exists, !e.reaches(raw):
		return "", "", errors.New("it does not exist")
	case !place.Dir:
		return "", "", errors.New("it is not a directory")
	}
	path = place.Path
	if t, ok := e.FS.(trueCaser); ok {
		if path, err = t.TrueCase(path); err != nil {
			return "", "", fmt.Errorf("its real name cannot be found: %w", err)
		}
		path = p.Clean(path)
	}
	if hasControl(path) {
		return "", "", errors.New("its path holds a control character once links are resolved")
	}
	if f, ok := e.FS.(reader); ok {
		if err := f.Readable(path); err != nil {
			if cause := errors.Unwrap(err); cause != nil {
				err = cause // the line names the path already
			}
			return "", "", fmt.Errorf("it cannot be read: %w", err)
		}
	}
	return r.Lexical, path, nil
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
func (e *eyes) aliases(path, homeGiven, homePath string) []string {
	var out []string
	p := e.platform
	if p == Darwin {
		for _, dir := range []string{"/private/tmp", "/private/var", "/private/etc"} {
			if path == dir || strings.HasPrefix(path, dir+"/") {
				out = append(out, strings.TrimPrefix(path, "/private"))
			}
		}
	}
	if homePath != "" && homeGiven != homePath {
		if rest, ok := strings.CutPrefix(path, homePath); ok && (rest == "" || rest[0] == p.sep()) {
			out = append(out, homeGiven+rest)
		}
	}
	return out
}
