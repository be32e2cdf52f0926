package validate

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"mcphub/internal/memo"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
	"mcphub/validate/policy"
	"mcphub/validate/strictjson"
	"mcphub/validate/uri"
)

// ChildConfig is what hub.json says about one child and its paths.
type ChildConfig struct {
	Name        string
	Mode        declare.Mode
	ModeSet     bool                                  // hub.json states the mode; otherwise strict, or declared if the server runs elsewhere
	Args        map[string]map[string]declare.ArgRule // tool, or "*" for every tool -> JSON pointer with "*" -> rule
	Command     string                                // "" for a child behind a URL, and for the embedded one
	CommandArgs []string
	URL         string
	Inherit     []string       // names of the hub's variables that it gets beyond the ones that all get
	Demand      declare.Demand // how far arguments have to fit the schemas of its tools
}

// Config is all a Checker is made of.
type Config struct {
	Children  []ChildConfig
	Protected []string // absolute paths, or ~/...: hub.json, the hub's own folders
	FS        guard.FS // nil: this machine
	Home      string   // "": the user's
	Policy    policy.Policy
	Getenv    func(string) string
	Depth     int // limits.depth, 0: DefaultDepth
	// Resources are prefixes of URIs: URIs of their schemes may be named at or below one only. ClientResources lets
	// the client's own roots of other schemes than file count among them.
	Resources       []string
	ClientResources bool
	Size            int // bytes of arguments, 0: DefaultSize
}

// Checker judges calls. It is immutable and safe for concurrent use; a reload makes a new one. The nil Checker refuses
// everything.
type Checker struct {
	children  map[string]*checkedChild
	protected []protectedPath
	confined  []string                     // the directories of rules, in every spelling
	entries   atomic.Pointer[knownEntries] // of the protected files
	policy    *policy.Compiled             // nil: the boundary alone
	m         machine.Machine
	search    detect.Searcher
	views     *memo.Map[*policy.Compiled, *Checker] // what it amounts to for people, shared by all of those; nil: the same for everybody
}

// ForPrincipal returns the Checker for calls of a principal: by the rules of the policy that are for it. Principals with the same rules get the
// same Checker. It is checker itself if no rule is for some people only. checker itself judges as for no one; see [policy.Compiled.For].
func (checker *Checker) ForPrincipal(who principal.Principal) *Checker {
	if checker == nil || checker.views == nil {
		return checker
	}
	rules := checker.policy.For(who)
	return checker.views.Get(rules, func() *Checker {
		return &Checker{children: checker.children, protected: checker.protected, confined: checker.confined, policy: rules, m: checker.m, search: checker.search}
	})
}

// rulingFor returns what the policy says about a tool, which this Checker or the one that it was made of has prepared.
func (checker *Checker) rulingFor(t *Tool) *policy.Ruling { return t.ruling.ForPolicy(checker.policy) }

// RefusesTool reports whether every call of a tool is denied by a rule, whatever its arguments are: no list names it then. A request
// that is no call of a tool has its method for a name.
func (checker *Checker) RefusesTool(child, tool string) bool {
	return checker != nil && checker.policy.Refuses(child, tool)
}

// DeniesChild reports whether rules deny all that a child has, be it known or not.
func (checker *Checker) DeniesChild(child string) bool {
	return checker != nil && checker.policy.DeniesChild(child)
}

// checkedChild is one configured child, prepared.
type checkedChild struct {
	ChildConfig
	mode      declare.Mode
	profile   *declare.Profile // by package or command, nil where none is known
	container *machine.Container
}

