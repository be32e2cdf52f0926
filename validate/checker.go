package validate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcphub/rootsmgr"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
	"mcphub/validate/strictjson"
)

// ChildConfig is what hub.json says about one child and its paths.
type ChildConfig struct {
	Name        string
	Mode        Mode
	ModeSet     bool                          // hub.json states the mode; otherwise V4's default holds
	Args        map[string]map[string]ArgRule // tool, or "*" for every tool -> JSON pointer with "*" -> rule
	Command     string                        // "" for a child behind a URL, and for the embedded one
	CommandArgs []string
	URL         string
	Inherit     []string // names of the hub's variables that it gets beyond those of C7
}

// Config is all a Checker is made of.
type Config struct {
	Children  []ChildConfig
	Protected []string    // absolute paths, or ~/...: hub.json, the hub's own folders
	FS        rootsmgr.FS // nil: this machine
	Home      string      // "": that of the user
	Policy    Policy
	Getenv    func(string) string
	Depth     int // limits.depth, 0: DefaultDepth
	// Resources are prefixes of URIs: those of their schemes may be named at or below one only (R16). ClientResources lets
	// the client's own roots of other schemes than file count among them.
	Resources       []string
	ClientResources bool
	Size            int // bytes of arguments, 0: DefaultSize
}

// Checker judges calls. It is immutable and safe for concurrent use; a reload makes a new one. The nil Checker refuses
// everything.
type Checker struct {
	children map[string]*child
	shielded []shielded
	policy   *policy // nil: the boundary alone
	m        machine.Machine
	search   detect.Searcher
}

// child is one configured child, prepared.
type child struct {
	ChildConfig
	mode      Mode
	profile   *declare.Profile // by package or command, nil where none is known
	container *machine.Container
}

// shielded is a protected path in every spelling.
type shielded struct {
	spellings []string
}

// NewChecker prepares a Checker. The error joins every bad declaration.
func NewChecker(cfg Config) (*Checker, error) {
	var inherited []string
	for i := range cfg.Children {
		inherited = append(inherited, cfg.Children[i].Inherit...)
	}
	c := &Checker{
		children: make(map[string]*child),
		m:        machine.New(cfg.FS, cfg.Home, cfg.Getenv, inherited),
	}
	c.search = detect.Searcher{Machine: &c.m, Depth: cmp.Or(cfg.Depth, strictjson.DefaultDepth), Size: min(cmp.Or(cfg.Size, strictjson.DefaultSize), 1<<30)}
	var errs []error
	for _, cc := range cfg.Children {
		ch, err := newChild(cc)
		if c.children[cc.Name] != nil {
			err = errors.Join(err, fmt.Errorf("server %s: configured twice", chars.Quote(cc.Name)))
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.children[cc.Name] = ch
		if ch.container != nil {
			c.m.Mount(ch.container)
		}
	}
	protect := func(p string) {
		s, err := c.shield(p)
		if err != nil {
			errs = append(errs, err)
			return
		}
		c.shielded = append(c.shielded, s)
	}
	for _, p := range cfg.Protected {
		protect(p)
	}
	for i, p := range cfg.Policy.Protected {
		dir, hint := c.absoluteDir(p)
		text := " is no absolute path"
		if hint == "" && strings.ContainsAny(p, "*?") {
			if _, err := c.m.FS.Lstat(c.m.Platform.Clean(dir)); err != nil {
				text, hint = " is not there, and patterns have no meaning here", "name a file or a directory, with all that is in it"
			}
		}
		if hint != "" {
			errs = append(errs, &PolicyError{Rule: -1, Key: []string{"protected", strconv.Itoa(i)}, Text: chars.Quote(p) + text, Hint: hint})
			continue
		}
		protect(dir)
	}
	var err error
	if c.policy, err = c.compile(cfg.Policy); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, c.bind(cfg))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// newChild checks one child's declarations.
func newChild(cc ChildConfig) (*child, error) {
	ch := &child{ChildConfig: cc, mode: cc.Mode}
	ch.profile = declare.ByCommand(cc.Command, cc.CommandArgs)
	ch.container = machine.ReadContainer(cc.Command, cc.CommandArgs)
	if !cc.ModeSet {
		ch.mode = ModeStrict
		if cc.Command == "" && cc.URL != "" && !isLoopback(cc.URL) {
			ch.mode = ModeDeclared
		}
	}
	var errs []error
	if ch.mode > ModeOff {
		errs = append(errs, fmt.Errorf("server %s: unknown paths.mode", chars.Quote(cc.Name)))
	}
	for tool, args := range cc.Args {
		for pointer, rule := range args {
			if bad := declare.Check(pointer, rule); bad != nil {
				errs = append(errs, fmt.Errorf("server %s, paths.args of tool %s: %w", chars.Quote(cc.Name), chars.Quote(tool), bad))
			}
		}
	}
	return ch, errors.Join(errs...)
}

// isLoopback reports a URL whose server shares this machine's disk.
func isLoopback(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return true // strict is the safe answer
	}
	switch host := u.Hostname(); {
	case host == "", strings.EqualFold(host, "localhost"), strings.HasSuffix(strings.ToLower(host), ".localhost"):
		return true
	case strings.HasPrefix(host, "127."), host == "::1", host == "0.0.0.0", host == "::", host == "host.docker.internal":
		return true
	case strings.HasPrefix(u.Scheme, "unix"):
		return true
	}
	return false
}

