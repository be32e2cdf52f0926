package definition

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcphub/internal/lazyregexp"
)

// surelyCompiles reports that JavaScript certainly compiles a regular expression with the flag "u", as Ajv does. It knows the grammar of
// ECMA-262 (section 22.2.1) but for names and properties that are rare: of these it reports false.
func surelyCompiles(text string) bool {
	p := expression{rest: text, names: map[string]bool{}}
	return len(text) <= maxPattern && !strings.ContainsRune(text, utf8.RuneError) && p.readWhole()
}

// maxPattern is the longest expression that is read.
const maxPattern = 10_000

// maxGroups is how deep groups may stand in each other: engines recurse.
const maxGroups = 50

// An expression is a regular expression of which a part is read.
type expression struct {
	rest       string
	groups     []bool // that are open: is it one that only looks?
	captures   int
	names      map[string]bool
	numbers    []int    // of groups to which it refers
	references []string // names of groups to which it refers
}

// readWhole reads all of it.
func (p *expression) readWhole() bool {
	repeatable := false // what was read last may be repeated
	for p.rest != "" {
		ok := true
		switch c := p.rest[0]; c {
		case '(':
			repeatable, ok = false, p.openGroup()
		case ')':
			last := len(p.groups) - 1
			if last < 0 {
				return false
			}
			p.rest, repeatable, p.groups = p.rest[1:], !p.groups[last], p.groups[:last]
		case '|', '^', '$':
			p.rest, repeatable = p.rest[1:], false
		case '*', '+', '?', '{':
			repeatable, ok = false, repeatable && p.readRepeat()
		case '[':
			repeatable, ok = true, p.readClass()
		case ']', '}':
			return false
		default:
			repeatable = !strings.HasPrefix(p.rest, `\b`) && !strings.HasPrefix(p.rest, `\B`)
			_, _, ok = p.readAtom(false)
		}
		if !ok {
			return false
		}
	}
	return len(p.groups) == 0 && !slices.ContainsFunc(p.numbers, func(n int) bool { return n > p.captures }) &&
		!slices.ContainsFunc(p.references, func(name string) bool { return !p.names[name] })
}

var (
	groupName  = lazyregexp.New(`^\(\?<([A-Za-z_$][A-Za-z0-9_$]*)>`)
	quantifier = lazyregexp.New(`^\{([0-9]{1,6})(,([0-9]{1,6})?)?\}`)
	escaped    = lazyregexp.New(`^\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\})`)
	backwards  = lazyregexp.New(`^\\([1-9][0-9]{0,3}|k<[A-Za-z_$][A-Za-z0-9_$]*>)`)
	// property are the general categories, and what people write beside them.
	property = lazyregexp.New(`^\\[pP]\{(L[ulmot]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfson]?|Letter|Number|Punctuation|Symbol|Alphabetic|Uppercase|Lowercase|White_Space|Emoji|Any|ASCII|` +
		`(Script|sc|Script_Extensions|scx)=(Latin|Greek|Cyrillic|Han|Hiragana|Katakana|Hangul|Arabic|Hebrew|Thai|Devanagari))\}`)
)

// openGroup reads the beginning of a group.
func (p *expression) openGroup() bool {
	looks := false
	switch next := strings.TrimPrefix(p.rest, "(?"); {
	case len(next) == len(p.rest):
		p.captures++
		p.rest = p.rest[1:]
	case strings.HasPrefix(next, ":"):
		p.rest = next[1:]
	case strings.HasPrefix(next, "="), strings.HasPrefix(next, "!"):
		looks, p.rest = true, next[1:]
	case strings.HasPrefix(next, "<="), strings.HasPrefix(next, "<!"):
		looks, p.rest = true, next[2:]
	default:
		named := groupName.FindStringSubmatch(p.rest)
		if named == nil || p.names[named[1]] {
			return false
		}
		p.names[named[1]] = true
		p.captures++
		p.rest = p.rest[len(named[0]):]
	}
	p.groups = append(p.groups, looks)
	return len(p.groups) <= maxGroups
}

