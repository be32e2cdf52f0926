package configuration

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcphub/children/spec"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/hub/toolset"
	"mcphub/hub/turns"
	"mcphub/internal/memo"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// A Configuration is all of a hub that a reload replaces.
type Configuration struct {
	Number uint64 // the first is 1
	Settings
	CatalogBuilder *catalog.Builder // reads what children offer, and makes catalogues of it
	// CommonRoots gives by its name what each child is served that serves everybody.
	CommonRoots func() map[string][]guard.Root
	ownRoots    func() map[string]*rootsmgr.Snapshot // of each child that has directories of its own

	children map[string]*Child // by name
	cuts     bool              // results of some are cut
	followed chan struct{}     // closed once the children are run by it
	replaced chan struct{}     // closed once they are run by a newer one

	base        *Configuration           // what it is in the hub's own surroundings; nil: these are they
	given       []Child                  // of one ForClient: as they were given
	restartedAt map[string]uint64        // Number at which a child was last to start again, by name
	variants    func() map[string]string // see readVariants

	// common is the Configuration that For was called on, if For has made this one; else nil.
	common *Configuration
	// views has what For has made of this Configuration. It is nil in a Configuration that For has made.
	views *memo.Map[audienceKey, *Configuration]

	denied      map[string]bool // children of which the rules deny everything; of one that is For no one in particular, the ones that no principal is served
	toolsetView *toolset.View   // what toolsets show; nil: everything

	skills *catalog.SkillURIs // of the hub: they outlive a configuration

	mu   sync.Mutex
	read map[string]*catalog.Offer // the last that was read of each child; guarded by mu
}

// New makes the Configuration that takes the place of old, nil for the first one. own
// are the hub's own tools. Children that are described as in old keep their revision,
// but for the ones that are to start again.
func New(set Settings, own []catalog.HubTool, old *Configuration, restart ...string) (*Configuration, error) {
	c := newConfiguration(1, nil)
	if old != nil {
		c.Number, c.skills = old.Number+1, old.skills
		set = set.keepFrom(&old.Settings)
		c.countRestarts(old, restart)
	}
	return c, c.fillFrom(set, own, func(child *Child) {
		child.Spec.Revision = c.Number
		if old == nil {
			return
		}
		if was := old.Child(child.Spec.Name); was != nil && was.Spec.Equal(child.Spec) && !slices.Contains(restart, child.Spec.Name) {
			child.Spec.Revision = was.Spec.Revision
		}
	})
}

// newConfiguration makes an empty one. skills are the skills of the hub, nil for the first one.
func newConfiguration(number uint64, skills *catalog.SkillURIs) *Configuration {
	if skills == nil {
		skills = catalog.NewSkillURIs()
	}
	return &Configuration{
		Number: number, skills: skills, children: map[string]*Child{}, followed: make(chan struct{}), replaced: make(chan struct{}), read: map[string]*catalog.Offer{}, views: &memo.Map[audienceKey, *Configuration]{},
	}
}

// fillFrom makes c what the settings say. mark gives each child its revision.
func (c *Configuration) fillFrom(set Settings, own []catalog.HubTool, mark func(*Child)) error {
	if set.Checker == nil {
		return errors.New("hub: a Checker is needed: without one nothing may be dispatched")
	}
	set.Limits = set.Limits.withDefaults()
	set.Names = set.Names.WithDefaults()
	set.Approval = set.Approval.WithDefaults()
	set.Children = append([]Child(nil), set.Children...)
	c.Settings = set
	c.CommonRoots, c.ownRoots, c.variants = sync.OnceValue(c.readCommonRoots), sync.OnceValue(c.readOwnRoots), sync.OnceValue(c.readVariants)
	for i := range c.Children {
		child := &c.Children[i]
		name := child.Spec.Name
		if c.children[name] != nil {
			return fmt.Errorf("hub: two children are called %q", name)
		}
		c.children[name] = child
		c.cuts = c.cuts || child.ResultMax > 0
		mark(child)
	}
	c.CatalogBuilder = c.catalogBuilder(own)
	if !c.Checker.Rules().ForSome() {
		c.noteDenied()
	}
	return nil
}

// catalogBuilder makes the Builder of what is on offer.
func (c *Configuration) catalogBuilder(own []catalog.HubTool) *catalog.Builder {
	offered := make([]catalog.Child, len(c.Children))
	for i := range c.Children {
		child := &c.Children[i]
		offered[i] = catalog.Child{Name: child.Spec.Name, Prefix: child.Prefix, Include: child.Include, Exclude: child.Exclude, Always: child.Always, Words: child.Words, Revision: child.Spec.Revision, CutsResults: child.ResultMax > 0}
	}
	return catalog.NewBuilder(catalog.Config{
		Names: c.Names, Limit: c.Limits.Definitions, Checker: c.Checker, Own: own, Expose: c.Expose, Children: offered, URIs: c.skills, Pins: c.Pins,
	})
}

