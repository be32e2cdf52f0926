package hub

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"mcphub/children"
	"mcphub/hub/tasks"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/mirror"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// A Catalog is one immutable view of everything a session is offered.
type Catalog struct {
	byName  map[string]*offered // by the name towards the client
	byChild map[string]map[string]*offered
	tools   []*offered // in the order listed
	pages   func() *pages
	odd     map[string][]oddity
	gen     *generation

	shelves      [kinds]*shelf              // but for tools
	templates    map[string][]string        // each child's, as the child has them
	schemes      map[string]map[string]bool // of what each child lists
	resourceful  map[string]bool            // children that have resources
	subscribable map[string]bool            // and tell of changes
	tasks        bool                       // some have the extension for tasks
	extensions   []offeredExtension
	apps         apps
}

// pagesOf returns the list of one kind.
func (c *Catalog) pagesOf(k kind) func() *pages {
	if k == kindTools {
		return c.pages
	}
	return c.shelves[k].pages
}

// offered is one tool as the client sees it.
type offered struct {
	name    string // towards the client
	child   string // "" for a tool of the hub itself
	remote  string // the child's own name
	def     []byte // definition towards the client
	entry   []byte // definition as the child gave it
	from    *children.Offer
	tool    *validate.Tool // what it is judged by
	costly  bool           // its schema may take time to check: it has patterns
	gen     *generation    // by which it is judged and run
	mirrors []mirror.Mark  // parameters that headers repeat
	app     bool           // it has an app, or is there for one
	ui      string         // the child's URI of that app; "" where it names none
	plain   *plainCall     // nil for a tool of the hub itself
}

// A plainCall is what all calls of a tool have alike in which there is nothing to
// judge: what was decided, and how that is recorded.
type plainCall struct {
	once    sync.Once
	verdict *validate.Verdict
	form    audit.Form
}

// of is made by the first such call.
func (p *plainCall) of(j *judgement) *plainCall {
	p.once.Do(func() {
		p.verdict = j.gen.cfg.Checker.Judge(j.scan, validate.Where{}, rootsmgr.View{})
		p.form = audit.NewForm(&audit.Record{Child: p.verdict.Child, Tool: p.verdict.Tool, Decision: p.verdict.Decision.String(), Rule: p.verdict.Rule})
	})
	return p
}

// An oddity is a tool that is not offered, and why.
type oddity struct{ Tool, Reason string }

// cheapDefinition is the longest definition, in bytes, by which a call is
// checked on the read loop.
const cheapDefinition = 16 << 10

// childOffer is what one child offers, read: each tool with the name it would
// have if no other wanted it. It never changes and may serve many catalogues.
type childOffer struct {
	gen   *generation // by which it was read
	child string
	raw   *children.Offer
	tools []*offered
	odd   []oddity
	items [kinds][]*item // but for tools

	extensions []extension
	apps       []string // URIs of apps: see appURIs
}

// readOffer reads a child's list: it compiles schemas, so it may take a while.
func (g *generation) readOffer(child *Child, raw *children.Offer) *childOffer {
	out := &childOffer{gen: g, child: child.Spec.Name, raw: raw}
	seen := map[string]bool{}
	bytes := 0
	for i, entry := range raw.Tools {
		o, reason := g.offer(child, raw, entry)
		if reason == hidden {
			continue
		}
		bytes += len(entry)
		switch {
		case reason != "":
		case seen[o.remote]:
			reason = "a second tool of this name; the first one counts"
		case bytes > g.cfg.Limits.Definitions:
			reason = g.tooMuch(kindTools)
		}
		if reason != "" {
			label := fmt.Sprintf("entry %d", i+1)
			if o != nil {
				label = o.remote
			}
			out.odd = append(out.odd, oddity{label, reason})
			continue
		}
		seen[o.remote] = true
		out.tools = append(out.tools, o)
	}
	for k, entries := range [kinds][][]byte{kindPrompts: raw.Prompts, kindResources: raw.Resources, kindTemplates: raw.Templates} {
		items, odd := g.readItems(kind(k), child, entries)
		out.items[k], out.odd = items, append(out.odd, odd...)
	}
	var odd []oddity
	out.extensions, odd = readExtensions(raw.Capabilities)
	out.odd, out.apps = append(out.odd, odd...), out.appURIs()
	return out
}

// tooMuch is the reason of what is beyond the bound of one kind.
func (g *generation) tooMuch(k kind) string {
	return fmt.Sprintf(`the %ss of this server have more than %d bytes together ("limits": {"definitions": ...} in hub.json)`, listing[k].what, g.cfg.Limits.Definitions)
}

// makeCatalog makes the view of the offers of one session's children. Offers
// are looked at in the order of hub.json, so the same offers give the same view.
func (g *generation) makeCatalog(offers map[string]*childOffer) *Catalog {
	c := &Catalog{gen: g, byName: map[string]*offered{}, byChild: map[string]map[string]*offered{}, odd: map[string][]oddity{}}
	for _, own := range g.own {
		o := &offered{name: own.name, remote: own.name, def: own.def}
		c.byName[o.name] = o
		c.tools = append(c.tools, o)
	}
	c.extensions, c.apps = g.joinExtensions(offers), g.settleApps(offers)
	wanted := map[string]int{}
	for i := range g.cfg.Children {
		name := g.cfg.Children[i].Spec.Name
		offer := offers[name]
		if offer == nil {
			continue
		}
		c.odd[name] = offer.odd
		c.byChild[name] = map[string]*offered{}
		for _, o := range offer.tools {
			mine := *o // its name may change in this catalogue
			mine.def = c.apps.tool(name, o.def)
			c.byChild[name][o.remote] = &mine
			c.tools = append(c.tools, &mine)
			wanted[o.name]++
		}
	}
	g.settle(c, wanted)
	all := c.tools // ghosts too
	c.pages = sync.OnceValue(func() *pages {
		defs := make([][]byte, len(all))
		for i, o := range all {
			defs[i] = o.def
		}
		return paginate(listing[kindTools].member, defs)
	})
	g.stock(c, offers)
	c.dropGhosts()
	return c
}

