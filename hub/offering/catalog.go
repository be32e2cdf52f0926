package offering

import (
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
)

// A Catalog is the catalogue of a session, and the configuration that it was made by:
// whatever is looked up in it is judged and run by that one.
type Catalog struct {
	*catalog.Catalog
	Conf *configuration.Configuration
}

// A Tool is one of a Catalog. Tool is nil if there is none.
type Tool struct {
	*catalog.Tool
	Conf *configuration.Configuration
}

// Named finds a tool by its name towards the client.
func (l *Catalog) Named(name string) Tool { return Tool{l.Tool(name), l.Conf} }

// OfChild finds a tool by its child and the child's own name for it.
func (l *Catalog) OfChild(child, remote string) Tool {
	return Tool{l.ToolOf(child, remote), l.Conf}
}

// An Item is a prompt, resource or template of a Catalog. Item is nil if
// there is none.
type Item struct {
	*catalog.Item
	Conf *configuration.Configuration
}

// A ResourceSource is one child of a configuration that may have a resource, under the
// child's own URI.
type ResourceSource struct {
	catalog.ResourceSource
	Conf *configuration.Configuration
}