// NewChecker prepares a Checker. The error joins every bad declaration.
func NewChecker(cfg Config) (*Checker, error) {
	var inherited []string
	for i := range cfg.Children {
		inherited = append(inherited, cfg.Children[i].Inherit...)
	}
	checker := &Checker{
		children: make(map[string]*checkedChild),
		m:        machine.New(cfg.FS, cfg.Home, cfg.Getenv, inherited),
	}
	checker.search = detect.Searcher{Machine: &checker.m, Depth: cmp.Or(cfg.Depth, strictjson.DefaultDepth), Size: min(cmp.Or(cfg.Size, strictjson.DefaultSize), 1<<30)}
	var errs []error
	for _, cc := range cfg.Children {
		ch, err := newChild(cc)
		if checker.children[cc.Name] != nil {
			err = errors.Join(err, fmt.Errorf("server %s: configured twice", chars.Quote(cc.Name)))
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		checker.children[cc.Name] = ch
		if ch.container != nil {
			checker.m.AddMountPoints(ch.container)
		}
	}
	for _, p := range cfg.Protected {
		errs = append(errs, checker.protectPath(p))
	}
	for i, p := range cfg.Policy.Protected {
		dir, hint := policy.AbsoluteDir(&checker.m, p)
		text := " is no absolute path"
		if hint == "" && strings.ContainsAny(dir, "*?") {
			if _, err := checker.m.Look(checker.m.Platform.Clean(dir)); err != nil {
				text, hint = " is not there, and patterns have no meaning here", "name a file or a directory, with all that is in it"
			}
		}
		if hint != "" {
			errs = append(errs, &policy.Error{Rule: -1, Key: []string{"protected", strconv.Itoa(i)}, Text: chars.Quote(p) + text, Hint: hint})
			continue
		}
		errs = append(errs, checker.protectPath(dir))
	}
	var err error
	checker.policy, err = policy.Compile(&checker.m, cfg.Policy, ownRules)
	if checker.policy.ForSome() {
		checker.views = &memo.Map[*policy.Compiled, *Checker]{}
	}
	if err := errors.Join(append(errs, err, checker.bindPrefixes(cfg))...); err != nil {
		return nil, err
	}
	checker.confined = checker.policy.ConfiningDirs()
	var guarded []string
	for _, place := range append(slices.Concat(checker.protected...), checker.confined...) {
		guarded = append(guarded, checker.m.BaseName(place))
	}
	checker.search.Guarded = detect.NamesOf(guarded, checker.m.Fold)
	return checker, nil
}

// guardedDirectories returns what is protected and, with rules, the directories of rules, in every spelling.
func (checker *Checker) guardedDirectories(rules bool) (lists [][]string) {
	for _, spellings := range checker.protected {
		lists = append(lists, spellings)
	}
	if rules {
		lists = append(lists, checker.confined)
	}
	return lists
}

// newChild checks one child's declarations.
func newChild(cc ChildConfig) (*checkedChild, error) {
	ch := &checkedChild{ChildConfig: cc, mode: cc.Mode, profile: declare.ByCommand(cc.Command, cc.CommandArgs), container: machine.ReadContainer(cc.Command, cc.CommandArgs)}
	if !cc.ModeSet {
		ch.mode = declare.ModeStrict
		if cc.Command == "" && cc.URL != "" && !sharesDisk(cc.URL) {
			ch.mode = declare.ModeDeclared
		}
	}
	var errs []error
	if ch.mode > declare.ModeOff {
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

// sharesDisk reports a URL whose server shares this machine's disk.
func sharesDisk(raw string) bool {
	u, err := url.Parse(raw)
	return err != nil || strings.HasPrefix(u.Scheme, "unix") || u.Hostname() == "host.docker.internal" || uri.IsThisHost(u.Hostname()) // strict is the safe answer
}

// Scan is what one call's arguments hold. It keeps no part of the argument bytes.
type Scan struct {
	tool     *Tool
	found    detect.Result
	byClient bool // the client's own roots may bind URIs
}

// Findings returns the paths found, conditional ones included.
func (s *Scan) Findings() []detect.Finding {
	if s == nil {
		return nil
	}
	return append(slices.Clone(s.found.Findings), s.found.Resources...)
}

// NeedsBoundary reports whether there is anything to judge by the roots.
func (s *Scan) NeedsBoundary() bool {
	return s == nil || len(s.found.Findings) > 0 || s.byClient && len(s.found.Resources) > 0
}

// IsCertain reports whether any finding is a path whatever the disk looks like. If it is false and NeedsBoundary is true, all
// findings are conditional, such as words of shell strings and relative names. Judge looks those up.
func (s *Scan) IsCertain() bool {
	return s == nil || s.byClient && len(s.found.Resources) > 0 || slices.ContainsFunc(s.found.Findings, func(f detect.Finding) bool { return !f.Conditional() })
}

// NeedsJudge reports whether Judge may return another decision than Allow, or anything else that has to be recorded. If it is false, the
// call can be sent without Judge, unless rules that are for some people only decide about it: see [Checker.ForPrincipal].
func (s *Scan) NeedsJudge() bool {
	return s.NeedsBoundary() || s.tool == nil || len(s.found.Resources) > 0 || s.found.Lenient > 0 || !s.tool.ruling.LetsPass()
}

// Scan walks, validates and searches the arguments of one call. nil stands for absent arguments. The error is an
// *strictjson.Error or a *schema.Error. A tool of which the rules deny every call has none: its denial names no argument.
func (checker *Checker) Scan(t *Tool, args []byte) (*Scan, error) {
	if checker == nil || t == nil {
		return nil, &strictjson.Error{Code: strictjson.CodeSyntax, Message: "no tool to check them against"}
	}
	found, err := checker.search.Arguments(&t.args, args)
	if err != nil && checker.RefusesTool(t.child.Name, t.name) {
		return &Scan{tool: t}, nil
	}
	return checker.finishScan(t, found, err)
}

func (checker *Checker) finishScan(t *Tool, found detect.Result, err error) (*Scan, error) {
	if err != nil {
		return nil, err
	}
	if len(found.Findings) == 0 && len(found.Resources) == 0 && found.Lenient == 0 {
		return t.emptyScan, nil
	}
	return &Scan{tool: t, found: found, byClient: checker.search.ClientResources}, nil
}

// Judge decides a scanned call under one boundary, for one child instance. Everything on disk is
// looked at now: no verdict is kept from one call to the next.
func (checker *Checker) Judge(s *Scan, callCtx CallContext, rootsView rootsmgr.RootsView) *Verdict {
	out := &Verdict{Stale: rootsView.Stale, Rule: RuleUnjudged}
	if checker == nil || s == nil || s.tool == nil {
		return out
	}
	out.Child, out.Tool, out.Lenient = s.tool.child.Name, s.tool.name, s.found.Lenient
	if rootsView.Snapshot != nil {
		out.Generation = rootsView.Snapshot.Generation()
	}
	work := s.found.Work // a scan may be judged more than once
	j := &judge{checker: checker, scan: s, work: &work, callCtx: callCtx, roots: rootsView, container: callCtx.Container, startsAtFirst: s.tool.startsAtFirst}
	j.rules.Ruling = checker.rulingFor(s.tool)
	resources := checker.judgeResources(s.found.Resources, rootsView)
	if len(s.found.Findings) == 0 {
		out.Findings = resources
		j.decideVerdict(out)
		return out
	}
	if j.container == nil {
		j.container = s.tool.child.container
	}
	j.Machine = j.disk.Open(&checker.m, j.work, callCtx.NoWait)
	if j.Windows {
		j.disk.SetShares(rootsView.Snapshot.Guard().NamesShare)
	}
	cwd := callCtx.Cwd
	if j.container != nil {
		cwd = j.container.Workdir
	}
	j.SetWorkdir(cwd, &j.secret)
	if rootsView.Snapshot != nil {
		j.guard = checker.policy.WithSandbox(j.Machine, rootsView.Snapshot.Guard()).Through(j.FS)
	}
	j.rules = policy.Evaluation{Ruling: j.rules.Ruling, Machine: j.Machine, Guard: j.guard, Unbounded: rootsView.Open && j.isBoundless(), Grants: callCtx.Grants, Approved: callCtx.Approved}
	out.Findings = append(j.judgeReadings(s.found.Findings, s.found.Reread), resources...)
	j.decideVerdict(out)
	j.rewritePaths(out)
	if j.disk.Missed() {
		return &Verdict{Child: out.Child, Tool: out.Tool, Rule: RuleUnjudged}
	}
	return out
}
