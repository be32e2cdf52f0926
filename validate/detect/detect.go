package detect

import (
	"slices"
	"strings"

	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/machine"
	"mcphub/validate/names"
	"mcphub/validate/schema"
	"mcphub/validate/shell"
	"mcphub/validate/strictjson"
	"mcphub/validate/text"
)

const (
	MaxValue = 1 << 16 // no spelling of a longer value fits a path, whatever is decoded or trimmed
	MaxRaw   = 4 << 10 // of a string, kept for the report
	maxCheap = 4 << 20 // a longer string that may be a list is refused: reading it would take too long
)

// detector finds the paths of one call. It belongs to one goroutine.
type detector struct {
	t         *strictjson.Tree
	s         *Searcher
	m         *machine.Machine // as the call sees it
	tool      *Tool
	work      *budget.Budget // of the call
	keys      *names.Buffer
	findings  []Finding
	roleKey   int32 // memo of role
	roleSeen  access.Role
	at        source
	course    shell.Course     // where cd went before the present word
	variables *shell.Variables // of the shell string that it stands in, nil in none
	inWords   bool             // the words of a shell string are looked at
	argv      vector           // the latest array of words
	mentions  []mention
	programs  struct { // memo of programsOf
		object int32
		list   []int32
	}
	writes  bool                 // the word stands after a redirection
	inShell bool                 // it belongs to a command
	typed   bool                 // it is typed into a running program
	cmd     shell.Use            // what that makes of it
	refused error                // why the call is
	own     bool                 // the URI that is searched is of a server that serves its scheme
	places  *schema.LenientValue // of the arguments as a whole, if they fit the schema by a lenient reading alone
}

// source is the string that the latest findings came from.
type source struct {
	id                    int32
	member                bool
	raw, pointer, declare string
	seen                  map[seen]bool
}

// slot is what the position of a value in the arguments says about it.
type slot struct {
	class names.Class
	key   int32          // member whose name governs, -1 none
	rule  *declare.Rule  // declaration that governs
	at    declare.Cursor // in the tool's declarations
	names bool           // member names directly below are paths
	bare  bool           // a name without a slash may be a file: it stands beside a path, or below one
	level int            // of JSON in strings
	code  bool           // the element of an array behind -c or -e
	under bool           // below an object that was declared as a path

	place  *schema.LenientValue // how a lenient reading takes it
	strict bool                 // it belongs to a member that the schema does not know, so it is searched as in strict mode
}

// walkTree walks the whole tree.
func (d *detector) walkTree() error {
	p := slot{key: -1, at: d.tool.Rules.Start(), place: d.places}
	p.rule = p.at.Rule()
	if err := d.visitNode(0, p); err != nil {
		return err
	}
	d.keepMentions()
	return d.refuseOverflow()
}

// refuseOverflow refuses a call with more paths than can be judged in reasonable time.
func (d *detector) refuseOverflow() error {
	if d.refused != nil {
		return d.refused
	}
	if d.work.Spent() {
		return &strictjson.Error{Code: strictjson.CodeTooLarge, Pointer: d.at.pointer, Message: "more paths, or texts that may hold some, than one call may cost to judge; split it"}
	}
	return nil
}

func (d *detector) visitNode(id int32, p slot) error {
	if err := d.refuseOverflow(); err != nil {
		return err
	}
	switch d.t.Nodes[id].Kind {
	case strictjson.Object:
		return d.visitObject(id, p)
	case strictjson.Array:
		d.searchSegments(id, p)
		code := false
		for c := d.t.Nodes[id].First; c > 0; c = d.t.Nodes[c].Next {
			q := p
			if len(p.at) > 0 {
				q.at = p.at.Step(strictjson.IndexToken(d.t.Nodes[c].Index))
				q.rule = q.at.Rule().Over(p.rule)
			}
			q.names = false
			if p.place != nil {
				q.place = p.place.Step(strictjson.IndexToken(d.t.Nodes[c].Index))
			}
			if p.class == names.Content && !d.t.IsMember(id) && d.t.Nodes[c].Kind == strictjson.String {
				q.class = names.Other // in a list of lists
			}
			q.code, code = code, d.isCodeFlag(c)
			if err := d.visitNode(c, q); err != nil {
				return err
			}
		}
	case strictjson.String:
		return d.searchString(id, p)
	}
	return nil
}

