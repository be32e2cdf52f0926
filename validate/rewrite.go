package validate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/strictjson"
)

// What a profile may say under "rewrite", and the words of Rewrite.Why. They are stable: audit lines and explain print
// them.
const (
	// RewriteFileURI: the server takes plain paths only. An argument that is a file URI with exactly one reading is
	// sent as that path, any other file URI is refused: such a server would open it as a relative name.
	RewriteFileURI = "file-uri"
	// RewriteResolvedRoot: the server compares paths as text with its roots, and has those resolved. A path that goes
	// through the spelling in which a root was given is sent with that prefix resolved, and nothing else changed.
	RewriteResolvedRoot = "resolved-root"
)

// Rewrite is one string of the arguments that has to be sent in another spelling. What is sent is what was judged: To
// was judged as well, together with the rest of the call, and leads to the same place as From.
type Rewrite struct {
	Pointer    string // RFC 6901
	From, To   string // decoded
	Why        string // RewriteFileURI, RewriteResolvedRoot, or both, joined by ", "
	Start, End int    // bytes of the scanned arguments to replace: the raw JSON string, quotes included
	With       []byte // the raw JSON string to put there
}

// respelling is the set of rewritings a profile asks for.
type respelling uint8

const (
	plainPaths respelling = 1 << iota
	resolvedRoots
)

func parseRewrite(words []string) (respelling, error) {
	var set respelling
	for _, w := range words {
		switch w {
		case RewriteFileURI:
			set |= plainPaths
		case RewriteResolvedRoot:
			set |= resolvedRoots
		default:
			return 0, fmt.Errorf("rewrite %s is none of %s, %s", chars.Quote(w), RewriteFileURI, RewriteResolvedRoot)
		}
	}
	return set, nil
}

// rewritable is a string that may have to be rewritten: a whole value that a declaration, a profile or its name makes a path,
// and not inside JSON in a string. The zero value is none.
type rewritable struct {
	start, end int32 // bytes of the arguments, quotes included
	single     bool  // nothing else in it is a path: it is no list
}

func (d *detector) rewritableOf(id int32, how string, member bool) rewritable {
	if d.tool.rewrite == 0 || member || d.t.InString(id) {
		return rewritable{}
	}
	switch how {
	case HowDeclared, HowProfile, HowKey:
		start, end := d.t.Span(id)
		return rewritable{start: start, end: end}
	}
	return rewritable{}
}

// single notes whether the finding at, which is a whole string, is all that was found in it.
func (d *detector) single(at int) {
	if at < len(d.findings) {
		d.findings[at].rewritable.single = len(d.findings) == at+1
	}
}

// respelled is one string in the spelling that its server needs.
type respelled struct {
	f     *Judged
	plain string // the path of a file URI, "" where it is a path already
	to    string // plain, or the path it was, with the root resolved
}

// rewrite finds what an allowed call has to be sent with. The call that results is judged as a whole, and held against
// the tool's schema. Where that is denied, the roots are left as they are spelled, which was judged before; where it is denied still, or where a file
// URI is not one plain path, so is the call.
func (j *judge) rewrite(s *Scan, out *Verdict) {
	if s.tool.rewrite == 0 || out.Decision != Allow || j.v.Open || j.guard.Empty() {
		return
	}
	list, ok := j.respell(s.tool, out)
	if !ok {
		out.settle(s.tool, j.w, j.v)
		return
	}
	if len(list) == 0 {
		return
	}
	trial, misfit := j.asSent(s, list), s.misfit(list, j.work)
	if trial.Decision != Allow || misfit != nil {
		if list = withoutRoots(list); len(list) == 0 {
			return
		}
		trial, misfit = j.asSent(s, list), s.misfit(list, j.work)
	}
	switch {
	case trial.Decision != Allow:
		out.Decision, out.Rule, out.Fired, out.Why, out.Roots = trial.Decision, trial.Rule, trial.Fired, trial.Why, trial.Roots
		if trial.First != nil {
			out.Findings, out.First = trial.Findings, trial.First
		}
		return
	case misfit != nil:
		f := list[0].f
		j.note(f, Reading{Text: f.Value, Code: CodeBadURI,
			Err: "the server takes plain paths only, and as one this does not fit the tool's schema: " + misfit.Error()}, Deny)
		out.settle(s.tool, j.w, j.v)
		return
	}
	for i := range list {
		r := &list[i]
		with, err := jsontext.AppendQuote(nil, r.to)
		if err != nil { // asSent has quoted it before
			out.Rewrites, out.Decision, out.Rule, out.Fired = nil, Deny, RuleUnjudged, nil
			return
		}
		out.Rewrites = append(out.Rewrites, Rewrite{
			Pointer: r.f.Pointer, From: r.f.Raw, To: r.to, Why: r.why(),
			Start: int(r.f.rewritable.start), End: int(r.f.rewritable.end), With: with,
		})
	}
	slices.SortFunc(out.Rewrites, func(a, b Rewrite) int { return a.Start - b.Start })
}

