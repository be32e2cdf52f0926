package shell

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/access"
	"mcphub/validate/chars"
	"mcphub/validate/uri"
)

// programsText is the one table of what known programs make of their words; its head explains how it is written.
//
//go:embed programs.txt
var programsText string

// windowsText is the part of the table about the commands of the shells of Windows.
//
//go:embed programs_windows.txt
var windowsText string

// Kind is what a program makes of a word, by the names of the table.
type Kind uint8

const (
	UsePath Kind = iota // the zero value: a path
	UseText
	useName
	UseExtras
	useWord
	useData
	useForm
	UsePrint
	useRemote
	useRest
	useHost
	useBox
	UseVolume
	UseMount
	UseWorkdir
	UseShell
	UseCode
	UseSed
	UseMade
	useHosts
	UseQuery
	UseSQL
	UseAssign
	UseCommand
	useCommands
	useMove
	UseCd
	useSub
	useDashes // not a use: what follows begins behind "--"
)

var useKinds = map[string]Kind{
	"path": UsePath, "text": UseText, "name": useName, "extras": UseExtras, "word": useWord, "data": useData, "form": useForm, "print": UsePrint, "remote": useRemote, "rest": useRest, "host": useHost, "box": useBox,
	"volume": UseVolume, "mount": UseMount, "workdir": UseWorkdir, "shell": UseShell, "code": UseCode, "sed": UseSed, "made": UseMade, "hosts": useHosts, "query": UseQuery, "sql": UseSQL, "assign": UseAssign,
	"command": UseCommand, "commands": useCommands, "move": useMove, "cd": UseCd, "sub": useSub, "--": useDashes,
}

// A Use is what one word of a command is to the program that it is given to.
type Use struct {
	Kind  Kind
	Role  access.Role // None: no one knows
	At    int         // where the value begins: behind --option= or -o
	many  bool        // in the table: the next words as well
	Known bool        // the program is
	Was   Kind        // what it would be if nothing were in doubt
}

// option is what the table says about one.
type option struct {
	values  []Use
	glued   bool // the values stand in the same word, or there is none
	instead []Use
	deletes bool
	writes  bool
	host    bool
}

// Program is an entry of the table.
type Program struct {
	operands                        []Use
	options                         map[string]option
	letters                         string // options without a value
	stdin                           Use
	here, leaf, filter, shells, Box bool
	sure                            bool
}

// Programs are the entries by name, "git+commit" for a subcommand. They are read when the first command is.
var Programs = sync.OnceValue(func() map[string]*Program { return readPrograms(programsText) })

// windowsPrograms are the entries of windowsText.
var windowsPrograms = sync.OnceValue(func() map[string]*Program { return readPrograms(windowsText) })

func readPrograms(text string) map[string]*Program {
	table := make(map[string]*Program)
	for line := range strings.Lines(text) {
		names, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || line[0] == '#' {
			continue
		}
		p := readProgram(strings.Fields(rest))
		first, second, sub := strings.Cut(names, "}+{")
		if sub {
			first, second = first+"}", "+{"+second
		}
		for _, begin := range alternatives(first) {
			for _, end := range alternatives(second) {
				if table[begin+end] != nil {
					panic("programs.txt: two lines about " + begin + end)
				}
				table[begin+end] = p
			}
		}
	}
	return table
}

func alternatives(names string) []string {
	list, ok := ExpandBraces(names)
	if !ok {
		panic("programs.txt: too many names in " + names)
	}
	return list
}

