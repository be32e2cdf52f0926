package validate

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/validate/detect"
	"mcphub/validate/machine"
	"mcphub/validate/policy"
)

// CallContext describes the child instance that would run the call.
type CallContext struct {
	Cwd       string             // its working directory, "" where unknown (a child on another host)
	Served    []string           // paths of the roots served to it
	Container *machine.Container // nil: what the child's configured command says
	Grants    []policy.Grant     // what a human has allowed this child in this session: opens what a rule escalates, nothing else
	// Approved names the rule about calls (one without a condition on paths) under which a human has allowed this very call.
	// It opens what that rule escalates, whatever paths the call has. Grants open nothing of such a rule.
	Approved string
	// Held reports that the kernel holds the child to its boundary.
	Held bool
	// NoWait has the call judged without waiting for a disk. A verdict that takes a look at what is not in memory has RuleUnjudged then.
	NoWait bool
}

// Reading is one way in which a child may take a finding, and its target.
type Reading struct {
	Text   string // the spelling that was read: decoded, trimmed, expanded
	Path   string // absolute, as the child would be handed it
	Target string // where it leads, "" if that could not be found out
	Root   string // path of the root that contains it, "" for none
	Code   string // a constant of codes.go
	Err    string // why, if it could not be resolved
	Asks   bool   // a rule escalates it, and no grant covers it
	Linked bool   // links on the way make it lead elsewhere than its text says

	dir   bool
	given string // how Root was spelled
	kind  int    // index in the candidates of the finding; -1 none
}

// FindingVerdict is a finding and what became of it.
type FindingVerdict struct {
	detect.Finding
	Readings []Reading // at most maxReadings; the offending one is among them
	Decision policy.Decision
	Rule     string // name of the policy's rule that matched it, "" where none did
	Code     string // a constant of codes.go
	Target   string // the target of the offending reading, else the target of the first one
	Outside  bool   // some reading leads outside the boundary
	Hint     string // the lines of hub.json that would declare the argument to be no path, "" if that cannot help

	onlyFromNamedDir bool // it is denied only from a directory that another argument names
	fired            *policy.Rule
	candidates       *policy.Candidates // nil if no rule is about the tool
	bounds           []string           // of a URI that is outside: the prefixes of its scheme
	byClient         bool               // a URI, and the client's roots are among the prefixes
}

const maxReadings = 16

// Verdict is the outcome for one call. It is bound to the generation of the roots it was judged by, and to the very
// bytes that were scanned: those, with Rewrites carried out, are the bytes to send.
type Verdict struct {
	Decision   policy.Decision
	Generation uint64
	Stale      bool
	Child      string
	Tool       string
	Lenient    int // how many values of the arguments fit the tool's schema by a lenient reading alone
	Findings   []FindingVerdict
	Rule       string          // what decided: one of the Rule constants, or where Fired is set that rule's name
	Fired      *policy.Rule    // the rule of the policy that decided, nil where none did
	Deciding   *FindingVerdict // the finding that denied or escalated the call; nil if it is allowed, or a rule about calls decided
	Why        string          // the view's sentence for a denial that roots could cure
	Roots      []string        // canonical URIs of the boundary, for the text of a denial
	Rewrites   []Rewrite       // what to change in the arguments before they are sent: by Start, not overlapping; only where Decision is Allow
}

// Values of Verdict.Rule.
const (
	RuleNoPath       = "no path"
	RuleInside       = "inside"
	RuleProtected    = "protected"
	RuleBoundary     = "boundary"
	RuleNoBoundary   = "no boundary"
	RuleUnresolvable = "unresolvable"
	RuleUnjudged     = "unjudged"
	RuleCeiling      = "ceiling"
)

// ownRules are the names that the hub gives as the rule if no rule of the policy decided.
var ownRules = []string{RuleNoPath, RuleInside, RuleProtected, RuleBoundary, RuleNoBoundary, RuleUnresolvable, RuleUnjudged, RuleCeiling, "arguments", "schema"}

// Refused returns the paths of a call that was not allowed, as they stand and
// their targets.
func (v *Verdict) Refused() []string {
	var out []string
	for i := range v.Findings {
		if v.Findings[i].Decision != policy.Allow {
			out = append(out, v.Findings[i].paths()...)
		}
	}
	return out
}

func (f *FindingVerdict) paths() []string {
	out := make([]string, 0, 2*len(f.Readings))
	for i := range f.Readings {
		if r := &f.Readings[i]; r.Code != CodeInside {
			out = append(out, r.Path, r.Target)
		}
	}
	return slices.DeleteFunc(out, func(p string) bool { return p == "" })
}

