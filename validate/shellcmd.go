package validate

import (
	"regexp"
	"strings"
)

// shellCommand is what a lexer knows of the command it is in.
type shellCommand struct {
	name       string // without its directory
	last       string // word
	operand    string // the latest
	operands   int
	prefixed   bool // sudo, env, xargs stand before it
	vague      bool // and options of theirs, so that its name is only likely
	assigned   bool // so does an assignment
	changes    bool // of what cd goes by
	climbs     bool // an operand is not below the working directory
	redirected bool
	copies     bool // docker cp, kubectl cp
	inCode     bool // it is none: the text is of another language
	box        boxState
	inside     bool // the latest word is a container's
	search     heldPattern
}

// findRuns make the next word of find a command.
var findRuns = wordSet("-exec -execdir -ok -okdir")

// enter names the command.
func (c *shellCommand) enter(w string, text *shellText) {
	if strings.IndexByte(w, '=') > 0 {
		c.assigned = true
		c.changes = c.changes || strings.HasPrefix(w, "CDPATH")
		return
	}
	if c.vague && (deleteCommands[c.name] || makers[c.name]) || strings.Trim(w, "/") == "" {
		return
	}
	c.name, c.copies, c.operands, c.operand = baseName(w), false, -1, ""
	if c.name == "find" && text.finds {
		c.name = "find-delete"
	}
	c.box = boxState{}
	if !c.vague && boxed[c.name] {
		c.box.stage = boxNone + 1
	}
	c.prefixed = c.prefixed || prefixes[w]
}

// more takes in a word.
func (c *shellCommand) more(w string, written bool) {
	c.inside = false
	if written || c.name == "" {
		return
	}
	if c.operands < 0 {
		c.operands = 0 // the command itself
		return
	}
	switch {
	case c.name == "git" && w == "clean", c.name == "git" && w == "grep" && c.operands == 0:
		c.name = "git-" + w
	case c.name == "printf" && w == "-v" && c.operands == 0:
		c.name = "printf-v"
	}
	c.copies = c.copies || w == "cp"
	c.inside = c.box.next(c.name, w, c.last)
	if w == "" {
		c.operands, c.operand = c.operands+1, w
	} else if !strings.HasPrefix(w, "-") || w == "-" {
		c.operands, c.operand = c.operands+1, w
		c.climbs = c.climbs || climbs(w) || w[0] == '/' || w[0] == '$' || w[0] == '~'
	} else if c.name == "cd" && w != "-P" && w != "-L" && w != "-e" && w != "-@" && w != "--" {
		c.redirected = true // whatever it does
	}
}

var duration = regexp.MustCompile(`^[0-9.]+[smhd]?$`)

// isDuration reports an operand of timeout, before the command.
func isDuration(w string) bool { return len(w) < 16 && duration.MatchString(w) }

// whereabouts is where a shell string has gone.
type whereabouts struct {
	dir    string // every directory since the beginning, as cd names them, the latest last; NUL between
	sure   surety
	firm   bool   // the latest is where the rest runs even where a command failed in between
	only   bool   // nothing but cd and mkdir has been seen
	calm   bool   // nothing has been seen that changes what cd does
	before string // the separator in front of the command
	chance bool   // the next command runs only where a mkdir has succeeded
	subs   int    // open substitutions
	parens []bool // open parentheses, and which of them are substitutions
	tick   bool   // a backquote is open
}

// course is where a shell string has gone: every directory since its beginning, the latest last, NUL between.
type course struct {
	dir  string
	sure surety // that the latest is where the word is read from
}

// surety is whether the latest directory is where the rest of a shell string runs.
type surety uint8

const (
	sureNot   surety = iota
	sureThere        // it is, where there is such a directory
	sureDone         // it is, or nothing runs: cd x && y
)

// changesShell are commands after which cd may not be what it was, and words that begin what may not run at all.
var changesShell = wordSet("alias unalias export declare typeset local readonly unset setopt shopt eval source . trap exec function enable builtin command hash bind " +
	"pushd popd dirs exit return break continue shift if then elif else fi for while until do done case esac select { } ! [[ (( coproc time emulate disable autoload")

