package text

import (
	"iter"
	"path"
	"strings"
	"unicode/utf8"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/shell"
	"mcphub/validate/uri"
)

// Quotes are the signs that quote a text in some language.
const Quotes = "'\"`"

// wordEnds end a word, and the next one begins behind them. So does the "$" of a tag ($x$).
var wordEnds = chars.ByteSet("'\"`()[]{}<>,;|")

// wordSigns are what a word may begin behind, and that may stand in one.
var wordSigns = chars.ByteSet("=:@!")

// EachQuoted yields the texts between Quotes of one kind, or between tags of dollar signs, blanks included. Every quote may be an
// opening one. Behind a doubled quote, one is yielded to doubled as well, as the languages read it in which that stands for one.
func EachQuoted(s string, work *budget.Budget, yield, doubled func(v string)) {
	var last [256]int // where the latest span of each quote begins, 0 none
	for i := 0; i < len(s) && !work.Spent(); i++ {
		c := s[i]
		switch {
		case strings.IndexByte(Quotes, c) >= 0 || c == '[' || c == ']':
			begin := last[c]
			if c == ']' {
				begin, last['['] = last['['], 0
			}
			if begin > 0 && c != '[' {
				yield(s[begin:i])
				if i+1 < len(s) && s[i+1] == c && c != ']' { // doubled
					if v := undoubled(s[begin:], s[i:i+1]); work.Spend(len(v) / budget.ByteSteps) {
						doubled(chars.TrimEdges(v))
					}
				}
			}
			if c != ']' {
				last[c] = i + 1
			}
		case c == '$':
			n := tagLength(s[i:])
			if n == 0 {
				continue
			}
			if last[c] > 0 && last[c] <= i {
				yield(s[last[c]:i])
			}
			last[c] = i + n
			i += n - 2 // the closing sign may open the next tag
		}
	}
	for _, c := range []byte(Quotes) { // the last one may be open
		if begin := last[c]; begin > 0 {
			yield(s[begin:])
		}
	}
}

// undoubled returns the text up to the quote that ends it. A doubled quote stands for one.
func undoubled(s, quote string) string {
	const one = "\xff" // stands for it; no text holds that byte
	v := strings.ReplaceAll(s[:min(len(s), chars.MaxPath)], quote+quote, one)
	v, _, _ = strings.Cut(v, quote)
	return strings.ReplaceAll(v, one, quote)
}

// tagLength returns the length of a $tag$ at the start of s, 0 if there is none.
func tagLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '$':
			return i + 1
		case c < utf8.RuneSelf && !chars.IsLetter(c) && !chars.IsDigit(c) && c != '_':
			return 0
		}
	}
	return 0
}

// EachPart yields the parts of a joined list: those between separators of any kind, and, as a part may hold another kind, those
// between separators of one kind. Blanks are one of them.
func EachPart(s, separators string, work *budget.Budget, yield func(part string)) {
	if !strings.ContainsAny(s, separators) && !chars.HasBlank(s) {
		return // most are no list
	}
	kinds := 0
	for _, sep := range append([]rune(separators), ' ', -1) {
		cut := func(r rune) bool {
			return chars.IsBlank(r) && (sep == ' ' || sep < 0) || r == sep || sep < 0 && strings.ContainsRune(separators, r)
		}
		if !strings.ContainsFunc(s, cut) {
			continue
		}
		if kinds++; sep < 0 && kinds == 2 {
			return // there is one kind only
		}
		for part := range strings.FieldsFuncSeq(s, cut) {
			if !work.Spend(1) {
				return
			}
			yield(part)
		}
	}
}

// Lines returns the lines of a text, without the signs that end them. Empty ones are left out.
func Lines(s string) iter.Seq[string] { return strings.FieldsFuncSeq(s, isLineEnd) }

func isLineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// lineSigns begin lines in which one word more may stand before a path: - name: /x, @import /x, {% include /x.
const lineSigns = ".\\!@#{<%:$-"

// A Reader finds the words of lines.
type Reader struct {
	Work  *budget.Budget // what reading may cost
	Query bool           // the text is a query: no volume of a container is in it
}

