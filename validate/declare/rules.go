package declare

import (
	"fmt"
	"slices"
	"strings"

	"mcphub/validate/access"
	"mcphub/validate/chars"
	"mcphub/validate/strictjson"
)

// ArgRule is what an operator or a profile says about one argument.
type ArgRule struct {
	Role  access.Role // None: it is no path
	Base  string      // JSON pointer of the argument a relative path starts from, "" for none
	Typed bool        // it is text for a running program
}

// Rule is an ArgRule with who says it. Lower tiers win: the operator's word for the tool, for every tool, the profile's
// for the tool, for every tool.
type Rule struct {
	ArgRule
	By    string // ByOperator or ByProfile
	tier  int
	stars int
}

// Who declares an argument. The values are stable: they report how a path was recognised.
const (
	ByOperator = "declared" // in hub.json
	ByProfile  = "profile"  // the built-in profile of the server
)

// Rules are the declared pointers of a tool, token by token. nil declares nothing.
type Rules struct {
	kids   map[string]*Rules
	folded map[string]*Rules // by folded name, for parsers that ignore case
	star   *Rules
	rule   *Rule
}

// New joins what the operator and the profile of a server say about a tool; either may be nil. named reports that nothing
// but the name that the server gave itself speaks for the profile.
func New(tool string, operator map[string]map[string]ArgRule, p *Profile, named bool) *Rules {
	n := &Rules{}
	add := func(args map[string]ArgRule, by string, tier int) {
		for pointer, rule := range args {
			_ = n.addRule(pointer, &Rule{ArgRule: rule, By: by, tier: tier}) // checked before
		}
	}
	add(operator[tool], ByOperator, 0)
	add(operator["*"], ByOperator, 1)
	if p != nil {
		add(p.Tools[tool], ByProfile, 2)
		every := p.Tools["*"]
		if named && !p.hasTool(tool) {
			every = tightenRules(every)
		}
		add(every, ByProfile, 3)
	}
	if n.rule == nil && n.star == nil && n.kids == nil {
		return nil
	}
	return n
}

// Check returns what is wrong with a declaration of the operator.
func Check(pointer string, rule ArgRule) error {
	if err := new(Rules).addRule(pointer, &Rule{ArgRule: rule}); err != nil {
		return err
	}
	if rule.Role > access.Delete {
		return fmt.Errorf("argument %s has no known role", chars.Quote(pointer))
	}
	if rule.Role == access.None && rule.Base != "" {
		return fmt.Errorf("argument %s is declared to be no path, so its base has no meaning", chars.Quote(pointer))
	}
	return nil
}

func (n *Rules) addRule(pointer string, r *Rule) error {
	if pointer != "" && pointer[0] != '/' {
		return fmt.Errorf("argument pointer %s does not begin with a slash; write /%s", chars.Quote(pointer), pointer)
	}
	if r.Base != "" && r.Base[0] != '/' {
		return fmt.Errorf("base %s of argument %s does not begin with a slash", chars.Quote(r.Base), chars.Quote(pointer))
	}
	at := n
	for rest := pointer; rest != ""; {
		var token string
		token, rest, _ = strictjson.CutToken(rest)
		if token == "*" {
			if at.star == nil {
				at.star = &Rules{}
			}
			at, r.stars = at.star, r.stars+1
			continue
		}
		if at.kids == nil {
			at.kids, at.folded = map[string]*Rules{}, map[string]*Rules{}
		}
		next := at.kids[token]
		if next == nil {
			next = &Rules{}
			at.kids[token] = next
			at.folded[chars.FoldName(token)] = next
		}
		at = next
	}
	if at.rule == nil || r.tier < at.rule.tier {
		at.rule = r
	}
	return nil
}

// Cursor is the place of a value in the declared pointers; empty if nothing is declared at or below it.
type Cursor []position

// position is one way to match a pointer. folded reports that a name on the way was matched by case folding alone:
// then a role counts, an exemption does not.
type position struct {
	node   *Rules
	folded bool
}

// Start returns where the arguments as a whole stand.
func (n *Rules) Start() Cursor {
	if n == nil {
		return nil
	}
	return Cursor{{node: n}}
}

