package validate

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
)

const (
	maxScript  = 1 << 17 // bytes of a shell string that are parsed: Linux starts no program with a longer argument
	maxNesting = 1 << 24 // bytes of stack that parsing one may take
	maxShells  = 8       // shells in shells: bash -c "..."
	wordSteps  = 8       // what one word costs
)

// What the parser may take of its stack for each word or sign by which it can be made to call itself. The bounds are
// upper ones, whatever stands around it: quoted or not, closed or not.
const (
	bracketStack = 4 << 10 // of what opens something, and of "?" in arithmetic
	chainStack   = 512     // of signs that stand one after the other: - - - 1, a = b = c, ! ! !, [[ a && b && c ]]
)

// nesting is an upper bound of the stack that parsing s takes. It reads s once and does not call itself.
func nesting(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '{', '[', '`', '"', '?':
			n += bracketStack
		case '-', '+', '!', '~', '=', '*', '&', '|', '<':
			n += chainStack
		default:
			if i == 0 || !chars.IsLetter(s[i-1]) {
				for _, word := range openingWords {
					if strings.HasPrefix(s[i:], word) {
						n += bracketStack
					}
				}
			}
		}
	}
	return n
}

// openingWords are reserved words behind which a command may stand.
var openingWords = []string{"if", "elif", "while", "until", "for", "case", "select", "function", "time", "coproc", "then", "else", "do"}

// A shellItem is a word of a shell string, with what is made of it.
type shellItem struct {
	use
	shellWord
	seat     wordSeat
	crude    bool // its words are looked at one by one, and nothing else
	whole    bool // it is looked at as it stands, and nothing else
	redirect bool // it is read from, not given to a command
	captured bool // what its command prints is run, or taken for names
	filed    bool // what its command prints is kept in a file
	course   course
}

// A shellReader reads one shell string into items.
type shellReader struct {
	items []shellItem
	where whereabouts
	only  bool // nothing but cd and mkdir has been seen
	odd   bool // a command, or cd, may not be what its name says
	reads bool // something may run, or take for names, what is in a file
	roams bool // something may work in a directory that nobody can tell: cd "$x", a program that is told to
	work  *budget.Budget
	depth int             // how deep the commands stand in each other
	most  int             // limits.depth
	given map[string]bool // names that the string may give a value to
	level int             // shells in shells
	fault string
}

// scope is what holds for the commands of one part of a shell string.
type scope struct{ captured, filed, maybe, timed bool }

// readShell reads a shell string: by the grammar of bash, or crudely and by the strictest reading where it has none.
func readShell(s string, depth int, work *budget.Budget) *shellReader {
	r := &shellReader{work: work, most: depth, only: true, given: variablesOf(s).names}
	r.text(s, scope{})
	for i := range r.items {
		at := &r.items[i].course
		if r.odd {
			at.sure = sureNot
		}
		at.lost = (r.roams || r.odd) && at.sure == sureNot
	}
	return r
}

// text reads a shell string, or one inside another.
func (r *shellReader) text(s string, in scope) {
	if r.level == maxShells {
		r.fault = fmt.Sprintf("more than %d shell strings in each other", maxShells)
	}
	if !r.spend(len(s)) {
		return
	}
	r.odd = r.odd || strings.Contains(s, "CDPATH")
	if len(s) > maxScript || strings.IndexByte(s, 0) >= 0 || nesting(s) > maxNesting {
		r.crude(s)
		return
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(s), "")
	if err != nil {
		r.crude(s)
		return
	}
	p := shellPart{shellReader: r, source: s}
	r.level++
	p.list(file.Stmts, in)
	r.level--
}

// spend takes the cost of some bytes off the budget.
func (r *shellReader) spend(n int) bool {
	if r.fault == "" && !r.work.Spend(wordSteps+n/budget.ByteSteps) {
		r.fault = "more words than can be judged"
	}
	return r.fault == ""
}

// crude reads what no grammar fits: every word with its quotes and without them, and every text between quotes.
func (r *shellReader) crude(s string) {
	r.odd = true
	last := ""
	for token := range strings.FieldsFuncSeq(s, chars.IsBlank) {
		bare := unquote(token)
		if last == "cd" || last == "pushd" || last == "-C" {
			r.where.move(bare, sureNot)
		}
		r.add(shellItem{shellWord: shellWord{text: token, pattern: token}})
		last = strings.Trim(bare, "(){};&|<>$")
		for _, other := range []string{bare, last} {
			if other != token {
				r.add(shellItem{shellWord: shellWord{text: other, pattern: other}})
			}
		}
	}
	for _, quote := range []string{"'", `"`, "`"} {
		parts := strings.Split(s, quote)
		for _, part := range parts[1:] {
			if len(part) <= maxTail && chars.HasBlank(part) && strings.IndexByte(part, '/') >= 0 {
				r.add(shellItem{shellWord: shellWord{text: part}, whole: true})
			}
		}
	}
}

var quoteMarks = strings.NewReplacer("'", "", `"`, "", "`", "", `\`, "")

// unquote drops the quotes and escapes of a word.
func unquote(s string) string {
	if !strings.ContainsAny(s, "'\"`\\") {
		return s
	}
	if strings.Contains(s, "$'") {
		s = chars.Ansi(s)
	}
	return quoteMarks.Replace(s)
}

func (r *shellReader) add(item shellItem) {
	if r.where.lost && r.fault == "" {
		r.fault = "more directories than can be followed"
	}
	if r.spend(len(item.text)) {
		item.course = course{dir: r.where.dir, sure: r.where.sure}
		r.items = append(r.items, item)
	}
}

// enter goes one deeper; the caller leaves again.
func (r *shellReader) enter() bool {
	if r.depth++; r.depth > r.most && r.fault == "" {
		r.fault = fmt.Sprintf("commands in commands more than %d deep", r.most)
	}
	return r.fault == ""
}
