package validate

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

// standardJSON writes what only some parsers take for JSON as JSON: comments and trailing commas (JSON5, JSONC), NaN,
// Infinity and the like (Python), and several documents one after the other (as one array). It is nil for anything else.
func standardJSON(s string) []byte {
	text := bareWords([]byte(s))
	if !json5.MatchString(s) {
	} else if other := fromJSON5(s); other != nil {
		text = bareWords(other)
	}
	if plain, err := hujson.Standardize(bytes.Clone(text)); err == nil {
		if plain = bytes.TrimSpace(plain); len(plain) > 0 && (plain[0] == '{' || plain[0] == '[') {
			return plain
		}
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(text), lenient...)
	list := []byte{'['}
	for n := 0; ; n++ {
		v, err := dec.ReadValue()
		if errors.Is(err, io.EOF) && n > 1 {
			return append(list, ']')
		}
		if err != nil {
			return nil
		}
		if n > 0 {
			list = append(list, ',')
		}
		list = append(list, v...)
	}
}

// json5 is what JSON5 and the literals of Python and JavaScript have beyond JSON: quotes of the other kind, names without.
var json5 = regexp.MustCompile(`[{,\[:(]\s*(?:[ubrUBR]{0,2}'|[A-Za-z_$][\w$]*\s*:)`)

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

// unquoted is what a string says that is itself a string of JSON, JavaScript or Python, with escapes in it or in
// parentheses; "" for any other.
func unquoted(s string) string {
	text := strings.TrimFunc(s, isStripped)
	if len(text) < 3 || len(text) > maxTail {
		return ""
	}
	bare := text
	if text[0] == '(' {
		bare = strings.TrimFunc(strings.Trim(text, "()"), isStripped)
	}
	for range 2 { // u'x', rb'x'
		if len(bare) > 2 && strings.IndexByte("uUrRbB", bare[0]) >= 0 && strings.IndexByte("uUrRbB'\"", bare[1]) >= 0 {
			bare = bare[1:]
		}
	}
	if len(bare) < 3 || bare == text && strings.IndexByte(bare, '\\') < 0 {
		return ""
	}
	switch bare[0] {
	case '"':
		if inner, err := jsontext.AppendUnquote(nil, bare); err == nil {
			return string(inner)
		}
	case '\'':
		if inner, n := singleQuoted(bare); n == len(bare) {
			return inner
		}
	}
	return ""
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
