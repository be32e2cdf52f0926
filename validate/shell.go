package validate

import (
	"path"
	"strings"
)

func lastWord(t *tree, key int32) string {
	if key < 0 {
		return ""
	}
	list := t.room.split(t.name(key))
	if len(list) == 0 {
		return ""
	}
	return string(list[len(list)-1])
}

// shell scans a shell string, or an element of one given as an array.
func (d *detector) shell(id int32, s string, p place) {
	n := &d.t.nodes[id]
	element := n.kend == 0 && d.t.nodes[n.parent].kind == kArray
	if element && n.index > 0 {
		if s = d.element(id, s, p); s == "" {
			return
		}
		before := len(d.findings)
		d.broad(id, s, p, false)
		if !d.onlyRelative(before) {
			return
		}
	} else {
		d.uris(id, s, p, false)
	}
	variables := variablesOf(s)
	eachShellWord(s, func(w shellWord) {
		if w.at == seatCommand && element && n.index > 0 {
			w.at = seatPlain
		}
		d.course, d.name0, d.inWords, d.variables = course{w.dir, w.sure}, w.name, w.text != s, variables
		d.word(id, w.text, w.at, p, HowShell)
		d.shellGlob(id, w.pattern, p)
	})
	d.course, d.name0, d.inWords, d.variables = course{}, "", false, nil
}

// word keeps one word of a shell string as a candidate: Judge decides whether it exists, and where it leads.
func (d *detector) word(id int32, w string, at wordSeat, p place, how string) {
	command, written := at == seatCommand, at == seatWritten
	if len(w) > maxRaw {
		if w = trimEdges(w); len(w) > maxRaw {
			d.longWord(id, w, p, how)
			return
		}
	}
	if w == "" {
		return
	}
	if strings.IndexByte(w, 0) >= 0 {
		for piece := range strings.SplitSeq(w, "\x00") {
			d.word(id, piece, at, p, how)
		}
	}
	kind, texts := readScheme(w)
	switch kind {
	case schemeOther:
		if !command {
			d.urlWord(id, w, p, how)
		}
		return
	case schemeFile:
		d.add(Finding{Value: texts[0], How: how, form: formURI, seat: id}, p)
		d.link(id, w, p, false)
		return
	case schemePath:
		d.add(Finding{Value: texts[0], alts: texts[1:], How: how, form: formWord, seat: id}, p)
		return
	}
	if (command || at == seatMaybe) && d.c.isCommand(w) || d.isListVariable(w, command) {
		return
	}
	d.bareWord(id, w, at, p, how)
	if rest, ok := d.afterPATH(w); ok {
		for part := range strings.SplitSeq(rest, ":") {
			d.word(id, part, seatPlain, p, how)
		}
		return
	}
	if _, ok := d.look(w, false); ok {
		d.add(Finding{Value: w, How: how, form: formWord, written: written, seat: id}, p)
		if strings.IndexByte(w, ':') < 0 && w[0] != '$' {
			return
		}
	}
	if i := strings.IndexByte(w, ':'); i > 0 && !isRemote(w[:i]) {
		for part := range strings.SplitSeq(w, ":") {
			d.word(id, part, seatPlain, p, how)
		}
	}
	for i := 0; i+1 < len(w); i++ {
		if c := w[i]; (c == '=' || c == '@' || c == ':' && !isRemote(w[:i])) && strings.ContainsRune(`/~.$`, rune(w[i+1])) {
			if _, ok := d.afterPATH(w[i+1:]); ok {
				d.word(id, w[i+1:], seatPlain, p, how)
			} else if _, ok := d.look(w[i+1:], false); ok && !d.isListVariable(w[i+1:], false) {
				d.add(Finding{Value: w[i+1:], How: how, form: formWord, seat: id}, p)
			}
		}
	}
	if len(w) > 2 && w[0] == '-' && w[1] != '-' {
		i := bundle(w)
		if i < 3 && strings.ContainsRune(`/~.$`, rune(w[2])) {
			i = 2
		}
		if i >= 2 {
			if _, ok := d.look(w[i:], false); ok {
				d.add(Finding{Value: w[i:], How: how, form: formWord, seat: id}, p)
			}
		}
	}
	d.glued(id, w, p, how, false)
	if command {
		if strings.IndexByte(w, '/') > 0 && len(w) <= maxRaw { // to run what a link leads to is fine, to name a document is not
			d.add(Finding{Value: w, How: HowLink, form: formLink, runs: true, seat: id}, p)
		}
		return
	}
	d.writes = written
	defer func() { d.writes = false }()
	if hasBlank(w) {
		if strings.IndexByte(w, '/') > 0 {
			d.link(id, w, p, false)
		}
		return
	}
	d.vectorNames(id, w, p)
	for i := 1; i+1 < len(w); i++ {
		if c := w[i]; (c == '=' || c == '@' || c == ':') && strings.IndexByte(w[i+1:], '/') > 0 {
			d.link(id, w[i+1:], p, false)
		}
	}
}