func readProgram(fields []string) *Program {
	p := &Program{options: make(map[string]option)}
	for _, field := range fields {
		switch {
		case strings.HasPrefix(field, "-["):
			p.letters = strings.Trim(field, "-[]")
		case field != "--" && field[0] == '-':
			name, instead, _ := strings.Cut(field, ">")
			name, deletes := strings.CutSuffix(name, "^delete")
			name, writes := strings.CutSuffix(name, "^write")
			name, host := strings.CutSuffix(name, "^host")
			name, values, _ := strings.Cut(name, "=")
			name, glued := strings.CutSuffix(name, "?")
			p.options[name] = option{readUses(values), glued, readUses(instead), deletes, writes, host}
		case field == "@.":
			p.here = true
		case field == "@leaf":
			p.leaf = true
		case field == "@filter":
			p.filter = true
		case field == "@sure":
			p.sure = true
		case field == "@shell":
			p.shells = true
		case field == "@box":
			p.Box = true
		case field[0] == '<':
			p.stdin = readUses(field[1:])[0]
		default:
			p.operands = append(p.operands, readUses(field)...)
		}
	}
	return p
}

func readUses(list string) (uses []Use) {
	for name := range strings.SplitSeq(list, ",") {
		if name == "" {
			continue
		}
		u := Use{Known: true}
		name, u.many = strings.CutSuffix(name, "*")
		name, role, _ := strings.Cut(name, "/")
		for _, word := range []string{name, role} {
			if r, err := access.Parse(word); err == nil {
				u.Role = r
			}
		}
		kind, ok := useKinds[name]
		if !ok && u.Role == access.None {
			panic(fmt.Sprintf("programs.txt: %q is no kind of use", name))
		}
		u.Kind = kind
		uses = append(uses, u)
	}
	return uses
}

// unknown is any other program. What it is told to write is written, and -C is where it works.
var unknown = readProgram([]string{"path*", "-C=move", "-o=write", "--output=write", "--out=write", "--outfile=write", "--output-dir=write"})

var version = lazyregexp.New(`[0-9.]+$`)

// programNamed finds the entry of a command word. A relative path is a program that no one knows, but for the wrappers of the table.
func programNamed(word string) (name string, p *Program) {
	if strings.IndexByte(word, '/') > 0 {
		if p = Programs()[word]; p == nil {
			p = unknown
		}
		return "", p
	}
	if strings.IndexByte(word, ':') > 0 {
		if p = windowsPrograms()[word]; p != nil {
			return word, p
		}
	}
	name = BaseName(word)
	if p = Programs()[name]; p == nil {
		if p = Programs()[version.ReplaceAllString(name, "")]; p == nil {
			return name, unknown
		}
	}
	return name, p
}

// IsKnown reports the name of a program of the table.
func IsKnown(name string) bool {
	_, p := programNamed(name)
	return p != unknown
}

// An Argument is one word of a command line.
type Argument struct {
	Text   string
	loose  bool // no one knows which words it is to the program: it holds a variable, a substitution or a glob
	option bool // it is one word, and may be an option: "$x"
}

// A Usage is what the programs of one command make of its words.
type Usage struct {
	Uses    []Use // word by word
	Program *Program
	doubt   bool // some word may be another one's value, or begin elsewhere
	maybe   bool // some operand may be an option
	Trusted bool // the operator wrote the command, so doubt changes nothing
	deletes bool // what its operands name is taken away
	writes  bool // what its operands name is changed
	Here    bool // it deletes the working directory
	Host    bool // the program gets the whole machine (docker --pid=host)
}

// Roams reports that the program may work in a directory that no one can tell.
func (u *Usage) Roams() bool { return u.doubt || !u.Program.leaf && !u.Program.filter }

const maxCommands = 16 // commands in commands: sudo env nice ...

// UsageOf reads a command by the table. doubt reports that more than its words may change what they are: a variable in
// front of it.
func UsageOf(words []Argument, doubt bool) Usage {
	u := Usage{Uses: make([]Use, len(words)), Program: unknown, doubt: doubt}
	if len(words) > 0 {
		u.Command(words, u.Uses, maxCommands)
	}
	return u
}

