package validate

import (
	"regexp"
	"strconv"
	"strings"
)

// wordSeat is where a word of a shell string stands.
type wordSeat uint8

const (
	seatPlain   wordSeat = iota
	seatCommand          // in command position
	seatWritten          // after a redirection
	seatMaybe            // where a command may stand: behind the options of sudo, of timeout, of find
)

const maxShells = 4 // shells in shells: bash -c "..."

// shellWord is one word of a shell string.
type shellWord struct {
	text    string // as a program would be handed it
	pattern string // the same, its quoted glob characters hidden
	at      wordSeat
	name    string // of the command
	dir     string // where cd or -C went before it, as written
	sure    surety
}

// eachShellWord yields the words of a shell string twice: as a POSIX shell forms them (quotes removed and joined,
// escapes undone, once more inside what is a shell string again), and split at everything that may end a path for
// another program (quotes and <>()= too).
func eachShellWord(s string, yield func(shellWord)) {
	s = withoutProse(s)
	text := &shellText{raw: s}
	l := &shellLexer{yield: yield, command: true, text: text, where: whereabouts{only: true, calm: true}}
	l.run(s)
	if other := otherSpelling(s); other != s {
		in := &shellLexer{yield: yield, command: true, text: &shellText{raw: other}, base: -1}
		in.run(other)
	}
	for token := range strings.FieldsFuncSeq(text.blanked(s), isBlank) {
		if kind, _ := readScheme(token); kind == schemeOther {
			continue
		}
		if substitution.MatchString(token) {
			continue
		}
		eachPiece(token, func(w string) {
			if w != token || strings.IndexByte(w, '\\') >= 0 {
				yield(shellWord{text: w, dir: l.where.dir})
			}
		})
	}
}

// pieceEnds end a path for some program. A ${...} stays whole.
const pieceEnds = "'\"`<>()=;|&,{}[]"

// eachPiece splits a token. What follows a substitution, and begins with a slash, starts from wherever that leads: mostly
// the working directory, $(pwd)/../x.
func eachPiece(token string, yield func(string)) {
	begin := 0
	piece := func(end int) {
		if w := token[begin:end]; w != "" {
			if quoted := begin > 1 && token[begin-2] == '('; isEscape(w) || strings.Trim(w, "/") == "" && !quoted {
				return // '/' is a character, ('/') an argument, \; no path
			}
			yield(w)
			if w[0] == '/' && endsValue(strings.TrimRight(token[:begin], "'\"")) {
				yield("." + w)
			}
		}
	}
	for i := 0; i < len(token); i++ {
		if token[i] == '$' && i+1 < len(token) && token[i+1] == '{' {
			if _, _, n := dollarName(token[i:]); n > 0 {
				i += n - 1
				continue
			}
		}
		if strings.IndexByte(pieceEnds, token[i]) >= 0 {
			piece(i)
			begin = i + 1
		}
	}
	piece(len(token))
}

// endsValue reports text that ends with a substitution or a variable in braces; the caller has cut off what closes the
// quotes around it.
func endsValue(s string) bool { return s != "" && strings.IndexByte(")`}", s[len(s)-1]) >= 0 }

// prefixes are words behind which the next one is a command again.
var prefixes = wordSet("sudo doas env exec nohup time timeout stdbuf setsid nice ionice xargs then do else if while until command builtin { !")

// boxes run what follows in a container, which has paths of its own.
var boxes = wordSet("docker podman nerdctl")

// proseFlags say that the next word is text, and so are the words of proseCommands.
var (
	proseFlags    = wordSet("-m -am --message --title --body --description --notes --subject --comment")
	proseCommands = wordSet("echo printf")
)

// codeFlags say that the next element of an array is a program.
var codeFlags = wordSet("-c -lc -ic -ec -xc -cl -ce -cx -lic -ilc -e -E -S -p -r -x --command --eval --exec --execute --print eval")

