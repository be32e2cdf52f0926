package shell

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
)

// ReadWindows reads a shell string as cmd and as PowerShell do: only the server knows which of the two gets it, or a shell that [Read] reads.
// Both read every text. A word with blanks in it is read as commands as well, since what a program makes of it is never certain.
// getenv returns the variables whose values anyone may be told.
func ReadWindows(s string, depth int, work *budget.Budget, getenv func(name string) string) []*Reader {
	var list []*Reader
	for _, d := range []dialect{inCmd, inPowerShell} {
		r := &Reader{work: work, most: depth, only: true, value: make(map[string][]string)}
		w := &windows{parser: parser{Reader: r}, getenv: getenv, vars: make(map[string][]string)}
		r.deeper, r.where.drives, r.where.native = w.deeper, true, true
		w.nested(d, s)
		for i := range r.Items {
			item := &r.Items[i]
			item.Course.Lost = r.roams && item.Course.Sure == SureNot
			if item.Kind == UsePrint && item.Captured {
				item.Kind = UsePath
			}
		}
		list = append(list, r)
	}
	return list
}

// dialect is how one of the shells of Windows reads. Its text begins the names that the table has for this shell alone.
type dialect string

const (
	inCmd        dialect = "cmd:"
	inPowerShell dialect = "ps:"
)

// windows reads commands of one dialect.
type windows struct {
	parser
	dialect dialect
	text    string // what is read
	getenv  func(name string) string
	vars    map[string][]string // what the string gives variables, by names in lower case
	in      scope
	line    line
	last    []token // the words of the command before
	runs    bool    // the latest command is run, also if it begins with a value
	set     string  // the variable that the words of the command are values of
	adds    bool    // they are added to what it held, or, in cmd, they may be a command
}

// A token is one word with everything that it may become.
type token struct {
	texts      []string
	begin, end int  // in the text that is read
	quoted     bool // it begins with a quote
	value      bool // it is a value, and no command: PowerShell
	unknown    bool // it holds a variable that may have any value
}

func (t *token) text() string { return t.texts[0] }

// line collects the words of one command.
type line struct {
	words   []token
	targets []token // of redirections
	reads   []bool  // whether each of them is read from
	now     token
	open    bool   // a word has begun
	rest    []byte // what is to be added to every text of the word
	target  byte   // the sign before the word: <, >, or 0
	runs    bool   // what follows is run, also if it is a value: & 'x'
}

// start begins a word at i, unless one has begun.
func (l *line) start(i int) {
	if !l.open {
		l.now, l.open = token{texts: []string{""}, begin: i}, true
	}
}

const (
	maxTexts  = maxExpanded // texts that a single word may become, and that a variable may hold
	maxInside = 256         // bytes in which a variable, or what assigns one, has to end
)

// head returns the beginning of a text in which a variable ends, or none begins.
func head(s string) string { return s[:min(len(s), maxInside)] }

// put adds a text to the word, or each of several.
func (w *windows) put(i int, values ...string) {
	w.line.start(i)
	w.line.now.unknown = w.line.now.unknown || slices.Contains(values, "")
	if len(values) == 1 {
		w.line.rest = append(w.line.rest, values[0]...)
		return
	}
	w.flush()
	now := &w.line.now
	var list []string
	for _, begin := range now.texts {
		for _, value := range values {
			if s := begin + value; !slices.Contains(list, s) && w.spend(len(s)) {
				list = append(list, s)
			}
		}
	}
	if len(list) == 0 || len(list) > maxTexts {
		w.Fault = "more words than can be judged"
		return
	}
	now.texts = list
}

// flush adds what is to be added to every text of the word.
func (w *windows) flush() {
	l := &w.line
	if len(l.rest) == 0 || !w.spend(len(l.now.texts)*len(l.rest)) {
		return
	}
	for k := range l.now.texts {
		l.now.texts[k] += string(l.rest)
	}
	l.rest = l.rest[:0]
}

// maxSoFar is the length of the longest word that is looked at before it ends.
const maxSoFar = 64

// soFar returns the word that has begun, in lower case; "" if it is long.
func (w *windows) soFar() string {
	l := &w.line
	if !l.open || len(l.now.text())+len(l.rest) > maxSoFar {
		return ""
	}
	return strings.ToLower(l.now.text() + string(l.rest))
}

