package guard

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"

	"mcphub/rootsmgr/platform"
)

// maxLinks is the number of symlinks that Linux follows in one path.
const maxLinks = 40

// Resolve follows path in every reading without judging it. The Place has no
// Root. The error is an *UnresolvableError. A path must be absolute and is
// taken literally: nothing is decoded or expanded.
func Resolve(fsys FS, path string) (Place, error) {
	if fsys == nil {
		return Place{}, &UnresolvableError{Path: path, Cause: platform.CauseIO}
	}
	e := NewDisk(fsys)
	return e.resolvePath(path)
}

func (d *Disk) resolvePath(given string) (Place, error) {
	p := d.Platform
	path := d.plainPath(given)
	cause := p.CheckPath(path)
	if (cause == platform.CauseNone || cause == platform.CauseNotAbsolute) && d.isForeign(path) {
		cause = platform.CauseHost // half a UNC path too
	}
	if cause != platform.CauseNone {
		return Place{}, &UnresolvableError{Path: given, Cause: cause}
	}
	lexical := p.Clean(path)
	if d.wholer != nil && path == lexical && !strings.HasPrefix(path, "/proc/") && !strings.HasPrefix(path, "/dev/") {
		if e, ok := d.wholer.Whole(path); ok {
			return Place{
				Path: path, Exists: true, Dir: e.Mode.IsDir(), File: e.Mode.IsRegular(), Entry: e,
				Readings: Readings{Lexical: path, Physical: path, Cleaned: path},
			}, nil
		}
	}
	end, err := d.walkPath(path)
	if err != nil {
		return Place{}, err.refuseFor(given)
	}
	if p == platform.Windows && len(end.path) == p.RootLen(end.path) {
		if _, err := d.Mode(end.path); errors.Is(err, fs.ErrNotExist) {
			end.missing = 1 // there is no such drive
		}
	}
	place := Place{
		Path:   end.path,
		Exists: end.missing == 0,
		Dir:    end.missing == 0 && end.mode.IsDir(),
		File:   end.missing == 0 && end.mode.IsRegular(),
		Readings: Readings{
			Lexical:  lexical,
			Physical: end.path,
			Cleaned:  end.path,
		},
	}
	// Without ".." both orders of cleaning and resolving are the same walk.
	if p.HasDotDot(path) {
		cleaned, err := d.walkPath(lexical)
		if err != nil {
			return Place{}, err.refuseFor(given)
		}
		place.Readings.Cleaned = cleaned.path
	}
	return place, nil
}

// trail is how far a walk has come.
type trail struct {
	path    string      // resolved so far, clean
	tail    []byte      // missing components below path, which no look at the disk needs as a string
	mode    fs.FileMode // of the last component that exists
	missing int         // components of path and tail beyond that one
	links   int         // symlinks followed
	void    bool        // ".." followed something that is no directory, or does not exist: the kernel finds nothing
	open    []openLink  // followed links whose text is not walked to its end; only if links are noted
}

// An openLink is one of Disk.links.
type openLink struct {
	number int
	after  int // how much of the path comes after it, in bytes
}

// magicDepth is more components than the path of a magic link has: /proc/PID/task/TID/fd/N.
const magicDepth = 8

// refusal is why a walk ended early.
type refusal struct {
	at    string
	cause platform.Cause
	err   error
}

func (r *refusal) refuseFor(path string) *UnresolvableError {
	return &UnresolvableError{Path: path, At: r.at, Cause: r.cause, Err: r.err}
}

// walkPath resolves an absolute path as the kernel does, one component at a time. It
// differs in components that do not exist, or lie below a regular file. They are
// kept as text, and a ".." after them removes them again. From there the walk looks
// at the disk again.
func (d *Disk) walkPath(path string) (trail, *refusal) {
	p, sep := d.Platform, d.Platform.Sep()
	n := p.RootLen(path)
	t := trail{path: p.Clean(path[:n]), mode: fs.ModeDir}
	rest := path[n:]
	// As long as nothing was left out or followed, what is resolved is a prefix
	// of path, and no string need be built.
	prefix := t.path == path[:n]
	for {
		for rest != "" && rest[0] == sep {
			rest = rest[1:]
		}
		d.noteArrival(&t, len(rest))
		if rest == "" {
			t.joinTail()
			return t, nil
		}
		name := rest
		if i := strings.IndexByte(rest, sep); i >= 0 {
			name, rest = rest[:i], rest[i:]
		} else {
			rest = ""
		}
		switch name {
		case ".":
			continue
		case "..":
			d.noteClimb(&t)
			t.goUp(p)
			continue
		}
		if cause := p.CheckName(name); cause != platform.CauseNone {
			t.joinTail()
			return t, &refusal{at: p.Join(t.path, name), cause: cause}
		}
		var next string
		switch end := len(path) - len(rest); {
		case prefix && t.joinedLength(p, name) == end:
			next = path[:end]
		case t.missing >= magicDepth:
			// Nothing will be looked up below here, and building every prefix of a
			// long tail would cost its square.
			prefix = false
			t.extendMissing(p, name)
			continue
		default:
			prefix, next = false, p.Join(t.path, name)
		}
		target, why := d.enterNext(&t, next)
		if why != nil {
			return t, why
		}
		if target == "" {
			prefix = prefix && t.path == next
			continue
		}
		if target, why = d.aimAtTarget(&t, next, target); why != nil {
			return t, why
		}
		if d.links != nil {
			t.open = append(t.open, openLink{len(*d.links) - 1, len(rest)})
		}
		prefix, rest = false, target+string(sep)+rest
	}
}

