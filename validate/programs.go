package validate

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mcphub/validate/chars"
)

// programsText is the one table of what known programs make of their words; its head explains how it is written.
//
//go:embed programs.txt
var programsText string

// useKind is what a program makes of a word, by the names of the table.
type useKind uint8

const (
	usePath useKind = iota // the zero value: a path
	useText
	useWord
	useData
	usePrint
	useRemote
	useRest
	useHost
	useBox
	useVolume
	useMount
	useWorkdir
	useShell
	useCode
	useSed
	useQuery
	useAssign
	useCommand
	useCommands
	useMove
	useCd
	useSub
	useDashes // not a use: what follows begins behind "--"
)

var useKinds = map[string]useKind{
	"path": usePath, "text": useText, "word": useWord, "data": useData, "print": usePrint, "remote": useRemote, "rest": useRest, "host": useHost, "box": useBox,
	"volume": useVolume, "mount": useMount, "workdir": useWorkdir, "shell": useShell, "code": useCode, "sed": useSed, "query": useQuery, "assign": useAssign,
	"command": useCommand, "commands": useCommands, "move": useMove, "cd": useCd, "sub": useSub, "--": useDashes,
}

// A use is what one word of a command is to the program that it is given to.
type use struct {
	kind  useKind
	role  Role    // RoleNone: nobody knows
	at    int     // where the value begins: behind --option= or -o
	many  bool    // in the table: the next words as well
	known bool    // the program is
	was   useKind // what it would be if nothing were in doubt
}

// option is what the table says of one.
type option struct {
	values  []use
	instead []use
	deletes bool
}

// program is an entry of the table.
type program struct {
	operands                        []use
	options                         map[string]option
	letters                         string // options without a value
	stdin                           use
	here, leaf, filter, shells, box bool
}

// programs are the entries by name, "git+commit" for a subcommand.
var programs = readPrograms(programsText)

func readPrograms(text string) map[string]*program {
	table := make(map[string]*program)
	for line := range strings.Lines(text) {
		names, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || line[0] == '#' {
			continue
		}
		p := readProgram(strings.Fields(rest))
		list, _ := expandBraces(names)
		for _, name := range list {
			if table[name] != nil {
				panic("programs.txt: two lines about " + name)
			}
			table[name] = p
		}
	}
	return table
}

func readProgram(fields []string) *program {
	p := &program{options: make(map[string]option)}
	for _, field := range fields {
		switch {
		case strings.HasPrefix(field, "-["):
			p.letters = strings.Trim(field, "-[]")
		case field != "--" && field[0] == '-':
			name, instead, _ := strings.Cut(field, ">")
			name, deletes := strings.CutSuffix(name, "^delete")
			name, values, _ := strings.Cut(name, "=")
			p.options[name] = option{readUses(values), readUses(instead), deletes}
		case field == "@.":
			p.here = true
		case field == "@leaf":
			p.leaf = true
		case field == "@filter":
			p.filter = true
		case field == "@shell":
			p.shells = true
		case field == "@box":
			p.box = true
		case field[0] == '<':
			p.stdin = readUses(field[1:])[0]
		default:
			p.operands = append(p.operands, readUses(field)...)
		}
	}
	return p
}

func readUses(list string) (uses []use) {
	for name := range strings.SplitSeq(list, ",") {
		if name == "" {
			continue
		}
		u := use{known: true}
		name, u.many = strings.CutSuffix(name, "*")
		name, role, _ := strings.Cut(name, "/")
		for _, word := range []string{name, role} {
			if r, err := ParseRole(word); err == nil {
				u.role = r
			}
		}
		kind, ok := useKinds[name]
		if !ok && u.role == RoleNone {
			panic(fmt.Sprintf("programs.txt: %q is no kind of use", name))
		}
		u.kind = kind
		uses = append(uses, u)
	}
	return uses
}

// unknown is any other program. What it is told to write is written, and -C is where it works.
var unknown = readProgram([]string{"path*", "-C=move", "-o=write", "--output=write", "--out=write", "--outfile=write", "--output-dir=write"})

var version = regexp.MustCompile(`[0-9.]+$`)

// programNamed finds the entry of a command word. A relative path is a program that nobody knows, whatever it is called.
func programNamed(word string) (name string, p *program) {
	if strings.IndexByte(word, '/') > 0 {
		return "", unknown
	}
	name = baseName(word)
	if p = programs[name]; p == nil {
		if p = programs[version.ReplaceAllString(name, "")]; p == nil {
			return name, unknown
		}
	}
	return name, p
}