func (d *detector) visitObject(id int32, p slot) error {
	t := d.t
	if err := t.Twins(id, func(a, b int32) error { return d.checkTwins(a, b, p) }); err != nil {
		return err
	}
	var classes [32]names.Class
	beside := d.classesOf(id, classes[:])
	i, edit := -1, editUnknown
	for c := t.Nodes[id].First; c > 0; c = t.Nodes[c].Next {
		q := slot{key: c, level: p.level, strict: p.strict, under: p.under || p.rule != nil && p.rule.Role != access.None}
		if p.rule != nil && p.rule.Role == access.None {
			q.rule = p.rule
		}
		if len(p.at) > 0 {
			q.at = p.at.Step(t.Name(c))
			q.rule = q.at.Rule().Over(q.rule)
		}
		if p.place != nil {
			if q.place = p.place.Step(t.Name(c)); q.place.IsExtra() {
				if err := d.checkSpelling(c, p); err != nil {
					return err
				}
				q.strict = true
			}
		}
		if i++; i < len(classes) {
			q.class = classes[i]
		} else if t.Nodes[c].Kind >= strictjson.String {
			q.class = d.classOf(c)
		}
		if q.rule != nil && q.rule.Typed {
			q.class = names.Typed
		}
		if p.class == names.Shell && q.rule == nil && (q.class == names.Other || q.class == names.Typed || q.class == names.Content && names.ShellTails[d.lastWord(c)]) {
			q.class = names.Shell // {"command": {"run": "..."}}, {"script": {"code": "..."}}
		}
		q.bare = beside && d.searchMode(q) == declare.ModeStrict || p.class == names.Path || p.class == names.Source
		if p.names && (q.class == names.Path || q.class == names.Source) && !plainName(t.Name(c)) {
			q.class = names.Other
		}
		if q.class == names.Edit {
			q.class = d.editClass(id, c, &edit)
		}
		if q.class == names.Path && q.rule == nil && d.isRoute(c) {
			q.class = names.Other // a value counts as a path only if its first component exists on this machine
		}
		isPath := q.class == names.Path || q.class == names.Source || q.rule != nil && q.rule.Role != access.None
		q.names = isPath && t.Nodes[c].Kind == strictjson.Object
		d.searchMember(c, p, q)
		if err := d.visitNode(c, q); err != nil {
			return err
		}
	}
	return nil
}

// classesOf reads the names of an object's first members, and reports whether one of all is a path's.
func (d *detector) classesOf(id int32, classes []names.Class) (path bool) {
	i := 0
	for c := d.t.Nodes[id].First; c > 0; c = d.t.Nodes[c].Next {
		class := names.Other
		if d.t.Nodes[c].Kind >= strictjson.String && (i < len(classes) || !path) {
			class = d.classOf(c)
		}
		if i < len(classes) {
			classes[i] = class
		}
		path = path || class == names.Path || class == names.Source
		i++
	}
	return path
}

// searchSegments searches a path given as a list of its components: ["src", "main.go"].
func (d *detector) searchSegments(id int32, p slot) {
	if d.searchMode(p) != declare.ModeStrict || p.class != names.Path && (p.key < 0 || !names.SegmentWords[d.lastWord(p.key)]) {
		return
	}
	var parts []string
	for c := d.t.Nodes[id].First; c > 0; c = d.t.Nodes[c].Next {
		if d.t.Nodes[c].Kind != strictjson.String || len(d.t.Whole(c)) > 256 || len(parts) >= 64 {
			return
		}
		part := d.t.Str(c)
		if part == "" || strings.ContainsAny(part, "/\\") {
			return
		}
		parts = append(parts, part)
	}
	if len(parts) > 1 {
		joined := strings.Join(parts, "/")
		if d.keepLink(d.t.Nodes[id].First, joined, p, false); chars.Climbs(joined) {
			d.addFinding(Finding{Value: joined, How: HowClimbs, Node: d.t.Nodes[id].First}, p)
		}
	}
}

// checkTwins refuses two names that differ in letter case only, if the tool or a declaration names one of them and not the
// other. A child that ignores case reads whichever comes last, a strict one reads the declared one, and only one of them was
// searched as what it is. If neither is declared (environment variables, headers, files), both are searched like any other.
func (d *detector) checkTwins(a, b int32, p slot) error {
	declared := func(id int32) bool {
		return d.tool.schema.HintsAt(d.t, id).Declared || p.at.Names(d.t.Name(id))
	}
	if declared(a) == declared(b) {
		return nil
	}
	return &strictjson.Error{Code: strictjson.CodeFolded, Pointer: d.t.Pointer(b),
		Message: "its name differs from that of " + chars.Quote(d.t.Name(a)) + " in letter case only, and parsers disagree on whether they are one argument; send the declared spelling alone"}
}

// checkSpelling refuses a member that the schema forbids if its name differs from a declared one only in letter case, hyphens and
// underscores: some servers read it as the declared argument, which it was not searched as.
func (d *detector) checkSpelling(id int32, p slot) error {
	name := d.t.Name(id)
	declared, ok := p.place.Spelling(name)
	if !ok {
		declared, ok = p.at.Spelling(name)
	}
	if !ok {
		return nil
	}
	return &strictjson.Error{Code: strictjson.CodeFolded, Pointer: d.t.Pointer(id),
		Message: "its name differs from that of " + chars.Quote(declared) + " in letter case, hyphens and underscores only, and servers disagree on whether they are one argument; send the declared spelling alone"}
}