// shield resolves a protected path once. One that does not exist yet is kept as text.
func (c *Checker) shield(p string) (shielded, error) {
	given := p
	p = c.m.ExpandHome(p)
	if !c.m.Platform.IsAbs(p) {
		return shielded{}, fmt.Errorf("protected path %s is not absolute; write it from the root or with ~/", chars.Quote(given))
	}
	var s shielded
	add := func(spelling string) {
		if spelling != "" && !slices.Contains(s.spellings, spelling) {
			s.spellings = append(s.spellings, spelling)
		}
	}
	add(c.m.Platform.Clean(p))
	place, err := rootsmgr.Resolve(c.m.FS, p)
	if err == nil {
		add(place.Path)
		add(place.Readings.Cleaned)
	}
	return s, nil
}

// Scan is what one call's arguments hold. It keeps nothing of the argument bytes.
type Scan struct {
	tool     *Tool
	found    detect.Result
	byClient bool // the client has a say in which URIs are bound
}

// Findings are the paths found, conditional ones included.
func (s *Scan) Findings() []Finding {
	if s == nil {
		return nil
	}
	return append(slices.Clone(s.found.Findings), s.found.Resources...)
}

// NeedsBoundary reports whether there is anything to judge by the roots.
func (s *Scan) NeedsBoundary() bool {
	return s == nil || len(s.found.Findings) > 0 || s.byClient && len(s.found.Resources) > 0
}

// Certain reports whether any finding is a path whatever the disk looks like. Where it is false and NeedsBoundary is
// true, only words of shell strings and relative names are left, which Judge looks up.
func (s *Scan) Certain() bool {
	return s == nil || s.byClient && len(s.found.Resources) > 0 || slices.ContainsFunc(s.found.Findings, func(f Finding) bool { return !f.Conditional() })
}

// Scan walks, validates and searches the arguments of one call. nil stands for absent arguments. The error is an
// *ArgumentsError or a *SchemaError.
func (c *Checker) Scan(t *Tool, args []byte) (*Scan, error) {
	if c == nil || t == nil {
		return nil, &strictjson.Error{Code: strictjson.CodeSyntax, Message: "no tool to check them against"}
	}
	found, err := c.search.Arguments(&t.args, args)
	return c.scanned(t, found, err)
}

func (c *Checker) scanned(t *Tool, found detect.Result, err error) (*Scan, error) {
	if err != nil {
		return nil, err
	}
	return &Scan{tool: t, found: found, byClient: c.search.ClientResources}, nil
}

// Judge decides a scanned call under one boundary, for one child instance (V5, V6, V9, V10). Everything on disk is
// looked at now: no verdict is kept from one call to the next.
func (c *Checker) Judge(s *Scan, w Where, v rootsmgr.View) *Verdict {
	out := &Verdict{Case: v.Case, Stale: v.Stale, Rule: RuleUnjudged}
	if c == nil || s == nil || s.tool == nil {
		return out
	}
	out.Child, out.Tool = s.tool.child.Name, s.tool.name
	if v.Snapshot != nil {
		out.Generation = v.Snapshot.Generation()
	}
	resources := c.judgeResources(s.found.Resources, v)
	if len(s.found.Findings) == 0 {
		out.Findings = resources
		out.settle(s.tool, w, v)
		return out
	}
	work := s.found.Work // a scan may be judged more than once
	j := &judge{c: c, work: &work, w: w, v: v, container: w.Container, ruling: s.tool.ruling, first: s.tool.first}
	if j.container == nil {
		j.container = s.tool.child.container
	}
	j.m = j.view.Open(&c.m, j.work)
	cwd := w.Cwd
	if j.container != nil {
		cwd = j.container.Workdir
	}
	j.m.Within(cwd, &j.secret)
	if v.Snapshot != nil {
		j.guard = v.Snapshot.Guard()
		j.sandbox()
		j.guard = j.guard.Through(j.m.FS)
	}
	j.watch()
	out.Findings = append(j.all(s.found.Findings), resources...)
	out.settle(s.tool, w, v)
	j.rewrite(s, out)
	return out
}

