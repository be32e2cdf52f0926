package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"mcphub/internal/memo"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/access"
	"mcphub/validate/chars"
	"mcphub/validate/machine"
)

// Error is what is wrong with one part of a Policy.
type Error struct {
	Rule int      // index in Policy.Rules; -1: the policy itself
	Key  []string // below the rule, or below the policy: {"if", "paths", "within"}
	Text string
	Hint string // what to do; may be ""
}

func (e *Error) Error() string {
	where := "policy"
	if e.Rule >= 0 {
		where = fmt.Sprintf("policy.rules[%d]", e.Rule)
	}
	if len(e.Key) > 0 {
		where += "." + strings.Join(e.Key, ".")
	}
	if e.Hint == "" {
		return where + ": " + e.Text
	}
	return where + ": " + e.Text + "; " + e.Hint
}

// Compiled is a Policy with its directories looked up. It is immutable; nil adds nothing to the boundary.
type Compiled struct {
	m       *machine.Machine
	rules   []*compiledRule
	areas   *guard.Areas
	sandbox *sandbox
	// the policy for each group of principals, by what selectionFor returns; nil if no rule names
	// principals or groups
	views  *memo.Map[string, *Compiled]
	named  namedRules                 // of which those are chosen
	sets   memo.Map[string, *ruleSet] // by the rules in them
	opened map[string]bool            // directories that rules open
}

// compiledRule is one rule with its directory.
type compiledRule struct {
	*Rule
	roles RoleSet
	dir   guard.Area
	area  int // its number, -1 if the rule names no directory
}

// opensDirectory reports whether servers may be given the rule's directory.
func (compiled *compiledRule) opensDirectory() bool {
	return compiled.area >= 0 && compiled.Then != Deny && compiled.dir.Closed == ""
}

// confinesPaths reports whether the rule denies or escalates paths in its directory.
func (compiled *compiledRule) confinesPaths() bool {
	return compiled.area >= 0 && compiled.Then != Allow
}