// Command reads words[0] as the name of a program and the rest as what it is given.
func (u *Usage) Command(words []Argument, uses []Use, most int) {
	if most == 0 || words[0].loose || words[0].option {
		u.Program, u.doubt = unknown, true
		return
	}
	uses[0] = Use{Kind: UseCommand, Known: true}
	name, p := programNamed(words[0].Text)
	u.Program = p
	c := commandLine{Usage: u, words: words, uses: uses, most: most, name: name, entry: p, operands: p.operands}
	c.read(1)
	c.assignUses()
}

// commandLine reads the words that a single program is given.
type commandLine struct {
	*Usage
	words    []Argument
	uses     []Use
	most     int
	name     string
	entry    *Program
	operands []Use // those in force
	found    []int // operands, by their place
	at       int   // in operands
	dashes   bool  // "--" was there
	strayed  bool  // an option was there that the table does not list
	loose    bool  // a word was there that may be an option
}

// read goes through the words from i on.
func (c *commandLine) read(i int) {
	for ; i < len(c.words); i++ {
		w := c.words[i]
		c.doubt, c.maybe, c.loose = c.doubt || w.loose, c.maybe || w.option, c.loose || w.loose || w.option
		if !c.dashes && len(w.Text) > 1 && w.Text[0] == '-' && !(c.next() == useRest && (!c.doubt || c.Trusted)) {
			if w.Text == "--" {
				c.uses[i] = Use{Kind: UseText, Known: true}
				if c.dashes = true; c.next() == useDashes {
					c.at++
				}
				continue
			}
			i += c.option(i)
			continue
		}
		if c.next() == UseAssign && !IsAssignment(w.Text) {
			c.at++
		}
		kind := c.next()
		switch kind {
		case UseAssign:
			c.uses[i] = Use{Kind: UseAssign, Known: true}
			continue
		case UseCommand, useCommands:
			c.rest(i, len(c.words), kind == useCommands)
			return
		case useSub:
			c.sub(i)
			return
		case useRemote, useRest:
			if c.doubt && !c.Trusted || slices.ContainsFunc(c.found, func(at int) bool { return uri.IsThisHost(c.words[at].Text) }) || slices.ContainsFunc(c.words[:i], namesThisHost) {
				break // an option of the program's own may follow
			}
			for ; i < len(c.words); i++ {
				c.uses[i] = Use{Kind: useRemote, Known: true}
			}
			return
		}
		c.found = append(c.found, i)
		if c.at+1 < len(c.operands) && !c.operands[c.at].many && kind != useDashes {
			c.at++
		}
	}
}

// hostName is an option of ssh that reports which machine is meant.
var hostName = lazyregexp.New(`(?i)^(?:-\w*o)?\s*HostName[\s=]+(.*)$`)

func namesThisHost(w Argument) bool {
	m := hostName.FindStringSubmatch(w.Text)
	return m != nil && uri.IsThisHost(strings.Trim(m[1], `" `))
}

// next returns what the next operand is.
func (c *commandLine) next() Kind {
	if c.at < len(c.operands) {
		return c.operands[c.at].Kind
	}
	return UsePath
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
	c.Command(c.words[i:end], c.uses[i:end], c.most-1)
}

// sub goes on with the subcommand at i. If an option before it is unknown, the word may be the value of that option.
func (c *commandLine) sub(i int) {
	if c.strayed || c.loose {
		c.entry, c.Program, c.operands, c.at = unknown, unknown, unknown.operands, 0
		c.read(i)
		return
	}
	c.uses[i] = Use{Kind: useName, Known: true}
	p := Programs()[c.name+"+"+c.words[i].Text]
	switch {
	case p != nil:
		c.entry, c.name, c.operands, c.at = p, c.name+"+"+c.words[i].Text, p.operands, 0
	default:
		c.operands, c.at = unknown.operands, 0
	}
	c.Program = c.entry
	c.read(i + 1)
}