// redactReadings removes the value of a variable from what a denial shows. The readings keep it, for the operator.
func redactReadings(out *FindingVerdict) {
	out.Target = ""
	for i := range out.Readings {
		if out.Readings[i].Err != "" {
			out.Readings[i].Err = "a variable in it leads to what cannot be resolved"
		}
	}
}

// decideVerdict takes the strictest of the findings: what is denied before what is escalated, what is protected first.
// A call without any is decided by the policy's first rule about calls.
func (j *judge) decideVerdict(v *Verdict) {
	v.Decision, v.Rule, v.Fired, v.Deciding = policy.Allow, RuleInside, nil, nil
	if !slices.ContainsFunc(v.Findings, func(f FindingVerdict) bool { return f.How != detect.HowResource }) {
		if r := j.rules.Ruling.WithoutPaths(); r != nil {
			v.Decision, v.Rule, v.Fired = r.Then, r.Name, r
			if r.Then == policy.Escalate && j.callCtx.Approved == r.Name {
				v.Decision = policy.Allow
			}
		} else if len(v.Findings) == 0 {
			v.Rule = RuleNoPath
		}
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.How != detect.HowResource {
			f.Hint = hintFor(j.scan.tool, f)
		}
		if f.Decision == policy.Allow {
			if v.Decision == policy.Allow && v.Fired == nil {
				if f.Code == CodeOpen {
					v.Rule = RuleNoBoundary
				}
				if f.fired != nil {
					v.Rule, v.Fired = f.fired.Name, f.fired
				}
			}
			continue
		}
		shielded := f.Code == CodeProtected || f.Code == CodeProtectedBelow
		if v.Deciding == nil || f.Decision < v.Decision || shielded && v.Rule != RuleProtected || v.Deciding.onlyFromNamedDir && !f.onlyFromNamedDir && f.Decision == v.Decision {
			v.Deciding, v.Fired = f, f.fired
			v.Decision, v.Rule = f.Decision, ruleOf(f.Code)
			if f.fired != nil {
				v.Rule = f.fired.Name
			}
		}
	}
	if v.Deciding != nil && (v.Fired == nil || v.Fired.Paths != nil) && v.Decision == policy.Escalate {
		// A person is asked about the call as a whole if a rule about calls is among the ones that ask.
		for i := range v.Findings {
			if f := &v.Findings[i]; f.Decision == policy.Escalate && f.fired.Paths == nil {
				v.Rule, v.Fired = f.fired.Name, f.fired
			}
		}
	}
	if v.Fired != nil && v.Fired.Paths == nil {
		v.Deciding = nil
	}
	v.Why, v.Roots = "", nil
	if v.Deciding != nil && v.Rule != RuleProtected && v.Fired == nil {
		v.Why = j.roots.WhyNot(v.Deciding.paths()...)
	}
	switch {
	case v.Deciding != nil && v.Deciding.How == detect.HowResource:
		v.Why, v.Roots = whyResource, v.Deciding.bounds
	case v.Decision != policy.Allow && j.roots.Snapshot != nil:
		v.Roots = j.roots.Snapshot.URIs()
	}
}

func ruleOf(code string) string {
	switch code {
	case CodeProtected, CodeProtectedBelow:
		return RuleProtected
	case CodeOutside, CodeOutsideLink, CodeUnmapped, CodeOutsideResource:
		return RuleBoundary
	case CodeCeiling:
		return RuleCeiling
	case CodeRootsEmpty, CodeRootsFailed, CodeRootsUnsupported:
		return RuleNoBoundary
	}
	return RuleUnresolvable
}

// hintFor writes what an operator would add to hub.json to declare that the argument is no path.
func hintFor(t *Tool, f *FindingVerdict) string {
	if f.Decision == policy.Allow || f.Code == CodeProtected || f.Code == CodeProtectedBelow || !f.Plausible() || t.args.URI || f.Member {
		return ""
	}
	return fmt.Sprintf(`"mcpServers": { %s: { "paths": { "args": { %s: { %s: "none" } } } } }`, quoteJSON(t.child.Name), quoteJSON(t.name), quoteJSON(f.Declare))
}

// RootsMatter reports whether other roots of the client could change a verdict that is not Allow.
func (v *Verdict) RootsMatter() bool {
	switch {
	case v.Decision == policy.Allow:
		return false
	case v.Fired != nil:
		return v.Fired.Paths != nil && v.Fired.Paths.Outside
	}
	return v.Deciding != nil && (v.Deciding.How != detect.HowResource || v.Deciding.byClient)
}

// quoteJSON writes a text for people to copy.
func quoteJSON(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return []byte(`""`)
	}
	return b
}