// isEmpty reports a word that has begun and holds nothing so far.
func (l *line) isEmpty() bool { return l.open && l.now.text() == "" && len(l.rest) == 0 }

// drop takes back the word that has begun.
func (l *line) drop() { l.open, l.rest = false, l.rest[:0] }

// redirect reads the sign of a redirection at i, and returns where the sign ends. What stands behind it is the target, unless that is a handle.
func (l *line) redirect(s string, i int) int {
	l.target = s[i]
	if i+1 < len(s) && s[i+1] == s[i] {
		i++
	}
	if i+1 < len(s) && s[i+1] == '&' {
		i, l.target = i+2, 0
	}
	return i
}

// end ends the word before i.
func (w *windows) end(i int) {
	l := &w.line
	if !l.open {
		return
	}
	w.flush()
	l.now.end, l.open = i, false
	if l.target == 0 {
		l.words = append(l.words, l.now)
		return
	}
	l.targets, l.reads, l.target = append(l.targets, l.now), append(l.reads, l.target == '<'), 0
}

// finish ends the command before i, which command reads.
func (w *windows) finish(i int, command func(words []token)) {
	w.end(i)
	l := w.line
	w.line, w.runs = line{}, l.runs
	if w.Fault != "" || len(l.words)+len(l.targets) == 0 {
		return
	}
	w.where.moved = false
	if command(l.words); len(l.words) > 0 {
		w.last = l.words
	}
	for k, t := range l.targets {
		item := Item{Use: Use{Role: access.Write, Known: true}, Position: Written}
		if l.reads[k] {
			item.Use, item.Position, item.Redirect = Use{Role: access.Read, Known: true}, Plain, true
		}
		w.keep(item, t)
	}
}

// keep keeps every text of a word.
func (w *windows) keep(item Item, t token) {
	for _, text := range t.texts {
		item.Text, item.Pattern = text, text
		w.use(item)
	}
}

// between remembers the sign between two commands.
func (w *windows) between(sign string) {
	switch sign {
	case "&&":
		w.where.chance = w.where.chance || !w.where.moved
	case "&", ";", "\n":
		w.where.boundary()
	default:
		w.where.sure, w.in.maybe = SureNot, true
	}
}

// paths keeps words of which each may be a path.
func (w *windows) paths(words []token) {
	for _, t := range words {
		w.keep(Item{Use: Use{Kind: useWord, Role: access.Read}}, t)
	}
}

// command reads the words of a simple command. The first is the name of a program. To cmd a word that begins with a slash is an option,
// which takes the place of no operand.
func (w *windows) command(words []token) {
	name := w.nameOf(words[0].text())
	goes := name == "cd" || name == "pushd" // to where a slash leads
	var list, slashes []token
	for i, t := range words {
		if i > 0 && w.dialect == inCmd && strings.HasPrefix(t.text(), "/") && (!goes || strings.EqualFold(t.text(), "/d")) {
			slashes = append(slashes, t)
		} else {
			list = append(list, t)
		}
	}
	w.paths(slashes)
	if name == "cd" && w.dialect == inCmd && len(list) > 2 { // a name with blanks
		to := strings.Trim(w.rest(list[1:]), `"`)
		w.where.move(chars.ToSlash(to), SureNot)
		w.roams, w.only = true, false
		w.use(Item{Use: Use{Kind: UseCd, Role: access.Read, Known: true}, Word: Word{Text: to}, Whole: true})
		return
	}
	if name == "cd" {
		list = slices.DeleteFunc(list, func(t token) bool {
			return strings.HasPrefix(t.text(), "-") && !t.quoted || strings.EqualFold(t.text(), "/d") // of cmd
		})
		if len(list) == 1 {
			return // it prints where it is
		}
	}
	line := make([]Word, len(list))
	for i, t := range list {
		line[i] = Word{Text: t.text(), Pattern: t.text(), others: t.texts[1:]}
		switch {
		case i == 0:
			line[i].as = name
		case goes:
			line[i].as, line[i].loose = chars.ToSlash(t.text()), t.unknown
		case w.dialect == inPowerShell && strings.HasPrefix(t.text(), "-") && !t.quoted:
			line[i].as = strings.ToLower(t.text())
		}
	}
	w.simple(line, false, false, w.in)
	switch {
	case goes:
		for _, t := range list[1:] {
			w.roams = w.roams || t.unknown
			for _, text := range t.texts[1:] {
				w.where.move(chars.ToSlash(text), SureNot)
			}
		}
	case name == "cmd":
		w.runsCmd(words)
	case name == "powershell", name == "pwsh":
		w.runsPowerShell(words)
	}
}

