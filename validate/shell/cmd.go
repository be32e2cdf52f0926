package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
)

// This file reads the language of cmd.exe. What stands in brackets and behind if, for, do and else is read as one command after the other.

// builtins are the commands of cmd itself. Their names may end at a sign: cd.., dir/s.
var builtins = chars.WordSet("assoc call cd chdir cls copy date del dir echo endlocal erase exit for ftype goto if md mkdir mklink move path pause " +
	"popd prompt pushd rd rem ren rename rmdir set setlocal shift start time title type ver verify vol")

// cmd reads the text. In a script, and behind call, a doubled % is one. A caret before a quote lets the shell split words differently from
// the program that gets them, so such a text is read without its carets as well.
func (w *windows) cmd() {
	s := w.text
	w.cmdLine(s)
	if strings.Contains(s, "%%") {
		w.cmdLine(strings.ReplaceAll(s, "%%", "%"))
	}
	if strings.Contains(s, `^"`) {
		w.cmdLine(strings.ReplaceAll(s, "^", ""))
	}
}

func (w *windows) cmdLine(s string) {
	w.text = s
	quoted := false
	for i := 0; i < len(s) && w.Fault == ""; i++ {
		c := s[i]
		first := len(w.line.words) == 0 && w.line.target == 0
		switch {
		case c == '%' || c == '!':
			if values, n := w.cmdVariable(s[i:]); n > 0 {
				w.put(i, values...)
				i += n - 1
			} else {
				w.put(i, s[i:i+1])
			}
		case c == '\n' || c == '\r':
			quoted = false
			w.finish(i, w.cmdWords)
			w.between("\n")
		case c == '"':
			if first && builtins[strings.TrimLeft(w.soFar(), "@")] {
				w.end(i)
			}
			if !w.line.open {
				w.line.start(i)
				w.line.now.quoted = true
			}
			quoted = !quoted
		case quoted:
			w.put(i, s[i:i+1])
		case c == '^':
			if i++; i < len(s) && s[i] == '\r' {
				i++
			}
			if i < len(s) && s[i] != '\n' {
				w.put(i-1, s[i:i+1])
			}
		case c == ' ' || c == '\t' || c == '\v' || c == '\f', first && strings.IndexByte(",;=", c) >= 0:
			w.end(i)
		case c == '&' || c == '|':
			n := 1
			if i+1 < len(s) && s[i+1] == c {
				n = 2
			}
			w.in.captured = true
			w.finish(i, w.cmdWords)
			w.between(s[i : i+n])
			i += n - 1
		case c == '(' && !w.line.open, c == ')':
			w.in.captured = true
			if w.line.open && c == ')' && strings.Contains(w.soFar(), "(") { // a name has brackets
				w.put(i, ")")
				break
			}
			w.finish(i, w.cmdWords)
			w.between(s[i : i+1])
		case c == '<' || c == '>':
			if handle := w.soFar(); len(handle) == 1 && chars.IsDigit(handle[0]) {
				w.line.drop()
			}
			w.end(i)
			i = w.line.redirect(s, i)
		default:
			if first && strings.IndexByte(`/\.:+[]`, c) >= 0 && builtins[strings.TrimLeft(w.soFar(), "@")] {
				w.end(i)
			}
			w.put(i, s[i:i+1])
		}
	}
	w.finish(len(s), w.cmdWords)
}

// comparisons stand between two texts behind if.
var comparisons = chars.WordSet("== equ neq lss leq gtr geq")

