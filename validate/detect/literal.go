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

// keepLiterals keeps the words of a text, as it stands and with its escapes read.
func (d *detector) keepLiterals(id int32, s string, p slot) {
	if kind, _ := uri.Read(s); kind != uri.None && !chars.HasBlank(chars.TrimEdges(s)) && !strings.ContainsAny(s, text.Quotes) {
		return // one URI
	}
	if p.key >= 0 && urlWords[d.lastWord(p.key)] && dataURI.MatchString(s) {
		return // the same; under any other key it might be code that begins with a label
	}
	if p.class == names.Query {
		for _, m := range programText.FindAllStringSubmatch(s, maxPrograms) {
			d.searchCommands(id, strings.ReplaceAll(m[1], "''", "'"), p)
		}
	}
	d.readText(id, s, p)
	d.keepEscaped(id, s, p)
}

// dataURI begins a URI that holds its content itself, blanks and quotes included, and opens nothing.
var dataURI = lazyregexp.New(`(?i)^\s*data:[a-z]+/[a-z0-9.+-]+[;,]`)

// programText is a command that a database runs: COPY t FROM PROGRAM '...'.
var programText = lazyregexp.New(`(?i)\bprogram\s*[a-z]?'((?:[^']|'')*)'`)

const maxPrograms = 16

// readText keeps the words of a text: the ones that are quoted, and each line's.
func (d *detector) readText(id int32, s string, p slot) {
	text.EachQuoted(s, d.work, func(v string) { d.keepQuoted(id, v, p) }, func(v string) { d.keepLiteral(id, v, p, false) })
	first := true
	for line := range text.Lines(s) {
		if d.work.Spent() {
			return
		}
		d.readLine(id, line, p, first)
		first = false
	}
}

// readLine keeps the words of one line.
func (d *detector) readLine(id int32, line string, p slot, first bool) {
	r := text.Reader{Work: d.work, Query: p.class == names.Query}
	r.Words(line, first, func(word string, exists bool) { d.keepLiteral(id, word, p, exists) })
}

// keepQuoted keeps one literal.
func (d *detector) keepQuoted(id int32, v string, p slot) {
	if v = chars.TrimEdges(v); v == "" {
		return
	}
	d.keepLiteral(id, v, p, false)
	if p.class == names.Query && chars.Components(v) < 2 && (v[0] == '/' || v[0] == '~') {
		d.addFinding(Finding{Value: v, How: HowLiteral, Form: FormLink, Node: id}, p) // a directory that relative words may start from
	}
	if chars.HasBlank(v) && d.slash(v) >= 0 {
		for line := range text.Lines(v) { // a program and what it is given
			d.readLine(id, line, p, false)
		}
	}
	if p.class != names.Query {
		d.keepGuarded(id, v, p, false)
	} else if strings.IndexByte(v, '/') < 0 && !chars.HasBlank(v) {
		d.keepName(id, v, p, false)
	}
}

// keepLiteral keeps one word for the judge. The word has two components or more, and is absolute, starts from a home folder, climbs,
// is a URI that carries a path, or is a relative name that a link may lead out. weak: it counts only if it exists.
func (d *detector) keepLiteral(id int32, v string, p slot, weak bool) {
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
		d.keepLiteral(id, v[:i], p, weak) // a volume, a reference into a document, a database
	}
	f := Finding{Value: v, How: HowLiteral, Form: FormLiteral, MustExist: weak, Node: id}
	switch kind, texts := uri.Read(v); kind {
	case uri.File:
		f.Value, f.Form = texts[0], FormText
	case uri.Path:
		f.Value, f.Alts = texts[0], texts[1:]
	case uri.Other:
		d.keepHostless(id, texts, p)
		return
	default:
		if chars.Components(v) < 2 {
			d.guardedText(id, v, p)
			return
		}
		if _, ok := d.isPlainPath(v); !ok {
			if d.slash(v) > 0 && !chars.HasBlank(v) && !weak {
				d.keepLink(id, v, p, false)
			}
			return
		}
	}
	d.addFinding(f, p)
}
