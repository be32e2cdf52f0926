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
)

const maxShells = 4 // shells in shells: bash -c "..."

// shellWord is one word of a shell string.
type shellWord struct {
	text    string // as a program would be handed it
	pattern string // the same, its quoted glob characters hidden
	at      wordSeat
	name    string // of the command
	dir     string // where cd or -C went before it, as written
}

// eachShellWord yields the words of a shell string twice: as a POSIX shell forms them (quotes removed and joined,
// escapes undone, once more inside what is a shell string again), and split at everything that may end a path for
// another program (quotes and <>()= too).
func eachShellWord(s string, yield func(shellWord)) {
	l := &shellLexer{yield: yield, command: true, mounted: make(map[string]bool)}
	l.run(s)
	for token := range strings.FieldsFuncSeq(s, isBlank) {
		if kind, _ := readScheme(token); kind == schemeOther {
			continue
		}
		if substitution.MatchString(token) {
			continue
		}
		eachPiece(token, func(w string) {
			if (w != token || strings.IndexByte(w, '\\') >= 0) && !l.mounted[w] {
				yield(shellWord{text: w, dir: l.dir})
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
var prefixes = wordSet("sudo doas env exec nohup time nice xargs then do else if while until command builtin { !")

// boxes run what follows in a container, which has paths of its own.
var boxes = wordSet("docker podman nerdctl")

// proseFlags say that the next word is text, and so are the words of proseCommands.
var (
	proseFlags    = wordSet("-m -am --message --title --body --description --notes --subject --comment")
	proseCommands = wordSet("echo printf say")
)

// codeFlags say that the next element of an array is a program.
var codeFlags = wordSet("-c -lc -ic -ec -xc -cl -ce -cx -lic -ilc -e -E -S -p -r -x --command --eval --exec --execute --print eval")

// shellFlags say that the next word is a shell string, unless the command is one of languages.
var (
	shellFlags = wordSet("-c -lc -ic -ec -xc -cl -ce -cx -lic -ilc --command -S eval watch trap ssh")
	languages  = regexp.MustCompile(`^(?:python|pypy|node|deno|bun|perl|ruby|php|lua|R|Rscript|awk|gawk|mawk|sed|psql|mysql|sqlite3|duckdb)[0-9.]*$`)
)

// Commands to which a slash by itself is a character: the operands of slashWords, the values of short options of
// slashFlags (cut -d/).
var (
	slashWords = wordSet("echo printf expr tr say test [ let")
	slashFlags = regexp.MustCompile(`^-[dFtsS]/+$`)
)

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
	open    bool   // a word has begun
	command bool   // the next word is in command position
	escaped bool   // a blank in it
	written bool   // the next word stands after a redirection
	box     bool   // the command runs a container
	copies  bool   // docker cp, kubectl cp
	finds   bool   // find takes away what it finds
	piped   bool   // what it prints may be run, or taken for names
	name    string // of the command
	last    string // word
	dir     string // where cd went
	level   int
	mounted map[string]bool // paths inside containers
}

func (l *shellLexer) put(c byte, quoted bool) {
	hide := quoted && strings.IndexByte(metas, c) >= 0 && !(c == '{' && strings.HasSuffix(l.word.String(), "$"))
	l.open = true
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
	w := shellWord{text: l.word.String(), pattern: l.pattern.String(), dir: l.dir, name: l.name}
	switch {
	case l.written:
		w.at = seatWritten
	case l.command:
		w.at = seatCommand
	}
	if l.command {
		l.name, l.copies = baseName(w.text), false
		if l.name == "find" && l.finds {
			l.name = "find-delete"
		}
		l.box = boxes[l.name]
	}
	l.copies = l.copies || w.text == "cp"
	if l.name == "git" && w.text == "clean" {
		l.name = "git-clean"
	}
	if l.name == "find-delete" && l.last == "find" && strings.HasPrefix(w.text, "-") {
		l.yield(shellWord{text: ".", dir: l.dir, name: l.name}) // where it begins by itself
	}
	host, mounts := l.boxed(w.text)
	switch {
	case mounts && host != "":
		l.yield(shellWord{text: host, pattern: host, dir: l.dir})
	case mounts, l.isSlash(w.text):
	case remotes[l.name] && isAtHost.MatchString(w.text), boxed[l.name] && l.copies && isInBox.MatchString(w.text):
		l.mounted[w.text] = true
	default:
		l.yield(w)
	}
	if hasBlank(w.text) && l.level < maxShells && !l.isProse(w.text) {
		shell := l.escaped || shellFlags[l.last] && !languages.MatchString(l.name) || strings.Contains(w.text, "$(") || strings.IndexByte(w.text, '`') >= 0
		in := &shellLexer{command: true, level: l.level + 1, mounted: l.mounted, dir: l.dir, piped: l.piped, yield: func(w shellWord) {
			if !shell {
				w.pattern = "" // not written out
			}
			if shell || strings.Trim(w.text, "/") != "" { // a division
				l.yield(w)
			}
		}}
		in.run(w.text)
	}
	if (l.last == "cd" || l.last == "pushd") && l.name == l.last || l.last == "-C" {
		l.dir = chdir(l.dir, w.text)
	}
	if !prefixes[w.text] && strings.IndexByte(w.text, '=') <= 0 {
		l.command = false
	}
	l.written, l.last = false, w.text
	l.word.Reset()
	l.pattern.Reset()
	l.open, l.escaped = false, false
}

// chdir is where cd goes from dir.
func chdir(dir, to string) string {
	if dir == "" || to == "" || strings.IndexByte("/~$", to[0]) >= 0 {
		return to
	}
	return dir + "/" + to
}

// isProse reports a quoted text that is neither run nor taken for paths, unless it holds a substitution. A here-document
// in one is how long messages are written.
func (l *shellLexer) isProse(w string) bool {
	if l.escaped || !proseFlags[l.last] && (!proseCommands[l.name] || l.piped) {
		return false
	}
	if first, _, ok := strings.Cut(w, "\n"); ok && strings.HasPrefix(first, "$(cat <<") && !strings.ContainsAny(first, "|;&>") {
		return true
	}
	return !strings.Contains(w, "$(") && strings.IndexByte(w, '`') < 0
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
		case quote != 0:
			if c == quote {
				quote = 0
			}
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

// isSlash reports a slash that stands for itself, and what escaping leaves of one.
func (l *shellLexer) isSlash(w string) bool {
	if isEscape(w) {
		return true
	}
	return strings.Trim(w, "/") == "" && slashWords[l.name] && !l.written || slashFlags.MatchString(w) && l.name != "tar"
}

// isEscape reports a word that begins with an escaped character, \; or \.\./: a backslash is no separator to a shell.
func isEscape(w string) bool {
	return w != "" && w[0] == '\\' && (strings.Trim(w, `\`) == "" || !isLetter(w[1]) && !isUNC(w))
}

// boxed reports a word that maps a directory into a container, with the part of it that is this machine's.
func (l *shellLexer) boxed(w string) (host string, ok bool) {
	if !l.box {
		return "", false
	}
	target := ""
	switch {
	case l.last == "-w" || l.last == "--workdir":
		target = w
	case strings.HasPrefix(w, "--workdir="):
		target = w[len("--workdir="):]
	default:
		spec, isFlag := strings.CutPrefix(w, "--volume=")
		if !isFlag {
			if spec, isFlag = strings.CutPrefix(w, "-v"); isFlag && spec == "" {
				return "", false
			}
		}
		if !isFlag && l.last != "-v" && l.last != "--volume" {
			return "", false
		}
		from := 0
		if isDrive(spec) {
			from = 2
		} else if _, _, n := dollarName(spec); n > 0 {
			from = n // ${A:-x} has a colon of its own
		}
		i := strings.IndexByte(spec[from:], ':')
		if i < 0 {
			return spec, true
		}
		host = spec[:from+i]
		l.mounted[spec[from+i:]], l.mounted[spec[from+i+1:]] = true, true
		target, _, _ = strings.Cut(spec[from+i+1:], ":")
		w = spec
	}
	l.mounted[w], l.mounted[target], l.mounted[":"+target] = true, true, true
	return host, true
}

func (l *shellLexer) run(s string) {
	l.piped = l.piped || feeds(s)
	l.finds = l.finds || findDeletes.MatchString(s)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isBlank(rune(c)):
			l.end()
			if c == '\n' {
				l.command = true
			}
		case strings.IndexByte(";|&()`", c) >= 0:
			l.end()
			l.command = true
		case c == '<' || c == '>':
			l.end()
			was := l.command
			l.command, l.written = false, true
			if i+1 < len(s) && s[i+1] == '(' {
				l.command, l.written = was, false
			}
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				l.escaped = l.escaped || isBlank(rune(s[i]))
				l.put(s[i], true)
			}
		case c == '$' && i+1 < len(s) && s[i+1] == '\'':
			i += l.ansi(s[i+2:]) + 1
		case c == '\'':
			l.open = true
			j := strings.IndexByte(s[i+1:], '\'')
			if j < 0 {
				j = len(s) - i - 1
			}
			for _, b := range []byte(s[i+1 : i+1+j]) {
				l.put(b, true)
			}
			i += j + 1
		case c == '"':
			i += l.double(s[i+1:])
		default:
			l.put(c, false)
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
	l.open = true
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
