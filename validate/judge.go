package validate

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"mcphub/rootsmgr"
	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
)

// judge decides one call. It lives as long as Judge runs.
type judge struct {
	c         *Checker
	m         *machine.Machine // as the call sees it
	work      *budget.Budget   // of the call
	view      machine.View
	w         Where
	v         rootsmgr.View
	guard     *rootsmgr.Guard
	container *machine.Container
	first     bool              // of the directories that the child is served, the first is where its relative paths start
	own       []string          // directories among the call's own arguments
	starts    []string          // memo of bases
	again     bool              // bases are directories that the call itself names
	elsewhere bool              // the call says itself which directory inside the boundary it works in
	spelled   map[string]string // memo of rootAbove: given spelling -> resolved root, resolved root -> ""
	longest   int               // bytes of a root in it
	watched   []watched         // protected files as they are now
	lists     map[string][]listed
	stray     map[string]bool // memo of strays
	secret    bool            // a variable was written out whose value is nobody's business
	hinted    []string        // directories among the names that count only under a condition

	ruling *ruling // of the tool; nil where no rule is about it
	sets   *rootsmgr.AreaSets
	hits   []bool               // room for those of one candidate
	late   map[*compiled]string // memo of lateArea
	odd    map[string]*oddRoot  // memo of oddRootOf
	named  map[string]bool      // directories beside the roots that the call itself names
}