// after reads the command that ends at a separator.
func (w *whereabouts) after(c *shellCommand, sep string) {
	if w.sure == sureDone && sep != "&&" && sep != "|" && sep != "" {
		w.sure = sureNot
		if w.firm {
			w.sure = sureThere
		}
	}
	runs := w.before == "" || w.before == "&&" || w.before == ";" || w.before == "\n" || w.before == "("
	defer func() { w.before = sep }()
	plain := runs && c.operands == 1 && c.operand != "" && !c.redirected && !c.assigned && !c.prefixed && !c.inCode && c.operand[0] != '-' && !strings.ContainsAny(c.operand, "*?[]{}$~`!#\\ ")
	along := sep == "&&" || sep == ";" || sep == "\n"
	switch {
	case c.name == "" && !c.redirected && !c.changes && (sep == "(" || along):
	case c.name == "cd" && c.operands > 0:
		sure, known := sureNot, w.dir == "" || w.sure != sureNot
		w.firm = w.only && plain && along && !w.chance
		switch {
		case known && w.calm && plain && sep == "&&":
			sure = sureDone
		case w.firm:
			sure = sureThere
		}
		w.only = w.firm
		w.move(c.operand, sure)
	case c.name == "pushd" && c.operands > 0:
		w.move(c.operand, sureNot)
		w.only, w.calm = false, false
	case c.name == "mv" && c.climbs && w.dir != "":
		w.rise()
	case c.name == "popd":
		w.sure, w.only = sureNot, false
	case along && (c.name == "mkdir" && plain || c.name == "set" && !c.prefixed):
		w.chance = w.chance || sep == "&&"
	case c.changes || c.prefixed || changesShell[c.name] || sep == "(" || strings.ContainsAny(c.name, "$`*?{}()=\\"):
		w.only, w.calm = false, false
	default:
		w.only = false
	}
	w.chance = w.chance && sep == "&&"
	if sep == "&" { // which takes all that && has joined into the background
		w.sure, w.only, w.firm = sureNot, false, false
	}
	if sep == ")" || sep == "`" {
		w.sure, w.only, w.calm = sureNot, false, false
	}
}

const maxMoves = 8

// move goes to a directory from the latest.
func (w *whereabouts) move(to string, sure surety) {
	if len(w.dir) > maxTail {
		w.dir = "" // nothing is there
	}
	list := strings.Split(w.dir, "\x00")
	list = append(list, chdir(list[len(list)-1], to))
	if list[0] == "" {
		list = list[1:]
	}
	w.dir, w.sure = strings.Join(list[max(0, len(list)-maxMoves):], "\x00"), sure
}

// rise keeps every directory above the latest as well: it may have been moved there.
func (w *whereabouts) rise() {
	latest := w.dir[strings.LastIndexByte(w.dir, 0)+1:]
	for range maxMoves {
		i := strings.LastIndexByte(strings.TrimRight(latest, "/"), '/')
		if i <= 0 {
			break
		}
		latest = latest[:i]
		w.dir = latest + "\x00" + w.dir
	}
	w.sure, w.only, w.calm = sureNot, false, false
}

// nest follows parentheses and backquotes: what is printed in a substitution is words of the command around it.
func (w *whereabouts) nest(sep string, before byte) {
	switch sep {
	case "(":
		sub := before == '$' || before == '<' || before == '>'
		w.parens = append(w.parens, sub)
		if sub {
			w.subs++
		}
	case ")":
		if n := len(w.parens); n > 0 {
			if w.parens[n-1] {
				w.subs--
			}
			w.parens = w.parens[:n-1]
		}
	case "`":
		w.tick = !w.tick
	}
}

// substituted reports a place in a substitution.
func (w *whereabouts) substituted() bool { return w.subs > 0 || w.tick }

// shellText is what holds for a shell string as a whole.
type shellText struct {
	raw    string
	piped  bool // what it prints may be run, or taken for names
	odd    bool // a command may not be what its name says
	alone  bool // it is one command that prints, and nothing else
	finds  bool // find takes away what it finds
	blanks [][2]int
}

