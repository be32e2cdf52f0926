package validate

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

// standardJSON writes what only some parsers take for JSON as JSON: comments and trailing commas (JSON5, JSONC), NaN,
// Infinity and the like (Python), and several documents one after the other (as one array). It is nil for anything else.
func standardJSON(s string) []byte {
	text := bareWords([]byte(s))
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
