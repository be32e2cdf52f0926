package hub

import (
	"fmt"

	"mcphub/internal/jsonrpc"
)

// This file is about MCP Apps (the extension io.modelcontextprotocol/ui,
// 2026-01-26): a tool names in _meta.ui the resource, ui://..., that shows its
// results, and what that shows calls tools of its own server by their own names.

const extensionUI = "io.modelcontextprotocol/ui"

// appOf reads what a definition of a tool says of its app: is tells that it has
// one, or is there for one; uri is the resource, where it names one.
func appOf(def []byte) (uri string, is bool) {
	meta := jsonrpc.Get(def, "_meta")
	for _, at := range resourceURIs(meta) {
		if text, ok := jsonrpc.String(at); ok && isUI(text) {
			return text, true
		}
	}
	return "", isObject(jsonrpc.Get(meta, "ui"))
}

// resourceURIs are where a raw _meta names the resource of an app: the second
// spelling is an older one.
func resourceURIs(meta []byte) [][]byte {
	return [][]byte{jsonrpc.Get(jsonrpc.Get(meta, "ui"), "resourceUri"), jsonrpc.Get(meta, "ui/resourceUri")}
}

// appURIs are the URIs of apps that one child names, each once: those of its
// resources and templates, and those that its tools name.
func (o *childOffer) appURIs() (all []string) {
	seen := map[string]bool{}
	add := func(uri string) {
		if isUI(uri) && !seen[uri] {
			seen[uri] = true
			all = append(all, uri)
		}
	}
	for _, k := range []kind{kindResources, kindTemplates} {
		for _, it := range o.items[k] {
			add(it.remote)
		}
	}
	for _, t := range o.tools {
		add(t.ui)
	}
	return all
}

// apps says how the URIs of apps are called towards the client.
type apps struct {
	names map[string]map[string]string // by child, by its own URI: only those that are called otherwise
	whose map[string]source            // by the URI towards the client
}

// settleApps gives every URI of an app its name: the first child that names one
// keeps it, a later one's gets the name of its server, and a mark where another has
// taken that too.
func (g *generation) settleApps(offers map[string]*childOffer) apps {
	a := apps{map[string]map[string]string{}, map[string]source{}}
	var later []source
	for i := range g.cfg.Children {
		name := g.cfg.Children[i].Spec.Name
		if offers[name] == nil {
			continue
		}
		for _, uri := range offers[name].apps {
			at := source{offers[name].gen, name, uri}
			if _, taken := a.whose[uri]; taken {
				later = append(later, at)
			} else {
				a.whose[uri] = at
			}
		}
	}
	for _, at := range later {
		name := addressed(at.child, at.uri)
		size := markSize
		for _, taken := a.whose[name]; taken; _, taken = a.whose[name] {
			name = addressed(at.child+"-"+mark(at.child, at.uri, size), at.uri) // of this URI alone: none in the way of one is in that of others
			size++
		}
		a.whose[name] = at
		if a.names[at.child] == nil {
			a.names[at.child] = map[string]string{}
		}
		a.names[at.child][at.uri] = name
	}
	for uri, at := range a.whose {
		if at.gen != g {
			delete(a.whose, uri) // its server is being replaced: see dropGhosts
		}
	}
	return a
}

// renames reports whether an app of a child is called otherwise towards the client.
func (a *apps) renames(child string) bool { return a.names[child] != nil }

// named returns an item with its URI towards the client.
func (a *apps) named(k kind, it *item) *item {
	name := a.names[it.child][it.remote]
	if name == "" {
		return it
	}
	mine := *it
	mine.name, mine.def = name, rekeyed(it.def, listing[k].key, name)
	return &mine
}

// tool returns the definition of a tool that names its app as the client knows it.
func (a *apps) tool(child string, def []byte) []byte {
	if !a.renames(child) {
		return def
	}
	return join(splice(def, a.inMeta(child, def)...))
}

// inMeta are the edits of what _meta of a raw object says of its app.
func (a *apps) inMeta(child string, object []byte) (edits []edit) {
	for _, at := range resourceURIs(jsonrpc.Get(object, "_meta")) {
		edits = append(edits, a.edit(child, at)...)
	}
	return edits
}

// edit puts the name towards the client in the place of a raw URI.
func (a *apps) edit(child string, at []byte) []edit {
	uri, _ := jsonrpc.String(at)
	if name := a.names[child][uri]; name != "" {
		return []edit{{Old: at, With: jsonrpc.AppendString(nil, name)}}
	}
	return nil
}

// answer returns a child's answer with the names towards the client where it names
// its apps: in _meta, and in the content of a tool's result.
func (a *apps) answer(child string, said jsonrpc.Answer) jsonrpc.Answer {
	if !a.renames(child) || said.Result == nil {
		return said
	}
	edits := a.inMeta(child, said.Result)
	_ = jsonrpc.Elements(jsonrpc.Get(said.Result, "content"), func(block []byte) bool {
		edits = append(edits, a.edit(child, jsonrpc.Get(block, "uri"))...)
		edits = append(edits, a.edit(child, jsonrpc.Get(jsonrpc.Get(block, "resource"), "uri"))...)
		return true
	})
	if len(edits) == 0 {
		return said
	}
	renamed := jsonrpc.ResultAnswer(join(splice(said.Result, edits...)))
	if said.Release != nil {
		said.Release()
	}
	return renamed
}

// appTool finds a tool by its child's own name for it, as an app calls it: the one
// of this name that is there for an app, else the one of the only child that has
// any such tools. nil and an error: there are several.
func (c *Catalog) appTool(name string) (*offered, error) {
	var own, beside []*offered
	with := map[string]bool{}
	for _, o := range c.tools {
		if o.app {
			with[o.child] = true
		}
	}
	for _, o := range c.tools {
		switch {
		case o.remote != name || !with[o.child]:
		case o.app:
			own = append(own, o)
		default:
			beside = append(beside, o)
		}
	}
	if own == nil {
		own = beside
	}
	switch len(own) {
	case 0:
		return nil, nil
	case 1:
		return own[0], nil
	}
	names := make([]string, len(own))
	for i, o := range own {
		names[i] = o.name
	}
	return nil, fmt.Errorf("several servers have apps and a tool %s: call it by one of its names here: %s", quotedName(name), quotedList(names))
}
