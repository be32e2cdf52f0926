package resource

import (
	"slices"
	"strings"
)

// mostDecodes is how often a path is decoded until nothing changes; one that
// goes on changing is read by nobody.
const mostDecodes = 8

// plain reports a path that has one reading: nothing to decode further than
// once, no way up, no empty component.
func (a *address) plain() bool {
	once := decode(a.path)
	if once != decode(once) || strings.ContainsAny(once, "\\;\x00") {
		return false
	}
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(once, "/"), "/"), "/")
	return once == "/" || strings.Count(once, "/") == strings.Count(a.path, "/") && !slices.ContainsFunc(parts, func(p string) bool { return p == "" || p == "." || p == ".." })
}

// below reports whether a path lies at or below a plain one in every reading.
func below(base, path string) bool {
	if !strings.ContainsAny(path, `%\;`) && !strings.Contains(path, "//") && !strings.Contains(path, "/.") && !strings.Contains(base, "%") {
		return startsWith(reading{}.components(path), reading{}.components(base)) // it has but one
	}
	for range mostDecodes {
		for _, backslash := range []bool{false, true} {
			for _, empty := range []bool{false, true} {
				for _, cut := range []bool{false, true} {
					how := reading{backslash, empty, cut}
					if !startsWith(how.components(path), how.components(base)) {
						return false
					}
				}
			}
		}
		again := decode(path)
		if again == path {
			return !strings.ContainsFunc(path, isControl)
		}
		base, path = decode(base), again
	}
	return false
}

// A reading is one way to take a path apart.
type reading struct {
	backslash bool // is a slash
	empty     bool // components count, and ".." takes one away
	cut       bool // a component ends at a semicolon
}

// components are the decoded components of a path without "." and "..".
func (r reading) components(path string) (list []string) {
	if r.backslash {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	path = strings.TrimPrefix(path, "/")
	for part := range strings.SplitSeq(path, "/") {
		if r.cut {
			part, _, _ = strings.Cut(part, ";")
		}
		switch part = decode(part); {
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

// decode decodes percent signs once and leniently: what is no escape stays.
// Over-long forms of ASCII (%c0%ae for a dot), and %u002e, are decoded to what
// a careless program makes of them.
func decode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			out = append(out, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
		case s[i] == '%' && i+5 < len(s) && s[i+1]|0x20 == 'u' && s[i+2] == '0' && s[i+3] == '0' && isHex(s[i+4]) && isHex(s[i+5]):
			out = append(out, unhex(s[i+4])<<4|unhex(s[i+5]))
			i += 5
		default:
			out = append(out, s[i])
		}
	}
	return shorten(out)
}

// shorten writes over-long UTF-8 forms of ASCII as ASCII.
func shorten(b []byte) string {
	rest := func(i, n int) bool {
		for k := 1; k <= n; k++ {
			if i+k >= len(b) || b[i+k]&0xc0 != 0x80 {
				return false
			}
		}
		return true
	}
	out := b[:0:0]
	for i := 0; i < len(b); i++ {
		switch {
		case (b[i] == 0xc0 || b[i] == 0xc1) && rest(i, 1):
			out = append(out, b[i]&1<<6|b[i+1]&0x3f)
			i++
		case b[i] == 0xe0 && rest(i, 2) && b[i+1] < 0x82:
			out = append(out, b[i+1]&1<<6|b[i+2]&0x3f)
			i += 2
		case b[i] == 0xf0 && rest(i, 3) && b[i+1] == 0x80 && b[i+2] < 0x82:
			out = append(out, b[i+2]&1<<6|b[i+3]&0x3f)
			i += 3
		default:
			out = append(out, b[i])
		}
	}
	return string(out)
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