// stock fills the shelves, and notes what tells whose a resource may be.
func (g *generation) stock(c *Catalog, offers map[string]*childOffer) {
	c.templates, c.schemes = map[string][]string{}, map[string]map[string]bool{}
	c.resourceful, c.subscribable = map[string]bool{}, map[string]bool{}
	var all [kinds][][]*item
	for i := range g.cfg.Children {
		name := g.cfg.Children[i].Spec.Name
		offer := offers[name]
		if offer == nil {
			continue
		}
		for k := kindPrompts; k < kinds; k++ {
			items := slices.Clone(offer.items[k])
			for i, it := range items {
				items[i] = c.apps.named(k, it)
			}
			all[k] = append(all[k], items)
		}
		resources := jsonrpc.Get(offer.raw.Capabilities, "resources")
		c.resourceful[name] = resources != nil && string(resources) != "null"
		c.subscribable[name] = string(jsonrpc.Get(resources, "subscribe")) == "true"
		c.tasks = c.tasks || jsonrpc.Get(jsonrpc.Get(offer.raw.Capabilities, "extensions"), tasks.Extension) != nil
		c.schemes[name], c.templates[name] = map[string]bool{}, templatesOf(offer.raw)
		for _, k := range []kind{kindResources, kindTemplates} {
			for _, it := range offer.items[k] {
				c.schemes[name][scheme(it.remote)] = true
				if k == kindTemplates && it.gen == g { // calls are judged by it
					c.templates[name] = append(c.templates[name], it.remote)
				}
			}
		}
	}
	for k := kindPrompts; k < kinds; k++ {
		c.shelves[k] = g.fill(k, all[k])
	}
}

// hidden is the reason of a tool that the operator does not want.
const hidden = "excluded by hub.json"

// offer makes one entry of a child's list a tool of the hub, or says why not.
func (g *generation) offer(child *Child, offer *children.Offer, raw []byte) (*offered, string) {
	quoted := jsonrpc.Get(raw, "name")
	remote, ok := jsonrpc.String(quoted)
	if !ok || remote == "" {
		return nil, "it is no tool definition with a name"
	}
	if !unambiguous(raw) {
		return nil, "its definition has a member twice"
	}
	o := &offered{gen: g, child: child.Spec.Name, remote: remote, entry: raw, from: offer}
	if !wanted(child, remote) {
		return o, hidden
	}
	tool, err := g.cfg.Checker.Tool(child.Spec.Name, offer.ServerName, raw)
	if err != nil {
		return o, err.Error()
	}
	o.tool = tool
	o.costly = bytes.Contains(raw, []byte(`"pattern`)) || bytes.Contains(raw, []byte(`\u`)) || len(raw) > cheapDefinition
	o.name = g.cfg.Names.exposed(o.child, child.Prefix, remote)
	o.def = renamed(cleaned(raw), o.name)
	o.ui, o.app = appOf(raw)
	o.mirrors, _ = mirror.Marks(jsonrpc.Get(raw, "inputSchema")) // an invalid one says nothing: clients leave the tool out
	o.plain = &plainCall{}
	return o, ""
}

// unambiguous reports whether an object has no member twice: of two, this hub
// would take one and a client perhaps the other.
func unambiguous(raw []byte) bool {
	seen := map[string]bool{}
	ok := true
	err := jsonrpc.Members(raw, func(name string, _ []byte) bool {
		ok = ok && !seen[name]
		seen[name] = true
		return ok
	})
	return ok && err == nil
}

// wanted reports whether the operator wants a tool offered. In a pattern "*" is
// any text, a slash included: these are names and not paths. A pattern that
// cannot be read matches nothing in include and everything in exclude.
func wanted(child *Child, tool string) bool {
	flat := strings.NewReplacer("/", "\u2215").Replace
	match := func(globs []string, broken bool) bool {
		for _, g := range globs {
			if ok, err := doublestar.Match(flat(g), flat(tool)); ok || err != nil && broken {
				return true
			}
		}
		return false
	}
	if len(child.Include) > 0 && !match(child.Include, false) {
		return false
	}
	return !match(child.Exclude, true)
}

// settle gives every tool its final name: where two want the same one, or one
// of the hub's own, all of them are marked, so that none shadows another. A
// mark that some other tool has for a name of its own grows until it is unique.
func (g *generation) settle(c *Catalog, wanted map[string]int) {
	for _, o := range c.tools {
		if _, own := c.byName[o.name]; o.child != "" && !own && wanted[o.name] == 1 {
			c.byName[o.name] = o
		}
	}
	for _, o := range c.tools {
		if o.child == "" || c.byName[o.name] == o {
			continue
		}
		for size := markSize; ; size++ {
			name := g.cfg.Names.marked(o.child, g.byName[o.child].Prefix, o.remote, size)
			if c.byName[name] == nil {
				o.name = name
				break
			}
		}
		o.def = renamed(o.def, o.name)
		c.byName[o.name] = o
	}
}

// renamed returns a definition with another name and nothing else changed.
func renamed(def []byte, name string) []byte { return rekeyed(def, "name", name) }