// Words yields the words of one line that may name something, but for the ones that are quoted as a whole. exists reports that a
// word counts only if it exists. first reports that the line is the first of its text.
//
// A word behind a blank counts only if few words stand before it and none behind, because otherwise the line is prose. A comment
// is no word. In a line that begins like a command of a database client (.read, \copy) every word counts.
func (r Reader) Words(line string, first bool, yield func(word string, exists bool)) {
	line = strings.TrimLeftFunc(line, chars.IsBlank)
	if line == "" {
		return
	}
	most := 2
	if strings.IndexByte(lineSigns, line[0]) >= 0 {
		most = 3
	}
	command := len(line) > 1 && (line[0] == '\\' || line[0] == '.' && chars.IsLetter(line[1]))
	assigned(line, yield)
	words, held := 0, ""
	for rest := line; rest != "" && !r.Work.Spent(); {
		end := strings.IndexFunc(rest, chars.IsBlank)
		if end < 0 {
			end = len(rest)
		}
		token := rest[:end]
		rest = strings.TrimLeftFunc(rest[end:], chars.IsBlank)
		if words > 0 && isComment(token) {
			break
		}
		isWord := strings.ContainsFunc(token, func(r rune) bool {
			return r >= utf8.RuneSelf || chars.IsLetter(byte(r)) || chars.IsDigit(byte(r)) || strings.ContainsRune("/~._", r)
		})
		if held != "" {
			if !isWord || strings.IndexByte(";|,)]}>", token[0]) >= 0 {
				yield(held, false)
			}
			held = "" // otherwise a word follows
		}
		head := r.pieces(token, yield)
		switch {
		case head == "" || !command && words > most:
		case command, first && words == 0, len(head) < len(token):
			yield(head, false)
		default:
			held = head
		}
		if isWord {
			words++
		}
		if c := token[len(token)-1]; wordEnds[c] && strings.IndexByte(Quotes, c) < 0 {
			words = 0 // the next one begins behind a sign, not behind a blank
		}
	}
	if held != "" {
		yield(held, false)
	}
}

func isComment(token string) bool {
	return token[0] == '#' || strings.HasPrefix(token, "--") && strings.Trim(token, "-") == "" || strings.HasPrefix(token, "//") && strings.Trim(token, "/") == ""
}

// assigned yields all that stands behind the first sign of a line as one path, with its blanks: path: /My Files/x, - /My Files.
func assigned(line string, yield func(word string, exists bool)) {
	for i := 0; i+1 < min(len(line), 256); i++ {
		if line[i] != '=' && (line[i] != ':' && line[i] != '-' || line[i+1] != ' ') {
			continue
		}
		v, _, _ := strings.Cut(line[i+1:], " #")
		if v = chars.TrimEdges(v); v != "" && len(v) <= chars.MaxPath && chars.HasBlank(v) && strings.IndexByte("/~.", v[0]) >= 0 {
			yield(v, true)
			return
		}
	}
}

// pieces yields the words of a token that begin behind a sign, and returns the one that it begins with.
func (r Reader) pieces(token string, yield func(word string, exists bool)) (head string) {
	for i := 0; i < len(token) && !r.Work.Spent(); {
		if n := endLength(token[i:]); n > 0 {
			i += n
			continue
		}
		end := i
		for end < len(token) && endLength(token[end:]) == 0 {
			if strings.HasPrefix(token[end:], "${") && r.Work.Spend(shell.DollarSteps) {
				_, _, n := shell.DollarName(token[end:])
				end += max(0, n-1)
			}
			end++
		}
		piece := token[i:end]
		if i == 0 {
			head = piece
		} else {
			yield(piece, false)
		}
		r.signs(piece, yield)
		i = end
	}
	return head
}

// endLength returns the length of what ends a word at the start of s, 0 if nothing does.
func endLength(s string) int {
	switch {
	case wordEnds[s[0]]:
		return 1
	case s[0] == '$':
		return tagLength(s)
	}
	return 0
}

// signs yields what follows "=", ":", "@" and "!" in a piece. A URL is one word.
func (r Reader) signs(s string, yield func(word string, exists bool)) {
	for i := 0; i+1 < len(s) && !r.Work.Spent(); i++ {
		if !wordSigns[s[i]] {
			continue
		}
		if s[i] == ':' {
			if strings.HasPrefix(s[i:], "://") && i > 0 && chars.IsLetter(s[i-1]) || i == 1 && chars.IsDrive(s) {
				return
			}
			if uri.IsRemote(s[:i]) || s[i+1] == '/' && !r.Query && volume.MatchString(s[:i]) {
				continue
			}
		}
		if strings.IndexByte("/~.\\$%", s[i+1]) >= 0 || chars.IsLetter(s[i+1]) && strings.IndexByte(s[i+1:min(len(s), i+258)], '/') > 0 {
			if !r.Work.Spend((len(s)-i)/budget.ByteSteps + 1) {
				return
			}
			yield(s[i+1:], false)
		}
	}
}

// volume is what stands before the path in a container: a directory, or the name of a volume.
var volume = lazyregexp.New(`^(?:[A-Za-z0-9][\w.-]+|[~./$].*)$`)

// Cleaned returns a path that is too long after a child has cleaned it, as some do before they open a path; any other as it is.
func Cleaned(v string) string {
	if len(v) <= chars.MaxPath || strings.IndexByte(v, '/') < 0 {
		return v
	}
	return path.Clean(v)
}

// Unescaped reads \x2f, \u002f, \u{2f} and \057 as strings of most languages do, and \n, \r and \t as what they are. It leaves the escapes
// of other characters than the ones that only accepts; nil accepts all.
func Unescaped(s string, only func(rune) bool) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for {
		head, tail, ok := strings.Cut(s, `\`)
		b.WriteString(head)
		switch {
		case !ok:
			return b.String()
		case tail == "":
			return b.String() + `\`
		}
		r, n := chars.EscapeSequence(tail)
		if n == 0 || only != nil && !only(r) {
			r, n = '\\', 0
		}
		b.WriteRune(r)
		s = tail[n:]
	}
}
