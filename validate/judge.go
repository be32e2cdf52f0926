package validate

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"mcphub/internal/memo"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
	"mcphub/validate/policy"
)

// judge decides one call. It lives as long as Judge runs.
type judge struct {
	*machine.Machine // as the call sees it
	checker          *Checker
	scan             *Scan
	work             *budget.Budget // of the call
	disk             machine.DiskView
	callCtx          CallContext
	roots            rootsmgr.RootsView
	guard            *guard.Guard
	container        *machine.Container
	startsAtFirst    bool              // of the directories that the child is served, the first is where its relative paths start
	ownDirs          []string          // directories among the call's own arguments
	baseDirs         []string          // memo of baseDirectories
	secondPass       bool              // bases are directories that the call itself names
	callSetsWorkdir  bool              // the call names the directory inside the boundary that it works in
	givenRoots       map[string]string // memo of findRootAbove: given spelling -> resolved root, resolved root -> ""
	longestRoot      int               // bytes of a root in it
	watched          []fs.FileInfo     // protected files as they are now; nil: not looked at
	lists            map[string][]fs.DirEntry
	strayDirs        memo.Map[string, bool] // memo of startsOutside, by base directory: true if that is outside the boundary
	guardedDirs      memo.Map[string, bool] // memo of guardsName, by base directory: true if that is protected, or in the directory of a rule
	secret           bool                   // a variable was expanded whose value must not be shown
	hintedDirs       []string               // directories among the names that count only under a condition

	rules     policy.Evaluation          // of the policy, as they are asked about this call
	oddRoots  memo.Map[string, *oddRoot] // memo of oddRootOf, by the root and the tail behind it
	namedDirs []string                   // directories that the call itself names and that were bases
}

// baseDirectories returns the directories that a relative path may start from.
func (j *judge) baseDirectories() []string {
	if j.baseDirs != nil {
		return j.baseDirs
	}
	var list []string
	switch {
	case j.container == nil:
		list = slices.Concat([]string{j.callCtx.Cwd}, j.callCtx.Served)
	case j.container.Workdir != "":
		list = []string{j.container.Workdir}
	default:
		for _, m := range j.container.Mounts {
			list = append(list, m.Container)
		}
	}
	seen := map[string]bool{"": true}
	list = slices.DeleteFunc(list, func(dir string) bool {
		isRepeated := seen[dir]
		seen[dir] = true
		return isRepeated
	})
	if len(list) == 0 && j.container == nil && j.roots.Snapshot != nil {
		list = j.roots.Snapshot.Paths()
	}
	j.baseDirs = list
	return list
}

// judgeFinding judges one finding against its bases. Conditional findings that do not count come back with ok false.
func (j *judge) judgeFinding(f *detect.Finding) (out FindingVerdict, ok bool) {
	out = FindingVerdict{Finding: *f, Decision: policy.Allow}
	if j.beginsRoot(f) || j.isWithinRootName(f) || j.startsQuotedRoot(f) || j.cutByEscape(f) {
		return out, false
	}
	counted := false
	j.secret = false
	defer func() {
		if j.secret {
			redactReadings(&out)
		}
	}()
	consider := func(m meaning) {
		if out.Decision == policy.Deny && len(out.Readings) >= maxReadings && (out.candidates == nil || out.candidates.Hard) {
			return
		}
		var candidate policy.Candidate
		if !j.work.Spend(budget.ReadSteps) {
			return
		}
		r, d, counts := j.judgeReading(f, m, &candidate)
		if !counts {
			return
		}
		counted = true
		if j.rules.Ruling != nil {
			if out.candidates == nil {
				out.candidates = &policy.Candidates{}
			}
			candidate.BoundaryDecision = d
			r.kind = j.rules.Add(out.candidates, &candidate, out.Role, r.Target)
		}
		j.addReading(&out, r, d)
	}
	switch {
	case f.Goes && (j.callCtx.Held || !strings.ContainsAny(f.Value, "`(") && j.isKnown(f.Value)):
	case f.Goes:
		consider(unresolvedMeaning(f.Value, CodeNoBase, "a directory that only the running program can tell, and no kernel holds the server; name the directory itself"))
	case len(f.Value) > detect.MaxValue:
		consider(unresolvedMeaning("", CodeUnresolvable, "longer than any path"))
	case f.Form == detect.FormURI, f.Form == detect.FormText:
		j.uriMeanings(f, consider)
	case f.Form == detect.FormGlob:
		j.yieldGlobWord(f, consider)
	default:
		j.yieldMeanings(f, consider)
	}
	return out, counted
}

