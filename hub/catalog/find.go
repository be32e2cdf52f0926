package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"mcphub/hub/search"
	"mcphub/internal/jsonrpc"
)

// Find returns the tools of children that are nearest to a question in words, the best first, at most limit, and
// whether none of them fits well. A question that is the name of a tool finds that one first.
// The first question makes the index, for all sessions that have this catalogue.
func (catalog *Catalog) Find(question string, limit int) (tools []*Tool, weak bool) {
	found := catalog.found()
	hits, weak := found.index.Find(question, limit)
	named := catalog.Tool(strings.TrimSpace(question))
	if named != nil && slices.Contains(found.tools, named) {
		tools, weak = append(tools, named), false
	}
	for _, h := range hits {
		if t := found.tools[h.Tool]; t != named && len(tools) < limit {
			tools = append(tools, t)
		}
	}
	return tools, weak
}

// toolIndex is the index of a catalogue, and its tools in the index's order.
type toolIndex struct {
	index *search.Index
	tools []*Tool
}

func (catalog *Catalog) makeIndex() toolIndex {
	var s toolIndex
	var said []search.Tool
	for _, t := range catalog.tools {
		if t.Child == "" {
			continue
		}
		var d struct {
			Title, Description string
			Annotations        struct{ Title string }
		}
		_ = json.Unmarshal(t.Def, &d) // an odd definition is found by its name
		if d.Title == "" {
			d.Title = d.Annotations.Title
		}
		s.tools = append(s.tools, t)
		said = append(said, search.Tool{Server: t.Child, Name: t.Shown(), Title: d.Title, Description: d.Description, Schema: jsonrpc.Get(t.Def, "inputSchema")})
	}
	s.index = search.New(said)
	return s
}