// shellFlags say that the next word is a shell string, unless the command is one of languages.
var (
	shellFlags = wordSet("-c -lc -ic -ec -xc -cl -ce -cx -lic -ilc --command -S eval watch trap ssh")
	languages  = regexp.MustCompile(`^(?:python|pypy|node|deno|bun|perl|ruby|php|lua|R|Rscript|awk|gawk|mawk|sed|psql|mysql|sqlite3|duckdb)[0-9.]*$`)
)

// slashWords are commands to which a slash by itself, as an operand, is a character.
var slashWords = wordSet("echo printf expr tr say test [ let")

// deleteCommands take away what they are given.
var deleteCommands = wordSet("rm rmdir mv shred unlink srm trash git-clean find-delete")

// findDeletes are the actions of find that do.
var findDeletes = regexp.MustCompile(`\s-(?:delete\b|(?:exec|execdir|ok)\s+(?:rm|mv|shred|unlink)\b)`)

// makers are commands whose operands are names of files, whether or not they are there.
var makers = wordSet("touch mkdir tee cp mv ln install truncate mkfifo")

// remotes are commands that take host:path.
var (
	remotes  = wordSet("scp rsync sftp")
	boxed    = wordSet("kubectl oc docker podman nerdctl")
	isAtHost = regexp.MustCompile(`^(?:[\w.-]+@)?[\w.-]{2,}:`)
	isInBox  = regexp.MustCompile(`^(?:[\w-]+/)?[\w-][\w.-]*:`)
)

// substitution is sed's, in quotes: its delimiter ends no path.
var substitution = regexp.MustCompile(`^['"][0-9,$/]*s([|#,!:@])[^'"]*['"]$`)

type shellLexer struct {
	yield   func(shellWord)
	word    strings.Builder
	pattern strings.Builder
	open    bool // a word has begun
	quoted  bool // all of it stands in quotes
	command bool // the next word is in command position
	escaped bool // a blank in it
	written bool // the next word stands after a redirection
	level   int
	at      int // in the string that is run
	begin   int // of the word
	base    int // of that string in the whole one, -1 where it does not stand there as it is
	cmd     shellCommand
	where   whereabouts
	text    *shellText
}

// start begins a word.
func (l *shellLexer) start(quoted bool) {
	if !l.open {
		l.begin, l.quoted = l.at, true
	}
	l.open, l.quoted = true, l.quoted && quoted
}

func (l *shellLexer) put(c byte, quoted bool) {
	hide := quoted && strings.IndexByte(metas, c) >= 0 && !(c == '{' && strings.HasSuffix(l.word.String(), "$"))
	l.start(quoted)
	l.word.WriteByte(c)
	if hide {
		l.pattern.WriteRune(hidden + rune(c))
		return
	}
	l.pattern.WriteByte(c)
}

func (l *shellLexer) end() {
	if !l.open {
		return
	}
	w := shellWord{text: l.word.String(), pattern: l.pattern.String(), dir: l.where.dir, sure: l.where.sure, name: l.cmd.name}
	switch {
	case l.written:
		w.at = seatWritten
		l.cmd.redirected = true
	case l.command && l.cmd.prefixed && strings.HasPrefix(w.text, "-"):
		l.cmd.vague = true // the next word is its value, or the command
	case l.command && l.cmd.vague && (l.cmd.last == "-o" || l.cmd.last == "-a" || strings.HasPrefix(l.cmd.last, "--output")): // time -o FILE
	case l.command && l.cmd.vague, findRuns[l.cmd.last]:
		w.at = seatMaybe
	case l.command:
		w.at = seatCommand
	}
	if l.command && !l.written && !strings.HasPrefix(w.text, "-") {
		l.cmd.enter(w.text, l.text)
	}
	l.cmd.more(w.text, l.written)
	if l.cmd.name == "find-delete" && l.cmd.last == "find" && strings.HasPrefix(w.text, "-") {
		l.yield(shellWord{text: ".", dir: l.where.dir, sure: l.where.sure, name: l.cmd.name}) // where it begins by itself
	}
	if !l.apart(w) {
		l.yield(w)
		l.inner(w)
		if raw := l.source(); raw != "" && l.alone() && strings.Trim(raw, `"'`) == w.text && !strings.ContainsAny(w.text, pieceEnds+"\\$ \t\n") {
			l.blank(l.begin, l.at) // nothing is left to be found in it
		}
	}
	if l.cmd.last == "-C" {
		l.where.move(w.text, sureNot)
	}
	switch {
	case l.written, l.command && (prefixes[w.text] || strings.IndexByte(w.text, '=') > 0 || w.at == seatPlain && strings.HasPrefix(w.text, "-")):
	case l.command && l.cmd.vague && (l.cmd.last != "" && l.cmd.last[0] == '-' || isDuration(w.text)):
	case l.command && l.cmd.prefixed && isDuration(w.text):
	default:
		l.command = false
	}
	l.written, l.cmd.last = false, w.text
	l.word.Reset()
	l.pattern.Reset()
	l.open, l.escaped = false, false
}

