package detect

import (
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
	"mcphub/validate/names"
	"mcphub/validate/text"
	"mcphub/validate/uri"
)

// This file keeps the words of longer strings, of any language, which text finds in them. A word counts only if it names something
// outside, which the judge looks up.

// literals keeps the words of a text, as it stands and with its escapes read.
func (d *detector) literals(id int32, s string, p slot) {
	if kind, _ := uri.Read(s); kind != uri.None && !chars.HasBlank(chars.TrimEdges(s)) && !strings.ContainsAny(s, text.Quotes) {
		return // one URI
	}
	if p.key >= 0 && urlWords[d.lastWord(p.key)] && dataURI.MatchString(s) {
		return // the same; under any other key it might be code that begins with a label
	}
	if p.class == names.Query {
		for _, m := range programText.FindAllStringSubmatch(s, maxPrograms) {
			d.commands(id, strings.ReplaceAll(m[1], "''", "'"), p)
		}
	}
	d.read(id, s, p)
	d.escaped(id, s, p)
}

// dataURI begins a URI that holds its content itself, blanks and quotes included, and opens nothing.
var dataURI = lazyregexp.New(`(?i)^\s*data:[a-z]+/[a-z0-9.+-]+[;,]`)

// programText is a command that a database runs: COPY t FROM PROGRAM '...'.
var programText = lazyregexp.New(`(?i)\bprogram\s*[a-z]?'((?:[^']|'')*)'`)

const maxPrograms = 16

// read keeps the words of a text: those that are quoted, and those of each line.
func (d *detector) read(id int32, s string, p slot) {
	text.EachQuoted(s, d.work, func(v string) { d.quoted(id, v, p) }, func(v string) { d.literal(id, v, p, false) })
	first := true
	for line := range text.Lines(s) {
		if d.work.Spent() {
			return
		}
		d.line(id, line, p, first)
		first = false
	}
}

// line keeps the words of one line.
func (d *detector) line(id int32, line string, p slot, first bool) {
	r := text.Reader{Work: d.work, Query: p.class == names.Query}
	r.Words(line, first, func(word string, exists bool) { d.literal(id, word, p, exists) })
}

// quoted keeps one literal.
func (d *detector) quoted(id int32, v string, p slot) {
	if v = chars.TrimEdges(v); v == "" {
		return
	}
	d.literal(id, v, p, false)
	if p.class == names.Query && chars.Components(v) < 2 && (v[0] == '/' || v[0] == '~') {
		d.add(Finding{Value: v, How: HowLiteral, Form: FormLink, Node: id}, p) // a directory that relative words may start from
	}
	if chars.HasBlank(v) && d.slash(v) >= 0 {
		for line := range text.Lines(v) { // a program and what it is given
			d.line(id, line, p, false)
		}
	}
	if p.class != names.Query {
		d.guarded(id, v, p, false)
	} else if strings.IndexByte(v, '/') < 0 && !chars.HasBlank(v) {
		d.name(id, v, p, false)
	}
}

// literal keeps one word for the judge. The word has two components or more, and is absolute, starts from a home folder, climbs,
// is a URI that carries a path, or is a relative name that a link may lead out. weak: it counts only if it exists.
func (d *detector) literal(id int32, v string, p slot, weak bool) {
	if v = chars.TrimEdges(v); v == "" || strings.IndexByte(v, 0) >= 0 {
		return
	}
	if v = text.Cleaned(v); len(v) > chars.MaxPath {
		return // nothing can open it
	}
	if strings.HasPrefix(v, `\/`) { // as in a pattern
		v, weak = strings.ReplaceAll(v, `\/`, "/"), true
	}
	if i := strings.IndexAny(v, ":#?"); i > 0 {
		d.literal(id, v[:i], p, weak) // a volume, a reference into a document, a database
	}
	f := Finding{Value: v, How: HowLiteral, Form: FormLiteral, MustExist: weak, Node: id}
	switch kind, texts := uri.Read(v); kind {
	case uri.File:
		f.Value, f.Form = texts[0], FormText
	case uri.Path:
		f.Value, f.Alts = texts[0], texts[1:]
	case uri.Other:
		d.hostless(id, texts, p)
		return
	default:
		if chars.Components(v) < 2 {
			d.guardedText(id, v, p)
			return
		}
		if _, ok := d.plainly(v); !ok {
			if d.slash(v) > 0 && !chars.HasBlank(v) && !weak {
				d.link(id, v, p, false)
			}
			return
		}
	}
	d.add(f, p)
}