// watch looks at the protected files as they are now.
func (j *judge) watch() {
	for _, s := range j.c.shielded {
		w := watched{spellings: s.spellings}
		if info, err := j.m.FS.Lstat(s.spellings[len(s.spellings)-1]); err == nil && info.Mode()&fs.ModeType == 0 {
			w.info = info
		}
		j.watched = append(j.watched, w)
	}
}

// all judges every finding, by the boundary and then by the rules of the policy.
func (j *judge) all(findings []Finding) []Judged {
	list := j.readings(findings)
	if j.work.Spent() && (len(list) == 0 || list[len(list)-1].Code != CodeBudget) {
		list = append(list, j.overspent(&findings[0]))
	}
	if j.ruling != nil {
		for i := range list {
			j.rule(&list[i])
		}
	}
	return list
}

// readings judges every finding by the boundary, then the relative ones once more from the directories that the first
// pass came across.
func (j *judge) readings(findings []Finding) []Judged {
	list := make([]Judged, 0, len(findings))
	var again []int
	j.elsewhere = j.worksElsewhere(findings)
	for i := range findings {
		out, ok := j.finding(&findings[i])
		if j.work.Spent() {
			return append(list, j.overspent(&findings[i]))
		}
		f := &findings[i]
		elsewhere := f.Relative() || f.Form != detect.FormURI && f.Form != detect.FormText && !j.hasOwnBase(f) && !j.m.Platform.IsAbs(f.Value)
		if !ok {
			if elsewhere {
				again = append(again, -i-1)
			}
			continue
		}
		j.work.Spend(budget.JudgeSteps)
		list = append(list, out)
		if elsewhere {
			again = append(again, len(list)-1)
		}
		if !f.Conditional() {
			j.keepDirs(&out)
		}
	}
	if len(again) == 0 || len(findings) < 2 {
		return list
	}
	// A directory may be named relative to another one that was: three deep is as far as honest calls go.
	all := j.bases()
	j.again = true
	for round := range 3 {
		j.starts = nil
		for _, dir := range append(j.own, j.hinted...) {
			if (!slices.Contains(all, dir) || j.beside(dir)) && !slices.Contains(j.starts, dir) {
				j.starts = append(j.starts, dir)
			}
		}
		if len(j.starts) == 0 || round > 0 && len(j.starts) > maxHinted {
			break
		}
		all = append(slices.Clip(all), j.starts...)
		for _, dir := range j.starts {
			if j.beside(dir) {
				if j.named == nil {
					j.named = make(map[string]bool)
				}
				j.named[dir] = true
			}
		}
		list = j.oncemore(findings, list, again)
	}
	return list
}

// oncemore judges the relative findings from j.starts. again are positions in list, or -1-i of a finding that did not
// count so far.
func (j *judge) oncemore(findings []Finding, list []Judged, again []int) []Judged {
	for i, at := range again {
		if j.work.Spent() {
			return append(list, j.overspent(&findings[0]))
		}
		if at < 0 {
			if out, ok := j.finding(&findings[-at-1]); ok {
				out.borrowed = true
				list = append(list, out)
				again[i] = len(list) - 1
				j.keepDirs(&out)
			}
			continue
		}
		more, ok := j.finding(&list[at].Finding)
		if !ok {
			continue
		}
		j.keepDirs(&more)
		list[at].borrowed = list[at].borrowed || list[at].Decision == Allow && more.Decision != Allow
		list[at].join(&more)
		for _, r := range more.Readings {
			d := Allow
			if more.Decision == Deny && r.Code == more.Code {
				d = Deny
			}
			j.note(&list[at], r, d)
		}
	}
	return list
}

// overspent denies a call that costs more to judge than its budget.
func (j *judge) overspent(f *Finding) Judged {
	return Judged{Finding: *f, Decision: Deny, Code: CodeBudget}
}

// maxHinted bounds the directories that are kept only because a name happens to be one.
const maxHinted = 16

// keepDir notes a directory that a name under a key that says nothing leads to.
func (j *judge) keepDir(f *Finding, dir string) {
	if dir = j.m.Platform.Clean(dir); f.Form != detect.FormGlob && len(j.hinted) < maxHinted && !slices.Contains(j.hinted, dir) {
		j.hinted = append(j.hinted, dir)
	}
}

// keepDirs notes the directories among the call's own arguments: a relative path may start from any of them.
func (j *judge) keepDirs(out *Judged) {
	for _, r := range out.Readings {
		dir := r.Path
		if !chars.Climbs(dir) {
			dir = j.m.Platform.Clean(dir)
		}
		if r.dir && !slices.Contains(j.own, dir) && (!slices.Contains(j.bases(), dir) || j.beside(dir)) {
			j.own = append(j.own, dir)
		}
	}
}
