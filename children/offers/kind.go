package offers

import (
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// A ListKind is one of the lists that a server offers.
type ListKind uint8

// The kinds of things on offer. Tools are what a server is mostly started for, so that a start waits for them longest.
const (
	Tools ListKind = iota
	Prompts
	Resources
	Templates // of resources
	Skills    // of the extension for skills
	Kinds     // how many there are
)

// A List is what is known of the list of one ListKind.
type List struct {
	Method string // that lists
	Member string // of the result
	Key    string // of an entry: what it is known by
	Noun   string // for people
	Use    string // the method that asks for what an entry stands for; "" of tools

	Capability string // that reports that a server has it
	Extension  bool   // Capability is the key of an extension

	Changed string // the notification that there is a newer one
	Flag    string // the member of the filter of subscriptions/listen that asks for it; "" if another ListKind has it
}

var lists = [Kinds]List{
	Tools:     {methods.ListTools, "tools", "name", "tool", "", "tools", false, methods.ToolsChanged, "toolsListChanged"},
	Prompts:   {methods.ListPrompts, "prompts", "name", "prompt", methods.GetPrompt, "prompts", false, methods.PromptsChanged, "promptsListChanged"},
	Resources: {methods.ListResources, "resources", "uri", "resource", methods.ReadResource, "resources", false, methods.ResourcesChanged, "resourcesListChanged"},
	Templates: {methods.ListTemplates, "resourceTemplates", "uriTemplate", "resource template", methods.ReadResource, "resources", false, methods.ResourcesChanged, ""},
	Skills:    {methods.ListSkills, "skills", "uri", "skill", methods.GetSkill, methods.ExtensionSkills, true, methods.ResourcesChanged, ""}, // made of resources
}

// KindOf returns the kind that a method lists; Kinds for none.
func KindOf(method string) ListKind {
	for k := range lists {
		if lists[k].Method == method {
			return ListKind(k)
		}
	}
	return Kinds
}

// List returns what is known of the list.
func (k ListKind) List() *List { return &lists[k] }

// ByName reports whether entries are known by names, which clients know by the ones of the servers too, and not by URIs.
func (list *List) ByName() bool { return list.Key == "name" }

// IsDeclared reports whether a server with these raw capabilities has the list.
func (list *List) IsDeclared(capabilities []byte) bool {
	if list.Extension {
		return DeclaresExtension(capabilities, list.Capability)
	}
	return DeclaresCapability(capabilities, list.Capability)
}

// IsAnnounced reports whether a server with these raw capabilities tells about changes of the list. Extensions have no notification
// of their own.
func (list *List) IsAnnounced(capabilities []byte) bool {
	return !list.Extension && string(jsonrpc.Get(jsonrpc.Get(capabilities, list.Capability), "listChanged")) == "true"
}
