package detect

import (
	"strings"

	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/machine"
	"mcphub/validate/names"
	"mcphub/validate/schema"
	"mcphub/validate/shell"
	"mcphub/validate/text"
	"mcphub/validate/uri"
)

// asPath keeps a string that is a path, and every part of a joined list that is absolute, home or climbing.
func (d *detector) asPath(id int32, s string, p slot, how string, member bool) {
	trimmed := chars.TrimEdges(s)
	if trimmed == "" && strings.IndexByte(s, 0) < 0 {
		return
	}
	f := Finding{Value: s, How: how, Member: member, Node: id}
	if trimmed != s {
		f.Value, f.Alts = trimmed, []string{s}
	}
	before := len(d.findings)
	kind, texts := uri.Read(s)
	switch kind {
	case uri.File:
		f.Value, f.Alts, f.Form = texts[0], nil, FormURI
		f.Rewritable = d.rewritableOf(id, how, member)
		if how == HowKey || how == HowMember || how == schema.HowFormat {
			f.How = HowFileURI
		}
		d.addFinding(f, p)
		d.searchInner(id, s, p, member, true)
		if before < len(d.findings) {
			d.findings[before].Rewritable.Single = len(d.findings) == before+1
		}
		d.urlLink(id, s, p, member) // a repository may hold a link called "file:"
		return
	case uri.Path:
		f.Value, f.Alts = texts[0], texts[1:]
		d.addFinding(f, p)
		return
	case uri.Other:
		// It is a URL, but a child that knows no URLs would open it as a path. That matters only if it has "..". A list may
		// begin with a URL.
		if chars.Climbs(s) {
			f.How = HowClimbs
			d.addFinding(f, p)
			if i := strings.IndexAny(s, "?#"); i > 0 && chars.Climbs(s[:i]) {
				d.addFinding(Finding{Value: s[:i], How: HowClimbs, Member: member, Node: id}, p)
			}
		}
		d.searchParts(id, s, p, member, ",;\n\r", d.isBroadPath)
		d.searchURIs(id, s, p, member)
		d.urlLink(id, s, p, member)
		return
	}
	if isLongList(trimmed) {
		// As a whole it is too long to be opened, so only its parts can be meant.
		for part := range strings.FieldsFuncSeq(trimmed, func(r rune) bool { return chars.IsBlank(r) || strings.ContainsRune(",;", r) }) {
			d.addFinding(Finding{Value: part, How: HowList, Member: member, Node: id}, p)
		}
	} else {
		if trimmed == s {
			f.Rewritable = d.rewritableOf(id, how, member)
		}
		d.addFinding(f, p)
	}
	d.searchInner(id, s, p, member, false)
	if before < len(d.findings) {
		d.findings[before].Rewritable.Single = d.onlyRelative(before + 1) // names that count only as links are no second path
	}
}

// isLongList reports a relative joined list that no system would open as one name.
func isLongList(s string) bool {
	if len(s) <= 255 || chars.Climbs(s) || chars.IsSlash(s[0]) || !strings.ContainsAny(s, ",; \n\t") {
		return false
	}
	if len(s) > 4095 {
		return true
	}
	for component := range strings.SplitSeq(s, "/") {
		if len(component) > 255 {
			return true
		}
	}
	return false
}

// searchInner looks for further paths inside a string that was taken for one.
func (d *detector) searchInner(id int32, s string, p slot, member, isURI bool) {
	if s = d.trimWhole(id, s, member); s == "" {
		return
	}
	if !isURI {
		separators := ",:;|\n\r"
		if d.m.Windows {
			separators = ",;|\n\r"
		}
		d.searchParts(id, s, p, member, separators, d.isPlainPath)
		text.EachPart(s, separators, d.work, func(part string) { d.keepName(id, part, p, member) })
		d.searchTails(id, s, p, member, true)
		d.searchPatterns(id, chars.TrimEdges(s), p, member)
	} else {
		d.searchParts(id, s, p, member, ",;\n\r", d.isBroadPath)
	}
	d.searchURIs(id, s, p, member)
}

// trimWhole trims s. It refuses the call if s is too long to be searched, unless s is one long word that cannot be opened.
func (d *detector) trimWhole(id int32, s string, member bool) string {
	if len(s) <= maxCheap {
		return s
	}
	s = chars.TrimEdges(s)
	if len(s) <= maxCheap {
		return s
	}
	word := strings.TrimRight(s, "=") // of base64
	if strings.ContainsAny(word, " \t\n\r,;:|=@\"'`<>()") {
		d.setOrigin(id, member)
		d.work.Spend(-1) // a list that would take too long to search
	}
	return ""
}

// isPartEdge reports what may stand around a part of a list.
func isPartEdge(r rune) bool { return chars.IsEdge(r) || strings.ContainsRune("()[]{}", r) }

