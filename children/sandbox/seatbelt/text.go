package seatbelt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// quoteText returns a string of the language. NUL ends a string of the kernel, and no disk of macOS has a name that is not
// UTF-8, so neither is written.
func (w *writer) quoteText(s string) string {
	switch {
	case len(s) > maxString:
		w.failWith(fmt.Errorf("%.80q... has %d bytes; a profile holds strings of at most %d", s, len(s), maxString))
	case strings.ContainsRune(s, 0):
		w.failWith(fmt.Errorf("%q has a NUL", s))
	case !utf8.ValidString(s):
		w.failWith(fmt.Errorf("%q is not UTF-8", s))
	}
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
	if len(quoted) > 2+maxString { // the reader may count before it takes the escapes away
		w.failWith(fmt.Errorf("%.80q... has %d bytes with its escapes; a profile holds strings of at most %d", s, len(quoted)-2, maxString))
	}
	return quoted
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// exactPattern returns a regular expression for a text.
func exactPattern(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// beyondASCII matches a part of a name that has a letter beyond ASCII in it.
const beyondASCII = "[^/]*[^ -~/][^/]*"

// folds are texts that some letters beyond ASCII are the same as on a disk without case: long s, the sign of Kelvin, sharp s, ligatures. The
// longest come first.
var folds = []string{"ffi", "ffl", "ff", "fi", "fl", "ss", "st", "s", "k"}

// anyCase returns a regular expression for a name in all spellings that are the same on a disk without case and
// normalization. It may match more, if the name has letters beyond ASCII: for a name that stays closed this is the safe
// side.
func anyCase(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		if end := i + foreignLength(name[i:]); end > i {
			b.WriteString(beyondASCII)
			i = end
			continue
		}
		if fold := longestFold(name[i:]); fold != "" {
			b.WriteString("(")
			for _, c := range []byte(name[i : i+len(fold)]) {
				b.WriteString(letterPattern(c))
			}
			b.WriteString("|" + beyondASCII + ")")
			i += len(fold)
			continue
		}
		b.WriteString(letterPattern(name[i]))
		i++
	}
	return b.String()
}

// foreignLength returns the length of the letters beyond ASCII that a text begins with, and of the one before them: an accent may be part
// of it.
func foreignLength(text string) (n int) {
	for n < len(text) && (text[n] >= utf8.RuneSelf || n+1 < len(text) && text[n+1] >= utf8.RuneSelf) {
		n++
	}
	return n
}

func longestFold(text string) string {
	for _, fold := range folds {
		if len(text) >= len(fold) && strings.EqualFold(text[:len(fold)], fold) && foreignLength(text[len(fold)-1:]) == 0 {
			return fold
		}
	}
	return ""
}

// letterPattern returns one byte of ASCII in either case.
func letterPattern(c byte) string {
	low, up := strings.ToLower(string(rune(c))), strings.ToUpper(string(rune(c)))
	if low != up {
		return "[" + up + low + "]"
	}
	return exactPattern(low)
}
