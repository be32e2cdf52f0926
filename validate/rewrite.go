package validate

import (
	"cmp"
	"slices"
	"strings"

	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
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

// replacement is one string in the spelling that its server needs.
type replacement struct {
	f     *FindingVerdict
	plain string // the path of a file URI, "" if it is a path already
	to    string // plain, or the path it was, with the root resolved
}

// rewritePaths finds which strings of an allowed call must be sent in another spelling. The call that results is judged as a whole,
// and checked against the tool's schema. If it is denied, it is tried again with the roots left as they are spelled, and only
// the file URIs replaced. If that is denied too, or if a file URI does not mean one plain path, the call is denied.
func (j *judge) rewritePaths(out *Verdict) {
	if !j.scan.tool.args.Rewrites || out.Decision != policy.Allow || j.roots.Open || j.guard.IsEmpty() {
		return
	}
	list, ok := j.findReplacements(out)
	if !ok {
		j.decideVerdict(out)
		return
	}
	if len(list) == 0 {
		return
	}
	trial, misfit := j.asSent(list)
	if trial.Decision != policy.Allow || misfit != nil {
		if list = withoutRoots(list); len(list) == 0 {
			return
		}
		trial, misfit = j.asSent(list)
	}
	switch {
	case trial.Decision != policy.Allow:
		out.Decision, out.Rule, out.Fired, out.Why, out.Roots = trial.Decision, trial.Rule, trial.Fired, trial.Why, trial.Roots
		if trial.Deciding != nil {
			out.Findings, out.Deciding = trial.Findings, trial.Deciding
		}
		return
	case misfit != nil:
		f := list[0].f
		j.addReading(f, Reading{Text: f.Value, Code: CodeBadURI,
			Err: "the server takes plain paths only, and as one this does not fit the tool's schema: " + misfit.Error()}, policy.Deny)
		j.decideVerdict(out)
		return
	}
	for _, r := range list {
		out.Rewrites = append(out.Rewrites, Rewrite{
			Pointer: r.f.Pointer, From: r.f.Raw, To: r.to, Why: r.rewriteReason(), // it is good text: asSent has read it as JSON
			Start: int(r.f.Rewritable.Start), End: int(r.f.Rewritable.End), With: quoteJSON(r.to),
		})
	}
	slices.SortFunc(out.Rewrites, func(a, b Rewrite) int { return a.Start - b.Start })
}

func (r *replacement) rewriteReason() string {
	switch r.plain {
	case "":
		return declare.RewriteResolvedRoot
	case r.to:
		return declare.RewriteFileURI
	}
	return declare.RewriteFileURI + ", " + declare.RewriteResolvedRoot
}

// withoutRoots keeps only the replacements of file URIs, with their roots as spelled.
func withoutRoots(list []replacement) []replacement {
	var rest []replacement
	for _, r := range list {
		if r.plain != "" {
			r.to = r.plain
			rest = append(rest, r)
		}
	}
	return rest
}

// findReplacements looks at every finding; ok is false if one of them now denies.
func (j *judge) findReplacements(out *Verdict) (list []replacement, ok bool) {
	for i := range out.Findings {
		f := &out.Findings[i]
		if f.Rewritable.End == 0 {
			continue
		}
		r := replacement{f: f, to: f.Value}
		if f.Form == detect.FormURI {
			if r.plain = j.plainPath(f); r.plain == "" {
				j.addReading(f, Reading{Text: f.Value, Code: CodeBadURI,
					Err: "the server takes plain paths only, and this URI is not certain to mean one; send the plain path"}, policy.Deny)
				return nil, false
			}
			r.to = r.plain
		}
		r.to = cmp.Or(j.resolveRoot(f, r.to), r.to)
		if r.to != f.Value {
			list = append(list, r)
		}
	}
	return list, true
}

// plainPath returns the path that a whole string means as a file URI, "" if that is not certain: programs differ on
// it, or the URI stands inside another scheme, in a list, between blanks or quotes, or had line ends in it.
func (j *judge) plainPath(f *FindingVerdict) string {
	const scheme = "file:"
	rest, ok := strings.CutPrefix(f.Value, scheme)
	if !ok || !f.Rewritable.Single || len(f.Raw) != len(f.Value) || !strings.EqualFold(f.Raw[:len(scheme)], scheme) || f.Raw[len(scheme):] != rest {
		return ""
	}
	p, err := j.Platform.ParseURI(f.Value)
	if err != nil {
		return ""
	}
	return p
}

// resolveRoot replaces the spelling in which a root was given by its resolved path; "" if there is nothing to do. The result must
// lead to the same place, whether links are followed before ".." or after it. Otherwise the text is left alone: a link was
// replaced since the roots were read, or a ".." climbs out of the root's spelling.
func (j *judge) resolveRoot(f *FindingVerdict, text string) string {
	if j.container != nil || !f.Rewritable.Single || len(f.Readings) == 0 || !j.Platform.IsAbs(text) {
		return "" // a list is rewritten in all its parts or in none, and a container has paths of its own
	}
	first := &f.Readings[0]
	if first.Path != text || first.Root == "" || j.Holds(first.Root, text) {
		return "" // it has the server's spelling already
	}
	root := first.Root
	rest, ok := strings.CutPrefix(text, first.given)
	if !ok || first.given == "" || rest != "" && !chars.IsSlash(rest[0]) {
		if root, rest = j.findRootAbove(text); root == "" {
			return ""
		}
	}
	if rest != "" && chars.IsSlash(root[len(root)-1]) {
		rest = rest[1:]
	}
	to := root + rest
	given, err := j.resolvePath(text)
	if err != nil {
		return ""
	}
	replaced, err := j.resolvePath(to)
	if err != nil || replaced.Readings.Physical != given.Readings.Physical || replaced.Readings.Cleaned != given.Readings.Cleaned {
		return ""
	}
	return to
}

// findRootAbove finds the innermost root in whose given spelling a path lies. There is none if the path already lies in a
// resolved one, or if no root is spelled differently from resolved.
func (j *judge) findRootAbove(text string) (root, rest string) {
	if j.givenRoots == nil {
		j.givenRoots = make(map[string]string)
		roots := j.roots.Snapshot.Roots()
		for i := range roots {
			j.givenRoots[j.Fold(roots[i].Given)] = roots[i].Path
			j.longestRoot = max(j.longestRoot, len(roots[i].Given), len(roots[i].Path))
		}
		for i := range roots {
			j.givenRoots[j.Fold(roots[i].Path)] = ""
		}
	}
	for end := len(text); end > 0; end = strings.LastIndexFunc(text[:end], func(r rune) bool { return r == '/' || j.Windows && r == '\\' }) {
		if end > 4*j.longestRoot {
			continue // folding shortens a character to a third at most
		}
		resolved, ok := j.givenRoots[j.Fold(text[:end])]
		switch {
		case ok && resolved == "":
			return "", ""
		case ok && root == "":
			root, rest = resolved, text[end:]
		}
	}
	return root, rest
}

// asSent judges the call with these strings in it, and reports why it does not fit the tool's schema then. The new strings
// are searched again, in the same way as the old ones.
func (j *judge) asSent(list []replacement) (out *Verdict, misfit error) {
	out = &Verdict{Rule: RuleUnjudged}
	changed := make(map[int32]string, len(list))
	texts := make(map[string]string, len(list)) // by pointer
	for _, r := range list {
		changed[r.f.Node], texts[r.f.Pointer] = r.to, r.to
	}
	found := &j.scan.found
	findings := make([]detect.Finding, 0, len(found.Findings))
	for i := range found.Findings {
		f := &found.Findings[i]
		to, ok := changed[f.Node]
		switch {
		case !ok || f.Member:
			findings = append(findings, *f)
		case f.Rewritable.End > 0: // the string itself; the others are parts of it
			more, err := j.checker.search.SearchReplaced(found, j.Machine, j.work, f, to)
			if err != nil {
				return out, nil // denied: it was never reached
			}
			findings = append(findings, more...)
		}
	}
	for i := range findings {
		if to, ok := texts[findings[i].Base]; ok {
			findings[i].BaseDir = to
		}
	}
	trial := judge{checker: j.checker, scan: j.scan, Machine: j.Machine, work: j.work, callCtx: j.callCtx, roots: j.roots, guard: j.guard, container: j.container, watched: j.watched, rules: j.rules}
	out.Findings = trial.judgeReadings(findings, found.Reread)
	j.decideVerdict(out)
	return out, found.Misfit(texts, j.work)
}
