package rootsmgr

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// This file reads patterns, which an operator may write in place of a directory:
// "~/work/*", "**", "{a,b}". The directories that match and exist are
// roots. A directory that is really called so is no pattern.

// Bounds on patterns. One that goes beyond gives no root at all.
const (
	maxMatches      = 1_000
	maxVisited      = 100_000 // entries of directories that are looked at
	maxPattern      = 4_096   // bytes
	maxAlternatives = 1_000   // that braces stand for
	maxBraces       = 32      // inside each other
	maxMatchDepth   = 64      // components of a path that are compared with a pattern
)

const meta = "*?[{"

// patternFrom returns what of a path is a pattern: all from the first component
// with a special character on, "" where there is none. What precedes from is
// taken literally.
func (p Platform) patternFrom(path string, from int) string {
	i := strings.IndexAny(path[from:], meta)
	if i < 0 {
		return ""
	}
	i = strings.LastIndexByte(path[:from+i], p.sep())
	return path[max(i+1, from):]
}

// glob is a pattern below a directory.
type glob struct {
	base string // as it was given, absolute
	tail string // with slashes, in the language of doublestar
}

// globOf is the pattern of an entry. The error says in plain words what is wrong
// with it.
func (p Platform) globOf(entry Entry) (glob, error) {
	g := glob{base: strings.TrimSuffix(entry.URI, entry.Pattern), tail: entry.Pattern}
	if p == Windows {
		g.tail = strings.ReplaceAll(g.tail, `\`, "/")
	}
	if err := checkPattern(g.tail); err != nil {
		return glob{}, err
	}
	g.tail = "/" + g.tail
	for strings.Contains(g.tail, "/**/**/") { // as much as one, at many times the cost
		g.tail = strings.ReplaceAll(g.tail, "/**/**/", "/**/")
	}
	g.tail = g.tail[1:]
	// What lies below a match is inside it: there is no need to look there.
	for g.tail = strings.TrimRight(g.tail, "/"); g.tail == "**" || strings.HasSuffix(g.tail, "/**"); {
		g.tail = strings.TrimRight(strings.TrimSuffix(g.tail, "**"), "/")
	}
	return g, nil
}

// checkPattern refuses what the matcher cannot read, and what would cost it too
// much: it reads braces recursively, and every combination of them.
func checkPattern(tail string) error {
	if len(tail) > maxPattern {
		return fmt.Errorf("it is a pattern of more than %d bytes", maxPattern)
	}
	// For each open brace: what the alternatives before this one stand for, and
	// this one so far.
	type level struct{ sum, product int }
	open := []level{{product: 1}}
	class, started := false, false // started: a brace or an alternative begins here
	for i := 0; i < len(tail); i++ {
		at, c := &open[len(open)-1], tail[i]
		if started && !class && (c == ',' || c == '}') {
			return errors.New("it is a pattern with nothing between braces or commas")
		}
		started = len(open) > 1 && c == ',' || c == '{'
		switch {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
			if rest := strings.TrimLeft(tail[i+1:], "^!"); strings.HasPrefix(rest, "]") {
				return errors.New("it is a pattern with an empty []")
			}
		case c == '{':
			if len(open) > maxBraces {
				return fmt.Errorf("it is a pattern with more than %d braces inside each other", maxBraces)
			}
			open = append(open, level{product: 1})
		case c == ',' && len(open) > 1:
			at.sum, at.product = min(at.sum+at.product, maxAlternatives+1), 1
		case c == '}' && len(open) > 1:
			all := at.sum + at.product
			open = open[:len(open)-1]
			out := &open[len(open)-1]
			out.product = min(out.product*all, maxAlternatives+1)
		}
	}
	switch {
	case open[0].product > maxAlternatives:
		return fmt.Errorf("it is a pattern that stands for more than %d others", maxAlternatives)
	case !doublestar.ValidatePattern(tail):
		return errors.New("it is a pattern that cannot be read: a bracket, a brace or an escape is not complete")
	}
	for _, name := range strings.FieldsFunc(tail, func(r rune) bool { return strings.ContainsRune("/{},", r) }) {
		if name == ".." || name == "." {
			return fmt.Errorf("it is a pattern with a component %q", name)
		}
	}
	return nil
}

// isNothing reports that there is no such path, or can be none.
func (e *eyes) isNothing(raw string) bool {
	end, why := e.walk(raw)
	return why == nil && (end.missing > 0 || end.void) || why != nil && why.cause == CauseTooLong
}

// spread makes candidates of the directories that match a pattern, or reports
// why there are none.
func (b *builder) spread(entry Entry) {
	skip := func(path, reason string) int {
		return b.skip(Skipped{Raw: entry.URI, Name: entry.Name, Reason: reason, Path: path})
	}
	p := b.eyes.platform
	g, err := p.globOf(entry)
	if err != nil {
		skip("", err.Error())
		return
	}
	base, err := b.eyes.canonical(g.base)
	if err == nil && base.file {
		err = errNoDir
	}
	if err != nil {
		at := skip(base.given, fmt.Sprintf("it is a pattern, and its directory %s cannot be used: %v", quote(base.given), err))
		b.late.await(g, base, at)
		return
	}
	names, err := b.eyes.matches(base.path, g.tail)
	if err != nil {
		skip("", err.Error())
		return
	}
	some := false
	for _, name := range names {
		f, err := b.eyes.canonical(p.Join(base.given, p.slashed(name)))
		switch {
		case f.file || errors.Is(err, errMissing):
			continue // no directory, or a link to nothing
		case err == nil && !p.below(f.path, base.path):
			err = fmt.Errorf("it matches the pattern, and is a link that leads out of %s to %s: name it by itself to open it", quote(base.given), quote(f.path))
		}
		some = true
		if err != nil {
			b.skip(Skipped{Raw: f.given, Name: entry.Name, Reason: err.Error(), Path: f.given})
			continue
		}
		b.candidates = append(b.candidates, candidate{f, Entry{URI: f.given, Name: entry.Name}})
	}
	at := -1
	if !some {
		at = skip("", "it is a pattern that matches no directory")
	}
	b.late.await(g, base, at)
}

// matches are the names below a directory that match a pattern, but for regular
// files, in the order of the alphabet. Links are not entered.
func (e *eyes) matches(base, tail string) ([]string, error) {
	if tail == "" {
		return []string{"."}, nil
	}
	fsys, ok := e.FS.(lister)
	if !ok {
		return nil, errors.New("it is a pattern, and this file system cannot be listed")
	}
	tree := &globFS{fsys: fsys, eyes: e, base: base, left: maxVisited}
	var out []string
	err := doublestar.GlobWalk(tree, tail, func(name string, _ fs.DirEntry) error {
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

// lister is an FS that can list directories: at most n entries, more is true
// where there are others.
type lister interface {
	ReadDir(dir string, n int) (list []fs.DirEntry, more bool, err error)
}

// ReadDir lists at most n entries of dir.
func (OS) ReadDir(dir string, n int) (list []fs.DirEntry, more bool, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	list, err = f.ReadDir(n + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	return list[:min(n, len(list))], len(list) > n, nil
}

// globFS is the tree below base as the matcher sees it: directories and links,
// as long as there are entries left to look at.
type globFS struct {
	fsys lister
	eyes *eyes
	base string
	left int
}

func (g *globFS) at(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	if name == "." {
		return g.base, nil
	}
	return g.eyes.platform.Join(g.base, g.eyes.platform.slashed(name)), nil
}

// Open is not used by the matcher.
func (g *globFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}

func (g *globFS) Stat(name string) (fs.FileInfo, error) {
	at, err := g.at("stat", name)
	if g.left--; err != nil || g.left < 0 {
		return nil, fs.ErrNotExist
	}
	return g.eyes.Lstat(at)
}

func (g *globFS) ReadDir(name string) ([]fs.DirEntry, error) {
	at, err := g.at("readdir", name)
	if g.left--; err != nil || g.left < 0 {
		return nil, fs.ErrNotExist
	}
	list, more, err := g.fsys.ReadDir(at, g.left)
	if err != nil {
		return nil, err
	}
	if g.left -= len(list); more {
		g.left = -1
	}
	out := list[:0]
	for _, entry := range list {
		if entry.IsDir() || !entry.Type().IsRegular() {
			out = append(out, entry)
		}
	}
	sortEntries(out)
	return out, nil
}

// sortEntries puts entries into the order that the matcher expects.
func sortEntries(list []fs.DirEntry) {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}

// matched returns what of a clean path below base matches: the path itself, or
// what lies above it.
func (g glob) matched(p Platform, base, name string) (string, bool) {
	if base == "" || !p.below(name, base) {
		return "", false
	}
	if g.tail == "" {
		return base, true
	}
	end := len(base)
	for range maxMatchDepth {
		for end < len(name) && name[end] == p.sep() {
			end++
		}
		if end == len(name) {
			break
		}
		if i := strings.IndexByte(name[end:], p.sep()); i >= 0 {
			end += i
		} else {
			end = len(name)
		}
		rel := strings.TrimPrefix(name[len(base):end], string(p.sep()))
		if doublestar.MatchUnvalidated(g.tail, strings.ReplaceAll(rel, string(p.sep()), "/")) {
			return name[:end], true
		}
	}
	return "", false
}
