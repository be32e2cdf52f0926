package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/access"
	"mcphub/validate/chars"
)

// A parser reads one shell text. source is that text; the offsets of nodes refer to it.
type parser struct {
	*Reader
	source string
}

// list reads commands one after the other.
func (p *parser) list(stmts []*syntax.Stmt, in scope) {
	for _, s := range stmts {
		p.stmt(s, in)
		p.where.boundary()
	}
}

// apart reads commands that run in a shell of their own.
func (p *parser) apart(stmts []*syntax.Stmt, in scope) {
	before := p.where
	p.list(stmts, in)
	p.where = before
}

// perhaps reads commands that may run or not, and in whichever shell.
func (p *parser) perhaps(in scope, read func(in scope)) {
	before := p.where
	read(in)
	p.where.join(before)
}

// again reads commands that may run more than once: the first may start in the directory to which the last goes.
func (p *parser) again(in scope, read func(in scope)) {
	first, before := len(p.Items), p.where
	read(in)
	if p.where.dir != before.dir {
		for i := first; i < len(p.Items); i++ {
			p.Items[i].Course = Course{Dir: p.where.dir}
		}
	}
	p.where.join(before)
}

// stmt reads one command with its redirections.
func (p *parser) stmt(s *syntax.Stmt, in scope) {
	if s == nil { // time, of nothing
		return
	}
	if !p.enter() {
		return
	}
	p.where.moved = false
	before := p.where
	for _, red := range s.Redirs {
		in.filed = in.filed || intoFile(red)
		p.Reads = p.Reads || red.Op == syntax.RdrIn && !outputs[red.Word.Lit()]
	}
	call, simple := s.Cmd.(*syntax.CallExpr)
	var program *Program
	if simple {
		program = p.call(call, len(s.Redirs) > 0, in)
	} else {
		in.timed = false
		p.command(s.Cmd, in)
	}
	for _, red := range s.Redirs {
		p.redirect(red, program, in)
	}
	if s.Negated || s.Background || s.Coprocess || s.Disown {
		p.where.join(before)
	}
	p.depth--
}

// intoFile reports a redirection of what a command prints.
func intoFile(red *syntax.Redirect) bool {
	switch red.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrInOut, syntax.RdrAll, syntax.AppAll, syntax.DplOut:
		target := red.Word.Lit()
		return target == "" || strings.Trim(target, "0123456789-") != "" && !outputs[target]
	}
	return false
}

// outputs are no files.
var outputs = chars.WordSet("/dev/null /dev/stderr /dev/stdout /dev/tty")

// redirect reads the target of a redirection, or what a program is given to read.
func (p *parser) redirect(red *syntax.Redirect, program *Program, in scope) {
	item := Item{Captured: in.captured, Filed: in.filed}
	switch red.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		body := red.Hdoc
		if red.Op == syntax.WordHdoc {
			body = red.Word
		}
		if program != nil {
			item.Use = program.stdin
		}
		quoted := red.Op == syntax.Hdoc || red.Op == syntax.DashHdoc
		for _, w := range p.words(body, quoted, in.inside(item.Kind)) {
			item.Word, item.Crude = w, quoted && item.Kind == UsePath
			p.use(item)
		}
		return
	case syntax.DplIn, syntax.DplOut:
		if lit := red.Word.Lit(); lit != "" && strings.Trim(lit, "0123456789-") == "" {
			return
		}
	}
	item.Use = Use{Role: access.Write, Known: true}
	item.Position = Written
	if red.Op == syntax.RdrIn {
		item.Use, item.Position, item.Redirect = Use{Role: access.Read, Known: true}, Plain, true
	}
	for _, w := range p.words(red.Word, false, scope{captured: true}) {
		item.Word = w
		p.use(item)
	}
}

// inside returns the scope of a substitution in a word of some use: what it prints becomes part of that word.
func (in scope) inside(kind Kind) scope {
	switch kind {
	case UseText, useRemote, UseWorkdir:
		return scope{}
	case UsePrint:
		return scope{captured: in.captured, filed: in.filed}
	}
	return scope{captured: true}
}

