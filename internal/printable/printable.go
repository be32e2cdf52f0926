package printable

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"mcphub/internal/lazyregexp"
)

// Clean returns s without what is not seen and yet acts:
//
//   - terminal escape sequences, whole (ECMA-48: CSI, OSC and their like);
//   - control characters but tab, line feed and the return before one;
//   - embeddings, overrides and isolates of writing direction;
//   - tag characters (U+E0000 to U+E007F);
//   - joiners and other invisible characters that do not stand between two
//     characters that show, and variation selectors behind none.
//
// Bad UTF-8 becomes U+FFFD. Honest text of any language stays as it is, byte
// for byte, emoji of several parts included.
func Clean(s string) string {
	if !Suspect(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	last := rune(0) // the last one kept
	for i := 0; i < len(s); {
		if n := sequenceLength(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if keepsRune(last, r, s[i:]) {
			b.WriteRune(r) // bad UTF-8 is U+FFFD here
			last = r
		}
	}
	return b.String()
}

// Suspect reports that Clean may have something to remove. It is fast.
func Suspect(s string) bool {
	for _, r := range s {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && (r < 0xa0 || r == utf8.RuneError || isInvisible(r)) {
			return true
		}
	}
	return false
}

// keepsRune reports whether r stays behind last and before next.
func keepsRune(last, r rune, next string) bool {
	switch {
	case r == '\n', r == '\t':
		return true
	case r == '\r':
		return strings.HasPrefix(next, "\n")
	case unicode.IsControl(r), setsDirection(r), isTag(r):
		return false
	case unicode.Is(unicode.Variation_Selector, r):
		return leavesMark(last)
	case isInvisible(r):
		after, _ := utf8.DecodeRuneInString(next)
		return (leavesMark(last) || unicode.Is(unicode.Variation_Selector, last)) && leavesMark(after)
	}
	return true
}

// setsDirection reports a character that sets the direction of others. The marks that
// stand for themselves (U+200E, U+200F, U+061C) do not: honest text has them.
func setsDirection(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

func isTag(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }

// isInvisible reports a character that leaves no mark of its own, the ones
// that directs and isTag know among them.
func isInvisible(r rune) bool {
	switch {
	case r < 0x34f:
		return false
	case r >= 0x200b && r <= 0x200d, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r == 0x180e:
		return true
	}
	return setsDirection(r) || isTag(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r)
}

// leavesMark reports a character that leaves a mark: between two of them a joiner has
// a meaning, and behind one a variation selector.
func leavesMark(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !isInvisible(r) && r != utf8.RuneError
}

// sequenceLength returns the length of the escape sequence that s begins with, or 0.
// Where none is whole, it ends before what cannot belong to it, and at the
// latest before the end of the line.
func sequenceLength(s string) int {
	kind, at := rune(0), 0
	switch {
	case len(s) > 1 && s[0] == 0x1b:
		kind, at = rune(s[1])+0x40, 2 // ESC [ is CSI and so on
	case len(s) > 0 && s[0] == 0x1b:
		return 1
	case len(s) > 1 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0:
		kind, at = rune(s[1]), 2
	default:
		return 0
	}
	switch kind {
	case 0x9b: // CSI: parameters, then one letter
		for at < len(s) && s[at] >= 0x20 && s[at] < 0x40 {
			at++
		}
		if at < len(s) && s[at] >= 0x40 && s[at] < 0x7f {
			at++
		}
		return at
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // DCS, SOS, OSC, PM, APC: a text and its end
		return at + stringEnd(s[at:])
	}
	if s[0] != 0x1b {
		return at // another control character
	}
	at = 1
	for at < len(s) && s[at] >= 0x20 && s[at] < 0x30 {
		at++
	}
	if at < len(s) && s[at] >= 0x30 && s[at] < 0x7f {
		at++
	}
	return at
}

// stringEnd returns where the text of a control string ends, its terminator included.
func stringEnd(s string) int {
	for i := range len(s) {
		switch {
		case s[i] == '\n' || s[i] == '\r' || s[i] == 0x18 || s[i] == 0x1a:
			return i
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && strings.HasPrefix(s[i+1:], `\`), s[i] == 0xc2 && strings.HasPrefix(s[i+1:], "\x9c"):
			return i + 2
		case s[i] == 0x1b:
			return i // another sequence begins
		}
	}
	return len(s)
}

// Escape returns at most so many characters of s on one line, each to be seen
// as what it is: what does not print, leaves no mark or changes direction, and
// bad UTF-8, is escaped as in Go.
func Escape(s string, most int) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n++; n > most {
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case Hidden(r):
			b.WriteString(Rune(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Rune returns the escape of Go of one character that is [Hidden].
func Rune(r rune) string { return strings.Trim(strconv.QuoteRuneToASCII(r), "'") }

// Line returns s on one line. Honest text stays as it is, of any language; text with
// a line break, or with anything that Clean would remove, is escaped as by Escape, so
// that a person sees what was tried.
func Line(s string) string {
	if !strings.ContainsAny(s, "\n\t\u2028\u2029") && Clean(s) == s {
		return s
	}
	return Escape(s, len(s))
}

// JSON returns JSON text in which each character that does not print, or leaves no
// mark, is escaped as \u. It means the same: such characters stand in strings only.
func JSON(text []byte) []byte {
	var b []byte // nil until something is escaped
	done := 0
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(text[i:])
		}
		if r >= 0x7f && Hidden(r) {
			b = append(b, text[done:i]...)
			if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
				b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
			} else {
				b = fmt.Appendf(b, `\u%04x`, r)
			}
			done = i + n
		}
		i += n
	}
	if b == nil {
		return text
	}
	return append(b, text[done:]...)
}

// breaks are line breaks that some terminals and all editors take for one.
var breaks = strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`)

// Quote returns a name from outside in quotes, escaped, of at most 100 characters.
func Quote(name string) string { return `"` + Escape(name, 100) + `"` }

// maxListed is how many names List has.
const maxListed = 40

// List returns names in quotes, "none" if there are none.
func List(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(names)-maxListed)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", n)
	}
	if len(names) == 0 {
		return "none"
	}
	return b.String()
}

// Hidden reports a character that does not print, or prints and leaves no mark.
func Hidden(r rune) bool { return !unicode.IsPrint(r) || r == '\u2800' || isInvisible(r) }

// Clip returns at most so many characters of s.
func Clip(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}

// Writer returns a writer that passes on, cleaned, what each Write brings: whole
// lines or texts, as a logger writes them. It is the last guard before a terminal;
// that a text makes up no line is Line's to hold.
func Writer(w io.Writer) io.Writer { return cleaning{w} }

type cleaning struct{ to io.Writer }

func (c cleaning) Write(b []byte) (int, error) {
	if _, err := io.WriteString(c.to, breaks.Replace(Clean(string(b)))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Unwrap returns the writer behind, by which a terminal is known.
func (c cleaning) Unwrap() io.Writer { return c.to }

var (
	plainWord          = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./~-]+$`)
	plainWordOfWindows = lazyregexp.New(`^(?:-{1,2}[A-Za-z0-9_-]+|[A-Za-z0-9_+:./\\][A-Za-z0-9_@+=:./\\~-]*)$`)
)

// CommandLine writes a program and its arguments as the shells of this system read them. It is one line in which every character is seen.
//
// A POSIX shell reads a word with others as $'...', which is newer than other quotes, and which bash, zsh and ksh read.
//
// On Windows a word is bare or in double quotes, which cmd and PowerShell read alike. A character that one of them reads between double quotes is
// written as $([char]N), which PowerShell alone reads. cmd takes such a word for a wrong name, and runs none of it.
func CommandLine(words []string) string { return commandLine(words, runtime.GOOS == "windows") }

func commandLine(words []string, windows bool) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		switch {
		case windows && !plainWordOfWindows.MatchString(w):
			out[i] = quoteWordOfWindows(w)
		case !windows && (!plainWord.MatchString(w) || w[0] == '=' || strings.Contains(w, "~")): // bash expands ~ behind = and : too
			out[i] = quoteWord(w)
		}
	}
	return strings.Join(out, " ")
}

func quoteWordOfWindows(w string) string {
	b := []byte{'"'}
	for i := 0; i < len(w); {
		r, n := utf8.DecodeRuneInString(w[i:])
		if strings.ContainsRune("\"%$`\u201c\u201d\u201e", r) || r == utf8.RuneError || Hidden(r) {
			for _, unit := range utf16.Encode([]rune{r}) {
				b = fmt.Appendf(b, "$([char]%d)", unit)
			}
		} else {
			b = append(b, w[i:i+n]...)
		}
		i += n
	}
	end := w[len(strings.TrimRight(w, `\`)):] // a program takes \" for a quote, and \\" for the end of the word
	return string(b) + end + `"`
}

// outsideQuotes writes outside of single quotes what a shell may take there for an escape or an end: fish reads \' and \\ there, and other shells
// read neither.
var outsideQuotes = strings.NewReplacer("'", `'\''`, `\`, `'\\'`)

// quoteWord writes a word in which no shell finds an end or an escape that another one does not find: dash has no $'...', and reads that as
// a $ and a word between single quotes.
func quoteWord(w string) string {
	hides := func(r rune) bool { return r == utf8.RuneError || Hidden(r) }
	if !strings.ContainsFunc(w, hides) {
		return "'" + outsideQuotes.Replace(w) + "'"
	}
	b := []byte("$'")
	for i := 0; i < len(w); {
		r, n := utf8.DecodeRuneInString(w[i:])
		switch {
		case hides(r), r == '\'', r == '\\':
			for _, c := range []byte(w[i : i+n]) {
				b = fmt.Appendf(b, `\%03o`, c)
			}
		default:
			b = append(b, w[i:i+n]...)
		}
		i += n
	}
	return string(append(b, '\''))
}

// BuildCommand returns the words of a command line that is about names. If a name looks like a flag, the names stand behind the flags and "--".
func BuildCommand(command string, flags []string, names ...string) []string {
	words := strings.Fields(command)
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "-") }) {
		return slices.Concat(words, flags, []string{"--"}, names)
	}
	return slices.Concat(words, names, flags)
}

// Word returns a name from outside as one word of a CommandLine, of at most 300
// characters and escaped. In quotes it is seen to be a name if it looks like an
// option.
func Word(name string) string { return word(name, runtime.GOOS == "windows") }

func word(name string, windows bool) string {
	name = Escape(name, 300)
	switch {
	case !strings.HasPrefix(name, "-"):
		return commandLine([]string{name}, windows)
	case windows:
		return quoteWordOfWindows(name)
	}
	return quoteWord(name)
}
