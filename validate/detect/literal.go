package detect

import (
	"path"
	"strings"
	"unicode/utf8"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/names"
	"mcphub/validate/shell"
	"mcphub/validate/uri"
)

// This file finds paths inside longer strings of any language. It knows no statements, verbs or dialects. A word may begin behind
// any sign that separates words in some language. It counts only if it names something outside, which the judge looks up.

// literals keeps the words of a text, as it stands and with its escapes read.
func (d *detector) literals(id int32, s string, p slot) {
	if kind, _ := uri.Read(s); kind != uri.None && !chars.HasBlank(chars.TrimEdges(s)) && !strings.ContainsAny(s, quotes) {
		return // one URI
	}
	if p.key >= 0 && urlWords[d.lastWord(p.key)] && dataURI.MatchString(s) {
		return // the same; under any other key it might be code that begins with a label
	}
	d.quotedSpans(id, s, p)
	d.lines(id, s, p)
	if other := unescaped(s); other != s {
		d.quotedSpans(id, other, p)
		d.lines(id, other, p)
	}
}

// dataURI begins a URI that holds its content itself, blanks and quotes included, and opens nothing.
var dataURI = lazyregexp.New(`(?i)^\s*data:[a-z]+/[a-z0-9.+-]+[;,]`)

const quotes = "'\"`"

// wordEnds end a word, and the next one begins behind them. So does the "$" of a tag ($x$).
var wordEnds = byteSet("'\"`()[]{}<>,;|")

// wordSigns are what a word may begin behind, and that may stand in one.
var wordSigns = byteSet("=:@!")

func byteSet(s string) (set [256]bool) {
	for i := range len(s) {
		set[s[i]] = true
	}
	return set
}