// endName puts braces around the name of a variable that a quote ends: $X”y is not $Xy.
func (l *shellLexer) endName() {
	for _, b := range []*strings.Builder{&l.word, &l.pattern} {
		w := b.String()
		tail := w[max(0, len(w)-64):]
		i := strings.LastIndexByte(tail, '$')
		if i < 0 || i+1 == len(tail) || strings.ContainsFunc(tail[i+1:], func(r rune) bool { return r >= 0x80 || !isLetter(byte(r)) && !isDigit(byte(r)) && r != '_' }) {
			continue
		}
		i += len(w) - len(tail)
		closed := w[:i] + "${" + w[i+1:] + "}"
		b.Reset()
		b.WriteString(closed)
	}
}

// inner looks at a word that holds several: a shell string, or a text of another language.
func (l *shellLexer) inner(w shellWord) {
	if !hasBlank(w.text) && !(shellFlags[l.cmd.last] && strings.ContainsAny(w.text, ";&|\n")) || l.level >= maxShells {
		return
	}
	shell := l.escaped || shellFlags[l.cmd.last] && !languages.MatchString(l.cmd.name) || strings.Contains(w.text, "$(") || strings.IndexByte(w.text, '`') >= 0
	l.within(w.text, shell)
}

// within runs a text inside this one.
func (l *shellLexer) within(s string, shell bool) {
	in := &shellLexer{command: true, level: l.level + 1, text: l.text, base: -1, where: whereabouts{dir: l.where.dir, sure: l.where.sure}, yield: func(w shellWord) {
		if !shell {
			w.pattern = "" // not written out
		}
		if shell || strings.Trim(w.text, "/~") != "" { // a division, a match of awk
			l.yield(w)
		}
	}}
	in.cmd.inCode = !shell
	in.run(s)
}

// chdir is where cd goes from dir.
func chdir(dir, to string) string {
	if dir == "" || to == "" || strings.IndexByte("/~$", to[0]) >= 0 {
		return to
	}
	return dir + "/" + to
}

// filters are what a text may be piped to without being run or taken for names.
var filters = wordSet("tee cat grep egrep fgrep rg head tail wc sort uniq tr cut less more jq base64 md5sum sha256sum pbcopy clip fold nl column bc")

// feeds reports a shell string that pipes into anything but filters, or substitutes a process.
func feeds(s string) bool {
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && quote != '\'':
			i++
		case quote == '$' && c == '\'':
			quote = 0
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '$' && i+1 < len(s) && s[i+1] == '\'':
			quote = '$'
			i++
		case c == '\'' || c == '"':
			quote = c
		case (c == '<' || c == '>') && i+1 < len(s) && s[i+1] == '(':
			return true
		case c == '|' && i+1 < len(s) && s[i+1] == '|':
			i++
		case c == '|':
			rest := strings.TrimLeft(s[i+1:], "& \t\r\n")
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= 0x80 || !isLetter(byte(r)) && !isDigit(byte(r)) })
			if end < 0 {
				end = len(rest)
			}
			if !filters[rest[:end]] || end < len(rest) && !isBlank(rune(rest[end])) && strings.IndexByte(";|&)", rest[end]) < 0 {
				return true
			}
			i = len(s) - len(rest) + end - 1
		}
	}
	return false
}