// cmdWords reads the words of one command.
func (w *windows) cmdWords(words []token) {
	if w.set != "" { // the list of a for
		for _, t := range words {
			for _, text := range t.texts {
				w.hold(w.set, strings.Trim(text, "'`"))
			}
		}
		w.set = ""
		w.paths(words)
		if w.adds { // the list is a command
			w.nested(inCmd, strings.Trim(w.rest(words), "'` "))
		}
		return
	}
	for len(words) > 0 {
		name := strings.TrimLeft(strings.ToLower(words[0].text()), "@")
		behind := words[1:]
		switch name {
		case "", "call", "do", "else", "not":
		case "if":
			for len(behind) > 0 && (strings.EqualFold(behind[0].text(), "/i") || strings.EqualFold(behind[0].text(), "not")) {
				behind = behind[1:]
			}
			n := 1
			switch {
			case len(behind) == 0:
			case strings.EqualFold(behind[0].text(), "exist"), strings.EqualFold(behind[0].text(), "defined"), strings.EqualFold(behind[0].text(), "errorlevel"), strings.EqualFold(behind[0].text(), "cmdextversion"):
				n = 2
			case len(behind) > 2 && comparisons[strings.ToLower(behind[1].text())]:
				n = 3
			case len(behind) > 1 && (strings.HasSuffix(behind[0].text(), "==") || strings.HasPrefix(behind[1].text(), "==")):
				n = 2
			}
			n = min(n, len(behind))
			w.paths(behind[:n])
			behind = behind[n:]
		case "for":
			w.paths(behind)
			w.adds = len(behind) > 0 && strings.EqualFold(behind[0].text(), "/f")
			for _, t := range behind {
				if text := t.text(); len(text) == 2 && text[0] == '%' {
					w.set = text
				}
			}
			return
		case "start":
			for len(behind) > 0 && (behind[0].quoted || strings.HasPrefix(behind[0].text(), "/")) {
				folder := strings.EqualFold(behind[0].text(), "/d")
				w.paths(behind[:1])
				if behind = behind[1:]; folder && len(behind) > 0 {
					w.where.move(chars.ToSlash(behind[0].text()), SureNot)
					w.paths(behind[:1])
					behind = behind[1:]
				}
			}
			if len(behind) == 0 && len(words) > 1 { // what is quoted is a program after all
				w.nested(inCmd, words[len(words)-1].text())
			}
		case "set":
			w.cmdSet(behind)
			return
		default:
			if len(name) == 2 && name[1] == ':' {
				w.where.move(name+"/", SureNot)
				w.roams = true
			}
			words[0].texts[0] = words[0].text()[len(words[0].text())-len(name):]
			w.command(words)
			return
		}
		words = behind
	}
}

// cmdSet reads NAME=VALUE, which goes to the end of the command, blanks included.
func (w *windows) cmdSet(words []token) {
	w.only = w.only && len(words) > 0
	w.paths(words[:min(1, len(words))])
	for _, text := range w.joinWords(words, " ") {
		for { // options
			option, rest, _ := strings.Cut(text, " ")
			if !strings.HasPrefix(option, "/") || rest == "" {
				break
			}
			text = rest
		}
		if name, value, ok := strings.Cut(text, "="); ok {
			w.hold(name, value)
			w.use(Item{Use: Use{Kind: UseAssign, Known: true}, Word: Word{Text: text, Pattern: text}})
		}
	}
}

// hold remembers a value that a variable may have, beside others.
func (w *windows) hold(name, value string) {
	name = strings.ToLower(strings.TrimSpace(name))
	switch values := w.vars[name]; {
	case slices.Contains(values, value):
	case len(values) == maxTexts:
		w.Fault = "more words than can be judged"
	case w.spend(len(value) + len(values)):
		w.vars[name] = append(values, value)
	}
}

// cmdName is %NAME%, %NAME:~1,2% or %NAME:a=b% without the first sign.
var cmdName = lazyregexp.New(`^([A-Za-z_#$@][\w#$@.()-]*)(?::~(-?\d*)(?:,(-?\d*))?|:([^%!=]+)=([^%!]*))?[%!]`)

// changing are variables that hold numbers.
var changing = chars.WordSet("date time random errorlevel cmdextversion")

// cmdVariable returns what a variable at the start of s may hold; n is 0 if there is none.
func (w *windows) cmdVariable(s string) (values []string, n int) {
	m := cmdName.FindStringSubmatch(head(s[1:]))
	if m != nil && m[0][len(m[0])-1] == s[0] && (s[0] == '%' || len(w.valuesOf(m[1])) > 0) {
		return w.cut(m), 1 + len(m[0])
	}
	if s[0] == '!' {
		return nil, 0
	}
	return w.forVariable(s)
}

