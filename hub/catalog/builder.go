package catalog

import (
	"sort"
	"strings"

	"mcphub/hub/pin"
	"mcphub/hub/toolset"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// Config is what decides what is offered, and by which names.
type Config struct {
	Names    Names
	Limit    int // bytes of what one child offers of each kind
	Checker  *validate.Checker
	Own      []HubTool
	Expose   Exposure
	Children []Child    // in the order in which they are listed
	URIs     *SkillURIs // nil: those of this Builder alone
	Pins     *pin.Pins  // which definitions are withheld; nil: none
}

// A Child is one server whose offers are taken in.
type Child struct {
	Name    string
	Prefix  string   // before each tool's name, separator included; "" = unprefixed
	Include []string // globs of tool names; empty: all
	Exclude []string // globs of tool names, after Include
	Always  []string // globs of tool names that are listed whatever Config.Expose says

	Words Words // of the operator, about its tools

	CutsResults bool   // results of its tools may be cut, and promise no shape
	Revision    uint64 // of how it is run: of another revision it is another server

	toolsetView *toolset.View // of a Builder For one: what of the child is shown; nil: everything
}

// HubTool is one of the hub's own tools.
type HubTool struct {
	Name  string
	Def   []byte // raw
	Finds bool   // it finds tools of children: its description names these if they are not listed
}

// A Builder makes catalogues by one configuration. Its configuration is not
// changed.
type Builder struct {
	cfg    Config
	byName map[string]*Child
	cache  cache
	reader *Builder // reads what children list; another one than itself if it is For a View
	shown  shown    // if it is For a View
}

// NewBuilder makes a Builder.
func NewBuilder(cfg Config) *Builder {
	if cfg.URIs == nil {
		cfg.URIs = NewSkillURIs()
	}
	b := &Builder{cfg: cfg, byName: map[string]*Child{}}
	b.reader = b
	for i := range cfg.Children {
		b.byName[cfg.Children[i].Name] = &cfg.Children[i]
	}
	return b
}

// Owners returns the children to which an unknown name may belong, the longest
// prefix first.
func (b *Builder) Owners(name string) []string {
	var out []string
	for i := range b.cfg.Children {
		c := &b.cfg.Children[i]
		if strings.HasPrefix(name, c.Prefix) {
			out = append(out, c.Name)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return len(b.byName[out[i]].Prefix) > len(b.byName[out[j]].Prefix) })
	return out
}

// Unlisted makes a tool of which only the name is known. It is for judging a call of a child that lists nothing, because the rules deny
// everything of it, or because its list cannot be read. nil: there is no such child, or it can have no such tool.
func (b *Builder) Unlisted(child, ownName string) *Tool {
	c := b.byName[child]
	if c == nil || ownName == "" || !c.wantsTool(ownName) || b.cfg.Pins.Holds(child) {
		return nil
	}
	def := append(jsonrpc.AppendString([]byte(`{"name":`), ownName), '}')
	checked, err := b.cfg.Checker.PrepareTool(child, "", def)
	if err != nil {
		return nil
	}
	t := &Tool{Child: child, OwnName: ownName, Def: def, Checked: checked, NameOnly: true, entry: def, by: b.reader, common: &CommonDecision{}, alias: c.Words.Rename[ownName], Set: c.Words.Set[ownName]}
	t.Name = b.cfg.Names.exposedName(child, c.Prefix, t.Shown())
	return t
}

// UnlistedItem works like Unlisted for a prompt, or another thing that is known by a name.
func (b *Builder) UnlistedItem(child, ownName string) *Item {
	c := b.byName[child]
	if c == nil || ownName == "" || !c.toolsetView.ShowsPrompt(child, ownName) {
		return nil
	}
	return &Item{Name: b.cfg.Names.exposedName(child, c.Prefix, ownName), Child: child, OwnName: ownName, NameOnly: true, by: b.reader}
}

// Prefixed splits a name into the child whose prefix it has, of the ones that fit, and the child's own name. ok is false if no child that
// fits has a prefix: then any name may be its own.
func (b *Builder) Prefixed(name string, fits func(child string) bool) (child, ownName string, ok bool) {
	for _, owner := range b.Owners(name) {
		if prefix := b.byName[owner].Prefix; prefix != "" && fits(owner) {
			return owner, name[len(prefix):], true
		}
	}
	return "", "", false
}

// Wants reports whether the operator wants a tool offered. In a pattern "*" is
// any text, a slash included: these are names and not paths. A pattern that
// cannot be read matches nothing in include and everything in exclude.
func (b *Builder) Wants(child, tool string) bool {
	c := b.byName[child]
	return c != nil && c.wantsTool(tool)
}

func (child *Child) wantsTool(tool string) bool {
	if len(child.Include) > 0 && !matchesAny(child.Include, tool, false) || matchesAny(child.Exclude, tool, true) {
		return false
	}
	return child.toolsetView.ShowsTool(child.Name, tool)
}

// matchesAny reports whether a pattern fits; broken is what one counts that cannot be read.
func matchesAny(globs []string, tool string, broken bool) bool {
	for _, g := range globs {
		if ok, err := policy.MatchName(g, tool); ok || err != nil && broken {
			return true
		}
	}
	return false
}
