package validate

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// standardJSON yields what a text may be that only some parsers take for JSON: comments and trailing commas (JSONC), NaN,
// Infinity and the like (Python) and several documents one after the other, as one array; then with quotes of the other
// kind and names without (JSON5, the literals of Python and JavaScript). depth is how deep it nests. Nothing here
// recurses, so that the caller can refuse it before a parser does. plain is nil where it can be none of that.
func standardJSON(s string, yield func(plain []byte, depth int) bool) {
	if plain, depth := oneDocument(bareWords([]byte(s))); !yield(plain, depth) {
		return
	}
	if other := fromJSON5(s); other != nil {
		plain, depth := oneDocument(bareWords(other))
		yield(plain, depth)
	}
}

// oneDocument blanks the comments and trailing commas of a JSON text and puts several documents into one array. Anything
// else that is wrong with it stays, for the strict walk to find.
func oneDocument(text []byte) (plain []byte, depth int) {
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
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			begin()
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return nil, depth
			}
			plain = append(plain, text[i:end+1]...)
			i = end
			continue
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
			continue
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			end := bytes.Index(text[i+2:], []byte("*/"))
			if end < 0 {
				return nil, depth
			}
			i += end + 3
			continue
		case c == '{' || c == '[':
			begin()
			open++
			depth = max(depth, open)
		case c == '}' || c == ']':
			if comma >= 0 {
				plain[comma] = ' '
			}
			comma, open = -1, open-1
			if open < 0 {
				return nil, depth
			}
		case c == ',':
			if open == 0 {
				return nil, depth // a list of words, not of documents
			}
			comma = len(plain)
		case strings.IndexByte(" \t\r\n", c) >= 0:
		case open == 0 && (len(plain) == 0 || i == 0 || strings.IndexByte(" \t\r\n}]\"", text[i-1]) >= 0):
			begin() // a number, or a word
		default:
			comma = -1
		}
		plain = append(plain, c)
	}
	if open != 0 || documents == 0 {
		return nil, depth
	}
	if documents == 1 {
		return bytes.TrimSpace(plain[1:]), depth
	}
	return append(plain, ']'), depth + 1
}

// fromJSON5 writes strings in single quotes and bare names as JSON has them; nil where a string does not end.
func fromJSON5(s string) []byte {
	out := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			end := i + 1
			for end < len(s) && s[end] != '"' {
				if s[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(s) {
				return nil
			}
			out = append(out, s[i:end+1]...)
			i = end
		case c == '#': // a comment, of Python and YAML
			for i+1 < len(s) && s[i+1] != '\n' {
				i++
			}
		case c == '\'':
			text, n := singleQuoted(s[i:])
			if n == 0 {
				return nil
			}
			quoted, err := jsontext.AppendQuote(nil, text)
			if err != nil {
				return nil
			}
			out = append(out, quoted...)
			i += n - 1
		case isLetter(c) || c == '_' || c == '$':
			end := i + 1
			for end < len(s) && (isLetter(s[end]) || isDigit(s[end]) || s[end] == '_' || s[end] == '$') {
				end++
			}
			rest := strings.TrimLeft(s[end:], " \t\r\n")
			switch {
			case end < len(s) && s[end] == '\'' && end-i <= 2: // u'x' of Python
			case strings.HasPrefix(rest, ":"):
				out = append(append(append(out, '"'), s[i:end]...), '"')
			default:
				out = append(out, s[i:end]...)
			}
			i = end - 1
		default:
			out = append(out, c)
		}
	}
	return out
}

// singleQuoted reads a string in single quotes and returns how much of s it took, 0 where it does not end.
func singleQuoted(s string) (string, int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\'':
			return b.String(), i + 1
		case s[i] == '\\' && i+1 < len(s):
			r, multibyte, tail, err := strconv.UnquoteChar(s[i:], '\'')
			if err != nil {
				i++
				if s[i] != '\n' {
					b.WriteByte(s[i])
				}
				continue
			}
			if multibyte || r < utf8.RuneSelf {
				b.WriteRune(r)
			} else {
				b.WriteByte(byte(r))
			}
			i = len(s) - len(tail) - 1
		default:
			b.WriteByte(s[i])
		}
	}
	return "", 0
}

// bareWords writes null over the words outside strings that JSON does not have.
func bareWords(s []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(s) && s[i+1] == '/':
			for i < len(s) && s[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(s) && s[i+1] == '*':
			end := bytes.Index(s[i+2:], []byte("*/"))
			if end < 0 {
				return s
			}
			i += end + 3
		case isLetter(c) || (c == '-' || c == '+') && i+1 < len(s) && s[i+1] == 'I':
			end := i + 1
			for end < len(s) && isLetter(s[end]) {
				end++
			}
			switch word := string(s[i:min(end, i+16)]); word {
			case "NaN", "Infinity", "-Infinity", "+Infinity", "undefined", "None", "True", "False":
				out = append(append(out, s[done:i]...), "null"...)
				done = end
			}
			i = end - 1
		}
	}
	if out == nil {
		return s
	}
	return append(out, s[done:]...)
}