// misfit holds the call with these strings in it against the tool's schema.
func (s *Scan) misfit(list []respelled, work *budget.Budget) error {
	if s.value == nil {
		return nil
	}
	value := s.value
	for i := range list {
		value = replaced(value, list[i].f.Pointer, list[i].to)
	}
	return s.tool.schema.Validate(value, work)
}

// replaced is v with another string at pointer; v itself stays as it is.
func replaced(v any, pointer, to string) any {
	token, rest, ok := strictjson.CutToken(pointer)
	if !ok {
		return to
	}
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		out[token] = replaced(v[token], rest, to)
		return out
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i < len(v) {
			out := slices.Clone(v)
			out[i] = replaced(v[i], rest, to)
			return out
		}
	}
	return v
}

func (r *respelled) why() string {
	switch r.plain {
	case "":
		return RewriteResolvedRoot
	case r.to:
		return RewriteFileURI
	}
	return RewriteFileURI + ", " + RewriteResolvedRoot
}

// withoutRoots leaves only what became of file URIs, with their roots as spelled.
func withoutRoots(list []respelled) []respelled {
	var rest []respelled
	for _, r := range list {
		if r.plain != "" {
			r.to = r.plain
			rest = append(rest, r)
		}
	}
	return rest
}

// respell looks at every finding; ok is false where one of them now denies.
func (j *judge) respell(t *Tool, out *Verdict) (list []respelled, ok bool) {
	ok = true
	for i := range out.Findings {
		f := &out.Findings[i]
		if f.rewritable.end == 0 {
			continue
		}
		r := respelled{f: f, to: f.Value}
		if f.form == formURI {
			if t.rewrite&plainPaths == 0 {
				continue
			}
			if r.plain = j.plainPath(f); r.plain == "" {
				j.note(f, Reading{Text: f.Value, Code: CodeBadURI,
					Err: "the server takes plain paths only, and this URI is not certain to mean one; send the plain path"}, Deny)
				ok = false
				continue
			}
			r.to = r.plain
		}
		if t.rewrite&resolvedRoots != 0 {
			if to := j.resolveRoot(f, r.to); to != "" {
				r.to = to
			}
		}
		if r.to != f.Value {
			list = append(list, r)
		}
	}
	return list, ok
}

// plainPath is the path that a whole string means as a file URI, "" where that is not certain: programs differ on it,
// or the URI stands inside another scheme, in a list, between blanks or quotes, or had line ends in it.
func (j *judge) plainPath(f *Judged) string {
	const scheme = "file:"
	rest, ok := strings.CutPrefix(f.Value, scheme)
	if !ok || !f.rewritable.single || len(f.Raw) != len(f.Value) || !strings.EqualFold(f.Raw[:len(scheme)], scheme) || f.Raw[len(scheme):] != rest {
		return ""
	}
	p, err := j.m.Platform.ParseURI(f.Value)
	if err != nil {
		return ""
	}
	return p
}

// resolveRoot writes a root's resolved path over the spelling in which it was given, "" where there is nothing to do.
// The result must lead to the same place, with links followed before ".." and after it: a link that was swapped since
// the roots were read, or a ".." that climbs out of the root's spelling, is left alone.
func (j *judge) resolveRoot(f *Judged, text string) string {
	if j.container != nil || !f.rewritable.single || len(f.Readings) == 0 || !j.m.Platform.IsAbs(text) {
		return "" // a list is rewritten in all its parts or in none, and a container has paths of its own
	}
	first := &f.Readings[0]
	if first.Path != text || first.Root == "" {
		return ""
	}
	if j.m.Holds(first.Root, text) {
		return "" // spelled as the server has it
	}
	root, rest := first.Root, ""
	var ok bool
	if rest, ok = cutDir(first.given, text); !ok {
		if root, rest = j.rootAbove(text); root == "" {
			return ""
		}
	}
	if rest != "" && chars.IsSlash(root[len(root)-1]) {
		rest = rest[1:]
	}
	to := root + rest
	was, err := j.look(text)
	if err != nil {
		return ""
	}
	is, err := j.look(to)
	if err != nil || is.Readings.Physical != was.Readings.Physical || is.Readings.Cleaned != was.Readings.Cleaned {
		return ""
	}
	return to
}

