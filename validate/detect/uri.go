package detect

import (
	"path"
	"strings"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/names"
	"mcphub/validate/strictjson"
	"mcphub/validate/uri"
)

const maxEnds = 4 // components that a server may cut off the path of a URI

// searchSlices searches the end of a URI from each of its slashes on, because servers without templates cut URIs apart by hand and
// open what they get. Most URIs hold no path, so a slice counts only if something exists there. URIs of web schemes are searched
// only if a template of the child states that it serves them.
func (d *detector) searchSlices(id int32, spellings, templates []string) {
	p := slot{key: -1}
	if len(spellings[0]) > uri.MaxLength && len(templates) > 0 {
		d.addFinding(Finding{Value: spellings[0], How: HowURI, Node: id}, p) // too long to be matched against templates
		return
	}
	for _, s := range spellings {
		rest, ok := uri.AfterScheme(s, templates)
		if !ok {
			continue
		}
		rest = strings.TrimPrefix(rest, "//")
		begin := 0
		for n := 0; d.work.Spend(budget.FindSteps); n++ {
			if n < 2 && rest[begin:] != "" && rest[begin] != '/' { // the path of a URL, or one whose first slash is left out
				if d.m.Exists("/" + rest[begin:]) {
					d.searchSlice(id, "/"+rest[begin:], p)
				}
			}
			// A slice that begins with ".." is part of the slices before it, except directly behind the host.
			if n < 2 || !strings.HasPrefix(chars.DecodePercent(rest[begin:]), "..") {
				d.searchSlice(id, rest[begin:], p)
			}
			next := strings.IndexByte(rest[begin:], '/')
			if next < 0 || begin+next+1 >= len(rest) {
				break
			}
			begin += next + 1
		}
	}
}

// searchSlice searches one path that a URI may hold, and what stands before its last components.
func (d *detector) searchSlice(id int32, s string, p slot) {
	for range maxEnds {
		if s == "" {
			return
		}
		for range 2 {
			if _, ok := d.isBroadPath(s); ok {
				d.addFinding(Finding{Value: s, How: HowURI, Form: FormWord, Node: id}, p)
			} else if s[0] != '/' {
				d.keepName(id, s, p, false)
			}
			decoded := chars.DecodePercent(s)
			if decoded == s {
				break
			}
			s = decoded
		}
		i := strings.LastIndexByte(s, '/')
		if i <= 0 {
			return
		}
		s = s[:i]
	}
}

func (d *detector) broadURI(id int32, text string, own []string) {
	p := slot{key: -1}
	// A server of another machine than this could take C://x for a drive, so a scheme of one letter has to be the server's own.
	d.own = !d.m.Windows && uri.Serves(own, text)
	defer func() { d.own = false }()
	switch kind, texts := d.readURI(text); kind {
	case uri.File:
		d.addFinding(Finding{Value: texts[0], How: HowURI, Form: FormURI, Node: id}, p)
	case uri.Path:
		d.addFinding(Finding{Value: texts[0], Alts: texts[1:], How: HowURI, Node: id}, p)
	case uri.None:
		d.searchBroad(id, text, p, false)
		d.keepName(id, text, p, false)
	case uri.Other:
		d.searchURIs(id, text, p, false)
		d.urlLink(id, text, p, false)
	}
}

func (d *detector) readURI(s string) (uri.Kind, []string) {
	if d.own {
		return uri.ReadOwn(s)
	}
	return uri.Read(s)
}

// searchURIs searches every file: URI in a string, and nothing else.
func (d *detector) searchURIs(id int32, s string, p slot, member bool) {
	form := FormText
	add := func(text string, form Form) {
		d.addFinding(Finding{Value: text, How: HowFileURI, Form: form, Member: member, Node: id}, p)
	}
	if script, ok := strings.CutPrefix(chars.TrimEdges(s), "ext::"); ok { // git runs it
		d.searchWords(id, strings.ReplaceAll(script, "%", " "), false, p)
	}
	if kind, texts := d.readURI(s); kind == uri.File {
		if !chars.HasBlank(chars.TrimEdges(s)) && p.class != names.Query {
			form = FormURI
		}
		if rest, ok := uri.Relative(texts[0]); ok {
			d.searchBroad(id, rest, p, member)
			d.keepLiteral(id, "/"+rest, p, true) // to a parser of URLs
		} else {
			add(texts[0], form)
		}
		_, s, _ = strings.Cut(s, ":") // and the ones that follow it: a list, or lines
	} else if kind == uri.Other {
		d.keepHostless(id, texts, p)
	}
	uri.EachFile(s, func(text string) { add(text, form) })
	if len(s) > chars.MaxPath {
		return
	}
	// Some children decode or normalise before they look for a scheme: file%3A///etc, full-width letters.
	for _, other := range []string{chars.DecodePercent(s), chars.Compatible(s)} {
		if other == s || chars.IndexFold(other, "file:") < 0 || chars.IndexFold(s, "file:") >= 0 {
			continue
		}
		if kind, texts := uri.Read(other); kind == uri.File {
			add(texts[0], FormURI)
		}
	}
}