// command reads what is no simple command.
func (p *parser) command(cmd syntax.Command, in scope) {
	switch c := cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			p.andOr(c, in)
		} else {
			p.pipe(c, in)
		}
	case *syntax.Block:
		p.list(c.Stmts, in)
	case *syntax.Subshell:
		p.apart(c.Stmts, in)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			p.list(c.Cond, in)
			p.perhaps(in, func(in scope) { p.list(c.Then, in) })
		}
	case *syntax.WhileClause:
		p.again(in, func(in scope) {
			p.list(c.Cond, in)
			p.list(c.Do, in)
		})
	case *syntax.ForClause:
		if words, ok := c.Loop.(*syntax.WordIter); ok {
			for _, item := range words.Items {
				for _, w := range p.path(item) {
					p.give(words.Name.Value, w.Text)
				}
			}
		} else if loop, ok := c.Loop.(*syntax.CStyleLoop); ok {
			p.arithmetic(loop.Init)
			p.arithmetic(loop.Cond)
			p.arithmetic(loop.Post)
		}
		p.again(in, func(in scope) { p.list(c.Do, in) })
	case *syntax.CaseClause:
		p.words(c.Word, false, scope{captured: true})
		for _, item := range c.Items {
			for _, w := range item.Patterns {
				p.words(w, false, scope{captured: true})
			}
			p.perhaps(in, func(in scope) { p.list(item.Stmts, in) })
		}
	case *syntax.FuncDecl:
		p.Odd = true
		p.again(in, func(in scope) { p.stmt(c.Body, in) })
	case *syntax.TimeClause:
		in.timed = true
		p.perhaps(in, func(in scope) { p.stmt(c.Stmt, in) })
	case *syntax.CoprocClause:
		p.Odd = true
		p.perhaps(scope{captured: true}, func(in scope) { p.stmt(c.Stmt, in) })
	case *syntax.DeclClause:
		for _, a := range c.Args {
			p.assign(a)
		}
	case *syntax.TestClause:
		p.test(c.X)
	case *syntax.ArithmCmd:
		p.arithmetic(c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			p.arithmetic(x)
		}
	}
}

// chain returns commands between signs, and the sign before each, the last first. The parser nests them to the left.
func chain(c *syntax.BinaryCmd, signs ...syntax.BinCmdOperator) (stmts []*syntax.Stmt, before []syntax.BinCmdOperator) {
	for {
		stmts, before = append(stmts, c.Y), append(before, c.Op)
		x, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if !ok || !slices.Contains(signs, x.Op) || len(c.X.Redirs) > 0 || c.X.Negated {
			return append(stmts, c.X), before
		}
		c = x
	}
}

// andOr reads a && b || c.
func (p *parser) andOr(c *syntax.BinaryCmd, in scope) {
	stmts, before := chain(c, syntax.AndStmt, syntax.OrStmt)
	p.stmt(stmts[len(before)], in)
	for i := len(before) - 1; i >= 0; i-- {
		if before[i] == syntax.OrStmt {
			p.where.sure, in.maybe = SureNot, true
		}
		p.where.chance = p.where.chance || !p.where.moved
		p.stmt(stmts[i], in)
	}
}

// pipe reads a | b | c. Each runs in a shell of its own, in most shells.
func (p *parser) pipe(c *syntax.BinaryCmd, in scope) {
	stmts, _ := chain(c, syntax.Pipe, syntax.PipeAll)
	scopes := make([]scope, len(stmts))
	for i, s := range stmts {
		scopes[i] = in
		if filter, files := p.filter(s); !filter {
			in.captured = true
		} else if files {
			in.filed = true
		}
	}
	for i := len(stmts) - 1; i >= 0; i-- {
		p.perhaps(scopes[i], func(in scope) { p.stmt(stmts[i], in) })
	}
}