// bareWord judges a word as it is where its variables hold the working directory, or nothing.
func (d *detector) bareWord(id int32, w string, at wordSeat, p place, how string) {
	if dotted := dotVariables(w); dotted != w {
		seat := seatPlain
		if at == seatWritten {
			seat = at
		}
		d.word(id, dotted, seat, p, how)
	}
	if d.variables == nil {
		return
	}
	bare, ok := d.c.withoutVariables(w, d.variables)
	if bare == "" && d.name0 == "cd" {
		bare = "~"
	}
	if ok {
		d.word(id, bare, at, p, how)
	}
}

// urlWord judges a URL as the name that a program without URLs takes it for: it climbs above where it starts, or a link
// is called "https:".
func (d *detector) urlWord(id int32, w string, p place, how string) {
	if len(w) > maxRaw {
		return
	}
	head, _, _ := strings.Cut(w, "?")
	if up := path.Clean(head); climbs(head) && (up == ".." || strings.HasPrefix(up, "../")) {
		d.add(Finding{Value: head, How: how, form: formWord, seat: id}, p)
	}
	d.urlLink(id, w, p, false)
}

// isListVariable reports $PATH, which is no path but a list of where programs are, and $SHELL where it is run or printed.
func (d *detector) isListVariable(w string, command bool) bool {
	if w[0] != '$' {
		return false
	}
	name, fallback, n := dollarName(w)
	if n != len(w) || fallback != "" {
		return false
	}
	return name == "PATH" && strings.IndexByte(d.c.getenv(name), ':') >= 0 || name == "SHELL" && (command || proseCommands[d.name0]) && d.c.isCommand(d.c.getenv(name))
}

// afterPATH returns what is added to $PATH: $PATH:bin.
func (d *detector) afterPATH(w string) (string, bool) {
	if w == "" || w[0] != '$' {
		return "", false
	}
	name, fallback, n := dollarName(w)
	if name != "PATH" || fallback != "" || n >= len(w) || w[n] != ':' {
		return "", false
	}
	return w[n+1:], true
}

// dotVariables writes "." for every variable that makes a component of a word: whatever it holds, mostly that is the
// working directory or nothing, $ROOT/../x and src/$X/../../x.
func dotVariables(w string) string {
	if strings.IndexByte(w, '$') < 0 || strings.IndexByte(w, '/') < 0 || len(w) > maxTail {
		return w
	}
	var b strings.Builder
	for i := 0; i < len(w); {
		_, _, n := dollarName(w[i:])
		if n == 0 && w[i] == '$' && i+1 < len(w) && (isDigit(w[i+1]) || strings.IndexByte("@*", w[i+1]) >= 0) {
			n = 2
		}
		if n > 0 && (i == 0 || w[i-1] == '/') && i+n < len(w) && w[i+n] == '/' {
			b.WriteByte('.')
			i += n
			continue
		}
		b.WriteByte(w[i])
		i++
	}
	return b.String()
}

// longWord judges a word that the kernel would not open as it stands, but a child that cleans it first would.
func (d *detector) longWord(id int32, w string, p place, how string) {
	if hasBlank(w) {
		return // a text; its words are looked at by themselves
	}
	if _, ok := d.look(w, false); ok {
		d.add(Finding{Value: w, How: how, seat: id}, p)
	}
}