// forVariable returns what the variable of a for, or an argument of a script, at the start of s may be: %i, %~dpi, %1. Which letters
// are the modifiers is uncertain, and each way counts.
func (w *windows) forVariable(s string) (values []string, n int) {
	i := 1
	if i < len(s) && s[i] == '~' {
		i++
	}
	for begin := i; i < len(s); i++ {
		held, ok := w.vars["%"+strings.ToLower(s[i:i+1])]
		if !ok && (chars.IsDigit(s[i]) || s[i] == '*') {
			held, ok = []string{"", "./x"}, true // of a script
		}
		if ok {
			for k := range values {
				values[k] += s[n : i+1]
			}
			n = i + 1
			for _, value := range held {
				values = append(values, partOf(value, strings.ToLower(s[begin:i])))
			}
		}
		if begin == 1 || strings.IndexByte("fdpnxsatz", s[i]|0x20) < 0 {
			break
		}
	}
	return values, n
}

// valuesOf returns what is known of a variable.
func (w *windows) valuesOf(name string) []string {
	values := w.vars[strings.ToLower(name)]
	if value := w.getenv(name); value != "" {
		values = append(values[:len(values):len(values)], value)
	}
	return values
}

// unsure are texts that a part of an unknown one may be, as far as they lead elsewhere.
var unsure = []string{"", `\`, `..\`}

// cut returns what a variable of cmd holds, or the part of it that m, a match of cmdName, takes.
func (w *windows) cut(m []string) (values []string) {
	name, from, length, old, with := strings.ToLower(m[1]), m[2], m[3], m[4], m[5]
	whole := strings.IndexByte(m[0], ':') < 0
	known := w.valuesOf(name)
	switch {
	case whole && (name == "path" || name == "pathext"):
		return []string{""} // a list of folders, none of which is meant
	case name == "cd" && whole:
		return []string{"."}
	case changing[name]:
		return []string{"0"}
	case len(known) == 0 && whole:
		return []string{""}
	case len(known) == 0:
		return unsure
	}
	for _, value := range known {
		switch {
		case old != "":
			value = replaceFold(value, old, with)
		case !whole:
			value = slice(value, from, length)
		}
		values = append(values, value)
	}
	return values
}

// slice is %X:~from,length%.
func slice(s, from, length string) string {
	begin, _ := strconv.Atoi(from)
	if begin < 0 {
		begin += len(s)
	}
	begin = min(max(0, begin), len(s))
	end := len(s)
	if n, err := strconv.Atoi(length); err == nil {
		if end = begin + n; n < 0 {
			end = len(s) + n
		}
	}
	return s[begin:min(max(begin, end), len(s))]
}

// replaceFold is %X:old=with%, in any letter case.
func replaceFold(s, old, with string) string {
	old, before := strings.CutPrefix(old, "*") // with all that stands before
	pattern := regexp.MustCompile("(?i)" + regexp.QuoteMeta(old))
	if before {
		if at := pattern.FindStringIndex(s); at != nil {
			return with + s[at[1]:]
		}
		return s
	}
	return pattern.ReplaceAllLiteralString(s, with)
}

// partOf returns what %~dpX takes of a value: d the drive, p the directory, n and x the name, anything else all of it.
func partOf(value, letters string) string {
	if letters == "" || strings.Trim(letters, "dpnxs") != "" {
		return value
	}
	if value = strings.Trim(chars.ToSlash(value), `"`); value == "" {
		return ""
	}
	i := strings.LastIndexByte(value, '/') + 1
	dir, name := value[:i], value[i:]
	if name == "" || strings.Trim(name, ".") == "" { // a directory, whose name is found out
		dir, name = value+"/../", ""
	} else if dir == "" {
		dir = "./"
	}
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && strings.IndexByte(letters, 'x') < 0 {
		name = name[:dot]
	}
	if strings.IndexByte(letters, 'p') < 0 {
		dir = ""
	}
	if !strings.ContainsAny(letters, "nx") {
		name = ""
	}
	return dir + name
}