// An argument is one word of a command line.
type argument struct {
	text   string
	loose  bool // nobody knows which words it is to the program: it holds a variable, a substitution or a glob
	option bool // it is one word, and may be an option: "$x"
}

// A usage is what the programs of one command make of its words.
type usage struct {
	uses    []use // word by word
	program *program
	doubt   bool // some word may be another one's value, or begin elsewhere
	maybe   bool // some operand may be an option
	trusted bool // it is the operator's own command: that makes no difference
	deletes bool // what its operands name is taken away
	here    bool // which is the working directory
}

// roams reports that the program may work in a directory that nobody can tell.
func (u *usage) roams() bool { return u.doubt || !u.program.leaf && !u.program.filter }

const maxCommands = 16 // commands in commands: sudo env nice ...

// usageOf reads a command by the table. doubt says that more than its words may change what they are: a variable in front
// of it.
func usageOf(words []argument, doubt bool) usage {
	u := usage{uses: make([]use, len(words)), program: unknown, doubt: doubt}
	if len(words) > 0 {
		u.command(words, u.uses, maxCommands)
	}
	return u
}

// command reads words[0] as the name of a program and the rest as what it is given.
func (u *usage) command(words []argument, uses []use, most int) {
	if most == 0 || words[0].loose || words[0].option {
		u.program, u.doubt = unknown, true
		return
	}
	uses[0] = use{kind: useCommand, known: true}
	name, p := programNamed(words[0].text)
	u.program = p
	c := commandLine{usage: u, words: words, uses: uses, most: most, name: name, entry: p, operands: p.operands}
	c.read(1)
	c.settle()
}

// commandLine reads the words that one program is given.
type commandLine struct {
	*usage
	words    []argument
	uses     []use
	most     int
	name     string
	entry    *program
	operands []use // those in force
	found    []int // operands, by their place
	at       int   // in operands
	dashes   bool  // "--" was there
}

// read goes through the words from i on.
func (c *commandLine) read(i int) {
	for ; i < len(c.words); i++ {
		w := c.words[i]
		c.doubt, c.maybe = c.doubt || w.loose, c.maybe || w.option
		if !c.dashes && len(w.text) > 1 && w.text[0] == '-' && !(c.next() == useRest && (!c.doubt || c.trusted)) {
			if w.text == "--" {
				c.uses[i] = use{kind: useText, known: true}
				if c.dashes = true; c.next() == useDashes {
					c.at++
				}
				continue
			}
			i += c.option(i)
			continue
		}
		if c.next() == useAssign && !isAssignment(w.text) {
			c.at++
		}
		kind := c.next()
		switch kind {
		case useAssign:
			c.uses[i] = use{kind: useAssign, known: true}
			continue
		case useCommand, useCommands:
			c.rest(i, len(c.words), kind == useCommands)
			return
		case useSub:
			c.sub(i)
			return
		case useRemote, useRest:
			if c.doubt && !c.trusted || slices.ContainsFunc(c.found, func(at int) bool { return isThisHost(c.words[at].text) }) {
				break // an option of the program's own may follow
			}
			for ; i < len(c.words); i++ {
				c.uses[i] = use{kind: useRemote, known: true}
			}
			return
		}
		c.found = append(c.found, i)
		if c.at+1 < len(c.operands) && !c.operands[c.at].many && kind != useDashes {
			c.at++
		}
	}
}

// next is what the next operand is.
func (c *commandLine) next() useKind {
	if c.at < len(c.operands) {
		return c.operands[c.at].kind
	}
	return usePath
}

// rest reads the words from i to end as a command.
func (c *commandLine) rest(i, end int, further bool) {
	if i >= end {
		return
	}
	c.doubt = c.doubt || further
	if c.doubt && !further {
		return // it may begin elsewhere
	}
	c.command(c.words[i:end], c.uses[i:end], c.most-1)
}

// sub goes on with the subcommand at i.
func (c *commandLine) sub(i int) {
	c.uses[i] = use{kind: useText, known: true}
	p := programs[c.name+"+"+c.words[i].text]
	switch {
	case c.doubt:
		c.entry, c.operands = unknown, unknown.operands
	case p != nil:
		c.entry, c.name, c.operands, c.at = p, c.name+"+"+c.words[i].text, p.operands, 0
	default:
		c.operands, c.at = unknown.operands, 0
	}
	c.program = c.entry
	c.read(i + 1)
}