// nameOf is by what the table knows a program.
func (w *windows) nameOf(text string) string {
	name := strings.ToLower(chars.ToSlash(text))
	base := BaseName(name)
	switch base {
	case "cmd", "powershell", "pwsh":
		return base
	}
	if strings.IndexByte(name, '/') >= 0 {
		return strings.TrimSuffix(strings.TrimSuffix(name, ".bat"), ".cmd")
	}
	switch base {
	case "cd", "chdir", "sl", "set-location":
		return "cd"
	case "pushd", "push-location":
		return "pushd"
	}
	if own := string(w.dialect) + base; windowsPrograms()[own] != nil {
		return own
	}
	return base
}

// rest returns what stands in a command from a word on: in cmd as it is written, in PowerShell the words.
func (w *windows) rest(words []token) string {
	if len(words) == 0 {
		return ""
	}
	if w.dialect == inCmd {
		return w.text[words[0].begin:words[len(words)-1].end]
	}
	var list []string
	for _, t := range words {
		list = append(list, t.text())
	}
	return strings.Join(list, " ")
}

// runsCmd reads what stands behind /c of cmd: as it is, and without the quotes around it.
func (w *windows) runsCmd(words []token) {
	for i, t := range words {
		text := strings.ToLower(t.text())
		if len(text) < 2 || text[0] != '/' || strings.IndexByte("ckr", text[1]) < 0 {
			continue
		}
		s := strings.TrimSpace(w.rest(words[i:]))
		s = strings.TrimSpace(s[min(2, len(s)):])
		w.nested(inCmd, s)
		if bare, ok := strings.CutPrefix(s, `"`); ok {
			if end := strings.LastIndexByte(bare, '"'); end >= 0 {
				bare = bare[:end] + bare[end+1:]
			}
			w.nested(inCmd, bare)
		}
		return
	}
}

// runsPowerShell reads every word of a PowerShell that may be a script, and all that follow it.
func (w *windows) runsPowerShell(words []token) {
	encoded := false
	for i, t := range words[1:] {
		for _, text := range t.texts {
			if encoded {
				text = decoded(text)
			}
			w.nested(inPowerShell, text)
		}
		option := strings.ToLower(strings.TrimLeft(t.text(), "-/"))
		if len(option) > 0 && strings.HasPrefix("command", option) {
			w.nested(inPowerShell, w.rest(words[i+2:]))
		}
		encoded = len(option) > 0 && (strings.HasPrefix("encodedcommand", option) || option == "ec")
	}
}

// decoded returns the script in an argument of -EncodedCommand.
func decoded(s string) string {
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return ""
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
	}
	return string(utf16.Decode(units))
}

// nested reads a text that a command runs, in a shell of its own.
func (w *windows) nested(d dialect, s string) {
	if w.level == maxShells {
		w.Fault = fmt.Sprintf("more than %d shell strings in each other", maxShells)
	}
	if !w.spend(len(s)) {
		return
	}
	outer, where := *w, w.where
	w.dialect, w.text, w.line, w.last, w.set = d, s, line{}, nil, ""
	w.level++
	if d == inCmd {
		w.cmd()
	} else {
		w.powershell()
	}
	w.level--
	*w, w.where = outer, where
}

// deeper reads a word that may be commands: it has blanks, and is not certain to be text.
func (w *windows) deeper(item *Item) {
	text := item.Text[min(item.At, len(item.Text)):]
	if w.level < maxShells && chars.HasBlank(text) && (item.Kind == UsePath || item.Kind == UsePrint && item.Captured) && text != strings.TrimSpace(w.text) {
		w.nested(w.dialect, text)
	}
}