// isKnown reports whether a typed text goes to a directory that can be told: each of its variables has a value here.
func (j *judge) isKnown(dir string) bool {
	list := j.Expand(dir)
	return len(list) > 0 && !strings.Contains(dir, ":") && !slices.ContainsFunc(list, func(text string) bool { return strings.IndexByte(text, '$') >= 0 })
}

// yieldMeanings yields what every spelling of a value may mean.
func (j *judge) yieldMeanings(f *detect.Finding, yield func(meaning)) {
	if dir, rest, ok := j.splitAtRoot(f, f.Value); ok {
		j.yieldBelowRoot(f, dir, rest, yield)
		for _, alt := range f.Alts {
			own := *f
			own.Value, own.Alts = alt, nil
			j.yieldMeanings(&own, yield)
		}
		return
	}
	if strings.Contains(f.Value, "${") && !j.work.Spend(4*machine.DollarWork(f.Value)) {
		return
	}
	texts, allVariants := j.Variants(f.Value, f.Alts...)
	if !allVariants {
		yield(unresolvedMeaning(f.Value, CodeBudget, "it can be spelled in more ways than are looked at"))
	}
	for _, text := range texts {
		if plain := j.Platform.Plain(text); platform.IsDrive(plain) {
			text = plain // ? is no wildcard there
		}
		j.yieldAbsolutes(f, text, yield)
		if j.Windows && startsOnDrive(text) {
			text = j.resolveBelow(j.callCtx.Cwd, text)
		}
		j.yieldGlobs(f, "", text, yield)
	}
}