// Wanted returns which tools of which servers these settings offer, as far as hub.json
// states that. Tool "" asks for the server alone.
func (s Settings) Wanted() func(child, tool string) bool {
	c := Configuration{Settings: s}
	by := c.catalogBuilder(nil)
	return func(child, tool string) bool {
		if tool == "" {
			return slices.Contains(c.ChildNames(), child)
		}
		return by.Wants(child, tool)
	}
}

// MarkFollowed reports that the children are run by this Configuration from now on, and by old no more; nil for none. Current.Set has put it in
// force before.
func (c *Configuration) MarkFollowed(old *Configuration) {
	close(c.followed)
	if old != nil {
		old.MarkReplaced()
	}
}

// MarkReplaced reports that the children are run by this Configuration no more.
func (c *Configuration) MarkReplaced() { close(c.replaced) }

// Replaced returns a channel that is closed once the children are run by a newer one.
func (c *Configuration) Replaced() <-chan struct{} { return c.replaced }

// Child returns how a child is run, nil if there is none of this name.
func (c *Configuration) Child(name string) *Child { return c.children[name] }

// ResultMax returns the most bytes of text that a result of a child may have, 0 if there is none of this name.
func (c *Configuration) ResultMax(child string) int {
	if !c.cuts {
		return 0
	}
	if of := c.children[child]; of != nil {
		return of.ResultMax
	}
	return 0
}

// Specs returns how the children are run, in the order of hub.json.
func (c *Configuration) Specs() []spec.Spec {
	specs := make([]spec.Spec, 0, len(c.Children))
	for i := range c.Children {
		specs = append(specs, c.Children[i].Spec)
	}
	return specs
}

// CallLimits returns the limits on the requests to each child, by name.
func (c *Configuration) CallLimits() map[string]turns.Limits {
	limits := map[string]turns.Limits{}
	for i := range c.Children {
		limits[c.Children[i].Spec.Name] = c.Children[i].Calls
	}
	return limits
}

// ExchangesTokens reports whether a child is called with tokens that are had in exchange for its callers' tokens.
func (c *Configuration) ExchangesTokens() bool {
	return slices.ContainsFunc(c.Children, func(child Child) bool { return child.Spec.Auth.Exchange })
}

// ChildNames returns the children's names in the order of hub.json.
func (c *Configuration) ChildNames() []string {
	out := make([]string, 0, len(c.Children))
	for i := range c.Children {
		out = append(out, c.Children[i].Spec.Name)
	}
	return out
}

// noteDenied remembers the children of which the rules deny everything.
func (c *Configuration) noteDenied() {
	for i := range c.Children {
		if name := c.Children[i].Spec.Name; c.Checker.DeniesChild(name) {
			if c.denied == nil {
				c.denied = map[string]bool{}
			}
			c.denied[name] = true
		}
	}
}

// IsDenied reports whether the rules deny everything of a child to the principals that c is for, or no toolset shows any of it. It
// serves none of them, and they are shown nothing that it says about itself.
func (c *Configuration) IsDenied(child string) bool {
	return c.denied[child] || c.toolsetView != nil && !c.toolsetView.ShowsServer(child)
}

// ToolsetView returns what the toolsets of a session show; nil: everything.
func (c *Configuration) ToolsetView() *toolset.View { return c.toolsetView }

// ServedNames returns the names of the children that are not Denied, in the order of hub.json.
func (c *Configuration) ServedNames() []string {
	return slices.DeleteFunc(c.ChildNames(), c.IsDenied)
}

// BrokenEntry returns the entry of this name that cannot be run, nil for none.
func (c *Configuration) BrokenEntry(name string) *Broken {
	for i := range c.Broken {
		if c.Broken[i].Name == name {
			return &c.Broken[i]
		}
	}
	return nil
}

// StartLimit returns how long a child may take from being wanted to being
// ready: it may have to wait for the roots first.
func (c *Configuration) StartLimit(name string) time.Duration {
	start := spec.DefaultStartTimeout
	if child := c.Child(name); child != nil {
		start = child.Spec.WithDefaults().StartTimeout
	}
	return start + c.Roots.Timeout
}

// ApprovalRules returns what an approval queue goes by.
func (c *Configuration) ApprovalRules() approval.Rules {
	return approval.Rules{Timeout: c.Approval.Timeout, Checker: c.Checker, Revision: func(child string) (uint64, bool) {
		if child := c.Child(child); child != nil {
			return child.Spec.Revision, true
		}
		return 0, false
	}}
}
