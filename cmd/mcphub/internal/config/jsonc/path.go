package jsonc

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mcphub/internal/lazyregexp"
)

var plainKey = lazyregexp.New(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// Index returns the path step of a list element.
func Index(i int) string { return "[" + strconv.Itoa(i) + "]" }

var indexStep = lazyregexp.New(`^\[[0-9]+\]$`)

// FormatKey writes a key path so that it can be read back without doubt:
// names that are not plain words stand in quotes.
func FormatKey(path []string) string {
	var b strings.Builder
	for i, s := range path {
		switch {
		case indexStep.MatchString(s):
			b.WriteString(s)
		case !plainKey.MatchString(s):
			b.WriteString("[" + Quote(s) + "]")
		case i == 0:
			b.WriteString(s)
		default:
			b.WriteString("." + s)
		}
	}
	return b.String()
}

// Quote quotes text from a file for a message: control characters escaped,
// long text clipped.
func Quote(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.Quote(s)
}

// ReadKey reads what FormatKey writes, up to the "=" behind it.
func ReadKey(text string) (path []string, value string, ok bool) {
	for {
		var step string
		if rest, quoted := strings.CutPrefix(text, `["`); quoted {
			step, text, ok = strings.Cut(rest, `"]`)
			if !ok {
				return nil, "", false
			}
		} else {
			n := strings.IndexAny(text, `.=[`)
			if n < 0 {
				return nil, "", false
			}
			step, text = text[:n], text[n:]
		}
		if step == "" {
			return nil, "", false
		}
		path = append(path, step)
		switch {
		case strings.HasPrefix(text, "="):
			return path, text[1:], true
		case strings.HasPrefix(text, "."):
			text = text[1:]
		case !strings.HasPrefix(text, `["`):
			return nil, "", false
		}
	}
}
