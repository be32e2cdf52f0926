package validate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// edges are what a child may trim off a value before it uses it: blanks of every kind, zero-width characters, quotes
// and angle brackets (V5).
func isEdge(r rune) bool {
	switch r {
	case '"', '\'', '`', '<', '>', '\u00a0', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u2028', '\u2029', '\u0085',
		'\u2018', '\u2019', '\u201c', '\u201d', '\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069':
		return true
	}
	return r < 0x20 || r == 0x7f || unicode.IsSpace(r)
}

func trimEdges(s string) string { return strings.TrimFunc(s, isEdge) }

// isBlank reports what separates words and the parts of a list.
func isBlank(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\r', '\v', '\f', '\u0085', '\u00a0', '\u2028', '\u2029':
		return true
	}
	return false
}

func hasBlank(s string) bool { return strings.ContainsFunc(s, isBlank) }

// climbs reports a ".." segment, between slashes of either kind.
func climbs(s string) bool {
	for i := 0; ; {
		j := strings.Index(s[i:], "..")
		if j < 0 {
			return false
		}
		j += i
		if (j == 0 || isSlash(s[j-1])) && (j+2 == len(s) || isSlash(s[j+2])) {
			return true
		}
		i = j + 1
	}
}

func isSlash(c byte) bool  { return c == '/' || c == '\\' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// isDrive reports C:\x and C:/x.
func isDrive(s string) bool { return len(s) >= 3 && isLetter(s[0]) && s[1] == ':' && isSlash(s[2]) }

// isUNC reports \\host\share, and \\?\ and \\.\ with it. Two forward slashes are an absolute path on POSIX.
func isUNC(s string) bool {
	if !strings.HasPrefix(s, `\\`) {
		return false
	}
	i := strings.IndexAny(s[2:], `\/`)
	return i > 0
}

// slashed gives every backslash the other spelling.
func slashed(s string) string { return strings.ReplaceAll(s, `\`, "/") }

// decodePercent decodes once and leniently: what is no escape stays. Over-long UTF-8 forms of ASCII (%c0%ae for a dot)
// are decoded to what a careless decoder makes of them.
func decodePercent(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			out = append(out, unhex(s[i+1])<<4|unhex(s[i+2]))
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

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if isDigit(c) {
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

// compatible maps the characters that compatibility normalisation (NFKC) turns into dots, slashes and tildes.
func compatible(s string) string {
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return s
	}
	return compatibleForms.Replace(s)
}

var compatibleForms = func() *strings.Replacer {
	pairs := []string{
		"\u2024", ".", "\u2025", "..", "\ufe52", ".", "\ufe30", "..", "\u2215", "/", "\u2044", "/", "\u29f8", "/",
		"\u2216", `\`, "\ufe68", `\`, "\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "",
	}
	for r := rune(0xff01); r <= 0xff5e; r++ { // full-width ASCII
		pairs = append(pairs, string(r), string(r-0xff01+'!'))
	}
	return strings.NewReplacer(pairs...)
}()
