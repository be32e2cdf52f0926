package shell

import (
	"strconv"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
)

// This file reads the language of PowerShell. What stands in brackets, in braces and in the quotes of a substitution is read as one command
// after the other. Texts that a script joins count as one: by +, -join and -f.

// likeASCII are the signs that PowerShell takes for quotes and dashes.
var likeASCII = strings.NewReplacer("\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'", "\u201c", `"`, "\u201d", `"`, "\u201e", `"`,
	"\u2013", "-", "\u2014", "-", "\u2015", "-")

var (
	// assigned begins $x = y.
	assigned = lazyregexp.New(`^(?:\[[\w.\[\]]+\]\s*)*\$(?:\{([^}]+)\}|([\w:]+))\s*([+]?)=`)
	// loop begins foreach ($x in y).
	loop = lazyregexp.New(`(?i)^foreach\s*\(\s*\$(\w+)\s+in\s`)
	// psName is a variable.
	psName = lazyregexp.New(`^\$(?:\{([^}]+)\}|((?:\w+:)?\w+)|([$?^]))`)
	// parameter is one with its value: -Path:x.
	parameter = lazyregexp.New(`^-[A-Za-z]\w*:$`)
	// lone is a substitution that holds nothing but a variable.
	lone = lazyregexp.New(`^\s*\$(?:\{[^}]+\}|[\w:]+)\s*$`)
)

func (w *windows) powershell() {
	s := likeASCII.Replace(w.text)
	w.text = s
	for i := 0; i < len(s) && w.Fault == ""; i++ {
		c := s[i]
		begins := !w.line.open && len(w.line.words) == 0
		switch {
		case strings.HasPrefix(s[i:], "<#"):
			w.end(i)
			_, rest, _ := strings.Cut(s[i+2:], "#>")
			i = len(s) - len(rest) - 1
		case c == '#' && !w.line.open:
			if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
				i += n - 1
			} else {
				i = len(s)
			}
		case c == '`':
			if i++; i < len(s) && s[i] == '\r' {
				i++
			}
			if i < len(s) && s[i] != '\n' {
				w.put(i-1, s[i:i+1])
			} else {
				w.end(i - 1)
			}
		case c == '@' && i+1 < len(s) && (s[i+1] == '\'' || s[i+1] == '"'):
			i += w.hereString(i, s[i+1])
		case c == '\'' || c == '"':
			w.joins(i)
			i += w.quoted(i) - 1
		case c == '$' && begins && assigned.MatchString(head(s[i:])), c == '[' && begins && assigned.MatchString(head(s[i:])):
			m := assigned.FindStringSubmatch(head(s[i:]))
			w.set, w.adds = strings.ToLower(m[1]+m[2]), m[3] != ""
			w.in.captured = true
			i += len(m[0]) - 1
		case c == '$' && psName.MatchString(head(s[i:])):
			m := psName.FindString(head(s[i:]))
			w.joins(i)
			w.line.start(i)
			w.line.now.value = w.line.now.value || w.line.isEmpty()
			w.put(i, w.psValues(m)...)
			if i += len(m) - 1; i+1 < len(s) && s[i+1] == '+' {
				w.end(i + 1)
			}
		case c == 'f' && begins && loop.MatchString(head(s[i:])), c == 'F' && begins && loop.MatchString(head(s[i:])):
			m := loop.FindStringSubmatch(head(s[i:]))
			w.set = strings.ToLower(m[1])
			i += len(m[0]) - 1
		case c == ' ' || c == '\t' || c == ',' || c == '\r':
			w.end(i)
		case c == '\n' || c == ';':
			w.finish(i, w.psWords)
			w.between(";")
		case c == '|' || c == '&':
			n := 1
			if i+1 < len(s) && s[i+1] == c {
				n = 2
			}
			w.in.captured = true
			if w.finish(i, w.psWords); n == 1 && c == '|' {
				for _, t := range w.last {
					for _, text := range t.texts {
						w.hold("_", text)
						w.hold("psitem", text)
					}
				}
			}
			if c == '&' && n == 1 && begins { // it runs what follows
				w.line.runs = true
				break
			}
			w.between(s[i : i+n])
			i += n - 1
		case c == '.' && begins && i+1 < len(s) && chars.IsBlank(rune(s[i+1])):
			w.line.runs = true
		case strings.IndexByte("(){}", c) >= 0:
			w.in.captured = true
			if c == '(' && i > 0 && (s[i-1] == '$' || s[i-1] == '@') && w.line.open && strings.Trim(w.soFar(), "$@") == "" {
				w.line.drop()
			}
			set := w.set
			if w.finish(i, w.psWords); c == '(' && set != "" {
				w.set = set // $x = (y)
			}
			if w.where.dir != "" {
				w.between(s[i : i+1])
			}
		case c == '+' && !w.line.open && i+1 < len(s):
			w.put(i, "+")
			w.end(i + 1)
		case c == '>':
			if handle := w.soFar(); handle == "*" || len(handle) == 1 && chars.IsDigit(handle[0]) {
				w.line.drop()
			}
			w.end(i)
			i = w.line.redirect(s, i)
		case c == ':' && w.line.open && !w.line.now.quoted && parameter.MatchString(w.soFar()+":"):
			w.end(i)
		default:
			w.put(i, s[i:i+1])
		}
	}
	w.finish(len(s), w.psWords)
}

