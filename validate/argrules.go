package validate

import (
	"fmt"
	"strings"

	"mcphub/validate/access"
	"mcphub/validate/chars"
	"mcphub/validate/strictjson"
)

// ArgRule is what an operator or a profile says about one argument.
type ArgRule struct {
	Role access.Role // None: it is no path
	Base string      // JSON pointer of the argument a relative path starts from, "" for none
}

// boundRule is an ArgRule with where it comes from. Lower tiers win: the operator's word for the tool, for every tool,
// the profile's for the tool, for every tool.
type boundRule struct {
	ArgRule
	how     string
	tier    int
	stars   int
	pointer string
}

// ruleNode is one token of the declared pointers of a tool.
type ruleNode struct {
	kids   map[string]*ruleNode
	folded map[string]*ruleNode // by folded name, for parsers that ignore case
	star   *ruleNode
	rule   *boundRule
}

func (n *ruleNode) add(pointer string, r *boundRule) error {
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
				at.star = &ruleNode{}
			}
			at, r.stars = at.star, r.stars+1
			continue
		}
		if at.kids == nil {
			at.kids, at.folded = map[string]*ruleNode{}, map[string]*ruleNode{}
		}
		next := at.kids[token]
		if next == nil {
			next = &ruleNode{}
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

// position is where a value stands in the declared pointers. folded says that a name on the way was matched by case
// folding alone: then a role counts, an exemption does not.
type position struct {
	node   *ruleNode
	folded bool
}

// step moves every position on by one token.
func step(at []position, token string) []position {
	var next []position
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

// best is the rule that governs the value at these positions, nil where none does.
func best(at []position) *boundRule {
	var found *boundRule
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

// reachesBelow reports whether any declaration goes deeper, so that a string there is expected to hold JSON.
func reachesBelow(at []position) bool {
	for _, p := range at {
		if p.node.star != nil || len(p.node.kids) > 0 {
			return true
		}
	}
	return false
}

// baseFor writes the tokens of a finding's pointer over the stars of a declared base.
func baseFor(base, pointer string) string {
	if !strings.Contains(base, "*") {
		return base
	}
	var b strings.Builder
	for base != "" {
		var token, own string
		var ok bool
		if token, base, ok = strictjson.CutToken(base); !ok {
			return ""
		}
		own, pointer, _ = strictjson.CutToken(pointer)
		if token == "*" {
			token = own
		}
		b.WriteByte('/')
		b.WriteString(strictjson.EscapeToken(token))
	}
	return b.String()
}
