package approval

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// This file quotes what a model and servers have said in the text that a person
// reads before allowing something: it must not be able to say anything else than
// it is.

// quoteLegible returns a text between quotes in which every character shows,
// once, as what it is: what does not print, changes direction, joins or hides
// others, or may be taken for markup, is escaped as in Go. Right-to-left letters
// are left for who reads them, and followed by the escaped form in the order
// they have.
func quoteLegible(s string) string {
	text, mixed := escapeText(s, true)
	text = `"` + text + `"`
	if mixed {
		return text + " (in the order of its letters: " + strconv.QuoteToASCII(s) + ")"
	}
	return text
}

// legibleJSON returns the same for JSON: its strings are shown decoded, so
// that an escape of JSON hides no letter.
func legibleJSON(raw []byte) string {
	var b strings.Builder
	mixed := false
	add := func(s string, quotes bool) {
		text, m := escapeText(s, quotes)
		mixed = mixed || m
		b.WriteString(text)
	}
	for len(raw) > 0 {
		at := bytes.IndexByte(raw, '"')
		if at < 0 {
			break
		}
		add(string(raw[:at]), false)
		raw = raw[at:]
		end := 1
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		token := raw[:min(end+1, len(raw))]
		raw = raw[len(token):]
		if s, ok := jsonrpc.String(token); ok {
			b.WriteByte('"')
			add(s, true)
			b.WriteByte('"')
		} else {
			add(string(token), false)
		}
	}
	add(string(raw), false)
	if mixed {
		return b.String() + " (in the order of its letters: " + strconv.QuoteToASCII(b.String()) + ")"
	}
	return b.String()
}

// escapeText escapes what does not show as what it is, be it shown as it stands
// or as markup; mixed: there are letters from right to left in it.
func escapeText(s string, quotes bool) (text string, mixed bool) {
	var b strings.Builder
	last := rune(0)
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case quotes && r == '\\':
			b.WriteString(`\\`)
		case quotes && r == '"', isMarkup(r, last, s[i+utf8.RuneLen(r):]):
			fmt.Fprintf(&b, `\x%02x`, r)
		case printable.Hidden(r) || unicode.Is(unicode.M, r) && (unicode.Is(unicode.M, last) || i == 0):
			b.WriteString(printable.Rune(r))
		default:
			mixed = mixed || isRightToLeft(r)
			b.WriteRune(r)
		}
		last = r
	}
	return b.String(), mixed
}

// asciiJSON returns a text as a string of JSON in which every character shows as
// what it is, and which may be copied as it stands.
func asciiJSON(s string) string {
	b := []byte{'"'}
	last := rune(0)
	for i, r := range s {
		switch {
		case r == '\\':
			b = append(b, `\\`...)
		case r < 0x20 || r >= 0x7f || r == '"' || isMarkup(r, last, s[i+1:]):
			for _, u := range utf16.Encode([]rune{r}) {
				b = fmt.Appendf(b, `\u%04x`, u)
			}
		default:
			b = append(b, byte(r))
		}
		last = r
	}
	return string(append(b, '"'))
}

// isMarkup reports a character that a client which shows Markdown or HTML would
// not show, and blanks that it would join; last stands before it, next begins
// what follows.
func isMarkup(r, last rune, next string) bool {
	switch r {
	case '<', '`', '*', '&':
		return true
	case '(':
		return last == ']'
	case ' ', '~':
		return last == r
	case '_': // within a word it is one
		after, _ := utf8.DecodeRuneInString(next)
		word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
		return !word(last) || !word(after)
	}
	return false
}

// isRightToLeft reports a letter that is written from right to left.
func isRightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff || r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}

func clipText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