// joins lets a + that stands between two texts without blanks be a word.
func (w *windows) joins(i int) {
	if w.line.open && w.soFar() == "+" {
		w.end(i)
	}
}

// quoted adds the text between the quotes that begin at i to the word, and returns its length with the quotes.
func (w *windows) quoted(i int) int {
	s, quote := w.text[i:], w.text[i]
	if !w.line.open {
		w.line.start(i)
		w.line.now.quoted, w.line.now.value = true, true
	}
	k := 1
	for ; k < len(s) && w.Fault == ""; k++ {
		switch c := s[k]; {
		case c == quote && k+1 < len(s) && s[k+1] == quote:
			w.put(i, s[k:k+1])
			k++
		case c == quote:
			if k+1 < len(s) && s[k+1] == '+' {
				w.end(i + k + 1)
			}
			return k + 1
		case quote == '\'':
			w.put(i, s[k:k+1])
		default:
			k += w.expandable(i, k)
		}
	}
	return k
}

// expandable adds the sign at k of a text in which variables are written out, and returns how many signs more it has read.
func (w *windows) expandable(i, k int) int {
	s := w.text[i+k:]
	if s[0] == '`' && len(s) > 1 {
		if at := strings.IndexByte("0abfnrtv", s[1]); at >= 0 {
			w.put(i, "\x00\a\b\f\n\r\t\v"[at:at+1])
		} else if r, n := chars.EscapeSequence(s[1:]); n > 1 && s[1] == 'u' {
			w.put(i, string(r))
			return n
		} else { // e and u are escapes of later versions alone
			w.put(i, s[1:2])
		}
		return 1
	}
	if m := psName.FindString(head(s)); m != "" {
		w.put(i, w.psValues(m)...)
		return len(m) - 1
	}
	if n := substitutionLength(s); n > 0 && w.spend(n) {
		inner := s[2 : n-1]
		w.nested(inPowerShell, inner)
		if lone.MatchString(inner) {
			w.put(i, w.psValues(strings.TrimSpace(inner))...)
		} else {
			w.put(i, "", ".")
		}
		return n - 1
	}
	w.put(i, s[:1])
	return 0
}

// maxSubstitution is the length of the longest $(...) in a text that is read.
const maxSubstitution = 1 << 12