// keepName keeps a relative name, with or without a slash, for the judge.
func (d *detector) keepName(id int32, s string, p slot, member bool) {
	v := strings.TrimFunc(s, isPartEdge)
	switch {
	case v == "." && d.cmd.Role == access.Delete:
		d.addFinding(Finding{Value: v, How: HowLink, Form: FormName, Member: member, Node: id}, p) // with all that is in it
	case v == "" || v == "." || chars.Climbs(v) || d.namesNoShare(v):
	case d.slash(v) >= 0:
		d.keepLink(id, v, p, member)
	case len(v) <= 255 && strings.IndexByte(v, 0) < 0:
		d.addFinding(Finding{Value: v, How: HowLink, Form: FormName, Member: member, Node: id}, p)
	}
}

// isPlainPath decides whether a part or a tail of a string that is a path anyway is one: absolute, home or climbing, whether or
// not it exists. It reports why.
func (d *detector) isPlainPath(v string) (how string, ok bool) { return d.lookAt(v, false) }

// isBroadPath decides whether a string is a path where only the string itself suggests it: the first component of an absolute one
// must exist.
func (d *detector) isBroadPath(v string) (how string, ok bool) { return d.lookAt(v, true) }

func (d *detector) lookAt(v string, exempt bool) (string, bool) {
	switch {
	case v == "", d.namesNoShare(v):
		return "", false
	case chars.IsHome(v):
		return HowHome, true
	case v[0] == '~':
		_, _, ok := d.m.UserHome(v)
		return HowHome, ok
	case chars.IsDrive(v), !exempt && d.m.Windows && len(v) > 1 && chars.IsLetter(v[0]) && v[1] == ':':
		return HowDrive, true
	case chars.IsUNC(v), d.m.Windows && namesShare(v):
		return HowUNC, true
	case chars.Climbs(v):
		return HowClimbs, true
	case v[0] == '$', v[0] == '%' && d.m.Windows:
		if how, ok := d.isVariablePath(v); ok {
			return how, true
		}
	case v[0] == '\\' && shell.IsEscape(v): // of a pattern; a path that is there counts
		return "", false
	case v[0] == '/' || v[0] == '\\':
		if !exempt || d.m.FirstExists(v) {
			return HowAbsolute, true
		}
	}
	// What a child may make of it before it opens anything counts too.
	if dec := chars.DecodePercent(v); dec != v && dec != "" {
		return d.lookAt(dec, true)
	}
	if ascii := chars.Compatible(v); ascii != v && ascii != "" {
		return d.lookAt(ascii, true)
	}
	if _, ok := machine.Stripped(v); ok {
		return HowClimbs, true
	}
	return "", false
}

// isVariablePath reports a value that begins with $NAME or ${...} and is a path once that is expanded.
func (d *detector) isVariablePath(v string) (string, bool) {
	name, _, n := shell.DollarName(v)
	if n == 0 && v[0] == '$' {
		return "", false
	}
	if name == "PWD" {
		return HowHome, true // the child's; the judge knows it
	}
	if !d.work.Spend(machine.DollarWork(v)) {
		return "", false
	}
	for _, e := range d.m.Expand(v) {
		if e == "" || e == v || e[0] == '$' && len(e) >= len(v) { // a default may hold a variable again
			continue
		}
		if how, ok := d.lookAt(e, true); ok {
			return how, true
		}
	}
	return "", false
}

// searchBroad searches a string whose name does not report what it is.
func (d *detector) searchBroad(id int32, s string, p slot, member bool) {
	before := len(d.findings)
	kind, texts := uri.Read(s)
	switch kind {
	case uri.File:
		d.searchURIs(id, s, p, member)
		if short := d.trimWhole(id, s, member); short != "" {
			d.broadList(id, short, p, member)
		}
		return
	case uri.Path:
		d.addFinding(Finding{Value: texts[0], Alts: texts[1:], How: HowScheme, Member: member, Node: id}, p)
		return
	case uri.Other:
		d.searchURIs(id, s, p, member)
		d.keepWrapped(id, s, p)
		d.urlName(s, p, Finding{How: HowClimbs, Member: member, Node: id})
		if p.key < 0 || member || !urlWords[d.lastWord(p.key)] {
			d.urlLink(id, s, p, member)
		}
		return
	}
	v := chars.TrimEdges(s)
	if strings.IndexByte(v, 0) >= 0 {
		d.cutAtNUL(id, v, p, member)
	} else if strings.Contains(v, "%00") && len(v) <= chars.MaxPath {
		d.cutAtNUL(id, chars.DecodePercent(v), p, member)
	}
	if how, ok := d.isBroadPath(v); ok && how == HowClimbs && isText(v) {
		d.keepLiteral(id, v, p, false) // it is hardly a path, and its words are searched by themselves
	} else if ok {
		f := Finding{Value: v, How: how, Member: member, Node: id}
		if v != s {
			f.Alts = []string{s}
		}
		d.addFinding(f, p)
	} else if d.m.Windows && len(v) > 1 && chars.IsLetter(v[0]) && v[1] == ':' { // D:x
		d.addFinding(Finding{Value: v, How: HowDrive, Form: FormWord, MustExist: true, Member: member, Node: id}, p)
	}
	d.keepGuarded(id, v, p, member)
	d.searchURIs(id, s, p, member)
	short := d.trimWhole(id, s, member)
	if short == "" {
		return
	}
	if chars.HasBlank(v) {
		d.headsWithBlanks(id, v, p, member)
	} else {
		d.searchTails(id, short, p, member, false)
	}
	d.broadList(id, short, p, member)
	d.searchPatterns(id, v, p, member)
	if d.slash(v) > 0 && d.onlyRelative(before) {
		d.keepLink(id, v, p, member)
	}
}

