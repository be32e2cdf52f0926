package catalog

import (
	"mcphub/children/offers"
	"mcphub/internal/methods"
)

// A Kind is one of the lists that a client may ask for.
type Kind uint8

// The kinds of things on offer.
const (
	Tools Kind = iota
	Prompts
	Resources
	Templates // of resources
	Skills    // of the extension for skills
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

	capability string // that says that a child has such a list; "" of skills
}{
	Tools:     {methods.ListTools, "tools", "name", "tool", methods.ToolsChanged, "", "tools"},
	Prompts:   {methods.ListPrompts, "prompts", "name", "prompt", methods.PromptsChanged, methods.GetPrompt, "prompts"},
	Resources: {methods.ListResources, "resources", "uri", "resource", methods.ResourcesChanged, methods.ReadResource, "resources"},
	Templates: {methods.ListTemplates, "resourceTemplates", "uriTemplate", "resource template", methods.ResourcesChanged, methods.ReadResource, "resources"},
	Skills:    {methods.ListSkills, "skills", "uri", "skill", methods.ResourcesChanged, methods.GetSkill, ""},
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

// Announced reports whether a child with these raw capabilities has such a list, and whether it tells of changes.
func (k Kind) Announced(capabilities []byte) (has, tells bool) {
	if k == Skills {
		return offers.DeclaresExtension(capabilities, methods.ExtensionSkills), false // skills have no notification
	}
	name := kinds[k].capability
	return offers.Declares(capabilities, name), offers.Announces(capabilities, name)
}
