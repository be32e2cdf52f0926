package hub

import (
	"strings"
	"time"

	"mcphub/children"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/internal/audit"
	"mcphub/internal/printable"
)

// This file joins what package catalog knows to the configuration that it was made
// by: whatever is looked up is judged and run by that one.

// A listing is the catalogue of a session.
type listing struct {
	*catalog.Catalog
	gen *configuration.Configuration
}

// A listedTool is a tool of a listing. Tool is nil where there is none.
type listedTool struct {
	*catalog.Tool
	gen *configuration.Configuration
}

// tool finds a tool by its name towards the client.
func (l *listing) tool(name string) listedTool { return listedTool{l.Tool(name), l.gen} }

// toolOf finds a tool by its child and the child's own name for it.
func (l *listing) toolOf(child, remote string) listedTool {
	return listedTool{l.ToolOf(child, remote), l.gen}
}

// A listedItem is a prompt, resource or template of a listing. Item is nil where
// there is none.
type listedItem struct {
	*catalog.Item
	gen *configuration.Configuration
}

// A source is one child of a configuration that may have a resource, under the
// child's own URI.
type source struct {
	catalog.Source
	gen *configuration.Configuration
}

// toldRedefined logs, records and keeps what a child has redefined. It is called by the
// goroutines of the children and waits for nothing.
func (h *Hub) toldRedefined(k children.Key, tools []children.Redefinition) {
	g := h.now()
	for _, t := range tools {
		if !g.Offers.Wants(k.Child, t.Tool) {
			continue
		}
		name := printable.Escape(t.Tool, 200)
		g.Log.Warn().Str("child", k.Child).Str("tool", name).Strs("parts", t.Parts).
			Msg("the server defines this tool otherwise than when it was offered before; look at it before you go on trusting it")
		h.redefined.Add(k.Child, name, t.Parts, time.Now())
		if to := g.Audit.To; to != nil {
			to.Definition(&audit.Record{Child: k.Child, Tool: name, Code: strings.Join(t.Parts, ", ")})
		}
	}
}
