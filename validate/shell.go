package validate

import (
	"strconv"
	"strings"
)

// maxDollars bounds the dollar-quoted literals of one SQL string that are taken apart.
const maxDollars = 256

// sqlVerbs begin a query that is SQL and not prose.
var sqlVerbs = wordSet("select insert update delete with copy load attach detach create drop alter pragma explain call exec execute " +
	"begin set install import export describe show from values merge replace truncate grant do vacuum analyze use summarize table")

// isSQL reports whether s begins with an SQL verb, behind blanks, parentheses and comments.
func isSQL(s string) bool {
	for range 64 {
		s = strings.TrimLeft(s, " \t\r\n\f\v(;\ufeff\u00a0")
		switch {
		case strings.HasPrefix(s, "--"), strings.HasPrefix(s, "#"):
			_, rest, ok := strings.Cut(s, "\n")
			if !ok {
				return false
			}
			s = rest
		case strings.HasPrefix(s, "/*"):
			_, rest, ok := strings.Cut(s[2:], "*/")
			if !ok {
				return false
			}
			s = rest
		default:
			end := strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 || !isLetter(byte(r)) })
			if end < 0 {
				end = len(s)
			}
			return sqlVerbs[strings.ToLower(s[:end])] && end < len(s)
		}
	}
	return false
}

// vector judges one element of args, argv or flags, or such an argument given as one string.
func (d *detector) vector(id int32, s string, p place) {
	n := &d.t.nodes[id]
	if n.kend == 0 && n.index == 0 && d.c.isCommand(s) && lastWord(d.t, p.key) == "argv" {
		return
	}
	before := len(d.findings)
	d.broad(id, s, p, false)
	if len(s) > maxCheap {
		s = s[:maxCheap]
	}
	if hasBlank(s) && (len(d.findings) == before || d.findings[before].form == formLink) {
		d.shell(id, s, p)
	}
}

func lastWord(t *tree, key int32) string {
	if key < 0 {
		return ""
	}
	var room wordRoom
	list := room.split(t.name(key))
	if len(list) == 0 {
		return ""
	}
	return string(list[len(list)-1])
}

// shell scans a shell string, or an element of one given as an array.
func (d *detector) shell(id int32, s string, p place) {
	n := &d.t.nodes[id]
	element := n.kend == 0 && d.t.nodes[n.parent].kind == kArray
	if element && n.index > 0 {
		before := len(d.findings)
		d.broad(id, s, p, false)
		if len(d.findings) > before && d.findings[before].form != formLink {
			return
		}
	} else {
		d.uris(id, s, p, false)
	}
	eachShellWord(s, func(w string, command bool) {
		d.word(id, w, command && !(element && n.index > 0), p, HowShell)
	})
}

// word keeps one word of a shell string as a candidate: Judge decides whether it exists, and where it leads.
func (d *detector) word(id int32, w string, command bool, p place, how string) {
	if w == "" || len(w) > maxRaw {
		return
	}
	kind, texts := readScheme(w)
	switch kind {
	case schemeOther:
		return
	case schemeFile:
		d.add(Finding{Value: texts[0], How: how, form: formURI, seat: id}, p)
		return
	case schemePath:
		d.add(Finding{Value: texts[0], alts: texts[1:], How: how, form: formWord, seat: id}, p)
		return
	}
	if command && d.c.isCommand(w) {
		return
	}
	if _, ok := d.look(w, false); ok {
		d.add(Finding{Value: w, How: how, form: formWord, seat: id}, p)
		return
	}
	for i := 0; i+1 < len(w); i++ {
		if c := w[i]; (c == '=' || c == '@' || c == ':' && !isRemote(w[:i])) && strings.ContainsRune(`/~.$`, rune(w[i+1])) {
			if _, ok := d.look(w[i+1:], false); ok {
				d.add(Finding{Value: w[i+1:], How: how, form: formWord, seat: id}, p)
			}
		}
	}
	if len(w) > 2 && w[0] == '-' && w[1] != '-' && strings.ContainsRune(`/~.$`, rune(w[2])) {
		if _, ok := d.look(w[2:], false); ok {
			d.add(Finding{Value: w[2:], How: how, form: formWord, seat: id}, p)
		}
	}
	if !command && strings.IndexByte(w, '/') > 0 {
		d.add(Finding{Value: w, How: how, form: formLink, seat: id}, p)
	}
}

// sql scans the literals of an SQL string, and the words of a client's dot command (.read FILE).
func (d *detector) sql(id int32, s string, p place) {
	d.uris(id, s, p, false)
	if strings.HasPrefix(strings.TrimSpace(s), ".") || strings.HasPrefix(strings.TrimSpace(s), `\`) {
		eachShellWord(s, func(w string, _ bool) { d.word(id, w, false, p, HowSQL) })
		return
	}
	dollars := maxDollars
	eachSQLLiteral(s, &dollars, func(lit string) {
		v := trimEdges(lit)
		d.sqlWord(id, v, p)
		if hasBlank(v) || strings.ContainsAny(v, ",;") {
			for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return isBlank(r) || strings.ContainsRune(",;|<>()'\"", r) }) {
				d.sqlWord(id, part, p)
			}
		}
	})
}

func (d *detector) sqlWord(id int32, v string, p place) {
	if v == "" || len(v) > maxRaw {
		return
	}
	kind, texts := readScheme(v)
	switch kind {
	case schemeFile:
		d.add(Finding{Value: texts[0], How: HowSQL, form: formURI, seat: id}, p)
	case schemePath:
		d.add(Finding{Value: texts[0], alts: texts[1:], How: HowSQL, form: formWord, seat: id}, p)
	case schemeNone:
		if _, ok := d.look(v, false); ok {
			d.add(Finding{Value: v, How: HowSQL, form: formWord, seat: id}, p)
		}
	}
}

// eachSQLLiteral yields every quoted piece of an SQL text: '...', "...", `...` and $tag$...$tag$. Comments are not
// skipped: what is a comment in one dialect runs in another.
func eachSQLLiteral(s string, dollars *int, yield func(string)) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\'', '"', '`':
			lit, n := sqlQuoted(s[i:], c)
			yield(lit)
			i += n - 1
		case '$':
			j := strings.IndexByte(s[i+1:min(len(s), i+66)], '$')
			if j < 0 || *dollars <= 0 || strings.ContainsFunc(s[i+1:i+1+j], func(r rune) bool { return r < 0x80 && !isLetter(byte(r)) && !isDigit(byte(r)) && r != '_' }) {
				continue
			}
			*dollars--
			tag := s[i : i+j+2]
			body := s[i+len(tag):]
			if end := strings.Index(body, tag); end >= 0 {
				yield(body[:end])
				eachSQLLiteral(body[:end], dollars, yield)
				i += len(tag)*2 + end - 1
			}
		}
	}
}