// blanked is the text without what is known to be no path of this machine.
func (t *shellText) blanked(s string) string {
	if len(t.blanks) == 0 {
		return s
	}
	b := []byte(s)
	for _, span := range t.blanks {
		for i := span[0]; i < min(span[1], len(b)); i++ {
			b[i] = ' '
		}
	}
	return string(b)
}

// blank marks a part of the word that has just ended.
func (l *shellLexer) blank(begin, end int) {
	if l.base >= 0 && begin < end {
		l.text.blanks = append(l.text.blanks, [2]int{l.base + begin, l.base + end})
	}
}

// source is the word as it is written, "" in a text that is not written as it is.
func (l *shellLexer) source() string {
	if l.base < 0 {
		return ""
	}
	return l.text.raw[l.base+l.begin : min(l.base+l.at, len(l.text.raw))]
}

// alone reports a word with blanks or the ends of commands around it.
func (l *shellLexer) alone() bool {
	ends := func(c byte) bool { return isBlank(rune(c)) || strings.IndexByte(";&|", c) >= 0 }
	begin, end := l.base+l.begin, l.base+l.at
	return (begin == 0 || ends(l.text.raw[begin-1])) && (end >= len(l.text.raw) || ends(l.text.raw[end]))
}

// separator reads the operator at the start of s.
func separator(s string) string {
	for _, two := range []string{"&&", "||", ";;", "|&"} {
		if strings.HasPrefix(s, two) {
			return two
		}
	}
	return s[:1]
}

// over ends a command at a separator; before is the byte in front of it.
func (l *shellLexer) over(sep string, before byte) {
	l.letGo()
	if c := &l.cmd; c.name == "cd" && c.operands <= 0 && !c.inCode {
		l.yield(shellWord{text: "~", dir: l.where.dir, name: "cd"}) // home
	}
	l.where.after(&l.cmd, sep)
	l.where.nest(sep, before)
	l.cmd = shellCommand{inCode: l.cmd.inCode}
	l.command = true
}

// apart handles words that are no paths of this machine, or only in part. It reports whether that was all.
func (l *shellLexer) apart(w shellWord) bool {
	c := &l.cmd
	switch {
	case w.at == seatWritten:
		return false
	case l.text.odd:
		return isEscape(w.text)
	case l.isSlash(w.text):
		return true
	case c.inside:
		return l.aside(w.text)
	case c.box.takesEnv(c.last):
		return l.aside(w.text)
	case l.volume(w):
		return true
	case remotes[c.name] && !c.vague && isAtHost.MatchString(w.text), boxed[c.name] && !c.vague && c.copies && isInBox.MatchString(w.text):
		l.blank(l.begin, l.at)
		return true
	case l.hold(w):
		return true
	case w.at == seatPlain && l.isProse(w.text):
		switch {
		case hasBlank(w.text) && l.aside(w.text):
			if !proseCommands[c.name] {
				l.yield(w) // a flag of that name may take a file
			}
			return true
		case l.quoted && l.text.alone && proseCommands[c.name]:
			return l.aside(w.text)
		}
	}
	return false
}

// aside drops a word but for the substitutions in it, and reports whether it could.
func (l *shellLexer) aside(w string) bool {
	if first, _, ok := strings.Cut(w, "\n"); ok && strings.HasPrefix(first, "$(cat <<") && !strings.ContainsAny(first, "|;&>") {
		l.blank(l.begin, l.at) // how messages of several lines are written
		return true
	}
	spans, ok := substitutions(w)
	if !ok || l.level >= maxShells {
		return false
	}
	for _, span := range spans {
		l.within(w[span[0]:span[1]], true)
	}
	raw := l.source()
	if spans, ok = substitutions(raw); ok {
		at := l.begin
		for _, span := range spans {
			l.blank(at, l.begin+span[0])
			at = l.begin + span[1]
		}
		l.blank(at, l.begin+len(raw))
	}
	return true
}

