package validate

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"

	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
	"mcphub/validate/policy"
	"mcphub/validate/resource"
	"mcphub/validate/shell"
)

// needsUnix skips a test on Windows.
func (w *world) needsUnix() {
	w.t.Helper()
	if runtime.GOOS == "windows" {
		w.t.Skip("the world has paths and links of Unix")
	}
}

// judge returns what judges a call of a tool without a schema, in the world as it is.
func (w *world) judge(c *Checker) *judge {
	w.t.Helper()
	w.needsUnix()
	v := w.view()
	j := &judge{checker: c, scan: &Scan{tool: w.tool(c, "", anyTool)}, work: budget.New(0), callCtx: w.where(), roots: v}
	j.Machine = j.disk.Open(&c.m, j.work, false)
	j.SetWorkdir(w.project, &j.secret)
	j.guard = c.policy.WithSandbox(j.Machine, v.Snapshot.Guard()).Through(j.FS)
	j.rules = policy.Evaluation{Machine: j.Machine, Guard: j.guard}
	return j
}

// What was found tells whether a call is to be judged at all, by roots, and whether any of it is certainly a path.
func TestWhatAScanNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tool := w.tool(w.checker(), "", anyTool)
	path, word := []detect.Finding{{Form: detect.FormPath}}, []detect.Finding{{Form: detect.FormWord}}
	for name, tc := range map[string]struct {
		scan                     *Scan
		boundary, certain, judge bool
	}{
		"no scan":                       {nil, true, true, true},
		"nothing":                       {&Scan{tool: tool}, false, false, false},
		"a path":                        {&Scan{tool: tool, found: detect.Result{Findings: path}}, true, true, true},
		"a word":                        {&Scan{tool: tool, found: detect.Result{Findings: word}}, true, false, true},
		"a URI":                         {&Scan{tool: tool, found: detect.Result{Resources: path}}, false, false, true},
		"a URI, bounded by the client":  {&Scan{tool: tool, found: detect.Result{Resources: path}, byClient: true}, true, true, true},
		"nothing, bounded by it":        {&Scan{tool: tool, byClient: true}, false, false, false},
		"a word, bounded by the client": {&Scan{tool: tool, found: detect.Result{Findings: word}, byClient: true}, true, false, true},
		"a lenient reading":             {&Scan{tool: tool, found: detect.Result{Lenient: 1}}, false, false, true},
	} {
		if got := tc.scan.NeedsBoundary(); got != tc.boundary {
			t.Errorf("%s: it needs a boundary: %t", name, got)
		}
		if got := tc.scan.IsCertain(); got != tc.certain {
			t.Errorf("%s: certain: %t", name, got)
		}
		if tc.scan == nil {
			continue
		}
		if got := tc.scan.NeedsJudge(); got != tc.judge {
			t.Errorf("%s: it needs a judge: %t", name, got)
		}
	}
	if !(&Scan{}).NeedsJudge() || len((*Scan)(nil).Findings()) != 0 {
		t.Error("a scan of no tool")
	}
}

// The first reading that denies names the code, and the offending one is kept among as many as are shown.
func TestReadingsAreJoined(t *testing.T) {
	t.Parallel()
	j := &judge{}
	type step struct {
		code, root string
		d          policy.Decision
	}
	for name, tc := range map[string]struct {
		steps   []step
		code    string
		d       policy.Decision
		outside bool
	}{
		"inside":                 {[]step{{CodeInside, "/r", policy.Allow}}, CodeInside, policy.Allow, false},
		"a null device":          {[]step{{CodeNullDevice, "", policy.Allow}}, CodeNullDevice, policy.Allow, false},
		"protected":              {[]step{{CodeProtected, "", policy.Deny}}, CodeProtected, policy.Deny, false},
		"outside":                {[]step{{CodeInside, "/r", policy.Allow}, {CodeOutside, "", policy.Deny}, {CodeOutsideLink, "", policy.Deny}}, CodeOutside, policy.Deny, true},
		"inside behind outside":  {[]step{{CodeOutside, "", policy.Deny}, {CodeInside, "/r", policy.Allow}}, CodeOutside, policy.Deny, true},
		"without a boundary":     {[]step{{CodeInside, "/r", policy.Allow}, {CodeOpen, "", policy.Allow}, {CodeInside, "/r", policy.Allow}}, CodeOpen, policy.Allow, true},
		"denied, and the others": {[]step{{CodeOutside, "", policy.Deny}, {CodeOpen, "", policy.Allow}}, CodeOutside, policy.Deny, true},
	} {
		out := FindingVerdict{Decision: policy.Allow}
		for _, s := range tc.steps {
			j.addReading(&out, Reading{Code: s.code, Root: s.root, Target: s.code}, s.d)
		}
		if out.Code != tc.code || out.Decision != tc.d || out.Outside != tc.outside || len(out.Readings) != len(tc.steps) {
			t.Errorf("%s: %+v", name, out)
		}
	}
	out := FindingVerdict{Decision: policy.Allow}
	for range maxReadings + 2 {
		j.addReading(&out, Reading{Code: CodeInside, Root: "/r"}, policy.Allow)
	}
	if len(out.Readings) != maxReadings {
		t.Errorf("%d readings are kept", len(out.Readings))
	}
	j.addReading(&out, Reading{Code: CodeOutside, Target: "/x"}, policy.Deny)
	if len(out.Readings) != maxReadings || out.Readings[maxReadings-1].Code != CodeOutside || out.Target != "/x" {
		t.Errorf("the offending reading is not kept: %+v", out)
	}
}

// The code of each cause, and the rule that decided by the code.
func TestCodesTellTheCause(t *testing.T) {
	t.Parallel()
	for cause, want := range map[platform.Cause]string{
		platform.CauseHost: CodeForeignHost, platform.CauseNUL: CodeNUL, platform.CausePermission: CodePermission, platform.CauseMagic: CodeMagic, platform.CauseDevice: CodeMagic, platform.CauseIO: CodeUnresolvable,
	} {
		if got := codeOf(&guard.UnresolvableError{Cause: cause}); got != want {
			t.Errorf("%v: %s", cause, got)
		}
	}
	if got := codeOf(errors.New("x")); got != CodeUnresolvable {
		t.Error(got)
	}
	for c, want := range map[rootsmgr.Case]string{rootsmgr.CaseEmpty: CodeRootsEmpty, rootsmgr.CaseUnsupported: CodeRootsUnsupported, rootsmgr.CaseKnown: CodeRootsFailed} {
		if got := codeOfCase(c); got != want {
			t.Errorf("%v: %s", c, got)
		}
	}
	for code, want := range map[string]string{
		CodeProtected: RuleProtected, CodeProtectedBelow: RuleProtected, CodeOutside: RuleBoundary, CodeOutsideLink: RuleBoundary, CodeUnmapped: RuleBoundary, CodeOutsideResource: RuleBoundary,
		CodeCeiling: RuleCeiling, CodeRootsEmpty: RuleNoBoundary, CodeRootsFailed: RuleNoBoundary, CodeRootsUnsupported: RuleNoBoundary, CodeGlob: RuleUnresolvable, CodeNUL: RuleUnresolvable,
	} {
		if got := ruleOf(code); got != want {
			t.Errorf("%s: %s", code, got)
		}
	}
}