// Step moves every position on by one token.
func (at Cursor) Step(token string) Cursor {
	var next Cursor
	for _, p := range at {
		if kid := p.node.kids[token]; kid != nil {
			next = append(next, position{kid, p.folded})
		} else if p.node.folded != nil {
			if kid := p.node.folded[chars.FoldName(token)]; kid != nil {
				next = append(next, position{kid, true})
			}
		}
		if p.node.star != nil {
			next = append(next, position{p.node.star, p.folded})
		}
	}
	return next
}

// Rule returns the rule that governs the value, nil where none does.
func (at Cursor) Rule() *Rule {
	var found *Rule
	for _, p := range at {
		r := p.node.rule
		if r == nil || p.folded && r.Role == access.None {
			continue
		}
		if found == nil || r.tier < found.tier || r.tier == found.tier && r.stars < found.stars {
			found = r
		}
	}
	return found
}

// Over chooses between a rule for a value and one that holds above it: the operator's exemption of a whole object is not
// undone by a profile. Either may be nil.
func (own *Rule) Over(above *Rule) *Rule {
	if own == nil || above != nil && above.tier < own.tier {
		return above
	}
	return own
}

// Names reports a member that a declaration names in just this spelling.
func (at Cursor) Names(member string) bool {
	return slices.ContainsFunc(at, func(p position) bool { return p.node.kids[member] != nil })
}

// Spelling returns a member that a declaration names and that another name differs from by case, hyphens and underscores alone.
func (at Cursor) Spelling(member string) (declared string, ok bool) {
	if at.Names(member) {
		return "", false
	}
	squeezed := chars.Squeeze(member, chars.NameSeparators)
	for _, p := range at {
		for name := range p.node.kids {
			if chars.Squeeze(name, chars.NameSeparators) == squeezed {
				return name, true
			}
		}
	}
	return "", false
}

// GoesDeeper reports whether any declaration goes deeper, so that a string there is expected to hold JSON.
func (at Cursor) GoesDeeper() bool {
	return slices.ContainsFunc(at, func(p position) bool { return p.node.star != nil || len(p.node.kids) > 0 })
}

// BaseFor writes the tokens of a finding's pointer over the stars of a declared base.
func BaseFor(base, pointer string) string {
	if !strings.Contains(base, "*") {
		return base
	}
	var b strings.Builder
	for base != "" { // it begins with a slash, or add had refused it
		var token, own string
		token, base, _ = strictjson.CutToken(base)
		own, pointer, _ = strictjson.CutToken(pointer)
		if token == "*" {
			token = own
		}
		b.WriteByte('/')
		b.WriteString(strictjson.EscapeToken(token))
	}
	return b.String()
}

// Mode is how far the arguments of a child are searched. The zero value searches everywhere.
type Mode uint8

const (
	ModeStrict   Mode = iota // every string
	ModeDeclared             // declared arguments, and file URIs anywhere
	ModeOff                  // nothing
)

var modeNames = []string{"strict", "declared", "off"}

func (m Mode) String() string {
	if m > ModeOff {
		m = ModeStrict
	}
	return modeNames[m]
}

// ParseMode reads a mode as hub.json spells it.
func ParseMode(s string) (Mode, error) {
	i := slices.Index(modeNames, s)
	if i < 0 {
		return ModeStrict, fmt.Errorf("mode %s is none of strict, declared, off", chars.Quote(s))
	}
	return Mode(i), nil
}

// Demand is how far arguments have to fit the schema of a tool. The zero value demands most.
type Demand uint8

const (
	DemandStrict  Demand = iota // they fit as they stand
	DemandLenient               // they fit by a lenient reading: see package schema
	DemandNothing               // the schema is the server's business
)

var demandNames = []string{"strict", "lenient", "off"}

// ParseDemand reads a demand as hub.json spells it.
func ParseDemand(s string) (Demand, error) {
	i := slices.Index(demandNames, s)
	if i < 0 {
		return DemandStrict, fmt.Errorf("arguments %s is none of lenient, strict, off", chars.Quote(s))
	}
	return Demand(i), nil
}

// tightenRules returns what a profile may say about a tool that its server is not known to have, if nothing but the name
// that the child gave itself speaks for the profile: anybody may be called memory-server.
func tightenRules(rules map[string]ArgRule) map[string]ArgRule {
	out := make(map[string]ArgRule)
	for pointer, r := range rules {
		if r.Role != access.None && r.Base == "" {
			out[pointer] = r
		}
	}
	return out
}