// searchMode returns how far a value is searched.
func (d *detector) searchMode(p slot) declare.Mode {
	if p.strict && d.tool.Mode == declare.ModeDeclared {
		return declare.ModeStrict
	}
	return d.tool.Mode
}

// schemaHints returns what the schema says about a value. If it fits only once it is read otherwise, the schema says nothing about the
// string that it is.
func (d *detector) schemaHints(id int32, p slot) schema.Hint {
	h := d.tool.schema.HintsAt(d.t, id)
	if p.place.IsContent() {
		h.Enum, h.Word = false, false
	}
	return h
}

// plainName reports a name that looks like an argument's, not like a file's.
func plainName(s string) bool { return !strings.ContainsAny(s, `./\ :`) }

func (d *detector) classOf(id int32) names.Class {
	if raw, plain := d.t.RawName(id); plain {
		if c, ok := d.tool.classes[string(raw)]; ok {
			return c
		}
	}
	name := d.t.Name(id)
	if strings.ContainsAny(name, `/\`) {
		return names.Other // a file name, not an argument's
	}
	class := d.tool.Traits.ClassOf(d.keys, name, "")
	if class != names.Other && class != names.Content && class != names.Query {
		return class
	}
	// A child that ignores case reads pAth as path. So pAth is searched like path, but gets no exemption from its name.
	folded := chars.FoldName(name)
	switch declared := d.tool.folded[folded]; declared {
	case names.Other, names.Content, names.Query, names.Edit:
	default:
		return declared
	}
	if class == names.Other && slices.Contains(names.PathWords, folded) {
		return names.Path
	}
	return class
}

// searchMember searches a member name.
func (d *detector) searchMember(id int32, p, own slot) {
	inner, _ := d.t.RawName(id)
	if d.tool.Mode == declare.ModeOff || !p.names && !text.MayBePath(inner) && !d.s.Guarded.isIn(inner) {
		return
	}
	if !d.work.Spend(budget.WordSteps) {
		return
	}
	name := d.t.Name(id)
	exempt := func(rule *declare.Rule) bool { return rule != nil && rule.Role == access.None && !rule.Typed }
	if exempt(own.rule) || exempt(p.rule) || d.searchMode(own) == declare.ModeDeclared && !(p.names && p.rule != nil) {
		d.searchURIs(id, name, p, true)
		return
	}
	if d.tool.schema.HintsAt(d.t, id).Declared {
		return // the server chose the argument's name, not the caller
	}
	q := p
	q.key = id
	if p.names && chars.TrimEdges(name) != "" {
		d.asPath(id, name, q, HowMember, true)
		return
	}
	d.searchBroad(id, name, q, true)
}

func (d *detector) searchString(id int32, p slot) error {
	if d.tool.Mode == declare.ModeOff {
		return nil
	}
	t := d.t
	raw := t.Raw(id)
	content := p.class == names.Content || p.class == names.Query
	if p.rule == nil || p.rule.Role == access.None {
		if p.class == names.Content && len(raw) > MaxValue && !text.MayBePatch(string(raw[:min(len(raw), 64)])) && !names.PatchWords[d.lastWord(p.key)] && !p.at.GoesDeeper() && !d.tool.pathFormats && !text.MayBeNested(raw) {
			return nil // neither a path nor a patch
		}
		if p.class == names.Other && !p.bare && !p.code && !d.tool.pathFormats && !text.MayBePath(raw) && !text.MayBeNested(raw) {
			if !d.s.Guarded.isIn(raw) {
				return nil
			}
		}
	}
	if text.MayBeNested(raw) {
		// A child whose argument may be an object too parses a string that holds one.
		if !content || p.at.GoesDeeper() || d.tool.schema.HintsAt(t, id).Object {
			if !d.work.Spend(len(raw)/budget.ByteSteps + budget.FindSteps) {
				return d.refuseOverflow()
			}
			ok, err := t.ParseNested(id, strings.TrimFunc(t.Str(id), text.IsStripped), p.level)
			if err != nil {
				return err
			}
			if ok {
				q := p
				q.level++
				q.place = nil
				if err := d.visitNode(t.Nodes[id].First, q); err != nil {
					return err
				}
				if p.class != names.Path && p.class != names.Source && (p.rule == nil || p.rule.Role == access.None) {
					return nil
				}
			}
		}
	}
	d.searchValue(id, t.Str(id), p)
	return nil
}

// searchValue searches one string in the way that its name, declaration or schema asks for.
func (d *detector) searchValue(id int32, s string, p slot) {
	s = d.plainSpelling(s)
	if r := p.rule; r != nil {
		switch {
		case r.Role != access.None:
			d.asPath(id, s, p, r.By, false)
		case r.Typed:
			d.searchStream(id, s, p)
		default:
			d.searchExempted(id, s, p)
		}
		return
	}
	if d.searchMode(p) == declare.ModeDeclared && !p.under {
		if p.class == names.Content {
			d.searchProse(id, s, p)
		} else {
			d.searchURIs(id, s, p, false)
		}
		return
	}
	if d.tool.pathFormats && p.class != names.Path {
		if !d.work.Spend(budget.FindSteps) {
			return
		}
		if how := d.tool.schema.PathAt(d.t, id); how != "" && !d.schemaHints(id, p).Enum {
			d.asPath(id, s, p, how, false)
			return
		}
	}
	switch p.class {
	case names.Typed:
		d.searchStream(id, s, p)
	case names.Content:
		d.searchProse(id, s, p)
	case names.Query:
		d.searchURIs(id, s, p, false)
		d.keepLiterals(id, s, p)
	case names.Shell, names.Words:
		d.searchVector(id, s, p)
	case names.Path, names.Source:
		if p.class == names.Source && d.isSourceCode(p.key, s) {
			return
		}
		h := d.schemaHints(id, p)
		if d.isProgramValue(s, p) {
			return // shellPath
		}
		if h.Enum || h.Word && !strings.ContainsAny(s, `/\`) {
			d.searchBroad(id, s, p, false)
			return
		}
		d.namedPath(id, s, p)
	default:
		if p.code || text.IsFlagged(s) { // -c 'cat x'
			d.searchVector(id, s, p)
			return
		}
		if d.isProgramValue(s, p) {
			return
		}
		if p.key >= 0 && text.MayBePatch(s) && d.lastWord(p.key) == "input" && text.IsPatch(s) {
			d.searchPatch(id, s, p)
			return
		}
		if p.key >= 0 && names.VolumeWords[d.lastWord(p.key)] && strings.IndexByte(s, ':') > 0 {
			s = shell.HostOf(s) // what follows is in the container
			d.keepName(id, s, p, false)
		}
		if len(s) == 1 && chars.IsSlash(s[0]) && p.key >= 0 && names.SeparatorWords[d.lastWord(p.key)] {
			return
		}
		d.searchBroad(id, s, p, false)
		d.keepLiterals(id, s, p)
		if p.bare && len(s) < 256 {
			d.keepName(id, s, p, false)
		}
	}
}

// namedPath keeps a string that its name makes a path, and what it holds in quotes: u'x', ("x").
func (d *detector) namedPath(id int32, s string, p slot) {
	d.asPath(id, s, p, HowKey, false)
	if strings.ContainsAny(s, text.Quotes) {
		d.keepLiterals(id, s, p)
	}
}

// isProgramValue reports a whole value that is a program of the system, if the argument is called so: shell, or value beside
// {"key": "defaultShell"}.
func (d *detector) isProgramValue(s string, p slot) bool {
	if p.key < 0 || !strings.ContainsAny(s, `/\`) || !d.m.IsCommand(chars.TrimEdges(s)) {
		return false
	}
	name := d.t.Name(p.key)
	if name == "value" {
		name = d.t.Text(d.t.Nodes[p.key].Parent, "key")
	}
	return slices.ContainsFunc(d.keys.Split(name), func(w []byte) bool { return names.ProgramKeys[string(w)] })
}

// isSourceCode reports text of several lines under a key like cell_source. Under a bare "source" several lines are a
// list unless no line of them could be a path by itself.
func (d *detector) isSourceCode(key int32, s string) bool {
	return key >= 0 && strings.ContainsAny(strings.TrimSpace(s), "\n\r") &&
		slices.ContainsFunc(d.keys.Split(d.t.Name(key)), func(w []byte) bool { return names.CellWords[string(w)] })
}

var (
	patchOps    = chars.WordSet("add remove replace move copy test")
	httpMethods = chars.WordSet("GET HEAD POST PUT PATCH DELETE OPTIONS")
)

// isRoute reports a "path" that is a JSON pointer or an HTTP route. It is absolute, nothing on this machine has the name of its
// first component, and beside it stands the operation of a JSON patch (RFC 6902) or an HTTP method.
func (d *detector) isRoute(id int32) bool {
	t := d.t
	if t.Nodes[id].Kind != strictjson.String || d.tool.Boxed || t.Name(id) != "path" && t.Name(id) != "from" {
		return false
	}
	object := t.Nodes[id].Parent
	if !patchOps[t.Text(object, "op")] && !httpMethods[strings.ToUpper(t.Text(object, "method"))] {
		return false
	}
	s := t.Str(id) // and then the disk is looked at
	return len(s) <= chars.MaxPath && strings.HasPrefix(s, "/") && !chars.Climbs(s) && !d.m.FirstExists(s)
}