// option reads the option at i and returns how many words belong to it beside itself.
func (c *commandLine) option(i int) int {
	w := c.words[i].text
	name, value, joined := strings.Cut(w, "=")
	if o, ok := c.known(name); ok {
		return c.apply(o, i, len(w)-len(value), joined)
	}
	if w[1] != '-' {
		for k := 1; k < len(w); k++ {
			if strings.IndexByte(c.entry.letters, w[k]) >= 0 {
				continue
			}
			if o, ok := c.entry.options["-"+w[k:k+1]]; ok && c.entry != unknown && (len(o.values) > 0 || k+1 == len(w)) {
				at := k + 1
				if at < len(w) && w[at] == '=' {
					at++
				}
				return c.apply(o, i, at, k+1 < len(w))
			} else if ok {
				c.apply(o, i, 0, false)
				continue
			}
			return c.strange(i)
		}
		c.uses[i] = use{known: true}
		return 0
	}
	return c.strange(i)
}

// strange is an option that the table does not list: its value is a path, and the next word may be that.
func (c *commandLine) strange(i int) int {
	if c.entry == unknown || strings.IndexByte(c.words[i].text, '=') >= 0 {
		return 0
	}
	c.doubt = true
	if c.entry.box {
		return 1
	}
	return 0
}

// known finds an option of the program, or one that any program may have.
func (c *commandLine) known(name string) (option, bool) {
	o, ok := c.entry.options[name]
	if !ok && len(name) > 1 && c.entry != unknown && strings.IndexByte(c.entry.letters, name[1]) < 0 {
		o, ok = unknown.options[name]
	}
	return o, ok
}

// apply gives the values of an option their use. The first stands in the same word, from at on, where it is joined.
func (c *commandLine) apply(o option, i, at int, joined bool) (taken int) {
	c.uses[i] = use{known: true}
	c.deletes = c.deletes || o.deletes
	if o.instead != nil {
		c.operands, c.at = o.instead, 0
	}
	for _, u := range o.values {
		switch {
		case joined:
			u.at, joined = at, false
			c.uses[i] = u
		case i+taken+1 >= len(c.words):
		case u.kind == useCommands || u.kind == useCommand:
			end := i + 1
			for end < len(c.words) && c.words[end].text != ";" && c.words[end].text != "+" {
				end++
			}
			own, doubt := c.program, c.doubt
			c.rest(i+1, end, u.kind == useCommands)
			c.deletes = c.deletes || len(c.program.operands) > 0 && c.program.operands[0].role == RoleDelete
			c.program, c.doubt = own, doubt
			return min(end, len(c.words)-1) - i
		default:
			taken++
			c.doubt = c.doubt || c.words[i+taken].loose
			c.uses[i+taken] = u
		}
	}
	return taken
}

// settle gives the operands their use, once all options are known.
func (c *commandLine) settle() {
	at := 0
	for n, i := range c.found {
		u := use{known: c.entry != unknown}
		if at < len(c.operands) {
			u = c.operands[at]
			if u.many && at+2 == len(c.operands) && n == len(c.found)-1 && n > 0 {
				u = c.operands[at+1]
			}
			if !u.many && at+1 < len(c.operands) && u.kind != useDashes {
				at++
			}
		}
		if (c.doubt || c.maybe) && u.kind != usePrint && u.kind != useShell && u.kind != useCode && u.kind != useCd && u.kind != useWord || u.kind == useDashes || u.kind == useRemote || u.kind == useRest {
			u.was, u.kind = u.kind, usePath
		}
		if c.deletes {
			u.role = RoleDelete
		}
		c.uses[i] = u
	}
	if len(c.found) == 0 && c.entry.here && (c.deletes || c.operands[0].role == RoleDelete) {
		c.here = true
	}
}

// isAssignment reports NAME=VALUE.
func isAssignment(w string) bool {
	i := strings.IndexByte(w, '=')
	return i > 0 && strings.IndexFunc(w[:i], func(r rune) bool { return r >= 0x80 || !chars.IsLetter(byte(r)) && !chars.IsDigit(byte(r)) && r != '_' }) < 0
}