// bases are the directories that a relative path may start from.
func (j *judge) bases() []string {
	if j.starts != nil {
		return j.starts
	}
	var list []string
	add := func(dir string) {
		if dir != "" && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	if j.container != nil {
		if j.container.Workdir != "" {
			add(j.container.Workdir)
		} else {
			for _, m := range j.container.Mounts {
				add(m.Container)
			}
		}
		j.starts = list
		return list
	}
	add(j.w.Cwd)
	if len(j.w.Served) > 16 {
		j.starts = appendNew(list, j.w.Served)
		return j.starts
	}
	for _, dir := range j.w.Served {
		add(dir)
	}
	if len(list) == 0 && j.v.Snapshot != nil {
		list = j.v.Snapshot.Paths()
	}
	j.starts = list
	return list
}

func appendNew(list, more []string) []string {
	seen := make(map[string]bool, len(more))
	for _, s := range list {
		seen[s] = true
	}
	for _, s := range more {
		if !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	return list
}

// finding judges one finding against its bases. Conditional findings that do not count come back with ok false.
func (j *judge) finding(f *Finding) (out Judged, ok bool) {
	out = Judged{Finding: *f, Decision: Allow}
	if j.beginsRoot(f) || j.withinRootName(f) || j.quotedRoot(f) {
		return out, false
	}
	counted := false
	j.secret = false
	defer func() {
		if j.secret {
			hush(&out)
		}
	}()
	each := func(s spelled) {
		if out.Decision == Deny && len(out.Readings) >= maxReadings && (out.candidates == nil || out.candidates.hard) {
			return
		}
		var u candidate
		if !j.work.Spend(budget.ReadSteps) {
			return
		}
		r, d, counts := j.reading(f, s, &u)
		if !counts {
			return
		}
		counted = true
		if j.ruling != nil {
			u.alone = d
			j.addCandidate(&out, &u, &r)
		}
		j.note(&out, r, d)
	}
	switch {
	case len(f.Value) > detect.MaxValue:
		each(spelled{code: CodeUnresolvable, err: "longer than any path"})
	case f.Form == detect.FormURI, f.Form == detect.FormText:
		j.uri(f, each)
	case f.Form == detect.FormGlob:
		j.globWord(f, each)
	default:
		j.spellings(f, each)
	}
	return out, counted
}

// spellings yields what every spelling of a value may mean.
func (j *judge) spellings(f *Finding, yield func(spelled)) {
	if dir, rest, ok := j.atRoot(f, f.Value); ok {
		j.belowRoot(f, dir, rest, yield)
		for _, alt := range f.Alts {
			own := *f
			own.Value, own.Alts = alt, nil
			j.spellings(&own, yield)
		}
		return
	}
	if strings.Contains(f.Value, "${") && !j.work.Spend(4*machine.DollarWork(f.Value)) {
		return
	}
	texts, all := j.m.Variants(f.Value, f.Alts...)
	if !all {
		yield(spelled{text: f.Value, code: CodeBudget, err: "it can be spelled in more ways than are looked at"})
	}
	for _, text := range texts {
		j.absolutes(f, text, yield)
		j.globs(f, text, yield)
	}
}

// beginsRoot reports the first part of a list that is none: the beginning of a root with a blank, a comma or the like in
// its name (/home/me/My Project), in which the whole lies. The whole is a finding of its own, as is every part behind it that is
// a path; one that is named again further on counts.
func (j *judge) beginsRoot(f *Finding) bool {
	if f.How != detect.HowLiteral && (f.How != detect.HowList || f.Form != detect.FormPath) || j.v.Snapshot == nil {
		return false
	}
	whole, part := chars.TrimEdges(f.Raw), f.Value
	if f.Form == detect.FormText {
		whole, part = j.pathOf(whole), strings.TrimSuffix(j.pathOf(part), "/")
	}
	rest, ok := strings.CutPrefix(whole, part)
	if !ok || rest == "" || !j.m.Platform.IsAbs(part) || chars.IsSlash(rest[0]) && f.Form != detect.FormText || strings.Contains(rest, part) {
		return false
	}
	return slices.ContainsFunc(j.v.Snapshot.Roots(), func(r rootsmgr.Root) bool {
		return slices.ContainsFunc([]string{r.Path, r.Given}, func(dir string) bool {
			_, within := machine.Below(dir, whole)
			return within && len(dir) > len(part)
		})
	})
}

// pathOf is the path of a file URI, "" where it is none.
func (j *judge) pathOf(uri string) string {
	if paths, err := j.m.Platform.ReadURI(uri); err == nil && len(paths) > 0 {
		return paths[0]
	}
	return ""
}

// note adds a reading to a finding's outcome; the first reading that denies names the code.
func (j *judge) note(out *Judged, r Reading, d Decision) {
	out.Outside = out.Outside || r.Root == "" && r.Code != CodeNullDevice && r.Code != CodeProtected
	if d == Deny && out.Decision == Allow {
		out.Decision, out.Code, out.Leads = Deny, r.Code, r.Leads
		if len(out.Readings) >= maxReadings {
			out.Readings = out.Readings[:maxReadings-1]
		}
		out.Readings = append(out.Readings, r)
		return
	}
	if out.Code == "" {
		out.Code, out.Leads = r.Code, r.Leads
	}
	if out.Decision == Allow && r.Code == CodeOpen {
		out.Code = r.Code
	}
	if len(out.Readings) < maxReadings {
		out.Readings = append(out.Readings, r)
	}
}

// uri yields every path a file URI may mean. What is decoded once is the path; decoded further it must not escape
// either.
func (j *judge) uri(f *Finding, yield func(spelled)) {
	paths, err := j.m.Platform.ReadURI(f.Value)
	if err != nil {
		code := CodeBadURI
		if strings.Contains(err.Error(), "host") {
			code = CodeForeignHost
		}
		yield(spelled{text: f.Value, code: code, err: err.Error()})
		return
	}
	for _, p := range paths {
		if dir, rest, ok := j.atRoot(f, p); ok {
			j.belowRoot(f, dir, rest, yield)
			continue
		}
		texts, _ := j.m.Variants(p)
		for i, text := range texts {
			if i == 0 || j.m.Platform.IsAbs(text) {
				j.absolute(text, text, "", yield)
				j.globs(f, text, yield)
			}
		}
	}
}

// unread decides what needs no look at where a path leads: done.
func (j *judge) unread(f *Finding, s spelled, u *candidate, r *Reading) (d Decision, counts, done bool) {
	if f.Form == detect.FormName {
		if !j.counts(f, s) {
			return Allow, false, true
		}
	}
	if s.path == "" {
		r.Code, r.Err = s.code, s.err
		if s.code == CodeNoBase && j.v.Open && !j.confined(f.Role) {
			u.hard = false
			return Allow, !f.Conditional(), true
		}
		return Deny, !f.Conditional() || f.Form == detect.FormGlob || f.Form == detect.FormWord && s.code == CodeUnmapped && j.m.FirstExists(s.text), true
	}
	if dev := j.m.Platform.Clean(s.path); !j.m.Windows && harmless(f, dev) {
		r.Code, r.Leads, r.Exists = CodeNullDevice, dev, true
		u.hard, u.known = false, true
		u.place = rootsmgr.Place{Path: dev, Exists: true, Readings: rootsmgr.Readings{Lexical: dev, Physical: dev, Cleaned: dev}}
		return Allow, !f.Relative(), true
	}
	return Deny, true, false
}

// reading checks one absolute path. counts is false where a conditional finding does not apply. u is filled with what
// the rules of the policy ask about.
func (j *judge) reading(f *Finding, s spelled, u *candidate) (r Reading, d Decision, counts bool) {
	r = Reading{Text: s.text, Path: s.path, kind: -1}
	conditional := f.Conditional()
	u.hard = true // until it is known where it leads
	if d, counts, done := j.unread(f, s, u, &r); done {
		return r, d, counts
	}
	where, err := j.look(s.path)
	if err == nil && where.Dir && conditional && s.glob == "" {
		j.keepDir(f, s.path)
	}
	u.place, u.known, u.hard = where, where.Path != "", where.Path == ""
	escape := j.describe(&r, &where, err)
	if where.Path != "" {
		code := j.protected(f, &where)
		if code == CodeProtectedAbove && f.Assumed && !conditional && escape != nil && !j.v.Open {
			code = "" // denied in any case: say what can be cured
			u.hard = true
		}
		if code == CodeProtectedAbove && f.Assumed && f.Relative() && f.Role != access.Delete && !f.Operand {
			code = "" // a pattern such as \.\./x, which is a path only to who reads backslashes so
		}
		if code != "" {
			r.Code, u.hard = code, true
			return r, Deny, true
		}
		if j.idle(f, s, &where) {
			return r, Allow, false
		}
	}
	touched := err == nil && f.Relative() && ((where.Exists || f.Makes) && j.touches(f.Role, &where) || j.takesAny(f.Role, &where))
	if err == nil {
		if j.capped(&where) {
			r.Code, r.Root, u.hard = CodeCeiling, "", true
			return r, Deny, true
		}
		return r, Allow, !f.Relative() || touched
	}
	if conditional && !(where.Exists && j.touches(f.Role, &where)) && !j.applies(f, s, &where, err) {
		return r, Allow, false
	}
	if where.Path != "" && j.capped(&where) {
		r.Code, u.hard = CodeCeiling, true
		return r, Deny, true
	}
	if j.v.Open && (escape != nil || r.Code == CodePermission && !j.confined(f.Role)) {
		r.Code, u.hard = CodeOpen, false
		return r, Allow, !f.Relative() || u.known && j.touches(f.Role, &where)
	}
	return r, Deny, true
}

// describe writes down where a path leads, and by what code it lies there.
func (j *judge) describe(r *Reading, where *rootsmgr.Place, err error) (escape *rootsmgr.EscapeError) {
	r.Leads, r.Exists, r.Root, r.dir, r.given = where.Path, where.Exists, where.Root.Path, where.Dir, where.Root.Given
	r.Linked = where.Readings.Lexical != where.Readings.Physical || where.Readings.Cleaned != where.Readings.Physical
	switch {
	case err == nil:
		r.Code = CodeInside
	case errors.As(err, &escape):
		r.Code, r.Root = CodeOutside, ""
		if escape.Resolved != "" {
			r.Leads = escape.Resolved
		}
		if escape.Reading == rootsmgr.ReadingPhysical || escape.Reading == rootsmgr.ReadingCleaned {
			r.Code = CodeOutsideLink
		}
		if j.boundless() {
			r.Code = codeOfCase(j.v.Case)
		}
	default:
		r.Code, r.Err = codeOf(err), err.Error()
	}
	return escape
}

// look asks the guard; without any boundary the path is still followed, for what is protected.
func (j *judge) look(p string) (rootsmgr.Place, error) {
	if j.guard != nil {
		return j.guard.Check(p)
	}
	where, err := rootsmgr.Resolve(j.m.FS, p)
	if err != nil {
		return where, err
	}
	return where, &rootsmgr.EscapeError{Path: p, Resolved: where.Path}
}

// applies decides whether a conditional finding that does not lie inside counts at all (3.1, rules 2 and 4).
func (j *judge) applies(f *Finding, s spelled, where *rootsmgr.Place, err error) bool {
	var stuck *rootsmgr.UnresolvableError
	if errors.As(err, &stuck) {
		switch stuck.Cause {
		case rootsmgr.CauseMagic, rootsmgr.CausePermission, rootsmgr.CauseNUL, rootsmgr.CauseDevice, rootsmgr.CauseIO:
			return !f.Relative() || stuck.Cause == rootsmgr.CauseMagic
		}
		return false // nothing can be opened there
	}
	if f.Relative() {
		return j.linkLeads(f, s, where, err)
	}
	if f.Form == detect.FormLiteral || f.Form == detect.FormText {
		return j.names(f, s, where.Path, where.Exists)
	}
	if s.glob != "" {
		return where.Exists && j.m.Matches(where.Path, s.glob)
	}
	if f.Instead != "" && j.begins(f.Instead) {
		return false
	}
	if where.Exists || s.weak {
		return where.Exists
	}
	return !strings.ContainsAny(f.Value, "*?%") && j.m.Creatable(where.Path, f.Written)
}

// begins reports that the text before a glued path is, or ends in, the name of something where the child works: then it
// is the beginning of a relative path. -Lbuild/lib is -L build/lib where there is a build.
func (j *judge) begins(head string) bool {
	for i := range min(len(head), 4) {
		for _, base := range j.bases() {
			if _, err := j.m.FS.Lstat(j.m.Platform.Join(base, head[i:])); err == nil {
				return true
			}
		}
	}
	return false
}

// counts reports whether a name without a slash is worth a look: it is a symlink, a file where the child works outside
// the boundary, or what a command deletes.
func (j *judge) counts(f *Finding, s spelled) bool {
	if s.path == "" || strings.IndexByte(s.path, 0) >= 0 {
		return false
	}
	info, err := j.m.FS.Lstat(s.path)
	if err != nil {
		return f.Makes && errors.Is(err, fs.ErrNotExist) && (j.strays(s.base) || j.touchesName(f, s))
	}
	if info.IsDir() {
		j.keepDir(f, s.path)
		return f.Role == access.Delete && f.Operand || j.touchesName(f, s)
	}
	return info.Mode()&fs.ModeSymlink != 0 || f.Operand && j.strays(s.base) || j.touchesName(f, s)
}

// strays reports a directory that relative names start from and that lies outside the boundary: the operator's cwd.
func (j *judge) strays(base string) bool {
	if base == "" || j.v.Open || j.guard.Empty() {
		return false
	}
	out, ok := j.stray[base]
	if !ok {
		_, err := j.guard.Check(base)
		var escape *rootsmgr.EscapeError
		out = errors.As(err, &escape)
		if j.stray == nil {
			j.stray = make(map[string]bool)
		}
		j.stray[base] = out
	}
	return out
}

// isLink reports a name that is a symlink itself.
func (j *judge) isLink(p string) bool {
	if p == "" || strings.IndexByte(p, 0) >= 0 {
		return false
	}
	info, err := j.m.FS.Lstat(p)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// linkLeads reports that a relative name leaves the directory it starts from through a symlink, unless it ends at an
// executable regular file (.venv/bin/python).
func (j *judge) linkLeads(f *Finding, s spelled, where *rootsmgr.Place, why error) bool {
	if s.base == "" {
		// An absolute one counts where its text is inside and the link is what leads out.
		var escape *rootsmgr.EscapeError
		if !errors.As(why, &escape) || escape.Reading != rootsmgr.ReadingPhysical && escape.Reading != rootsmgr.ReadingCleaned {
			return false
		}
	} else if base, err := rootsmgr.Resolve(j.m.FS, s.base); err == nil {
		if _, in := machine.Below(base.Path, where.Path); in && !((where.Exists || f.Makes) && j.strays(s.base)) {
			return false
		}
	}
	if where.Exists && !where.Dir {
		info, err := j.m.FS.Lstat(where.Path)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return !j.runs(f, s, where)
		}
	}
	return true
}

// runs reports that an executable outside is merely run (.venv/bin/python), not read or written: it stands where a
// program does, or it is a link straight into a directory in which this user can change nothing (/usr/bin).
func (j *judge) runs(f *Finding, s spelled, where *rootsmgr.Place) bool {
	return f.Runs || !f.Written && f.Role != access.Delete && j.isLink(s.path) && !j.m.MayWrite(j.m.Parent(where.Path))
}

func codeOf(err error) string {
	var stuck *rootsmgr.UnresolvableError
	if !errors.As(err, &stuck) {
		return CodeUnresolvable
	}
	switch stuck.Cause {
	case rootsmgr.CauseNUL:
		return CodeNUL
	case rootsmgr.CausePermission:
		return CodePermission
	case rootsmgr.CauseMagic, rootsmgr.CauseDevice:
		return CodeMagic
	}
	return CodeUnresolvable
}

// codeOfCase names the case of R11 where no boundary is known.
func codeOfCase(c rootsmgr.Case) string {
	switch c {
	case rootsmgr.CaseEmpty:
		return CodeRootsEmpty
	case rootsmgr.CaseUnsupported:
		return CodeRootsUnsupported
	}
	return CodeRootsFailed
}

// hush takes the value of a variable out of what a denial shows; the readings keep it, for the operator's eyes.
func hush(out *Judged) {
	out.Leads = ""
	for i := range out.Readings {
		if out.Readings[i].Err != "" {
			out.Readings[i].Err = "a variable in it leads to what cannot be resolved"
		}
	}
}

// names is the test of rule 8, for a place outside: something is there, or could be made because its directory is there,
// may be written to, and is the home folder or at least two components deep. What lies below the directories of programs
// and libraries is nobody's, and no device is a file.
func (j *judge) names(f *Finding, s spelled, place string, exists bool) bool {
	if systemPlace.MatchString(place) {
		return false
	}
	if s.glob != "" {
		return exists && j.m.Matches(place, s.glob)
	}
	if exists || f.Weak || s.weak {
		return exists
	}
	dir := j.m.Parent(place)
	if dir != j.m.Home && chars.Components(dir) < 2 || strings.ContainsAny(f.Value, "*?") {
		return false
	}
	info, err := j.m.FS.Lstat(dir)
	return err == nil && info.IsDir() && j.m.MayWrite(dir)
}

// systemPlace is where programs, libraries and devices are.
var systemPlace = regexp.MustCompile(`^/(?:usr|bin|sbin|lib[^/]*|dev)(?:/|$)`)
