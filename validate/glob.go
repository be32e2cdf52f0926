package validate

import (
	"regexp"
	"strings"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
)

const maxBraces = 64

// hasMeta reports characters that a glob gives a meaning to.
func hasMeta(s string) bool { return strings.ContainsAny(s, "*?[{") }

// expandBraces writes out {a,b} alternatives as shells and glob libraries do; ok is false where there are too many, or
// where they nest too deeply.
func expandBraces(s string) (list []string, ok bool) {
	depth := 0
	for i := range len(s) { // it recurses, so this is counted first
		switch s[i] {
		case '{':
			if depth++; depth > maxBraces {
				return nil, false
			}
		case '}':
			depth = max(0, depth-1)
		}
	}
	return expanded(s)
}

func expanded(s string) (list []string, ok bool) {
	list = []string{""}
	for at := 0; at < len(s); {
		open := strings.IndexByte(s[at:], '{')
		if open < 0 {
			break
		}
		open += at
		length, parts := braceParts(s[open:])
		if length == 0 {
			at = open + 1
			continue
		}
		var alternatives []string
		for _, p := range parts {
			inner, ok := expanded(p)
			if !ok || len(alternatives)+len(inner) > maxBraces {
				return nil, false
			}
			alternatives = append(alternatives, inner...)
		}
		if len(list)*len(alternatives) > maxBraces {
			return nil, false
		}
		var next []string
		for _, head := range list {
			for _, alt := range alternatives {
				next = append(next, head+s[:open]+alt)
			}
		}
		list, s, at = next, s[open+length:], 0
	}
	for i := range list {
		list[i] += s
	}
	return list, true
}

// braceParts reads one {a,b}: its length and its alternatives. A brace without comma or end is a literal one.
func braceParts(s string) (length int, parts []string) {
	depth, begin := 0, 1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				if parts = append(parts, s[begin:i]); len(parts) < 2 {
					return 0, nil
				}
				return i + 1, parts
			}
		case ',':
			if depth == 1 {
				parts = append(parts, s[begin:i])
				begin = i + 1
			}
		}
	}
	return 0, nil
}

// fixedPrefix is the part of a glob before its first component with a meta character, "" where that is the first.
func fixedPrefix(s string) string {
	i := strings.IndexAny(s, "*?[{")
	if i < 0 {
		return s
	}
	i = strings.LastIndexByte(s[:i], '/')
	if i < 0 {
		return ""
	}
	return s[:i+1]
}

var (
	dotDot  = regexp.MustCompile(`^(?:\.|\[[^\]]*\.[^\]]*\]){2}$`)        // "..", or what may match it: two items, each a dot or a class that holds one
	crosses = regexp.MustCompile(`(?:^|/)[^\[/]*\[[^\]*?{/]*/[^\[\]]*\]`) // a class that holds a slash: [/]etc
)

// globClimbs reports a component behind the first meta character that can be "..": written out, by alternatives (which
// the caller has expanded), or by classes. "*" and "?" never match it: directories do not list themselves. A class that
// holds a slash is no component at all, and counts as climbing.
func globClimbs(s string) bool {
	rest := s[len(fixedPrefix(s)):]
	for c := range strings.SplitSeq(rest, "/") {
		if dotDot.MatchString(c) {
			return true
		}
	}
	return crosses.MatchString(rest)
}

var (
	extended  = regexp.MustCompile(`([@?+*!])\(([^()]*)\)`)                // @(a|b) of shells and glob libraries
	oneOf     = regexp.MustCompile(`\[\\?([^!^\]\\])(?:-\\?([^\]\\]))?\]`) // a class of one character, or from one to another
	escape    = regexp.MustCompile(`\\(.)`)                                // of a pattern; in a path a backslash may be a separator
	globSigns = regexp.MustCompile(`\*\*|/\*|\*\.[a-z{]|\{.*,`)            // which expressions of other kinds hardly have
)

// plainText undoes what a glob library undoes before it looks for wildcards: classes of one character and escapes.
func plainText(s string) string {
	s = oneOf.ReplaceAllStringFunc(s, func(class string) string {
		if m := oneOf.FindStringSubmatch(class); m[2] == "" || m[1] == m[2] {
			return m[1]
		}
		return class
	})
	if globSigns.MatchString(s) {
		s = escape.ReplaceAllString(s, "$1")
	}
	return s
}

const maxRange = 32 // characters of a range that are written out

// shortRange writes out {a..c} as {a,b,c}, and anything longer as a wildcard.
func shortRange(s string) string {
	from, to, _ := strings.Cut(s[1:len(s)-1], "..")
	if len(from) != 1 || len(to) != 1 {
		return "*"
	}
	a, b := min(from[0], to[0]), max(from[0], to[0])
	if b-a > maxRange {
		return "*"
	}
	var list []string
	for c := int(a); c <= int(b); c++ {
		list = append(list, string(rune(c)))
	}
	if len(list) == 1 {
		return list[0]
	}
	return "{" + strings.Join(list, ",") + "}"
}

// patterns judges what a value stands for as a glob: its alternatives, written out.
func (d *detector) patterns(id int32, s string, p place, member bool) {
	if chars.HasBlank(s) || !strings.ContainsAny(s, `[{(\`) || d.c.windows {
		return
	}
	if !d.work.Spend(2*len(s)/budget.ByteSteps + budget.FindSteps) {
		return
	}
	alternatives, ok := writtenOut(s)
	if !ok {
		if chars.Climbs(s) || strings.Contains(s, "{/") || strings.Contains(s, ",/") || s[0] == '/' {
			d.add(Finding{Value: s, How: HowClimbs, Member: member, seat: id}, p)
		}
		return
	}
	for _, alt := range alternatives {
		if alt = plainText(alt); alt == s || alt == "" {
			continue
		}
		if how, ok := d.broadly(alt); ok {
			d.add(Finding{Value: alt, How: how, Member: member, seat: id}, p)
		}
		if fixed := fixedPrefix(alt); strings.IndexByte(fixed, '/') > 0 {
			d.link(id, fixed, p, member)
		}
	}
}

// writtenOut are the alternatives of a glob with braces, ranges and groups; ok is false where there are too many.
func writtenOut(s string) (alternatives []string, ok bool) {
	text := s
	if strings.IndexByte(s, '(') >= 0 {
		text = extended.ReplaceAllStringFunc(s, spellGroup)
	}
	if strings.Contains(text, "..") {
		text = rangeBraces.ReplaceAllStringFunc(text, shortRange)
	}
	return expandBraces(text)
}

// spellGroup writes @(a|b) as {a,b}.
func spellGroup(group string) string {
	inner := strings.ReplaceAll(group[2:len(group)-1], "|", ",")
	if group[0] == '?' || group[0] == '*' {
		inner = "," + inner
	}
	if strings.IndexByte(inner, ',') < 0 {
		return inner
	}
	return "{" + inner + "}"
}
