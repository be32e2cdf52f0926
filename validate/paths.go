package validate

import (
	"fmt"
	"strings"
)

const (
	maxFindings = 1 << 16
	maxRaw      = 4 << 10 // of a string, kept for the report
	maxCheap    = 1 << 16 // a longer string is no path list; only its beginning and the URIs in it are looked at
)

// detector finds the paths of one call. It belongs to one goroutine.
type detector struct {
	t        *tree
	c        *Checker
	tool     *Tool
	findings []Finding
	roleKey  int32 // memo of role
	roleSeen Role
}

// place is what holds for a value because of where it stands.
type place struct {
	class keyClass
	key   int32      // member whose name governs, -1 none
	rule  *boundRule // declaration that governs
	at    []position // in the tool's declarations
	names bool       // member names directly below are paths
	level int        // of JSON in strings
}

// run walks the whole tree.
func (d *detector) run() error {
	p := place{key: -1}
	if d.tool.rules != nil {
		p.at = []position{{node: d.tool.rules}}
		p.rule = best(p.at)
	}
	return d.visit(0, p)
}

func (d *detector) visit(id int32, p place) error {
	if len(d.findings) > maxFindings {
		return &ArgumentsError{Code: CodeArgsTooLarge, Message: fmt.Sprintf("more than %d paths in one call; split it", maxFindings)}
	}
	switch d.t.nodes[id].kind {
	case kObject:
		return d.object(id, p)
	case kArray:
		for c := d.t.nodes[id].first; c > 0; c = d.t.nodes[c].next {
			q := p
			if len(p.at) > 0 {
				q.at = step(p.at, indexToken(d.t.nodes[c].index))
				q.rule = govern(p.rule, best(q.at))
			}
			q.names = false
			if err := d.visit(c, q); err != nil {
				return err
			}
		}
	case kString:
		return d.str(id, p)
	}
	return nil
}

// govern chooses between the rule that holds above a value and one for the value itself: the operator's exemption of a
// whole object is not undone by a profile.
func govern(above, own *boundRule) *boundRule {
	if own == nil || above != nil && above.tier < own.tier {
		return above
	}
	return own
}

func (d *detector) object(id int32, p place) error {
	t := d.t
	var twinErr error
	t.twins(id, func(a, b int32) bool {
		twinErr = d.judgeTwins(a, b, p)
		return twinErr == nil
	})
	if twinErr != nil {
		return twinErr
	}
	for c := t.nodes[id].first; c > 0; c = t.nodes[c].next {
		q := place{key: c, level: p.level}
		if p.rule != nil && p.rule.Role == RoleNone {
			q.rule = p.rule
		}
		if len(p.at) > 0 {
			q.at = step(p.at, t.name(c))
			q.rule = govern(q.rule, best(q.at))
		}
		q.class = d.classOf(c)
		if p.names && (q.class == keyPath || q.class == keySource) && !plainName(t.name(c)) {
			q.class = keyOther
		}
		isPath := q.class == keyPath || q.class == keySource || q.rule != nil && q.rule.Role != RoleNone
		q.names = isPath && t.nodes[c].kind == kObject
		d.member(c, p, q.rule)
		if err := d.visit(c, q); err != nil {
			return err
		}
	}
	return nil
}

// judgeTwins refuses two names that a parser which ignores case takes for one, where one of them is an argument that
// the tool or a declaration names and the other is not: such a child reads whichever comes last, a strict one reads the
// declared one, and only one of them was judged as what it is. Names of which neither is declared (environment
// variables, headers, files) are judged like any other.
func (d *detector) judgeTwins(a, b int32, p place) error {
	declared := func(id int32) bool {
		if d.tool.schema.hintsAt(d.t, id).declared {
			return true
		}
		for _, at := range p.at {
			if at.node.kids[d.t.name(id)] != nil {
				return true
			}
		}
		return false
	}
	if declared(a) == declared(b) {
		return nil
	}
	return &ArgumentsError{Code: CodeArgsFolded, Pointer: d.t.pointer(b),
		Message: "its name differs from that of " + quoteForMessage(d.t.name(a)) + " in letter case only, and parsers disagree on whether they are one argument; send the declared spelling alone"}
}

