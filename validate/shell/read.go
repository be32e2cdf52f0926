package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
)

const (
	MaxScript     = 1 << 17 // bytes of a shell string that are parsed: Linux starts no program with a longer argument
	MaxParseStack = 1 << 24 // bytes of stack that parsing one may take
	maxShells     = 8       // shells in shells: bash -c "..."
)

// What the parser may take of its stack for each word or sign by which it can be made to call itself. The bounds are
// upper ones, whatever stands around it: quoted or not, closed or not.
const (
	bracketStack = 4 << 10 // of what opens something, and of "?" in arithmetic
	chainStack   = 512     // of signs that stand one after the other: - - - 1, a = b = c, ! ! !, [[ a && b && c ]]
)

// ParseStack returns an upper bound of the stack that parsing s takes. It reads s once and does not call itself.
func ParseStack(s string) int {
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

// An Item is a word of a shell string, with what is made of it.
type Item struct {
	Use
	Word
	Position Position
	Crude    bool // its words are looked at one by one, and nothing else
	Whole    bool // it is looked at as it stands, and nothing else
	Redirect bool // it is read from, not given to a command
	Captured bool // what its command prints is run, or taken for names
	Filed    bool // what its command prints is kept in a file
	Course   Course
}

// A Reader reads one shell string into items.
type Reader struct {
	Items []Item
	where whereabouts
	only  bool // nothing but cd and mkdir has been seen
	Odd   bool // a command, or cd, may not be what its name says
	Reads bool // something may run, or take for names, what is in a file
	Crude bool // the string as a whole fits no grammar
	roams bool // something may work in a directory that no one can tell: cd "$x", a program that is told to
	work  *budget.Budget
	depth int             // how deep the commands stand in each other
	most  int             // limits.depth
	given map[string]bool // names that the string may give a value to
	level int             // shells in shells
	Fault string
	value map[string][]string // what it gives them

	deeper func(item *Item) // reads a word that may be commands, by another grammar
}

// scope is what holds for the commands of one part of a shell string.
type scope struct{ captured, filed, maybe, timed bool }

// Read reads a shell string: by the grammar of bash, or crudely and by the strictest reading if it has none.
func Read(s string, depth int, work *budget.Budget) *Reader {
	r := &Reader{work: work, most: depth, only: true, given: VariablesOf(s).names, value: make(map[string][]string)}
	r.text(s, scope{})
	for i := range r.Items {
		at := &r.Items[i].Course
		if r.Odd {
			at.Sure = SureNot
		}
		at.Lost = (r.roams || r.Odd) && at.Sure == SureNot
	}
	return r
}

// text reads a shell string, or one inside another.
func (r *Reader) text(s string, in scope) {
	if r.level == maxShells {
		r.Fault = fmt.Sprintf("more than %d shell strings in each other", maxShells)
	}
	if !r.spend(len(s)) {
		return
	}
	r.Odd = r.Odd || strings.Contains(s, "CDPATH")
	if len(s) > MaxScript || strings.IndexByte(s, 0) >= 0 || ParseStack(s) > MaxParseStack {
		r.crude(s)
		return
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(s), "")
	if err != nil {
		r.crude(s)
		return
	}
	p := parser{Reader: r, source: s}
	r.level++
	p.list(file.Stmts, in)
	r.level--
}

// spend takes the cost of some bytes off the budget.
func (r *Reader) spend(n int) bool {
	if r.Fault == "" && !r.work.Spend(budget.WordSteps+n/budget.ByteSteps) {
		r.Fault = "more words than can be judged"
	}
	return r.Fault == ""
}

// crude reads what no grammar fits: every word with its quotes and without them, and every text between quotes.
func (r *Reader) crude(s string) {
	r.Odd, r.Crude = true, r.Crude || r.level == 0
	last := ""
	for token := range strings.FieldsFuncSeq(s, chars.IsBlank) {
		bare := Unquote(token)
		if last == "cd" || last == "pushd" || last == "-C" {
			r.where.move(bare, SureNot)
		}
		r.add(Item{Word: Word{Text: token, Pattern: token}})
		last = strings.Trim(bare, "(){};&|<>$")
		for _, other := range []string{bare, last} {
			if other != token {
				r.add(Item{Word: Word{Text: other, Pattern: other}})
			}
		}
	}
	for _, quote := range []string{"'", `"`, "`"} {
		parts := strings.Split(s, quote)
		for _, part := range parts[1:] {
			if len(part) <= chars.MaxPath && chars.HasBlank(part) && strings.IndexByte(part, '/') >= 0 {
				r.add(Item{Word: Word{Text: part}, Whole: true})
			}
		}
	}
}

var quoteMarks = strings.NewReplacer("'", "", `"`, "", "`", "", `\`, "")

// Unquote drops the quotes and escapes of a word.
func Unquote(s string) string {
	if !strings.ContainsAny(s, "'\"`\\") {
		return s
	}
	if strings.Contains(s, "$'") {
		s = chars.Ansi(s)
	}
	return quoteMarks.Replace(s)
}

func (r *Reader) add(item Item) {
	if r.where.lost && r.Fault == "" {
		r.Fault = "more directories than can be followed"
	}
	if r.spend(len(item.Text)) {
		item.Course = Course{Dir: r.where.dir, Sure: r.where.sure, Native: r.where.native}
		r.Items = append(r.Items, item)
	}
}

// enter goes one deeper, and the caller leaves again; or it is false, for a fault.
func (r *Reader) enter() bool {
	if r.Fault == "" && r.depth == r.most {
		r.Fault = fmt.Sprintf("commands in commands more than %d deep", r.most)
	}
	if r.Fault == "" {
		r.depth++
	}
	return r.Fault == ""
}
