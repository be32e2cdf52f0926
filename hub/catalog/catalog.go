package catalog

import (
	"slices"
	"sync"

	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/memo"
	"mcphub/internal/methods"
	"mcphub/validate"
)

// A Catalog is one immutable view of everything that a session is offered.
type Catalog struct {
	by          *Builder
	byName      map[string]*Tool // by the name towards the client
	byChild     map[string]map[string]*Tool
	tools       []*Tool // in the order listed
	pages       [offers.Kinds]func() *Pages
	modernTools func() *Pages // the tools for clients of 2026-07-28
	found       func() toolIndex
	servers     func() string   // see Servers
	denied      map[string]bool // children that are not named, since the rules deny everything of them
	omitted     map[string][]Omission
	mended      map[string][]Omission

	items        [offers.Kinds]map[string]*Item // by the name towards the client; none of tools
	templates    map[string][]string            // each child's, as the child has them
	schemes      map[string]map[string]bool     // of what each child lists
	resourceful  map[string]bool                // children that have resources
	unread       map[string]bool                // children that may have more of them than they list
	subscribable map[string]bool                // and tell about changes
	tasks        bool                           // some have the extension for tasks
	extensions   Extensions
	apps         apps

	skillful      bool                         // some have the extension for skills
	claimed       bool                         // some child claims a URI of a skill
	skillsRenamed map[string]bool              // children with URIs of skills that are called otherwise
	refused       map[string]map[string]string // URIs of skills that are not offered, by child

	onLists     []*Tool                                // tools, with the ones that are being replaced: what pages are made of
	itemsOnList [offers.Kinds][]*Item                  // likewise, of the other kinds
	views       *memo.Map[*validate.Checker, *Catalog] // what For returns
}

// Tool returns the tool of this name towards the client, nil for none.
func (catalog *Catalog) Tool(name string) *Tool { return catalog.byName[name] }

// ToolNamed works like Tool of a name in bytes. It allocates nothing.
func (catalog *Catalog) ToolNamed(name []byte) *Tool { return catalog.byName[string(name)] }

// Tools returns all tools in the order listed. The list must not be changed.
func (catalog *Catalog) Tools() []*Tool { return catalog.tools }

// Listed returns the tools that stand on the list of tools. It must not be changed.
func (catalog *Catalog) Listed() []*Tool { return catalog.by.listedTools(catalog.tools) }

// ToolOf returns the tool that a child calls so, nil for none.
func (catalog *Catalog) ToolOf(child, ownName string) *Tool { return catalog.byChild[child][ownName] }

// Item returns the prompt, resource or template of this name towards the client,
// nil for none.
func (catalog *Catalog) Item(k offers.ListKind, name string) *Item { return catalog.items[k][name] }

// Pages returns the list of one kind.
func (catalog *Catalog) Pages(k offers.ListKind) *Pages { return catalog.pages[k]() }

// PagesModern returns the list of one kind for clients of 2026-07-28, for whom there
// are no tasks of 2025-11-25.
func (catalog *Catalog) PagesModern(k offers.ListKind) *Pages {
	if k == offers.Tools {
		return catalog.modernTools()
	}
	return catalog.Pages(k)
}

// Omitted returns what a child defines and is not offered.
func (catalog *Catalog) Omitted(child string) []Omission { return catalog.omitted[child] }

// Mended returns what of a child is offered in another form than the child gave it.
func (catalog *Catalog) Mended(child string) []Omission { return catalog.mended[child] }

// TemplatesOf returns the templates of a child, as the child has them.
func (catalog *Catalog) TemplatesOf(child string) []string { return catalog.templates[child] }

// IsSubscribable reports whether a child tells about changes of its resources.
func (catalog *Catalog) IsSubscribable(child string) bool { return catalog.subscribable[child] }

// HasSkills reports whether some child has the extension for skills, so that there is a list of them.
func (catalog *Catalog) HasSkills() bool { return catalog.skillful }