// quotedSpans keeps the text between quotes of one kind, or between tags of dollar signs, blanks included. Every quote may be an
// opening one.
func (d *detector) quotedSpans(id int32, s string, p slot) {
	var last [256]int // where the latest span of each quote begins, 0 none
	for i := 0; i < len(s) && !d.work.Spent(); i++ {
		c := s[i]
		switch {
		case strings.IndexByte(quotes, c) >= 0 || c == '[' || c == ']':
			begin := last[c]
			if c == ']' {
				begin, last['['] = last['['], 0
			}
			if begin > 0 && c != '[' {
				d.quoted(id, s[begin:i], p)
				if i+1 < len(s) && s[i+1] == c && c != ']' { // doubled
					d.doubled(id, s[begin:], s[i:i+1], p)
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
				d.quoted(id, s[last[c]:i], p)
			}
			last[c] = i + n
			i += n - 2 // the closing sign may open the next tag
		}
	}
	for _, c := range []byte(quotes) { // the last one may be open
		if begin := last[c]; begin > 0 {
			d.quoted(id, s[begin:], p)
		}
	}
}

// quoted keeps one literal.
func (d *detector) quoted(id int32, v string, p slot) {
	if v = chars.TrimEdges(v); v == "" {
		return
	}
	d.literal(id, v, p, false)
	if p.class == names.Query && chars.Components(v) < 2 && (v[0] == '/' || v[0] == '~') {
		d.add(Finding{Value: v, How: HowLiteral, Form: FormLink, Node: id}, p) // a directory that relative words may start from
	}
	if chars.HasBlank(v) && strings.IndexByte(v, '/') >= 0 {
		for line := range strings.FieldsFuncSeq(v, isLineEnd) { // a program and what it is given
			d.line(id, line, p, false)
		}
	}
	if p.class == names.Query && strings.IndexByte(v, '/') < 0 && !chars.HasBlank(v) {
		d.name(id, v, p, false)
	}
}

// doubled keeps a literal in which a doubled quote stands for one.
func (d *detector) doubled(id int32, s, quote string, p slot) {
	const one = "\xff" // stands for it; no text holds that byte
	v := strings.ReplaceAll(s[:min(len(s), chars.MaxPath)], quote+quote, one)
	v, _, _ = strings.Cut(v, quote)
	if d.work.Spend(len(v) / budget.ByteSteps) {
		d.literal(id, chars.TrimEdges(strings.ReplaceAll(v, one, quote)), p, false)
	}
}

// tagLength is that of a $tag$ at the start of s, 0 where there is none.
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

// lines keeps those words of each line that are not quoted as a whole.
func (d *detector) lines(id int32, s string, p slot) {
	first := true
	for line := range strings.FieldsFuncSeq(s, isLineEnd) {
		if d.work.Spent() {
			return
		}
		d.line(id, line, p, first)
		first = false
	}
}

func isLineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// lineSigns begin lines in which one word more may stand before a path: - name: /x, @import /x, {% include /x.
const lineSigns = ".\\!@#{<%:$-"

// line keeps the words of one line. A word behind a blank counts only if few words stand before it and none behind, because
// otherwise the line is prose. A comment is no word. In a line that begins like a command of a database client (.read, \copy)
// every word counts.
func (d *detector) line(id int32, line string, p slot, first bool) {
	text := strings.TrimLeftFunc(line, chars.IsBlank)
	if text == "" {
		return
	}
	most := 2
	if strings.IndexByte(lineSigns, text[0]) >= 0 {
		most = 3
	}
	command := len(text) > 1 && (text[0] == '\\' || text[0] == '.' && chars.IsLetter(text[1]))
	d.assigned(id, text, p)
	words, held := 0, ""
	for rest := text; rest != "" && !d.work.Spent(); {
		end := strings.IndexFunc(rest, chars.IsBlank)
		if end < 0 {
			end = len(rest)
		}
		token := rest[:end]
		rest = strings.TrimLeftFunc(rest[end:], chars.IsBlank)
		if words > 0 && isComment(token) {
			break
		}
		isWord := strings.IndexFunc(token, func(r rune) bool {
			return r >= utf8.RuneSelf || chars.IsLetter(byte(r)) || chars.IsDigit(byte(r)) || strings.ContainsRune("/~._", r)
		}) >= 0
		if held != "" {
			if !isWord || strings.IndexByte(";|,)]}>", token[0]) >= 0 {
				d.literal(id, held, p, false)
			}
			held = "" // otherwise a word follows
		}
		head := d.pieces(id, token, p)
		if head != "" && (command || words <= most || first && words == 0) {
			ended := len(head) < len(token)
			switch {
			case command, first && words == 0, ended:
				d.literal(id, head, p, false)
			default:
				held = head
			}
		}
		if isWord {
			words++
		}
		if c := token[len(token)-1]; wordEnds[c] && strings.IndexByte(quotes, c) < 0 {
			words = 0 // the next one begins behind a sign, not behind a blank
		}
	}
	if held != "" {
		d.literal(id, held, p, false)
	}
}

func isComment(token string) bool {
	return token[0] == '#' || strings.HasPrefix(token, "--") && strings.Trim(token, "-") == "" || strings.HasPrefix(token, "//") && strings.Trim(token, "/") == ""
}

// assigned keeps all that stands behind the first sign of a line as one path, with its blanks: path: /My Files/x, - /My Files.
// It counts only if it exists.
func (d *detector) assigned(id int32, line string, p slot) {
	for i := 0; i+1 < min(len(line), 256); i++ {
		if line[i] != '=' && (line[i] != ':' && line[i] != '-' || line[i+1] != ' ') {
			continue
		}
		v, _, _ := strings.Cut(line[i+1:], " #")
		if v = chars.TrimEdges(v); v != "" && len(v) <= chars.MaxPath && chars.HasBlank(v) && strings.IndexByte("/~.", v[0]) >= 0 {
			d.literal(id, v, p, true)
			return
		}
	}
}

// pieces keeps the words of a token that begin behind a sign, and returns the one that it begins with.
func (d *detector) pieces(id int32, token string, p slot) (head string) {
	for i := 0; i < len(token) && !d.work.Spent(); {
		if n := endLength(token[i:]); n > 0 {
			i += n
			continue
		}
		end := i
		for end < len(token) && endLength(token[end:]) == 0 {
			if strings.HasPrefix(token[end:], "${") && d.work.Spend(shell.MaxDollar/100) {
				_, _, n := shell.DollarName(token[end:])
				end += max(0, n-1)
			}
			end++
		}
		piece := token[i:end]
		if i == 0 {
			head = piece
		} else {
			d.literal(id, piece, p, false)
		}
		d.signs(id, piece, p)
		i = end
	}
	return head
}

// endLength is that of what ends a word at the start of s, 0 where nothing does.
func endLength(s string) int {
	switch {
	case wordEnds[s[0]]:
		return 1
	case s[0] == '$':
		return tagLength(s)
	}
	return 0
}

// signs keeps what follows "=", ":", "@" and "!" in a piece. A URL is one word.
func (d *detector) signs(id int32, s string, p slot) {
	for i := 0; i+1 < len(s) && !d.work.Spent(); i++ {
		if !wordSigns[s[i]] {
			continue
		}
		if s[i] == ':' {
			if strings.HasPrefix(s[i:], "://") && i > 0 && chars.IsLetter(s[i-1]) || i == 1 && chars.IsDrive(s) {
				return
			}
			if isRemote(s[:i]) || s[i+1] == '/' && p.class != names.Query && volume.MatchString(s[:i]) {
				continue
			}
		}
		if strings.IndexByte("/~.\\$%", s[i+1]) >= 0 || chars.IsLetter(s[i+1]) && strings.IndexByte(s[i+1:min(len(s), i+258)], '/') > 0 {
			if !d.work.Spend((len(s)-i)/budget.ByteSteps + 1) {
				return
			}
			d.literal(id, s[i+1:], p, false)
		}
	}
}

// volume is what stands before the path in a container: a directory, or the name of a volume.
var volume = lazyregexp.New(`^(?:[A-Za-z0-9][\w.-]+|[~./$].*)$`)

// literal keeps one word for the judge. The word has two components or more, and is absolute, starts from a home folder, climbs,
// is a URI that carries a path, or is a relative name that a link may lead out. weak: it counts only if it exists.
func (d *detector) literal(id int32, v string, p slot, weak bool) {
	if v = chars.TrimEdges(v); len(v) < 3 || strings.IndexByte(v, 0) >= 0 {
		return
	}
	if v = cleaned(v); len(v) > chars.MaxPath {
		return // nothing can open it
	}
	if strings.HasPrefix(v, `\/`) { // as in a pattern
		v, weak = strings.ReplaceAll(v, `\/`, "/"), true
	}
	if i := strings.IndexAny(v, ":#?"); i > 0 {
		d.literal(id, v[:i], p, weak) // a volume, a reference into a document, a database
	}
	f := Finding{Value: v, How: HowLiteral, Form: FormLiteral, Weak: weak, Node: id}
	switch kind, texts := uri.Read(v); kind {
	case uri.File:
		f.Value, f.Form = texts[0], FormText
	case uri.Path:
		f.Value, f.Alts = texts[0], texts[1:]
	case uri.Other:
		d.hostless(id, texts, p)
		return
	default:
		if chars.Components(v) < 2 {
			return
		}
		if _, ok := d.plainly(v); !ok {
			if strings.IndexByte(v, '/') > 0 && !chars.HasBlank(v) && !weak {
				d.link(id, v, p, false)
			}
			return
		}
	}
	d.add(f, p)
}

// cleaned is a path that is too long after a child has cleaned it, as some do before they open a path; any other as it is.
func cleaned(v string) string {
	if len(v) <= chars.MaxPath || strings.IndexByte(v, '/') < 0 {
		return v
	}
	return path.Clean(v)
}

// unescaped reads \x2f, \u002f, \u{2f} and \057 as strings of most languages do, and \n, \r and \t as what they are.
func unescaped(s string) string {
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
		if n == 0 {
			r = '\\'
		}
		b.WriteRune(r)
		s = tail[n:]
	}
}
