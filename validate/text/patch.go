package text

import (
	"strconv"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
)

// patchHeader is a line of a patch that names one file.
var patchHeader = lazyregexp.New(`^(?:\+\+\+ |Index: |rename (?:from|to) |copy (?:from|to) |\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: )(.+)$`)

var hunk = lazyregexp.New(`^@@ -[0-9]+(?:,([0-9]{1,9}))? \+[0-9]+(?:,([0-9]{1,9}))? @@`)

// IsPatch reports a text whose first line is the header of a patch.
func IsPatch(s string) bool {
	if !MayBePatch(s) {
		return false // at the cost of a byte
	}
	s = strings.TrimLeft(s, "\ufeff \t\r\n")
	first, rest, _ := strings.Cut(s[:min(len(s), 2*chars.MaxPath)], "\n")
	return strings.HasPrefix(first, "diff --git ") || strings.HasPrefix(first, "*** Begin Patch") || patchHeader.MatchString(strings.TrimSuffix(first, "\r")) ||
		(strings.HasPrefix(first, "--- ") || strings.HasPrefix(first, "*** ")) && (strings.HasPrefix(rest, "+++ ") || strings.HasPrefix(rest, "--- "))
}

// MayBePatch is a cheap look at a text, decoded or not: one that does not begin so is no patch.
func MayBePatch(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && strings.IndexByte("d+-*Irc\\\xef", s[0]) >= 0
}

// EachHeader yields the names in the headers of a patch, with what stands behind them. Lines that the count of a hunk covers are its body.
func EachHeader(s string, work *budget.Budget, yield func(name string)) {
	before, after := 0, 0 // lines of the hunk that are still to come
	held := ""            // a line that is a header where the next one is
	for line := range strings.Lines(s) {
		if work.Spent() {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		if before > 0 || after > 0 {
			first := byte(' ') // some editors take the blank away
			if line != "" {
				first = line[0]
			}
			switch first {
			case '-':
				before--
				continue
			case '+':
				after--
				continue
			case ' ':
				before, after = before-1, after-1
				continue
			case '\\':
				continue
			}
			before, after = 0, 0 // no line of a body: what applies patches stops here
		}
		if held != "" && (strings.HasPrefix(line, "+++ ") || held[0] == '*' && strings.HasPrefix(line, "--- ")) {
			yield(held[4:])
			if held[0] == '*' {
				yield(line[4:])
			}
		}
		held = ""
		switch m := hunk.FindStringSubmatch(line); {
		case m != nil:
			before, after = count(m[1]), count(m[2])
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "*** ") && !patchHeader.MatchString(line):
			held = line
		case strings.HasPrefix(line, "diff --git "):
			for name := range strings.FieldsSeq(line[len("diff --git "):]) {
				yield(name)
			}
		default:
			if m := patchHeader.FindStringSubmatch(line); m != nil {
				yield(m[1])
			}
		}
	}
}

// count returns the number of lines that a hunk says; without one it is 1.
func count(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 1
	}
	return n
}
