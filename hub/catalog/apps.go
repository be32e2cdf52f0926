package catalog

import (
	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
)

// This file is about MCP Apps (the extension io.modelcontextprotocol/ui,
// 2026-01-26): a tool names in _meta.ui the resource, ui://..., that shows its
// results, and what that shows calls tools of its own server by their own names.

// ExtensionUI is the key of the extension for apps.
const ExtensionUI = "io.modelcontextprotocol/ui"

// appOf reads what the _meta of a tool says about its app: is reports that
// it has one, or is there for one; uri is the resource, if it names one.
func appOf(meta []byte) (uri string, is bool) {
	for _, at := range resourceURIs(meta) {
		if text, ok := jsonrpc.String(at); ok && hasScheme(text, uiScheme) {
			return text, true
		}
	}
	return "", jsonrpc.IsObject(jsonrpc.Get(meta, "ui"))
}

// resourceURIs returns where a raw _meta names the resource of an app: the
// second spelling is an older one.
func resourceURIs(meta []byte) [][]byte {
	return [][]byte{jsonrpc.Get(jsonrpc.Get(meta, "ui"), "resourceUri"), jsonrpc.Get(meta, "ui/resourceUri")}
}

// appURIs returns the URIs of apps that a single child names, each once:
// those of its resources and templates, and the ones that its tools name.
func (o *Offer) appURIs() (all []string) {
	seen := map[string]bool{}
	add := func(uri string) {
		if hasScheme(uri, uiScheme) && !seen[uri] {
			seen[uri] = true
			all = append(all, uri)
		}
	}
	for _, k := range []offers.ListKind{offers.Resources, offers.Templates} {
		for _, it := range o.items[k] {
			add(it.OwnName)
		}
	}
	for _, t := range o.Tools {
		add(t.ui)
	}
	return all
}

// apps describes how the URIs of apps are called towards the client.
type apps struct {
	names map[string]map[string]string // by child, by its own URI: only the ones that are called otherwise
	whose map[string]appURI            // by the URI towards the client
}

// An appURI is a URI of an app, as its child has it.
type appURI struct {
	ResourceSource
	by *Builder // that read it
}

// nameApps gives every URI of an app its name: the first child that names one
// keeps it, a later one's gets the name of its server, and a mark where another has
// taken that too.
func (b *Builder) nameApps(offers []*Offer) apps {
	a := apps{map[string]map[string]string{}, map[string]appURI{}}
	var later []appURI
	for _, offer := range offers {
		if offer == nil {
			continue
		}
		for _, uri := range offer.apps {
			at := appURI{ResourceSource{offer.child, uri}, offer.by}
			if _, taken := a.whose[uri]; taken {
				later = append(later, at)
			} else {
				a.whose[uri] = at
			}
		}
	}
	for _, at := range later {
		name := serverURI(at.Child, at.URI)
		size := markSize
		for _, taken := a.whose[name]; taken; _, taken = a.whose[name] {
			name = serverURI(at.Child+"-"+makeMark(at.Child, at.URI, size), at.URI) // of this URI alone: none in the way of one is in others'
			size++
		}
		a.whose[name] = at
		if a.names[at.Child] == nil {
			a.names[at.Child] = map[string]string{}
		}
		a.names[at.Child][at.URI] = name
	}
	for uri, at := range a.whose {
		if at.by != b.reader {
			delete(a.whose, uri) // its server is being replaced: see dropReplaced
		}
	}
	return a
}

// renamesFor reports whether an app of a child is called otherwise towards the client.
func (a *apps) renamesFor(child string) bool { return a.names[child] != nil }

// renamedItem returns an item with its URI towards the client.
func (a *apps) renamedItem(k offers.ListKind, it *Item) *Item {
	name := a.names[it.Child][it.OwnName]
	if name == "" {
		return it
	}
	mine := *it
	mine.Name, mine.Def = name, withKey(it.Def, k.List().Key, name)
	return &mine
}

// renamedTool returns the definition of a tool that names its app as the client knows it.
func (a *apps) renamedTool(child string, def []byte) []byte {
	if !a.renamesFor(child) {
		return def
	}
	return jsonrpc.Join(jsonrpc.Splice(def, a.inMeta(child, def)...))
}

// inMeta returns the edits of what _meta of a raw object says about its app.
func (a *apps) inMeta(child string, object []byte) (edits []jsonrpc.Edit) {
	for _, at := range resourceURIs(jsonrpc.Get(object, "_meta")) {
		edits = append(edits, a.editURI(child, at)...)
	}
	return edits
}

// editURI puts the name towards the client instead of a raw URI.
func (a *apps) editURI(child string, at []byte) []jsonrpc.Edit {
	uri, _ := jsonrpc.String(at)
	if name := a.names[child][uri]; name != "" {
		return []jsonrpc.Edit{{Old: at, With: jsonrpc.AppendString(nil, name)}}
	}
	return nil
}

// Renames reports whether an app of a child, or a skill, is called otherwise towards the
// client.
func (catalog *Catalog) Renames(child string) bool {
	return catalog.apps.renamesFor(child) || catalog.skillsRenamed[child]
}

// WithNames returns a child's answer with the names towards the client if it names
// its apps, in _meta, and its apps and skills in the content of a tool's result.
func (catalog *Catalog) WithNames(child string, said jsonrpc.Answer) jsonrpc.Answer {
	a := &catalog.apps
	if !catalog.Renames(child) || said.Result == nil {
		return said
	}
	edits := a.inMeta(child, said.Result)
	edit := func(object []byte) {
		edits = append(edits, a.editURI(child, jsonrpc.Get(object, "uri"))...)
		if catalog.skillsRenamed[child] {
			edits = append(edits, catalog.editsOf(child, object, nil)...)
		}
	}
	_ = jsonrpc.Elements(jsonrpc.Get(said.Result, "content"), func(block []byte) bool {
		edit(block)
		edit(jsonrpc.Get(block, "resource"))
		return true
	})
	return said.WithEdits(edits...)
}

// AppTools finds tools by their children's own name for them, as an app calls them:
// those of this name that are there for an app, else those of children that have any
// such tools.
func (catalog *Catalog) AppTools(name string) []*Tool {
	var own, beside []*Tool
	with := map[string]bool{}
	for _, t := range catalog.tools {
		if t.app {
			with[t.Child] = true
		}
	}
	for _, t := range catalog.tools {
		switch {
		case t.OwnName != name || !with[t.Child]:
		case t.app:
			own = append(own, t)
		default:
			beside = append(beside, t)
		}
	}
	if own == nil {
		return beside
	}
	return own
}
