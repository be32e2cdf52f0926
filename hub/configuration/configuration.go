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
	conf := newConfiguration(1, nil)
	if old != nil {
		conf.Number, conf.skills = old.Number+1, old.skills
		set = set.keepFrom(&old.Settings)
		conf.countRestarts(old, restart)
	}
	return conf, conf.fillFrom(set, own, func(child *Child) {
		child.Spec.Revision = conf.Number
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

// fillFrom makes the Configuration what the settings say. mark gives each child its revision.
func (conf *Configuration) fillFrom(set Settings, own []catalog.HubTool, mark func(*Child)) error {
	if set.Checker == nil {
		return errors.New("hub: a Checker is needed: without one nothing may be dispatched")
	}
	set.Limits = set.Limits.withDefaults()
	set.Names = set.Names.WithDefaults()
	set.Approval = set.Approval.WithDefaults()
	set.Children = append([]Child(nil), set.Children...)
	conf.Settings = set
	conf.CommonRoots, conf.ownRoots, conf.variants = sync.OnceValue(conf.readCommonRoots), sync.OnceValue(conf.readOwnRoots), sync.OnceValue(conf.readVariants)
	for i := range conf.Children {
		child := &conf.Children[i]
		name := child.Spec.Name
		if conf.children[name] != nil {
			return fmt.Errorf("hub: two children are called %q", name)
		}
		conf.children[name] = child
		conf.cuts = conf.cuts || child.ResultMax > 0
		mark(child)
	}
	conf.CatalogBuilder = conf.catalogBuilder(own)
	if !conf.Checker.Rules().ForSome() {
		conf.noteDenied()
	}
	return nil
}

// catalogBuilder makes the Builder of what is on offer.
func (conf *Configuration) catalogBuilder(own []catalog.HubTool) *catalog.Builder {
	offered := make([]catalog.Child, len(conf.Children))
	for i := range conf.Children {
		child := &conf.Children[i]
		offered[i] = catalog.Child{Name: child.Spec.Name, Prefix: child.Prefix, Include: child.Include, Exclude: child.Exclude, Always: child.Always, Words: child.Words, Revision: child.Spec.Revision, CutsResults: child.ResultMax > 0}
	}
	return catalog.NewBuilder(catalog.Config{
		Names: conf.Names, Limit: conf.Limits.Definitions, Checker: conf.Checker, Own: own, Expose: conf.Expose, Children: offered, URIs: conf.skills, Pins: conf.Pins,
	})
}

// Wanted returns which tools of which servers these settings offer, as far as hub.json
// states that. Tool "" asks for the server alone.
func (s Settings) Wanted() func(child, tool string) bool {
	conf := Configuration{Settings: s}
	by := conf.catalogBuilder(nil)
	return func(child, tool string) bool {
		if tool == "" {
			return slices.Contains(conf.ChildNames(), child)
		}
		return by.Wants(child, tool)
	}
}

// MarkFollowed reports that the children are run by this Configuration from now on, and by old no more; nil for none. Current.Set has put it in
// force before.
func (conf *Configuration) MarkFollowed(old *Configuration) {
	close(conf.followed)
	if old != nil {
		old.MarkReplaced()
	}
}

// MarkReplaced reports that the children are run by this Configuration no more.
func (conf *Configuration) MarkReplaced() { close(conf.replaced) }

// Replaced returns a channel that is closed once the children are run by a newer one.
func (conf *Configuration) Replaced() <-chan struct{} { return conf.replaced }

// Child returns how a child is run, nil if there is none of this name.
func (conf *Configuration) Child(name string) *Child { return conf.children[name] }

// ResultMax returns the most bytes of text that a result of a child may have, 0 if there is none of this name.
func (conf *Configuration) ResultMax(child string) int {
	if !conf.cuts {
		return 0
	}
	if of := conf.children[child]; of != nil {
		return of.ResultMax
	}
	return 0
}

// Specs returns how the children are run, in the order of hub.json.
func (conf *Configuration) Specs() []spec.Spec {
	specs := make([]spec.Spec, 0, len(conf.Children))
	for i := range conf.Children {
		specs = append(specs, conf.Children[i].Spec)
	}
	return specs
}

// CallLimits returns the limits on the requests to each child, by name.
func (conf *Configuration) CallLimits() map[string]turns.Limits {
	limits := map[string]turns.Limits{}
	for i := range conf.Children {
		limits[conf.Children[i].Spec.Name] = conf.Children[i].Calls
	}
	return limits
}

// ExchangesTokens reports whether a child is called with tokens that are had in exchange for its callers' tokens.
func (conf *Configuration) ExchangesTokens() bool {
	return slices.ContainsFunc(conf.Children, func(child Child) bool { return child.Spec.Auth.Exchange })
}

// ChildNames returns the children's names in the order of hub.json.
func (conf *Configuration) ChildNames() []string {
	out := make([]string, 0, len(conf.Children))
	for i := range conf.Children {
		out = append(out, conf.Children[i].Spec.Name)
	}
	return out
}

// noteDenied remembers the children of which the rules deny everything.
func (conf *Configuration) noteDenied() {
	for i := range conf.Children {
		if name := conf.Children[i].Spec.Name; conf.Checker.DeniesChild(name) {
			if conf.denied == nil {
				conf.denied = map[string]bool{}
			}
			conf.denied[name] = true
		}
	}
}

// IsDenied reports whether the rules deny everything of a child to the principals that this Configuration is for, or no toolset shows any of it. It
// serves none of them, and they are shown nothing that it says about itself.
func (conf *Configuration) IsDenied(child string) bool {
	return conf.denied[child] || conf.toolsetView != nil && !conf.toolsetView.ShowsServer(child)
}

// ToolsetView returns what the toolsets of a session show; nil: everything.
func (conf *Configuration) ToolsetView() *toolset.View { return conf.toolsetView }

// ServedNames returns the names of the children that are not Denied, in the order of hub.json.
func (conf *Configuration) ServedNames() []string {
	return slices.DeleteFunc(conf.ChildNames(), conf.IsDenied)
}

// BrokenEntry returns the entry of this name that cannot be run, nil for none.
func (conf *Configuration) BrokenEntry(name string) *Broken {
	for i := range conf.Broken {
		if conf.Broken[i].Name == name {
			return &conf.Broken[i]
		}
	}
	return nil
}

// StartLimit returns how long a child may take from being wanted to being
// ready: it may have to wait for the roots first.
func (conf *Configuration) StartLimit(name string) time.Duration {
	start := spec.DefaultStartTimeout
	if child := conf.Child(name); child != nil {
		start = child.Spec.WithDefaults().StartTimeout
	}
	return start + conf.Roots.Timeout
}

// ApprovalRules returns what an approval queue goes by.
func (conf *Configuration) ApprovalRules() approval.Rules {
	return approval.Rules{Timeout: conf.Approval.Timeout, Checker: conf.Checker, Revision: func(child string) (uint64, bool) {
		if child := conf.Child(child); child != nil {
			return child.Spec.Revision, true
		}
		return 0, false
	}}
}