// beginsRoot reports the first part of what looks like a list but is one path: a root has a blank, a comma or the like in its
// name (/home/me/My Project), and the whole text lies in that root. The whole is a finding of its own, as is every later part
// that is a path. A part that occurs again later counts.
func (j *judge) beginsRoot(f *detect.Finding) bool {
	if f.How != detect.HowLiteral && (f.How != detect.HowList || f.Form != detect.FormPath) || j.roots.Snapshot == nil {
		return false
	}
	whole, part := chars.TrimEdges(f.Raw), f.Value
	if f.Form == detect.FormText {
		whole, part = j.pathOf(whole), strings.TrimSuffix(j.pathOf(part), "/")
	}
	rest, ok := strings.CutPrefix(whole, part)
	if !ok || rest == "" || !j.Platform.IsAbs(part) || chars.IsSlash(rest[0]) && f.Form != detect.FormText || strings.Contains(rest, part) {
		return false
	}
	return j.findFirstRoot(whole, len(part)+1, `/\`) != ""
}

// cutByEscape reports a word that an escape has cut out of a path inside: of C:\work\new, the escape for a line end leaves C:\work.
func (j *judge) cutByEscape(f *detect.Finding) bool {
	if f.Uncut == "" {
		return false
	}
	_, err := j.guard.Check(f.Uncut)
	return err == nil
}

// pathOf returns the path of a file URI, "" if it is none.
func (j *judge) pathOf(uri string) string {
	if paths, err := j.Platform.ReadURI(uri); err == nil {
		return paths[0]
	}
	return ""
}

// addReading adds a reading to a finding's outcome; the first reading that denies names the code.
func (j *judge) addReading(out *FindingVerdict, r Reading, d policy.Decision) {
	out.Outside = out.Outside || r.Root == "" && r.Code != CodeNullDevice && r.Code != CodeProtected
	if d == policy.Deny && out.Decision == policy.Allow {
		out.Decision, out.Code, out.Target = policy.Deny, r.Code, r.Target
		if len(out.Readings) >= maxReadings {
			out.Readings = out.Readings[:maxReadings-1]
		}
	}
	if out.Code == "" {
		out.Code, out.Target = r.Code, r.Target
	}
	if out.Decision == policy.Allow && r.Code == CodeOpen {
		out.Code = r.Code
	}
	if len(out.Readings) < maxReadings {
		out.Readings = append(out.Readings, r)
	}
}

// uriMeanings yields every path that a file URI may mean. Decoded once, it is the path. Decoded again, it must lie inside too, because
// some programs do that.
func (j *judge) uriMeanings(f *detect.Finding, yield func(meaning)) {
	paths, err := j.Platform.ReadURI(f.Value)
	if err != nil {
		code := CodeBadURI
		var bad *platform.URIError
		if errors.As(err, &bad) && bad.ForeignHost() {
			code = CodeForeignHost
		}
		yield(unresolvedMeaning(f.Value, code, err.Error()))
		return
	}
	for _, p := range paths {
		if dir, rest, ok := j.splitAtRoot(f, p); ok {
			j.yieldBelowRoot(f, dir, rest, yield)
			continue
		}
		texts, _ := j.Variants(p)
		for i, text := range texts {
			if i == 0 || j.Platform.IsAbs(text) {
				j.yieldMounted(meaning{text: text, path: text}, yield)
				j.yieldGlobs(f, "", text, yield)
			}
		}
	}
}

// touchesRelative reports whether a rule is about the place of a relative path: something is there, or the call may make it there, or the
// rule takes any place.
func (j *judge) touchesRelative(f *detect.Finding, place *guard.Place) bool {
	mayBeThere := place.Exists || f.Makes || f.Role >= access.Write && !f.Runs && j.isDir(j.Platform.Parent(place.Path))
	return mayBeThere && j.rules.Touches(f.Role, place) || j.rules.TakesAny(f.Role, place)
}

// judgeReading checks one absolute path. counts is false if a conditional finding does not apply. candidate is filled
// with what the rules of the policy ask about.
func (j *judge) judgeReading(f *detect.Finding, m meaning, candidate *policy.Candidate) (r Reading, d policy.Decision, counts bool) {
	r = Reading{Text: m.text, Path: m.path, kind: -1}
	conditional := f.Conditional()
	candidate.Hard = true // until the target of the path is known
	if f.Form == detect.FormName && !j.nameCounts(f, m) {
		return r, policy.Allow, false
	}
	if m.path == "" {
		r.Code, r.Err = m.code, m.err
		if m.code == CodeNoBase && j.roots.Open && !j.rules.HasAreaRule(f.Role) {
			candidate.Hard = false
			return r, policy.Allow, !conditional
		}
		return r, policy.Deny, !conditional || f.Form == detect.FormGlob || f.Form == detect.FormWord && m.code == CodeUnmapped && j.FirstExists(m.text)
	}
	dev := j.Platform.Clean(m.path)
	if j.Windows {
		dev = m.text // of Git Bash
	}
	if isHarmless(f, dev) {
		r.Code, r.Target = CodeNullDevice, dev
		candidate.Hard, candidate.Known = false, true
		candidate.Place = guard.Place{Path: dev, Exists: true, Readings: guard.Readings{Lexical: dev, Physical: dev, Cleaned: dev}}
		return r, policy.Allow, !f.Relative()
	}
	place, err := j.resolvePath(m.path)
	if place.Dir && conditional && !f.Text && m.glob == "" && (err == nil || isBase(f)) {
		j.noteHintedDir(f, m.path)
	}
	candidate.Place, candidate.Known, candidate.Hard = place, place.Path != "", place.Path == ""
	escape := j.describeEscape(&r, &place, err)
	if place.Path != "" {
		code := j.protectedReason(f, &place)
		if code == CodeProtectedBelow && f.Assumed && !conditional && escape != nil && !j.roots.Open {
			code = "" // it is denied in any case; the other reason is one that a person can act upon
			candidate.Hard = true
		}
		if code == CodeProtectedBelow && f.Assumed && f.Relative() && f.Role != access.Delete && !f.Operand {
			code = "" // a pattern such as \.\./x, which is a path only to who reads backslashes so
		}
		if code != "" {
			r.Code, candidate.Hard = code, true
			return r, policy.Deny, true
		}
		if f.Text && (escape == nil || !r.Linked) {
			return r, policy.Allow, false
		}
		if j.isIrrelevant(f, m, &place) {
			return r, policy.Allow, false
		}
	}
	if err != nil && conditional && !(place.Exists && j.rules.Touches(f.Role, &place)) && !j.countsOutside(f, m, &place, err) {
		return r, policy.Allow, false
	}
	if place.Path != "" && j.isCapped(&place) {
		r.Code, r.Root, candidate.Hard = CodeCeiling, "", true
		return r, policy.Deny, true
	}
	if err == nil {
		return r, policy.Allow, !f.Relative() || j.touchesRelative(f, &place)
	}
	if j.roots.Open && (escape != nil || r.Code == CodePermission && !j.rules.HasAreaRule(f.Role)) {
		r.Code, candidate.Hard = CodeOpen, false
		return r, policy.Allow, !f.Relative() || candidate.Known && j.rules.Touches(f.Role, &place)
	}
	return r, policy.Deny, true
}

// isDir reports a directory that is there. In its place a link to one is none.
func (j *judge) isDir(p string) bool {
	info, err := j.FS.Lstat(p)
	return err == nil && info.IsDir()
}

// describeEscape fills in the target of a path, and the code for that.
func (j *judge) describeEscape(r *Reading, place *guard.Place, err error) (escape *guard.EscapeError) {
	r.Target, r.Root, r.dir, r.given = place.Path, place.Root.Path, place.Dir, place.Root.Given
	r.Linked = place.Readings.Lexical != place.Readings.Physical || place.Readings.Cleaned != place.Readings.Physical
	switch {
	case err == nil:
		r.Code = CodeInside
	case errors.As(err, &escape):
		r.Code = CodeOutside
		if escape.Resolved != "" {
			r.Target = escape.Resolved
		}
		if escape.Reading == guard.ReadingPhysical || escape.Reading == guard.ReadingCleaned {
			r.Code = CodeOutsideLink
		}
		if j.isBoundless() {
			r.Code = codeOfCase(j.roots.Case)
		}
	default:
		r.Code, r.Err = codeOf(err), err.Error()
	}
	return escape
}

// resolvePath asks the guard; without any boundary the path is still followed, for what is protected.
func (j *judge) resolvePath(p string) (guard.Place, error) {
	if j.guard != nil {
		return j.guard.Check(p)
	}
	place, err := guard.Resolve(j.FS, p)
	if err != nil {
		return place, err
	}
	return place, &guard.EscapeError{Path: p, Resolved: place.Path}
}

func codeOf(err error) string {
	if stuck, ok := errors.AsType[*guard.UnresolvableError](err); ok {
		switch stuck.Cause {
		case platform.CauseHost:
			return CodeForeignHost
		case platform.CauseNUL:
			return CodeNUL
		case platform.CausePermission:
			return CodePermission
		case platform.CauseMagic, platform.CauseDevice:
			return CodeMagic
		}
	}
	return CodeUnresolvable
}

// codeOfCase names the case in which no boundary is known.
func codeOfCase(c rootsmgr.Case) string {
	switch c {
	case rootsmgr.CaseEmpty:
		return CodeRootsEmpty
	case rootsmgr.CaseUnsupported:
		return CodeRootsUnsupported
	}
	return CodeRootsFailed
}

// judgeReadings judges the findings of the arguments as they stand, and then those of a lenient reading, the last of all. Each are judged
// as if the others were not there: a server takes the arguments in one way, and a directory that it finds so says nothing about the
// other.
func (j *judge) judgeReadings(findings []detect.Finding, reread int) (list []FindingVerdict) {
	standing := len(findings) - reread
	if standing > 0 {
		list = j.judgeFindings(findings[:standing])
	}
	if reread == 0 {
		return list
	}
	j.ownDirs, j.baseDirs, j.hintedDirs, j.namedDirs, j.secondPass = nil, nil, nil, nil, false
	type same struct {
		pointer, value, code, leads string
		form                        detect.Form
		role                        access.Role
		decision                    policy.Decision
	}
	key := func(f *FindingVerdict) same {
		return same{f.Pointer, f.Value, f.Code, f.Target, f.Form, f.Role, f.Decision}
	}
	seen := make(map[same]bool, len(list))
	for i := range list {
		seen[key(&list[i])] = true
	}
	for _, f := range j.judgeFindings(findings[standing:]) {
		if !seen[key(&f)] { // most values are the same in both
			list = append(list, f)
		}
	}
	return list
}

// judgeFindings judges every finding, by the boundary and then by the rules of the policy.
func (j *judge) judgeFindings(findings []detect.Finding) []FindingVerdict {
	list := j.readings(findings)
	if j.work.Spent() && (len(list) == 0 || list[len(list)-1].Code != CodeBudget) {
		list = append(list, j.denyOverspent(&findings[0]))
	}
	if j.rules.Ruling != nil {
		for i := range list {
			j.applyRules(&list[i])
		}
	}
	return list
}

// readings judges every finding by the boundary, then the relative ones again from the directories that the first
// pass came across.
func (j *judge) readings(findings []detect.Finding) []FindingVerdict {
	list := make([]FindingVerdict, 0, len(findings))
	var relative []relativeFinding
	j.callSetsWorkdir = j.worksElsewhere(findings)
	for i := range findings {
		f := &findings[i]
		out, ok := j.judgeFinding(f)
		if j.work.Spent() {
			return append(list, j.denyOverspent(f))
		}
		_, hasOwnBase := j.declaredBase(f)
		isRelative := f.Relative() || f.Form != detect.FormURI && f.Form != detect.FormText && !hasOwnBase && !j.Platform.IsAbs(f.Value)
		index := -1
		if ok {
			j.work.Spend(budget.JudgeSteps)
			index, list = len(list), append(list, out)
		}
		if isRelative {
			relative = append(relative, relativeFinding{f, index})
		}
		if ok && !f.Conditional() {
			j.noteOwnDirs(&out)
		}
	}
	if len(relative) == 0 || len(findings) < 2 {
		return list
	}
	// A directory may be named relative to another one that was: three deep is as far as honest calls go.
	bases := j.baseDirectories()
	j.secondPass = true
	for round := range 3 {
		j.baseDirs = nil
		for _, dir := range append(j.ownDirs, j.hintedDirs...) {
			if (!slices.Contains(bases, dir) || j.isBeside(dir)) && !slices.Contains(j.baseDirs, dir) {
				j.baseDirs = append(j.baseDirs, dir)
			}
		}
		if len(j.baseDirs) == 0 || round > 0 && len(j.baseDirs) > maxHinted {
			break
		}
		bases, j.namedDirs = append(slices.Clip(bases), j.baseDirs...), append(j.namedDirs, j.baseDirs...)
		list = j.judgeFromNamedDirs(findings, list, relative)
	}
	return list
}

// A relativeFinding is one that is judged from each directory that the call names.
type relativeFinding struct {
	finding *detect.Finding
	verdict int // its place among the verdicts; -1: it has not counted so far
}

// judgeFromNamedDirs judges the relative findings from each of j.baseDirs, and adds what comes of it to their verdicts.
func (j *judge) judgeFromNamedDirs(findings []detect.Finding, list []FindingVerdict, relative []relativeFinding) []FindingVerdict {
	for i := range relative {
		if j.work.Spent() {
			return append(list, j.denyOverspent(&findings[0]))
		}
		again, ok := j.judgeFinding(relative[i].finding)
		if !ok {
			continue
		}
		j.noteOwnDirs(&again)
		index := relative[i].verdict
		if index < 0 {
			again.onlyFromNamedDir = true
			relative[i].verdict, list = len(list), append(list, again)
			continue
		}
		list[index].onlyFromNamedDir = list[index].onlyFromNamedDir || list[index].Decision == policy.Allow && again.Decision != policy.Allow
		list[index].joinReading(&again)
		for _, r := range again.Readings {
			d := policy.Allow
			if again.Decision == policy.Deny && r.Code == again.Code {
				d = policy.Deny
			}
			j.addReading(&list[index], r, d)
		}
	}
	return list
}

// denyOverspent denies a call that costs more to judge than its budget.
func (j *judge) denyOverspent(f *detect.Finding) FindingVerdict {
	return FindingVerdict{Finding: *f, Decision: policy.Deny, Code: CodeBudget}
}

// maxHinted bounds how many directories noteHintedDir notes.
const maxHinted = 16

// isBase reports a directory that a query names for later words to start from; it counts for nothing else.
func isBase(f *detect.Finding) bool { return f.Form == detect.FormLink && f.How == detect.HowLiteral }

// noteHintedDir remembers a directory that an argument leads to, although the argument's name does not report that it is a path.
func (j *judge) noteHintedDir(f *detect.Finding, dir string) {
	if dir = j.Platform.Clean(dir); f.Form != detect.FormGlob && (len(j.hintedDirs) < maxHinted || isBase(f)) && !slices.Contains(j.hintedDirs, dir) {
		j.hintedDirs = append(j.hintedDirs, dir)
	}
}

// noteOwnDirs remembers the directories among the call's own arguments: a relative path may start from any of them.
func (j *judge) noteOwnDirs(out *FindingVerdict) {
	for _, r := range out.Readings {
		dir := r.Path
		if !chars.Climbs(dir) {
			dir = j.Platform.Clean(dir)
		}
		if r.dir && !slices.Contains(j.ownDirs, dir) && (!slices.Contains(j.baseDirectories(), dir) || j.isBeside(dir)) {
			j.ownDirs = append(j.ownDirs, dir)
		}
	}
}
