package chars

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// EscapeSequence reads what follows a backslash; n is how much of it belongs to the escape, 0 if it is none.
func EscapeSequence(s string) (r rune, n int) {
	digits := func(from, most int, base rune) {
		for n = from; n < len(s) && n < from+most && isHex(s[n]) && (base == 16 || s[n] < '8'); n++ {
			r = r*base + rune(hexValue(s[n]))
		}
		if n == from {
			n = 0
		}
	}
	switch s[0] {
	case 'n', 'r':
		return '\n', 1
	case 't':
		return ' ', 1
	case 'x':
		digits(1, 2, 16)
	case 'u':
		if !strings.HasPrefix(s, "u{") {
			digits(1, 4, 16)
		} else if digits(2, 6, 16); n > 0 && n < len(s) && s[n] == '}' {
			n++
		} else {
			n = 0
		}
	case 'U':
		digits(1, 8, 16)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		digits(0, 3, 8)
	}
	return r, n
}

// Clip cuts a text to some bytes.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// Ansi decodes the text of $'...', or all such texts of a word. What is no escape stands for itself.
func Ansi(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		r, n := EscapeSequence(s[i:])
		if at := strings.IndexByte("abefnrtvE", s[i]); at >= 0 {
			b.WriteByte("\a\b\x1b\f\n\r\t\v\x1b"[at])
		} else if n == 0 {
			b.WriteByte(s[i])
		} else {
			if s[i]|0x20 == 'u' {
				b.WriteRune(r)
			} else {
				b.WriteByte(byte(r))
			}
			i += n - 1
		}
	}
	return b.String()
}

// IsEdge reports what a child may trim off a value before it uses it: blanks of every kind, zero-width characters, quotes
// and angle brackets.
func IsEdge(r rune) bool {
	switch r {
	case '"', '\'', '`', '<', '>', '\u00a0', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u2028', '\u2029', '\u0085',
		'\u2018', '\u2019', '\u201c', '\u201d', '\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069':
		return true
	}
	return r < 0x20 || r == 0x7f || unicode.IsSpace(r)
}

// TrimEdges takes the edges off both ends.
func TrimEdges(s string) string {
	if s != "" && isWord(s[0]) && isWord(s[len(s)-1]) {
		return s // at the cost of two bytes
	}
	return strings.TrimFunc(s, IsEdge)
}

// IsBlank reports what separates words and the parts of a list.
func IsBlank(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\r', '\v', '\f', '\u0085', '\u00a0', '\u2028', '\u2029':
		return true
	}
	return false
}

// HasBlank reports a blank anywhere in a string.
func HasBlank(s string) bool { return strings.ContainsFunc(s, IsBlank) }

// Climbs reports a ".." segment, between slashes of either kind.
func Climbs(s string) bool {
	if strings.Contains(s, "..") {
		for segment := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '/' || r == '\\' }) {
			if segment == ".." {
				return true
			}
		}
	}
	return false
}

// IsSlash reports a separator of either kind.
func IsSlash(c byte) bool { return c == '/' || c == '\\' }

// IsLetter reports an ASCII letter.
func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// IsDigit reports an ASCII digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool { return IsLetter(c) || IsDigit(c) }

// IsDrive reports C:\x and C:/x.
func IsDrive(s string) bool { return len(s) >= 3 && IsLetter(s[0]) && s[1] == ':' && IsSlash(s[2]) }

// IsUNC reports \\host\share, and \\?\ and \\.\ with it. Two forward slashes are an absolute path on POSIX.
func IsUNC(s string) bool {
	return strings.HasPrefix(s, `\\`) && strings.IndexAny(s[2:], `\/`) > 0
}

// MaxPath is how long a path may be that can be opened.
const MaxPath = 1 << 12