// Compile checks a policy and looks up its directories. reserved are names that no rule may have. The error joins an
// *Error for everything that is wrong.
func Compile(m *machine.Machine, p Policy, reserved []string) (*Compiled, error) {
	if p.Sandbox == "" && len(p.Rules) == 0 {
		return nil, nil
	}
	var errs []error
	bad := func(rule int, text, hint string, key ...string) {
		errs = append(errs, &Error{Rule: rule, Key: key, Text: text, Hint: hint})
	}
	out := &Compiled{m: m}
	names := map[string]bool{}
	var dirs []string
	var of []int
	for i := range p.Rules {
		r := p.Rules[i] // a copy: the caller's may change
		if r.Name == "" || names[r.Name] || slices.Contains(reserved, r.Name) {
			bad(i, fmt.Sprintf("a rule cannot be called %s", chars.Quote(r.Name)), "give it a name that neither another rule nor the hub itself uses", "name")
		}
		names[r.Name] = true
		if r.Then > Allow {
			bad(i, "it says neither allow, deny nor escalate", "", "then")
		}
		for _, list := range []struct {
			key      string
			patterns []string
		}{{"principals", r.Principals}, {"groups", r.Groups}, {"servers", r.Servers}, {"tools", r.Tools}} {
			for _, g := range list.patterns {
				if _, err := MatchName(g, ""); err != nil || g == "" {
					bad(i, chars.Quote(g)+" is no pattern", "", "if", list.key)
				}
			}
		}
		rule := &compiledRule{Rule: &r, roles: AnyRole, area: -1}
		if r.Named() {
			if out.views == nil {
				out.views, out.named.byName = &memo.Map[string, *Compiled]{}, map[string][]int{}
			}
			out.named.add(i, &r.People)
		}
		if r.Paths != nil {
			if len(r.Paths.Roles) > 0 {
				rule.roles = Roles(r.Paths.Roles...)
			}
			if slices.ContainsFunc(r.Paths.Roles, func(role access.Role) bool { return !AnyRole.Has(role) }) {
				bad(i, "a role is none of read, write, delete", "", "if", "paths", "roles")
			}
			if dir := r.Paths.Within; dir != "" {
				dir, hint := AbsoluteDir(m, dir)
				if hint != "" {
					bad(i, chars.Quote(r.Paths.Within)+" is no absolute directory", hint, "if", "paths", "within")
				}
				dirs, of = append(dirs, dir), append(of, i)
			}
		}
		out.rules = append(out.rules, rule)
	}
	var list []guard.Area
	var why []error
	out.areas, list, why = guard.NewAreas(m.FS, dirs)
	for i, at := range of {
		r := out.rules[at]
		if why[i] == nil && !list[i].Exists && strings.ContainsAny(dirs[i], "*?") {
			why[i] = errors.New("it is not there, and patterns have no meaning here")
		}
		if why[i] != nil {
			if dirs[i] != "" {
				bad(at, fmt.Sprintf("%s cannot be a rule's directory: %v", chars.Quote(r.Paths.Within), why[i]), "name a directory", "if", "paths", "within")
			}
			continue
		}
		r.dir, r.area = list[i], list[i].Number
	}
	if p.Sandbox != "" {
		var err error
		if out.sandbox, err = openSandbox(m, p.Sandbox); err != nil {
			bad(-1, err.Error(), "make it a directory of your own: mkdir -m 700", "sandbox")
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	out.noteOpened()
	return out, nil
}

// noteOpened notes the directories that rules open.
func (c *Compiled) noteOpened() {
	c.opened = map[string]bool{}
	for _, r := range c.rules {
		if r.opensDirectory() {
			c.opened[r.dir.Path] = true
		}
	}
}

// AbsoluteDir expands ~, and spells extended paths of Windows plainly. hint is set if that gives no absolute path.
func AbsoluteDir(m *machine.Machine, dir string) (path, hint string) {
	expanded := m.ExpandHome(dir)
	if expanded != dir && m.Home == "" {
		return "", "the home folder is not known; write it from the root"
	}
	switch dir = m.Platform.Plain(expanded); {
	case platform.IsFileURI(dir):
		return "", "write a plain path, not a URI"
	case strings.HasPrefix(dir, "~"):
		return "", "of home folders only your own is known, as ~/; write others from the root, and ./~ for what is called so"
	case strings.HasPrefix(dir, "$"):
		return "", "write ${NAME} for the value of a variable, and ./$ for what is called so"
	case !m.Platform.IsAbs(dir):
		if _, remote := m.Platform.Remote(dir); remote {
			return "", `name a directory of that machine: \\host\share`
		}
		return "", "write it from the root or with ~/"
	}
	return dir, ""
}

// MatchName reports whether a name fits a pattern. "*" is any text, a slash included: these are names and not paths. An
// error is a pattern that cannot be read.
func MatchName(pattern, name string) (bool, error) {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\u2215") }
	return doublestar.Match(flat(pattern), flat(name))
}

func matchesName(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(g string) bool {
		ok, _ := MatchName(g, name) // a pattern that cannot be read matches nothing
		return ok
	})
}

// About reports whether a rule is about the tool of a child. A request that is no call of a tool has its method for a name.
func (rule *Rule) About(child, tool string) bool {
	return matchesName(rule.Servers, child) && matchesName(rule.Tools, tool)
}

// rulesAbout returns the rules that are about a child.
func (c *Compiled) rulesAbout(child string) (list []*compiledRule) {
	if c == nil {
		return nil
	}
	for _, r := range c.rules {
		if matchesName(r.Servers, child) {
			list = append(list, r)
		}
	}
	return list
}

// Ruling is what a policy says about one tool: the rules that may match its paths, in order, and the one that
// decides a call of it without any. nil if no rule is about it. See ForPolicy where rules are for some people.
type Ruling struct {
	policy      *Compiled
	child, tool string
	set         *ruleSet                     // of the rules that are about the tool
	views       memo.Map[*Compiled, *Ruling] // what it amounts to for people; nil if no rule is about the tool then
}

// Ruling collects the rules for a tool of a child; a request that is no call of a tool has its method for a name.
func (c *Compiled) Ruling(child, tool string) *Ruling {
	if c == nil {
		return nil
	}
	var about []int
	for i, r := range c.rules {
		if r.About(child, tool) {
			about = append(about, i)
		}
	}
	if len(about) == 0 {
		return nil
	}
	return &Ruling{policy: c, child: child, tool: tool, set: c.setOf(about)}
}

// WithoutPaths returns the rule that decides a call in which no path is found, nil where none does: such a call is allowed.
func (ruling *Ruling) WithoutPaths() *Rule {
	if ruling == nil {
		return nil
	}
	return ruling.set.call
}

// sandbox is the directory that is inside every boundary.
type sandbox struct {
	path  string
	guard *guard.Guard
}

// openSandbox looks at the sandbox as it is now.
func openSandbox(m *machine.Machine, given string) (*sandbox, error) {
	dir, hint := AbsoluteDir(m, given)
	if hint != "" {
		return nil, fmt.Errorf("%s is no absolute directory: %s", chars.Quote(given), hint)
	}
	if err := m.CheckOwnDir(dir); err != nil {
		return nil, fmt.Errorf("%s cannot be the sandbox: %w", chars.Quote(given), err)
	}
	snap := rootsmgr.NewSnapshot(m.FS, 0, rootsmgr.OriginConfig, []rootsmgr.RootEntry{{URI: dir, Name: sandboxName}})
	roots := snap.Roots()
	if len(roots) != 1 {
		reason := "it cannot be opened"
		if skipped := snap.Skipped(); len(skipped) > 0 {
			reason = skipped[0].Reason
		}
		return nil, fmt.Errorf("%s cannot be the sandbox: %s", chars.Quote(given), reason)
	}
	path := roots[0].Path
	if home, err := guard.Resolve(m.FS, m.Home); m.Platform.Parent(path) == path || err == nil && m.Holds(path, home.Path) {
		return nil, fmt.Errorf("%s cannot be the sandbox: it is or holds the home folder", chars.Quote(given))
	}
	return &sandbox{path, snap.Guard()}, nil
}

// WithSandbox adds the sandbox to a boundary, as long as it is what it was when the policy was read.
func (c *Compiled) WithSandbox(m *machine.Machine, boundary *guard.Guard) *guard.Guard {
	if c == nil || c.sandbox == nil || m.CheckOwnDir(c.sandbox.path) != nil {
		return boundary
	}
	return guard.Union(boundary, c.sandbox.guard)
}

const sandboxName = "sandbox"

// Directory is one that a child is served beside the roots of the client.
type Directory struct {
	Path, Name string
	Roles      RoleSet // for which it is opened
}

// grantName is what a directory is called that a human has opened.
const grantName = "escalation-approved"

// Directories returns the directories that a single child is served beside the client's roots in order: the sandbox;
// the directories of rules that match the child, named after their rule: the ones that allow, the ones that escalate if
// they say so or a grant covers the directory; the grants. One that several rules name comes once. They are not inside
// the boundary, but for the sandbox, and not yet held to any ceiling: see rootsmgr.Snapshot.With.
func (c *Compiled) Directories(child string, grants []Grant) []Directory {
	var list []Directory
	add := func(path, name string, roles RoleSet) {
		if roles == 0 {
			return
		}
		if i := slices.IndexFunc(list, func(d Directory) bool { return d.Path == path }); i >= 0 {
			list[i].Roles |= roles
			return
		}
		list = append(list, Directory{path, name, roles})
	}
	granted := func(dir string) (roles RoleSet) {
		for _, g := range grants {
			if !g.File && c.m.Holds(g.Path, dir) {
				roles |= g.Roles
			}
		}
		return roles
	}
	if c != nil && c.sandbox != nil {
		add(c.sandbox.path, sandboxName, AnyRole)
	}
	for _, r := range c.rulesAbout(child) {
		switch {
		case !r.opensDirectory():
		case r.Then == Allow || r.Serve:
			add(r.dir.Path, r.Name, r.roles)
		default:
			add(r.dir.Path, r.Name, granted(r.dir.Path))
		}
	}
	for _, g := range grants {
		if !g.File {
			add(g.Path, grantName, g.Roles)
		}
	}
	return list
}

// DeniedDirs returns the directories that a rule denies one child something in.
func (c *Compiled) DeniedDirs(child string) (list []string) {
	for _, r := range c.rulesAbout(child) {
		if r.Then == Deny && r.area >= 0 && !slices.Contains(list, r.dir.Path) {
			list = append(list, r.dir.Path)
		}
	}
	return list
}

// ConfiningDirs returns the directories of rules that deny or escalate, as they are given and as they resolve.
func (c *Compiled) ConfiningDirs() (list []string) {
	if c == nil {
		return nil
	}
	for _, r := range c.rules {
		if r.confinesPaths() {
			list = append(list, r.dir.Given, r.dir.Path)
		}
	}
	return list
}

// UnlimitedRule returns the name of a rule that allows one child paths anywhere, "" for none.
func (c *Compiled) UnlimitedRule(child string) string {
	return c.firstRule(child, func(r *compiledRule) bool { return r.Then == Allow && r.area < 0 })
}

// EscalatingRule returns the name of a rule that may ask about calls of one child, "" for none.
func (c *Compiled) EscalatingRule(child string) string {
	return c.firstRule(child, func(r *compiledRule) bool { return r.Then == Escalate })
}

// firstRule returns the name of the first rule about one child that is so, "" for none.
func (c *Compiled) firstRule(child string, is func(*compiledRule) bool) string {
	for _, r := range c.rulesAbout(child) {
		if is(r) {
			return r.Name
		}
	}
	return ""
}

// RuleInfo is one rule as it is shown to people.
type RuleInfo struct {
	Rule
	Dir   string // the directory of its paths as it resolves, "" none
	Found bool   // Dir was there when the rule was read
	// Closed reports why the rule opens nothing; "" if it does.
	Closed string
}

// Info is a policy as it is shown to people.
type Info struct {
	Sandbox   string // canonical, "" none
	Rules     []RuleInfo
	Protected []string // what no rule opens, in every spelling: hub.json, the hub's own folders, policy.protected
}

// Info returns what policy is in force, but for what is protected; ok is false if there is none.
func (c *Compiled) Info() (info Info, ok bool) {
	if c == nil {
		return info, false
	}
	if c.sandbox != nil {
		info.Sandbox = c.sandbox.path
	}
	for _, r := range c.rules {
		info.Rules = append(info.Rules, RuleInfo{*r.Rule, r.dir.Path, r.dir.Exists, r.dir.Closed})
	}
	return info, true
}

// Condition returns in words what a rule asks for.
func (info *RuleInfo) Condition() string {
	text := "every call"
	if p := info.Paths; p != nil {
		text = cmp.Or(Roles(p.Roles...).String(), "every use") + " of paths"
		if p.Within != "" {
			text += " within " + p.Within
		}
		if p.Outside {
			text += " outside the boundary"
		}
	}
	for _, list := range []struct {
		words    string
		patterns []string
	}{{" for ", info.Principals}, {" for groups ", info.Groups}, {" by servers ", info.Servers}, {" by tools ", info.Tools}} {
		if len(list.patterns) > 0 {
			text += list.words + strings.Join(list.patterns, ", ")
		}
	}
	return text
}

// OpenedDir returns the directory that the policy opens to some call, the sandbox or one of a rule, and in which a path
// lies in some reading; "" for none.
func (c *Compiled) OpenedDir(path string) string {
	if c == nil {
		return ""
	}
	place, err := guard.Resolve(c.m.FS, path)
	if err != nil {
		return ""
	}
	in := func(dir string) bool {
		return c.m.Holds(dir, place.Readings.Lexical) || c.m.Holds(dir, place.Readings.Physical) || c.m.Holds(dir, place.Readings.Cleaned)
	}
	if s := c.sandbox; s != nil && in(s.path) {
		return s.path
	}
	for _, r := range c.rules {
		if r.opensDirectory() && in(r.dir.Path) {
			return r.dir.Path
		}
	}
	return ""
}

// WritableDirs returns the directories beside the roots that servers may write in: the sandbox, and the ones that rules open.
func (c *Compiled) WritableDirs() (list []string) {
	if c == nil {
		return nil
	}
	listed := map[string]bool{}
	add := func(dir string) {
		if !listed[dir] {
			list, listed[dir] = append(list, dir), true
		}
	}
	if c.sandbox != nil {
		add(c.sandbox.path)
	}
	for _, r := range c.rules {
		if r.opensDirectory() {
			add(r.dir.Path)
		}
	}
	return list
}

// Serves reports a directory that is served beside the roots: one that a rule opens, or a grant.
func (c *Compiled) Serves(dir string, grants []Grant) bool {
	return c != nil && c.opened[dir] ||
		slices.ContainsFunc(grants, func(g Grant) bool { return !g.File && g.Path == dir })
}