// filter reports a command that neither runs what it is given nor takes it for names, and whether it keeps it in a file.
func (p *parser) filter(s *syntax.Stmt) (filter, files bool) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) == 0 {
		return false, false
	}
	var words []Argument
	for _, arg := range call.Args {
		for _, w := range p.render(arg, false) {
			words = append(words, Argument{Text: w.Text, loose: w.loose || w.option || strings.Contains(w.Text, "files0")})
		}
	}
	u := UsageOf(words, false)
	for _, red := range s.Redirs {
		files = files || intoFile(red)
	}
	for _, use := range u.Uses {
		files = files || use.Role == access.Write
	}
	return u.Program.filter && !u.doubt, files
}

// call reads a simple command and returns the program that reads its standard input, nil if that is not known.
func (p *parser) call(c *syntax.CallExpr, redirected bool, in scope) *Program {
	doubt := false
	for _, a := range c.Assigns {
		p.assign(a)
		doubt = doubt || a.Name != nil && (strings.Contains(a.Name.Value, "OPT") || strings.Contains(a.Name.Value, "CONFIG")) // GREP_OPTIONS=-f/x
	}
	var words []Word
	for _, w := range c.Args {
		words = append(words, p.render(w, false)...)
	}
	return p.simple(words, doubt, redirected || len(c.Assigns) > 0, in)
}

// simple reads the words of a simple command. doubt reports that more than they may change what they are, and changed that the command may
// not do what its name says.
func (p *parser) simple(words []Word, doubt, changed bool, in scope) *Program {
	if len(words) == 0 {
		return nil
	}
	if strings.HasPrefix(words[0].Text, "-") {
		name := "unnamed"
		if in.timed {
			name = "time" // no reserved word to some shells
		}
		words = append([]Word{{Text: name}}, words...)
	}
	if !p.spend(4 * len(words)) {
		return nil
	}
	list := make([]Argument, len(words))
	for i, w := range words {
		list[i] = Argument{w.name(), w.loose, w.option}
		p.Reads = p.Reads || i > 0 && strings.HasPrefix(w.Text, "-") && (strings.Contains(w.Text, "from") || strings.Contains(w.Text, "stdin"))
	}
	if outer := p.where.native; !outer {
		p.where.native = builtins[words[0].name()]
		defer func() { p.where.native = outer }()
	}
	u := UsageOf(list, doubt)
	p.Reads = p.Reads || !u.Program.leaf && !u.Program.filter
	p.roams = p.roams || u.Roams()
	p.Odd = p.Odd || u.Program.shells || words[0].loose || words[0].option
	for i, w := range words {
		item := Item{Use: u.Uses[i], Word: w, Captured: in.captured, Filed: in.filed}
		if item.Kind == UseCommand && item.Known {
			item.Position = Command
		}
		inner := in.inside(item.Kind)
		if w.split && item.Kind == UseText { // it may be several words, and the others are something else
			inner.captured = true
		}
		p.within(w, inner)
		if item.Kind == useMove {
			before := p.where
			p.where.move(w.Text[min(item.At, len(w.Text)):], SureNot)
			defer func() { p.where = before }()
		}
		p.use(item)
		for _, item.Text = range w.others {
			item.Pattern = item.Text
			p.use(item)
		}
	}
	if u.Here {
		p.add(Item{Word: Word{Text: "."}, Use: Use{Role: access.Delete, Known: true}})
	}
	if u.Host {
		p.add(Item{Word: Word{Text: "/"}, Use: Use{Role: access.Write, Known: true}})
	}
	p.moves(words, &u, changed, in)
	if u.doubt {
		return nil
	}
	return u.Program
}

// assign reads NAME=VALUE.
func (p *parser) assign(a *syntax.Assign) {
	p.arithmetic(a.Index)
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			p.arithmetic(e.Index)
			p.path(e.Value)
		}
	}
	name := ""
	if a.Name != nil {
		name = a.Name.Value
	}
	for _, w := range p.words(a.Value, false, scope{captured: true}) {
		p.Odd = p.Odd || name == "PATH" && !systemPath.MatchString(w.Text)
		if name != "" && !a.Naked {
			if before := p.value[name]; a.Append {
				for _, v := range before {
					p.give(name, v+w.Text)
				}
			} else {
				p.give(name, w.Text)
			}
			w.Text, w.Pattern = name+"="+w.Text, name+"="+w.Pattern
		}
		p.use(Item{Use: Use{Kind: UseAssign}, Word: w})
	}
}