// Other roots of the client may change a denial by the boundary, or by a rule about what lies outside, and nothing else.
func TestWhetherRootsMatter(t *testing.T) {
	t.Parallel()
	finding := func(how string, byClient bool) *FindingVerdict {
		return &FindingVerdict{Finding: detect.Finding{How: how}, byClient: byClient}
	}
	for name, tc := range map[string]struct {
		v    Verdict
		want bool
	}{
		"allowed":                         {Verdict{Decision: policy.Allow, Deciding: finding(detect.HowKey, false)}, false},
		"outside":                         {Verdict{Decision: policy.Deny, Deciding: finding(detect.HowKey, false)}, true},
		"nothing decided":                 {Verdict{Decision: policy.Deny}, false},
		"a URI":                           {Verdict{Decision: policy.Deny, Deciding: finding(detect.HowResource, false)}, false},
		"a URI, bounded by the client":    {Verdict{Decision: policy.Deny, Deciding: finding(detect.HowResource, true)}, true},
		"a rule about calls":              {Verdict{Decision: policy.Deny, Fired: &policy.Rule{}, Deciding: finding(detect.HowKey, false)}, false},
		"a rule about paths":              {Verdict{Decision: policy.Deny, Fired: &policy.Rule{Paths: &policy.PathRule{}}, Deciding: finding(detect.HowKey, false)}, false},
		"a rule about what lies outside":  {Verdict{Decision: policy.Escalate, Fired: &policy.Rule{Paths: &policy.PathRule{Outside: true}}}, true},
		"such a rule, and it was allowed": {Verdict{Decision: policy.Allow, Fired: &policy.Rule{Paths: &policy.PathRule{Outside: true}}}, false},
	} {
		if got := tc.v.RootsMatter(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// What a role reaches, and the devices that it may use.
func TestWhatARoleReaches(t *testing.T) {
	t.Parallel()
	j := &judge{}
	for name, tc := range map[string]struct {
		f    detect.Finding
		want bool // for writing; deleting reaches in any case, reading in none
	}{
		"a path": {detect.Finding{Form: detect.FormPath}, true}, "where a tool works": {detect.Finding{Context: true}, false}, "a word": {detect.Finding{Form: detect.FormWord}, false},
		"a literal": {detect.Finding{Form: detect.FormLiteral}, false}, "a URI in a text": {detect.Finding{Form: detect.FormText}, false}, "an operand": {detect.Finding{Operand: true}, true}, "a relative operand": {detect.Finding{Operand: true, Form: detect.FormName}, false},
	} {
		for role, want := range map[access.Role]bool{access.Read: false, access.Write: tc.want, access.Delete: true} {
			f := tc.f
			if f.Role = role; j.reachesBelow(&f) != want {
				t.Errorf("%s, role %v: %t", name, role, !want)
			}
		}
	}
	for name, tc := range map[string]struct {
		f                        detect.Finding
		null, zero, stderr, file bool
	}{
		"read":            {detect.Finding{Role: access.Read}, true, true, false, false},
		"written":         {detect.Finding{Role: access.Write}, true, false, true, false},
		"deleted":         {detect.Finding{Role: access.Delete}, true, false, false, false},
		"guessed":         {detect.Finding{Role: access.Write, Assumed: true}, true, true, true, false},
		"in a shell":      {detect.Finding{Role: access.Write, InShell: true}, true, true, false, false},
		"a redirection":   {detect.Finding{Role: access.Write, InShell: true, Written: true}, true, false, true, false},
		"a new file":      {detect.Finding{Role: access.Write, InShell: true, Makes: true}, true, false, true, false},
		"guessed, a file": {detect.Finding{Role: access.Write, Assumed: true, Makes: true}, true, false, true, false},
	} {
		for dev, want := range map[string]bool{"/dev/null": tc.null, "/dev/zero": tc.zero, "/dev/stderr": tc.stderr, "/dev/sda": tc.file} {
			if got := isHarmless(&tc.f, dev); got != want {
				t.Errorf("%s, %s: %t", name, dev, got)
			}
		}
	}
}

// Where a relative path may start: where the child works and what it is served, each once, or what its container has.
func TestWhereRelativePathsStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	mount := []machine.Mount{{Container: "/m"}, {Container: "/n"}}
	for name, tc := range map[string]struct {
		cwd       string
		served    []string
		container *machine.Container
		noRoots   bool
		want      []string
	}{
		"in a folder":              {"/a", []string{"/b", "/a", "/b"}, nil, false, []string{"/a", "/b"}},
		"what is served":           {"", []string{"/b"}, nil, false, []string{"/b"}},
		"the roots":                {"", nil, nil, false, []string{w.project}},
		"nothing":                  {"", nil, nil, true, nil},
		"a container":              {"/a", []string{"/b"}, &machine.Container{Mounts: mount}, false, []string{"/m", "/n"}},
		"a container that says it": {"/a", []string{"/b"}, &machine.Container{Mounts: mount, Workdir: "/w"}, false, []string{"/w"}},
		"a container of nothing":   {"/a", nil, &machine.Container{}, false, nil},
	} {
		j := w.judge(c)
		j.callCtx.Cwd, j.callCtx.Served, j.container = tc.cwd, tc.served, tc.container
		if tc.noRoots {
			j.roots.Snapshot = nil
		}
		if got := j.baseDirectories(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The base that was declared, where a cd led, and the folder that a call says it works in.
func TestWhereACallWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	j := w.judge(c)
	at := func(p string) string { return filepath.Join(w.project, p) }
	for base, want := range map[string]string{"": "", "rel": "", "~": w.home, "~/x": w.home + "/x", "~x": "", at("src"): at("src"), "file://" + at("src"): at("src"), "file://other/x": "", " " + at("src"): at("src")} {
		dirs, ok := j.declaredBase(&detect.Finding{BaseDir: base})
		if ok != (want != "") || ok && !slices.Equal(dirs, []string{want}) {
			t.Errorf("base %q: %q %t", base, dirs, ok)
		}
	}
	cd := func(dir string, sure shell.Surety) *detect.Finding {
		return &detect.Finding{Course: shell.Course{Dir: dir, Sure: sure}}
	}
	for dir, want := range map[string][]string{"": nil, "src": {at("src")}, "src\x00docs": {at("src"), at("docs")}, "gone": nil, "a.txt": nil, "~": {w.home}, "~/outside": {w.outside}, w.outside: {w.outside}} {
		if got := slices.Compact(j.movedDirectories(cd(dir, shell.SureNot))); !slices.Equal(got, want) {
			t.Errorf("cd %q: %q", dir, got)
		}
	}
	for dir, want := range map[string][2]string{"src": {at("src"), at("src")}, "gone": {"", at("gone")}, "a.txt": {"", ""}, "gone\x00src": {"", ""}, "docs\x00src": {at("src"), at("src")}, "docs\x00gone": {"", at("gone")}} {
		for i, sure := range []shell.Surety{shell.SureNot + 1, shell.SureDone} {
			if got, ok := j.certainDirectory(cd(dir, sure), w.project); got != want[i] || ok != (got != "") {
				t.Errorf("cd %q, %v: %q %t, want %q", dir, sure, got, ok, want[i])
			}
		}
		if got, ok := j.certainDirectory(cd(dir, shell.SureNot), w.project); ok || got != "" {
			t.Errorf("cd %q, which is not sure: %q", dir, got)
		}
	}
	context := func(value string) []detect.Finding {
		return []detect.Finding{{Value: value}, {Context: true, Value: value}}
	}
	for value, want := range map[string]bool{at("src"): true, at("a.txt"): false, at("gone"): false, "src": false, w.outside: false} {
		if got := j.worksElsewhere(context(value)); got != want {
			t.Errorf("it works in %s: %t", value, got)
		}
	}
	if j.worksElsewhere(context(at("src"))[:1]) || j.worksElsewhere([]detect.Finding{{Context: true, Form: detect.FormWord, Value: at("src")}}) {
		t.Error("what is no directory to work in is one")
	}
	j.container = &machine.Container{}
	if _, ok := j.certainDirectory(cd("src", shell.SureDone), w.project); ok || j.movedDirectories(cd("src", shell.SureNot)) != nil || j.worksElsewhere(context(at("src"))) {
		t.Error("a container has directories of its own")
	}
	if j.container, j.guard = nil, nil; j.worksElsewhere(context(at("src"))) {
		t.Error("no guard tells what lies inside")
	}
}

// A conditional finding that leads out counts if something is there, or could come to be there.
func TestWhatCountsOutside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.judge(w.checker())
	out := &guard.EscapeError{Reading: guard.ReadingLexical}
	stuck := func(c platform.Cause) error { return &guard.UnresolvableError{Cause: c} }
	word, literal, link := detect.FormWord, detect.FormLiteral, detect.FormLink
	there, gone, system := w.outside+"/secret.txt", w.outside+"/new", "/usr/bin/x"
	for name, tc := range map[string]struct {
		f      detect.Finding
		m      meaning
		path   string
		err    error
		counts bool
	}{
		"there":                       {detect.Finding{Form: word}, meaning{}, there, out, true},
		"that could be made":          {detect.Finding{Form: word}, meaning{}, gone, out, true},
		"that could not":              {detect.Finding{Form: word}, meaning{}, "/gone/x/y", out, false},
		"that must exist":             {detect.Finding{Form: word, MustExist: true}, meaning{}, gone, out, false},
		"that must exist, and does":   {detect.Finding{Form: word, MustExist: true}, meaning{}, there, out, true},
		"one that makes something":    {detect.Finding{Form: word, MustExist: true, Makes: true, Instead: "x"}, meaning{}, there, out, false},
		"that makes it by itself":     {detect.Finding{Form: word, MustExist: true, Makes: true}, meaning{}, there, out, true},
		"weak":                        {detect.Finding{Form: word}, meaning{weak: true}, gone, out, false},
		"a pattern":                   {detect.Finding{Form: word, Value: "a*"}, meaning{}, gone, out, false},
		"a pattern that makes":        {detect.Finding{Form: word, Value: "a*", Makes: true}, meaning{}, gone, out, true},
		"a glob that matches":         {detect.Finding{Form: word}, meaning{glob: "se*"}, w.outside, out, true},
		"a glob that does not":        {detect.Finding{Form: word}, meaning{glob: "zz*"}, w.outside, out, false},
		"a glob of nothing":           {detect.Finding{Form: word}, meaning{glob: "se*"}, gone, out, false},
		"a literal":                   {detect.Finding{Form: literal}, meaning{}, gone, out, true},
		"a literal of the system":     {detect.Finding{Form: literal}, meaning{}, system, out, false},
		"a literal at the top":        {detect.Finding{Form: literal}, meaning{}, "/new", out, false},
		"a text of the system":        {detect.Finding{Form: detect.FormText}, meaning{}, "/usr", out, false},
		"a device":                    {detect.Finding{Form: literal}, meaning{}, "/dev/null", out, false},
		"a relative path before it":   {detect.Finding{Form: word, Instead: "src"}, meaning{}, there, out, false},
		"none before it":              {detect.Finding{Form: word, Instead: "none"}, meaning{}, there, out, true},
		"one at its end":              {detect.Finding{Form: word, Instead: "-Lsrc"}, meaning{}, there, out, false},
		"one too far behind":          {detect.Finding{Form: word, Instead: "-Lxxsrc"}, meaning{}, there, out, true},
		"a magic link":                {detect.Finding{Form: word}, meaning{}, gone, stuck(platform.CauseMagic), true},
		"no permission":               {detect.Finding{Form: word}, meaning{}, gone, stuck(platform.CausePermission), true},
		"a magic link, relative":      {detect.Finding{Form: link}, meaning{}, gone, stuck(platform.CauseMagic), true},
		"no permission, relative":     {detect.Finding{Form: link}, meaning{}, gone, stuck(platform.CausePermission), false},
		"another machine":             {detect.Finding{Form: link}, meaning{}, gone, stuck(platform.CauseHost), true},
		"what cannot be opened":       {detect.Finding{Form: word}, meaning{}, gone, stuck(platform.CauseLoop), false},
		"relative, by a link":         {detect.Finding{Form: link}, meaning{path: w.project + "/passwd"}, there, &guard.EscapeError{Reading: guard.ReadingPhysical}, true},
		"cleaned, by a link":          {detect.Finding{Form: link}, meaning{path: w.project + "/passwd"}, there, &guard.EscapeError{Reading: guard.ReadingCleaned}, true},
		"relative, as written":        {detect.Finding{Form: link}, meaning{path: there}, there, out, false},
		"relative, another error":     {detect.Finding{Form: link}, meaning{path: there}, there, errors.New("x"), false},
		"from its folder":             {detect.Finding{Form: link}, meaning{base: w.project, path: w.project + "/passwd"}, there, out, true},
		"from a folder outside":       {detect.Finding{Form: link}, meaning{base: w.outside, path: there}, there, out, true},
		"from there, not there":       {detect.Finding{Form: link}, meaning{base: w.outside, path: gone}, gone, out, false},
		"from there, to be made":      {detect.Finding{Form: link, Makes: true}, meaning{base: w.outside, path: gone}, gone, out, true},
		"a program":                   {detect.Finding{Form: link, Runs: true}, meaning{base: w.project, path: w.project + "/bin/tool"}, w.outside + "/tool", out, false},
		"a program that is written":   {detect.Finding{Form: link, Written: true}, meaning{base: w.project, path: w.project + "/bin/tool"}, w.outside + "/tool", out, true},
		"a program that may change":   {detect.Finding{Form: link}, meaning{base: w.project, path: w.project + "/bin/tool"}, w.outside + "/tool", out, true},
		"a file in a program's place": {detect.Finding{Form: link, Runs: true}, meaning{base: w.project, path: w.project + "/passwd"}, there, out, true},
	} {
		place := guard.Place{Path: tc.path}
		if fi, err := os.Stat(tc.path); err == nil {
			place.Exists, place.Dir, place.File = true, fi.IsDir(), fi.Mode().IsRegular()
		}
		if got := j.countsOutside(&tc.f, tc.m, &place, tc.err); got != tc.counts {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A name without a slash counts if it is a link, or protected, or if a command deletes it or works outside.
func TestWhichNamesCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	w.must(os.Link(w.project+"/a.txt", w.project+"/b.txt"))
	for name, tc := range map[string]struct {
		f    detect.Finding
		base string
		name string
		want bool
	}{
		"a file":                     {detect.Finding{}, w.project, "src/main.go", false},
		"a link":                     {detect.Finding{}, w.project, "passwd", true},
		"two names":                  {detect.Finding{}, w.project, "a.txt", true},
		"a folder":                   {detect.Finding{}, w.project, "src", false},
		"a folder that is deleted":   {detect.Finding{Role: access.Delete, Operand: true}, w.project, "src", true},
		"one that is only named":     {detect.Finding{Role: access.Delete}, w.project, "src", false},
		"an operand":                 {detect.Finding{Operand: true}, w.project, "src/main.go", false},
		"an operand outside":         {detect.Finding{Operand: true}, w.outside, "secret.txt", true},
		"a name outside":             {detect.Finding{}, w.outside, "secret.txt", false},
		"nothing":                    {detect.Finding{}, w.project, "gone", false},
		"what is made":               {detect.Finding{Makes: true}, w.project, "gone", false},
		"what is made outside":       {detect.Finding{Makes: true}, w.outside, "gone", true},
		"a text":                     {detect.Finding{Text: true}, w.project, "gone", true},
		"what is protected":          {detect.Finding{}, filepath.Dir(w.hub), "hub.json", true},
		"what is called like that":   {detect.Finding{}, w.project, "hub.json", true},
		"a NUL":                      {detect.Finding{Text: true}, w.project, "a\x00", false},
		"what cannot be looked at":   {detect.Finding{Makes: true}, w.outside, strings.Repeat("x", 300), false},
		"in a folder without a name": {detect.Finding{Operand: true}, "", "src/main.go", false},
	} {
		j := w.judge(c)
		m := meaning{base: tc.base, path: filepath.Join(tc.base, tc.name)}
		if tc.base == "" {
			m.path = filepath.Join(w.project, tc.name)
		}
		if got := j.nameCounts(&tc.f, m); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	ruled := w.rules("", policy.Rule{Then: policy.Deny, Paths: within("{project}/src")})
	ruled.protected = append(ruled.protected, protectedPath{w.outside})
	for dir, want := range map[string]bool{w.project + "/src": true, w.outside: true, w.project: false, w.project + "/loop": false} {
		j := w.judge(ruled)
		j.rules.Ruling = ruled.rulingFor(j.scan.tool)
		if got := j.guardsName(meaning{base: dir, path: dir + "/x"}); got != want {
			t.Errorf("a name in %s is guarded: %t", dir, got)
		}
	}
	j := w.judge(c)
	if j.nameCounts(&detect.Finding{Text: true}, meaning{}) {
		t.Error("a name without a path counts")
	}
	j.roots.Open = true
	if j.startsOutside(w.outside) {
		t.Error("without a boundary something is outside")
	}
}

// The spelling in which a string is sent: a plain path for a URI that is certain to mean one, and the resolved root for the one that was given.
func TestSpellingsThatAreSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	given := filepath.Join(w.home, "deep", "given")
	beside := filepath.Join(w.home, "deep", "outside") // what a program calls so that takes away ".." before it follows links
	w.must(mkdir(beside))
	w.must(os.Symlink(w.project, given))
	w.roots = []string{given, w.outside, beside}
	c := w.checker()
	j := w.judge(c)
	for name, tc := range map[string]struct {
		value, raw string
		list       bool
		want       string
	}{
		"a URI":           {"file:///a/b", "file:///a/b", false, "/a/b"},
		"with capitals":   {"file:///a/b", "FILE:///a/b", false, "/a/b"},
		"in a list":       {"file:///a/b", "file:///a/b", true, ""},
		"in a text":       {"file:///a/b", "file:///a/b ", false, ""},
		"another one":     {"file:///a/b", "file:///a/c", false, ""},
		"another scheme":  {"file:///a/b", "view:///a/b", false, ""},
		"a path":          {"/a/b", "/a/b", false, ""},
		"what is refused": {"file:///a%00b", "file:///a%00b", false, ""},
	} {
		f := &FindingVerdict{Finding: detect.Finding{Value: tc.value, Raw: tc.raw, Rewritable: detect.Rewritable{Single: !tc.list}}}
		if got := j.plainPath(f); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	reading := func(path, root, given string) []Reading { return []Reading{{Path: path, Root: root, given: given}} }
	for name, tc := range map[string]struct {
		text string
		r    []Reading
		list bool
		want string
	}{
		"below the given root":  {given + "/src/x", reading(given+"/src/x", w.project, given), false, w.project + "/src/x"},
		"the given root":        {given, reading(given, w.project, given), false, w.project},
		"beside it":             {given + "x", reading(given+"x", w.project, given), false, ""},
		"without its spelling":  {given + "/src", reading(given+"/src", w.project, ""), false, w.project + "/src"},
		"the resolved one":      {w.project + "/src", reading(w.project+"/src", w.project, given), false, ""},
		"another reading":       {given + "/src", reading(given+"/docs", w.project, given), false, ""},
		"outside":               {given + "/src", reading(given+"/src", "", given), false, ""},
		"in a list":             {given + "/src", reading(given+"/src", w.project, given), true, ""},
		"without a reading":     {given + "/src", nil, false, ""},
		"relative":              {"src", reading("src", w.project, given), false, ""},
		"what climbs out of it": {given + "/../outside/x", reading(given+"/../outside/x", w.project, given), false, ""},
	} {
		f := &FindingVerdict{Finding: detect.Finding{Rewritable: detect.Rewritable{Single: !tc.list}}, Readings: tc.r}
		if got := j.resolveRoot(f, tc.text); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	long := given + strings.Repeat("/x", 5*len(given))
	for text, want := range map[string][2]string{given: {w.project, ""}, given + "/a/b": {w.project, "/a/b"}, given + "x/a": {}, given + `\x/a`: {}, w.project + "/a": {}, w.outside + "/a": {}, long: {w.project, long[len(given):]}} {
		if root, rest := j.findRootAbove(text); root != want[0] || rest != want[1] {
			t.Errorf("above %.60s: %q %.60q", text, root, rest)
		}
	}
	list := withoutRoots([]replacement{{to: "/a"}, {plain: "/b", to: "/c"}})
	if len(list) != 1 || list[0].to != "/b" {
		t.Errorf("%+v", list)
	}
	for want, r := range map[string]replacement{declare.RewriteResolvedRoot: {to: "/a"}, declare.RewriteFileURI: {plain: "/a", to: "/a"}, declare.RewriteFileURI + ", " + declare.RewriteResolvedRoot: {plain: "/a", to: "/b"}} {
		if got := r.rewriteReason(); got != want {
			t.Errorf("%+v: %s", r, got)
		}
	}
	real, swapped := filepath.Join(w.home, "deep", "real"), filepath.Join(w.home, "deep", "swapped")
	w.must(mkdir(real))
	w.must(os.Symlink(w.project+"/src", swapped)) // since the roots were read
	w.roots = []string{filepath.Dir(real), w.project}
	climbing := &FindingVerdict{Finding: detect.Finding{Rewritable: detect.Rewritable{Single: true}}, Readings: reading(swapped+"/../x", real, swapped)}
	if got := w.judge(c).resolveRoot(climbing, swapped+"/../x"); got != "" {
		t.Errorf("to a place that only the text names: %q", got)
	}
	j.container = &machine.Container{}
	if got := j.resolveRoot(&FindingVerdict{Finding: detect.Finding{Rewritable: detect.Rewritable{Single: true}}, Readings: reading(given, w.project, given)}, given); got != "" {
		t.Errorf("in a container: %q", got)
	}
}

// What a pattern matches, and that it costs what it looks at.
func TestPatternsAreWalked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.WriteFile(w.project+"/.hidden", nil, 0o600))
	c := w.checker()
	for pattern, want := range map[string][]string{
		"*": {"dangling", "inner", "link", "loop", "passwd"}, "link/*": {"link/secret.txt", "link/sub", "link/tool"}, "src/*": nil, "pass*": {"passwd"}, ".*": nil, "../config/*": {"../config/hub.json"}, "bin/t*": {"bin/tool"}, "*/main.go": {"inner/main.go"},
		"gone/*": nil, "passwd/*": nil, "./link/./s*": {"link/secret.txt", "link/sub"}, "link": {"link"}, "a.txt": nil, "**/tool": {"bin/tool", "link/tool"}, "l*/sub/x": {"link/sub/x"},
	} {
		j := w.judge(c)
		g := globber{judge: j, f: &detect.Finding{}}
		var got []string
		if !g.walkParts(w.project, strings.Split(pattern, "/"), false, func(p string) {
			rel, err := filepath.Rel(w.project, p)
			w.must(err)
			got = append(got, rel)
		}) {
			t.Errorf("%s is not walked to its end", pattern)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	for pattern, want := range map[string]int{"a.txt": 2, "src/main.go": 3} { // names that are looked at, and one more look at what is there
		dir := w.project
		for spare, ends := range map[int]bool{0: true, -1: false} {
			steps := spare
			for range want {
				steps += budget.LookSteps
			}
			at, parts := dir, strings.Split(pattern, "/")
			for _, part := range parts {
				steps += len(at) / budget.ByteSteps
				at = filepath.Join(at, part)
			}
			steps += len(at) / budget.ByteSteps
			j := w.judge(c)
			j.work = budget.New(0)
			if !j.work.Spend(budget.CallSteps - steps) {
				t.Fatal("it costs more than a call may")
			}
			g := globber{judge: j, f: &detect.Finding{}}
			if got := g.walkParts(dir, parts, false, func(string) {}); got != ends {
				t.Errorf("%s with %d steps: %t", pattern, steps, got)
			}
		}
	}
	for matched, want := range map[int]bool{maxMatched - 1: true, maxMatched: false} {
		g := globber{judge: w.judge(c), f: &detect.Finding{}, matched: matched}
		if got := g.walkParts(w.project, []string{"pass*"}, false, func(string) {}); got != want {
			t.Errorf("one match after %d: %t", matched, got)
		}
	}
	j := w.judge(c)
	for path, want := range map[string][2]bool{w.hub: {true, true}, w.hub + "/x": {true, true}, filepath.Dir(w.hub): {false, true}, w.project: {false, false}} {
		for i, role := range []access.Role{access.Read, access.Delete} {
			if got := (&globber{judge: j, f: &detect.Finding{Role: role}}).isGuarded(path); got != want[i] {
				t.Errorf("%s, role %v: %t", path, role, got)
			}
		}
	}
	j.work = &budget.Budget{}
	if _, err := j.listDirectory(w.project + "/docs"); !errors.Is(err, errSpentGlob) {
		t.Errorf("nothing is left, and it is listed: %v", err)
	}
}

// Which text begins with a root, and what is the beginning of one.
func TestBeginningsOfRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	my := filepath.Join(w.home, "My, Project")
	w.must(mkdir(my + "/src"))
	w.must(os.WriteFile(w.outside+"/a%41", nil, 0o600))
	gone := filepath.Join(w.home, "gone")
	w.must(mkdir(gone))
	w.roots = []string{my, gone}
	j := w.judge(w.checker())
	w.must(os.Remove(gone))
	part := w.home + "/My"
	for name, tc := range map[string]struct {
		f    detect.Finding
		want bool
	}{
		"the first part":       {detect.Finding{How: detect.HowList, Raw: my + "/x", Value: part}, true},
		"of a literal":         {detect.Finding{How: detect.HowLiteral, Form: detect.FormLiteral, Raw: my + "/x", Value: part}, true},
		"of another form":      {detect.Finding{How: detect.HowList, Form: detect.FormWord, Raw: my + "/x", Value: part}, false},
		"otherwise found":      {detect.Finding{How: detect.HowKey, Raw: my + "/x", Value: part}, false},
		"the whole":            {detect.Finding{How: detect.HowList, Raw: part, Value: part}, false},
		"another text":         {detect.Finding{How: detect.HowList, Raw: "x " + my, Value: part}, false},
		"that occurs again":    {detect.Finding{How: detect.HowList, Raw: my + "/x, " + part, Value: part}, false},
		"with a slash behind":  {detect.Finding{How: detect.HowList, Raw: my + "/x", Value: w.home}, false},
		"relative":             {detect.Finding{How: detect.HowList, Raw: my + "/x", Value: ""}, false},
		"a root with a slash":  {detect.Finding{How: detect.HowList, Raw: my + "/; x", Value: my + "/"}, false},
		"of no root":           {detect.Finding{How: detect.HowList, Raw: w.home + "/My, Projects", Value: part}, false},
		"of a URI":             {detect.Finding{How: detect.HowLiteral, Form: detect.FormText, Raw: "file://" + my + "/x", Value: "file://" + part}, true},
		"of a folder of a URI": {detect.Finding{How: detect.HowLiteral, Form: detect.FormText, Raw: "file://" + my + "/x", Value: "file://" + w.home + "/"}, true},
	} {
		if got := j.beginsRoot(&tc.f); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for text, want := range map[string]string{my: my, my + "/x": my, my + "x": "", part: "", my + " x": ""} {
		if got := j.findFirstRoot(text, len(part)+1, `/\`); got != want {
			t.Errorf("%s begins with %q", text, got)
		}
	}
	if got := j.findFirstRoot(my+"/x", len(my)+1, "/"); got != "" {
		t.Errorf("a root that is too short: %q", got)
	}
	if got := j.findFirstRoot(my+"/x", len(my), "/"); got != my {
		t.Errorf("a root that is just long enough: %q", got)
	}
	quoted := func(raw, value string) detect.Finding {
		return detect.Finding{How: detect.HowShell, Raw: raw, Value: value}
	}
	for name, tc := range map[string]struct {
		f    detect.Finding
		want bool
	}{
		"in quotes":              {quoted(`ls "`+my+`/x"`, part), true},
		"in single quotes":       {quoted(`ls '`+my+`'`, part), true},
		"at the beginning":       {quoted(my+`/x"`, part), true},
		"without quotes":         {quoted(`ls `+my+`/x`, part), false},
		"once with, once not":    {quoted(`ls "`+my+`/x" `+part, part), false},
		"twice":                  {quoted(`ls "`+my+`/x" '`+my+`/y'`, part), true},
		"not in the text":        {quoted(`ls "x"`, part), false},
		"of a redirection":       {detect.Finding{How: detect.HowShell, Raw: `ls "` + my + `/x"`, Value: part, Written: true}, false},
		"otherwise found":        {detect.Finding{How: detect.HowKey, Raw: `ls "` + my + `/x"`, Value: part}, false},
		"relative":               {quoted(`ls "`+my+`/x"`, "My"), false},
		"that climbs":            {quoted(`ls "`+my+`/x"`, w.home+"/../u/My"), false},
		"where something is":     {quoted(`ls "`+my+`/x"`, w.home), false},
		"in too long a text":     {quoted(`ls "`+my+`/x"`+strings.Repeat(" ", detect.MaxRaw-len(`ls "`+my+`/x"`)), part), false},
		"with another root":      {quoted(`ls "`+w.home+`/My, Projects"`, part), false},
		"of a longer first part": {quoted(`ls "`+my+`"`, my), false},
		"at the very beginning":  {quoted(part+` "`+my+`/x"`, part), false},
		"a root that is gone":    {quoted(`ls "`+gone+`"`, gone), false},
	} {
		if got := j.startsQuotedRoot(&tc.f); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for name, tc := range map[string]struct {
		root string // below home
		f    detect.Finding
		want bool
	}{
		"behind the name":       {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}/gone/x", Value: "/gone/x"}, true},
		"as a tail":             {"me/c:", detect.Finding{How: detect.HowTail, Raw: "{}/gone/x", Value: "/gone/x"}, true},
		"a tail of a word":      {"me/c:", detect.Finding{How: detect.HowTail, Form: detect.FormWord, Raw: "{}/gone/x", Value: "/gone/x"}, false},
		"of a literal":          {"me/c:", detect.Finding{How: detect.HowLiteral, Form: detect.FormLiteral, Raw: "{}/gone/x", Value: "/gone/x"}, true},
		"otherwise found":       {"me/c:", detect.Finding{How: detect.HowKey, Raw: "{}/gone/x", Value: "/gone/x"}, false},
		"the whole text":        {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}/gone/x", Value: "{}/gone/x", Role: access.Read}, false},
		"where something is":    {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}/", Value: "/"}, false},
		"what is there, read":   {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}" + w.outside + "/secret.txt", Value: w.outside + "/secret.txt", Role: access.Read}, false},
		"what one spelling is":  {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}" + w.outside + "/a%41", Value: w.outside + "/a%41", Role: access.Read}, false},
		"that can be made":      {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}" + w.outside + "/new", Value: w.outside + "/new", Role: access.Write}, false},
		"that is only read":     {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}" + w.outside + "/new", Value: w.outside + "/new", Role: access.Read}, true},
		"that cannot be made":   {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}/gone/x", Value: "/gone/x", Role: access.Write}, true},
		"that climbs":           {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}/gone/../x", Value: "/gone/../x"}, false},
		"a pattern":             {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}/gone/*", Value: "/gone/*"}, false},
		"behind no root":        {"me/c:", detect.Finding{How: detect.HowList, Raw: "x {}/gone/x", Value: "/gone/x"}, false},
		"far behind its end":    {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}/a:/gone/x", Value: "/gone/x"}, false},
		"that is not in a text": {"me/c:", detect.Finding{How: detect.HowList, Raw: "{}/x", Value: "/gone/x"}, false},
	} {
		dir := filepath.Join(w.home, tc.root)
		w.must(mkdir(dir))
		w.roots = []string{dir}
		tc.f.Raw, tc.f.Value = strings.ReplaceAll(tc.f.Raw, "{}", dir), strings.ReplaceAll(tc.f.Value, "{}", dir)
		if got := w.judge(w.checker()).isWithinRootName(&tc.f); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if j.cutByEscape(&detect.Finding{Uncut: w.outside}) || j.cutByEscape(&detect.Finding{}) || !j.cutByEscape(&detect.Finding{Uncut: my + "/src"}) {
		t.Error("what an escape has cut")
	}
	if j.roots.Snapshot = nil; j.beginsRoot(&detect.Finding{How: detect.HowList, Raw: my + "/x", Value: part}) || j.startsQuotedRoot(&detect.Finding{How: detect.HowShell, Raw: `"` + my + `"`, Value: part}) {
		t.Error("without roots something is one")
	}
}

// The paths that a text names if it starts somewhere below, or on the way to what is protected.
func TestPathsFromUnknownFolders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	paths := func(walk func(j *judge, yield func(meaning))) (list []string) {
		walk(w.judge(c), func(m meaning) { list = append(list, m.path) })
		return list
	}
	for text, want := range map[string][]string{
		"x": nil, "..": nil, "../x": nil, "../../x": {w.home + "/x"}, "../../../x": {w.home + "/x", filepath.Dir(w.home) + "/x"}, "../..": {w.home + "/"}, "a/../../../x": {w.home + "/x"},
	} {
		if got := paths(func(j *judge, yield func(meaning)) {
			j.yieldFromBelow(&detect.Finding{}, []string{w.project + "/src/.."}, text, yield)
		}); !slices.Equal(got, want) {
			t.Errorf("from below, %s: %q", text, got)
		}
	}
	if got := paths(func(j *judge, yield func(meaning)) {
		j.yieldFromBelow(&detect.Finding{}, []string{w.project}, strings.Repeat("../", 40)+"x", yield)
	}); len(got) == 0 || got[len(got)-1] != "/x" || slices.Contains(got[:len(got)-1], "/x") {
		t.Errorf("from below, to the top: %q", got)
	}
	for text, want := range map[string][]string{
		"hub.json": {w.hub}, "config/hub.json": {w.hub}, "other/hub.json": nil, "hub.json/x": {w.hub + "/x"}, "x": nil, "src/x/y": nil,
	} {
		if got := paths(func(j *judge, yield func(meaning)) {
			j.yieldFromAbove(&detect.Finding{}, []string{w.home}, text, yield)
		}); !slices.Equal(slices.Compact(got), want) {
			t.Errorf("from above, %s: %q", text, got)
		}
	}
	if got := paths(func(j *judge, yield func(meaning)) {
		j.yieldFromAbove(&detect.Finding{}, []string{w.project}, "hub.json", yield)
	}); got != nil {
		t.Errorf("from a folder beside it: %q", got)
	}
}

// A host that shares the disk, by its URL.
func TestHostsThatShareTheDisk(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		"http://127.0.0.1:1/x": true, "http://localhost/x": true, "http://[::1]/x": true, "unix:///run/x": true, "unix+http://x": true, "http://host.docker.internal/x": true, "https://example.com": false, "http://10.0.0.1/": false, "http://%zz": true,
		"http://LOCALHOST./": true, "http://a.localhost/": true, "http://127.1:8080/mcp": true, "http://0x7f.1/": true, "http://0.0.0.0/": true, "http://[::ffff:127.0.0.1]/": true, "http:///x": true,
		"https://127.example.com/": false, "https://localhost.example.com/": false,
	} {
		if got := sharesDisk(raw); got != want {
			t.Errorf("%s: %t", raw, got)
		}
	}
	for name, tc := range map[string]struct {
		child ChildConfig
		want  declare.Mode
	}{
		"a command": {ChildConfig{Command: "x"}, declare.ModeStrict}, "elsewhere": {ChildConfig{URL: "https://example.com"}, declare.ModeDeclared}, "here": {ChildConfig{URL: "http://127.0.0.1"}, declare.ModeStrict}, "the embedded one": {ChildConfig{}, declare.ModeStrict},
		"both": {ChildConfig{Command: "x", URL: "https://example.com"}, declare.ModeStrict}, "as it says": {ChildConfig{URL: "https://example.com", ModeSet: true, Mode: declare.ModeOff}, declare.ModeOff},
	} {
		if ch, err := newChild(tc.child); err != nil || ch.mode != tc.want {
			t.Errorf("%s: %v %v", name, ch.mode, err)
		}
	}
	if _, err := newChild(ChildConfig{Mode: declare.ModeOff + 1, ModeSet: true}); err == nil {
		t.Error("a mode that is not known is accepted")
	}
}

// The prefixes that bound URIs: those of hub.json, and the client's if hub.json says so.
func TestPrefixesOfURIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var none *Checker
	if none.Resources(rootsmgr.RootsView{}) != nil || w.checker().Resources(w.view()) != nil {
		t.Error("there are prefixes of nothing")
	}
	c := w.checker()
	if list := c.judgeResources(nil, w.view()); list != nil {
		t.Errorf("%v", list)
	}
	set, bad := resource.New([]string{"db://a/"})
	for _, err := range bad {
		w.must(err)
	}
	c.search.Resources = set
	list := c.judgeResources([]detect.Finding{{Value: "db://a/x"}, {Value: "other://a"}, {Value: "db://b/x"}}, w.view())
	if len(list) != 2 || list[0].Decision != policy.Allow || list[0].Outside || list[1].Decision != policy.Deny || !list[1].Outside || list[1].Hint == "" {
		t.Errorf("%+v", list)
	}
	if resourceHint("") != "" || !strings.Contains(resourceHint("db://b/"), `"db://b/"`) {
		t.Error("the hint")
	}
}

// A protected file is known by what it is, beside its names. What cannot be told of a moment ago is looked at again.
func TestProtectedFilesAreKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.Link(w.hub, w.outside+"/name"))
	other := w.home + "/config/other"
	w.must(os.WriteFile(other, nil, 0o600))
	for name, tc := range map[string]struct {
		protected []string
		path      string
		want, ok  bool
	}{
		"itself":                 {[]string{w.hub}, w.hub, true, true},
		"another name":           {[]string{w.hub}, w.outside + "/name", true, true},
		"another file":           {[]string{w.hub}, w.outside + "/secret.txt", false, true},
		"a file with one name":   {[]string{other}, other, true, true},
		"behind one that is not": {[]string{w.home + "/gone", other}, other, true, true},
		"behind what is stuck":   {[]string{w.project + "/loop", other}, other, true, false},
		"before what is stuck":   {[]string{other, w.project + "/loop"}, other, true, false},
		"beside what is stuck":   {[]string{other, w.project + "/loop"}, w.outside + "/secret.txt", false, false},
	} {
		c := w.checker()
		c.protected = nil
		for _, p := range tc.protected {
			c.protected = append(c.protected, protectedPath{p})
		}
		j := w.judge(c)
		place, err := guard.Resolve(j.FS, tc.path)
		w.must(err)
		if got := j.isProtected(&place); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
		if _, ok := j.protectedEntries(); ok != tc.ok {
			t.Errorf("%s: it can be told: %t", name, ok)
		}
	}
	j := w.judge(w.checker())
	j.checker.entries.Store(&knownEntries{ok: true}) // long ago
	if list, ok := j.protectedEntries(); len(list) != 1 || !ok {
		t.Errorf("what was known long ago is not read again: %+v %t", list, ok)
	}
}

// The directories that a call hints at are noted, each once, and no more than a few.
func TestHintedDirectories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.judge(w.checker())
	f := &detect.Finding{Form: detect.FormWord}
	for range 2 {
		j.noteHintedDir(f, "/a/")
	}
	j.noteHintedDir(&detect.Finding{Form: detect.FormGlob}, "/b")
	if !slices.Equal(j.hintedDirs, []string{"/a"}) {
		t.Errorf("%q", j.hintedDirs)
	}
	for n := range 2 * maxHinted {
		j.noteHintedDir(f, "/x/"+strings.Repeat("y", n+1))
	}
	if len(j.hintedDirs) != maxHinted {
		t.Errorf("%d are noted", len(j.hintedDirs))
	}
	base := &detect.Finding{Form: detect.FormLink, How: detect.HowLiteral}
	for range 2 {
		j.noteHintedDir(base, "/base")
	}
	if len(j.hintedDirs) != maxHinted+1 || !isBase(base) || isBase(&detect.Finding{Form: detect.FormLink}) || isBase(&detect.Finding{How: detect.HowLiteral}) {
		t.Errorf("a directory that a query names: %q", j.hintedDirs)
	}
	for name, tc := range map[string]struct {
		f     detect.Finding
		m     meaning
		noted bool
	}{
		"a word":              {detect.Finding{Form: detect.FormWord}, meaning{path: w.project + "/src"}, true},
		"a word, and a file":  {detect.Finding{Form: detect.FormWord}, meaning{path: w.project + "/a.txt"}, false},
		"a path":              {detect.Finding{Form: detect.FormPath}, meaning{path: w.project + "/src"}, false},
		"a text":              {detect.Finding{Form: detect.FormWord, Text: true}, meaning{path: w.project + "/src"}, false},
		"above a match":       {detect.Finding{Form: detect.FormWord}, meaning{path: w.project + "/src", glob: "x*"}, false},
		"outside":             {detect.Finding{Form: detect.FormWord}, meaning{path: w.outside + "/sub"}, false},
		"outside, of a query": {*base, meaning{path: w.outside + "/sub"}, true},
	} {
		j := w.judge(w.checker())
		j.judgeReading(&tc.f, tc.m, &policy.Candidate{})
		if slices.Contains(j.hintedDirs, tc.m.path) != tc.noted {
			t.Errorf("%s: %q", name, j.hintedDirs)
		}
	}
	hint := w.judge(w.checker())
	hint.readings([]detect.Finding{{Form: detect.FormWord, Value: w.project + "/src", Raw: w.project + "/src"}, {Form: detect.FormPath, Value: w.project, Raw: w.project}})
	if len(hint.ownDirs) != 0 { // the one is a hint, and in the other the child works
		t.Errorf("directories of the call: %q", hint.ownDirs)
	}
	out := FindingVerdict{Readings: []Reading{{Path: "/d/", dir: true}, {Path: "/d", dir: true}, {Path: "/file"}, {Path: w.project, dir: true}, {Path: "/e/../f", dir: true}}}
	if j.noteOwnDirs(&out); !slices.Equal(j.ownDirs, []string{"/d", "/e/../f"}) {
		t.Errorf("%q", j.ownDirs)
	}
}

// The paths that a pattern stands for.
func TestPathsOfPatterns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("x", chars.MaxPath-len("src//*"))
	for text, want := range map[string][]string{
		"src/" + long + "/*": {w.project + "/src/" + long}, "src/" + long + "x/*": nil, // that long, a pattern can match something, and longer it cannot
		"src": nil, "{,src}": {w.project + "/src"}, "{src,docs}/x": {w.project + "/src/x", w.project + "/docs/x"}, "src/*": {w.project + "/src"}, "*": nil, "*/../x": {""}, "{*/../x,docs}": {w.project + "/*/../x", "", w.project + "/docs"}, "{*,src/*}": {w.project + "/*", w.project + "/src/*", w.project + "/src"}, "{src/*,docs}": {w.project + "/src/*", w.project + "/src", w.project + "/docs"},
	} {
		var got []string
		w.judge(w.checker()).yieldGlobs(&detect.Finding{Form: detect.FormWord}, "", text, func(m meaning) {
			got = append(got, strings.TrimSuffix(m.path, "/"))
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	j := w.judge(w.checker())
	j.baseDirs = []string{w.project, w.outside}
	var got []string
	j.yieldMeanings(&detect.Finding{Value: "d:{x,y}", Raw: "d:{x,y}"}, func(m meaning) { got = append(got, m.path) })
	for _, want := range []string{w.project + "/d:x", w.outside + "/d:y"} {
		if !slices.Contains(got, want) {
			t.Errorf("d is no drive here: %q", got)
		}
	}
	if got := j.resolveBelow(w.project, "d:x"); got != w.project+"/d:x" {
		t.Errorf("d is no drive here: %q", got)
	}
}

// The code of a finding tells which rule has decided it, and a protected path comes before all else.
func TestWhatDecidesACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		rules    []policy.Rule
		args     string
		code     string // of the first finding
		rule     string
		deciding string
	}{
		"the boundary":              {nil, `{"path":"{outside}/x"}`, CodeOutside, RuleBoundary, "/path"},
		"allowed":                   {[]policy.Rule{{Name: "a", Then: policy.Allow, Paths: within("{outside}")}}, `{"path":"{outside}/x"}`, CodeRuleAllow, "a", ""},
		"asked":                     {[]policy.Rule{{Name: "a", Then: policy.Escalate, Paths: within("{outside}")}}, `{"path":"{outside}/x"}`, CodeRuleEscalate, "a", "/path"},
		"denied":                    {[]policy.Rule{{Name: "a", Then: policy.Deny, Paths: within("{outside}")}}, `{"path":"{outside}/x"}`, CodeRuleDeny, "a", "/path"},
		"no rule about it":          {[]policy.Rule{{Name: "a", Then: policy.Allow, Paths: within("{outside}/sub")}}, `{"path":"{outside}/x"}`, CodeOutside, RuleBoundary, "/path"},
		"protected first":           {nil, `{"path":"{hub}","file":"{outside}/x"}`, CodeProtected, RuleProtected, "/path"},
		"protected last":            {nil, `{"file":"{outside}/x","path":"{hub}"}`, CodeOutside, RuleProtected, "/path"},
		"above it, last":            {nil, `{"file":"{outside}/x","path":"{home}/config"}`, CodeOutside, RuleProtected, "/path"},
		"denied behind asked":       {[]policy.Rule{{Name: "a", Then: policy.Escalate, Paths: within("{outside}/sub")}, {Name: "b", Then: policy.Deny, Paths: within("{outside}")}}, `{"file":"{outside}/sub/x","path":"{outside}/x"}`, CodeRuleEscalate, "b", "/path"},
		"asked behind denied":       {[]policy.Rule{{Name: "a", Then: policy.Escalate, Paths: within("{outside}/sub")}, {Name: "b", Then: policy.Deny, Paths: within("{outside}")}}, `{"file":"{outside}/x","path":"{outside}/sub/x"}`, CodeRuleDeny, "b", "/file"},
		"a rule that allows all":    {[]policy.Rule{{Name: "a", Then: policy.Allow, Paths: &policy.PathRule{}}}, `{"path":"{hub}"}`, CodeProtected, RuleProtected, "/path"},
		"allowed by two rules":      {[]policy.Rule{{Name: "a", Then: policy.Allow, Paths: within("{outside}/sub")}, {Name: "b", Then: policy.Allow, Paths: within("{outside}")}}, `{"file":"{outside}/sub/x","path":"{outside}/x"}`, CodeRuleAllow, "a", ""},
		"denied, and allowed by it": {[]policy.Rule{{Name: "a", Then: policy.Allow, Paths: within("{outside}/sub")}}, `{"file":"{outside}/x","path":"{outside}/sub/x"}`, CodeOutside, RuleBoundary, "/file"},
		"denied beside such a rule": {[]policy.Rule{{Name: "a", Then: policy.Deny, Paths: within("{outside}")}, {Name: "b", Then: policy.Escalate}}, `{"file":"{outside}/x","path":"{project}/a.txt"}`, CodeRuleDeny, "a", "/file"},
		"asked beside such a rule":  {[]policy.Rule{{Name: "a", Then: policy.Escalate, Paths: within("{outside}")}, {Name: "b", Then: policy.Escalate}}, `{"file":"{outside}/x","path":"{project}/a.txt"}`, CodeRuleEscalate, "b", ""},
		"a rule about all calls":    {[]policy.Rule{{Name: "a", Then: policy.Escalate}}, `{"path":"{project}/a.txt"}`, CodeRuleEscalate, "a", ""},
	} {
		c := w.rules("", tc.rules...)
		_, v := w.call(c, w.tool(c, "", `{"name":"write_it"}`), tc.args)
		deciding := ""
		if v.Deciding != nil {
			deciding = v.Deciding.Pointer
		}
		if len(v.Roots) > 0 != (v.Decision != policy.Allow) {
			t.Errorf("%s: %v, within %q", name, v.Decision, v.Roots)
		}
		if len(v.Findings) == 0 || v.Findings[0].Code != tc.code || v.Rule != tc.rule || deciding != tc.deciding {
			t.Errorf("%s: rule %q by %q: %+v", name, v.Rule, deciding, v.Findings)
		}
	}
}

// A root whose name can be read otherwise is read as it stands, but in words of a shell string, and where no file can have the other name.
func TestOddRootsByForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	odd := w.home + "/[x]"
	w.must(mkdir(odd))
	w.must(mkdir(w.home + "/a%00b"))
	w.roots = []string{odd}
	j := w.judge(w.checker())
	for name, tc := range map[string]struct {
		f    detect.Finding
		want bool
	}{
		"a path":       {detect.Finding{Form: detect.FormPath, How: detect.HowKey}, true},
		"a URI":        {detect.Finding{Form: detect.FormURI, How: detect.HowKey}, true},
		"a word":       {detect.Finding{Form: detect.FormWord, How: detect.HowKey}, false},
		"of a shell":   {detect.Finding{Form: detect.FormPath, How: detect.HowShell}, false},
		"of a literal": {detect.Finding{Form: detect.FormPath, How: detect.HowLiteral}, false},
	} {
		tc.f.Raw = odd + "/a"
		if dir, rest, ok := j.splitAtRoot(&tc.f, odd+"/a"); ok != tc.want || ok && (dir != odd || rest != "/a") {
			t.Errorf("%s: %q %q %t", name, dir, rest, ok)
		}
	}
	var paths []string
	j.uriMeanings(&detect.Finding{Form: detect.FormURI, How: detect.HowKey, Value: "file://" + odd + `/a\b`}, func(m meaning) { paths = append(paths, m.path) })
	if !slices.Contains(paths, odd+`/a\b`) || !slices.Contains(paths, odd+"/a/b") {
		t.Errorf("a URI with a backslash: %q", paths)
	}
	paths = nil
	j.uriMeanings(&detect.Finding{Form: detect.FormURI, How: detect.HowKey, Value: "file://" + odd + "/a?b"}, func(m meaning) { paths = append(paths, m.path) })
	if !slices.Contains(paths, odd+"/a?b") || !slices.Contains(paths, odd+"/a") {
		t.Errorf("a URI with a query: %q", paths)
	}
	paths = nil
	j.yieldBelowRoot(&detect.Finding{}, odd, "/${OUTSIDE:-$(pwd)}", func(m meaning) { paths = append(paths, cmp.Or(m.code, m.path)) })
	if !slices.Contains(paths, CodeNoBase) || !slices.Contains(paths, odd+"/"+w.outside) {
		t.Errorf("a command in place of a variable: %q", paths)
	}
	if o := j.newOddRoot(w.home+"/a%00b", ""); o == nil {
		t.Error("a name that nothing can have is another reading")
	}
	if o := j.newOddRoot(w.home+"/gone[x]", ""); o != nil && slices.Contains(o.others, w.home+"/gone[x]") {
		t.Errorf("%+v", o)
	}
	if j.container = (&machine.Container{}); j.oddRootOf(odd+"/a") != nil {
		t.Error("a container has names of its own")
	}
	w.must(mkdir(w.home + "/x"))
	if j = w.judge(w.checker()); j.oddRootOf(odd+"/a") != nil {
		t.Error("something else is there by another reading")
	}
	w.must(mkdir(w.home + "/[y]"))
	w.must(mkdir(w.home + "/[y] "))
	w.roots = []string{w.home + "/[y] "}
	if j = w.judge(w.checker()); j.oddRootOf(w.roots[0]) != nil || j.oddRootOf(w.roots[0]+"/a") == nil {
		t.Error("a blank is dropped at the end of a path, and not within")
	}
}

// A denial that the operator can take back shows the lines that would do so.
func TestHintsOfDenials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tool := w.tool(w.checker(), "", anyTool)
	denied := FindingVerdict{Decision: policy.Deny, Code: CodeOutside, Finding: detect.Finding{Declare: "/x", Form: detect.FormPath, How: detect.HowKey}}
	for name, tc := range map[string]struct {
		change func(f *FindingVerdict)
		want   bool
	}{
		"denied":          {func(*FindingVerdict) {}, true},
		"asked":           {func(f *FindingVerdict) { f.Decision = policy.Escalate }, true},
		"allowed":         {func(f *FindingVerdict) { f.Decision = policy.Allow }, false},
		"protected":       {func(f *FindingVerdict) { f.Code = CodeProtected }, false},
		"protected below": {func(f *FindingVerdict) { f.Code = CodeProtectedBelow }, false},
		"a member":        {func(f *FindingVerdict) { f.Member = true }, false},
	} {
		f := denied
		tc.change(&f)
		if got := hintFor(tool, &f); (got != "") != tc.want || tc.want && !strings.Contains(got, `"/x": "none"`) {
			t.Errorf("%s: %q", name, got)
		}
	}
	tool.args.URI = true
	if got := hintFor(tool, &denied); got != "" {
		t.Errorf("a URI: %q", got)
	}
}

// A call that costs more than its budget is denied, once, wherever the budget ends.
func TestABudgetEndsInADenial(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	findings := []detect.Finding{{Value: w.project + "/a.txt", Raw: w.project + "/a.txt", How: detect.HowKey}, {Value: "src", Raw: "src", How: detect.HowKey}}
	for _, n := range []int{1, 2} {
		none := w.judge(c)
		none.work = &budget.Budget{}
		if list := none.judgeReadings(findings[:n], n); len(list) != 1 || list[0].Code != CodeBudget {
			t.Errorf("%d findings of a lenient reading, and nothing is left: %+v", n, list)
		}
		spent := 0
		for left := 1; ; left++ {
			j := w.judge(c)
			j.work = budget.New(0)
			j.work.Spend(budget.CallSteps - left)
			j.Machine = j.disk.Open(&c.m, j.work, false)
			list := j.judgeFindings(findings[:n])
			denied := 0
			for i := range list {
				if list[i].Decision == policy.Deny && list[i].Code == CodeBudget {
					denied++
				}
			}
			if j.work.Spent() != (denied == 1) || denied > 1 {
				t.Errorf("%d findings, %d steps: %d are denied: %+v", n, left, denied, list)
			}
			if !j.work.Spent() {
				break
			}
			spent++
		}
		if spent < n*budget.JudgeSteps {
			t.Errorf("%d findings cost %d steps", n, spent)
		}
	}
}

// What stands for a home folder or for a working directory leads there, and what only the running shell knows leads nowhere.
func TestTildesNameHomeFolders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for text, want := range map[string]string{
		"~": w.home, "~/x": w.home + "/x", "~+": w.project, "~+/../outside": w.outside, "~-": CodeNoBase, "~-/x": CodeNoBase, "${OLDPWD}/../outside": w.outside, "~x": w.project + "/~x", "c:/x": CodeForeignForm, `\\a\b`: CodeForeignForm, "$(x)/y": CodeNoBase,
	} {
		var got []string
		w.judge(w.checker()).yieldAbsolutes(&detect.Finding{}, text, func(m meaning) {
			if m.code != "" {
				got = append(got, m.code)
			} else {
				got = append(got, filepath.Clean(m.path))
			}
		})
		if len(got) == 0 || got[0] != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	j := w.judge(w.checker())
	j.Home = ""
	j.yieldAbsolutes(&detect.Finding{}, "~/x", func(m meaning) {
		if m.code != CodeNoHome {
			t.Errorf("without a home folder: %+v", m)
		}
	})
}

// How an escape is shown: by where the offending reading leads, and by a link if only a link leads out.
func TestEscapesAreDescribed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.judge(w.checker())
	place := guard.Place{Path: "/p", Readings: guard.Readings{Lexical: "/p", Physical: "/p", Cleaned: "/p"}}
	linked := place
	linked.Readings.Lexical = "/l"
	for name, tc := range map[string]struct {
		place       guard.Place
		err         error
		code, leads string
	}{
		"inside":              {place, nil, CodeInside, "/p"},
		"as written":          {place, &guard.EscapeError{Reading: guard.ReadingLexical}, CodeOutside, "/p"},
		"by a link":           {linked, &guard.EscapeError{Reading: guard.ReadingPhysical, Resolved: "/x"}, CodeOutsideLink, "/x"},
		"by a link, cleaned":  {linked, &guard.EscapeError{Reading: guard.ReadingCleaned, Resolved: "/x"}, CodeOutsideLink, "/x"},
		"what cannot be read": {place, &guard.UnresolvableError{Cause: platform.CausePermission}, CodePermission, "/p"},
	} {
		var r Reading
		escape := j.describeEscape(&r, &tc.place, tc.err)
		if r.Code != tc.code || r.Target != tc.leads || (escape != nil) != strings.HasPrefix(r.Code, CodeOutside) || r.Linked != (tc.place == linked) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// No rule opens a finding of which one reading is denied before any rule. The control has no such reading.
func TestNoRuleOpensWhatIsDeniedBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.rules("", policy.Rule{Then: policy.Allow, Paths: &policy.PathRule{}})
	for _, hard := range []bool{false, true} {
		j := w.judge(c)
		j.rules.Ruling = c.rulingFor(j.scan.tool)
		place, err := guard.Resolve(j.FS, w.outside+"/secret.txt")
		w.must(err)
		out := FindingVerdict{Decision: policy.Deny, Code: CodeOutside, candidates: &policy.Candidates{}}
		for _, candidate := range []policy.Candidate{{Place: place, Known: true, BoundaryDecision: policy.Deny}, {Place: place, Known: true, BoundaryDecision: policy.Deny, Hard: hard}} {
			j.rules.Add(out.candidates, &candidate, access.Read, place.Path)
		}
		if j.applyRules(&out); (out.Decision == policy.Deny) != hard {
			t.Errorf("one reading is denied: %t; %+v", hard, out)
		}
	}
	out := FindingVerdict{Decision: policy.Deny, Code: CodeOutside}
	if w.judge(c).applyRules(&out); out.Decision != policy.Deny || out.Code != CodeOutside {
		t.Errorf("without candidates: %+v", out)
	}
}

// What is no path here counts if it was certainly meant as one, if it is a pattern, or if a word names what is there and a container does
// not mount.
func TestWhatLeadsNowhereCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.judge(w.checker())
	for name, tc := range map[string]struct {
		form       detect.Form
		code, text string
		want       bool
	}{
		"a path":                             {detect.FormPath, CodeNoBase, "~-/x", true},
		"a pattern":                          {detect.FormGlob, CodeGlob, "*/../x", true},
		"a word":                             {detect.FormWord, CodeNoBase, w.project, false},
		"a word that is not mounted":         {detect.FormWord, CodeUnmapped, w.project, true},
		"a word that is nothing here either": {detect.FormWord, CodeUnmapped, "/gone/x", false},
		"a literal that is not mounted":      {detect.FormLiteral, CodeUnmapped, w.project, false},
	} {
		_, d, counts := j.judgeReading(&detect.Finding{Form: tc.form}, unresolvedMeaning(tc.text, tc.code, ""), &policy.Candidate{})
		if counts != tc.want || d != policy.Deny {
			t.Errorf("%s: %v, it counts: %t", name, d, counts)
		}
	}
}

// A program outside is only run if it stands where a command has its program, or if the name is a link straight into a directory that this
// user cannot change.
func TestWhichProgramsAreOnlyRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.judge(w.checker())
	j.FS = everydayDisk{w.project} // what is not below can not be changed
	for name, tc := range map[string]struct {
		f           detect.Finding
		link, leads string
		want        bool
	}{
		"a link to a program of the system": {detect.Finding{}, "bin/tool", w.outside + "/tool", true},
		"where a command has its program":   {detect.Finding{Runs: true}, "gone", w.project + "/x", true},
		"one that is written":               {detect.Finding{Written: true}, "bin/tool", w.outside + "/tool", false},
		"one that is deleted":               {detect.Finding{Role: access.Delete}, "bin/tool", w.outside + "/tool", false},
		"one that may be changed":           {detect.Finding{}, "bin/tool", w.project + "/tool", false},
		"what is no link itself":            {detect.Finding{}, "src/main.go", w.outside + "/tool", false},
	} {
		if got := j.onlyRuns(&tc.f, meaning{path: filepath.Join(w.project, tc.link)}, &guard.Place{Path: tc.leads}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// If a path is denied already, further ways to read it cost nothing.
func TestADeniedPathIsNotReadOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	cost := func(bases int) int {
		return sort.Search(budget.CallSteps, func(left int) bool {
			j := w.judge(c)
			j.work = budget.New(0)
			j.work.Spend(budget.CallSteps - left)
			for i := range bases {
				j.baseDirs = append(j.baseDirs, fmt.Sprintf("/gone/%d", i))
			}
			out, _ := j.judgeFinding(&detect.Finding{Value: "x", Raw: "x", How: detect.HowKey})
			return !j.work.Spent() && out.Decision == policy.Deny
		})
	}
	one, most, more := cost(1), cost(maxReadings), cost(2*maxReadings)
	if one >= most || most != more {
		t.Errorf("one reading costs %d steps, %d cost %d, and %d cost %d", one, maxReadings, most, 2*maxReadings, more)
	}
}

// Where a cd certainly led, a path is read from there alone.
func TestAPathBehindASureCdIsReadOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.judge(w.checker())
	for sure, want := range map[shell.Surety][]string{
		shell.SureDone: {w.project + "/src/x"},
		shell.SureNot:  {w.project + "/x", w.project + "/src/x"},
	} {
		var got []string
		j.yieldRelative(&detect.Finding{Course: shell.Course{Dir: "src", Sure: sure}}, "x", func(m meaning) { got = append(got, m.path) })
		if !slices.Equal(got, want) {
			t.Errorf("%v: %q, want %q", sure, got, want)
		}
	}
}

// Variables are written out only if what is left pays for it.
func TestVariablesCostWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	value := strings.Repeat("${A:-x}/", 8)
	enough := 4 * machine.DollarWork(value)
	for left, want := range map[int]bool{enough: true, enough - 1: false} {
		j := w.judge(c)
		j.work = budget.New(0)
		j.work.Spend(budget.CallSteps - left)
		found := false
		j.yieldMeanings(&detect.Finding{Value: value, Raw: value}, func(meaning) { found = true })
		if found != want {
			t.Errorf("%d of %d steps: read: %t", left, enough, found)
		}
	}
}
