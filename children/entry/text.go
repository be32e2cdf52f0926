package entry

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"mcphub/internal/commandline"
)

// readShell names what a text does that a shell runs: the words of its commands, where it goes,
// what it sources and redirects. Of a word that only the shell knows it names nothing.
func (r *reader) readShell(at place, key, text string) {
	if at.nested++; at.nested > maxNested || commandline.IsFilledLater(text) {
		return
	}
	walkText(text, func(node syntax.Node) {
		switch n := node.(type) {
		case *syntax.CallExpr:
			r.readAssigns(at, key, n.Assigns)
			r.readCommand(&at, key, n.Args)
		case *syntax.DeclClause:
			r.readAssigns(at, key, n.Args)
		case *syntax.Redirect:
			if to, ok := r.expandWord(n.Word); ok && n.Hdoc == nil {
				r.readValue(at, key, "", to, Data)
			}
		}
	})
}

// walkText visits what a text of a shell consists of; false if it is none.
func walkText(text string, visit func(syntax.Node)) bool {
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return false
	}
	syntax.Walk(parsed, func(node syntax.Node) bool {
		visit(node)
		return true
	})
	return true
}

// Commands returns the commands that a text has a shell run, each as its words, "" for a
// word that only the shell knows; false if it is no text of a shell.
func Commands(text, home string) (all [][]string, ok bool) {
	r := reader{Entry: &Entry{Home: home}}
	ok = walkText(text, func(node syntax.Node) {
		if call, is := node.(*syntax.CallExpr); is && len(call.Args) > 0 {
			all = append(all, r.commandWords(call.Args))
		}
	})
	return all, ok
}

// commandWords returns the command words of a command, without what only reports how it is started.
func (r *reader) commandWords(args []*syntax.Word) (words []string) {
	for _, arg := range args {
		word, _ := r.expandWord(arg)
		words = append(words, word)
	}
	for len(words) > 0 && (words[0] == "exec" || words[0] == "command" || words[0] == "builtin") {
		words = words[1:]
	}
	return words
}

func (r *reader) readAssigns(at place, key string, all []*syntax.Assign) {
	for _, a := range all {
		if a.Name == nil || a.Value == nil {
			continue
		}
		if value, ok := r.expandWord(a.Value); ok {
			r.readVariable(at, key, a.Name.Value, value)
		}
	}
}

// readCommand names what one command does. One that goes elsewhere changes at.
func (r *reader) readCommand(at *place, key string, args []*syntax.Word) {
	words := r.commandWords(args) // "" for what only the shell knows
	if len(words) == 0 {
		return
	}
	switch words[0] {
	case "cd", "pushd":
		to := words[1:]
		for len(to) > 0 && strings.HasPrefix(to[0], "-") {
			to = to[1:]
		}
		was := at.dir
		if at.dir = ""; len(to) == 1 && to[0] != "" {
			if filepath.IsAbs(to[0]) {
				at.dir = filepath.Clean(to[0])
			} else if was != "" {
				at.dir = filepath.Join(was, to[0])
			}
		}
		if at.dir != "" {
			r.addName(Name{key, at.dir, Cwd, true, true})
		}
	case "source", ".":
		if len(words) > 1 {
			r.readValue(*at, key, "", words[1], Code)
		}
	default:
		if command := words[0]; strings.ContainsRune(command, '/') {
			r.readWord(*at, key, command)
		}
		r.readLine(*at, words[0], words[1:], func(int) string { return key })
	}
}

// expandWord returns a word as the shell expands it; false if that cannot be told.
func (r *reader) expandWord(word *syntax.Word) (text string, ok bool) {
	if word == nil {
		return "", false
	}
	var b strings.Builder
	for i, part := range word.Parts {
		if !r.expandPart(&b, part, i == 0) {
			return "", false
		}
	}
	return b.String(), true
}

func (r *reader) expandPart(b *strings.Builder, part syntax.WordPart, first bool) bool {
	switch p := part.(type) {
	case *syntax.Lit:
		text := p.Value
		if first && r.Home != "" && (text == "~" || strings.HasPrefix(text, "~/")) {
			text = r.Home + text[1:]
		}
		if strings.ContainsAny(text, "*?[") {
			return false
		}
		b.WriteString(stripBackslashes(text))
	case *syntax.SglQuoted:
		b.WriteString(p.Value)
		return !p.Dollar
	case *syntax.DblQuoted:
		for _, in := range p.Parts {
			if lit, is := in.(*syntax.Lit); is {
				b.WriteString(stripBackslashes(lit.Value))
			} else if !r.expandPart(b, in, false) {
				return false
			}
		}
	case *syntax.ParamExp:
		plain := p.Param != nil && p.Param.Value == "HOME" && p.Exp == nil && p.Repl == nil && p.Slice == nil && p.Index == nil && !p.Length && !p.Excl
		b.WriteString(r.Home)
		return plain && r.Home != ""
	default:
		return false
	}
	return true
}

// stripBackslashes returns a text without the backslashes before other signs.
func stripBackslashes(text string) string {
	if !strings.ContainsRune(text, '\\') {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
