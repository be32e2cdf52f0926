package catalog

import "mcphub/internal/methods"

// A Kind is one of the lists that a client may ask for.
type Kind uint8

// The kinds of things on offer.
const (
	Tools Kind = iota
	Prompts
	Resources
	Templates // of resources
	Kinds     // how many there are
)

// kinds is what is known of each Kind.
var kinds = [Kinds]struct {
	method  string
	member  string // of the result
	key     string // of an entry: what it is known by
	what    string // for people
	changed string
	use     string // the method that asks for what an entry stands for; "" of tools

	capability string // that says that a child has such a list
}{
	Tools:     {methods.ListTools, "tools", "name", "tool", methods.ToolsChanged, "", "tools"},
	Prompts:   {methods.ListPrompts, "prompts", "name", "prompt", methods.PromptsChanged, methods.GetPrompt, "prompts"},
	Resources: {methods.ListResources, "resources", "uri", "resource", methods.ResourcesChanged, methods.ReadResource, "resources"},
	Templates: {methods.ListTemplates, "resourceTemplates", "uriTemplate", "resource template", methods.ResourcesChanged, methods.ReadResource, "resources"},
}

// KindOf returns the kind that a method lists; Kinds for none.
func KindOf(method string) Kind {
	for k := range kinds {
		if kinds[k].method == method {
			return Kind(k)
		}
	}
	return Kinds
}

// Changed is the notification that tells of another list of this kind.
func (k Kind) Changed() string { return kinds[k].changed }

// Capability is what a child declares that has such a list.
func (k Kind) Capability() string { return kinds[k].capability }