// isEscape reports a word that begins with an escaped character, \; or \.\./: a backslash is no separator to a shell.
func isEscape(w string) bool {
	return w != "" && w[0] == '\\' && (strings.Trim(w, `\`) == "" || !isLetter(w[1]) && !isUNC(w))
}

func (l *shellLexer) run(s string) {
	l.text.piped = l.text.piped || feeds(s) || runsText.MatchString(s)
	l.text.odd = l.text.odd || redefines.MatchString(s)
	l.text.alone = l.level == 0 && printsOnly.MatchString(s)
	l.text.finds = l.text.finds || findDeletes.MatchString(s)
	for i := 0; i < len(s); i++ {
		c := s[i]
		l.at = i
		switch {
		case isBlank(rune(c)):
			l.end()
			if c == '\n' {
				l.over("\n", 0)
			}
		case strings.IndexByte(";|&()`", c) >= 0:
			l.end()
			if c == '&' && (i > 0 && (s[i-1] == '>' || s[i-1] == '<') || i+1 < len(s) && s[i+1] == '>') {
				continue // of a redirection
			}
			before := byte(0)
			if i > 0 {
				before = s[i-1]
			}
			sep := separator(s[i:])
			l.over(sep, before)
			i += len(sep) - 1
		case c == '<' || c == '>':
			l.end()
			l.written = true
			if i+1 < len(s) && s[i+1] == '(' {
				l.written = false
			}
		case c == '\\' && i+1 < len(s):
			l.endName()
			i++
			if s[i] != '\n' {
				l.escaped = l.escaped || isBlank(rune(s[i]))
				l.put(s[i], true)
				l.quoted = false
			}
		case c == '$' && i+1 < len(s) && s[i+1] == '\'':
			l.endName()
			i += l.ansi(s[i+2:]) + 1
		case c == '$' && i+1 < len(s) && s[i+1] == '"': // translated, the rest as in quotes
		case c == '$' && arithmetic.MatchString(s[i:]):
			i += len(arithmetic.FindString(s[i:])) - 1
			l.put('0', false)
		case c == '\'':
			l.start(true)
			l.endName()
			j := strings.IndexByte(s[i+1:], '\'')
			if j < 0 {
				j = len(s) - i - 1
			}
			for _, b := range []byte(s[i+1 : i+1+j]) {
				l.put(b, true)
			}
			i += j + 1
		case c == '"':
			l.endName()
			i += l.double(s[i+1:])
			l.endName()
		default:
			l.put(c, false)
		}
	}
	l.at = len(s)
	l.end()
	l.over("", 0)
}

// double reads a "..." string and returns how many bytes it took after the opening quote.
func (l *shellLexer) double(s string) int {
	l.start(true)
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return i + 1
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\\"$`\n", s[i+1]) >= 0:
			i++
			if s[i] != '\n' {
				l.put(s[i], true)
			}
		default:
			l.put(s[i], true)
		}
	}
	return len(s)
}

// ansi reads a $'...' string, escapes decoded, and returns how many bytes it took after the opening quote.
func (l *shellLexer) ansi(s string) int {
	l.start(true)
	for i := 0; i < len(s); {
		if s[i] == '\'' {
			return i + 1
		}
		if s[i] != '\\' || i+1 >= len(s) {
			l.put(s[i], true)
			i++
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(s[i:], '\'')
		switch {
		case err == nil && multibyte:
			for _, b := range []byte(string(r)) {
				l.put(b, true)
			}
		case err == nil:
			l.put(byte(r), true)
		default:
			// \x2 and \57 are shorter than Go writes them.
			n, v := shortEscape(s[i+1:])
			l.put(v, true)
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