// substitutions finds $(...) and `...` in a text; ok is false where one does not end.
func substitutions(s string) (spans [][2]int, ok bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '`':
			j := strings.IndexByte(s[i+1:], '`')
			if j < 0 {
				return nil, false
			}
			spans = append(spans, [2]int{i, i + j + 2})
			i += j + 1
		case s[i] == '$' && i+1 < len(s) && s[i+1] == '(':
			depth, j := 0, i+1
			for ; j < len(s); j++ {
				if s[j] == '(' {
					depth++
				} else if s[j] == ')' {
					if depth--; depth == 0 {
						break
					}
				}
			}
			if j == len(s) {
				return nil, false
			}
			spans = append(spans, [2]int{i, j + 1})
			i = j
		}
	}
	return spans, true
}

// arithmetic is $((10 / 3)).
var arithmetic = regexp.MustCompile(`^\$\(\([\w\s+*/%<>=!&|?:,.$-]*\)\)`)

var (
	// redefines is what may give the name of a command another meaning.
	// $_ is the last word of the command before.
	redefines = regexp.MustCompile(`\(\s*\)|\b(?:alias(?:es)?|functions?|hash|enable|eval|fc)\b|\$\{?(?:_\b|BASH_)|![$*^:!]`)

	// printsOnly is one command that prints.
	printsOnly = regexp.MustCompile("^\\s*(?:echo|printf)\\s[^;&|<`$()\\n]*$")

	// runsText begins a command that may run, or take for names, what another has written.
	runsText = regexp.MustCompile(`(?:[;&|\n(]\s*)(?:\.|source|(?:ba|z|da|k)?sh|xargs|python[0-9.]*|node|perl|ruby)\s`)
)

// separatorFlags are the options of commands whose value is a character.
var separatorFlags = map[string]string{
	"cut": "d", "awk": "F", "gawk": "F", "mawk": "F", "perl": "F", "sort": "t", "join": "t", "column": "s", "seq": "s", "nl": "s",
	"paste": "d", "numfmt": "d", "xargs": "d", "read": "d", "mapfile": "d", "readarray": "d", "tr": "d",
}

// isSlash reports a slash that stands for itself, and what escaping leaves of one.
func (l *shellLexer) isSlash(w string) bool {
	if isEscape(w) || w == "IFS=/" {
		return true
	}
	if strings.Trim(w, "/") == "" && slashWords[l.cmd.name] {
		return true
	}
	return isSeparatorOf(l.cmd.name, l.cmd.last, w)
}

// isSeparatorOf reports a slash that an option of a program makes a character: cut -d / and cut -d/.
func isSeparatorOf(name, last, w string) bool {
	letter := separatorFlags[name]
	if letter == "" {
		return false
	}
	if w == "/" {
		return isBundle(last, letter) || last == "--delimiter" || last == "--field-separator"
	}
	return len(w) > 2 && w[len(w)-1] == '/' && isBundle(w[:len(w)-1], letter)
}

// isBundle reports short options that end with one.
func isBundle(w, letter string) bool {
	return len(w) > 1 && w[0] == '-' && strings.HasSuffix(w, letter) && strings.IndexFunc(w[1:], func(r rune) bool { return r >= 0x80 || !isLetter(byte(r)) }) < 0
}

// messengers are commands whose -m is a message.
var messengers = wordSet("git gh glab hg svn jj sl tea")

// dataFlags are options of curl whose value is sent, not opened, unless it begins with "@".
var dataFlags = wordSet("-d --data --data-raw --data-ascii --data-binary --json -H --header -A --user-agent")

// isProse reports a text that is neither run nor taken for paths, but for the substitutions in it.
func (l *shellLexer) isProse(w string) bool {
	c := &l.cmd
	switch {
	case l.escaped || c.inCode || c.vague && c.name != "echo":
		return false
	case c.last == "-m" || c.last == "-am":
		return messengers[c.name]
	case proseFlags[c.last]:
		return true
	case dataFlags[c.last]:
		return c.name == "curl" && w != "" && w[0] != '@' && hasBlank(w)
	}
	return proseCommands[c.name] && !c.vague && !l.text.piped && !l.where.substituted()
}