// ToSlash gives every backslash the other spelling.
func ToSlash(s string) string { return strings.ReplaceAll(s, `\`, "/") }

// CutQuery splits a URI before its query or fragment.
func CutQuery(uri string) (head, tail string) {
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		return uri[:i], uri[i:]
	}
	return uri, ""
}

// Breaks drops what parsers of URLs drop, wherever it stands.
var Breaks = strings.NewReplacer("\t", "", "\r", "", "\n", "")

// DecodePercent decodes once and leniently: what is no escape stays. Over-long UTF-8 forms of ASCII (%c0%ae for a dot)
// are decoded to what a careless decoder makes of them.
func DecodePercent(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			out = append(out, hexValue(s[i+1])<<4|hexValue(s[i+2]))
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	if !utf8.Valid(out) {
		out = shortenOverlong(out)
	}
	return string(out)
}

func isHex(c byte) bool { return IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func hexValue(c byte) byte {
	if IsDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

func shortenOverlong(b []byte) []byte {
	out := b[:0:0]
	cont := func(i int) bool { return i < len(b) && b[i]&0xc0 == 0x80 }
	for i := 0; i < len(b); i++ {
		switch {
		case (b[i] == 0xc0 || b[i] == 0xc1) && cont(i+1):
			out = append(out, b[i]&1<<6|b[i+1]&0x3f)
			i++
		case b[i] == 0xe0 && cont(i+1) && cont(i+2) && b[i+1] < 0x82:
			out = append(out, b[i+1]&1<<6|b[i+2]&0x3f)
			i += 2
		case b[i] == 0xf0 && cont(i+1) && cont(i+2) && cont(i+3) && b[i+1] == 0x80 && b[i+2] < 0x82:
			out = append(out, b[i+2]&1<<6|b[i+3]&0x3f)
			i += 3
		default:
			out = append(out, b[i])
		}
	}
	return out
}

// Compatible maps the characters that compatibility normalisation (NFKC) turns into dots, slashes and tildes.
func Compatible(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return s
	}
	return compatibleForms().Replace(s)
}

var compatibleForms = sync.OnceValue(func() *strings.Replacer {
	pairs := []string{
		"\u2024", ".", "\u2025", "..", "\ufe52", ".", "\ufe30", "..", "\u2215", "/", "\u2044", "/", "\u29f8", "/",
		"\u2216", `\`, "\ufe68", `\`, "\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "",
	}
	for r := rune(0xff01); r <= 0xff5e; r++ { // full-width ASCII
		pairs = append(pairs, string(r), string(r-0xff01+'!'))
	}
	return strings.NewReplacer(pairs...)
})

// FoldRune maps every rune of one Unicode simple-folding orbit to the same rune, ASCII lower case if there is one: K
// (Kelvin) and k, ſ and s.
func FoldRune(r rune) rune {
	low := r
	if r >= utf8.RuneSelf {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			low = min(low, f)
		}
	}
	if 'A' <= low && low <= 'Z' {
		low += 'a' - 'A'
	}
	return low
}

// FoldName returns a name as it is under Unicode case folding.
func FoldName(s string) string { return strings.Map(FoldRune, s) }

// Squeeze returns a name without its letter case and without these separators.
func Squeeze(s, separators string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(separators, r) {
			return -1
		}
		return FoldRune(r)
	}, s)
}

// NameSeparators are what some servers leave out of the name of an argument.
const NameSeparators = "-_"

// Quote prints untrusted text in a message: quoted, control characters escaped, clipped.
func Quote(s string) string {
	const most = 200
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		return strconv.Quote(s[:cut]) + "..."
	}
	return strconv.Quote(s)
}

// ByteSet returns a set of bytes.
func ByteSet(list string) (set [256]bool) {
	for i := range len(list) {
		set[list[i]] = true
	}
	return set
}

// WordSet makes a set of the words of a list.
func WordSet(list string) map[string]bool {
	words := strings.Fields(list)
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// IsHome reports ~, ~/x and a leading $HOME.
func IsHome(v string) bool {
	if v == "~" || strings.HasPrefix(v, "~/") || strings.HasPrefix(v, `~\`) || strings.HasPrefix(v, "~+/") || strings.HasPrefix(v, "~-/") {
		return true
	}
	for _, name := range []string{"$HOME", "${HOME}", "%HOME%", "%USERPROFILE%", "$env:HOME", "$env:USERPROFILE", "${HOME:", "$USERPROFILE"} {
		if rest, ok := strings.CutPrefix(v, name); ok && (rest == "" || IsSlash(rest[0]) || strings.HasSuffix(name, ":")) {
			return true
		}
	}
	return false
}

// IndexFold finds an ASCII lower-case needle in any letter case.
func IndexFold(s, needle string) int {
	for i := 0; i+len(needle) <= len(s); i++ {
		if s[i]|0x20 == needle[0] && strings.EqualFold(s[i:i+len(needle)], needle) {
			return i
		}
	}
	return -1
}

// Components counts the components of a path as it is written, "." left out, up to two.
func Components(v string) int {
	n := 0
	for c := range strings.FieldsFuncSeq(ToSlash(DecodePercent(v)), func(r rune) bool { return r == '/' }) {
		if c != "." {
			if n++; n == 2 {
				return n
			}
		}
	}
	return n
}