// Tasks reports whether some child has the extension for tasks.
func (catalog *Catalog) Tasks() bool { return catalog.tasks }

// Extensions returns what the children offer beyond the protocol.
func (catalog *Catalog) Extensions() Extensions { return catalog.extensions }

// Catalog returns the view of the offers of one session's children, by their
// names. Offers are looked at in the order of the configuration, so the same offers
// give the same view: it is made once for all sessions that have them.
func (b *Builder) Catalog(offers map[string]*Offer) *Catalog {
	key := make([]*Offer, len(b.cfg.Children))
	for i := range b.cfg.Children {
		key[i] = offers[b.cfg.Children[i].Name]
	}
	return b.cache.catalogOf(key, func() *Catalog { return b.buildCatalog(key) })
}

// buildCatalog makes the view of offers in the order of the configuration, nil if a
// child has none.
func (b *Builder) buildCatalog(offers []*Offer) *Catalog {
	c := &Catalog{by: b, byName: map[string]*Tool{}, byChild: map[string]map[string]*Tool{}, omitted: map[string][]Omission{}, mended: map[string][]Omission{}, views: &memo.Map[*validate.Checker, *Catalog]{}}
	for _, own := range b.cfg.Own {
		t := &Tool{Name: own.Name, OwnName: own.Name, Def: own.Def, finds: own.Finds}
		c.byName[t.Name] = t
		c.tools = append(c.tools, t)
	}
	c.extensions, c.apps = joinExtensions(offers), b.nameApps(offers)
	wanted := map[string]int{}
	for _, offer := range offers {
		if offer == nil {
			continue
		}
		c.omitted[offer.child], c.mended[offer.child] = offer.Omitted, offer.Mended
		c.byChild[offer.child] = map[string]*Tool{}
		for _, t := range offer.Tools {
			mine := *t // its name may change in this catalogue
			mine.Def = c.apps.renamedTool(t.Child, t.Def)
			c.byChild[offer.child][t.OwnName] = &mine
			c.tools = append(c.tools, &mine)
			wanted[t.Name]++
		}
	}
	b.nameTools(c, wanted)
	b.claimSkills(c, offers)
	b.addItems(c, offers)
	c.onLists = c.tools // those too that are taken out now
	c.dropReplaced()
	c.makeLists()
	return c
}

// makeLists makes the lists of what is on offer, and the index of the tools, when someone asks for them.
func (catalog *Catalog) makeLists() {
	all := catalog.by.listedTools(catalog.onLists)
	catalog.servers = func() string { return "" }
	if catalog.by.isSearched(catalog.onLists) {
		catalog.servers = sync.OnceValue(catalog.nameServers)
	}
	list := func(of func(t *Tool) []byte) *Pages {
		defs := make([][]byte, 0, len(all))
		for _, t := range all {
			if def := of(t); def != nil {
				if t.finds {
					def = withServers(def, catalog.servers())
				}
				defs = append(defs, def)
			}
		}
		return renderPages(offers.Tools.List().Member, defs)
	}
	catalog.pages[offers.Tools] = sync.OnceValue(func() *Pages {
		ids := map[string]string{}
		return list(func(t *Tool) []byte { return t.olderDef(ids) })
	})
	catalog.modernTools = sync.OnceValue(func() *Pages {
		if !slices.ContainsFunc(all, func(t *Tool) bool { return t.older || t.id != "" || t.tasks }) {
			return catalog.Pages(offers.Tools)
		}
		return list(func(t *Tool) []byte { return withoutTasks(t.Def) })
	})
	for k := offers.Prompts; k < offers.Kinds; k++ {
		items := catalog.itemsOnList[k]
		catalog.pages[k] = sync.OnceValue(func() *Pages {
			defs := make([][]byte, len(items))
			for i, it := range items {
				defs[i] = it.Def
			}
			return renderPages(k.List().Member, defs)
		})
	}
	catalog.found = sync.OnceValue(catalog.makeIndex)
}

