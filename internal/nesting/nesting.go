package nesting

import "bytes"

// TooDeep returns the offset at which a text nests deeper than most levels, or
// -1. It reads JSON, with comments too: it knows what strings and comments are,
// so as not to count what they hold.
func TooDeep(b []byte, most int) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '/':
			end := ""
			switch {
			case bytes.HasPrefix(b[i:], []byte("//")):
				end = "\n"
			case bytes.HasPrefix(b[i:], []byte("/*")):
				end = "*/"
			default:
				continue
			}
			n := bytes.Index(b[i+2:], []byte(end))
			if n < 0 {
				return -1
			}
			i += 2 + n + len(end) - 1
		case '{', '[':
			if depth++; depth > most {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}
