package detect

import (
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
	"mcphub/validate/shell"
	"mcphub/validate/text"
)

// This file finds what is written otherwise on Windows.

// keepEscaped keeps the words of a text whose escapes are read. On Windows the escapes may be separators, C:\work\new. So a word that begins only
// behind such an escape counts if the path in which the escape stands does not lie inside: see Finding.Uncut. What escapes write that can be
// seen, such as \x5c, counts in any case.
func (d *detector) keepEscaped(id int32, s string, p slot) {
	other := text.Unescaped(s, nil)
	if other == s {
		return
	}
	if d.m.Windows {
		if seen := text.Unescaped(s, func(r rune) bool { return ' ' < r && r < 0x7f }); seen != s {
			d.readText(id, seen, p)
		}
	}
	before := len(d.findings)
	d.readText(id, other, p)
	if !d.m.Windows || len(d.findings) == before {
		return
	}
	each := func(word string) {
		if at := drivePath.FindStringIndex(word); at != nil {
			word = word[at[1]-len(`C:`):] // name=C:\x
		}
		path := beforeStream(chars.TrimEdges(word))
		if !chars.IsDrive(path) && !chars.IsUNC(path) || !d.work.Spend(len(path)) {
			return
		}
		unescaped := text.Unescaped(path, nil)
		for i := before; i < len(d.findings); i++ {
			if f := &d.findings[i]; f.Uncut == "" && strings.Contains(unescaped, f.Value) {
				f.Uncut = path
			}
		}
	}
	each(s)
	text.EachQuoted(s, d.work, each, each)
	for line := range text.Lines(s) {
		text.Reader{Work: d.work}.Words(line, true, func(word string, _ bool) { each(word) })
	}
}

// drivePath is where a path on a drive begins behind the name that it is given to.
var drivePath = lazyregexp.New(`^[\w.-]+[=:] ?["'` + "`" + `]?[A-Za-z]:`)

// beforeStream takes a colon off a text of several values, C:\a.go,scale=1:1, and what stands behind it, which is at most the name of a stream.
func beforeStream(v string) string {
	colon, comma := strings.LastIndexByte(v, ':'), strings.IndexAny(v, ",;|")
	if comma < len("C:") || colon < comma || strings.IndexByte(v[len("C:"):colon], ':') >= 0 || strings.ContainsAny(v[colon:], `/\`) {
		return v
	}
	return v[:colon]
}

// plainSpelling spells an extended path as it is without: of \\?\C:\x no part counts by itself, and ? is no wildcard.
func (d *detector) plainSpelling(s string) string {
	if d.m.Windows {
		if plain := d.m.Platform.Plain(s); chars.IsDrive(plain) {
			return plain
		}
	}
	return s
}

// namesNoShare reports a text that begins with two separators and is no path on another machine: an option of Git Bash (cmd //c), or a
// pattern with an escaped backslash (\\d+).
func (d *detector) namesNoShare(v string) bool {
	if !d.m.Windows || len(v) < 2 || !chars.IsSlash(v[0]) || !chars.IsSlash(v[1]) {
		return false
	}
	host := v[2:]
	if !strings.ContainsAny(host, `/\`) && strings.ContainsAny(host, `+*?(){}|^<>"`) {
		return true // no machine is called so: a class of a pattern
	}
	return len(v) <= 3 || !chars.IsLetter(v[2]) && !chars.IsDigit(v[2]) && v[2] < 0x80 && strings.IndexByte(`?.[%$_-/\`, v[2]) < 0
}

// namesShare reports a path on another machine that begins as an escape does: \??\UNC\x, or \/host/x with a slash that is not escaped.
func namesShare(v string) bool {
	rest, ok := strings.CutPrefix(v, `\/`)
	return strings.HasPrefix(v, `\??\`) || ok && strings.Contains(strings.ReplaceAll(rest, `\/`, ""), "/")
}

// slash returns the index of the first separator of a path, -1 if there is none.
func (d *detector) slash(v string) int {
	if d.m.Windows {
		return strings.IndexAny(v, `/\`)
	}
	return strings.IndexByte(v, '/')
}

// commandLine returns the text that words become when a program of Windows gets them.
func commandLine(words []shell.Argument) string {
	var b strings.Builder
	for _, w := range words {
		if chars.HasBlank(w.Text) || strings.IndexByte(w.Text, '"') >= 0 {
			b.WriteString(`"` + strings.ReplaceAll(w.Text, `"`, `""`) + `" `)
		} else {
			b.WriteString(w.Text + " ")
		}
	}
	return b.String()
}