// urlWords, as the last word of a key, report that a value that looks like a URL is one.
var urlWords = chars.WordSet("url urls uri uris href hrefs link links endpoint endpoints homepage website webhook")

// urlName keeps a URL as the name that a program without URLs takes it for, where that climbs above where it starts.
func (d *detector) urlName(s string, p slot, f Finding) {
	head, _ := chars.CutQuery(chars.TrimEdges(s))
	if up := path.Clean(chars.ToSlash(head)); chars.Climbs(head) && (up == ".." || strings.HasPrefix(up, "../")) {
		f.Value = head
		d.addFinding(f, p)
	}
}

// keepWrapped keeps the paths in a URI whose scheme may be the scheme of any program: what stands behind a sign, or from a slash on. They
// count if something is there.
func (d *detector) keepWrapped(id int32, s string, p slot) {
	if len(s) > MaxRaw || !uri.MayWrap(s, d.inShell || p.class == names.Shell || p.class == names.Words) {
		return
	}
	for _, s := range []string{s, chars.DecodePercent(s)} {
		for i := 1; i < len(s) && d.work.Spend(1); i++ {
			if s[i] == '/' && s[i-1] != '/' || strings.IndexByte(":@|/=,", s[i-1]) >= 0 && strings.HasPrefix(s[i:], "../") {
				for _, v := range []string{s[i:], s[i : i+strings.IndexAny(s[i:]+"&", "&|,")]} {
					if _, ok := d.isBroadPath(v); ok {
						d.keepLiteral(id, v, p, true)
					}
				}
			}
		}
	}
}

// keepHostless keeps the paths of a URL that names no other machine. They count if something is there.
func (d *detector) keepHostless(id int32, texts []string, p slot) {
	for _, text := range texts {
		d.keepLiteral(id, text, p, true)
	}
}

// urlLink keeps a URL that a child without URLs would open as a name: a repository may hold a link called "https:".
func (d *detector) urlLink(id int32, s string, p slot, member bool) {
	v := chars.TrimEdges(s)
	d.keepLink(id, v, p, member)
	if i := strings.IndexAny(v, "?#"); i > 0 {
		d.keepLink(id, v[:i], p, member)
	}
}

// findResources finds the strings that may be URIs of a bound scheme. It walks the nodes as they lie, nodes of JSON in strings
// among them: nothing here calls itself.
func (d *detector) findResources() (list []Finding, err error) {
	if d.s.Resources == nil || d.tool.Mode == declare.ModeOff {
		return nil, nil
	}
	formats := d.tool.schema.DeclaresURIs()
	for id := range int32(len(d.t.Nodes)) {
		n := &d.t.Nodes[id]
		if n.Kind != strictjson.String || d.t.IsNested(int32(id)) {
			continue
		}
		key := id
		for key > 0 && !d.t.IsMember(key) {
			key = d.t.Nodes[key].Parent // the element of a list stands under the list's name
		}
		if !(key > 0 && d.keys.NamesURI(d.t.Name(key))) && !(formats && d.tool.schema.UriAt(d.t, id)) {
			continue
		}
		s := d.t.Str(id)
		if !d.s.ClientResources && !d.s.Resources.Check(s).Bound {
			continue
		}
		if !d.work.Spend(budget.FindSteps) {
			return nil, &strictjson.Error{Code: strictjson.CodeTooLarge, Pointer: d.t.Pointer(id), Message: "more URIs in one call than are judged; split it"}
		}
		if key == 0 {
			key = -1
		}
		list = append(list, Finding{Pointer: d.t.Pointer(id), Raw: chars.Clip(s, MaxRaw), Value: s, Role: d.roleOf(key), How: HowResource, Node: id})
	}
	return list, nil
}
