package catalog

import (
	"encoding/json"

	"mcphub/hub/search"
	"mcphub/internal/jsonrpc"
)

// Find returns the tools of children that fit a question in words, the best first.
// The first question makes the index, for all sessions that have this catalogue.
func (c *Catalog) Find(question string, limit int) []*Tool {
	found := c.found()
	hits := found.index.Find(question, limit)
	tools := make([]*Tool, len(hits))
	for i, h := range hits {
		tools[i] = found.tools[h.Tool]
	}
	return tools
}

// searched is the index of a catalogue, and its tools in the index's order.
type searched struct {
	index *search.Index
	tools []*Tool
}

func (c *Catalog) makeIndex() searched {
	var s searched
	var said []search.Tool
	for _, t := range c.tools {
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
		said = append(said, search.Tool{Server: t.Child, Name: t.Remote, Title: d.Title, Description: d.Description, Schema: jsonrpc.Get(t.Def, "inputSchema")})
	}
	s.index = search.New(said)
	return s
}
