package catalog

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

	capability string // that says that a child has such a list
}{
	Tools:     {"tools/list", "tools", "name", "tool", "notifications/tools/list_changed", "tools"},
	Prompts:   {"prompts/list", "prompts", "name", "prompt", "notifications/prompts/list_changed", "prompts"},
	Resources: {"resources/list", "resources", "uri", "resource", "notifications/resources/list_changed", "resources"},
	Templates: {"resources/templates/list", "resourceTemplates", "uriTemplate", "resource template", "notifications/resources/list_changed", "resources"},
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
