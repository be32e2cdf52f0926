package validate

import (
	"regexp"
	"strings"
)

// heldPattern is what a search looks for: the first operand, unless an option says so too.
type heldPattern struct {
	word       *shellWord
	begin, end int
	unsafe     bool // an option may name the pattern, so that the operand is a file
	taken      bool
}

var (
	searchers   = wordSet("grep egrep fgrep rg git-grep")
	countFlags  = wordSet("-A -B -C -m")
	nameOptions = regexp.MustCompile(`^-(?:[^-]*[ef]|-(?:reg|f|fi|fil|file|files|patterns).*)`)
)

// hold keeps the first operand of grep back until it is known that it is no file.
func (l *shellLexer) hold(w shellWord) bool {
	c := &l.cmd
	s := &c.search
	if c.name == "git-grep" && c.operands < 2 && w.text == "grep" {
		return false
	}
	if !searchers[c.name] || c.prefixed || c.assigned || c.inCode || w.at != seatPlain {
		return false
	}
	switch {
	case strings.HasPrefix(w.text, "-") && len(w.text) > 1:
		s.unsafe = s.unsafe || nameOptions.MatchString(w.text) || hasMeta(beforeValue(w.pattern)) || strings.ContainsAny(w.text, "$`")
		return false
	case w.text == "" || hasMeta(w.pattern[:1]) || strings.ContainsAny(w.text, "$`") && !strings.HasPrefix(l.source(), "'"):
		s.unsafe = true // it may become an option
		return false
	case s.taken || countFlags[c.last]:
		return false
	}
	held := w
	s.word, s.begin, s.end, s.taken = &held, l.begin, l.at, true
	return true
}

// beforeValue is an option without its value.
func beforeValue(option string) string {
	name, _, _ := strings.Cut(option, "=")
	return name
}

// letGo decides on a word that was held back.
func (l *shellLexer) letGo() {
	s := &l.cmd.search
	if s.word == nil {
		return
	}
	if s.unsafe {
		l.yield(*s.word)
		l.inner(*s.word)
	} else {
		l.blank(s.begin, s.end)
	}
	s.word = nil
}
