package pattern

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"mcphub/rootsmgr/platform"
)

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

// Tail returns what of a path is a pattern: all from the first component
// with a special character on, "" if there is none. What precedes from is
// taken literally.
func Tail(p platform.Platform, path string, from int) string {
	i := strings.IndexAny(path[from:], meta)
	if i < 0 {
		return ""
	}
	i = strings.LastIndexByte(path[:from+i], p.Sep())
	return path[max(i+1, from):]
}

// A Pattern is one below a directory. The zero Pattern matches the directory itself.
type Pattern struct {
	tail string // with slashes, in the language of doublestar
}

// Parse reads a pattern. The error says in plain words what is wrong with it.
func Parse(p platform.Platform, text string) (Pattern, error) {
	g := Pattern{text}
	if p == platform.Windows {
		g.tail = strings.ReplaceAll(g.tail, `\`, "/")
	}
	if err := Check(g.tail); err != nil {
		return Pattern{}, err
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

// Check refuses what the matcher cannot read, and what would cost it too
// much: it reads braces recursively, and every combination of them.
func Check(tail string) error {
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

// MatchPrefix returns what of a clean path below base matches: the path itself, or
// what lies above it.
func (g Pattern) MatchPrefix(p platform.Platform, base, name string) (string, bool) {
	if base == "" || !p.Below(name, base) {
		return "", false
	}
	if g.tail == "" {
		return base, true
	}
	end := len(base)
	for range maxMatchDepth {
		for end < len(name) && name[end] == p.Sep() {
			end++
		}
		if end == len(name) {
			break
		}
		if i := strings.IndexByte(name[end:], p.Sep()); i >= 0 {
			end += i
		} else {
			end = len(name)
		}
		rel := strings.TrimPrefix(name[len(base):end], string(p.Sep()))
		if doublestar.MatchUnvalidated(g.tail, strings.ReplaceAll(rel, string(p.Sep()), "/")) {
			return name[:end], true
		}
	}
	return "", false
}