// cutDir takes a directory off the front of a path; rest keeps its separator.
func cutDir(dir, text string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, dir)
	return rest, ok && dir != "" && (rest == "" || chars.IsSlash(rest[0]))
}

// rootAbove finds the innermost root in whose given spelling a path lies. There is none where the path already lies in
// a resolved one, or where no root is spelled otherwise than resolved.
func (j *judge) rootAbove(text string) (root, rest string) {
	c := j.m
	fold := func(s string) string {
		if c.Windows {
			s = chars.Slashed(s)
		}
		if c.Folds {
			s = chars.FoldName(s)
		}
		return s
	}
	if j.spelled == nil {
		j.spelled = make(map[string]string)
		roots := j.v.Snapshot.Roots()
		for i := range roots {
			j.spelled[fold(roots[i].Given)] = roots[i].Path
			j.longest = max(j.longest, len(roots[i].Given), len(roots[i].Path))
		}
		for i := range roots {
			j.spelled[fold(roots[i].Path)] = ""
		}
	}
	for end := len(text); end > 0; end = strings.LastIndexFunc(text[:end], func(r rune) bool { return r == '/' || c.Windows && r == '\\' }) {
		if end > 4*j.longest {
			continue // folding shortens a character to a third at most
		}
		at, ok := j.spelled[fold(text[:end])]
		switch {
		case ok && at == "":
			return "", ""
		case ok && root == "":
			root, rest = at, text[end:]
		}
	}
	return root, rest
}

// asSent judges the call with these strings in it. What was found inside a string that changes is found anew, by the
// rules that made it a path.
func (j *judge) asSent(s *Scan, list []respelled) *Verdict {
	out := &Verdict{Rule: RuleUnjudged}
	seats := make(map[int32]*respelled, len(list))
	dirs := make(map[string]string, len(list))
	for i := range list {
		seats[list[i].f.node] = &list[i]
		dirs[list[i].f.Pointer] = list[i].to
	}
	findings := make([]Finding, 0, len(s.findings))
	for i := range s.findings {
		f := &s.findings[i]
		r := seats[f.node]
		switch {
		case r == nil || f.Member:
			findings = append(findings, *f)
		case f.rewritable.end > 0: // the string itself; the others are parts of it
			more, err := j.findAgain(s.tool, f, r.to)
			if err != nil {
				return out // denied: it was never reached
			}
			findings = append(findings, more...)
		}
	}
	for i := range findings {
		if to, ok := dirs[findings[i].Base]; ok && findings[i].Base != "" {
			findings[i].BaseDir = to
		}
	}
	trial := judge{c: j.c, m: j.m, work: j.work, w: j.w, v: j.v, guard: j.guard, container: j.container, watched: j.watched, ruling: j.ruling}
	out.Findings = trial.all(findings)
	out.settle(s.tool, j.w, j.v)
	return out
}

// findAgain searches the new text of a string the way the old one was.
func (j *judge) findAgain(t *Tool, f *Finding, to string) ([]Finding, error) {
	tr := strictjson.New(j.c.depth)
	defer tr.Free()
	if err := tr.Parse(writeJSON(map[string]string{"": to}), j.c.size); err != nil {
		return nil, err
	}
	how := f.How
	if how == HowFileURI {
		how = HowKey
	}
	m := newMemory()
	defer m.free()
	d := detector{t: tr, c: j.c, m: j.m, tool: t, roleKey: -1, work: j.work, keys: &m.keys}
	d.asPath(tr.Nodes[0].First, to, place{key: -1}, how, false)
	if err := d.overflow(); err != nil {
		return nil, err
	}
	for i := range d.findings {
		g := &d.findings[i]
		g.Pointer, g.Raw, g.Role, g.Base, g.BaseDir = f.Pointer, f.Raw, f.Role, f.Base, f.BaseDir
		g.node, g.context, g.declare, g.rewritable = f.node, f.context, f.declare, rewritable{}
	}
	return d.findings, nil
}