// nameTools gives every tool its final name: where two want the same one, or one
// of the hub's own, all of them are marked, so that none shadows another.
func (b *Builder) nameTools(c *Catalog, wanted map[string]int) {
	for _, t := range c.tools {
		if _, own := c.byName[t.Name]; t.Child != "" && !own && wanted[t.Name] == 1 {
			c.byName[t.Name] = t
		}
	}
	for _, t := range c.tools {
		if t.Child == "" || c.byName[t.Name] == t {
			continue
		}
		t.Name = b.uniqueName(t.Child, t.Shown(), func(name string) bool { return c.byName[name] != nil })
		t.Def = withKey(t.Def, "name", t.Name)
		c.byName[t.Name] = t
	}
}

// uniqueName returns a name with a mark. A mark that something else has for a name of
// its own grows until nothing is called so.
func (b *Builder) uniqueName(child, ownName string, taken func(string) bool) string {
	for size := markSize; ; size++ {
		if name := b.cfg.Names.markedName(child, b.byName[child].Prefix, ownName, size); !taken(name) {
			return name
		}
	}
}

// addItems adds what is no tool, and notes what tells whose a resource may be.
func (b *Builder) addItems(c *Catalog, from []*Offer) {
	c.templates, c.schemes = map[string][]string{}, map[string]map[string]bool{}
	c.resourceful, c.unread, c.subscribable = map[string]bool{}, map[string]bool{}, map[string]bool{}
	var all [offers.Kinds][][]*Item
	for _, offer := range from {
		if offer == nil {
			continue
		}
		name := offer.child
		for k := offers.Prompts; k < offers.Kinds; k++ {
			items := slices.Clone(offer.items[k])
			for i, it := range items {
				items[i] = c.apps.renamedItem(k, it)
			}
			all[k] = append(all[k], c.withSkillNames(k, name, items))
		}
		c.tasks = c.tasks || jsonrpc.Get(jsonrpc.Get(offer.Raw.Capabilities, memberExtensions), methods.ExtensionTasks) != nil
		c.skillful = c.skillful || offer.skillful
		c.schemes[name] = map[string]bool{}
		if !b.ShowsOthers(name) {
			continue
		}
		c.templates[name] = TemplatesOf(offer.Raw)
		c.unread[name] = offer.Raw.IsUnread(offers.Resources)
		c.resourceful[name] = offers.Resources.List().IsDeclared(offer.Raw.Capabilities)
		c.subscribable[name] = string(jsonrpc.Get(jsonrpc.Get(offer.Raw.Capabilities, "resources"), "subscribe")) == "true"
		for _, k := range []offers.ListKind{offers.Resources, offers.Templates} {
			for _, it := range offer.items[k] {
				c.schemes[name][schemeOf(it.OwnName)] = true
			}
		}
	}
	for k := offers.Prompts; k < offers.Kinds; k++ {
		c.items[k], c.itemsOnList[k] = b.nameItems(k, all[k])
	}
}

// dropReplaced takes the tools out of a catalogue that another Builder read: their
// child is being replaced. They stay on the list of the client for that moment, but
// a call must wait for what the new one offers.
func (catalog *Catalog) dropReplaced() {
	replaced := func(t *Tool) bool { return t.Child != "" && t.by != catalog.by.reader }
	if !slices.ContainsFunc(catalog.tools, replaced) {
		return
	}
	tools := make([]*Tool, 0, len(catalog.tools)) // another one: the page is made of all
	for _, t := range catalog.tools {
		if !replaced(t) {
			tools = append(tools, t)
			continue
		}
		delete(catalog.byName, t.Name)
		delete(catalog.byChild, t.Child)
		delete(catalog.omitted, t.Child)
		delete(catalog.mended, t.Child)
	}
	catalog.tools = tools
}
