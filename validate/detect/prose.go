package detect

import (
	"strconv"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/names"
	"mcphub/validate/schema"
	"mcphub/validate/uri"
)

// This file finds the few things in free text that count as paths.

// prose searches a string that is free text: a whole value that is a file: URI, "@" and a path where nothing else of the
// call is one, and the headers of a patch.
func (d *detector) prose(id int32, s string, p slot) {
	v := chars.TrimEdges(s)
	if v == "" {
		return
	}
	if d.tool.Mode == declare.ModeStrict && p.rule == nil && (strings.IndexByte(s, '\n') >= 0 && names.PatchWords[d.lastWord(p.key)] || isPatch(s)) {
		d.patch(id, s, p)
		return
	}
	if len(v) > MaxValue || chars.HasBlank(v) {
		return
	}
	if kind, texts := uri.Read(v); kind == uri.File {
		d.add(Finding{Value: texts[0], How: HowFileURI, Form: FormText, Node: id}, p)
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

// flush keeps the mentions ("@" and a path) of a call in which nothing else is a path: curl and similar programs send that file.
func (d *detector) flush() {
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
		d.literal(m.id, m.text, m.p, false)
	}
}

// edited says whether an object names a text and its replacement.
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

// patchHeader is a line of a patch that names one file.
var patchHeader = lazyregexp.New(`^(?:\+\+\+ |Index: |rename (?:from|to) |copy (?:from|to) |\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: )(.+)$`)

var hunk = lazyregexp.New(`^@@ -[0-9]+(?:,([0-9]{1,9}))? \+[0-9]+(?:,([0-9]{1,9}))? @@`)

// isPatch reports a text whose first line is the header of a patch.
func isPatch(s string) bool {
	if !mayBePatch(s) {
		return false // at the cost of a byte
	}
	s = strings.TrimLeft(s, "\ufeff \t\r\n")
	first, rest, _ := strings.Cut(s[:min(len(s), 2*chars.MaxPath)], "\n")
	switch {
	case strings.HasPrefix(first, "diff --git "), strings.HasPrefix(first, "*** Begin Patch"), patchHeader.MatchString(strings.TrimSuffix(first, "\r")):
		return true
	}
	return (strings.HasPrefix(first, "--- ") || strings.HasPrefix(first, "*** ")) && (strings.HasPrefix(rest, "+++ ") || strings.HasPrefix(rest, "--- "))
}

// mayBePatch is a cheap look at a text, decoded or not: one that does not begin so is no patch.
func mayBePatch(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t', '\r', '\n':
		case 'd', '+', '-', '*', 'I', 'r', 'c', '\\', 0xef:
			return true
		default:
			return false
		}
	}
	return false
}

// patch searches the paths in the headers of a patch. Lines that the count of a hunk covers are its body.
func (d *detector) patch(id int32, s string, p slot) {
	before, after := 0, 0 // lines of the hunk that are still to come
	held := ""            // a line that is a header where the next one is
	for line := range strings.Lines(s) {
		if d.work.Spent() {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		if before > 0 || after > 0 {
			if line == "" {
				line = " " // some editors take the blank away
			}
			switch line[0] {
			case '-':
				before--
			case '+':
				after--
			case ' ':
				before, after = before-1, after-1
			case '\\':
			default: // no line of a body: what applies patches stops here
				before, after = 0, 0
			}
			if before > 0 || after > 0 || strings.IndexByte("-+ \\", line[0]) >= 0 {
				continue
			}
		}
		if held != "" && (strings.HasPrefix(line, "+++ ") || held[0] == '*' && strings.HasPrefix(line, "--- ")) {
			d.header(id, held[4:], p)
			if held[0] == '*' {
				d.header(id, line[4:], p)
			}
		}
		held = ""
		switch m := hunk.FindStringSubmatch(line); {
		case m != nil:
			before, after = count(m[1]), count(m[2])
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "*** ") && !patchHeader.MatchString(line):
			held = line
		case strings.HasPrefix(line, "diff --git "):
			for name := range strings.FieldsSeq(line[len("diff --git "):]) {
				d.header(id, name, p)
			}
		default:
			if m := patchHeader.FindStringSubmatch(line); m != nil {
				d.header(id, m[1], p)
			}
		}
	}
}

// count is the number of lines that a hunk says; without one it is 1.
func count(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 1
	}
	return n
}

// header keeps the path of a header, as it is and without the directory that git puts before it.
func (d *detector) header(id int32, v string, p slot) {
	v, _, _ = strings.Cut(v, "\t") // a date
	v = unescaped(chars.TrimEdges(v))
	if v == "" || v == "/dev/null" {
		return
	}
	d.add(Finding{Value: v, How: HowHeader, Node: id}, p)
	if len(v) > 2 && v[1] == '/' && chars.IsLetter(v[0]) {
		d.add(Finding{Value: v[2:], How: HowHeader, Node: id}, p)
	}
}
