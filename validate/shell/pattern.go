package shell

import (
	"strings"

	"mcphub/internal/lazyregexp"
)

const MaxBraces = 64

// HasMeta reports characters that a glob gives a meaning to.
func HasMeta(s string) bool { return strings.ContainsAny(s, "*?[{") }

// ExpandBraces writes out {a,b} alternatives as shells and glob libraries do; ok is false if there are too many, or if
// they nest too deeply.
func ExpandBraces(s string) (list []string, ok bool) {
	depth := 0
	for i := range len(s) { // it recurses, so this is counted first
		switch s[i] {
		case '{':
			if depth++; depth > MaxBraces {
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
			if !ok || len(alternatives)+len(inner) > MaxBraces {
				return nil, false
			}
			alternatives = append(alternatives, inner...)
		}
		if len(list)*len(alternatives) > MaxBraces {
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

// FixedPrefix returns the part of a glob before its first component with a meta character, "" if that is the first.
func FixedPrefix(s string) string {
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
	dotDot  = lazyregexp.New(`^(?:\.|\[[^\]]*\.[^\]]*\]){2}$`)        // "..", or what may match it: two items, each a dot or a class that holds one
	crosses = lazyregexp.New(`(?:^|/)[^\[/]*\[[^\]*?{/]*/[^\[\]]*\]`) // a class that holds a slash: [/]etc
)

// GlobClimbs reports a component behind the first meta character that can be "..": written out, by alternatives (which
// the caller has expanded), or by classes. "*" and "?" never match it: directories do not list themselves. A class that
// holds a slash is no component at all, and counts as climbing.
func GlobClimbs(s string) bool {
	rest := s[len(FixedPrefix(s)):]
	for c := range strings.SplitSeq(rest, "/") {
		if dotDot.MatchString(c) {
			return true
		}
	}
	return crosses.MatchString(rest)
}

// IsOneClass reports a text that is one class from its first character to its last. As a pattern it matches a name of one character,
// and nothing else.
func IsOneClass(s string) bool {
	return len(s) > 1 && s[0] == '[' && strings.IndexByte(s, ']') == len(s)-1
}

var (
	extended  = lazyregexp.New(`([@?+*!])\(([^()]*)\)`)                // @(a|b) of shells and glob libraries
	oneOf     = lazyregexp.New(`\[\\?([^!^\]\\])(?:-\\?([^\]\\]))?\]`) // a class of one character, or from one to another
	escape    = lazyregexp.New(`\\(.)`)                                // of a pattern; in a path a backslash may be a separator
	globSigns = lazyregexp.New(`\*\*|/\*|\*\.[a-z{]|\{.*,`)            // which expressions of other kinds hardly have
)

// PlainText undoes what a glob library undoes before it looks for wildcards: classes of one character and escapes.
func PlainText(s string) string {
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

var loneBraces = lazyregexp.New(`\{([^{},]*)\}`)

// WithoutLoneBraces takes away braces around one alternative, as some glob libraries do: they read {x} as x, and shells as it stands.
func WithoutLoneBraces(s string) string {
	for {
		bare := loneBraces.ReplaceAllString(s, "$1")
		if bare == s {
			return s
		}
		s = bare
	}
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

// WrittenOut returns the alternatives of a glob with braces, ranges and groups; ok is false if there are too many.
func WrittenOut(s string) (alternatives []string, ok bool) {
	text := s
	if strings.IndexByte(s, '(') >= 0 {
		text = extended.ReplaceAllStringFunc(s, spellGroup)
	}
	if strings.Contains(text, "..") {
		text = RangeBraces.ReplaceAllStringFunc(text, shortRange)
	}
	return ExpandBraces(text)
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

const metas = "*?[],{" // characters that a pattern gives a meaning to

const hidden = 0xe000 // a private rune stands for each of them where it was quoted

var Unhide = func() *strings.Replacer {
	var pairs []string
	for _, c := range metas {
		pairs = append(pairs, string(hidden+c), string(c))
	}
	return strings.NewReplacer(pairs...)
}()

// RangeBraces are {a..z} and {1..9}.
var RangeBraces = lazyregexp.New(`\{[^{},/\s]+\.\.[^{},/\s]+\}`)

// bracket is one class of a pattern.
var bracket = lazyregexp.New(`\[[!^]?\]?(?:\[[:.=][^\]]*\]|[^\]/])*\]`)

// Matchable writes a component for path.Match. What [[:alpha:]] holds depends on the language: any character.
func Matchable(part string) string {
	var b strings.Builder
	for at := 0; ; {
		m := bracket.FindStringIndex(part[at:])
		if m == nil {
			return b.String() + plainMatch.Replace(part[at:])
		}
		b.WriteString(plainMatch.Replace(part[at : at+m[0]]))
		class := part[at+m[0]+1 : at+m[1]-1]
		at += m[1]
		if strings.TrimLeft(class, "!^") == "" { // [] and [!] stand for themselves
			b.WriteString(`\[` + class + `\]`)
			continue
		}
		if strings.Contains(class, "[:") || strings.Contains(class, "[.") || strings.Contains(class, "[=") {
			b.WriteByte('?')
			continue
		}
		b.WriteByte('[')
		if class != "" && (class[0] == '!' || class[0] == '^') { // [] matches nothing
			b.WriteByte('^')
			class = class[1:]
		}
		b.WriteString(plainMatch.Replace(class) + "]")
	}
}

// plainMatch escapes what path.Match knows beyond a shell, and what was quoted.
var plainMatch = func() *strings.Replacer {
	pairs := []string{`\`, `\\`, "[", `\[`, "]", `\]`}
	for _, c := range metas {
		pairs = append(pairs, string(hidden+c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...)
}()