// substitutionLength returns the length of $(...) at the start of s, 0 if there is none.
func substitutionLength(s string) int {
	if !strings.HasPrefix(s, "$(") {
		return 0
	}
	depth := 0
	for i := 1; i < min(len(s), maxSubstitution); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// hereString adds the text of @'...'@, which begins and ends with a line, and returns how many signs behind the first it takes.
func (w *windows) hereString(i int, quote byte) int {
	w.line.start(i)
	w.line.now.quoted, w.line.now.value = true, true
	body := w.text[i+2:]
	end := strings.Index(body, "\n"+string(quote)+"@")
	if end < 0 {
		end = len(body)
	}
	text := strings.TrimLeft(body[:end], "\r\n")
	for k := i + 2 + end - len(text); k < i+2+end && w.Fault == ""; k++ {
		if quote == '"' {
			k += w.expandable(i, k-i)
		} else {
			w.put(i, w.text[k:k+1])
		}
	}
	return min(2+end+2, len(w.text)-i-1)
}

// psValues returns what a variable may hold.
func (w *windows) psValues(m string) []string {
	name := strings.ToLower(strings.Trim(m, "${}"))
	if env, ok := strings.CutPrefix(name, "env:"); ok {
		if values := append(w.valuesOf(env), w.vars[name]...); len(values) > 0 && env != "path" {
			return values
		}
		return []string{""}
	}
	for _, scope := range []string{"script:", "global:", "local:", "private:"} {
		name = strings.TrimPrefix(name, scope)
	}
	if values := w.vars[name]; len(values) > 0 {
		return append(values[:len(values):len(values)], "")
	}
	switch name {
	case "home":
		if home := w.getenv("USERPROFILE"); home != "" {
			return []string{home}
		}
		return []string{"~"}
	case "pwd":
		return []string{"."}
	}
	return []string{""}
}

// psWords reads the words of one command.
func (w *windows) psWords(words []token) {
	set := w.set
	w.set = ""
	if len(words) == 0 {
		return
	}
	w.joined(words, set)
	if set != "" {
		for _, t := range words {
			for _, text := range t.texts {
				w.gain(set, text)
			}
		}
	}
	for i := range words {
		for k, text := range words[i].texts {
			if rest, ok := strings.CutPrefix(strings.ToLower(text), "temp:"); ok {
				words[i].texts[k] = w.getenv("TEMP") + text[len(text)-len(rest):]
			}
		}
	}
	if words[0].text()[:min(1, len(words[0].text()))] == "-" && !words[0].quoted {
		w.paths(words) // an operator, and what it is given
		return
	}
	if words[0].value && !w.runs {
		words = append([]token{{texts: []string{"unnamed"}}}, words...)
	}
	w.command(words)
}

// gain remembers a value of a variable, and what the variable holds if that is added to it.
func (w *windows) gain(name, value string) {
	if w.adds {
		for _, was := range w.vars[name] {
			w.hold(name, was+value)
		}
	}
	w.hold(name, value)
}

// maxFormatted is how many values of -f are written into its text.
const maxFormatted = 16

// joined keeps the texts that operators make of words, and gives them to the variable that they are assigned to.
func (w *windows) joined(words []token, set string) {
	keep := func(texts []string) {
		for _, text := range texts {
			if w.use(Item{Word: Word{Text: text, Pattern: text}}); set != "" {
				w.gain(set, text)
			}
		}
	}
	for i := 1; i+1 < len(words); i++ { // 'a' + 'b'
		if words[i].text() != "+" {
			continue
		}
		texts, withSign := words[i-1].texts, words[i-1].texts // as an argument, $a+b keeps the sign
		if words[i-1].quoted {
			withSign = nil
		}
		for ; i+1 < len(words) && words[i].text() == "+"; i += 2 {
			texts, withSign = w.products(texts, words[i+1].texts, ""), w.products(withSign, words[i+1].texts, "+")
		}
		keep(texts)
		keep(withSign)
	}
	for i, t := range words {
		if i+1 == len(words) {
			break
		}
		switch strings.ToLower(t.text()) {
		case "-join":
			parts := words[:i]
			if i == 0 {
				parts = w.last
			}
			for _, glue := range words[i+1].texts {
				keep(w.joinWords(parts, glue))
			}
		case "-f":
			if i > 0 {
				keep(w.formatTexts(words[i-1].texts, words[i+1:min(len(words), i+1+maxFormatted)]))
			}
		}
	}
}

// formatTexts returns all texts that formats may become with words in the places of their numbers. A text without a place is no format.
func (w *windows) formatTexts(formats []string, words []token) (texts []string) {
	for _, f := range formats {
		if strings.Contains(f, "{0") {
			texts = append(texts, f)
		}
	}
	for k, t := range words {
		place := "{" + strconv.Itoa(k) + "}"
		var filled []string
		for _, text := range texts {
			for _, value := range t.texts {
				if filled = w.addText(filled, strings.ReplaceAll(text, place, value)); !strings.Contains(text, place) {
					break
				}
			}
		}
		texts = filled
	}
	return texts
}

// joinWords returns all texts that words may have together, with glue between them.
func (w *windows) joinWords(words []token, glue string) []string {
	texts, between := []string{""}, ""
	for _, t := range words {
		texts, between = w.products(texts, t.texts, between), glue
	}
	return texts
}

// products returns all texts that begin with one and end with another.
func (w *windows) products(begins, ends []string, glue string) (list []string) {
	for _, begin := range begins {
		for _, end := range ends {
			list = w.addText(list, begin+glue+end)
		}
	}
	return list
}

// addText adds a text to those that a word may become. There is a Fault if there are too many of them.
func (w *windows) addText(list []string, text string) []string {
	switch {
	case w.Fault != "":
	case len(list) == maxTexts:
		w.Fault = "more words than can be judged"
	case w.spend(len(text)):
		list = append(list, text)
	}
	return list
}