// isText reports a value with blanks or quotes in it that does not begin as a path does.
func isText(v string) bool {
	return strings.IndexByte("./~\\$", v[0]) < 0 && (chars.HasBlank(v) || strings.ContainsAny(v, text.Quotes))
}

// cutAtNUL searches the text before a NUL, which is all that some children read, and the text behind it. If either is a path, the
// whole is kept as a path, which cannot be resolved and so is denied.
func (d *detector) cutAtNUL(id int32, v string, p slot, member bool) {
	before := len(d.findings)
	for piece := range strings.SplitSeq(v, "\x00") {
		if piece != "" {
			d.searchBroad(id, piece, p, member)
		}
	}
	if !d.onlyRelative(before) {
		d.addFinding(Finding{Value: v, How: d.findings[before].How, Member: member, Node: id}, p)
	}
}

// headsWithBlanks searches what stands before a line, an anchor or a query, in a text of one line whose names have blanks.
func (d *detector) headsWithBlanks(id int32, v string, p slot, member bool) {
	if len(v) > maxGuarded {
		return
	}
	for i := strings.IndexByte(v, '/') + 1; i > 0 && i < len(v); i++ {
		if strings.IndexByte(":#?(@", v[i]) >= 0 && d.work.Spend(budget.WordSteps) {
			d.keepLink(id, v[:i], p, member)
		}
	}
}

// onlyRelative reports that every finding from one on is a name that counts only as a link.
func (d *detector) onlyRelative(from int) bool {
	for i := from; i < len(d.findings); i++ {
		if !d.findings[i].Relative() {
			return false
		}
	}
	return true
}

// broadList searches a joined list whose key does not report what it is: each part must be a path by itself. A text with blanks
// is searched by words.
func (d *detector) broadList(id int32, s string, p slot, member bool) {
	if chars.HasBlank(s) {
		return
	}
	d.searchParts(id, s, p, member, ",;|", d.isBroadPath)
	if s != "" && (s[0] == '/' || s[0] == '~' || s[0] == '.') && strings.IndexByte(s, ':') > 0 {
		d.searchParts(id, s, p, member, ":", d.isBroadPath)
	}
}

// searchParts searches the parts of a joined list; blanks always separate.
func (d *detector) searchParts(id int32, s string, p slot, member bool, separators string, is func(v string) (how string, ok bool)) {
	text.EachPart(s, separators, d.work, func(part string) {
		v := strings.TrimFunc(part, isPartEdge)
		if v == "" || v == s {
			return
		}
		if _, ok := is(v); ok {
			d.addFinding(Finding{Value: v, How: HowList, Member: member, Node: id}, p)
		} else if v[0] != '-' && d.slash(v) > 0 && !strings.Contains(v, "://") {
			d.keepLink(id, v, p, member) // one part of a list, or of concat:a|b
		}
	})
}

// keepLink keeps a relative name for the judge, which looks whether a symlink leads it out.
func (d *detector) keepLink(id int32, s string, p slot, member bool) {
	v := text.Cleaned(chars.TrimEdges(s))
	if v != "" && len(v) <= chars.MaxPath && !d.namesNoShare(v) && !strings.ContainsAny(v, "\n\r\x00") {
		d.addFinding(Finding{Value: v, How: HowLink, Form: FormLink, Member: member, Node: id}, p)
	}
}

// searchExempted searches a string that is declared as no path: only file URIs, and options that carry a path, count.
func (d *detector) searchExempted(id int32, s string, p slot) {
	if p.class == names.Content {
		d.searchProse(id, s, p)
	} else {
		d.searchURIs(id, s, p, false)
	}
	v := chars.TrimEdges(s)
	if len(v) < 3 || v[0] != '-' || chars.IsBlank(rune(v[1])) || v[1] == '-' && !chars.IsLetter(v[2]) {
		return
	}
	if v = d.trimWhole(id, v, false); v == "" {
		return
	}
	for word := range strings.FieldsFuncSeq(v, chars.IsBlank) {
		d.searchTails(id, word, p, false, false)
		d.keepWord(id, word, shell.Plain, p, HowTail)
	}
}
