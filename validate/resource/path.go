package resource

import (
	"slices"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
)

// maxDecodes is how often a path is decoded until nothing changes; one that
// goes on changing is read by no one.
const maxDecodes = 8

// isPlain reports a path that has one reading: nothing to decode further than
// once, no way up, no empty component.
func (a *address) isPlain() bool {
	once := decodePercent(a.path)
	if once != decodePercent(once) || strings.ContainsAny(once, "\\;\x00") {
		return false
	}
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(once, "/"), "/"), "/")
	return once == "/" || strings.Count(once, "/") == strings.Count(a.path, "/") && !slices.ContainsFunc(parts, func(p string) bool { return p == "" || p == "." || p == ".." })
}

// isBelow reports whether a path lies at or below a plain one in every reading.
func isBelow(base, path string) bool {
	if !strings.ContainsAny(path, `%\;`) && !strings.Contains(path, "//") && !strings.Contains(path, "/.") && !strings.Contains(base, "%") {
		return startsWith(reading{}.pathComponents(path), reading{}.pathComponents(base)) // it has but one
	}
	for range maxDecodes {
		for _, backslash := range []bool{false, true} {
			for _, empty := range []bool{false, true} {
				for _, cut := range []bool{false, true} {
					how := reading{backslash, empty, cut}
					if !startsWith(how.pathComponents(path), how.pathComponents(base)) {
						return false
					}
				}
			}
		}
		again := decodePercent(path)
		if again == path {
			return !strings.ContainsFunc(path, isControl)
		}
		base, path = decodePercent(base), again
	}
	return false
}

// A reading is one way to take a path apart.
type reading struct {
	backslash bool // is a slash
	empty     bool // components count, and ".." takes one away
	cut       bool // a component ends at a semicolon
}

// pathComponents returns the decoded components of a path without "." and "..".
func (r reading) pathComponents(path string) (list []string) {
	if r.backslash {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	path = strings.TrimPrefix(path, "/")
	for part := range strings.SplitSeq(path, "/") {
		if r.cut {
			part, _, _ = strings.Cut(part, ";")
		}
		switch part = decodePercent(part); {
		case part == ".", part == "" && !r.empty:
		case part == "..":
			list = list[:max(len(list)-1, 0)]
		default:
			list = append(list, part)
		}
	}
	for len(list) > 0 && list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

func startsWith(list, beginning []string) bool {
	return len(list) >= len(beginning) && slices.Equal(list[:len(beginning)], beginning)
}

// decodePercent decodes percent signs once and leniently, as [chars.DecodePercent] does, and %u002e
// as a careless program does.
func decodePercent(s string) string { return chars.DecodePercent(percentU.ReplaceAllString(s, "%$1")) }

var percentU = lazyregexp.New(`%[uU]00([0-9A-Fa-f]{2})`)