// noteArrival remembers where links lead of which all text is walked, if that many bytes are left of the path.
func (d *Disk) noteArrival(t *trail, left int) {
	for n := len(t.open); n > 0 && left <= t.open[n-1].after; n = len(t.open) {
		(*d.links)[t.open[n-1].number].To = t.path + string(t.tail)
		t.open = t.open[:n-1]
	}
}

// noteClimb remembers of links that a .. of their text comes after another link.
func (d *Disk) noteClimb(t *trail) {
	for _, o := range t.open {
		if o.number < len(*d.links)-1 {
			(*d.links)[o.number].Climbs = true
		}
	}
}

// extendMissing adds a component that is missing, since those above it are. These are so many that path is no
// root, which alone ends in a separator.
func (t *trail) extendMissing(p platform.Platform, name string) {
	t.tail = append(append(t.tail, p.Sep()), name...)
	t.missing++
}

// joinTail makes one string of path and tail.
func (t *trail) joinTail() {
	t.path += string(t.tail)
	t.tail = nil
}

// joinedLength returns the length that path would have with name below it.
func (t *trail) joinedLength(p platform.Platform, name string) int {
	n := len(t.path) + len(name)
	if t.path[len(t.path)-1] != p.Sep() {
		n++
	}
	return n
}

// goUp takes one component away: a missing one, or an existing one, which then
// leaves a directory.
func (t *trail) goUp(p platform.Platform) {
	t.void = t.void || t.missing > 0 || !t.mode.IsDir()
	if len(t.tail) > 0 {
		t.tail = t.tail[:max(0, bytes.LastIndexByte(t.tail, p.Sep()))]
	} else {
		t.path = p.Parent(t.path)
	}
	if t.missing > 0 {
		t.missing--
		return
	}
	t.mode = fs.ModeDir
}

// enterNext looks at next, which is one component below t. It moves t there, or
// returns the target of the link found there.
func (d *Disk) enterNext(t *trail, next string) (target string, why *refusal) {
	if d.Platform.IsMagic(next) {
		return "", &refusal{at: next, cause: platform.CauseMagic}
	}
	if t.missing > 0 || !t.mode.IsDir() {
		t.path = next
		t.missing++
		return "", nil
	}
	mode, err := d.Mode(next)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		t.path = next
		t.missing = 1
		return "", nil
	default:
		return "", refusalOf(next, err)
	}
	// On Windows a junction may be reported as irregular. What cannot be read as a link is refused
	// below. A directory is none, whatever else it is.
	link := d.Platform.IsLink(mode)
	if !link {
		if d.longer != nil && d.Platform == platform.Windows && strings.IndexByte(next[len(t.path):], '~') >= 0 {
			long, err := d.longer.LongName(next)
			if err != nil {
				return "", refusalOf(next, err)
			}
			next = long
		}
		t.path, t.mode = next, mode
		return "", nil
	}
	if t.links++; t.links > maxLinks {
		return "", &refusal{at: next, cause: platform.CauseLoop}
	}
	if d.links != nil {
		*d.links = append(*d.links, SymbolicLink{At: next})
	}
	if d.magician != nil {
		magic, err := d.magician.Magic(next)
		if err != nil {
			return "", refusalOf(next, err)
		}
		if magic {
			return "", &refusal{at: next, cause: platform.CauseMagic}
		}
	}
	target, err = d.Readlink(next)
	if err != nil || target == "" {
		return "", &refusal{at: next, cause: platform.CauseLink, err: err}
	}
	return target, nil
}

// aimAtTarget puts t at the place that the target of the link at next starts from, and returns what is
// left to walk from there.
func (d *Disk) aimAtTarget(t *trail, next, target string) (string, *refusal) {
	p := d.Platform
	target = p.FromSlash(target)
	if p == platform.Windows {
		// A target may be stored in the extended form of an ordinary path.
		for _, form := range []string{`\\?\`, `\??\`} {
			if plain := strings.TrimPrefix(target, form); plain != target && platform.IsDrive(plain) {
				target = plain
			}
		}
	}
	if strings.IndexByte(target, 0) >= 0 || p == platform.Windows && platform.IsDevice(target) {
		return "", &refusal{at: next, cause: platform.CauseLink}
	}
	if n := p.RootLen(target); n > 0 {
		if d.isForeign(target) {
			return "", &refusal{at: next, cause: platform.CauseHost}
		}
		t.path, t.mode = p.Clean(target[:n]), fs.ModeDir
		return target[n:], nil
	}
	if p == platform.Windows {
		if platform.IsDrive(target) || strings.HasPrefix(target, `\\`) {
			return "", &refusal{at: next, cause: platform.CauseLink} // C:x, or half a UNC path
		}
		if target[0] == '\\' {
			t.path, t.mode = t.path[:p.RootLen(t.path)], fs.ModeDir
		}
	}
	return target, nil
}

func refusalOf(at string, err error) *refusal {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &refusal{at: at, cause: platform.CausePermission, err: err}
	case errors.Is(err, errTooLong): // resolved links can lead to it
		return &refusal{at: at, cause: platform.CauseTooLong, err: err}
	}
	return &refusal{at: at, cause: platform.CauseIO, err: err}
}