// option reads the option at i and returns how many words belong to it beside itself.
func (c *commandLine) option(i int) int {
	w := c.words[i].Text
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
				if o.glued && o.values[0].Kind == UseText && strings.Trim(w[at:], "0123456789"+substituted) != "" {
					return c.strange(i) // it may be another option
				}
				return c.apply(o, i, at, k+1 < len(w))
			} else if ok {
				c.apply(o, i, 0, false)
				continue
			}
			return c.strange(i)
		}
		c.uses[i] = Use{Known: true}
		return 0
	}
	return c.strange(i)
}

// strange returns an option that the table does not list: its value is a path, and the next word may be that.
func (c *commandLine) strange(i int) int {
	if c.entry == unknown || strings.IndexByte(c.words[i].Text, '=') >= 0 {
		return 0
	}
	c.doubt, c.strayed = true, true
	if c.entry.Box {
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

// apply gives the values of an option their use. The first stands in the same word, from at on, if it is joined.
func (c *commandLine) apply(o option, i, at int, joined bool) (taken int) {
	c.uses[i] = Use{Known: true}
	c.deletes, c.writes, c.Host = c.deletes || o.deletes, c.writes || o.writes, c.Host || o.host
	if o.instead != nil {
		c.operands, c.at = o.instead, 0
	}
	for _, u := range o.values {
		switch {
		case joined:
			u.At, joined = at, false
			c.uses[i] = u
			c.Host = c.Host || u.Kind == useHosts && c.words[i].Text[at:] == "host"
		case o.glued, i+taken+1 >= len(c.words):
		case u.Kind == useCommands || u.Kind == UseCommand:
			end := i + 1
			for end < len(c.words) && c.words[end].Text != ";" && c.words[end].Text != "+" {
				end++
			}
			own, doubt := c.Program, c.doubt
			c.rest(i+1, end, u.Kind == useCommands)
			c.deletes = c.deletes || len(c.Program.operands) > 0 && c.Program.operands[0].Role == access.Delete
			c.Program, c.doubt = own, doubt
			return min(end, len(c.words)-1) - i
		default:
			taken++
			c.doubt = c.doubt || c.words[i+taken].loose
			c.uses[i+taken] = u
			c.Host = c.Host || u.Kind == useHosts && c.words[i+taken].Text == "host"
		}
	}
	return taken
}

// assignUses gives the operands their use, once all options are known.
func (c *commandLine) assignUses() {
	at := 0
	for n, i := range c.found {
		u := Use{Known: c.entry != unknown}
		if at < len(c.operands) {
			u = c.operands[at]
			if u.many && at+2 == len(c.operands) && n == len(c.found)-1 && n > 0 {
				u = c.operands[at+1]
			}
			if !u.many && at+1 < len(c.operands) && u.Kind != useDashes {
				at++
			}
		}
		doubt := c.doubt || c.maybe
		if u.Kind == useName { // no variable of the environment makes it a path
			doubt = c.strayed || c.loose
		}
		if doubt && !c.entry.sure && u.Kind != UsePrint && u.Kind != UseShell && u.Kind != UseCode && u.Kind != UseCd && u.Kind != useWord || u.Kind == useDashes || u.Kind == useRemote || u.Kind == useRest {
			u.Was, u.Kind = u.Kind, UsePath
		}
		switch {
		case c.deletes:
			u.Role = access.Delete
		case c.writes && u.Role == access.Read:
			u.Role = access.Write
		case c.strayed && u.Role == access.Read:
			u.Role = access.None // an option that the table does not list may write it
		}
		c.uses[i] = u
	}
	if len(c.found) == 0 && c.entry.here && (c.deletes || c.operands[0].Role == access.Delete) {
		c.Here = true
	}
}

// IsAssignment reports NAME=VALUE.
func IsAssignment(w string) bool {
	i := strings.IndexByte(w, '=')
	return i > 0 && strings.IndexFunc(w[:i], func(r rune) bool { return r >= 0x80 || !chars.IsLetter(byte(r)) && !chars.IsDigit(byte(r)) && r != '_' }) < 0
}
