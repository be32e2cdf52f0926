package validate

import (
	"mcphub/rootsmgr"
	"mcphub/validate/machine"
)

// Decision is what becomes of a call. The zero value denies.
type Decision uint8

const (
	Deny Decision = iota
	Escalate
	Allow
)

func (d Decision) String() string {
	if d > Allow {
		d = Deny
	}
	return [...]string{"deny", "escalate", "allow"}[d]
}

// Where describes the child instance that would run the call.
type Where struct {
	Cwd       string             // its working directory, "" where unknown (a child on another host)
	Served    []string           // paths of the roots served to it
	Container *machine.Container // nil: what the child's configured command says
	Grants    []Grant            // what a human has allowed this child in this session: opens what a rule escalates, nothing else
	// Approved names the rule under which a human has allowed this very call: it opens what a rule about calls (one that
	// asks nothing of paths) escalates, whatever paths the call has. Grants open nothing of such a rule.
	Approved string
}

// Reading is one way in which a child may take a finding, and where it leads.
type Reading struct {
	Text   string // the spelling that was read: decoded, trimmed, expanded
	Path   string // absolute, as the child would be handed it
	Leads  string // where it really leads, "" where that could not be found out
	Root   string // path of the root that contains it, "" for none
	Exists bool
	Code   string // of Codes
	Err    string // why, where it could not be resolved
	Asks   bool   // a rule escalates it, and no grant covers it
	Linked bool   // it leads elsewhere by its text than by the links on the way

	dir   bool
	given string // how Root was spelled
	kind  int    // index in the candidates of the finding; -1 none
}

// Judged is a finding and what became of it.
type Judged struct {
	Finding
	Readings []Reading // at most maxReadings; the offending one is among them
	Decision Decision
	Rule     string // name of the policy's rule that matched it, "" where none did
	Code     string // of Codes
	Leads    string // where the offending reading leads, else where the first one does
	Outside  bool   // some reading leads outside the boundary
	Hint     string // the lines of hub.json that would declare the argument to be no path, "" where that cannot help

	borrowed   bool // it is denied only from a directory that another argument names
	fired      *Rule
	candidates *candidates // nil where no rule is about the tool
	bounds     []string    // of a URI that is outside: the prefixes of its scheme
	byClient   bool        // a URI, and the client has a say in them
}

const maxReadings = 16

// Verdict is the outcome for one call. It is bound to the generation of the roots it was judged by, and to the very
// bytes that were scanned: those, with Rewrites carried out, are the bytes to send.
type Verdict struct {
	Decision   Decision
	Generation uint64
	Stale      bool
	Child      string
	Tool       string
	Findings   []Judged
	Rule       string        // what decided: one of the Rule constants, or where Fired is set that rule's name
	Fired      *Rule         // the rule of the policy that decided, nil where none did
	First      *Judged       // the finding that denied or escalated the call; nil where it is allowed, or a rule about calls decided
	Case       rootsmgr.Case // which case of R11 held
	Why        string        // the view's sentence for a denial that roots could cure
	Roots      []string      // canonical URIs of the boundary, for the text of a denial
	Rewrites   []Rewrite     // what to change in the arguments before they are sent: by Start, not overlapping; only where Decision is Allow
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