// plainName reports a name that looks like an argument's, not like a file's.
func plainName(s string) bool { return !strings.ContainsAny(s, `./\ :`) }

func (d *detector) classOf(id int32) keyClass {
	n := &d.t.nodes[id]
	if n.flags&fNameEscaped == 0 {
		if c, ok := d.tool.classes[string(d.t.docs[n.doc][n.koff+1:n.kend-1])]; ok {
			return c
		}
	}
	name := d.t.name(id)
	if strings.ContainsAny(name, `/\`) {
		return keyOther // a file name, not an argument's
	}
	return classOf(name)
}

// member judges a member name.
func (d *detector) member(id int32, p place, own *boundRule) {
	n := &d.t.nodes[id]
	inner := d.t.docs[n.doc][n.koff+1 : n.kend-1]
	if d.tool.mode == ModeOff || !p.names && !mayBePath(inner) {
		return
	}
	name := d.t.name(id)
	rule := own
	if rule == nil || rule.Role != RoleNone {
		rule = p.rule
	}
	exempt := rule != nil && rule.Role == RoleNone
	if !exempt && d.tool.mode == ModeDeclared && !(p.names && p.rule != nil) {
		exempt = true
	}
	if exempt {
		d.uris(id, name, p, true)
		return
	}
	if d.tool.schema.hintsAt(d.t, id).declared {
		return // an argument's own name is the server's word, not the caller's
	}
	q := p
	q.key = id
	if p.names && trimEdges(name) != "" {
		d.asPath(id, name, q, HowMember, true)
		return
	}
	d.broad(id, name, q, true)
}

// mayBePath is a cheap look at raw bytes: no string without one of these can be a path of rule 2.
func mayBePath(raw []byte) bool {
	for _, c := range raw {
		switch c {
		case '/', '\\', '~', '$', ':', '%':
			return true
		}
	}
	return string(raw) == ".."
}

func (d *detector) str(id int32, p place) error {
	if d.tool.mode == ModeOff {
		return nil
	}
	t := d.t
	raw := t.raw(id)
	content := p.class == keyContent || p.class == keyQuery
	if p.rule == nil || p.rule.Role == RoleNone {
		if content && p.class != keyQuery && !reachesBelow(p.at) {
			return nil
		}
		if p.class == keyOther && !d.tool.pathFormats && !mayBePath(raw) {
			return nil
		}
	}
	if !content || reachesBelow(p.at) {
		if looksNested(raw) {
			s := t.str(id)
			ok, err := t.nested(id, s, p.level)
			if err != nil {
				return err
			}
			if ok {
				q := p
				q.level++
				if err := d.visit(t.nodes[id].first, q); err != nil {
					return err
				}
				if p.class != keyPath && p.class != keySource && (p.rule == nil || p.rule.Role == RoleNone) {
					return nil
				}
			}
		}
	}
	d.value(id, t.str(id), p)
	return nil
}

// looksNested reports a string that may hold a JSON object or array.
func looksNested(raw []byte) bool {
	for i, c := range raw {
		switch c {
		case '{', '[':
			return true
		case ' ':
			continue
		case '\\', 0xef: // an escape or a BOM; let the parser look
			return i < 64
		}
		return false
	}
	return false
}

// value judges one string by what governs it.
func (d *detector) value(id int32, s string, p place) {
	if r := p.rule; r != nil {
		if r.Role != RoleNone {
			d.asPath(id, s, p, r.how, false)
			return
		}
		d.exempted(id, s, p)
		return
	}
	if d.tool.mode == ModeDeclared {
		if p.class != keyContent && p.class != keyQuery {
			d.uris(id, s, p, false)
		}
		return
	}
	if d.tool.pathFormats && p.class != keyPath && d.tool.schema.hintsAt(d.t, id).path {
		d.asPath(id, s, p, HowFormat, false)
		return
	}
	switch p.class {
	case keyContent:
	case keyQuery:
		if isSQL(s) {
			d.sql(id, s, p)
		}
	case keySQL:
		d.sql(id, s, p)
	case keyShell:
		d.shell(id, s, p)
	case keyWords:
		d.vector(id, s, p)
	case keyPath, keySource:
		if p.class == keySource && d.isSourceCode(p.key, s) {
			return
		}
		h := d.tool.schema.hintsAt(d.t, id)
		if h.enum || h.word && !strings.ContainsAny(s, `/\`) {
			d.broad(id, s, p, false)
			return
		}
		d.asPath(id, s, p, HowKey, false)
	default:
		d.broad(id, s, p, false)
	}
}

// isSourceCode reports text of several lines under a key like cell_source. Under a bare "source" several lines are a
// list unless no line of them could be a path by rule 2.
func (d *detector) isSourceCode(key int32, s string) bool {
	if key < 0 || !strings.ContainsAny(strings.TrimSpace(s), "\n\r") {
		return false
	}
	var words [16]string
	for _, w := range splitWords(words[:0], d.t.name(key)) {
		if codeWords[w] {
			return true
		}
	}
	return false
}

// asPath is rule 1: the string is a path, and so is every part of a joined list that is absolute, home or climbing.
func (d *detector) asPath(id int32, s string, p place, how string, member bool) {
	trimmed := trimEdges(s)
	if trimmed == "" && strings.IndexByte(s, 0) < 0 {
		return
	}
	f := Finding{Value: s, How: how, Member: member, seat: id}
	if trimmed != s {
		f.Value, f.alts = trimmed, []string{s}
	}
	kind, texts := readScheme(s)
	switch kind {
	case schemeFile:
		f.Value, f.alts, f.form = texts[0], nil, formURI
		if how == HowKey || how == HowMember || how == HowFormat {
			f.How = HowFileURI
		}
		d.add(f, p)
		d.inner(id, s, p, member, true)
		return
	case schemePath:
		f.Value, f.alts = texts[0], texts[1:]
		d.add(f, p)
		return
	case schemeOther:
		// Never a path, but a child that takes no URIs would open it as one: only ".." makes a difference then. A list
		// may begin with a URL.
		if climbs(s) && !strings.ContainsAny(s, "?#") {
			f.How = HowClimbs
			d.add(f, p)
		}
		d.parts(id, s, p, member, ",;\n\r", d.broadly)
		d.uris(id, s, p, member)
		return
	}
	d.add(f, p)
	d.inner(id, s, p, member, false)
}

// inner looks for further paths inside a string that was taken for one.
func (d *detector) inner(id int32, s string, p place, member, isURI bool) {
	if len(s) > maxCheap {
		s = s[:maxCheap]
	}
	if !isURI {
		separators := ",:;\n\r"
		if d.c.windows {
			separators = ",;\n\r"
		}
		d.parts(id, s, p, member, separators, d.plainly)
		d.tails(id, s, p, member)
	} else {
		d.parts(id, s, p, member, ",;\n\r", d.broadly)
	}
	d.uris(id, s, p, member)
}

// evidence decides whether one part or tail is a path, and says why.
type evidence func(v string) (how string, ok bool)

// plainly is the evidence of rule 1: absolute, home or climbing, whether or not it exists.
func (d *detector) plainly(v string) (string, bool) { return d.look(v, false) }

// broadly is the evidence of rule 2, exemption of rule 3 included.
func (d *detector) broadly(v string) (string, bool) { return d.look(v, true) }

func (d *detector) look(v string, exempt bool) (string, bool) {
	switch {
	case v == "":
		return "", false
	case rootedHome(v):
		return HowHome, true
	case v[0] == '~':
		return HowHome, d.c.isUserHome(v)
	case isDrive(v):
		return HowDrive, true
	case isUNC(v):
		return HowUNC, true
	case climbs(v):
		return HowClimbs, true
	case v[0] == '/' || v[0] == '\\':
		return HowAbsolute, !exempt || d.c.firstExists(v)
	}
	if strings.IndexByte(v, '%') >= 0 {
		if dec := decodePercent(v); dec != v && dec != "" {
			return d.look(dec, true)
		}
	}
	return "", false
}

// rootedHome reports ~, ~/x and a leading $HOME.
func rootedHome(v string) bool {
	if v == "~" || strings.HasPrefix(v, "~/") || strings.HasPrefix(v, `~\`) || strings.HasPrefix(v, "~+/") || strings.HasPrefix(v, "~-/") {
		return true
	}
	for _, name := range []string{"$HOME", "${HOME}", "%HOME%", "%USERPROFILE%", "$env:HOME", "$env:USERPROFILE", "${HOME:", "$USERPROFILE"} {
		if rest, ok := strings.CutPrefix(v, name); ok && (rest == "" || isSlash(rest[0]) || strings.HasSuffix(name, ":")) {
			return true
		}
	}
	return false
}

// broad is rule 2.
func (d *detector) broad(id int32, s string, p place, member bool) {
	before := len(d.findings)
	kind, texts := readScheme(s)
	switch kind {
	case schemeFile:
		d.add(Finding{Value: texts[0], How: HowFileURI, form: formURI, Member: member, seat: id}, p)
		return
	case schemePath:
		d.add(Finding{Value: texts[0], alts: texts[1:], How: HowScheme, Member: member, seat: id}, p)
		return
	case schemeOther:
		d.uris(id, s, p, member)
		return
	}
	short := s
	if len(short) > maxCheap {
		short = short[:maxCheap]
	}
	v := trimEdges(short)
	if how, ok := d.broadly(v); ok {
		f := Finding{Value: v, How: how, Member: member, seat: id}
		if v != s {
			f.alts = []string{s}
		}
		d.add(f, p)
	}
	d.tails(id, short, p, member)
	d.uris(id, s, p, member)
	d.broadList(id, short, p, member)
	if len(d.findings) == before && len(v) <= maxRaw && strings.IndexByte(v, '/') > 0 && !strings.ContainsAny(v, "\n\r\x00") {
		d.add(Finding{Value: v, How: HowLink, form: formLink, Member: member, seat: id}, p)
	}
}

// broadList reads a joined list under a key that says nothing. Prose has commas too, so a part must be a path by rule 2,
// and blanks separate only where every word looks like one.
func (d *detector) broadList(id int32, s string, p place, member bool) {
	if !hasBlank(s) {
		d.parts(id, s, p, member, ",;|", d.broadly)
		if s != "" && (s[0] == '/' || s[0] == '~' || s[0] == '.') && strings.IndexByte(s, ':') > 0 {
			d.parts(id, s, p, member, ":", d.broadly)
		}
		return
	}
	for _, w := range strings.FieldsFunc(s, isBlank) {
		w = strings.TrimLeft(w, "\"'`<(")
		if w == "" || !strings.ContainsRune("/~.-$", rune(w[0])) && !strings.HasPrefix(strings.ToLower(w), "file:") {
			return
		}
	}
	d.parts(id, s, p, member, ",;|\n\r", d.broadly)
}

// parts judges the parts of a joined list; blanks always separate.
func (d *detector) parts(id int32, s string, p place, member bool, separators string, is evidence) {
	cut := func(r rune) bool { return isBlank(r) || strings.ContainsRune(separators, r) }
	if strings.IndexFunc(s, cut) < 0 {
		return
	}
	for part := range strings.FieldsFuncSeq(s, cut) {
		v := strings.TrimFunc(part, func(r rune) bool { return isEdge(r) || strings.ContainsRune("()[]{}", r) })
		if v == "" || v == s {
			continue
		}
		if _, ok := is(v); ok {
			d.add(Finding{Value: v, How: HowList, Member: member, seat: id}, p)
		}
	}
}

// within reports whether an equal finding of the same string exists already.
func (d *detector) within(id int32, v string) bool {
	for i := len(d.findings) - 1; i >= 0 && d.findings[i].seat == id; i-- {
		if d.findings[i].Value == v && d.findings[i].form != formLink {
			return true
		}
	}
	return false
}

// tails judges what follows "=", "@", a ref's colon or a short flag, each to the end of the string and to the end of
// its word.
func (d *detector) tails(id int32, s string, p place, member bool) {
	inURL := false
	for i := 0; i+1 < len(s); i++ {
		c := s[i]
		if isBlank(rune(c)) {
			inURL = false
			continue
		}
		if inURL || c != '=' && c != '@' && c != ':' {
			continue
		}
		if c == ':' && strings.HasPrefix(s[i:], "://") && i > 0 && isLetter(s[i-1]) {
			inURL = true // https://host/?x=/etc is one URL; file: is looked for elsewhere
			continue
		}
		if c == ':' && (isRemote(s[:i]) || i == 1 && isDrive(s) || hasBlank(s[:i]) && strings.HasPrefix(s[i+1:], " ")) {
			continue
		}
		d.tail(id, s[i+1:], p, member)
	}
	if len(s) > 2 && s[0] == '-' && s[1] != '-' && (isLetter(s[1]) || isDigit(s[1])) {
		d.tail(id, s[2:], p, member)
	}
}

// isRemote reports user@host, what stands before the colon of an scp-like address.
func isRemote(s string) bool {
	i := strings.IndexByte(s, '@')
	return i > 0 && i < len(s)-1 && !strings.ContainsAny(s, "/\\ =,;")
}

func (d *detector) tail(id int32, s string, p place, member bool) {
	rest := strings.TrimLeft(s, "\"'`")
	if rest == "" || !strings.ContainsRune(`/~.$\%`, rune(rest[0])) && !isDrive(rest) && !strings.EqualFold(rest[:min(5, len(rest))], "file:") {
		return
	}
	try := func(v string) {
		v = trimEdges(v)
		if kind, texts := readScheme(v); kind == schemeFile {
			d.add(Finding{Value: texts[0], How: HowTail, form: formURI, Member: member, seat: id}, p)
			return
		}
		if _, ok := d.broadly(v); ok && !d.within(id, v) {
			d.add(Finding{Value: v, How: HowTail, Member: member, seat: id}, p)
		}
	}
	try(rest)
	if i := strings.IndexFunc(rest, func(r rune) bool { return isBlank(r) || strings.ContainsRune(",;:|\"'`", r) }); i > 0 {
		try(rest[:i])
	}
}

// uris judges every file: URI in a string, and nothing else.
func (d *detector) uris(id int32, s string, p place, member bool) {
	if kind, texts := readScheme(s); kind == schemeFile {
		d.add(Finding{Value: texts[0], How: HowFileURI, form: formURI, Member: member, seat: id}, p)
		return
	}
	eachFileURI(s, func(uri string) {
		if !d.within(id, uri) {
			d.add(Finding{Value: uri, How: HowFileURI, form: formURI, Member: member, seat: id}, p)
		}
	})
}

// exempted is what a declaration of "none" leaves: file URIs, and options that carry a path.
func (d *detector) exempted(id int32, s string, p place) {
	d.uris(id, s, p, false)
	v := trimEdges(s)
	if !strings.HasPrefix(v, "-") {
		return
	}
	if len(v) > maxCheap {
		v = v[:maxCheap]
	}
	for word := range strings.FieldsFuncSeq(v, isBlank) {
		d.tails(id, word, p, false)
		if _, ok := d.broadly(trimEdges(word)); ok {
			d.add(Finding{Value: trimEdges(word), How: HowTail, seat: id}, p)
		}
	}
}

// add completes a finding and keeps it, once for each string and value.
func (d *detector) add(f Finding, p place) {
	if f.form != formURI && f.form != formWord && f.form != formLink && d.within(f.seat, f.Value) {
		return
	}
	if d.tool.uri {
		f.How = HowURI
	}
	f.Raw = d.t.str(f.seat)
	if f.Member {
		f.Raw = d.t.name(f.seat)
	}
	f.Raw = clip(f.Raw, maxRaw)
	f.Pointer = d.t.pointer(f.seat)
	f.declare = starred(d.t, f.seat)
	if r := p.rule; r != nil && r.Role != RoleNone && !f.Member {
		f.Role = r.Role
		if r.Base != "" {
			f.Base = baseFor(r.Base, f.Pointer)
			if at := d.t.lookup(f.Base); at >= 0 && d.t.nodes[at].kind == kString {
				f.BaseDir = d.t.str(at)
			}
		}
	} else {
		f.Role = d.role(p.key)
	}
	f.context = p.key >= 0 && !f.Member && isContext(d.t.name(p.key))
	d.findings = append(d.findings, f)
}

func (d *detector) role(key int32) Role {
	if key < 0 {
		return d.tool.traits.role
	}
	if d.roleSeen != RoleNone && d.roleKey == key {
		return d.roleSeen
	}
	d.roleKey, d.roleSeen = key, d.tool.traits.roleOf(d.t.name(key))
	return d.roleSeen
}
