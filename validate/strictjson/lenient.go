package strictjson

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
)

var (
	bareName = lazyregexp.New(`^[A-Za-z_$][A-Za-z0-9_$]*$`)
	noWords  = chars.WordSet("NaN Infinity undefined None True False") // which JSON does not have
)

// standardJSON writes as JSON what only some parsers take for it: comments and trailing commas (JSONC), quotes of the
// other kind and names without (JSON5, the literals of Python and JavaScript), NaN and the like as null, and several
// documents one after the other as one array. Anything else that is wrong with it stays, for the strict walk to find;
// plain is nil if it can be none of that. depth is how deep it nests: nothing here recurses, so that the caller can
// refuse it before a parser does.
func standardJSON(text string) (plain []byte, depth int) {
	plain = append(make([]byte, 0, len(text)+16), '[')
	open, comma, documents := 0, -1, 0
	begin := func() {
		if open == 0 {
			if documents++; documents > 1 {
				plain = append(plain, ',')
			}
		}
		comma = -1
	}
	for i := 0; i < len(text); {
		rest, n := text[i:], 1 // n is how much of it is read
		switch c := text[i]; {
		case c == '"':
			for n < len(rest) && rest[n] != '"' {
				if rest[n] == '\\' {
					n++
				}
				n++
			}
			if n++; n > len(rest) {
				return nil, depth
			}
			begin()
			plain = append(plain, rest[:n]...)
		case c == '\'':
			var s string
			var err error
			if s, n = singleQuoted(rest); n == 0 {
				return nil, depth
			}
			begin()
			if plain, err = jsontext.AppendQuote(plain, s); err != nil {
				return nil, depth
			}
		case c == '#' || strings.HasPrefix(rest, "//"): // the first of Python and YAML
			if n = strings.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
		case strings.HasPrefix(rest, "/*"):
			if n = strings.Index(rest[2:], "*/") + 4; n < 4 {
				return nil, depth
			}
		case c == '{' || c == '[':
			begin()
			open++
			depth = max(depth, open)
			plain = append(plain, c)
		case c == '}' || c == ']':
			if comma >= 0 {
				plain[comma] = ' '
			}
			if comma, open = -1, open-1; open < 0 {
				return nil, depth
			}
			plain = append(plain, c)
		case c == ',':
			if open == 0 {
				return nil, depth // a list of words, not of documents
			}
			comma = len(plain)
			plain = append(plain, c)
		case strings.IndexByte(" \t\r\n", c) >= 0:
			plain = append(plain, c)
		case (c == '-' || c == '+') && strings.HasPrefix(rest[1:], "Infinity"):
		case c == ':' || c == '/':
			comma = -1
			plain = append(plain, c)
		default: // a name, a number or another word
			if n = strings.IndexAny(rest, " \t\r\n,:{}[]\"'#/"); n < 0 {
				n = len(rest)
			}
			if n <= 2 && n < len(rest) && rest[n] == '\'' {
				break // u'x' of Python
			}
			begin()
			switch word := rest[:n]; {
			case strings.HasPrefix(strings.TrimLeft(rest[n:], " \t\r\n"), ":") && bareName.MatchString(word):
				plain = append(append(append(plain, '"'), word...), '"')
			case noWords[word]:
				plain = append(plain, "null"...)
			default:
				plain = append(plain, word...)
			}
		}
		i += n
	}
	if open != 0 || documents == 0 {
		return nil, depth
	}
	if documents == 1 {
		return bytes.TrimSpace(plain[1:]), depth
	}
	return append(plain, ']'), depth + 1
}

// singleQuoted reads a string in single quotes and returns how much of s it took, 0 if it does not end.
func singleQuoted(s string) (string, int) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\'':
			return chars.Ansi(strings.ReplaceAll(s[1:i], "\\\n", "")), i + 1
		case '\\':
			i++
		}
	}
	return "", 0
}