// readRepeat reads how often something is repeated.
func (p *expression) readRepeat() bool {
	end := 1
	if p.rest[0] == '{' {
		bounds := quantifier.FindStringSubmatch(p.rest)
		if bounds == nil {
			return false
		}
		least, _ := strconv.Atoi(bounds[1])
		if most, err := strconv.Atoi(bounds[3]); err == nil && most < least {
			return false
		}
		end = len(bounds[0])
	}
	p.rest = strings.TrimPrefix(p.rest[end:], "?")
	return true
}

// readClass reads a class of characters.
func (p *expression) readClass() bool {
	p.rest = strings.TrimPrefix(p.rest[1:], "^")
	for p.rest != "" {
		if p.rest[0] == ']' {
			p.rest = p.rest[1:]
			return true
		}
		from, one, ok := p.readAtom(true)
		if !ok {
			return false
		}
		if !strings.HasPrefix(p.rest, "-") || strings.HasPrefix(p.rest, "-]") {
			continue
		}
		p.rest = p.rest[1:]
		if p.rest == "" {
			return false
		}
		to, another, ok := p.readAtom(true)
		if !ok || !one || !another || to < from {
			return false
		}
	}
	return false
}

// readAtom reads one character, or an escape that stands for one or for several.
func (p *expression) readAtom(inClass bool) (char rune, one, ok bool) {
	whole := p.rest
	if whole[0] != '\\' {
		r, size := utf8.DecodeRuneInString(whole)
		p.rest = whole[size:]
		return r, true, true
	}
	if len(whole) < 2 {
		return 0, false, false
	}
	c, after := whole[1], whole[2:]
	p.rest = after
	switch {
	case c == 'x', c == 'u':
		all := escaped.FindString(whole)
		p.rest = whole[len(all):]
		return p.readNumber(all)
	case c == 'p', c == 'P':
		all := property.FindString(whole)
		p.rest = whole[len(all):]
		return 0, false, all != ""
	case c == 'k' && !inClass, c >= '1' && c <= '9' && !inClass:
		all := backwards.FindStringSubmatch(whole)
		if all == nil {
			return 0, false, false
		}
		if n, err := strconv.Atoi(all[1]); err == nil {
			p.numbers = append(p.numbers, n)
		} else {
			p.references = append(p.references, all[1][len("k<"):len(all[1])-len(">")])
		}
		p.rest = whole[len(all[0]):]
		return 0, false, true
	case strings.IndexByte("dDsSwW", c) >= 0:
		return 0, false, true
	case strings.IndexByte("tnvfr", c) >= 0:
		return rune('\t' + strings.IndexByte("tnvfr", c)), true, true
	case strings.IndexByte(`^$\.*+?()[]{}|/`, c) >= 0, inClass && c == '-':
		return rune(c), true, true
	case c == 'b' && inClass:
		return '\b', true, true
	case c == 'b', c == 'B' && !inClass:
		return 0, false, true
	case c == '0' && (after == "" || after[0] < '0' || after[0] > '9'):
		return 0, true, true
	}
	return 0, false, false
}

// readNumber returns the character that an escape stands for by a number. Two halves of one in UTF-16 are one.
func (p *expression) readNumber(escape string) (char rune, one, ok bool) {
	if escape == "" {
		return 0, false, false
	}
	digits := strings.Trim(escape[2:], "{}")
	n, _ := strconv.ParseInt(digits, 16, 32)
	if n < 0xd800 || n >= 0xdc00 || len(escape) != 6 {
		return rune(n), true, n <= utf8.MaxRune
	}
	if low := escaped.FindString(p.rest); len(low) == 6 {
		if m, _ := strconv.ParseInt(low[2:], 16, 32); m >= 0xdc00 && m < 0xe000 {
			p.rest = p.rest[len(low):]
			return rune(0x10000 + (n-0xd800)<<10 + m - 0xdc00), true, true
		}
	}
	return rune(n), true, true
}
