package catalog

import (
	"slices"
	"strings"

	"mcphub/children/offers"
	"mcphub/validate"
)

// A ResourceSource is one child that may have a resource, under the child's own URI.
type ResourceSource struct{ Child, URI string }

// ResourceSources are what is known of whose a resource is: the children that may have it,
// the likeliest first.
type ResourceSources struct {
	Certain    bool             // Likely is one, or none, and no other child can have it
	Likely     []ResourceSource // a template of theirs fits
	Unread     []ResourceSource // their lists cannot be read
	SameScheme []ResourceSource // they list something of the same scheme
	Others     []ResourceSource // they may know more than they list
}

// Sources returns the children that have a resource: the child that lists it, or names
// it as the app of a tool; of the one that the URI itself names; else of one of
// the ones that have resources.
func (catalog *Catalog) Sources(uri string) (w ResourceSources) {
	sure := func(child, ownName string) ResourceSources {
		return ResourceSources{Certain: true, Likely: []ResourceSource{{child, ownName}}}
	}
	if at, ok := catalog.by.cfg.URIs.Source(uri); ok && hasScheme(uri, skillScheme) {
		switch {
		case catalog.by.ShowsOthers(at.Child):
			return sure(at.Child, at.URI)
		case catalog.by.reader == catalog.by:
			return ResourceSources{Certain: true} // its server is gone, and no one has taken its place
		} // a toolset hides its server, and this is answered as a URI that no server has
	}
	if it := catalog.items[offers.Resources][uri]; it != nil {
		return sure(it.Child, it.OwnName)
	}
	if at, ok := catalog.apps.whose[uri]; ok {
		return sure(at.Child, at.URI)
	}
	if child, rest, ok := parseServerURI(uri); ok && catalog.by.ShowsOthers(child) {
		if !hasScheme(uri, uiScheme) {
			return sure(child, rest)
		}
		if catalog.apps.renamesFor(child) { // or it is a resource that is really called so
			w.Likely = append(w.Likely, ResourceSource{child, rest})
		}
	}
	if child, rest, ok := cutServer(skillScheme, uri); ok && catalog.by.ShowsOthers(child) {
		if has, known := catalog.resourceful[child]; has || !known { // a skill of its own may really be called so
			return ResourceSources{Likely: []ResourceSource{{child, uri}, {child, rest}}}
		}
	}
	if hasScheme(uri, skillScheme) && catalog.by.cfg.URIs.isClaimed(uri) {
		return ResourceSources{Certain: true} // two servers claim it: each has it below its name, and no one so
	}
	for i := range catalog.by.cfg.Children {
		name := catalog.by.cfg.Children[i].Name
		if !catalog.resourceful[name] {
			continue
		}
		at := ResourceSource{name, uri}
		switch {
		case slices.ContainsFunc(catalog.templates[name], func(t string) bool { return validate.MatchesTemplate(t, uri) }):
			w.Likely = append(w.Likely, at)
		case catalog.unread[name]:
			w.Unread = append(w.Unread, at)
		case catalog.schemes[name][schemeOf(uri)]:
			w.SameScheme = append(w.SameScheme, at)
		default:
			w.Others = append(w.Others, at)
		}
	}
	return w
}

// OwnerOf returns the one child of these that a URI belongs to, with its own name
// for it; false if that cannot be told.
func (catalog *Catalog) OwnerOf(uri string, among []string) (ResourceSource, bool) {
	from := catalog.Sources(uri)
	if from.Certain && len(from.Likely) > 0 {
		return from.Likely[0], true
	}
	for _, rank := range [][]ResourceSource{from.Likely, from.SameScheme} {
		rank = slices.DeleteFunc(rank, func(at ResourceSource) bool { return !slices.Contains(among, at.Child) })
		if len(rank) == 1 {
			return rank[0], true
		}
		if len(rank) > 1 {
			break
		}
	}
	return ResourceSource{}, false
}

// Reference finds what a completion is for: the template, or the resource, that the
// client knows by uri; nil for none.
func (catalog *Catalog) Reference(uri string) *Item {
	if it := catalog.items[offers.Templates][uri]; it != nil {
		return it
	}
	return catalog.items[offers.Resources][uri]
}

// Addressed returns what a URI stands for that names its server, although that does
// not list it; nil for another URI.
func (catalog *Catalog) Addressed(uri string) *Item {
	if child, rest, ok := parseServerURI(uri); ok && catalog.by.ShowsOthers(child) {
		return &Item{Name: uri, Child: child, OwnName: rest, by: catalog.by.reader}
	}
	return nil
}

// schemeOf returns the scheme of a URI, in lower case.
func schemeOf(uri string) string {
	name, _, _ := strings.Cut(uri, ":")
	return strings.ToLower(name)
}
