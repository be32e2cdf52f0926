package detect

import (
	"strings"

	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/names"
	"mcphub/validate/schema"
	"mcphub/validate/text"
	"mcphub/validate/uri"
)

// This file finds the few things in free text that count as paths.

// searchProse searches a string that is free text: a whole value that is a file: URI, "@" and a path where nothing else of the
// call is one, and the headers of a patch.
func (d *detector) searchProse(id int32, s string, p slot) {
	v := chars.TrimEdges(s)
	if v == "" {
		return
	}
	if d.searchMode(p) == declare.ModeStrict && p.rule == nil && (strings.IndexByte(s, '\n') >= 0 && names.PatchWords[d.lastWord(p.key)] || text.IsPatch(s)) {
		d.searchPatch(id, s, p)
		return
	}
	if len(v) > MaxValue {
		return
	}
	d.guardedText(id, v, p)
	if chars.HasBlank(v) {
		return
	}
	if kind, texts := uri.Read(v); kind == uri.File {
		d.addFinding(Finding{Value: texts[0], How: HowFileURI, Form: FormText, Node: id}, p)
	}
	if v[0] == '@' && len(v) > 2 {
		d.mentions = append(d.mentions, mention{id, v[1:], p})
	}
}

// mention is a text that is "@" and a path.
type mention struct {
	id   int32
	text string
	p    slot
}

// keepMentions keeps the mentions ("@" and a path) of a call in which nothing else is a path: curl and similar programs send that file.
func (d *detector) keepMentions() {
	if d.tool.takesPaths {
		return
	}
	for i := range d.findings {
		switch d.findings[i].How {
		case HowKey, HowDeclared, HowProfile, schema.HowFormat, schema.HowDescription:
			return
		}
	}
	for _, m := range d.mentions {
		d.keepLiteral(m.id, m.text, m.p, false)
	}
}

// edited reports whether an object names a text and its replacement.
type edited uint8

const (
	editUnknown edited = iota
	editNone
	editPair
)

// editClass makes search and old free text beside replace or new, and new beside them. A tool that moves or copies has an
// old and a new path.
func (d *detector) editClass(object, c int32, known *edited) names.Class {
	if *known == editUnknown {
		var from, to bool
		for m := d.t.Nodes[object].First; m > 0; m = d.t.Nodes[m].Next {
			w := d.lastWord(m)
			from, to = from || names.ReplacedWords[w], to || names.NewWords[w]
		}
		if *known = editNone; from && to && !d.tool.Traits.Move && !d.tool.Traits.Copy {
			*known = editPair
		}
	}
	switch {
	case *known == editPair:
		return names.Content
	case names.QueryWords[d.lastWord(c)]:
		return names.Query
	}
	return names.Other
}

// searchPatch keeps the paths in the headers of a patch, each as it is and without the directory that git puts before it.
func (d *detector) searchPatch(id int32, s string, p slot) {
	text.EachHeader(s, d.work, func(v string) {
		v, _, _ = strings.Cut(v, "\t") // a date
		v = text.Unescaped(chars.TrimEdges(v), nil)
		if v == "" || v == "/dev/null" {
			return
		}
		d.addFinding(Finding{Value: v, How: HowHeader, Node: id}, p)
		if len(v) > 2 && v[1] == '/' && chars.IsLetter(v[0]) {
			d.addFinding(Finding{Value: v[2:], How: HowHeader, Node: id}, p)
		}
	})
}