// systemPath is a value of PATH that adds nothing but folders of the system.
var systemPath = lazyregexp.New(`^(?:(?:\$\{PATH\}|/(?:usr|opt|bin|sbin|snap|nix)(?:/[^:]*)?)(?::|$))*$`)

// path reads a word that stands in no command and counts as a path.
func (p *parser) path(w *syntax.Word) []Word {
	list := p.words(w, false, scope{captured: true})
	for _, w := range list {
		p.use(Item{Word: w})
	}
	return list
}

// words forms the words that one makes, and reads the substitutions in it.
func (p *parser) words(w *syntax.Word, quoted bool, in scope) []Word {
	if w == nil {
		return nil
	}
	list := p.render(w, quoted)
	for _, word := range list {
		p.within(word, in)
	}
	return list
}

// within reads the substitutions in a word.
func (p *parser) within(w Word, in scope) {
	for _, value := range w.values {
		if p.enter() {
			p.path(value)
			p.depth--
		}
	}
	for _, node := range w.nodes {
		switch n := node.(type) {
		case *syntax.CmdSubst:
			p.Reads = p.Reads || in.captured
			p.apart(n.Stmts, in)
		case *syntax.ProcSubst:
			p.Reads = true
			p.apart(n.Stmts, scope{captured: true})
		case *syntax.Word:
			if p.enter() {
				p.words(n, true, in)
				p.depth--
			}
		case syntax.ArithmExpr:
			p.arithmetic(n)
		}
	}
}

// arithmetic reads the substitutions in an expression. The parser nests it to the left.
func (p *parser) arithmetic(x syntax.ArithmExpr) {
	if x == nil || !p.enter() {
		return
	}
	for x != nil {
		switch e := x.(type) {
		case *syntax.BinaryArithm:
			p.arithmetic(e.Y)
			x = e.X
			continue
		case *syntax.UnaryArithm:
			x = e.X
			continue
		case *syntax.ParenArithm:
			x = e.X
			continue
		case *syntax.Word:
			for _, w := range p.words(e, true, scope{captured: true}) {
				if strings.ContainsAny(w.Text, "$`") { // let 'x[$(y)]' runs y
					p.use(Item{Word: w})
				}
			}
		}
		break
	}
	p.depth--
}

// test reads [[ ... ]]: what an operator asks of a file is a path, what is compared is text.
func (p *parser) test(x syntax.TestExpr) {
	if !p.enter() {
		return
	}
	switch t := x.(type) {
	case *syntax.BinaryTest:
		p.test(t.X)
		if x, ok := t.Y.(*syntax.Word); ok && t.Op != syntax.TsNewer && t.Op != syntax.TsOlder {
			p.words(x, false, scope{captured: true})
		} else {
			p.test(t.Y)
		}
	case *syntax.UnaryTest:
		p.test(t.X)
	case *syntax.ParenTest:
		p.test(t.X)
	case *syntax.Word:
		for _, w := range p.words(t, false, scope{captured: true}) {
			p.use(Item{Use: Use{Kind: useWord, Role: access.Read, Known: true}, Word: w})
		}
	}
	p.depth--
}

// use keeps a word, and reads it further if it is a shell string.
func (p *parser) use(item Item) {
	p.add(item)
	if p.deeper != nil {
		p.deeper(&item)
	}
	if item.Kind == UseShell && p.Fault == "" {
		before := p.where
		p.text(strings.ReplaceAll(item.Text[min(item.At, len(item.Text)):], substituted, "."), scope{captured: item.Captured, filed: item.Filed})
		p.where = before
	}
}