// sqlQuoted reads a literal from its quote on and returns how much of s it took. An unclosed one runs to the end.
func sqlQuoted(s string, q byte) (string, int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] == q {
			if i+1 < len(s) && s[i+1] == q {
				b.WriteByte(q)
				i++
				continue
			}
			return b.String(), i + 1
		}
		b.WriteByte(s[i])
	}
	return b.String(), len(s)
}

// eachShellWord yields the words of a shell string twice: as a POSIX shell forms them (quotes removed and joined,
// escapes undone), and split at everything that may end a path for another program (quotes and <>()= too). command
// marks a word in command position.
func eachShellWord(s string, yield func(word string, command bool)) {
	lexShell(s, yield)
	for token := range strings.FieldsFuncSeq(s, isBlank) {
		if kind, _ := readScheme(token); kind == schemeOther {
			continue
		}
		for w := range strings.FieldsFuncSeq(token, func(r rune) bool { return strings.ContainsRune("'\"`<>()=;|&,{}[]", r) }) {
			if w != token || strings.ContainsAny(w, `\`) {
				yield(w, false)
			}
		}
	}
}

// prefixes are commands whose argument is a command again.
var prefixes = wordSet("sudo doas env exec nohup time nice xargs then do else if while until command builtin")

type shellLexer struct {
	yield   func(string, bool)
	word    strings.Builder
	open    bool // a word has begun
	command bool // the next word is in command position
	quoted  bool
}

func (l *shellLexer) end() {
	if !l.open {
		return
	}
	w := l.word.String()
	l.yield(w, l.command && !l.quoted)
	if !prefixes[w] && (strings.IndexByte(w, '=') <= 0 || l.quoted) {
		l.command = false
	}
	l.word.Reset()
	l.open, l.quoted = false, false
}

func lexShell(s string, yield func(string, bool)) {
	l := &shellLexer{yield: yield, command: true}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isBlank(rune(c)):
			l.end()
			if c == '\n' {
				l.command = true
			}
		case strings.IndexByte(";|&(){}`", c) >= 0 && !(c == '{' && i > 0 && s[i-1] == '$') && !(c == '}' && l.open):
			l.end()
			l.command = true
		case c == '<' || c == '>':
			l.end()
			was := l.command
			l.command = false
			if i+1 < len(s) && s[i+1] == '(' {
				l.command = was
			}
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				l.word.WriteByte(s[i])
				l.open = true
			}
		case c == '$' && i+1 < len(s) && s[i+1] == '\'':
			i += l.ansi(s[i+2:]) + 1
		case c == '\'':
			l.open = true
			j := strings.IndexByte(s[i+1:], '\'')
			if j < 0 {
				j = len(s) - i - 1
			}
			l.word.WriteString(s[i+1 : i+1+j])
			i += j + 1
		case c == '"':
			i += l.double(s[i+1:])
		default:
			l.word.WriteByte(c)
			l.open = true
		}
	}
	l.end()
}

// double reads a "..." string and returns how many bytes it took after the opening quote.
func (l *shellLexer) double(s string) int {
	l.open = true
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return i + 1
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\\"$`\n", s[i+1]) >= 0:
			i++
			if s[i] != '\n' {
				l.word.WriteByte(s[i])
			}
		default:
			l.word.WriteByte(s[i])
		}
	}
	return len(s)
}

// ansi reads a $'...' string, escapes decoded, and returns how many bytes it took after the opening quote.
func (l *shellLexer) ansi(s string) int {
	l.open = true
	for i := 0; i < len(s); {
		if s[i] == '\'' {
			return i + 1
		}
		if s[i] != '\\' || i+1 >= len(s) {
			l.word.WriteByte(s[i])
			i++
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(s[i:], '\'')
		switch {
		case err == nil && multibyte:
			l.word.WriteRune(r)
		case err == nil:
			l.word.WriteByte(byte(r))
		default:
			// \x2 and \57 are shorter than Go writes them.
			n, v := shortEscape(s[i+1:])
			l.word.WriteByte(v)
			tail = s[i+1+n:]
		}
		i = len(s) - len(tail)
	}
	return len(s)
}

func shortEscape(s string) (int, byte) {
	base, i, most := 8, 0, 3
	if s[0] == 'x' {
		base, i, most = 16, 1, 3
	}
	v, begin := 0, i
	for i < len(s) && i < most && isHex(s[i]) && (base == 16 || s[i] < '8') {
		v = v*base + int(unhex(s[i]))
		i++
	}
	if i == begin {
		return 1, s[0]
	}
	return i, byte(v)
}
